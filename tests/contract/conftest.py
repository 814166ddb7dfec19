"""Every method of the catalog as a case: how to make it, and what it promises.

A test that asks for `case` runs for every method, one that asks for `metric_case` or `graph_case`
for those that take a metric or a graph. What the base classes alone do is tested on one method
for each combination of them: `kind_case`, and `metric_kind_case` of those that take a metric. A
new row of the catalog is in all of them at once; the tables below are for what its defaults do
not suit.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lowdim import data
from lowdim.catalog import CATALOG
from lowdim.learned.networks.network_embedder import NetworkEmbedder
from lowdim.learned.parametric import parametric

DESCENT = {"perplexity": 5, "max_iter": 300}

# Parameters for small data where the defaults do not suit.
EXAMPLES: dict[str, dict[str, Any]] = {
    "PCA": {"n_components": 2},
    "KernelPCA": {"n_components": 2, "kernel": "rbf", "gamma": 0.1},
    "Isomap": {"n_neighbors": 8},
    "LocallyLinearEmbedding": {"n_neighbors": 8},
    "LaplacianEigenmaps": {"n_neighbors": 8},
    "MaximumVarianceUnfolding": {"n_neighbors": 8},
    "SpectralClustering": {"n_clusters": 3, "n_neighbors": 8, "random_state": 0},
    "DiffusionMap": {"n_neighbors": 8},
    "LocalityPreservingProjections": {"n_neighbors": 8},
    "NeighborhoodPreservingEmbedding": {"n_neighbors": 8},
    "LinearLocalTangentSpaceAlignment": {"n_neighbors": 8, "tangent_dimension": 2},
    "CurvilinearDistanceAnalysis": {"n_neighbors": 8},
    **dict.fromkeys(("SNE", "SymmetricSNE", "TSNE", "WeightedTSNE"), DESCENT),
    "MultiscaleSNE": {"max_iter": 40},
    "NeRV": {"perplexity": 8, "max_iter": 100},
    "PaCMAP": {"max_iter": 250},
    "TriMap": {"max_iter": 150},
    "LargeVis": {"perplexity": 5},
    "NegativeSamplingTSNE": {"perplexity": 5},
    "Autoencoder": {"layers": (16,), "max_iter": 15},
    "ParametricTSNE": {"layers": (16,), "max_iter": 5, "perplexity": 5, "init": "random"},
    "ParametricUMAP": {"layers": (16,), "max_iter": 5, "init": "random"},
}

# A long descent is chaotic: two that differ by rounding end apart. What must not matter is looked
# at after its first steps.
FIRST_STEPS: dict[str, dict[str, Any]] = {
    name: {"max_iter": 10}
    for name in (
        "SNE",
        "SymmetricSNE",
        "TSNE",
        "WeightedTSNE",
        "MultiscaleSNE",
        "NeRV",
        "PaCMAP",
        "TriMap",
        "LargeVis",
        "NegativeSamplingTSNE",
    )
}

# How far transform(X_train) may be from embedding_, in units of the map's largest coordinate:
# rounding, except where the method's docstring says otherwise.
ROUNDING = 1e-8
CLOSENESS = {"LocallyLinearEmbedding": 0.05}

# How far transform(X_train + tiny noise) may be from embedding_: a kernel on the graph counts a
# new point beside a training point as one more neighbour of it.
NEARBY = {
    "PHATE": 0.15,  # the mean of its neighbours
    "MDS": 0.1,
    "LocallyLinearEmbedding": 0.05,
    "LaplacianEigenmaps": 0.05,
    "SpectralClustering": 0.05,
    "SNE": 0.2,  # 0.110 and 0.140 by two instruction sets
    "SymmetricSNE": 0.15,  # 0.080 and 0.089 by two instruction sets
    "TSNE": 0.05,
    "WeightedTSNE": 0.05,
    "UMAP": 0.05,
    "PaCMAP": 0.1,
    "TriMap": 0.2,
    "NegativeSamplingTSNE": 0.05,
    "LargeVis": 0.05,
    "MultiscaleSNE": 0.1,
    "NeRV": 0.05,
}

# The share of objects that may be farther: they lie apart from their neighbours on the map, near
# which the new ones land.
APART = {"LargeVis": 0.01}

# How far inverse_transform(embedding_) may be from X, in units of its spread, on data that the
# map can hold. Two of a kernel's components hold only part of it, and units hold prototypes.
INVERSE = {"PHATE": 1e-4, "KernelPCA": 0.5, "SelfOrganizingMap": 0.7, "Autoencoder": 3.0}


@dataclass(frozen=True)
class Case:
    """One method of the catalog with parameters that suit small data."""

    name: str
    cls: Any
    family: str

    def make(self, **params: Any) -> Any:
        return self.cls(**{**EXAMPLES.get(self.name, {}), **params})

    def steady(self, **params: Any) -> Any:
        """The method where rounding has not grown to anything yet."""
        return self.make(**{**FIRST_STEPS.get(self.name, {}), **params})

    def has(self, parameter: str) -> bool:
        return parameter in self.cls().get_params()

    @property
    def sees_graph(self) -> bool:
        return self.sees_neighbors and self.has("disconnected")

    @property
    def sees_neighbors(self) -> bool:
        return hasattr(self.cls, "_n_wanted")

    def few(self, n: int) -> dict[str, Any]:
        """Parameters that suit very few objects."""
        if self.has("perplexity"):
            return {"perplexity": min(2.0, max(1.0, n - 1.5))}
        if not self.sees_neighbors or not self.has("n_neighbors"):
            return {}
        return {"n_neighbors": 2 if self.name == "UMAP" else max(1, min(2, n - 1))}  # with itself

    @property
    def has_network(self) -> bool:
        """Whether the first map is random, so that it depends on the order of objects and axes."""
        return issubclass(self.cls, NetworkEmbedder)

    @property
    def closeness(self) -> float:
        return CLOSENESS.get(self.name, ROUNDING)

    @property
    def nearby(self) -> float:
        return NEARBY.get(self.name, 1e-6)

    @property
    def apart(self) -> float:
        return APART.get(self.name, 0.0)

    @property
    def inverse(self) -> float:
        return INVERSE.get(self.name, 1e-6)


# A method of several subjects takes a stack of matrices, and its own tests hold it to the contract.
CASES = [
    Case(method.name, method.load(), method.family)
    for method in CATALOG
    if method.objects == "vectors"
]


def _cases(chosen: list[Case]) -> Any:
    def case(request: Any) -> Case:
        return request.param

    return pytest.fixture(params=chosen, ids=[c.name for c in chosen], scope="session")(case)


case = _cases(CASES)
invariant_case = _cases([c for c in CASES if not c.has_network])
metric_case = _cases([c for c in CASES if c.has("metric")])
graph_case = _cases([c for c in CASES if c.sees_graph])
radius_case = _cases([c for c in CASES if c.sees_graph and c.has("radius")])
seeded_case = _cases([c for c in CASES if c.has("random_state")])
verbose_case = _cases([c for c in CASES if c.has("verbose")])

# The first method of each kind: of vectors alone or of any metric, with or without neighbours, with
# or without a graph, with or without a network.
KINDS = list(
    {
        (c.has("metric"), c.sees_neighbors, c.sees_graph, c.has_network): c for c in CASES[::-1]
    }.values()
)
kind_case = _cases(KINDS)
metric_kind_case = _cases([c for c in KINDS if c.has("metric")])


@pytest.fixture(autouse=True)
def _short_imitation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks imitate a start for a moment only, which otherwise takes most of the time."""
    monkeypatch.setattr(parametric, "IMITATION_STEPS", 20)
    monkeypatch.setattr(parametric, "IMITATION_EPOCHS", 1)


