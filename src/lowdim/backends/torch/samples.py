"""Weighted samples of the other vectors of each vector, and divergences over them, on a device.

The sample is that of `lowdim.neighbor_embedding.samples`, where its levels and weights are
explained. Lists are rows of equal width, in which entries of weight 0 are padding, and stay on the
device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.affinities import bisect
from lowdim.backends.torch.arrays import Unsupported, get, has_kernels, put, tile_rows
from lowdim.backends.torch.neighbors import OWN_COLUMN, n_candidates, rerank, search
from lowdim.backends.torch.resident import resident
from lowdim.backends.torch.sparse import counts_of, offsets_of, segment_sums
from lowdim.checks import Array, is_sparse

LARGE_GROUP = 16_384  # vectors from which a group is searched alone
SCORES_AT_ONCE = 1 << 28  # of groups that are searched together: 1 GB in float32
LEAF = 48  # points of a leaf at most
NEAR_LEAVES = (1, 8, 18, 40, 64)  # leaves that a point is compared with, by the dimension
ENTRIES_AT_ONCE = 1 << 26  # of lists that are worked on at once
ROUNDING = 1e-5  # relative error of distances


def vector_sample(
    device: torch.device,
    rows: Array,
    labels: Array,
    ratio: int,
    nearest: tuple[Array, Array],
    n_levels: int,
) -> VectorSample:
    """The samples of all vectors, with lists that stay on the device."""
    if device.type != "cuda" or is_sparse(rows):  # CPUs are faster with the lists of the CPU
        raise Unsupported
    ids, distances = (resident(device, part) for part in nearest)
    return VectorSample(
        resident(device, rows), put(device, labels).long(), ratio, (ids, distances), n_levels
    )


class VectorSample:
    """The nearest vectors of each vector in its groups of all levels.

    Parameters
    ----------
    rows : tensor of shape (n, d)
    labels : tensor of shape (n,)
        A permutation; groups of level t have equal labels modulo ratio^t.
    ratio : int
    nearest : tensors of shape (n, k)
        Those of level 0, which is one group, and their distances.
    n_levels : int
    """

    def __init__(
        self,
        rows: Tensor,
        labels: Tensor,
        ratio: int,
        nearest: tuple[Tensor, Tensor],
        n_levels: int,
    ) -> None:
        self.rows, self.labels, self.ratio, self.n_levels = rows, labels, ratio, n_levels
        self.k = nearest[0].shape[1]
        self.of_label = torch.empty_like(labels)  # the vector that has a label
        self.of_label[labels] = torch.arange(len(labels), device=labels.device)

        def find(level: int) -> tuple[Tensor, Tensor]:
            if level == 0:
                return nearest[0].int(), nearest[1]
            return nearest_in_groups(rows, self._members(level), self.k)

        ids, distances, self.radii = self._levels(find)
        self.ids, self.distances = _compact(ids >= 0, (ids, -1), (distances, torch.inf))
        known = self.distances[self.ids >= 0]
        self.largest = (float(known.max()) if len(known) else 0.0) or 1.0

    def lists(self, Y: Array | None = None) -> DeviceLists:
        """The lists of all vectors; with coordinates Y also those that are near on the map."""
        n = len(self.labels)
        weights = [(n - 1) / (n / self.ratio**t - 1) for t in range(self.n_levels)]
        weight_of = torch.tensor(weights, dtype=torch.float32, device=self.rows.device)
        ids, distances = self.ids, self.distances
        if Y is not None:
            at = put(self.rows.device, Y)
            near, _, reach = self._levels(lambda t: nearest_on_map(at, self._members(t), self.k))
            near = _compact(near >= 0, (self._drop_listed(near), -1))[0]
            more = listed_distances(self.rows, near)
            ids, distances = torch.cat([ids, near], dim=1), torch.cat([distances, more], dim=1)
        parts = []
        for part in _parts(ids):
            others = ids[part].long()
            level = _count_exceeded(distances[part], self.radii[part])
            if Y is not None:
                gaps = at[others.clamp(min=0)] - at[part, None]
                on_map = _count_exceeded(gaps.square().sum(dim=2).sqrt(), reach[part])
                level = torch.minimum(level, on_map)
            apart = self.labels[part, None] - self.labels[others.clamp(min=0)]
            keep = (others >= 0) & (apart % self.ratio**level == 0)
            squared = (distances[part] / self.largest).float().square()
            parts.append(
                _compact(keep, (ids[part], 0), (squared, torch.inf), (weight_of[level], 0))
            )
        width = max(part[0].shape[1] for part in parts)
        return DeviceLists(*(_stack(columns, width) for columns in zip(*parts, strict=True)))

    def _levels(
        self, find: Callable[[int], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What is found at all levels, less what is in reach of finer ones; and these reaches."""
        found, distances = [], []
        reach = self.rows.new_empty(len(self.labels), 0)
        for level in range(self.n_levels):
            ids, d = find(level)
            if level > 0:
                # A distance is computed again at each level, and differs by rounding.
                ids = ids.masked_fill(d <= reach[:, -1:] * (1 + ROUNDING), -1)
            if level < self.n_levels - 1:
                last = d[:, -1:] if level == 0 else d[:, -1:].maximum(reach[:, -1:])
                reach = torch.cat([reach.to(d.dtype), last], dim=1)
            found.append(ids)
            distances.append(d)
        return torch.cat(found, dim=1), torch.cat(distances, dim=1), reach

    def _members(self, level: int) -> Tensor:
        """The vectors of each group of a level, in rows that are padded with -1."""
        count = min(self.ratio**level, len(self.labels))
        padding = self.labels.new_full((-len(self.labels) % count,), -1)
        return torch.cat([self.of_label, padding]).view(-1, count).T.contiguous()

    def _drop_listed(self, near: Tensor) -> Tensor:
        """-1 in place of the vectors that the lists of the data have."""
        kept = near.clone()
        for part in _parts(near, self.ids.shape[1]):
            known = (near[part, :, None] == self.ids[part, None, :]).any(dim=2)
            kept[part].masked_fill_(known, -1)
        return kept


