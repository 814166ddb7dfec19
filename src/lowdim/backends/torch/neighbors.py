"""Exact nearest neighbours under the Euclidean and the cosine distance, from inner products.

Tiles of scores |y|^2 - 2 x.y come from matrix products. The best candidates of a row are selected
in two steps: the smallest score of each group of columns in one pass, then the smallest scores of
the best groups. Distances of the candidates are computed again from differences, as in the native
backend, because inner products lose digits to cancellation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.products import EXTRA_CANDIDATES, rows_in_doubt
from lowdim.backends.torch.arrays import Unsupported, get, put, tile_rows, widest_float
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.checks import Array, distances_in_range, is_sparse

GROUP = 64  # columns of which a tile keeps the smallest score in the first step of the selection
ROUNDING = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}
HAS_HALF_PRODUCTS = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8)  # see `torch.mm`
ROUNDING_OF_HALVES = 2.0**-21  # of products of numbers that are split into two halves
OWN_COLUMN = 2**31 - 1  # index of a place without a neighbour


class Scores(NamedTuple):
    """Vectors and offsets such that the scores offset_j - 2 x_i.y_j rank the neighbours of x_i.

    The columns are padded to a multiple of `GROUP` with scores of infinity.
    """

    vectors: Tensor
    offsets: Tensor
    n_points: int  # without padding
    halves: Tensor | None  # the right factor of the scores in half precision
    scale: float  # of `halves`; scores are in units of 1 / scale^2

    @property
    def rounding(self) -> float:
        """Relative error of a product."""
        return ROUNDING[self.vectors.dtype] if self.halves is None else ROUNDING_OF_HALVES


def scores_of(points: Tensor, offsets: Tensor, queries: Tensor) -> Scores:
    """Prepare points for `tile_of_scores` with some of these queries."""
    count = len(points)
    missing = -count % GROUP
    if missing:
        points = torch.cat([points, points.new_zeros(missing, points.shape[1])])
        offsets = torch.cat([offsets, offsets.new_zeros(missing)])
    half = points.device.type == "cuda" and points.dtype == torch.float32 and HAS_HALF_PRODUCTS
    if not half or not points.numel() or not queries.numel():
        return Scores(points, offsets, count, None, 1.0)
    largest = max(float(side.square().sum(dim=1).amax()) for side in (points, queries))
    if not 0 < largest < np.inf:
        return Scores(points, offsets, count, None, 1.0)
    scale = float(2.0 ** -np.ceil(np.log2(largest) / 2))
    return Scores(points, offsets, count, _right_factor(points, offsets, scale), scale)


def _right_factor(points: Tensor, offsets: Tensor, scale: float) -> Tensor:
    """(high, high, low, offset): see `tile_of_scores`."""
    high, low = _halves(points * scale)
    offset = (offsets * scale**2)[:, None]
    parts = []
    for _ in range(3):
        parts.append(offset.half())
        offset = offset - parts[-1].float()
    return _pad_columns([high, high, low, *parts])


def _left_factor(queries: Tensor, scale: float) -> Tensor:
    """-2 (high, low, high), and ones for the offset; the factor -2 is exact."""
    high, low = _halves(queries * (-2 * scale))
    return _pad_columns([high, low, high, high.new_ones(len(queries), 3)])


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers as sums of two numbers of half precision."""
    high = x.half()
    return high, (x - high.float()).half()


def _pad_columns(parts: list[Tensor]) -> Tensor:
    """Columns side by side, padded to a multiple of eight, which tensor cores need."""
    width = sum(part.shape[1] for part in parts)
    return torch.cat([*parts, parts[0].new_zeros(len(parts[0]), -width % 8)], dim=1)


