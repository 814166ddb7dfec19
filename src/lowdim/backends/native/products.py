"""Exact Euclidean and cosine neighbours from inner products.

BLAS multiplies blocks of rows, each symmetric pair of blocks once; the k best of every row and
column are picked from a tile while it is in cache, and the winners' distances are computed anew
from the vectors, because the tiles lose digits to cancellation.
"""

from __future__ import annotations

import threading
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim.backends.native.heaps import Heaps, rerank
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run

TILE = 2048  # objects on a side of a tile of inner products
SPARE = 8  # candidates beyond k, so that rounding in the tiles cannot lose a neighbour


def nearest(X: Any, k: int, cosine: bool) -> tuple[Array, Array]:
    """Indices and distances of each row's k nearest other rows."""
    n = X.shape[0]
    shifted, norms = _prepared(X, cosine)
    heaps = Heaps(n, min(n - 1, k + SPARE), shifted.dtype)
    tiles = blocks(n, TILE)
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

    run(multiply, combinations_with_replacement(tiles, 2))
    exact = shifted if cosine else canonical(X)
    if is_sparse(X):
        distances_in_range(heaps.values, X)
        return rerank(exact, exact, heaps.ids, k, cosine)
    worst = heaps.values.max(axis=1)
    indices, distances = rerank(exact, exact, heaps.candidates(), k, cosine)
    distances_in_range(distances, X)
    if not cosine and worst.size and heaps.ids.shape[1] < n - 1:
        doubt = _in_doubt(distances[:, -1], worst, norms, X.shape[1])
        _search_again(X, X, indices, distances, doubt, own=True)
    return indices, distances


def nearest_to(points: Any, queries: Any, k: int, cosine: bool) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query; dense vectors."""
    dtype = points.dtype
    points, queries = _common(points, queries)
    n, m = points.shape[0], min(points.shape[0], k + SPARE)
    shifted, norms = _prepared(points, cosine)
    asked = unit_rows(queries) if cosine else queries - _center(points)
    exact = (asked, shifted) if cosine else (queries, points)
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=dtype)

    def search(rows: slice) -> None:
        heaps = Heaps(rows.stop - rows.start, m, points.dtype)
        for part in blocks(n, TILE):
            with np.errstate(over="ignore", invalid="ignore"):  # distances_in_range reports it
                tile = asked[rows] @ shifted[part].T
            heaps.offer(tile, (None, part.start), scale=-2.0, offset=norms[part])
        worst = heaps.values.max(axis=1)
        found_i, found_d = rerank(exact[0][rows], exact[1], heaps.candidates(), k, cosine)
        distances_in_range(found_d, queries)
        if not cosine and m < n:
            sizes = np.einsum("ij,ij->i", asked[rows], asked[rows])
            doubt = _in_doubt(found_d[:, -1], worst, sizes, points.shape[1])
            _search_again(queries[rows], points, found_i, found_d, doubt, own=False)
        out_i[rows], out_d[rows] = found_i, found_d

    run(search, blocks(queries.shape[0], 512))
    return out_i, out_d


def nearest_of_sample(X: Any, sample: Array, k: int, cosine: bool) -> tuple[Array, Array]:
    """Indices and distances of the k nearest others of some rows; of unit length if cosine.

    One pass over X, without a copy of it.
    """
    center = 0 if cosine or is_sparse(X) else _center(X[sample])
    asked = X[sample] - center if np.ndim(center) else X[sample]
    m = min(X.shape[0], k + 1 + SPARE)
    sixteenths = blocks(X.shape[0], -(-X.shape[0] // 16))
    candidates = np.empty((len(sixteenths), len(sample), m), dtype=np.int32)

    def search(number: int) -> None:
        heaps = Heaps(len(sample), m, X.dtype)
        local = threading.local()
        begin, end = sixteenths[number].start, sixteenths[number].stop
        for part in blocks(end - begin, TILE):
            some = X[begin + part.start : begin + part.stop]
            some = some - center if np.ndim(center) else some
            norms = np.zeros(some.shape[0], X.dtype) if cosine else squared_norms(some)
            tile = _product(asked, some, local)
            heaps.offer(tile, (None, begin + part.start), scale=-2.0, offset=norms)
        candidates[number] = heaps.candidates()

    run(search, range(len(sixteenths)))
    found = np.concatenate(list(candidates), axis=1)
    found[found == sample[:, None]] = -1
    return rerank(X[sample], X, found, k, cosine)


def squared_norms(X: Any) -> Array:
    """The squared length of each row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(X.dtype)
    return np.asarray(np.einsum("ij,ij->i", X, X))