@dataclass(frozen=True, eq=False)
class DeviceLists:
    """As `neighbor_embedding.samples.Lists`, in rows of equal width that end with weights of 0."""

    indices: Tensor
    squared: Tensor
    weights: Tensor

    def precisions(self, perplexities: Array) -> Array:
        """The precisions of Gaussian probabilities of some perplexities."""
        out = torch.empty(len(self.indices), len(perplexities), device=self.squared.device)
        for part in _parts(self.indices):
            for number, perplexity in enumerate(perplexities):
                out[part, number] = _precisions(
                    self.squared[part], self.weights[part], float(perplexity)
                )
        return get(out).astype(np.float64)

    def spreads(self) -> Array:
        """The mean of the squared distances of each list."""
        known = self.weights > 0
        sums = self.squared.masked_fill(~known, 0).sum(dim=1, dtype=torch.float64)
        return get(sums / known.sum(dim=1).clamp(min=1))

    def divergence(
        self, widths: Array, precisions: Array, trade_off: float
    ) -> Callable[[Array], tuple[float, float, Array]]:
        """The divergences and their gradient as a function of coordinates."""
        device = self.squared.device
        inside, outside = (put(device, side.astype(np.float32)) for side in (widths, precisions))
        return _Divergence(self, inside, outside, trade_off)


class _Divergence:
    """`listed_divergence_gradient` of lists that stay on the device."""

    def __init__(
        self, lists: DeviceLists, widths: Tensor, precisions: Tensor, trade_off: float
    ) -> None:
        self.lists, self.precisions, self.trade_off = lists, precisions, trade_off
        self.costs = torch.empty_like(lists.squared)
        for part in _parts(lists.indices):
            self.costs[part] = _costs(lists.squared[part], lists.weights[part], widths[part])
        # The entries by the vectors that they name: an entry pulls at both of its ends.
        self.entries = torch.nonzero(lists.weights.ravel() > 0)[:, 0]
        heads = lists.indices.ravel()[self.entries]
        heads, order = heads.sort(stable=True)
        self.entries = self.entries[order]
        self.incoming = counts_of(heads, len(lists.indices))
        self.offsets = offsets_of(self.incoming)

    def __call__(self, Y: Array) -> tuple[float, float, Array]:
        at = put(self.precisions.device, Y)
        if has_kernels(at.device, self.costs.dtype):
            from lowdim.backends.torch import triton_samples

            sums, gradient = triton_samples.divergence_gradient(
                at,
                self.lists,
                self.costs,
                self.precisions,
                self.trade_off,
                self.entries,
                self.offsets,
            )
        else:
            sums, gradient = self._by_tensors(at)
        return float(sums[0]), float(sums[1]), get(gradient)

    def _by_tensors(self, at: Tensor) -> tuple[Tensor, Tensor]:
        width = self.costs.shape[1]
        slopes, sums, parts = torch.empty_like(self.costs), at.new_zeros(2), []
        for part in _parts(self.costs):
            indices, weights = self.lists.indices[part].long(), self.lists.weights[part]
            gaps = at[part, None] - at[indices]
            squares = gaps.square().sum(dim=2).to(self.costs.dtype)
            rows, slopes[part] = _divergences_of_rows(
                squares, self.costs[part], weights, self.precisions[part], self.trade_off
            )
            sums += rows.to(sums.dtype).sum(dim=0)
            parts.append(2 * (slopes[part, :, None] * gaps).sum(dim=1))
        tails, heads = self.entries // width, self.lists.indices.ravel()[self.entries].long()
        pulls = 2 * slopes.ravel()[self.entries, None] * (at[tails] - at[heads])
        return sums, torch.cat(parts) - segment_sums(pulls, self.incoming)


