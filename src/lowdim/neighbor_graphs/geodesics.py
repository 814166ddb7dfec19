"""Geodesic distances: shortest paths in a neighbour graph (Tenenbaum, de Silva, Langford 2000)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, is_sparse
from lowdim.neighbor_graphs.graph import NeighborGraph, row_of_entries
from lowdim.runtime import memory
from lowdim.runtime.callbacks import phase
from lowdim.runtime.scheduling import blocks, run, uses_threads

PLACED_ROWS = 64  # new objects whose geodesic distances are in memory at once
PATH_METHODS = ("auto", "FW", "D")


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
    graph : sparse matrix or array of shape (n, n), or NeighborGraph
        The length of the edge from i to j in row i and column j. In a sparse matrix a stored zero
        is an edge of length zero; in an array 0, infinity and NaN mean that there is no edge. A
        `NeighborGraph` stands for its undirected graph, `NeighborGraph.adjacency()`.
    sources : array of int or of bool, default=None
        Nodes to start from, by number or as a mask; None takes all.
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
    graph = _edges(graph)
    chosen = None if sources is None else _nodes(sources, graph.shape[0])
    return shortest_path_lengths(graph, chosen, path_method)


def _edges(graph: Any) -> Any:
    """A graph given by the user, as a CSR matrix of floats."""
    from scipy.sparse import csr_array

    if isinstance(graph, NeighborGraph):
        return graph.check("graph").adjacency()
    if is_sparse(graph):
        edges = csr_array(graph)
    else:
        lengths = np.asarray(
            checks.vectors(np.where(np.isinf(graph), np.nan, graph), name="graph", allow_nan=True)
        )
        places = np.nonzero(~np.isnan(lengths) & (lengths != 0))
        edges = csr_array((lengths[places], places), shape=lengths.shape)
    if edges.shape[0] != edges.shape[1]:
        raise ValueError(f"graph must be square, got shape {edges.shape}.")
    return edges.astype(checks.float_dtype(edges.dtype), copy=False)


def _nodes(sources: Any, n: int) -> Array:
    """The numbers of the nodes that the user names by number or by a mask."""
    nodes = np.asarray(sources)
    if nodes.dtype == bool and nodes.shape == (n,):
        return np.flatnonzero(nodes)
    if nodes.ndim != 1 or (nodes.dtype.kind not in "iu" and nodes.size):
        raise TypeError(
            f"sources must be a list of node numbers, or a mask of shape ({n},); got an array of "
            f"shape {nodes.shape} and type {nodes.dtype}."
        )
    if nodes.size and not (nodes.min() >= 0 and nodes.max() < n):
        wrong = nodes[(nodes < 0) | (nodes >= n)][0]
        raise ValueError(f"sources must be in [0, {n}), the nodes of the graph, got {wrong}.")
    return nodes.astype(np.int64)


def shortest_path_lengths(
    graph: Any, sources: Array | None = None, path_method: str = "auto"
) -> Array:
    """As `geodesics`, for callers inside a computation."""
    checks.choice(path_method, "path_method", PATH_METHODS)
    if graph.nnz and not (graph.data.min() >= 0 and np.isfinite(graph.data.max())):
        raise ValueError("graph: arc lengths must be finite and not negative.")
    n = graph.shape[0]
    all_pairs = path_method == "FW" or (
        path_method == "auto" and sources is None and n <= 200 and graph.nnz > n * n / 4
    )
    n_sources = n if sources is None or all_pairs else len(sources)
    memory.claim(
        n_sources * n * graph.data.itemsize,
        f"The matrix of geodesic distances from {n_sources} to {n} objects",
        "Set path_method='D'."
        if all_pairs and sources is not None
        else "Compute those from some of the objects, or take a sample of the objects.",
    )
    if all_pairs:
        lengths = _dense_lengths(graph)
        backend().floyd_warshall(lengths)
        return lengths if sources is None else lengths[sources]
    start = np.arange(n) if sources is None else sources
    with phase("geodesics"):
        symmetric = sources is None and _is_symmetric(graph)
        return backend().shortest_paths(graph, start, symmetric=symmetric)


def _is_symmetric(graph: Any) -> bool:
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


def place_by_geodesics(
    nearest: Array, steps: Array, lengths: Array, place: Callable[[Array], Array], out: Array
) -> Array:
    """Place new objects by their geodesic distances to the training objects or landmarks.

    `nearest` and `steps` are the neighbours of each new object and the distances to them, padded
    with infinity, and `lengths` the geodesic distances from the training objects to all targets,
    from which `place` computes coordinates of some rows. They are written to `out`, which is
    returned.
    """

    def fill(part: slice) -> None:
        through = np.full((part.stop - part.start, lengths.shape[1]), np.inf, dtype=lengths.dtype)
        for j in range(nearest.shape[1]):
            step = steps[part, j, None].astype(lengths.dtype)
            np.minimum(through, lengths[nearest[part, j]] + step, out=through)
        out[part] = place(through)

    run(fill, blocks(len(nearest), PLACED_ROWS))
    return out
