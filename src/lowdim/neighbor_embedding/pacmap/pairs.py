"""The pairs of PaCMAP, near, mid-near and further ones, and their layout (Wang et al. 2021,
section 5).

Each object has a row of partners, an int32 array; -1 is none. Random numbers belong to objects in
the order of their absolute first coordinates in the start, so that pairs depend neither on the
order of the rows nor on the signs of the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.metrics import euclidean
from lowdim.neighbor_embedding.anchors import Spring
from lowdim.neighbor_embedding.samples import can_sample, pair_distances
from lowdim.neighbor_embedding.umap.layout import EpochLayout
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import pad_lists
from lowdim.objects.objects import Dissimilarities, MeasuredObjects, Objects
from lowdim.runtime.scheduling import blocks

SCALE_NEIGHBORS = slice(3, 6)  # neighbours whose mean distance is the scale of an object
CANDIDATES = 6  # random objects, of which the second nearest becomes a mid-near partner
ROWS = 2048  # objects whose candidates are measured at once
CONSTANTS = (10.0, 10_000.0, 1.0)  # of the losses of near, mid-near and further pairs
PHASES = (100, 200)  # epochs at which the second and the third phase begin
FIRST_MID_WEIGHT = 1000.0
MEAN_DECAY, SQUARE_DECAY = 0.9, 0.999  # of Adam
REDRAW_EVERY = 10  # epochs of LocalMAP


def neighbor_scales(distances: Array) -> Array:
    """The mean distance of each object to its fourth to sixth neighbours, or to its last one."""
    known = distances[:, SCALE_NEIGHBORS] if distances.shape[1] > 3 else distances[:, -1:]
    finite = np.where(np.isfinite(known), known, distances[:, :1])
    scales = finite.mean(axis=1)
    return np.asarray(np.where(scales > 0, scales, np.finfo(scales.dtype).tiny ** 0.25))


def as_pairs(lists: Array) -> Array:
    """Rows of partners as pairs, an array of shape (n_pairs, 2)."""
    first = np.repeat(np.arange(len(lists), dtype=np.int32), lists.shape[1])
    pairs = np.stack([first, lists.ravel().astype(np.int32)], axis=1)
    return pairs if lists.min(initial=0) >= 0 else pairs[pairs[:, 1] >= 0]


def near_partners(graph: NeighborGraph, k: int, labels: Array | None) -> tuple[Array, Array]:
    """k neighbours of each object, and the scales of the objects.

    With labels, of which -1 is unknown, neighbours of another label come last.
    """
    lists = graph.indices, graph.distances
    if graph.indptr is not None:
        lists = pad_lists(graph.indptr, *lists)
    indices, distances = lists
    scales = neighbor_scales(distances)
    other = None if labels is None else differ(labels[:, None], labels[indices])
    near = backend().nearest_scaled(indices, distances, scales, scales, k, other)
    if graph.indptr is not None:
        near = np.where(np.arange(near.shape[1]) < graph.counts()[:, None], near, -1)
    return near.astype(np.int32, copy=False), scales


def mid_partners(
    objects: Objects,
    start: Array,
    order: Array,
    count: int,
    seed: int,
    labels: Array | None,
    masses: Array | None = None,
) -> Array:
    """`count` others of each object, each the second nearest of six random ones.

    Objects are drawn in proportion to their masses. Those that are given by a graph or read in
    blocks are compared by their distances in the start. With labels, objects of the same or of an
    unknown label count as nearer than all others.
    """
    n, random = objects.n, np.random.RandomState(seed)
    size = min(CANDIDATES, n - 1)
    if count == 0 or size < 2:
        return np.empty((n, 0), np.int32)
    measure = measure_pairs(objects, start)
    if masses is None:
        drawn = random.randint(n - 1, size=(n, count, size))
        drawn += drawn >= np.arange(n)[:, None, None]  # never the object itself
    else:
        ends, own = np.cumsum(masses[order]), masses[order][:, None, None]
        place = random.random_sample((n, count, size)) * (ends[-1] - own)
        place += np.where(place >= ends[:, None, None] - own, own, 0)
        drawn = np.minimum(np.searchsorted(ends, place, side="right"), n - 1)
    partners = np.empty((n, count), np.int32)
    for part in blocks(n, ROWS):
        own = np.repeat(order[part], count)
        ids = order[drawn[part].reshape(-1, size)].astype(np.int32)
        ids, distances = measure(own, ids)
        far = distances.astype(np.float64)
        if labels is not None:
            far[differ(labels[own][:, None], labels[ids])] = np.inf
        elif isinstance(objects, MeasuredObjects) and can_sample(objects):  # lists are in order
            partners[order[part]] = ids[:, 1].reshape(-1, count)
            continue
        second = np.argsort(far, axis=1, kind="stable")[:, 1]
        partners[order[part]] = ids[np.arange(len(ids)), second].reshape(-1, count)
    return partners


def measure_pairs(objects: Objects, start: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    """The function `pair_distances`; of places in the start if the objects have no distances."""
    known = isinstance(objects, MeasuredObjects | Dissimilarities)
    return pair_distances(objects if known else MeasuredObjects(start, euclidean()))


def draw_others(
    listed: Array,
    Y: Array,
    order: Array,
    count: int,
    seed: int,
    reach: float = np.inf,
    before: Array | None = None,
) -> Array:
    """`count` random others of each object that are not in its row of `listed`.

    With `reach` they lie within it on the map Y, which is in the order of the random numbers; where
    none is found, the partners `before` stay.
    """
    n = len(order)
    rank = np.empty(n + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(n, dtype=np.int32), -1
    drawn = np.full((n, count), -1, dtype=np.int32)
    if before is not None:
        drawn[:, : before.shape[1]] = rank[before[order, :count]]
    ranked = np.ascontiguousarray(rank[listed[order]])
    backend().draw_others(ranked, drawn, seed=seed, Y=Y, reach=reach)
    partners = np.empty_like(drawn)
    partners[order] = np.where(drawn < 0, -1, order[drawn])
    return partners


def differ(one: Array, other: Array) -> Array:
    """Whether two labels are known and different; -1 is unknown."""
    return np.asarray((one != other) & (one >= 0) & (other >= 0))


def given_partners(pairs: Any, name: str, n: int) -> Array:
    """The partners in pairs that the user gives."""
    given = checks.pairs(pairs, name, n)
    given = given[np.argsort(given[:, 0], kind="stable")]
    counts = np.bincount(given[:, 0], minlength=n)
    lists = np.full((n, counts.max(initial=0)), -1, dtype=np.int32)
    lists[np.arange(lists.shape[1]) < counts[:, None]] = given[:, 1]
    return lists


def pair_counts(n: int, n_neighbors: Any, mid_ratio: float, further_ratio: float) -> list[int]:
    """The numbers of near, mid-near and further partners of each of n objects.

    Without `n_neighbors` it is 10, and 10 + 15 log10(n / 10,000) for more than 10,000 objects. Few
    objects have fewer partners, in the same ratios.
    """
    if n_neighbors is None:
        n_neighbors = 10 if n <= 10_000 else round(10 + 15 * (np.log10(n) - 4))
    k = float(checks.integer(n_neighbors, "n_neighbors", 1))
    ratios = np.array([1, checks.real(mid_ratio, "MN_ratio", 0, 100), 0.0])
    ratios[2] = checks.real(further_ratio, "FP_ratio", 0, 100)
    k = min(k, n / ratios.sum()) if k * ratios.sum() >= n else k
    near, mid, further = np.round(max(1.0, int(k)) * ratios).astype(int)
    return [min(near, n - 1), min(mid, n - 1), min(further, n - 1)]


class PairLayout(EpochLayout):
    """The layout of near, mid-near and further pairs: three phases, by Adam.

    With d = 1 + |y_i - y_j|^2, the losses of the three kinds are d / (10 + d), d / (10000 + d) and
    1 / (1 + d), times weights that change from phase to phase. The seed is that of the draws of
    LocalMAP.
    """

    rate = 1.0  # step size of Adam
    reach = 0.0  # of further pairs on the map in the third phase of LocalMAP; 0 is PaCMAP

    changing = ("Y", "velocity", "square", "further", "epoch")

    def __init__(
        self,
        partners: list[Array],
        start: Array,
        order: Array,
        n_epochs: int,
        springs: Sequence[Spring] = (),
        *,
        seed: int,
        masses: Array | None = None,
    ) -> None:
        super().__init__(start, order, n_epochs, springs)
        self.near, self.further = partners[0], partners[2]
        self.masses = None if masses is None else masses / masses.mean()
        self.arcs = [self._arcs(kind, kind is self.further) for kind in partners]
        self.square = np.zeros_like(self.Y)
        self.seed = seed

    def _at_once(self, end: int) -> int:
        if self.reach == 0:
            return end
        return min(end, self.epoch - self.epoch % REDRAW_EVERY + REDRAW_EVERY)

    def _advance(self, last: int, loss: bool) -> float:
        laws, rates = self._laws(self.epoch, last), self._rates(self.epoch, last)
        moments = self.velocity, self.square
        value = backend().pair_epochs(self.arcs, self.Y, moments, laws=laws, rates=rates)
        if self.reach > 0 and last % REDRAW_EVERY == 0 and last > PHASES[1]:
            self._redraw(last)
        weights = self._weights(self.further, among_all=True)  # 1 / (1 + d) = 1 - d / (1 + d)
        return float(value - laws[-1, 2, 1] * weights.sum())

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.arcs[2] = self._arcs(self.further, True)

    def _laws(self, first: int, last: int) -> Array:
        """Constant, weight and reach of each kind of pairs in the epochs first <= e < last."""
        epochs = np.arange(first, last)
        share = np.minimum(epochs / PHASES[0], 1)
        laws = np.zeros((len(epochs), 3, 3))
        laws[:, :, 0] = CONSTANTS
        laws[:, 0, 1] = np.select([epochs < PHASES[0], epochs < PHASES[1]], [2, 3], 1)
        laws[:, 1, 1] = np.where(epochs < PHASES[1], (1 - share) * FIRST_MID_WEIGHT + 3 * share, 0)
        laws[:, 2, 1] = -1
        laws[:, 0, 2] = np.where(epochs >= PHASES[1], self.reach / 2, 0)
        return laws

    def _rates(self, first: int, last: int) -> Array:
        """The step sizes, with Adam's correction of the bias of its means."""
        mean, square = (
            1 - np.cumprod(np.full(last, decay))[first:] for decay in (MEAN_DECAY, SQUARE_DECAY)
        )
        return np.asarray(self.rate * np.sqrt(square) / mean)

    def _redraw(self, epoch: int) -> None:
        """Replace further pairs by pairs that are near on the map (LocalMAP)."""
        seed = (self.seed + epoch) % 2**32
        count = max(1, round((self.further >= 0).sum() / len(self.order)))
        self.further = draw_others(
            self.near, self.Y, self.order, count, seed, self.reach, self.further
        )
        self.arcs[2] = self._arcs(self.further, True)

    def _arcs(self, partners: Array, among_all: bool) -> Any:
        if self.masses is None:
            return backend().pair_arcs(partners, self.rank, self.Y.dtype)
        weights = self._weights(partners, among_all)
        rows, columns = np.nonzero(partners >= 0)
        ends, size = (rows, partners[rows, columns]), (len(partners),) * 2
        one_way = coo_array((weights[rows, columns], ends), shape=size).tocsr()
        return backend().layout_arcs((one_way + one_way.T).astype(self.Y.dtype), self.rank)

    def _weights(self, partners: Array, among_all: bool) -> Array:
        """How often each pair counts: as often as its first object and, if its partner was drawn
        evenly from all, in proportion to the mass of that one too; 0 where there is none."""
        known = (partners >= 0).astype(np.float64)
        if self.masses is None:
            return known
        known *= self.masses[:, None]
        return known * self.masses[partners] if among_all else known
