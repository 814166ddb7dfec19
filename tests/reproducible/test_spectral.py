"""Maps of spectral methods agree on all processors, with their signs, to a millionth of the width.

The eigenvalues of these data are far enough apart or equal; the bits are those of BLAS and LAPACK.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_features__ as features

import lowdim

MAPS = Path(__file__).parent / "spectral_maps.py"
SETTINGS = {
    "SSE42": {"LOWDIM_ISA": "portable", "OPENBLAS_CORETYPE": "Nehalem"},
    "AVX2": {"LOWDIM_ISA": "avx2", "OPENBLAS_CORETYPE": "Haswell"},
    "FMA3": {"LOWDIM_ISA": "portable", "OPENBLAS_CORETYPE": "Zen"},
    "AVX512_SKX": {"LOWDIM_ISA": "avx512", "OPENBLAS_CORETYPE": "SkylakeX"},
}


def test_maps_agree_to_a_millionth_of_their_width(tmp_path: Path) -> None:
    maps = []
    for feature, setting in SETTINGS.items():
        if not features.get(feature):
            continue
        file = tmp_path / f"{feature}.npz"
        environment = {**os.environ, **setting, "LOWDIM_DEVICE": "cpu"}
        subprocess.run([sys.executable, str(MAPS), str(file)], env=environment, check=True)
        maps.append(np.load(file))
    if len(maps) < 2:
        pytest.skip("needs a processor with several instruction sets")
    for name in maps[0].files:
        width = np.ptp(maps[0][name])
        for other in maps[1:]:
            gap = np.abs(other[name] - maps[0][name]).max()
            assert gap <= 1e-6 * width, f"{name}: {gap / width:.1e} of the width"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("PCA", {}),
        ("ClassicalMDS", {}),
        ("KernelPCA", {"kernel": "rbf"}),
        ("Isomap", {"n_neighbors": 4}),
        ("LocallyLinearEmbedding", {"n_neighbors": 4}),
        ("LaplacianEigenmaps", {"n_neighbors": 4}),
        ("DiffusionMap", {"n_neighbors": 4}),
        ("LocalityPreservingProjections", {"n_neighbors": 4}),
    ],
)
def test_axes_of_equal_eigenvalues(name: str, options: dict[str, Any]) -> None:
    """The longest row, here the first of equals, lies on the first axis; a cut is announced."""
    angles = 2 * np.pi * np.arange(60) / 60
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    Y = getattr(lowdim, name)(n_components=2, **options).fit_transform(circle)
    np.testing.assert_allclose(Y / Y[0, 0], circle, atol=1e-9)
    one = getattr(lowdim, name)(n_components=1, **options)
    with pytest.warns(UserWarning, match="Axes 0 and 1 .* exchangeable, and axis 1 is left out"):
        one.fit(circle)
    one.fit(circle * [1, 1.5])  # an ellipse has two axes: no warning
