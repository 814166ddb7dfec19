"""The contract of the methods that begin with each object's neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from lowdim.backends import native
from lowdim.base.embedder import Embedder
from lowdim.checks import Array
from lowdim.relations.graph import NeighborGraph, fingerprint
from lowdim.relations.lists import padded
from lowdim.relations.neighbors import neighbor_graph, neighbor_query
from lowdim.relations.precomputed import check_k, precomputed_graph, sparse_rows
from lowdim.relations.search import smallest


class NeighborEmbedder(Embedder):
    """An embedder that begins with each object's neighbours.

    A method says in `_n_wanted(n)` how many neighbours it needs of n objects, and takes them in
    `_fit_graph(rows, graph)`. A ready `NeighborGraph` saves computing one: `fit(X, graph=graph)`.
    """

    _search = "auto"  # or "exact": whether a few neighbours of many objects may be missed

    def fit(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features); with metric="precomputed"
            a matrix of dissimilarities, a sparse graph of them, or a `NeighborGraph`.
        y : ignored.
        graph : the neighbour graph of X from `lowdim.neighbors`, with at least as many neighbours
            as the method asks for, to be used instead of computing it.
        """
        self._cached_search: dict[int, Any] = {}
        with native.blas_on_one_thread():
            rows = self._objects(X, fitting=True)
            self._fit_neighbors(rows, self._neighbor_graph(rows, graph))
        return self

    def fit_transform(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Array:
        """Fit to X and return `embedding_`."""
        return self.fit(X, y, graph=graph).embedding_

    def _fit_neighbors(self, rows: Any, graph: NeighborGraph) -> None:
        """What is done with the neighbours once they are found."""
        self._fit_graph(rows, graph)

    def _fit_graph(self, rows: Any, graph: NeighborGraph) -> None:
        """Set `embedding_` from the rows and their neighbours."""
        raise NotImplementedError

    def _n_wanted(self, n: int) -> int:
        """The number of neighbours that the method needs of n objects."""
        raise NotImplementedError

    def _neighbor_graph(self, rows: Any, given: NeighborGraph | None) -> NeighborGraph:
        if isinstance(rows, NeighborGraph):
            return self._cut(rows)
        if given is not None:
            return self._cut(self._same_data(rows, given))
        k = check_k(self._n_wanted(rows.shape[0]), rows.shape[0])
        if self._precomputed:
            return precomputed_graph(rows, k, None)
        return neighbor_graph(rows, self._metric, k, None, self._n_jobs, method=self._search)

    def _cut(self, graph: NeighborGraph) -> NeighborGraph:
        """The graph with no more neighbours than needed."""
        return graph if graph.n_neighbors is None else graph.take(self._n_wanted(graph.n_objects))

    def _same_data(self, rows: Any, graph: NeighborGraph) -> NeighborGraph:
        """A given graph, if it is one of these rows under this estimator's metric."""
        if not isinstance(graph, NeighborGraph):
            raise TypeError(
                f"graph must be a NeighborGraph from lowdim.neighbors, got {type(graph).__name__}."
            )
        if graph.n_objects != rows.shape[0]:
            raise ValueError(f"graph has {graph.n_objects} objects, but X has {rows.shape[0]}.")
        if graph.fingerprint and graph.fingerprint != fingerprint(rows):
            raise ValueError(
                "graph was computed from other data than X (their fingerprints differ). Compute "
                "it again with lowdim.neighbors(X, ...)."
            )
        if not self._precomputed and graph.metric not in (self._metric.name, "precomputed"):
            raise ValueError(
                f"graph was measured by metric={graph.metric!r}, but this estimator's metric is "
                f"{self._metric.name!r}. Give both the same."
            )
        return graph

    def _nearest_known(self, rows: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of each new object's k nearest training objects.

        Where fewer are stored (precomputed, sparse) the lists are filled up with infinity.
        """
        if not self._precomputed:
            return self._searcher(k)(rows)
        if hasattr(rows, "tocsr"):
            return padded(*sparse_rows(rows, k, None))
        return smallest(rows, k)

    def _searcher(self, k: int) -> Callable[[Any], tuple[Array, Array]]:
        """The search for new objects' neighbours, kept from call to call."""
        known: dict[int, Any] = self.__dict__.setdefault("_cached_search", {})
        if k not in known:
            known[k] = neighbor_query(
                self.X_fit_, self._metric, k, self._n_jobs, method=self._search
            )
        return known[k]  # type: ignore[no-any-return]

    def _keep_known(self, Y: Array, nearest: Array, distances: Array) -> Array:
        """Coordinates of new objects, those at distance zero from a training object its own."""
        same = distances[:, 0] == 0
        Y[same] = self.embedding_[nearest[same, 0]]
        return Y
