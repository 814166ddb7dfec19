"""metric="geodesic": lengths of shortest paths over the training data, also for new objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.distances.metrics import Metric, euclidean, vectors
from lowdim.messages import argument
from lowdim.neighbor_graphs.exact import nearest_outside, query
from lowdim.neighbor_graphs.geodesics import shortest_path_lengths
from lowdim.neighbor_graphs.search import search_all

NEIGHBORS = 10  # default of the neighbour graph


def geodesic(X: Any, params: dict[str, Any]) -> tuple[Metric, Array]:
    """The metric of shortest paths in the neighbour graph of X, and X as its rows.

    A training object is a node of the graph of `n_neighbors` (in params; default 10) Euclidean
    neighbours, whose components are joined by their shortest bridges, with a warning. Any other
    object is linked to its nearest training objects, as many as a training object has neighbours.
    """
    if unknown := sorted(set(params) - {"n_neighbors"}):
        raise TypeError(
            f"{argument('metric', 'geodesic')} has the parameter {argument('n_neighbors')} "
            f"alone; {argument('metric_params')} has {unknown}."
        )
    rows = vectors(X)
    if is_sparse(rows):
        raise ValueError(
            f"{argument('metric', 'geodesic')} needs dense vectors, got a sparse matrix: "
            "X.toarray()."
        )
    k = checks.integer(params.get("n_neighbors", NEIGHBORS), "metric_params['n_neighbors']", 1)
    k = min(k, max(len(rows) - 1, 1))
    if len(rows) < 2:
        return Metric("geodesic", lambda A, B: np.zeros((len(A), len(B))), vectors, params), rows
    paths = _Paths(rows, k)
    return Metric("geodesic", paths.between, vectors, params), rows


class _Paths:
    """Lengths of shortest paths between any objects, through the training objects."""

    def __init__(self, rows: Array, k: int) -> None:
        self.rows, self.k = rows, k
        graph, _ = search_all(rows, euclidean(), k)
        count = graph.components()[0]
        if count > 1:
            checks.warn(
                f"{argument('metric', 'geodesic')}: the graph of {k} neighbours has {count} "
                "components, which were joined by their shortest bridges. Raise "
                "metric_params['n_neighbors']."
            )
            graph = graph.join(nearest_outside(rows, euclidean()), "union")
        self.lengths = shortest_path_lengths(graph.adjacency())
        self.known = {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}

    def between(self, A: Any, B: Any) -> Array:
        """The matrix of path lengths between the rows of A and those of B."""
        (a, steps), (b, back) = self._links(A), self._links(B)
        D = np.full((len(A), len(B)), np.inf, self.lengths.dtype)
        for i in range(a.shape[1]):
            for j in range(b.shape[1]):
                through = self.lengths[np.ix_(a[:, i], b[:, j])]
                np.minimum(D, through + steps[:, i, None] + back[None, :, j], out=D)
        return D

    def _links(self, rows: Any) -> tuple[Array, Array]:
        """Training objects that each row is linked to, and the distances to them.

        A training object is linked to itself alone; unused places have infinite distances.
        """
        rows = np.asarray(rows, dtype=self.rows.dtype)
        own = np.array([self.known.get(row.tobytes(), -1) for row in rows], dtype=np.int64)
        new = np.flatnonzero(own < 0)
        k = self.k if len(new) else 1
        linked = np.zeros((len(rows), k), dtype=np.int64)
        steps = np.full((len(rows), k), np.inf, self.lengths.dtype)
        linked[:, 0], steps[:, 0] = np.maximum(own, 0), 0
        if len(new):
            linked[new], steps[new] = query(self.rows, rows[new], k, euclidean())
        return linked, steps
