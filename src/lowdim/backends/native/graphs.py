"""Operations on CSR graphs: symmetry, shortest paths, breadth-first levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.sparse import csr_indices, csr_matrix
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks

SOURCES = 1024  # whose paths are found between two reports of progress


def symmetrize(graph: Any, how: str) -> Any:
    """A CSR graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""
    parts = _native.symmetrize(*csr_indices(graph), graph.data, how, current().threads)
    return csr_matrix(parts, graph.shape)


def fuzzy_union(graph: Any, mix: float) -> Any:
    """mix (a + b - a b) + (1 - mix) a b of a CSR graph and its transpose."""
    parts = _native.fuzzy_union(*csr_indices(graph), graph.data, mix, current().threads)
    return csr_matrix(parts, graph.shape)


def shortest_paths(
    graph: Any, sources: Array, report: Callable[[int], object] | None = None
) -> Array:
    """Lengths of the shortest paths from each source to every node of a CSR graph."""
    out = np.empty((len(sources), graph.shape[0]), dtype=graph.dtype)
    start = np.asarray(sources, dtype=np.int32)
    arcs = (*csr_indices(graph), graph.data)
    order = np.empty_like(start)  # in which successive sources are near each other
    _native.group_sources(*arcs, start, order)
    for part in blocks(len(order), SOURCES):
        rows = order[part]
        _native.shortest_paths(*arcs, start[rows], rows, out, current().threads)
        if report is not None:
            report(len(rows))
    return out


def components(graph: Any) -> tuple[int, Array]:
    """Number of connected components of an undirected CSR graph and each node's component."""
    labels = np.empty(graph.shape[0], dtype=np.int32)
    return int(_native.components(*csr_indices(graph), labels)), labels


def floyd_warshall(lengths: Array) -> None:
    """Replace a dense matrix of arc lengths by the lengths of the shortest paths."""
    _native.floyd_warshall(lengths, current().threads)


def level_structure(graph: Any) -> tuple[int, int]:
    """Number of breadth-first levels from a peripheral node, and size of the largest level."""
    depth, widest = _native.level_structure(*csr_indices(graph))
    return int(depth), int(widest)
