"""Approximate nearest neighbours by cells, for many rows.

The rows are divided into cells by k-means. The rows of a cell are compared with those of the cells
whose centres are nearest to its own. The number of these cells is the smallest that reaches the
wanted recall on a sample of rows whose true neighbours are known.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim import checks
from lowdim.backends.native.heaps import Ranking
from lowdim.backends.native.index import exact_search_seconds as native_seconds
from lowdim.backends.torch.arrays import Unsupported, get, put, tile_rows
from lowdim.backends.torch.neighbors import (
    GROUP,
    OWN_COLUMN,
    n_candidates,
    require_finite,
    rerank,
    smallest_columns,
    unit_rows,
)
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.backends.torch.sparse import counts_of, offsets_of, segment_sums
from lowdim.checks import Array, is_sparse

logger = logging.getLogger("lowdim")

EXACT_UP_TO = 5.0  # seconds of an exact search on the CPU below which an index is not worth it
EXACT_UP_TO_GPU = 0.15  # the same on a GPU
SAMPLE_ROWS = 512  # sample on which recall is measured
ROWS_PER_CELL, MANY_ROWS = 1024, 1 << 24  # on average; more by the square root for more rows
ROUNDS = 8  # of k-means
TRAINING_ROWS = 64  # rows per cell from which the centres are computed
SCORES_AT_ONCE = 1 << 28  # of queries and candidates in a batch of cells: 1 GB in float32
LARGEST_SHARE = 0.4  # of all rows that a row may be compared with; otherwise all are cheaper


@dataclass(frozen=True, eq=False)
class CellIndex:
    """Rows in cells; an `Index` of `lowdim.backends.native`."""

    rows: Tensor  # in the order of the cells, scaled to unit length for the cosine distance
    norms: Tensor  # squared
    order: Tensor  # original index of each row
    starts: Tensor  # of the cells, and the end of the last one
    centers: Tensor
    near: Tensor  # for each cell, the nearest cells by their centres, itself first
    cosine: bool
    k: int
    probes: int
    recall: float

    def neighbors(self) -> tuple[Array, Array]:
        return self._in_order(self.order, self._search(self.rows, self.starts, self.k, own=True))

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        asked = put(self.rows.device, checks.dense(queries)).to(self.rows.dtype)
        if self.cosine:
            asked = _like_units(asked, self.rows.shape[1])
        cells = nearest_centers(asked, self.centers)
        order = torch.argsort(cells, stable=True)
        starts = offsets_of(counts_of(cells, len(self.near)))
        sorted_queries = asked[order]
        ids, distances = self._search(sorted_queries, starts, k, own=False)
        if self.cosine:  # from a row of zeros, if the rows of the index have no column for it
            distances[~sorted_queries.any(dim=1)] = 1
        return self._in_order(order, (ids, distances))

    def _in_order(self, order: Tensor, neighbors: tuple[Tensor, Tensor]) -> tuple[Array, Array]:
        """Results for queries that were sorted by cells, in the order before."""
        ids, distances = (torch.empty_like(one) for one in neighbors)
        ids[order], distances[order] = neighbors
        require_finite(distances)
        return get_and_remember(ids), get_and_remember(distances)

    def _search(
        self, queries: Tensor, starts: Tensor, k: int, *, own: bool
    ) -> tuple[Tensor, Tensor]:
        """The k nearest rows of each query; those of cell c are starts[c] to starts[c + 1] - 1.

        Cells are searched in batches with similar numbers of candidates. With `own`, queries are
        the rows themselves.
        """
        device = queries.device
        ids = torch.empty(len(queries), k, dtype=torch.int32, device=device)
        distances = queries.new_empty(len(queries), k)
        sizes = self.starts.diff()[self.near]
        sums = sizes.cumsum(dim=1)
        # A cell is compared with `probes` cells, or more if these have too few rows.
        searched = (sums < k + own).sum(dim=1).add_(1).clamp_(self.probes, self.near.shape[1])
        counts = sums.gather(1, searched[:, None] - 1)[:, 0]
        for batch, longest, widest in _batches(get(starts.diff()), get(counts)):
            cells = put(device, batch)
            at = self._candidates(cells, searched[cells], sums, widest + -widest % GROUP)
            rows = starts[cells, None] + torch.arange(longest, device=device)
            rows.masked_fill_(rows >= starts[cells + 1, None], -1)
            offsets = self.norms[at.clamp(min=0)] * (not self.cosine)
            offsets.masked_fill_(at < 0, torch.inf)
            tile = torch.baddbmm(
                offsets[:, None, :],
                queries[rows.clamp(min=0)],
                self.rows[at.clamp(min=0)].transpose(1, 2),
                alpha=-2,
            )
            if own:  # the own cell is the first of the candidates, in the order of the queries
                tile.diagonal(dim1=1, dim2=2).fill_(torch.inf)
            m = min(at.shape[1], n_candidates(k) + own)
            columns, values = smallest_columns(tile.reshape(-1, at.shape[1]), m)
            del tile
            used = (rows >= 0).ravel()
            cell = torch.arange(len(batch), device=device).repeat_interleave(longest)
            candidates = at[cell[used, None], columns[used]]
            candidates.masked_fill_(values[used] == torch.inf, OWN_COLUMN)
            chosen = rows.ravel()[used]
            near, length = rerank(queries[chosen], self.rows, candidates, k, self.cosine)
            ids[chosen], distances[chosen] = self.order[near].int(), length
        return ids, distances

    def _candidates(self, cells: Tensor, searched: Tensor, sums: Tensor, width: int) -> Tensor:
        """The rows of the nearest cells of each cell, its own first, padded with -1.

        `searched` is the number of these cells, and `sums` are cumulative sums of their sizes.
        """
        most = int(searched.max())
        near, ends = self.near[cells, :most], sums[cells, :most].contiguous()
        places = torch.arange(width, device=cells.device).expand(len(cells), width).contiguous()
        which = torch.searchsorted(ends, places, right=True)
        outside = which >= searched[:, None]
        which.clamp_(max=most - 1)
        sizes = self.starts.diff()[near]
        first = (self.starts[near] - (ends - sizes)).gather(1, which)
        return (first + places).masked_fill_(outside, -1)


def _batches(asked: Array, counts: Array) -> Iterator[tuple[Array, int, int]]:
    """Cells to be searched together: of similar numbers of queries, and few enough for memory.

    Yields the cells, and their largest numbers of queries and of candidates.
    """
    cells = np.flatnonzero(asked)
    cells = cells[np.lexsort((counts[cells], asked[cells]))]
    first = longest = widest = 0
    for number, cell in enumerate(cells):
        longer, wider = max(longest, int(asked[cell])), max(widest, int(counts[cell]))
        if number > first and (number + 1 - first) * longer * wider > SCORES_AT_ONCE:
            yield cells[first:number], longest, widest
            first, longer, wider = number, int(asked[cell]), int(counts[cell])
        longest, widest = longer, wider
    if len(cells):
        yield cells[first:], longest, widest


def build_index(
    device: torch.device,
    rows: Any,
    k: int,
    cosine: bool,
    recall: float,
    random: np.random.Generator,
    ranking: Ranking | None = None,
) -> CellIndex | None:
    """An index of at least this recall, or None if the exact search is cheaper."""
    if is_sparse(rows) or ranking is not None:
        raise Unsupported
    limit = EXACT_UP_TO if device.type == "cpu" else EXACT_UP_TO_GPU
    n = rows.shape[0]
    if n < 16 * SAMPLE_ROWS or exact_search_seconds(device, rows) < limit:
        return None
    tensor = resident(device, rows)
    points = unit_rows(tensor)[0] if cosine else tensor
    count = max(16, int(n / ROWS_PER_CELL / max(1.0, np.sqrt(n / MANY_ROWS))))
    chosen = np.sort(random.choice(n, min(n, TRAINING_ROWS * count), replace=False))
    centers = centers_of(points[put(device, chosen)], count, random)
    if not bool(torch.isfinite(centers).all()):
        return None  # overflow, which the exact search reports
    cells = nearest_centers(points, centers)
    order = torch.argsort(cells, stable=True)
    starts = offsets_of(counts_of(cells, count))
    sample = put(device, np.sort(random.choice(n, SAMPLE_ROWS, replace=False)))
    true = _nearest(points, sample, k, own=torch.inf)
    probes, share = fewest_probes(cells, sample, true, centers, recall)
    if probes is None:
        return None
    near = nearest_cells(centers, starts.diff(), probes, k + 1)
    if float(starts.diff()[near[:, :probes]].sum(dim=1).double().mean()) > LARGEST_SHARE * n:
        return None
    logger.info(
        "Approximate neighbours from %d cells: %d cells per row, recall %.3f on a sample of %d "
        "rows",
        count,
        probes,
        share,
        SAMPLE_ROWS,
    )
    sorted_rows = points[order]
    norms = sorted_rows.square().sum(dim=1)
    return CellIndex(sorted_rows, norms, order, starts, centers, near, cosine, k, probes, share)


def exact_search_seconds(device: torch.device, rows: Any) -> float:
    """Estimated seconds of the exact search for the neighbours of all rows."""
    if device.type == "cpu" or is_sparse(rows):
        return float(native_seconds(rows))
    n, d = rows.shape
    return float(n**2 * (d * 1.5e-14 + 4e-12))  # products, and selection from the tiles


def _like_units(queries: Tensor, width: int) -> Tensor:
    """Queries of unit length, with the column of zero rows if the rows of the index have it."""
    units = unit_rows(queries)[0]
    if units.shape[1] < width:
        units = torch.cat([units, units.new_zeros(len(units), 1)], dim=1)
    return units[:, :width]


def nearest_centers(points: Tensor, centers: Tensor) -> Tensor:
    """The nearest centre of each point."""
    offsets = centers.square().sum(dim=1)
    rows = tile_rows(points.device, 8 * len(centers), len(points))
    return torch.cat(
        [
            torch.addmm(offsets, points[begin : begin + rows], centers.T, alpha=-2).argmin(dim=1)
            for begin in range(0, len(points), rows)
        ]
    )


def centers_of(points: Tensor, count: int, random: np.random.Generator) -> Tensor:
    """Centres by k-means (Lloyd 1982); an empty cell keeps its centre."""
    start = np.sort(random.choice(len(points), count, replace=False))
    centers = points[put(points.device, start)].clone()
    for _ in range(ROUNDS):
        cells = nearest_centers(points, centers)
        order = torch.argsort(cells, stable=True)
        sizes = counts_of(cells, count)
        sums = segment_sums(points[order], sizes)
        means = sums / sizes.clamp(min=1)[:, None].to(sums.dtype)
        centers = torch.where(sizes[:, None] > 0, means, centers)
    return centers


def nearest_cells(centers: Tensor, sizes: Tensor, probes: int, least: int) -> Tensor:
    """For each cell, the nearest cells by the distance of their centres, itself first.

    At least `probes`, and so many that they have `least` rows.
    """
    count = len(centers)
    while True:
        near = _nearest(centers, torch.arange(count, device=centers.device), probes, own=-torch.inf)
        if probes >= count or int(sizes[near].sum(dim=1).amin()) >= least:
            return near
        probes = min(2 * probes, count)


def _nearest(points: Tensor, sample: Tensor, k: int, own: float) -> Tensor:
    """The k nearest points of some of the points; each itself is first or last by `own`, +-inf."""
    squares = points.square().sum(dim=1)
    nearest = []
    rows = tile_rows(points.device, 16 * len(points), len(sample))
    for begin in range(0, len(sample), rows):
        part = sample[begin : begin + rows]
        scores = torch.addmm(squares, points[part], points.T, alpha=-2)
        scores[torch.arange(len(part), device=part.device), part] = own
        nearest.append(scores.topk(k, dim=1, largest=False).indices)
    return torch.cat(nearest)


def fewest_probes(
    cells: Tensor, sample: Tensor, true: Tensor, centers: Tensor, wanted: float
) -> tuple[int | None, float]:
    """The smallest number of cells with the wanted recall on a sample, and that recall."""
    count = len(centers)
    near = _nearest(centers, cells[sample], count, own=-torch.inf)
    rank = torch.empty_like(near)
    rank.scatter_(1, near, torch.arange(count, device=near.device).expand_as(near))
    ranks = rank.gather(1, cells[true])
    share = np.cumsum(get(counts_of(ranks.ravel(), count))) / ranks.numel()
    enough = np.flatnonzero(share >= wanted)
    return (int(enough[0]) + 1, float(share[enough[0]])) if len(enough) else (None, 0.0)
