"""Cells of an approximate search: their centres, their neighbours, and how many to search."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.arrays import get, put, tile_rows
from lowdim.backends.torch.segments import counts_of, segment_sums

ROUNDS = 8  # of k-means


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


def true_neighbors(points: Tensor, sample: Tensor, k: int) -> Tensor:
    """The k nearest other points of some of the points."""
    return _nearest(points, sample, k, own=torch.inf)


def _nearest(points: Tensor, sample: Tensor, k: int, own: float) -> Tensor:
    """The k nearest points of some of the points; each itself is first or last by `own`, +-inf."""
    squares = points.square().sum(dim=1)
    parts = []
    rows = tile_rows(points.device, 16 * len(points), len(sample))
    for begin in range(0, len(sample), rows):
        part = sample[begin : begin + rows]
        scores = torch.addmm(squares, points[part], points.T, alpha=-2)
        scores[torch.arange(len(part), device=part.device), part] = own
        parts.append(scores.topk(k, dim=1, largest=False).indices)
    return torch.cat(parts)


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
