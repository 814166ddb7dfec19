"""Operations on CSR graphs: symmetry, shortest paths, breadth-first levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import csr_indices, csr_matrix
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, part_counter

SOURCES = 1024  # for each thread, whose paths are found between two reports of progress


def symmetrize(graph: Any, how: str) -> Any:
    """A CSR graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""
    parts = _native.symmetrize(*csr_indices(graph), graph.data, how, current().threads)
    return csr_matrix(parts, graph.shape)


def fuzzy_union(graph: Any, mix: float) -> Any:
    """mix (a + b - a b) + (1 - mix) a b of a CSR graph and its transpose."""
    parts = _native.fuzzy_union(*csr_indices(graph), graph.data, mix, current().threads)
    return csr_matrix(parts, graph.shape)


def shortest_paths(graph: Any, sources: Array, *, symmetric: bool = False) -> Array:
    """Lengths of the shortest paths from each source to every node of a CSR graph.

    With `symmetric` the graph is undirected and the sources are all nodes. The result is then
    symmetric: of the two lengths of a path, which differ by rounding, the smaller is taken.
    """
    out = np.empty((len(sources), graph.shape[0]), dtype=graph.dtype)
    start = np.asarray(sources, dtype=np.int32)
    arcs = (*csr_indices(graph), graph.data)
    order = np.empty_like(start)  # in which successive sources are near each other
    _native.group_sources(*arcs, start, order)
    finish = part_counter(len(order))
    threads = current().threads
    for part in blocks(len(order), SOURCES * threads):  # the threads wait for each other after it
        rows = order[part]
        _native.shortest_paths(*arcs, start[rows], rows, out, threads)
        finish(len(rows))
    if symmetric:
        _native.keep_smaller(out, threads)
    return out


def components(graph: Any) -> tuple[int, Array]:
    """Number of connected components of an undirected CSR graph and each node's component.

    An edge may be stored in one direction only. Components are numbered in the order of their
    first nodes.
    """
    labels = np.empty(graph.shape[0], dtype=np.int32)
    count = _native.components(*csr_indices(graph), labels, current().threads)
    return int(count), labels


def split(graph: Any, groups: Array, count: int) -> list[Any]:
    """The graphs of groups of vertices of a CSR graph, between which there are no edges.

    `groups` has the number of the group of each vertex, or -1 if it is in none. The vertices of
    a group keep their order.
    """
    order = np.argsort(groups, kind="stable")[int(np.count_nonzero(groups < 0)) :]
    ends = np.cumsum(np.bincount(groups[order], minlength=count))[:-1]
    renamed = np.zeros(graph.shape[0], dtype=np.int32)
    parts = []
    for own in np.split(order, ends):
        renamed[own] = np.arange(len(own), dtype=np.int32)
        part = graph[own]
        arrays = (part.indptr, renamed[part.indices], part.data)
        parts.append(csr_matrix(arrays, (len(own), len(own))))
    return parts


def floyd_warshall(lengths: Array) -> None:
    """Replace a dense matrix of arc lengths by the lengths of the shortest paths."""
    _native.floyd_warshall(lengths, current().threads)


def level_structure(graph: Any, limit: int | None = None) -> tuple[int, int]:
    """Number of breadth-first levels from a peripheral node, and size of the largest level.

    With a `limit` the search may end at a level of more nodes; its size is then that of this
    level, and the number of levels that of those found.
    """
    most = graph.shape[0] + 1 if limit is None else limit
    depth, widest = _native.level_structure(*csr_indices(graph), most, current().threads)
    return int(depth), int(widest)