def tile_of_scores(queries: Tensor, known: Scores) -> Tensor:
    """The scores of some queries and all points, in units of 1 / known.scale^2.

    float32 on CUDA devices uses tensor cores, because products in single precision are several
    times slower: numbers are sums of two halves of eleven bits, high and low, and one product adds
    up high.high + high.low + low.high and the offsets in float32.
    """
    if known.halves is None:
        tile = torch.addmm(known.offsets, queries, known.vectors.T, alpha=-2)
    else:
        left = _left_factor(queries, known.scale)
        tile = torch.mm(left, known.halves.T, out_dtype=torch.float32)
    tile[:, known.n_points :] = torch.inf
    return tile


def smallest_columns(scores: Tensor, m: int) -> tuple[Tensor, Tensor]:
    """The columns of the m smallest entries of each row, unordered, and the entries.

    The number of columns is a multiple of `GROUP`. The m smallest entries lie in the m groups with
    the smallest minima.
    """
    rows, n = scores.shape
    if n <= 4 * m * GROUP:
        best_scores = scores.topk(m, dim=1, largest=False, sorted=False)
        return best_scores.indices, best_scores.values
    # A group is every (n / GROUP)-th column, so that minima of neighbouring columns are taken side
    # by side, which is several times faster than along a row.
    count = n // GROUP
    grouped = scores.view(rows, GROUP, count)
    best = grouped.amin(dim=1).topk(m, dim=1, largest=False, sorted=False).indices
    inside = grouped.gather(2, best[:, None, :].expand(-1, GROUP, -1)).reshape(rows, GROUP * m)
    best_scores = inside.topk(m, dim=1, largest=False, sorted=False)
    columns = best_scores.indices // m * count + best.gather(1, best_scores.indices % m)
    return columns, best_scores.values


def rerank(
    queries: Tensor, points: Tensor, candidates: Tensor, k: int, cosine: bool
) -> tuple[Tensor, Tensor]:
    """The k nearest of each row's candidates by exact distances, ordered by (distance, index).

    Candidates of `OWN_COLUMN` are skipped. Cosine distances are those of vectors of unit length.
    """
    rows = tile_rows(queries.device, 12 * candidates.shape[1] * points.shape[1], len(queries))
    parts = []
    for begin in range(0, len(queries), rows):
        some, _ = candidates[begin : begin + rows].sort(dim=1)
        free = some == OWN_COLUMN
        gaps = points[some.masked_fill(free, 0)]
        gaps -= queries[begin : begin + rows, None]
        squares = gaps.square_().sum(dim=2)
        distances = squares / 2 if cosine else squares.sqrt()
        distances.masked_fill_(free, torch.inf)
        distances, order = distances.sort(dim=1, stable=True)
        parts.append((some.gather(1, order)[:, :k], distances[:, :k]))
    if not parts:
        return candidates[:, :k], points.new_empty(0, k)
    return torch.cat([ids for ids, _ in parts]), torch.cat([d for _, d in parts])


def n_candidates(k: int) -> int:
    """The number of candidates whose distances are computed to find k neighbours."""
    return k + EXTRA_CANDIDATES + k // 4


def nearest(device: torch.device, X: Any, k: int, cosine: bool) -> tuple[Array, Array]:
    if is_sparse(X):
        raise Unsupported
    rows = resident(device, X)
    ids, distances = search(rows, rows, k, cosine, own=True)
    return get_and_remember(ids), get_and_remember(distances)


def nearest_to(
    device: torch.device, points: Any, queries: Any, k: int, cosine: bool
) -> tuple[Array, Array]:
    dtype = np.result_type(points, queries)
    known = resident(device, np.asarray(points, dtype=dtype))
    asked = put(device, np.asarray(queries, dtype=dtype))
    ids, distances = search(asked, known, k, cosine, own=False)
    return get_and_remember(ids), get_and_remember(distances).astype(points.dtype, copy=False)


