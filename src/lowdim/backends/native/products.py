"""Exact nearest neighbours under the Euclidean and the cosine distance, from inner products.

Blocks of rows are multiplied, each symmetric pair of blocks once. The best candidates of every row
and column are selected from a tile while it is in cache. Their distances are then computed again
from the vectors, because distances from inner products lose digits to cancellation.
"""

from __future__ import annotations

import threading
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim.backends.native.dense import product
from lowdim.backends.native.heaps import Heaps, rerank
from lowdim.backends.numpy_blocks import Shifted, unit_length
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run

TILE_ROWS = 2048  # rows and columns of a tile of inner products: 16 MB in float32
LEAST_TILE_ROWS = 256  # the same if there are few rows, so that all threads get a tile
LEAST_TILES = 16  # on each side of the matrix, until they are that small
EXTRA_CANDIDATES = 8  # beyond k, so that rounding in the tiles does not lose neighbours
QUERY_ROWS = 512  # queries compared with all points at once
SAMPLE_BLOCK_ROWS = 16  # rows of a small sample that a thread takes at once
SAMPLE_TILE_ROWS = 512  # points that a small sample is compared with at once; they stay in cache
PASS_ROWS = 1024  # rows of a block in simple passes over a matrix


def tile_rows(n: int) -> int:
    """Rows and columns of a tile, of which each thread holds one, in a search of n rows."""
    return int(np.clip(-(-n // LEAST_TILES), LEAST_TILE_ROWS, TILE_ROWS))


def nearest(X: Any, k: int, cosine: bool) -> tuple[Array, Array]:
    """Each row's k nearest other rows, by the Euclidean or the cosine distance."""
    n = X.shape[0]
    if cosine:
        shifted = unit_rows(X)[0]
        norms = np.zeros(n, dtype=shifted.dtype)
    else:
        shifted, norms = _prepare(X)
    heaps = Heaps(n, min(n - 1, k + EXTRA_CANDIDATES), shifted.dtype)
    tiles = blocks(n, tile_rows(n))
    locks = {rows.start: threading.Lock() for rows in tiles}
    local = threading.local()

    def multiply(pair: tuple[slice, slice]) -> None:
        left, right = pair
        tile = _product(shifted[left], shifted[right], local)
        first = (left.start, right.start)
        with locks[left.start]:
            heaps.offer(tile, first, rows=left, scale=-2.0, offset=norms[right])
        if left != right:
            with locks[right.start]:
                heaps.offer(tile, first, rows=right, scale=-2.0, offset=norms[left], columns=True)

    run(multiply, combinations_with_replacement(tiles, 2), counts=True)
    exact = shifted if cosine else sum_duplicates(X)
    if is_sparse(X):
        distances_in_range(heaps.values)
        return rerank(exact, exact, heaps.ids, k, cosine)
    worst = heaps.values.max(axis=1)
    indices, distances = rerank(exact, exact, heaps.candidates(), k, cosine)
    distances_in_range(distances)
    if not cosine and worst.size and heaps.ids.shape[1] < n - 1:
        doubt = rows_in_doubt(distances[:, -1], worst, norms, _rounding(X))
        _search_again(X, X, indices, distances, doubt, own=True)
    return indices, distances


def nearest_to(points: Any, queries: Any, k: int, cosine: bool) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query, for dense vectors."""
    dtype = points.dtype
    common = np.result_type(points, queries)
    points, queries = (np.ascontiguousarray(side, common) for side in (points, queries))
    n, m = points.shape[0], min(points.shape[0], k + EXTRA_CANDIDATES)
    if cosine:
        shifted, asked = unit_rows(points, queries)
        norms = np.zeros(n, dtype=shifted.dtype)
    else:
        (shifted, norms), asked = _prepare(points), queries - _center(points)
    exact = (asked, shifted) if cosine else (queries, points)
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=dtype)

    def search(rows: slice) -> None:
        heaps = Heaps(rows.stop - rows.start, m, points.dtype)
        for part in blocks(n, TILE_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):  # distances_in_range reports it
                tile = product(asked[rows], shifted[part])
            heaps.offer(tile, (None, part.start), scale=-2.0, offset=norms[part])
        worst = heaps.values.max(axis=1)
        found_i, found_d = rerank(exact[0][rows], exact[1], heaps.candidates(), k, cosine)
        distances_in_range(found_d)
        if not cosine and m < n:
            sizes = squared_norms(asked[rows])
            doubt = rows_in_doubt(found_d[:, -1], worst, sizes, _rounding(points))
            _search_again(queries[rows], points, found_i, found_d, doubt, own=False)
        out_i[rows], out_d[rows] = found_i, found_d

    run(search, blocks(queries.shape[0], QUERY_ROWS))
    return out_i, out_d


def nearest_of_sample(X: Any, sample: Array, k: int, cosine: bool) -> tuple[Array, Array]:
    """Indices and distances of the k nearest other rows of some rows, in one pass without a copy.

    For the cosine distance the rows of X must have unit length.
    """
    center = None if cosine or is_sparse(X) else _center(X[sample])
    asked = X[sample] if center is None else X[sample] - center
    shifted = None if center is None else Shifted(X, center)
    m = min(X.shape[0], k + 1 + EXTRA_CANDIDATES)
    sixteenths = blocks(X.shape[0], -(-X.shape[0] // 16))
    candidates = np.empty((len(sixteenths), len(sample), m), dtype=np.int32)

    def search(number: int) -> None:
        heaps = Heaps(len(sample), m, X.dtype)
        local = threading.local()
        begin, end = sixteenths[number].start, sixteenths[number].stop
        for part in blocks(end - begin, SAMPLE_TILE_ROWS):
            rows = slice(begin + part.start, begin + part.stop)
            some = X[rows] if shifted is None else shifted(rows)
            norms = np.zeros(some.shape[0], X.dtype) if cosine else squared_norms(some)
            tile = _product(asked, some, local)
            heaps.offer(tile, (None, begin + part.start), scale=-2.0, offset=norms)
        candidates[number] = heaps.candidates()

    run(search, range(len(sixteenths)))
    columns = np.concatenate(list(candidates), axis=1)
    columns[columns == sample[:, None]] = -1

    def rank(rows: slice) -> tuple[Array, Array]:
        return rerank(X[sample[rows]], X, columns[rows], k, cosine)

    indices, distances = zip(*run(rank, blocks(len(sample), SAMPLE_BLOCK_ROWS)), strict=True)
    return np.concatenate(indices), np.concatenate(distances)


def squared_norms(X: Any) -> Array:
    """The squared norm of each row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(X.dtype)
    norms = np.empty(X.shape[0], dtype=X.dtype)

    def fill(rows: slice) -> None:
        np.sum(np.square(X[rows]), axis=1, out=norms[rows])

    run(fill, blocks(X.shape[0], PASS_ROWS))
    return norms


def pairs_within(points: Array, queries: Array, reach: Array) -> tuple[Array, Array, Array]:
    """Query, point and distance of every pair with |query - point| <= reach[point]."""
    center = _center(points)
    shifted, norms = _prepare(points)

    def search(part: slice) -> tuple[Array, Array, Array]:
        asked = queries[part] - center
        sizes = squared_norms(asked)
        squares = product(asked, shifted)
        squares *= -2
        squares += norms
        # |p|^2 - 2 pq <= reach^2 - |q|^2, with slack for rounding; then the exact distance decides.
        slack = 64 * np.finfo(points.dtype).eps * (sizes[:, None] + norms.max(initial=0))
        rows, columns = np.nonzero(squares <= np.square(reach) - sizes[:, None] + slack)
        exact = np.linalg.norm(queries[part][rows] - points[columns], axis=1)
        near = exact <= reach[columns]
        return rows[near] + part.start, columns[near], exact[near]

    parts = run(search, blocks(queries.shape[0], 128))
    rows, columns, distances = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return rows, columns, distances


def _rounding(X: Array) -> float:
    """The relative error of an inner product of rows of X."""
    return float(np.sqrt(X.shape[1]) * np.finfo(X.dtype).eps)


def rows_in_doubt(farthest: Array, worst: Array, norms: Array, unit: float) -> Array:
    """Rows that may have lost a neighbour to rounding in the tiles; `unit` is its relative size.

    A point that is not a candidate has a score of at least `worst`, up to rounding in the tile,
    which grows with the squared norms. A row is safe if its k-th distance (`farthest`) is below
    that score by more than the rounding; differences of a few units in the last place of the
    distance itself count as ties.
    """
    farthest, worst, norms = (a.astype(np.float64) for a in (farthest, worst, norms))
    rounding = 4 * unit * (np.sqrt(norms) + farthest) ** 2
    gap = farthest**2 * (1 - 32 * unit) - (norms + worst)
    return np.flatnonzero((gap + rounding > 0) & (farthest > 0))


def _search_again(
    queries: Array, points: Array, indices: Array, distances: Array, doubt: Array, *, own: bool
) -> None:
    """Compare the rows `doubt` with every point; with `own`, row i is point i and is left out."""

    def search(part: slice) -> None:
        rows = doubt[part]
        candidates = np.tile(np.arange(len(points), dtype=np.int32), (len(rows), 1))
        if own:
            candidates[np.arange(len(rows)), rows] = -1
        indices[rows], distances[rows] = rerank(
            queries[rows], points, candidates, indices.shape[1], False
        )

    run(search, blocks(len(doubt), 64))


def _product(A: Any, B: Any, local: threading.local) -> Array:
    """A B' in a buffer of the calling thread."""
    if is_sparse(A):
        return np.ascontiguousarray((A @ B.T).toarray())
    if not hasattr(local, "buffer"):
        local.buffer = np.empty(TILE_ROWS**2, dtype=A.dtype)
    tile: Array = local.buffer[: len(A) * len(B)].reshape(len(A), len(B))
    with np.errstate(over="ignore", invalid="ignore"):  # distances_in_range reports it
        return product(A, B, out=tile)


def _prepare(X: Any) -> tuple[Any, Array]:
    """Vectors v and offsets c such that the scores c_j - 2 v_i.v_j rank the neighbours of row i."""
    if is_sparse(X):
        exact = X.astype(np.float64)  # not centred, and no faster in float32
        return exact, squared_norms(exact)
    memory.claim(X.nbytes, "A centred copy of X", "Use float32.")
    shifted, center = np.empty_like(X), _center(X)

    def shift(rows: slice) -> None:
        np.subtract(X[rows], center, out=shifted[rows])

    run(shift, blocks(X.shape[0], PASS_ROWS))
    return shifted, squared_norms(shifted)


def _center(X: Array) -> Array:
    """The mean row; sums of blocks and their total in float64."""

    def total(rows: slice) -> Array:
        return np.asarray(X[rows].sum(axis=0, dtype=np.float64))

    sums = run(total, blocks(X.shape[0], PASS_ROWS))
    return np.asarray((np.sum(sums, axis=0) / X.shape[0]).astype(X.dtype))


def unit_rows(*matrices: Any) -> tuple[Any, ...]:
    """The rows of matrices of the same width, scaled to unit length.

    If there are zero rows, all matrices get one more column, in which the zero rows have a one:
    their distance from each other is 0, and 1 from other rows.
    """
    units = [unit_length(rows) for rows in matrices]
    if all(squared_norms(rows).all() for rows in units):
        return tuple(units)
    return tuple(add_zero_column(rows) for rows in units)


def add_zero_column(rows: Any) -> Any:
    """Rows with one more column, which is 1 for zero rows and else 0."""
    column = (squared_norms(rows) == 0).astype(rows.dtype)[:, None]
    if not is_sparse(rows):
        return np.concatenate([rows, column], axis=1)
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack([rows, csr_array(column)], format="csr"))


def sum_duplicates(X: Any) -> Any:
    """X; a copy with duplicate entries summed if it is a sparse matrix that has them."""
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
