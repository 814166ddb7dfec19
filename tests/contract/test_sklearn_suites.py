"""scikit-learn's own tests of the classes we replace, run on ours.

The test modules ship inside scikit-learn's wheel. A fresh copy of each is loaded with our classes
in the place of its own; what it tests of behaviour must hold here too. Where our behaviour
differs on purpose, the test is listed with the reason.
"""

from __future__ import annotations

import contextlib
import importlib.util
import types

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.manifold

import lowdim

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
            "PCA",
            "TSNE",
            "locally_linear_embedding",
            "smacof",
            "spectral_embedding",
            "trustworthiness",
        )
    },
    "SpectralEmbedding": lowdim.LaplacianEigenmaps,
}

DIFFERENT = {
    # private attributes, functions and printed text of scikit-learn
    "test_normalized_stress_auto": "watches calls of a private function",
    "test_spectral_eigen_tol_auto": "watches calls of a private function",
    "test_pca_svd_solver_auto": "reads a private attribute",
    "test_verbose": "reads the output, which is a progress bar here",
    "test_n_iter_without_progress": "reads the output, which is a progress bar here",
    "test_accessible_kl_divergence": "reads the output, which is a progress bar here",
    "test_min_grad_norm": "reads the output, which is a progress bar here",
    # the same error or none, in other words
    "test_bad_precomputed_distances": "message of an error",
    "test_error_pyamg_not_available": "message of an error: there is no solver 'amg'",
    "test_n_components_mle_error": "message of an error",
    "test_pca_validation": "message of an error",
    "test_sparse_pca_solver_error": "message of an error",
    # different on purpose
    "test_pca_array_api_compliance": "arrays of other libraries are converted to NumPy's",
    "test_pca_mle_array_api_compliance": "arrays of other libraries are converted to NumPy's",
    "test_pca_score": (
        "expects a lower score with whiten=True; the probabilistic model does not depend on it"
    ),
    "test_returned_stress": "the classical start is exact here: it compares roundings of zero",
    "test_future_warning_init_and_metric": (
        "expects a warning that the default start will be classical, which it is here"
    ),
    "test_singular_matrix": "constant data is embedded here, not refused",
    "test_precomputed_kernel_not_psd[randomized]": (
        "the largest eigenvalues are found here, not the largest in absolute value"
    ),
    "test_exact_no_precomputed_sparse": "a sparse graph is accepted here",
    "test_high_perplexity_precomputed_sparse_distances": (
        "as many neighbours as the perplexity suffice here, not three times as many"
    ),
    "test_sparse_precomputed_distance": "equal except for rounding, which a long descent enlarges",
    "test_non_positive_computed_distances": (
        "expects the error of a negative metric for two points, of which a map has one dimension"
    ),
    "test_n_components_range": (
        "expects the error of n_components=4 with method='barnes_hut' for two points, as above"
    ),
    "test_pca_initialization_not_compatible_with_precomputed_kernel": (
        "classical scaling stands in for principal components"
    ),
    "test_max_iter_used": "n_iter_ is the number of iterations, not of the last from zero",
    "test_64bit": "expects float32 for float64 data; the embedding has the type of the data here",
    "test_tsne_with_different_distance_metrics": (
        "equal except for rounding, which a long descent enlarges"
    ),
    "test_tsne_with_mahalanobis_distance": (
        "expects an error without V or VI; the covariance is taken from the data here"
    ),
}


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


PARTIAL = ("sklearn.manifold", "sklearn.manifold._mds")
"""Modules that the tests use by name, in which some attributes are ours."""


@contextlib.contextmanager
def replaced():
    """scikit-learn's public modules with our names in them."""
    with pytest.MonkeyPatch.context() as patch:
        for package in (sklearn.decomposition, sklearn.manifold):
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
    "sklearn.decomposition.tests.test_kernel_pca",
    "sklearn.decomposition.tests.test_pca",
    "sklearn.manifold.tests.test_classical_mds",
    "sklearn.manifold.tests.test_isomap",
    "sklearn.manifold.tests.test_locally_linear",
    "sklearn.manifold.tests.test_mds",
    "sklearn.manifold.tests.test_spectral_embedding",
    "sklearn.manifold.tests.test_t_sne",
):
    module = load(suite)
    for name, function in vars(module).copy().items():
        wanted = name.startswith("test_") and name not in DIFFERENT
        if wanted and uses_ours(function, module):
            globals()[f"{name}__{suite.split('.')[-1]}"] = function


@pytest.fixture(autouse=True)
def _listed_differences(request):
    for name, reason in DIFFERENT.items():
        base, _, case = name.partition("[")
        if (
            request.node.originalname.startswith(f"{base}__")
            and case.rstrip("]") in request.node.name
        ):
            pytest.skip(reason)