def search(
    queries: Tensor, points: Tensor, k: int, cosine: bool, *, own: bool
) -> tuple[Tensor, Tensor]:
    """Indices and distances of the k points nearest to each query, or to each other if `own`."""
    if cosine:
        units = unit_rows(points, queries)
        points, queries = units[0], units[0] if own else units[1]
    center = points.mean(dim=0, dtype=widest_float(points.device)).to(points.dtype)
    if cosine:
        center = torch.zeros_like(center)
    shifted = points - center
    norms = torch.zeros_like(shifted[:, 0]) if cosine else shifted.square().sum(dim=1)
    asked = shifted if own else queries - center
    known = scores_of(shifted, norms, asked)
    m = min(len(points), n_candidates(k) + own)
    ids, distances, worst = _by_tiles(queries, asked, points, known, k, m, cosine, own)
    require_finite(distances)
    if not cosine and m < len(points) - own:
        last, sizes = get(distances[:, -1]), get(asked.square().sum(dim=1))
        rounding = np.sqrt(points.shape[1]) * known.rounding
        doubt = rows_in_doubt(last, get(worst), sizes, rounding)
        if len(doubt):
            _search_again(queries, points, center, k, doubt, own, ids, distances)
    return ids, distances


def require_finite(distances: Tensor) -> None:
    """Raise ValueError if a distance between rows of X overflowed."""
    if not bool(torch.isfinite(distances).all()):
        distances_in_range(get(distances))


def _by_tiles(
    queries: Tensor,
    asked: Tensor,
    points: Tensor,
    known: Scores,
    k: int,
    m: int,
    cosine: bool,
    own: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Neighbours and distances, and the largest score among the candidates of each row."""
    n_columns = len(known.offsets)
    rows = tile_rows(points.device, 2 * n_columns * points.element_size(), len(queries))
    found_i, found_d, found_w = [], [], []
    for begin in range(0, len(queries), rows):
        tile = tile_of_scores(asked[begin : begin + rows], known)
        if own:
            tile.diagonal(offset=begin)[: len(tile)].fill_(torch.inf)
        columns, values = smallest_columns(tile, m)
        del tile
        columns.masked_fill_(values == torch.inf, OWN_COLUMN)
        ids, distances = rerank(queries[begin : begin + rows], points, columns, k, cosine)
        found_i.append(ids.int())
        found_d.append(distances)
        found_w.append(values.masked_fill(values == torch.inf, -torch.inf).amax(dim=1))
    if not found_i:
        none = points.new_empty(0)
        return none.int().reshape(0, k), none.reshape(0, k), none
    return torch.cat(found_i), torch.cat(found_d), torch.cat(found_w) / known.scale**2


def _search_again(
    queries: Tensor,
    points: Tensor,
    center: Tensor,
    k: int,
    doubt: Array,
    own: bool,
    ids: Tensor,
    distances: Tensor,
) -> None:
    """Search the rows `doubt` again with scores in double precision; overwrites their results."""
    exact = widest_float(points.device)
    shifted = points.to(exact) - center
    known = scores_of(shifted, shifted.square().sum(dim=1), shifted)
    rows = tile_rows(points.device, 16 * len(known.offsets), len(doubt))
    m = min(len(points), n_candidates(k) + own)
    for begin in range(0, len(doubt), rows):
        chosen = doubt[begin : begin + rows]
        at = put(points.device, chosen.astype(np.int64))
        tile = tile_of_scores(queries[at].to(exact) - center, known)
        if own:
            tile[torch.arange(len(at), device=at.device), at] = torch.inf
        columns, values = smallest_columns(tile, m)
        columns.masked_fill_(values == torch.inf, OWN_COLUMN)
        found_i, found_d = rerank(queries[at], points, columns, k, False)
        ids[at], distances[at] = found_i.int(), found_d


def unit_rows(*matrices: Tensor) -> list[Tensor]:
    """Rows scaled to unit length, as `lowdim.backends.native.products.unit_rows`."""
    units, zero = [], []
    for rows in matrices:
        lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        zero.append((lengths == 0).to(rows.dtype))
        units.append(rows / torch.where(lengths > 0, lengths, torch.ones_like(lengths)))
    if not any(bool(column.any()) for column in zero):
        return units
    return [torch.cat([rows, column], dim=1) for rows, column in zip(units, zero, strict=True)]
