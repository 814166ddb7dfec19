"""Fits have the same bits whatever the processor: instruction set, BLAS, NumPy and C library.

Each setting is a process of its own that makes all fits of `fits.py`. If a change of the code
changes the maps on purpose, write the digests anew and say so in the changelog:

    python tests/reproducible/fits.py --write
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_features__ as features

from lowdim.catalog import CATALOG

HERE = Path(__file__).parent
NO_FMA = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-FMA_Usable"
SETTINGS: dict[str, dict[str, str]] = {
    "this machine": {},
    "AVX-512": {"LOWDIM_ISA": "avx512", "OPENBLAS_CORETYPE": "SkylakeX"},
    "AVX2": {
        "LOWDIM_ISA": "avx2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "LOWDIM_NUM_THREADS": "1",
    },
    "portable": {
        "LOWDIM_ISA": "portable",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": NO_FMA,
        "LOWDIM_NUM_THREADS": "3",
    },
}
NOT_PROMISED = {
    "MaximumVarianceUnfolding": "solves a semidefinite programme by LAPACK",
    "NeighborhoodComponentsAnalysis": "learns a metric by BLAS",
    "LargeMarginNearestNeighbor": "learns a metric by BLAS",
    "InformationTheoreticMetricLearning": "learns a metric by BLAS",
    "Autoencoder": "is trained by PyTorch",
    "ParametricTSNE": "is trained by PyTorch",
    "ParametricUMAP": "is trained by PyTorch",
}
NEEDED = {"AVX-512": "AVX512_SKX", "AVX2": "AVX2", "portable": "SSE42"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_digests(setting: str) -> None:
    if setting == "this machine" and features.get("AVX512_SKX"):
        pytest.skip("the setting AVX-512 is this machine")
    feature = NEEDED.get(setting)
    if feature is not None and not features.get(feature):
        pytest.skip(f"needs a processor with {feature}")
    command = [sys.executable, str(HERE / "fits.py")]
    environment = {**os.environ, **SETTINGS[setting], "LOWDIM_DEVICE": "cpu"}
    # NumPy warns where it knows a feature by another name.
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    wanted = json.loads((HERE / "digests.json").read_text())
    assert json.loads(run.stdout) == wanted


def test_every_method_of_the_catalog_is_fitted_here() -> None:
    """By `fits.py`, bit for bit, or by `spectral_maps.py`, to a millionth, if it is promised."""
    text = {name: (HERE / name).read_text() for name in ("fits.py", "spectral_maps.py")}
    fitted = {name: set(re.findall(r"lowdim\.(\w+)\(|\"(\w+)\"", text[name])) for name in text}
    for method in CATALOG:
        names = {name for name in text if any(method.name in pair for pair in fitted[name])}
        if method.name in NOT_PROMISED:
            wanted = set()
        elif method.family == "spectral" or method.name == "PHATE":  # begins with eigenvectors
            wanted = {"spectral_maps.py"}
        else:
            wanted = {"fits.py"}
        assert names == wanted, method.name
