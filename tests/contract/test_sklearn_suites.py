"""scikit-learn's own tests of the classes we replace, run on ours.

The test modules ship inside scikit-learn's wheel. A fresh copy of each is loaded with our classes
in the place of its own; what it tests of behaviour must hold here too. Where our behaviour
differs on purpose, the test is listed with the reason.
"""

from __future__ import annotations

import importlib.util
import types

import numpy as np
import pytest

import lowdim

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

OURS = {
    name: getattr(lowdim, name)
    for name in ("Isomap", "LocallyLinearEmbedding", "ClassicalMDS", "KernelPCA", "MDS", "TSNE")
}

DIFFERENT = {
    "test_normalized_stress_auto": "watches calls of a private function",
    "test_returned_stress": "the classical start is exact here: it compares roundings of zero",
    "test_future_warning_init_and_metric": "the default start is classical without a warning",
    "test_singular_matrix": "tests a function; and constant data is embedded here, not refused",
    "test_barycenter_kneighbors_graph": "tests a private function",
    "test_remove_zero_eig": "asking for more components than there are is an error here",
    "test_kernel_conditioning": "asking for more components than there are is an error here",
    "test_kernel_pca_solvers_equivalence": "asks a rank-2 kernel for 4 components and more",
    "test_precomputed_kernel_not_psd[randomized]": (
        "the largest eigenvalues are found here, not the largest in absolute value"
    ),
    "test_bad_precomputed_distances": "says the same in other words",
    "test_exact_no_precomputed_sparse": "a sparse graph is accepted here",
    "test_high_perplexity_precomputed_sparse_distances": "uses all neighbours that it is given",
    "test_sparse_precomputed_distance": "equal except for rounding, which a long descent enlarges",
    "test_non_positive_computed_distances": "maps two points to a plane",
    "test_n_components_range": "maps two points to more dimensions than there are points",
    "test_pca_initialization_not_compatible_with_precomputed_kernel": (
        "classical scaling stands in for principal components"
    ),
    "test_max_iter_used": "n_iter_ is the number of iterations, not of the last from zero",
    "test_verbose": "reads the output, which is a progress bar here",
    "test_n_iter_without_progress": "reads the output, which is a progress bar here",
    "test_accessible_kl_divergence": "reads the output, which is a progress bar here",
    "test_min_grad_norm": "reads the output, which is a progress bar here",
    "test_64bit": "float64 in, float64 out",
    "test_tsne_with_different_distance_metrics": (
        "equal except for rounding, which a long descent enlarges"
    ),
    "test_tsne_with_mahalanobis_distance": "the covariance is taken from the data",
}


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def global_dtype(request):
    return request.param


@pytest.fixture
def global_random_seed():
    return 42


def load(name: str) -> types.ModuleType:
    original = importlib.util.find_spec(name)
    spec = importlib.util.spec_from_file_location(
        f"replaced_{name.split('.')[-1]}", original.origin
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for attribute, ours in OURS.items():
        if hasattr(module, attribute):
            setattr(module, attribute, ours)
    if hasattr(module, "manifold"):
        theirs = {k: v for k, v in vars(module.manifold).items() if not k.startswith("__")}
        module.manifold = types.SimpleNamespace(**{**theirs, **OURS})
    if hasattr(module, "mds"):
        theirs = {k: v for k, v in vars(module.mds).items() if not k.startswith("__")}
        module.mds = types.SimpleNamespace(**{**theirs, "MDS": OURS["MDS"]})
    return module


for suite in (
    "sklearn.manifold.tests.test_isomap",
    "sklearn.manifold.tests.test_locally_linear",
    "sklearn.manifold.tests.test_classical_mds",
    "sklearn.manifold.tests.test_mds",
    "sklearn.manifold.tests.test_t_sne",
    "sklearn.decomposition.tests.test_kernel_pca",
):
    module = load(suite)
    for name, function in vars(module).copy().items():
        if name.startswith("test_") and name not in DIFFERENT:
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
