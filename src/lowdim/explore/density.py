"""Modes of a map's density and how they merge: the tree of regions.

Each object climbs to the densest of its neighbours, until it reaches a mode. Two modes merge at
the highest density of a path between them, and the lower one is as prominent as it stands above
that saddle (Chazal, Guibas, Oudot and Skraba, "Persistence-based clustering in Riemannian
manifolds", Journal of the ACM 60, 2013). Modes that are not prominent, or too small, belong to the
mode that they merge with; the merges of all others make a binary tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lowdim.checks import Array
from lowdim.neighbor_graphs.graph import NeighborGraph, bridge
from lowdim.objects.objects import MeasuredObjects

OBJECTS_JOINED = 5000  # among which short edges between components are sought


@dataclass(frozen=True, eq=False)
class DensityTree:
    """Regions of a map: 0 is the whole map; those of a more important split come first."""

    membership: Array  # the leaf of each object
    splits: dict[int, tuple[int, int]]  # the two regions of each one that is no leaf
    density: Array  # the logarithm of the density at each object, up to a constant


def density_tree(placed: MeasuredObjects, k: int, prominence: float, min_size: int) -> DensityTree:
    """The tree of regions of a map, by the graph of k nearest neighbours."""
    graph = placed.neighbor_graph(k)
    dimension = placed.rows.shape[1]
    logs = -dimension * _log(graph.distances[:, -1])
    density = (logs + logs[graph.indices].sum(axis=1)) / (1 + k)  # smoothed over the neighbours
    basin, modes = _basins(graph.indices, density)
    saddles = _saddles(_join(graph, placed), basin, density, dimension)
    owner, merges = _merge_modes(saddles, density[modes], np.bincount(basin), prominence, min_size)
    numbers = _number_regions(merges) or {int(owner[0]): 0}
    leaf_of_mode = np.array([numbers[int(mode)] for mode in owner])
    splits = {numbers[one]: (numbers[a], numbers[b]) for one, ((a, b), _) in merges.items()}
    return DensityTree(leaf_of_mode[basin], splits, density)


def _join(graph: NeighborGraph, placed: MeasuredObjects) -> NeighborGraph:
    """The graph with its components joined by short edges, found among some of their objects."""
    count, labels = graph.components()
    if count == 1:
        return graph
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    step = -(-sizes // max(OBJECTS_JOINED // count, 1))
    chosen = order[place % np.repeat(step, sizes) == 0]
    pairs, lengths = bridge(labels[chosen], placed.subset(chosen).nearest_outside())
    return replace(graph, bridges=chosen[pairs], bridge_lengths=lengths)


def _basins(ids: Array, density: Array) -> tuple[Array, Array]:
    """The mode that each object climbs to, as a number, and the objects at the modes."""
    n = len(ids)
    order = np.empty(n, dtype=np.int64)
    order[np.lexsort((np.arange(n), density))] = np.arange(n)  # ties by index
    best = ids[np.arange(n), order[ids].argmax(axis=1)]
    up = np.where(order[best] > order, best, np.arange(n))
    while (up[up] != up).any():
        up = up[up]
    modes, basin = np.unique(up, return_inverse=True)
    return basin, modes


def _saddles(
    graph: NeighborGraph, basin: Array, density: Array, dimension: int
) -> list[tuple[int, int, float]]:
    """Pairs of basins and the heights between them: a maximum spanning tree, highest first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    n, k = graph.indices.shape
    pairs = np.stack([np.repeat(np.arange(n), k), graph.indices.ravel()], axis=1)
    lengths = graph.distances.ravel()
    across = basin[pairs[:, 0]] != basin[pairs[:, 1]]
    pairs, lengths = pairs[across], lengths[across]
    if graph.bridges is not None:
        pairs = np.concatenate([pairs, graph.bridges])
        lengths = np.concatenate([lengths, graph.bridge_lengths])
    if not len(pairs):
        return []
    height = np.minimum(density[pairs].min(axis=1), -dimension * _log(lengths))
    ends = np.sort(basin[pairs], axis=1)
    order = np.lexsort((-height, ends[:, 1], ends[:, 0]))
    ends, height = ends[order], height[order]
    first = np.r_[True, (ends[1:] != ends[:-1]).any(axis=1)]
    ends, height = ends[first], height[first]
    top = float(height.max()) + 1.0  # depths below it are positive: a zero is no edge
    count = int(basin.max()) + 1
    depths = coo_array((top - height, (ends[:, 0], ends[:, 1])), shape=(count, count))
    tree = coo_array(minimum_spanning_tree(depths))
    order = np.lexsort((tree.col, tree.row, tree.data))
    return [(int(tree.row[i]), int(tree.col[i]), top - float(tree.data[i])) for i in order]


def _log(lengths: Array) -> Array:
    """Logarithms of lengths; those of zero count as the least positive one."""
    positive = lengths[lengths > 0]
    least = float(positive.min()) if len(positive) else 1.0
    return np.log(np.maximum(lengths.astype(np.float64), least))


_Merge = tuple[tuple[int, int], float]
"""Two regions, and how far both stand above their saddle, times the size of the smaller one."""


def _merge_modes(
    saddles: list[tuple[int, int, float]],
    peaks: Array,
    sizes: Array,
    prominence: float,
    min_size: int,
) -> tuple[Array, dict[int, _Merge]]:
    """Merge modes from the highest saddle down.

    Returns the mode that each one belongs to, and the merges of those that are kept apart; unions
    are numbered after the modes. A mode that is too low or too small belongs to the basin on the
    other side of its saddle.
    """
    count = len(peaks)
    parent, owner, node = list(range(count)), np.arange(count), list(range(count))
    size, peak = sizes.tolist(), peaks.tolist()
    merges: dict[int, _Merge] = {}

    def find(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for a, b, height in saddles:
        high, low, ends = find(a), find(b), (a, b)
        if (peak[high], -high) < (peak[low], -low):
            high, low, ends = low, high, (b, a)
        stands = peak[low] - height
        smaller = min(size[high], size[low])
        kept, lost = high, low
        if stands >= prominence and smaller >= min_size:
            new = count + len(merges)
            merges[new] = ((node[high], node[low]), stands * smaller)
            node[high] = new
        elif stands >= prominence and size[high] < size[low]:  # a small spot of high density
            kept, lost = low, high
            owner[high] = ends[1]
        else:
            owner[low] = ends[0]
        parent[lost] = kept
        size[kept] += size[lost]
        peak[kept] = max(peak[kept], peak[lost])
    while (owner[owner] != owner).any():
        owner = owner[owner]
    return owner, merges


def _number_regions(merges: dict[int, _Merge]) -> dict[int, int]:
    """The numbers of all regions, by the importance of the split at which they appear.

    The split with the most important one in its subtree comes first.
    """
    weight: dict[int, float] = {}
    for region, (children, importance) in merges.items():  # children come before their union
        weight[region] = max([importance, *(weight[one] for one in children if one in weight)])
    order = list(merges)[-1:]
    opened = list(order)
    while opened:
        widest = max(opened, key=lambda one: (weight[one], one))
        opened.remove(widest)
        order += merges[widest][0]
        opened += [child for child in merges[widest][0] if child in merges]
    return {region: at for at, region in enumerate(order)}