def pairs_within(points: Array, queries: Array, reach: Array) -> tuple[Array, Array, Array]:
    """Row, column and distance of every pair with |query - point| at most the point's reach."""
    center = _center(points)
    shifted, norms = _prepared(points, cosine=False)

    def one(part: slice) -> tuple[Array, Array, Array]:
        asked = queries[part] - center
        sizes = np.einsum("ij,ij->i", asked, asked)
        squares = asked @ shifted.T
        squares *= -2
        squares += norms  # |p|^2 - 2 pq, to be compared with reach^2 - |q|^2, rounding allowed for
        slack = 64 * np.finfo(points.dtype).eps * (sizes[:, None] + norms.max(initial=0))
        rows, columns = np.nonzero(squares <= np.square(reach) - sizes[:, None] + slack)
        exact = np.linalg.norm(queries[part][rows] - points[columns], axis=1)
        near = exact <= reach[columns]
        return rows[near] + part.start, columns[near], exact[near]

    found = run(one, blocks(queries.shape[0], 128))
    rows, columns, distances = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return rows, columns, distances


def _in_doubt(farthest: Array, worst: Array, norms: Array, d: int) -> Array:
    """Rows whose tiles may have lost a neighbour to rounding.

    Who is no candidate scores at least `worst`, up to the rounding of the tile. That grows with
    the squared norms, so points near each other and far from the mean suffer most; where it is
    no larger than a few roundings of the distance itself, ties do not count.
    """
    unit = np.sqrt(d) * np.finfo(farthest.dtype).eps
    farthest, worst, norms = (a.astype(np.float64) for a in (farthest, worst, norms))
    rounding = 4 * unit * (np.sqrt(norms) + farthest) ** 2
    gap = farthest**2 * (1 - 32 * unit) - (norms + worst)
    return np.flatnonzero((gap + rounding > 0) & (farthest > 0))


def _search_again(
    queries: Array,
    points: Array,
    indices: Array,
    distances: Array,
    doubt: Array,
    *,
    own: bool,
) -> None:
    """Compare the rows in doubt with every point (themselves excluded, if they are points)."""

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
    if is_sparse(A):
        return np.ascontiguousarray((A @ B.T).toarray())
    if not hasattr(local, "buffer"):
        local.buffer = np.empty(TILE * TILE, dtype=A.dtype)
    tile: Array = local.buffer[: len(A) * len(B)].reshape(len(A), len(B))
    with np.errstate(over="ignore", invalid="ignore"):  # distances_in_range reports it
        return np.matmul(A, B.T, out=tile)


def _prepared(X: Any, cosine: bool) -> tuple[Any, Array]:
    """Rows whose inner products rank the neighbours, and the offset of each column's score."""
    if cosine:
        return unit_rows(X), np.zeros(X.shape[0], dtype=X.dtype)
    if is_sparse(X):
        exact = X.astype(np.float64)  # it is not centred, and its product is no faster in float32
        return exact, squared_norms(exact)
    memory.claim(X.nbytes, "A centred copy of X", "Use float32.")
    shifted = X - _center(X)
    return shifted, squared_norms(shifted)


def _center(X: Array) -> Array:
    return np.asarray(X.mean(axis=0, dtype=np.float64).astype(X.dtype))


def unit_rows(X: Any) -> Any:
    """Rows of length one; zero rows stay zero."""
    from sklearn.preprocessing import normalize

    return normalize(X)


def canonical(X: Any) -> Any:
    """X, or a copy with summed duplicates where it is sparse and has any."""
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _common(points: Array, queries: Array) -> tuple[Array, Array]:
    dtype = np.result_type(points, queries)
    return np.ascontiguousarray(points, dtype), np.ascontiguousarray(queries, dtype)
