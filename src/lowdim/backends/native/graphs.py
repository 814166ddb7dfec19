"""Operations on CSR graphs: symmetry, shortest paths, breadth-first levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.sparse import csr_indices, csr_matrix
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.progress import part_counter
from lowdim.runtime.scheduling import blocks

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
    """Lengths of the shortest paths from each source to every node of a CSR graph."""
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
        symmetrize_in_place(out)
    return out


def symmetrize_in_place(D: Array) -> None:
    """Set D[i, j] and D[j, i] to the smaller of the two.

    The lengths of a path differ by rounding if they are summed from its two ends.
    """
    _native.keep_smaller(D, current().threads)


def components(graph: Any) -> tuple[int, Array]:
    """Number of connected components of an undirected CSR graph and each node's component."""
    labels = np.empty(graph.shape[0], dtype=np.int32)
    count = _native.components(*csr_indices(graph), labels, current().threads)
    return int(count), labels


def split(graph: Any, groups: Array, count: int) -> list[Any]:
    """The graphs of groups of vertices of a CSR graph, between which there are no edges."""
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
    """Number of breadth-first levels from a peripheral node, and size of the largest level."""
    most = graph.shape[0] + 1 if limit is None else limit
    depth, widest = _native.level_structure(*csr_indices(graph), most, current().threads)
    return int(depth), int(widest)
