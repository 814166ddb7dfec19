"""How much memory a fit takes at its peak, beyond its input: claimed before the fit starts.

`FOOTPRINTS` has one formula for each method. `python -m benchmarks memory` measures them: a claim
is to be 0.9 to 1.3 of the peak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lowdim.backends.native.stochastic import sum_buffers
from lowdim.catalog import find
from lowdim.learned.metric_learning.margins import SEARCH_ROWS
from lowdim.numerics.eigenpairs import DENSE_UP_TO
from lowdim.objects.blocked_objects import BlockedObjects
from lowdim.objects.objects import (
    LARGEST_KEPT_MATRIX,
    MeasuredObjects,
    Objects,
    SparseDissimilarities,
)
from lowdim.objects.samples import sample_size
from lowdim.runtime import memory
from lowdim.runtime.context import current

WORKSPACE = 12 * 10**6  # bytes of tiles of distances and of iterates, for many objects
WORKSPACE_PER_OBJECT = 4096  # bytes, for few
BOTTOM_EIGENVECTORS = 3.7  # the same, for eigenvectors orthogonal to given ones
MEANS = ("euclidean", "cosine", "nan_euclidean")  # self-organizing maps then need no distances
DENSE_EIGENVECTORS = 3.05  # n x n arrays that a dense eigensolver takes beside its matrix


@dataclass(frozen=True)
class Problem:
    """An estimator and the objects that it is to be fitted to."""

    estimator: Any
    objects: Objects
    arguments: dict[str, Any] = field(default_factory=dict)  # further ones of `fit`

    @property
    def n(self) -> int:
        return self.objects.n

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return int(self.objects.dtype.itemsize)

    @property
    def square(self) -> float:
        """Bytes of an n x n array."""
        return float(self.n) * self.n * self.size

    @property
    def distances(self) -> float:
        """Bytes of the n x n distances, unless they are given."""
        return self.square if self.objects.measured else 0.0

    @property
    def arcs(self) -> float:
        """Number of arcs of the neighbour graph; 0 if the number of neighbours is not known."""
        e = self.estimator
        wanted = getattr(e, "n_neighbors", None)
        if hasattr(e, "perplexity") and hasattr(e, "_n_wanted"):
            wanted = e._n_wanted(self.n)
        k = wanted if isinstance(wanted, int) else getattr(e, "_default_neighbors", 0)
        return float(self.n) * min(k, self.n)

    def chosen(self, parameter: str) -> int:
        """A number of objects, by the name of its parameter; 0 if it is None."""
        value = getattr(self.estimator, parameter, None)
        return min(value, self.n) if isinstance(value, int) else 0

    def is_set(self, parameter: str, *values: Any) -> bool:
        value = getattr(self.estimator, parameter, None)
        return isinstance(value, str | bool) and value in values

    @property
    def eigenvectors(self) -> float:
        """Bytes that LAPACK takes if it is asked for, beside the matrix."""
        dense = self.is_set("eigen_solver", "dense") or self.n <= DENSE_UP_TO
        return DENSE_EIGENVECTORS * self.square if dense else 0.0

    def geodesics(self, columns: float, workspace: float) -> float:
        """Bytes of geodesics to some objects: n x columns numbers, and workspace for large n."""
        return self.n * columns * self.size + min(workspace, 290.0 * self.n * self.size)

    @property
    def bottom_eigenvectors(self) -> float:
        """The same for the smallest eigenvalues, for which null vectors are moved away."""
        dense = self.is_set("eigen_solver", "dense") or self.n <= DENSE_UP_TO
        return BOTTOM_EIGENVECTORS * self.square if dense else 0.0

    @property
    def scaling(self) -> float:
        """The same for classical scaling, which makes the matrix from an operator."""
        return 1.2 * self.eigenvectors


def _classical_mds(p: Problem) -> float:
    e = p.estimator
    if m := p.chosen("n_landmarks"):
        return 8.0 * m * m * 3 + p.n * m * p.size
    if p.is_set("correction", "cailliez"):
        return 10.5 * p.square
    plain = p.objects.euclidean and e.correction == "none" and e.method == "eigh"
    return 0.0 if plain else p.distances + p.scaling


def _mds(p: Problem) -> float:
    if isinstance(p.objects, MeasuredObjects) and p.estimator._sampled(p.objects):
        return 10_000.0 * p.n
    weighted = p.estimator.weights is not None or p.arguments.get("weights") is not None
    kind = p.estimator._kind
    if isinstance(p.objects, SparseDissimilarities):
        return 145.0 * int(p.objects.matrix.nnz)
    if kind == "ratio" and not weighted:
        return p.distances
    by_kind = {"ratio": 1.7, "ordinal": 2.7, "interval": 3.7, "spline": 5.7}
    by_weight = {"ratio": 1.5, "ordinal": 1.5, "interval": 2.5, "spline": 4.5}
    copies = by_kind.get(kind, 0) + (by_weight.get(kind, 0) if weighted else 0)
    return copies * p.square + p.distances


def _kernel_pca(p: Problem) -> float:
    graph_kernels = {"isomap": 3.0, "lle": 4.0, "diffusion": 5.0, "commute_time": 5.0}
    kernel = p.estimator.kernel if isinstance(p.estimator.kernel, str) else ""
    return graph_kernels.get(kernel, 1.0) * p.square + p.eigenvectors


def _isomap(p: Problem) -> float:
    m = p.chosen("n_landmarks")
    paths = p.geodesics(1.6 * m, 30e6) if m else p.square + p.scaling
    return paths + 60 * p.arcs


def _locally_linear(p: Problem) -> float:
    k = p.arcs / p.n
    copies = 1.5 if p.is_set("method", "standard") else 3.6
    return copies * p.arcs * k * 8 + 60 * p.arcs + p.bottom_eigenvectors


def _graph_laplacian(p: Problem) -> float:
    if p.is_set("affinity", "rbf"):
        return 5.2 * p.square + p.bottom_eigenvectors
    return 88 * p.arcs + p.bottom_eigenvectors


def _curvilinear(p: Problem) -> float:
    if m := p.chosen("n_prototypes"):
        return 8.0 * m * m + p.n * 8.0
    return p.distances if p.n * p.n * 8 <= LARGEST_KEPT_MATRIX else 0.0


def _curvilinear_geodesics(p: Problem) -> float:
    m = p.chosen("n_prototypes")
    return (p.geodesics(0.75 * m, 50e6) if m else p.square) + 60 * p.arcs


def _stochastic_neighbors(p: Problem) -> float:
    return (52 + 2 * p.size) * p.arcs


def _divergence(p: Problem, squares: int) -> float:
    if not p.estimator._fits_sample(p.objects):
        return squares * p.square + p.distances
    return (56 + 2 * p.size) * p.n * sample_size(p.n)


def _umap(p: Problem) -> float:
    index = 0 if isinstance(p.objects, BlockedObjects) else 39 * p.arcs
    return 26 * p.arcs + index


def _self_organizing_map(p: Problem) -> float:
    if p.objects.metric_name in MEANS and not p.is_set("prototypes", "median"):
        return 0.0
    return 2.25 * p.square  # the relational map squares the distances


def _constraints(p: Problem) -> float:
    count = p.estimator.n_constraints
    d = int(p.objects.vectors("constraints").shape[1])
    return (16.0 * d + 90) * (count if isinstance(count, int) else 0)


def _stochastic_errors(p: Problem) -> float:
    """The sums of the parts of all rows, and what threads hold of the pairs of some rows."""
    d = int(p.objects.vectors("stochastic neighbours").shape[1])
    k = p.estimator.n_components
    columns = (min(k, d) if isinstance(k, int) else d) + 5  # with padding
    return 8.0 * p.n * ((sum_buffers(p.n) + 4) * columns + d + 22 * current().threads)


def _large_margin(p: Problem) -> float:
    """The search of impostors, which then claims the memory of those that it finds."""
    rows = float(current().threads) * min(SEARCH_ROWS, p.n)
    d = int(p.objects.vectors("the search of impostors").shape[1])
    return 10.0 * rows * p.n + 40.0 * p.n * d  # distances and two masks; copies of the vectors


FOOTPRINTS: dict[str, Callable[[Problem], float]] = {
    "PCA": lambda p: 0.0,
    "ClassicalMDS": _classical_mds,
    "MDS": _mds,
    "KernelPCA": _kernel_pca,
    "Isomap": _isomap,
    "LocallyLinearEmbedding": _locally_linear,
    "LaplacianEigenmaps": _graph_laplacian,
    "SpectralClustering": _graph_laplacian,
    "DiffusionMap": lambda p: 116 * p.arcs + p.eigenvectors,
    "Sammon": lambda p: 2 * p.square + p.distances,
    "INDSCAL": lambda p: 0.0,  # claims the stack of its subjects' matrices itself
    "CurvilinearComponentAnalysis": _curvilinear,
    "CurvilinearDistanceAnalysis": _curvilinear_geodesics,
    "UMAP": _umap,
    "MaximumVarianceUnfolding": lambda p: 60 * p.arcs,  # the programme claims its own
    "SNE": _stochastic_neighbors,
    "SymmetricSNE": _stochastic_neighbors,
    "TSNE": _stochastic_neighbors,
    "WeightedTSNE": _stochastic_neighbors,
    "MultiscaleSNE": lambda p: _divergence(p, 3),
    "NeRV": lambda p: _divergence(p, 2),
    "SelfOrganizingMap": _self_organizing_map,
    "NeighborhoodComponentsAnalysis": _stochastic_errors,
    "LargeMarginNearestNeighbor": _large_margin,
    "InformationTheoreticMetricLearning": _constraints,
    "ParametricTSNE": _stochastic_neighbors,
    "ParametricUMAP": lambda p: 65 * p.arcs,
    "Autoencoder": lambda p: 0.0,  # mini-batches; weights do not depend on the objects
}


def footprint(estimator: Any, objects: Objects, arguments: dict[str, Any] | None = None) -> int:
    """Bytes that a fit, with further arguments, takes at its peak, beyond its input."""
    formula = FOOTPRINTS[type(estimator).__name__]
    return int(formula(Problem(estimator, objects, arguments or {}))) + min(
        WORKSPACE, WORKSPACE_PER_OBJECT * objects.n
    )


def claim_memory(estimator: Any, objects: Objects, arguments: dict[str, Any]) -> None:
    """Raise MemoryError if a fit, with further arguments, would take more memory than there is."""
    name = type(estimator).__name__
    if name not in FOOTPRINTS:  # an estimator of a user, derived from one of ours
        return
    instead = ", or ".join(alternatives(estimator, objects))
    memory.claim(
        footprint(estimator, objects, arguments),
        f"{name} of {objects.n} objects",
        f"{instead[0].upper()}{instead[1:]}.",
    )


def alternatives(estimator: Any, objects: Objects) -> list[str]:
    """What to do instead, in terms of the parameters that the estimator has."""
    method = find(type(estimator).__name__)
    cheaper = []
    if method is not None and method.reduced_by and not getattr(estimator, method.reduced_by):
        some = max(10, min(1000, objects.n // 10))
        cheaper.append(f"set {method.reduced_by}={some} or so")
    chosen = method is not None and method.at_scale(objects.n) and estimator.method == "auto"
    if method is not None and method.large_scale is not None and objects.measured and not chosen:
        options = ", ".join(f"{name}={value!r}" for name, value in method.large_scale.parameters)
        cheaper.append(f"set {options}")
    if getattr(estimator, "method", None) == "exact" and hasattr(estimator, "perplexity"):
        cheaper.append("set method='auto'")
    if getattr(estimator, "n_constraints", None) is not None:
        cheaper.append("set a smaller n_constraints")
    if getattr(estimator, "eigen_solver", None) == "dense":
        cheaper.append("set eigen_solver='auto'")
    cheaper.append("take a sample of the objects and place the others with transform")
    if objects.dtype.itemsize == 8:
        cheaper.append("use float32")
    return cheaper
