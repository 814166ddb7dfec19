"""Neighbour graphs to which new objects are added, without a new search for the others.

The neighbours of new objects are searched among all objects. An old object gets a new neighbour if
that is nearer than the farthest of those that it has. If the search is exact, new objects are
compared with all others, and the graph is that of a search for the neighbours of all objects. If it
is by an index, an old object is compared with the new ones that have found it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowdim.checks import Array, stack_rows
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import MeasuredNewObjects
from lowdim.objects.objects import MeasuredObjects
from lowdim.runtime.scheduling import blocks, run

BLOCK_ROWS = 4096  # lists that are merged at once

Pairs = tuple[Array, Array, Array]
"""Object, neighbour and distance of each arc."""


def join_objects(new: MeasuredNewObjects) -> MeasuredObjects:
    """The training objects and after them the new ones."""
    return MeasuredObjects(stack_rows(new.known.rows, new.rows), new.known.metric)


def join_graph(
    graph: NeighborGraph,
    new: MeasuredNewObjects,
    objects: MeasuredObjects,
    *,
    radius: float | None = None,
    method: str = "exact",
) -> NeighborGraph:
    """The neighbour graph of the training objects, without bridges, and the new ones: of all
    `objects`, from `join_objects`, with the same number of neighbours or the same radius.

    Neighbours within a radius are all searched again.
    """
    if graph.n_neighbors is None:
        if radius is None:
            raise ValueError(
                "update: the rule of the graph that fit was given is not known. Fit again to all "
                "objects, with a graph of them."
            )
        return objects.neighbor_graph(None, radius)
    (nearest, distances), arcs = _search_neighbors(graph, new, objects, method)
    old = _with_arcs(graph.indices, graph.distances, arcs)
    return replace(
        graph,
        fingerprint=objects.fingerprint(),
        indices=np.concatenate([old[0], nearest]),
        distances=np.concatenate([old[1], distances]),
        bridges=None,
        bridge_lengths=None,
    )


def _search_neighbors(
    graph: NeighborGraph, new: MeasuredNewObjects, objects: MeasuredObjects, method: str
) -> tuple[tuple[Array, Array], Pairs]:
    """The neighbours of the new objects, and arcs from old objects to new ones in their reach."""
    n, k = graph.n_objects, graph.indices.shape[1]
    reach = graph.reach()
    search = new.known.search(k, method)
    lists = search.neighbors_of_new(objects.rows, n)
    if lists is not None:
        new.remember(_among_old(*lists, n), method)
        return (lists[0][:, :k].copy(), lists[1][:, :k].copy()), _reverse(*lists, reach)
    nearest, distances = new.nearest(k, method)
    arcs = None if search.index is None else _reverse(nearest, distances, reach)
    if new.n > 1:
        among = MeasuredObjects(new.rows, new.known.metric)
        own = among.neighbor_graph(min(k, new.n - 1), method=method)
        nearest = np.concatenate([nearest, own.indices + np.int32(n)], axis=1)
        distances = np.concatenate([distances, own.distances], axis=1)
    if arcs is None:
        rows, columns, lengths = new.within_reach(reach)
        arcs = columns, (rows + n).astype(np.int32), lengths.astype(distances.dtype)
    return _nearest(nearest, distances, k), arcs


def _among_old(nearest: Array, distances: Array, n: int) -> tuple[Array, Array]:
    """Lists of neighbours without new objects, as short as the shortest of them."""
    known = np.isfinite(distances) & (nearest < n)
    width = int(known.sum(axis=1).min(initial=nearest.shape[1]))
    order = np.argsort(~known, axis=1, kind="stable")[:, :width]
    return np.take_along_axis(nearest, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _reverse(nearest: Array, distances: Array, reach: Array) -> Pairs:
    """Arcs from the old objects that new ones have found, if the new ones are in their reach."""
    n = len(reach)
    known = np.isfinite(distances) & (nearest < n)
    near = known & (distances < reach[np.where(known, nearest, 0)])
    return nearest[near], (np.nonzero(near)[0] + n).astype(np.int32), distances[near]


def _nearest(indices: Array, distances: Array, k: int) -> tuple[Array, Array]:
    """The k nearest of each row; of equal distances those that come first."""
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _with_arcs(indices: Array, distances: Array, arcs: Pairs) -> tuple[Array, Array]:
    """Lists of neighbours of the same length, with the arcs that are shorter than their entries."""
    n, k = indices.shape
    order = np.lexsort((arcs[1], arcs[2], arcs[0]))
    rows, targets, lengths = (part[order] for part in arcs)
    starts = np.searchsorted(rows, np.arange(n + 1))
    place = np.arange(len(rows)) - starts[rows]
    kept = place < k
    out_i, out_d = indices.copy(), distances.copy()

    def merge(part: slice) -> None:
        own = slice(starts[part.start], starts[part.stop])
        chosen = kept[own]
        width = int(place[own][chosen].max(initial=-1)) + 1
        if width == 0:
            return
        at = rows[own][chosen] - part.start, place[own][chosen]
        more = np.zeros((part.stop - part.start, width), dtype=indices.dtype)
        farther = np.full(more.shape, np.inf, dtype=distances.dtype)
        more[at], farther[at] = targets[own][chosen], lengths[own][chosen]
        out_i[part], out_d[part] = _nearest(
            np.concatenate([indices[part], more], axis=1),
            np.concatenate([distances[part], farther], axis=1),
            k,
        )

    run(merge, blocks(n, BLOCK_ROWS))
    return out_i, out_d
