"""The first fit of a process imports no more than it needs."""

from __future__ import annotations

import subprocess
import sys

FITS = """
import sys
import numpy as np
import scipy.sparse, sklearn.base  # what every estimator needs
before = set(sys.modules)
import lowdim
X = np.random.default_rng(0).random((300, 5)).astype(np.float32)
known = sys.stdlib_module_names | {"lowdim"}
for method in (
    lowdim.PCA(),
    lowdim.ClassicalMDS(),
    lowdim.Isomap(),
    lowdim.MDS(max_iter=2),
    lowdim.TSNE(max_iter=250),
    lowdim.UMAP(n_epochs=2),
    lowdim.UMAP(n_epochs=2, metric="cosine"),
):
    method.fit(X)
    for name in sorted(set(sys.modules) - before):
        if name.partition(".")[0] not in known:
            print(f"{method}: {name}")
"""


def test_first_fits_import_only_what_the_base_class_needs():
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FITS], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == []
