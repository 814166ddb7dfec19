"""Exact Euclidean and cosine neighbours from inner products.

BLAS multiplies blocks of rows, each symmetric pair of blocks once; the k best of every row and
column are picked from a tile while it is in cache, and the winners' distances are computed anew
from the vectors, for the tiles lose digits to cancellation.
"""

from __future__ import annotations

import threading
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim.backends import memory, native
from lowdim.checks import Array

TILE = 2048  # objects on a side of a tile of inner products
SPARE = 8  # candidates beyond k, so that rounding in the tiles cannot lose a neighbour
NOBODY = np.iinfo(np.int32).max


def product_neighbors(X: Any, k: int, cosine: bool, n_jobs: int | None) -> tuple[Array, Array]:
    """Indices and distances of each row's k nearest other rows."""
    n = X.shape[0]
    shifted, norms = _prepared(X, cosine)
    m = min(n - 1, k + SPARE)
    values, ids = empty_heaps(n, m, shifted.dtype)
    tiles = native.blocks(n, TILE)
    locks = {rows.start: threading.Lock() for rows in tiles}
    local = threading.local()

    def multiply(pair: tuple[slice, slice]) -> None:
        left, right = pair
        tile = _product(shifted[left], shifted[right], local)
        with locks[left.start]:
            native.offer(
                tile, norms[right], (left.start, right.start), -2.0, values[left], ids[left]
            )
        if left != right:
            with locks[right.start]:
                native.offer(
                    tile,
                    norms[left],
                    (left.start, right.start),
                    -2.0,
                    values[right],
                    ids[right],
                    columns=True,
                )

    native.run(multiply, combinations_with_replacement(tiles, 2), n_jobs)
    exact = shifted if cosine else canonical(X)
    if hasattr(X, "tocsr"):
        check_overflow(values, X)
        return native.rerank(exact, exact, ids, k, cosine, n_jobs)
    worst = values.max(axis=1)
    indices, distances = native.rerank(exact, exact, _known(ids), k, cosine, n_jobs)
    check_overflow(distances, X)
    if not cosine and m < n - 1:
        doubt = _in_doubt(distances[:, -1], worst, norms, X.shape[1])
        _search_again(X, X, indices, distances, doubt, n_jobs, own=True)
    return indices, distances


def product_query(
    points: Any, queries: Any, k: int, cosine: bool, n_jobs: int | None
) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query."""
    dtype = points.dtype
    points, queries = _common(points, queries)
    n, m = points.shape[0], min(points.shape[0], k + SPARE)
    shifted, norms = _prepared(points, cosine)
    asked = unit_rows(queries) if cosine else queries - _center(points)
    exact = (asked, shifted) if cosine else (queries, points)
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=dtype)

    def search(rows: slice) -> None:
        values, ids = empty_heaps(rows.stop - rows.start, m, points.dtype)
        for part in native.blocks(n, TILE):
            with np.errstate(over="ignore", invalid="ignore"):  # told below, with the remedy
                tile = asked[rows] @ shifted[part].T
            first = (-1 - tile.shape[0], part.start)
            native.offer(tile, norms[part], first, -2.0, values, ids)
        worst = values.max(axis=1)
        found_i, found_d = native.rerank(exact[0][rows], exact[1], _known(ids), k, cosine, 1)
        check_overflow(found_d, queries)
        if not cosine and m < n:
            sizes = np.einsum("ij,ij->i", asked[rows], asked[rows])
            doubt = _in_doubt(found_d[:, -1], worst, sizes, points.shape[1])
            _search_again(queries[rows], points, found_i, found_d, doubt, 1, own=False)
        out_i[rows], out_d[rows] = found_i, found_d

    native.run(search, native.blocks(queries.shape[0], 512), n_jobs)
    return out_i, out_d


def product_sample(
    X: Any, sample: Array, k: int, cosine: bool, n_jobs: int | None
) -> tuple[Array, Array]:
    """Indices and distances of the k nearest others of some rows; of unit length if cosine.

    One pass over X, without a copy of it.
    """
    center = 0 if cosine or hasattr(X, "tocsr") else _center(X[sample])
    asked = X[sample] - center if np.ndim(center) else X[sample]
    m = min(X.shape[0], k + 1 + SPARE)
    sixteenths = native.blocks(X.shape[0], -(-X.shape[0] // 16))
    candidates = np.full((len(sixteenths), len(sample), m), NOBODY, dtype=np.int32)

    def search(number: int) -> None:
        values, ids = empty_heaps(len(sample), m, X.dtype)
        local = threading.local()
        begin, end = sixteenths[number].start, sixteenths[number].stop
        for part in native.blocks(end - begin, TILE):
            some = X[begin + part.start : begin + part.stop]
            some = some - center if np.ndim(center) else some
            norms = np.zeros(some.shape[0], X.dtype) if cosine else squared_norms(some)
            tile = _product(asked, some, local)
            first = (-1 - len(sample), begin + part.start)
            native.offer(tile, norms, first, -2.0, values, ids)
        candidates[number] = ids

    native.run(search, range(len(sixteenths)), n_jobs)
    found = _known(np.concatenate(list(candidates), axis=1))
    found[found == sample[:, None]] = -1
    return native.rerank(X[sample], X, found, k, cosine, n_jobs)


def squared_norms(X: Any) -> Array:
    """The squared length of each row."""
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(X.dtype)
    return np.asarray(np.einsum("ij,ij->i", X, X))


def product_pairs(
    points: Array, queries: Array, reach: Array, n_jobs: int | None
) -> tuple[Array, Array, Array]:
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

    found = native.run(one, native.blocks(queries.shape[0], 128), n_jobs)
    rows, columns, distances = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return rows, columns, distances


def check_overflow(distances: Array, X: Any) -> None:
    if not np.isfinite(distances).all():
        raise ValueError(
            f"X: distances overflow {distances.dtype}; its largest entry is {abs(X).max():g}. "
            "Rescale the columns."
        )


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
    n_jobs: int | None,
    *,
    own: bool,
) -> None:
    """Compare the rows in doubt with every point (themselves excluded, if they are points)."""

    def search(part: slice) -> None:
        rows = doubt[part]
        candidates = np.tile(np.arange(len(points), dtype=np.int32), (len(rows), 1))
        if own:
            candidates[np.arange(len(rows)), rows] = -1
        indices[rows], distances[rows] = native.rerank(
            queries[rows], points, candidates, indices.shape[1], False, 1
        )

    native.run(search, native.blocks(len(doubt), 64), n_jobs)


def _product(A: Any, B: Any, local: threading.local) -> Array:
    if hasattr(A, "tocsr"):
        return np.ascontiguousarray((A @ B.T).toarray())
    if not hasattr(local, "buffer"):
        local.buffer = np.empty(TILE * TILE, dtype=A.dtype)
    tile: Array = local.buffer[: len(A) * len(B)].reshape(len(A), len(B))
    with np.errstate(over="ignore", invalid="ignore"):  # told at the end, with the remedy
        return np.matmul(A, B.T, out=tile)


def _prepared(X: Any, cosine: bool) -> tuple[Any, Array]:
    """Rows whose inner products rank the neighbours, and the offset of each column's score."""
    if cosine:
        return unit_rows(X), np.zeros(X.shape[0], dtype=X.dtype)
    if hasattr(X, "tocsr"):
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


def empty_heaps(n: int, m: int, dtype: Any) -> tuple[Array, Array]:
    return np.full((n, m), np.inf, dtype=dtype), np.full((n, m), NOBODY, dtype=np.int32)


def _known(ids: Array) -> Array:
    ids[ids == NOBODY] = -1
    return ids


def canonical(X: Any) -> Any:
    """X, or where it is sparse and has entries of one place apart, a copy with their sums."""
    if hasattr(X, "tocsr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _common(points: Array, queries: Array) -> tuple[Array, Array]:
    dtype = np.result_type(points, queries)
    return np.ascontiguousarray(points, dtype), np.ascontiguousarray(queries, dtype)
