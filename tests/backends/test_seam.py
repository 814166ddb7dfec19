"""Methods run on any backend: registered under a name, the reference does all of the work.

Solutions of eigenproblems agree up to the sign of an axis. Descents are compared after a few steps,
before rounding grows; new points, which are placed until they rest, with less precision.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import lowdim
from lowdim.backends import backend
from lowdim.backends.native import Backend
from lowdim.runtime import context

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 10)) * np.linspace(3, 0.5, 10)
WIDE = RANDOM.normal(size=(20, 200)) * np.linspace(3, 0.5, 200)
OPERATIONS = [name for name in dir(Backend) if not name.startswith("_")]

# The method, the data, and operations that it cannot do without.
METHODS = {
    "PCA": (lowdim.PCA(n_components=2), X, set()),
    "PCA of few rows": (lowdim.PCA(n_components=2, svd_solver="gram_eigh"), WIDE, {"matmul"}),
    "ClassicalMDS": (lowdim.ClassicalMDS(n_components=2, metric="nan_euclidean"), X, {"matmul"}),
    "Isomap": (
        lowdim.Isomap(n_components=2, n_neighbors=8),
        X,
        {"nearest", "symmetrize", "shortest_paths"},
    ),
    "LaplacianEigenmaps": (
        lowdim.LaplacianEigenmaps(n_components=2, n_neighbors=8),
        X,
        {"nearest", "symmetrize"},
    ),
    "LocallyLinearEmbedding": (
        lowdim.LocallyLinearEmbedding(n_components=2, n_neighbors=8),
        X,
        {"nearest", "barycentric_weights"},
    ),
    "MDS": (lowdim.MDS(n_components=2, max_iter=5), X, {"stress_gradient"}),
    "non-metric MDS": (
        lowdim.MDS(n_components=2, metric_mds=False, max_iter=5),
        X,
        {"pair_distances", "pair_gradient", "isotonic"},
    ),
    "Sammon": (lowdim.Sammon(n_components=2, max_iter=5), X, {"sammon_gradient"}),
    "TSNE": (
        lowdim.TSNE(n_components=2, perplexity=10, method="exact", max_iter=250, random_state=0),
        X,
        {
            "perplexity_affinities",
            "joint_probabilities",
            "negative_entropy",
            "attraction",
            "build_repulsion",
            "momentum_step",
        },
    ),
    "UMAP": (
        lowdim.UMAP(n_components=2, n_neighbors=8, n_epochs=5, random_state=0),
        X,
        {"nearest", "memberships", "fuzzy_union", "layout_arcs", "layout_epochs"},
    ),
    "PaCMAP": (
        lowdim.PaCMAP(n_components=2, max_iter=5, random_state=0),
        X,
        {"nearest", "layout_arcs", "pair_epochs", "draw_others"},
    ),
    "TriMap": (
        lowdim.TriMap(n_components=2, max_iter=5, random_state=0),
        X,
        {"nearest", "triplet_epochs"},
    ),
    "NeRV": (lowdim.NeRV(n_components=2, perplexity=10, max_iter=5), X, {"divergence_gradient"}),
    "CCA": (
        lowdim.CurvilinearComponentAnalysis(n_components=2, max_iter=5, random_state=0),
        X,
        {"curvilinear_sweep"},
    ),
}


@pytest.fixture
def device(reference, monkeypatch):
    monkeypatch.setitem(context.ENGINES, "numpy", reference.__name__)
    return "numpy"


@pytest.fixture
def calls(reference, monkeypatch):
    """The names of the operations that the reference was asked for."""
    seen = set()

    def recorded(name, operation):
        def call(*args, **kwargs):
            seen.add(name)
            return operation(*args, **kwargs)

        return call

    for name in OPERATIONS:
        monkeypatch.setattr(reference, name, recorded(name, getattr(reference, name)))
    return seen


@pytest.fixture
def without_native(monkeypatch):
    """A function after which every operation of the native backend fails."""

    def refused(name):
        def call(*args, **kwargs):
            raise AssertionError(f"native.{name} was called under another device")

        return call

    def forbid():
        for name in OPERATIONS:
            monkeypatch.setattr(Backend, name, staticmethod(refused(name)))

    return forbid


def like(found, expected):
    """With each axis in the direction of the expected one."""
    return found * np.sign(np.einsum("nd,nd->d", found, expected))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_runs_on_the_reference(name, reference, device, calls, without_native):
    estimator, data, needed = METHODS[name]
    new = data[:7] + 0.1
    one = clone(estimator).fit(data)
    placed = one.transform(new)
    without_native()
    with lowdim.compute(device=device):
        assert backend() is reference
        other = clone(estimator).fit(data)
        anew = other.transform(new)
    assert needed <= calls
    size = np.abs(one.embedding_).max()
    np.testing.assert_allclose(
        like(other.embedding_, one.embedding_), one.embedding_, atol=1e-6 * size
    )
    np.testing.assert_allclose(like(anew, placed), placed, atol=1e-4 * size)


def test_a_whole_layout_draws_the_same_on_the_reference(device):
    """Targets of larger maps are drawn, by a hash that all backends share."""
    data = np.random.default_rng(1).normal(size=(520, 4))
    estimator = lowdim.UMAP(
        n_components=2, n_neighbors=5, n_epochs=2, init="random", random_state=0
    )
    expected = clone(estimator).fit_transform(data)
    with lowdim.compute(device=device):
        found = clone(estimator).fit_transform(data)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