@pytest.fixture(scope="session")
def X() -> Any:
    """A bent strip in three dimensions, with no two distances alike; read-only."""
    points, _ = data.s_curve(90, noise=0.02, random_state=0)
    points.setflags(write=False)
    return points


@pytest.fixture(scope="session")
def new() -> Any:
    """Other points of the same strip."""
    points, _ = data.s_curve(12, noise=0.02, random_state=1)
    points.setflags(write=False)
    return points


@pytest.fixture(scope="session")
def wide() -> Any:
    """A bent strip in twelve dimensions, large enough for iterative solvers and many blocks."""
    points, _ = data.s_curve(520, noise=0.02, random_state=2)
    rotation = np.linalg.qr(np.random.RandomState(0).standard_normal((12, 12)))[0]
    full = points @ rotation[:3] + 0.01 * np.random.RandomState(1).standard_normal((520, 12))
    full.setflags(write=False)
    return full


@pytest.fixture(scope="session")
def fitted(case: Case, X: Any) -> Any:
    """The method fitted to X, for tests that do not change it."""
    return case.make().fit(X)


@pytest.fixture(scope="session")
def fitted_wide(case: Case, wide: Any) -> Any:
    """The method fitted to `wide`, for tests that do not change it."""
    return case.make().fit(wide)


@pytest.fixture(scope="session")
def two_strips() -> Any:
    """Two strips far apart, of 50 and 30 points: a graph in two components."""
    strip, _ = data.s_curve(80, noise=0.02, random_state=3)
    strip[50:, 0] += 40.0
    strip.setflags(write=False)
    return strip


@pytest.fixture
def quiet() -> Any:
    """For tests of extreme input, where a warning is a fine answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
