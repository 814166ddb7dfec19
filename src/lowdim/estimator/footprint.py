"""How much memory a fit takes at its peak, beyond its input: claimed before the fit starts.

The formula of a method is its `_memory`. `python -m benchmarks plan` measures all: a claim is to
be 0.9 to 1.3 of the peak.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lowdim.backends.native.products import tile_rows
from lowdim.checks import is_sparse
from lowdim.messages import argument
from lowdim.neighbor_graphs.exact import tree_fits
from lowdim.neighbor_graphs.search import use_exact_search
from lowdim.numerics.eigenpairs import DENSE_UP_TO
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime import memory
from lowdim.runtime.context import current

WORKSPACE = 12 * 10**6  # bytes of tiles of distances and of iterates, for many objects
WORKSPACE_PER_OBJECT = 4096  # bytes, for few
SEARCH_COPIES = 2  # of the vectors, in a search for neighbours
DENSE_EIGENVECTORS = 3.05  # n x n arrays that a dense eigensolver takes beside its matrix
RESULTS = 2  # copies of the eigenvectors, after that
DENSE_SHARE = 1 / 3  # of the eigenvectors, above which LAPACK is asked for all
BOTTOM_EIGENVECTORS = 3.7  # the same, for eigenvectors orthogonal to given ones


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
    def vectors(self) -> float:
        """Bytes of the vectors; 0 if the objects have none in memory."""
        if not self.objects.has_vectors or not self.objects.in_memory:
            return 0.0
        rows = self.objects.vectors("memory")
        entries = rows.nnz if is_sparse(rows) else float(rows.shape[0]) * rows.shape[1]
        return float(entries) * self.size

    @property
    def arcs(self) -> float:
        """Number of arcs of the neighbour graph; 0 if the number of neighbours is not known."""
        e = self.estimator
        wanted = getattr(e, "n_neighbors", None)
        if hasattr(e, "perplexity") and hasattr(e, "_n_wanted"):
            wanted = e._n_wanted(self.n)
        k = wanted if isinstance(wanted, int) else getattr(e, "_default_neighbors", 0)
        return float(self.n) * min(k, self.n)

    def with_search(self, rest: float) -> float:
        """Bytes at the peak of a search for neighbours, or of what takes `rest` after it.

        A search takes copies of the vectors, which matter if they are wide, and an exact one a tile
        of inner products for each thread.
        """
        objects, method = self.objects, search_method(self.estimator)
        tiles = 0.0
        if (
            isinstance(objects, MeasuredObjects)
            and objects.metric.by_products
            and not tree_fits(objects.rows, objects.metric)
            and use_exact_search(objects.rows, objects.metric, method)
        ):
            tiles = float(current().threads) * tile_rows(self.n) ** 2 * self.size
        return SEARCH_COPIES * self.vectors + max(rest, tiles)

    def object_count(self, parameter: str) -> int:
        """A number of objects, by the name of its parameter; 0 if it is None."""
        value = getattr(self.estimator, parameter, None)
        return min(value, self.n) if isinstance(value, int) else 0

    def is_set(self, parameter: str, *values: Any) -> bool:
        value = getattr(self.estimator, parameter, None)
        return isinstance(value, str | bool) and value in values

    def geodesics(self, columns: float, workspace: float) -> float:
        """Bytes of geodesics to some objects: n x columns numbers, and workspace for large n."""
        return self.n * columns * self.size + min(workspace, 290.0 * self.n * self.size)

    @property
    def eigenvectors(self) -> float:
        """Bytes that LAPACK takes if it is asked for, beside the matrix, and many results take."""
        wanted = getattr(self.estimator, "n_components", 0)
        share = min(wanted / self.n, 1.0) if isinstance(wanted, int) else 1.0  # None: all of them
        few = share <= DENSE_SHARE and not self.is_set("eigen_solver", "dense")
        dense = 0.0 if few and self.n > DENSE_UP_TO else DENSE_EIGENVECTORS
        return (dense + RESULTS * share) * self.square

    @property
    def bottom_eigenvectors(self) -> float:
        """The same as `eigenvectors` for the smallest eigenvalues, where null vectors are moved."""
        dense = self.is_set("eigen_solver", "dense") or self.n <= DENSE_UP_TO
        return BOTTOM_EIGENVECTORS * self.square if dense else 0.0

    @property
    def scaling(self) -> float:
        """The same as `eigenvectors` for classical scaling, whose matrix is an operator first."""
        return 1.2 * self.eigenvectors


def search_method(estimator: Any) -> str:
    """How neighbours are searched: approximately if there are many objects ("auto").

    Methods on a connected graph need exact neighbours, as eigenvectors and shortest paths change
    with single edges.
    """
    return "exact" if hasattr(estimator, "disconnected") else "auto"


def footprint(estimator: Any, objects: Objects, arguments: dict[str, Any] | None = None) -> int:
    """Bytes that a fit, with further arguments, takes at its peak, beyond its input."""
    problem = Problem(estimator, objects, arguments or {})
    return int(estimator._memory(problem)) + min(WORKSPACE, WORKSPACE_PER_OBJECT * objects.n)


def claim_memory(estimator: Any, objects: Objects, arguments: dict[str, Any]) -> None:
    """Raise MemoryError if a fit, with further arguments, would take more memory than there is."""
    if not hasattr(estimator, "traits"):  # part of another method, which has claimed it
        return
    instead = ", or ".join(alternatives(estimator, objects))
    memory.claim(
        footprint(estimator, objects, arguments),
        f"{type(estimator).__name__} of {objects.n} objects",
        f"{instead[0].upper()}{instead[1:]}.",
    )


def alternatives(estimator: Any, objects: Objects) -> list[str]:
    """What to do instead, in terms of the parameters that the estimator has."""
    traits = estimator.traits
    cheaper = []
    some = max(10, min(1000, objects.n // 10))
    set_to = getattr(estimator, traits.reduced_by, None) if traits.reduced_by else None
    if traits.reduced_by and not (isinstance(set_to, int) and 0 < set_to <= some):
        cheaper.append(f"set {argument(traits.reduced_by, some)} or so")
    if traits.samples and objects.measured and not estimator._uses_sample(objects):
        cheaper.append(f"set {argument('method', 'sampled')}")
    if getattr(estimator, "method", None) == "exact" and hasattr(estimator, "perplexity"):
        cheaper.append(f"set {argument('method', 'auto')}")
    if getattr(estimator, "n_constraints", None) is not None:
        cheaper.append(f"set a smaller {argument('n_constraints')}")
    if getattr(estimator, "eigen_solver", None) == "dense":
        cheaper.append(f"set {argument('eigen_solver', 'auto')}")
    cheaper.append("take a sample of the objects and place the others with transform")
    if objects.dtype.itemsize == 8:
        cheaper.append("use float32")
    return cheaper