def _divergences_of_rows(
    squares: Tensor, costs: Tensor, weights: Tensor, b: Tensor, trade_off: float
) -> tuple[Tensor, Tensor]:
    """Both divergences of each row, and the slopes of their mixture by the squared distances.

    The formulas are those of `divergence_row` in cpp/kernels/divergence.inc.
    """
    known, n_scales = weights > 0, b.shape[1]
    base, apart = _widest(squares, weights, b[:, :1])
    z0 = _positive_sums(base)
    scales = [(torch.ones_like(base), z0)]
    shares = torch.ones_like(base)
    for h in range(1, n_scales):
        e = torch.exp((b[:, :1] - b[:, h : h + 1]) * apart)
        scales.append((e, _positive_sums(base * e)))
        shares += e * (z0 / scales[-1][1])
    logs = costs - b[:, :1] * apart - z0.log() - math.log(n_scales) + shares.log()
    logs = logs.masked_fill(~known, 0)
    p = (weights * torch.exp(-costs)).masked_fill(~known, 0)
    slope, flat, bent = p / shares, torch.zeros_like(base), torch.zeros_like(base)
    pull, reverse = torch.zeros_like(base), torch.zeros_like(z0)
    for h, (e, z) in enumerate(scales):
        beta, ratio = b[:, h : h + 1], z0 / z
        expected = (base * e * logs).sum(dim=1, keepdim=True) / z
        bend = beta * (1 - trade_off) / (n_scales * z)
        pulled = (slope * e).sum(dim=1, keepdim=True) * ratio
        pull += beta * trade_off * ratio * e
        flat += (beta * trade_off * pulled / z - bend * expected) * e
        bent += bend * e
        reverse += expected / n_scales
    values = torch.cat([-(p * logs).sum(dim=1, keepdim=True), reverse], dim=1)
    return values, slope * pull - base * (flat + bent * logs)


