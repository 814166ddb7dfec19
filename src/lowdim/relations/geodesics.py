"""Geodesic distances: shortest paths in a neighbour graph (Tenenbaum, de Silva, Langford 2000)."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.callbacks import phase
from lowdim.checks import Array
from lowdim.relations.lists import row_of_entries
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run, uses_threads

PATH_METHODS = ("auto", "FW", "D")
SOURCES = 512  # whose paths are found between two reports of progress


@uses_threads
def geodesics(
    graph: Any,
    sources: Array | None = None,
    *,
    path_method: str = "auto",
    n_jobs: int | None = None,
) -> Array:
    """Compute the lengths of the shortest paths in a graph.

    Parameters
    ----------
    graph : CSR matrix of shape (n, n)
        Lengths of the edges, for instance `NeighborGraph.adjacency()`; a stored zero is an edge of
        length zero.
    sources : array of int, default=None
        Nodes to start from; None takes all.
    path_method : {"auto", "D", "FW"}, default="auto"
        "D" is Dijkstra's search from each source, in time n_sources * n log n on a sparse graph;
        "FW" is Floyd and Warshall's dense n^3 algorithm, for small dense graphs.
    n_jobs : int, default=None
        Number of threads; None takes those of `lowdim.compute`, -1 takes all. The result does not
        depend on it.

    Returns
    -------
    array of shape (n_sources, n)
        The lengths; infinite if there is no path. For all sources of an undirected graph the matrix
        is symmetric.

    Examples
    --------
    >>> import lowdim
    >>> graph = lowdim.neighbors([[0.0], [1.0], [3.0], [6.0]], k=1)
    >>> lowdim.geodesics(graph.adjacency(), sources=[0])
    array([[0., 1., 3., 6.]])
    """
    return shortest_path_lengths(graph, sources, path_method)


def shortest_path_lengths(
    graph: Any, sources: Array | None = None, path_method: str = "auto"
) -> Array:
    """As `geodesics`, for callers inside a computation."""
    checks.choice(path_method, "path_method", PATH_METHODS)
    if graph.nnz and not (graph.data.min() >= 0 and np.isfinite(graph.data.max())):
        raise ValueError("graph: arc lengths must be finite and not negative.")
    n = graph.shape[0]
    n_sources = n if sources is None else len(sources)
    memory.claim(
        n_sources * n * graph.data.itemsize,
        f"The matrix of geodesic distances from {n_sources} to {n} objects",
        "Set n_landmarks, for instance to 1000.",
    )
    if path_method == "FW" or (
        path_method == "auto" and sources is None and n <= 200 and graph.nnz > n * n / 4
    ):
        lengths = _dense_lengths(graph)
        backend().floyd_warshall(lengths)
        return lengths if sources is None else lengths[sources]
    start = np.arange(n) if sources is None else sources
    lengths = np.empty((n_sources, n), dtype=graph.dtype)
    with phase("geodesics", n_sources) as done:
        for part in blocks(n_sources, SOURCES):
            lengths[part] = backend().shortest_paths(graph, start[part])
            done(part.stop - part.start)
    if sources is None and _undirected(graph):
        symmetrize_in_place(lengths)
    return lengths


def symmetrize_in_place(D: Array) -> None:
    """Set D[i, j] and D[j, i] to the smaller of the two.

    The lengths of a path differ by rounding if they are summed from its two ends.
    """

    def take_smaller(pair: tuple[slice, slice]) -> None:
        left, right = pair
        both = np.minimum(D[left, right], D[right, left].T)
        D[left, right] = both
        D[right, left] = both.T

    run(take_smaller, combinations_with_replacement(blocks(len(D)), 2))


def _undirected(graph: Any) -> bool:
    """Whether the matrix is symmetric, stored zeros included."""
    mirror = graph.T.tocsr()
    rows = graph if graph.has_sorted_indices else graph.sorted_indices()
    mirror.sort_indices()
    same = np.array_equal(rows.indptr, mirror.indptr) and np.array_equal(
        rows.indices, mirror.indices
    )
    return same and np.array_equal(rows.data, mirror.data)


def _dense_lengths(graph: Any) -> Array:
    """The arc lengths as a dense matrix: infinite without an arc, zero on the diagonal."""
    lengths = np.full(graph.shape, np.inf, dtype=graph.dtype)
    np.minimum.at(lengths, (row_of_entries(graph.indptr), graph.indices), graph.data)
    np.fill_diagonal(lengths, 0)
    return lengths
