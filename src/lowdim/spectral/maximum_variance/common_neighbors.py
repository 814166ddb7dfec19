"""Edges between the neighbours of a common object, which fix the angles of a neighbour graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.neighbor_graphs.graph import NeighborGraph, add_edges
from lowdim.objects.objects import Objects


def with_common_neighbors(objects: Objects, graph: NeighborGraph, edges: Any) -> Any:
    """The graph with an edge between any two neighbours of an object.

    Parameters
    ----------
    objects : Objects
        Measures the new edges.
    graph : NeighborGraph
        The neighbours of each object.
    edges : CSR matrix of shape (n, n)
        The undirected graph of distances to add to.

    Returns
    -------
    CSR matrix of shape (n, n)
    """
    lists = graph.csr()
    parts: list[tuple[Array, Array]] = []
    for i in range(graph.n_objects):
        own = lists.indices[lists.indptr[i] : lists.indptr[i + 1]]
        a, b = np.triu_indices(len(own), 1)
        ends = np.stack([own[a], own[b]], axis=1)
        parts.append((ends, objects.between(own, "common_neighbors=True")[a, b]))
    pairs = np.concatenate([ends for ends, _ in parts]).astype(np.int64)
    distances = np.concatenate([d for _, d in parts]).astype(edges.dtype)
    return add_edges(edges, pairs, distances)
