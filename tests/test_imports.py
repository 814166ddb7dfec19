"""The first fit of a process imports no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lowdim.catalog import CATALOG

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


INSPECTED = """
import inspect, pydoc, sys
EXTRAS = "anywidget", "matplotlib", "polars", "pyarrow", "starlette"
sys.modules.update(dict.fromkeys(EXTRAS))  # importing one of them raises ModuleNotFoundError
import lowdim
print(hasattr(lowdim, "widget"), getattr(lowdim, "PCA").__name__)
assert "TSNE" in dict(inspect.getmembers(lowdim))
pydoc.render_doc(lowdim)
try:
    lowdim.widget
except AttributeError as error:
    print(error)
"""


def test_the_package_is_inspected_without_its_extras():
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INSPECTED],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    first, message = result.stdout.splitlines()
    assert first == "False PCA"
    assert message == "lowdim.widget needs the package anywidget: pip install 'lowdim[widget]'."


@pytest.mark.parametrize("method", CATALOG, ids=lambda method: method.name)
def test_the_attributes_of_an_estimator_are_listed(method):
    assert "fit_transform" in dir(method.load()())
