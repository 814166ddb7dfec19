"""scikit-learn's own tests of the classes we replace, run on ours.

The test modules ship inside scikit-learn's wheel. A fresh copy of each is loaded with our classes
in the place of its own; what it tests of behaviour must hold here too. Where our behaviour
differs on purpose, docs/migration.rst lists the test with the reason.
"""

from __future__ import annotations

import contextlib
import importlib.util
import types

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.manifold
import sklearn.neighbors

import lowdim
from benchmarks import suites

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

OURS = {
    **{
        name: getattr(lowdim, name)
        for name in (
            "Isomap",
            "LocallyLinearEmbedding",
            "ClassicalMDS",
            "KernelPCA",
            "MDS",
            "NeighborhoodComponentsAnalysis",
            "PCA",
            "SpectralClustering",
            "TSNE",
            "locally_linear_embedding",
            "smacof",
            "spectral_embedding",
            "trustworthiness",
        )
    },
    "SpectralEmbedding": lowdim.LaplacianEigenmaps,
}

DIFFERENT = suites.documented_reasons()


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def global_dtype(request):
    return request.param


@pytest.fixture
def global_random_seed():
    return 42


def load(name: str) -> types.ModuleType:
    """A copy of a test module that has our names in place of scikit-learn's."""
    original = importlib.util.find_spec(name)
    spec = importlib.util.spec_from_file_location(
        f"replaced_{name.split('.')[-1]}", original.origin
    )
    module = importlib.util.module_from_spec(spec)
    with replaced():  # its decorators make estimators when it is loaded
        spec.loader.exec_module(module)
    for attribute, value in vars(module).copy().items():
        if isinstance(value, types.ModuleType) and value.__name__ in PARTIAL:
            theirs = {k: v for k, v in vars(value).items() if not k.startswith("__")}
            setattr(module, attribute, types.SimpleNamespace(**{**theirs, **OURS}))
    return module


PACKAGES = (sklearn.cluster, sklearn.decomposition, sklearn.manifold, sklearn.neighbors)
PARTIAL = ("sklearn.manifold", "sklearn.manifold._mds")
"""Modules that the tests use by name, in which some attributes are ours."""


@contextlib.contextmanager
def replaced():
    """scikit-learn's public modules with our names in them."""
    with pytest.MonkeyPatch.context() as patch:
        for package in PACKAGES:
            for attribute, ours in OURS.items():
                if hasattr(package, attribute):
                    patch.setattr(package, attribute, ours)
        yield


def uses_ours(function: types.FunctionType, module: types.ModuleType) -> bool:
    """Whether a test calls something of ours, itself or in a function of its module."""
    for name in function.__code__.co_names:
        value = getattr(module, name, None)
        if any(value is ours for ours in OURS.values()) or name in OURS:
            return True
        helper = isinstance(value, types.FunctionType) and value.__module__ == module.__name__
        if helper and value is not function and uses_ours(value, module):
            return True
    return False


for suite in (
    "sklearn.cluster.tests.test_spectral",
    "sklearn.decomposition.tests.test_kernel_pca",
    "sklearn.decomposition.tests.test_pca",
    "sklearn.manifold.tests.test_classical_mds",
    "sklearn.manifold.tests.test_isomap",
    "sklearn.manifold.tests.test_locally_linear",
    "sklearn.manifold.tests.test_mds",
    "sklearn.manifold.tests.test_spectral_embedding",
    "sklearn.manifold.tests.test_t_sne",
    "sklearn.neighbors.tests.test_nca",
):
    module = load(suite)
    for name, function in vars(module).copy().items():
        wanted = name.startswith("test_") and name not in DIFFERENT
        if wanted and uses_ours(function, module):
            globals()[f"{name}__{suite.split('.')[-1]}"] = function


def test_the_documentation_gives_reasons():
    assert len(DIFFERENT) > 30
    assert all(DIFFERENT.values())


@pytest.fixture(autouse=True)
def _listed_differences(request):
    for name, reason in DIFFERENT.items():
        base, _, case = name.partition("[")
        if (
            request.node.originalname.startswith(f"{base}__")
            and case.rstrip("]") in request.node.name
        ):
            pytest.skip(reason)
