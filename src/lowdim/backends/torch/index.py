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
from lowdim.backends import native
from lowdim.backends.protocol import Ranking
from lowdim.backends.torch.arrays import Unsupported, get, put, resident, tile_rows
from lowdim.backends.torch.neighbors import (
    GROUP,
    OWN_COLUMN,
    n_candidates,
    ranked,
    smallest_columns,
    unit_rows,
)
from lowdim.backends.torch.segments import counts_of, segment_sums
from lowdim.checks import Array, distances_in_range, is_sparse

logger = logging.getLogger("lowdim")

EXACT_UP_TO = 5.0  # seconds of an exact search on the CPU below which an index is not worth it
EXACT_UP_TO_GPU = 0.15  # the same on a GPU
SAMPLE_ROWS = 512  # sample on which recall is measured
ROWS_PER_CELL = 1024  # on average
TRAINING_ROWS = 64  # rows per cell from which the centres are computed
ROUNDS = 8  # of k-means
SCORES_AT_ONCE = 1 << 28  # of queries and candidates in a batch of cells: 1 GB in float32
LARGEST_SHARE = 0.4  # of all rows that a row may be compared with; otherwise all are cheaper


@dataclass(frozen=True, eq=False)
class CellIndex:
    """Rows in cells; an `Index` of `lowdim.backends.protocol`."""

    rows: Tensor  # in the order of the cells, scaled to unit length for the cosine distance
    norms: Tensor  # squared
    order: Tensor  # original index of each row
    starts: Array  # of the cells
    centers: Tensor
    near: Array  # for each cell, all cells by the distance of their centres
    cosine: bool
    k: int
    probes: int
    recall: float

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each row's k nearest other rows."""
        ids, distances = self._search(self.rows, self.starts, self.k, own=True)
        out_i, out_d = torch.empty_like(ids), torch.empty_like(distances)
        out_i[self.order], out_d[self.order] = ids, distances
        found = get(out_d)
        distances_in_range(found)
        return get(out_i), found

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k rows nearest to each query, for k <= self.k."""
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        asked = put(self.rows.device, checks.dense(queries)).to(self.rows.dtype)
        if self.cosine:
            asked = _like_units(asked, self.rows.shape[1])
        cells = nearest_centers(asked, self.centers)
        order = torch.argsort(cells, stable=True)
        starts = np.concatenate([[0], np.cumsum(get(counts_of(cells, len(self.near))))])
        ids, distances = self._search(asked[order], starts, k, own=False)
        out_i, out_d = torch.empty_like(ids), torch.empty_like(distances)
        out_i[order], out_d[order] = ids, distances
        found = get(out_d)
        distances_in_range(found)
        return get(out_i), found

    def _search(
        self, queries: Tensor, starts: Array, k: int, *, own: bool
    ) -> tuple[Tensor, Tensor]:
        """The k nearest rows of each query; those of cell c are starts[c] to starts[c + 1] - 1.

        Cells are searched in batches with similar numbers of candidates. With `own`, queries are
        the rows themselves.
        """
        device = queries.device
        ids = torch.empty(len(queries), k, dtype=torch.int32, device=device)
        distances = queries.new_empty(len(queries), k)
        asked = np.diff(starts)
        lists = {int(c): self._places(int(c), k + own) for c in np.flatnonzero(asked)}
        for batch in _batches(asked, lists):
            places = _padded([lists[c] for c in batch], GROUP)
            members = _padded([np.arange(starts[c], starts[c + 1]) for c in batch], 1)
            at, rows = put(device, places), put(device, members)
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
            m = min(places.shape[1], n_candidates(k) + own)
            columns, values = smallest_columns(tile.reshape(-1, places.shape[1]), m)
            del tile
            used = (rows >= 0).ravel()
            cell = torch.arange(len(batch), device=device).repeat_interleave(rows.shape[1])
            found = at[cell[used, None], columns[used]]
            found.masked_fill_(values[used] == torch.inf, OWN_COLUMN)
            chosen = rows.ravel()[used]
            near, length = ranked(queries[chosen], self.rows, found, k, self.cosine)
            ids[chosen], distances[chosen] = self.order[near].int(), length
        return ids, distances

    def _places(self, cell: int, least: int) -> Array:
        """The places of the rows of the nearest cells, at least `least` of them, its own first."""
        probes = self.probes
        while True:
            chosen = self.near[cell, :probes]
            total = int((self.starts[chosen + 1] - self.starts[chosen]).sum())
            if total >= least or probes >= len(self.near):
                return np.concatenate(
                    [np.arange(self.starts[c], self.starts[c + 1]) for c in chosen]
                )
            probes = min(2 * probes, len(self.near))


def _batches(asked: Array, lists: dict[int, Array]) -> Iterator[list[int]]:
    """Cells to be searched together: of similar numbers of queries, and few enough for memory."""
    batch: list[int] = []
    widest = longest = 0
    for cell in sorted(lists, key=lambda c: (asked[c], len(lists[c]))):
        widest, longest = max(widest, len(lists[cell])), max(longest, int(asked[cell]))
        if batch and (len(batch) + 1) * longest * widest > SCORES_AT_ONCE:
            yield batch
            batch, widest, longest = [], len(lists[cell]), int(asked[cell])
        batch.append(cell)
    if batch:
        yield batch


def _padded(lists: list[Array], multiple: int) -> Array:
    """Lists of places as the rows of a matrix whose width is a multiple, padded with -1."""
    width = max(map(len, lists))
    out = np.full((len(lists), width + -width % multiple), -1, dtype=np.int64)
    for row, places in zip(out, lists, strict=True):
        row[: len(places)] = places
    return out


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
    given = resident(device, rows)
    points = unit_rows(given)[0] if cosine else given
    count = max(16, n // ROWS_PER_CELL)
    chosen = np.sort(random.choice(n, min(n, TRAINING_ROWS * count), replace=False))
    centers = _centers(points[put(device, chosen)], count, random)
    if not bool(torch.isfinite(centers).all()):
        return None  # overflow, which the exact search reports
    cells = nearest_centers(points, centers)
    order = torch.argsort(cells, stable=True)
    sizes = counts_of(cells, count)
    starts = np.concatenate([[0], np.cumsum(get(sizes))])
    near = get(_by_distance(centers))
    sample = np.sort(random.choice(n, SAMPLE_ROWS, replace=False))
    true = _true_neighbors(points, sample, k)
    probes, found = _fewest_probes(get(cells), sample, true, near, recall)
    if probes is None or float(np.diff(starts)[near[:, :probes]].sum(axis=1).mean()) > (
        LARGEST_SHARE * n
    ):
        return None
    logger.info(
        "Approximate neighbours from %d cells: %d cells per row, recall %.3f on a sample of %d "
        "rows",
        count,
        probes,
        found,
        SAMPLE_ROWS,
    )
    sorted_rows = points[order]
    norms = sorted_rows.square().sum(dim=1)
    return CellIndex(
        sorted_rows, norms, order, starts, centers, near, cosine, k, probes, float(found)
    )


def exact_search_seconds(device: torch.device, rows: Any) -> float:
    """Estimated seconds of the exact search for the neighbours of all rows."""
    if device.type == "cpu" or is_sparse(rows):
        return float(native.exact_search_seconds(rows))
    n, d = rows.shape
    return float(n**2 * (d * 1.5e-14 + 4e-12))  # products, and selection from the tiles


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


def _centers(points: Tensor, count: int, random: np.random.Generator) -> Tensor:
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


def _by_distance(centers: Tensor) -> Tensor:
    """For each centre, all centres by their distance, itself first."""
    squares = centers.square().sum(dim=1)
    scores = torch.addmm(squares, centers, centers.T, alpha=-2)
    scores.fill_diagonal_(-torch.inf)
    return scores.argsort(dim=1, stable=True)


def _true_neighbors(points: Tensor, sample: Array, k: int) -> Array:
    """The k nearest other points of some of the points."""
    at = put(points.device, sample)
    offsets = points.square().sum(dim=1)
    found = []
    rows = tile_rows(points.device, 8 * len(points), len(sample))
    for begin in range(0, len(sample), rows):
        own = at[begin : begin + rows]
        tile = torch.addmm(offsets, points[own], points.T, alpha=-2)
        tile[torch.arange(len(own), device=own.device), own] = torch.inf
        found.append(get(tile.topk(k, dim=1, largest=False).indices))
    return np.concatenate(found)


def _fewest_probes(
    cells: Array, sample: Array, true: Array, near: Array, wanted: float
) -> tuple[int | None, float]:
    """The smallest number of cells with the wanted recall on a sample, and that recall."""
    rank = np.empty_like(near)
    np.put_along_axis(rank, near, np.arange(len(near))[None, :], axis=1)
    ranks = rank[cells[sample][:, None], cells[true]]
    share = np.cumsum(np.bincount(ranks.ravel(), minlength=len(near))) / ranks.size
    enough = np.flatnonzero(share >= wanted)
    return (int(enough[0]) + 1, float(share[enough[0]])) if len(enough) else (None, 0.0)


def _like_units(queries: Tensor, width: int) -> Tensor:
    """Queries of unit length, with the column of zero rows if the rows of the index have it."""
    units = unit_rows(queries)[0]
    if units.shape[1] < width:
        units = torch.cat([units, units.new_zeros(len(units), 1)], dim=1)
    return units[:, :width]