def _widest(squares: Tensor, weights: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The weighted Gaussian of one precision, and distances beyond the least one of each row."""
    known = weights > 0
    least = squares.masked_fill(~known, torch.inf).amin(dim=1, keepdim=True)
    apart = (squares - least).masked_fill(~known, 0)
    return weights * torch.exp(-b * apart), apart


def _positive_sums(values: Tensor) -> Tensor:
    """The sums of rows; 1 for empty rows."""
    sums = values.sum(dim=1, keepdim=True)
    return torch.where(sums > 0, sums, torch.ones_like(sums))


def _costs(squares: Tensor, weights: Tensor, b: Tensor) -> Tensor:
    """-log p of the entries of some lists; 0 for padding."""
    base, apart = _widest(squares, weights, b[:, :1])
    z0, shares = _positive_sums(base), torch.ones_like(base)
    for h in range(1, b.shape[1]):
        e = torch.exp((b[:, :1] - b[:, h : h + 1]) * apart)
        shares += e * (z0 / _positive_sums(base * e))
    costs = z0.log() + math.log(b.shape[1]) + b[:, :1] * apart - shares.log()
    return costs.masked_fill(weights == 0, 0)


def _precisions(squares: Tensor, weights: Tensor, perplexity: float) -> Tensor:
    """The precision of each list, by bisection; 0 where no precision has the perplexity."""
    known = weights > 0
    least = squares.masked_fill(~known, torch.inf).amin(dim=1, keepdim=True)
    apart = (squares - least).masked_fill(~known, 0)
    spread = apart.sum(dim=1, keepdim=True) / known.sum(dim=1, keepdim=True).clamp(min=1)
    uniform = (weights.sum(dim=1, keepdim=True) <= perplexity) | ~(spread > 0)
    unit = torch.where(spread > 0, spread, torch.ones_like(spread))
    scaled = apart / unit

    def is_too_small(at: Tensor) -> Tensor:
        beta = at.exp()
        e = weights * torch.exp(-beta * scaled)
        total = _positive_sums(e)
        entropy = total.log() + beta * (e * scaled).sum(dim=1, keepdim=True) / total
        return entropy > math.log(perplexity)

    return torch.where(uniform, 0, bisect(spread, is_too_small) / unit)[:, 0]


def nearest_in_groups(rows: Tensor, members: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Each vector's k nearest others in its group, by the groups' members (padded with -1)."""
    n, size = len(rows), members.shape[1]
    ids = torch.full((n, k), -1, dtype=torch.int32, device=rows.device)
    distances = rows.new_full((n, k), torch.inf)
    count = min(k, size - 1)
    if count < 1:
        return ids, distances
    if size > LARGE_GROUP:
        for group in members:
            own = group[group >= 0]
            near, d = search(rows[own], rows[own], count, False, own=True)
            ids[own], distances[own] = own[near.long()].int(), d
        return ids, distances
    center, at_once = rows.mean(dim=0), max(1, SCORES_AT_ONCE // size**2)
    for first in range(0, len(members), at_once):
        part = members[first : first + at_once]
        own, known = part.clamp(min=0), part >= 0
        points = rows[own] - center
        offsets = points.square().sum(dim=2).masked_fill_(~known, torch.inf)
        scores = torch.baddbmm(offsets[:, None], points, points.transpose(1, 2), alpha=-2)
        scores.diagonal(dim1=1, dim2=2).fill_(torch.inf)
        best = scores.topk(min(size, n_candidates(count)), dim=2, largest=False)
        candidates = own.gather(1, best.indices.flatten(1)).view_as(best.indices)
        candidates.masked_fill_(best.values == torch.inf, OWN_COLUMN)
        used = own[known]
        near, d = rerank(rows[used], rows, candidates[known], count, False)
        ids[used, :count] = torch.where(torch.isinf(d), -1, near).int()
        distances[used, :count] = d
    return ids, distances


def nearest_on_map(at: Tensor, members: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """As `nearest_in_groups`, for points of few dimensions.

    Each group is divided at medians into leaves. A point is compared with those of the nearest
    leaves, by the distances of their boxes.
    """
    n, dim = at.shape
    groups, size = members.shape
    halvings = max(0, math.ceil(math.log2(size / LEAF)))
    leaves = 2**halvings
    padding = -size % leaves
    ids = torch.cat([members, members.new_full((groups, padding), -1)], dim=1)
    for level in range(halvings):
        ids = ids.view(groups * 2**level, -1)
        points = at[ids.clamp(min=0)]
        low, high = (_box(points, ids, side) for side in (torch.inf, -torch.inf))
        axis = (high - low).argmax(dim=1)
        keys = points.gather(2, axis[:, None, None].expand(-1, ids.shape[1], 1))[:, :, 0]
        # Padding comes last, and goes to the last leaves.
        order = keys.masked_fill_(ids < 0, torch.inf).argsort(dim=1, stable=True)
        ids = ids.gather(1, order)
    ids = ids.view(groups, leaves, -1)
    points = at[ids.clamp(min=0)]
    low, high = (_box(points.flatten(0, 1), ids.flatten(0, 1), s) for s in (torch.inf, -torch.inf))
    low, high = low.view(groups, leaves, dim), high.view(groups, leaves, dim)
    near = min(NEAR_LEAVES[min(dim, len(NEAR_LEAVES) - 1)], leaves)
    out_ids = torch.full((n, k), -1, dtype=torch.int32, device=at.device)
    out = at.new_full((n, k), torch.inf)
    width = near * ids.shape[2]
    per_leaf = max(leaves, ids.shape[2] * width) * dim
    for group, first, last in _leaf_parts(groups, leaves, ENTRIES_AT_ONCE // per_leaf):
        g, some = slice(*group), slice(first, last)
        gaps = torch.maximum(low[g, None] - high[g, some, None], low[g, some, None] - high[g, None])
        apart = gaps.clamp(min=0).square().sum(dim=3)
        nearest = apart.nan_to_num(torch.inf).topk(near, dim=2, largest=False).indices
        count = nearest.shape[0]
        number = torch.arange(count, device=at.device)[:, None, None]
        candidates = ids[g][number, nearest].flatten(2)
        asked = ids[g, some]
        gaps = points[g, some][:, :, :, None] - points[g][number, nearest].flatten(2, 3)[:, :, None]
        squares = gaps.square().sum(dim=4)
        hidden = (candidates[:, :, None] < 0) | (candidates[:, :, None] == asked[..., None])
        squares.masked_fill_(hidden, torch.inf)
        best, place = squares.topk(min(k, width), dim=3, largest=False)
        chosen = candidates[:, :, None].expand(-1, -1, asked.shape[2], -1).gather(3, place)
        used = asked >= 0
        out[asked[used], : best.shape[3]] = best[used].sqrt()
        chosen = chosen.masked_fill(torch.isinf(best), -1)
        out_ids[asked[used], : best.shape[3]] = chosen[used].int()
    return out_ids, out


def _box(points: Tensor, ids: Tensor, empty: float) -> Tensor:
    """A corner of the box of each row of points: the lower one if `empty` is inf, else the upper
    one; padding (ids of -1) does not count."""
    hidden = points.masked_fill((ids < 0)[:, :, None], empty)
    return hidden.amin(dim=1) if empty > 0 else hidden.amax(dim=1)


def _leaf_parts(
    groups: int, leaves: int, at_once: int
) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Groups and leaves that are worked on together: several groups, or some leaves of one."""
    if at_once >= leaves:
        step = at_once // leaves
        for begin in range(0, groups, step):
            yield (begin, min(begin + step, groups)), 0, leaves
        return
    for group in range(groups):
        for first in range(0, leaves, max(1, at_once)):
            yield (group, group + 1), first, min(first + max(1, at_once), leaves)


def rank_candidates(
    device: torch.device,
    points: Array,
    queries: Array,
    candidates: Array,
    k: int,
    metric: str,
    power: float = 2.0,
) -> tuple[Array, Array]:
    """The nearest of the points that are listed as each query's candidates.

    On the device if queries are numbers of points, so that no vectors need be copied.
    """
    if metric != "euclidean" or queries.ndim != 1 or device.type == "mps" or not len(queries):
        raise Unsupported
    ids = put(device, candidates).sort(dim=1).values
    distances = listed_distances(resident(device, points), ids, put(device, queries))
    distances, order = distances.sort(dim=1, stable=True)
    return get(ids.gather(1, order)[:, :k]), get(distances[:, :k])


def listed_distances(rows: Tensor, ids: Tensor, own: Tensor | None = None) -> Tensor:
    """The distances of vectors (all, or those of the numbers `own`) to those of their lists.

    Infinite where an entry is -1.
    """
    if has_kernels(rows.device, rows.dtype) and ids.numel():
        from lowdim.backends.torch import triton_samples

        return triton_samples.listed_distances(rows, ids, own)
    out = rows.new_empty(ids.shape)
    step = tile_rows(rows.device, 12 * max(ids.shape[1], 1) * rows.shape[1], len(ids))
    for begin in range(0, len(ids), step):
        part = slice(begin, min(begin + step, len(ids)))
        queries = rows[part] if own is None else rows[own[part]]
        gaps = rows[ids[part].long().clamp(min=0)] - queries[:, None]
        out[part] = gaps.square_().sum(dim=2).sqrt_()
    return out.masked_fill_(ids < 0, torch.inf)


def _count_exceeded(distances: Tensor, radii: Tensor) -> Tensor:
    """The number of radii of the row that are less than each distance."""
    level = torch.zeros(distances.shape, dtype=torch.int64, device=distances.device)
    for number in range(radii.shape[1]):
        level += distances > radii[:, number : number + 1]
    return level


def _compact(keep: Tensor, *columns: tuple[Tensor, float]) -> list[Tensor]:
    """The entries of rows that are kept, moved to the left, and padding of given values."""
    place = keep.cumsum(dim=1) - 1
    width = int(place[:, -1].max()) + 1 if place.numel() else 0
    place.masked_fill_(~keep, width)  # a column that is cut off
    shape = (len(keep), width + 1)
    return [
        values.new_full(shape, padding).scatter_(1, place, values)[:, :width].contiguous()
        for values, padding in columns
    ]


def _stack(parts: tuple[Tensor, ...], width: int) -> Tensor:
    """Blocks of rows as one matrix; entries that are missing are those of weight 0."""
    return torch.cat([torch.nn.functional.pad(part, (0, width - part.shape[1])) for part in parts])


def _parts(lists: Tensor, factor: int = 1) -> list[slice]:
    """Blocks of rows of lists, small enough for the temporary arrays."""
    step = max(1, ENTRIES_AT_ONCE // max(1, lists.shape[1] * factor))
    return [slice(begin, begin + step) for begin in range(0, max(len(lists), 1), step)]
