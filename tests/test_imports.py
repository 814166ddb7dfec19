"""The first fit of a process imports no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIT = """
import sys
import numpy as np
import scipy.sparse, sklearn.base  # what every estimator needs
before = set(sys.modules)
import lowdim
lowdim.{method}.fit(np.random.default_rng(0).random((300, 5)).astype(np.float32))
known = sys.stdlib_module_names | {{"lowdim"}}
new = set(sys.modules) - before
print(*sorted(name for name in new if name.partition(".")[0] not in known))
"""


@pytest.mark.parametrize(
    "method",
    [
        "UMAP(n_epochs=2)",
        'UMAP(n_epochs=2, metric="cosine")',
        "TSNE(max_iter=250)",
        "Isomap()",
        "PCA()",
        "MDS(max_iter=2)",
        "ClassicalMDS()",
    ],
)
def test_first_fit_imports_only_what_the_base_class_needs(method):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT.format(method=method)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []
