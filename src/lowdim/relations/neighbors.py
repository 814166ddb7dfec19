"""Exact nearest neighbours.

Euclidean and cosine neighbours come from inner products in BLAS tiles, each symmetric pair of
blocks multiplied once, with the k best of every row and column picked from the tile while it is
in cache; the winners' distances are then computed anew from the vectors. In few dimensions a k-d
tree is used instead, for other metrics blocks of distances.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import memory, native
from lowdim.checks import Array
from lowdim.relations.distances import Metric, check_dissimilarities, measured, resolve_metric
from lowdim.relations.graph import NearestOutside, NeighborGraph, fingerprint

TILE = 2048  # objects on a side of a tile of inner products
SPARE = 8  # candidates beyond k, so that rounding in the tiles cannot lose a neighbour
TREE_DIMENSIONS = 8  # at most this many: a k-d tree beats comparing all pairs
NOBODY = np.iinfo(np.int32).max


def neighbors(
    X: Any,
    k: int | None = None,
    *,
    radius: float | None = None,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> NeighborGraph:
    """The graph of each object's k nearest neighbours, or of all within a radius; exact.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix (n, d); any sequence with a callable metric; or, with
        metric="precomputed", a dense matrix of dissimilarities or a sparse graph of them.
    k : number of neighbours, the object itself not counted; 15 if no radius is given either.
    radius : largest distance of a neighbour, in place of k.
    metric : a SciPy name, "gower", "nan_euclidean", "haversine", "precomputed" or a callable.
    metric_params : further arguments of the metric.
    n_jobs : threads; None takes all cores. The result does not depend on it.

    Time grows with n^2 (n log n in up to 8 dimensions), memory with n k.
    """
    if k is None and radius is None:
        k = 15
    if isinstance(metric, str) and metric == "precomputed":
        return precomputed_graph(X, k, radius)
    found, rows = resolve_metric(metric, metric_params, X)
    return neighbor_graph(rows, found, k, radius, n_jobs)


def neighbor_graph(
    rows: Any, metric: Metric, k: int | None, radius: float | None, n_jobs: int | None
) -> NeighborGraph:
    """The neighbour graph of prepared rows."""
    if (k is None) == (radius is None):
        raise ValueError(
            "Both n_neighbors and radius are provided: set one of them to None."
            if k is not None
            else "Give either a number of neighbours or a radius."
        )
    n = rows.shape[0]
    if radius is not None:
        radius = checks.real(radius, "radius", 0)
        indptr, indices, distances = _within(rows, metric, radius, n_jobs)
        return NeighborGraph(indices, distances, metric.name, fingerprint(rows), indptr)
    k = check_k(k, n)
    if _tree_fits(rows, metric):
        indices, distances = _tree_neighbors(rows, None, k, metric, n_jobs)
    elif metric.name in ("euclidean", "cosine"):
        indices, distances = _gemm_neighbors(rows, k, metric.name == "cosine", n_jobs)
    else:
        indices, distances = _block_neighbors(rows, k, metric, n_jobs)
    return NeighborGraph(indices, distances, metric.name, fingerprint(rows))


def query(
    points: Any, queries: Any, k: int, metric: Metric, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query."""
    k = checks.integer(k, "k", 1, points.shape[0], " (the number of points)")
    if _tree_fits(points, metric):
        return _tree_neighbors(points, queries, k, metric, n_jobs)
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=_float(points))
    if metric.name in ("euclidean", "cosine") and not hasattr(points, "tocsr"):
        points, queries = _common(points, queries)
        cosine = metric.name == "cosine"
        shifted, norms = _prepared(points, cosine)
        center = None if cosine else points.mean(axis=0, dtype=np.float64).astype(points.dtype)
        asked = _unit(queries) if cosine else queries - center
        m = min(points.shape[0], k + SPARE)

        def search(rows: slice) -> None:
            values, ids = _empty_heaps(rows.stop - rows.start, m, points.dtype)
            for part in native.blocks(points.shape[0], TILE):
                with np.errstate(over="ignore", invalid="ignore"):  # told below, with the remedy
                    tile = asked[rows] @ shifted[part].T
                first = (-1 - tile.shape[0], part.start)
                native.offer(tile, norms[part], first, -2.0, values, ids)
            exact = (asked, shifted) if cosine else (queries, points)
            worst = values.max(axis=1)
            found_i, found_d = native.rerank(exact[0][rows], exact[1], _known(ids), k, cosine, 1)
            _check_overflow(found_d, queries)
            if not cosine and m < points.shape[0]:
                sizes = np.einsum("ij,ij->i", asked[rows], asked[rows])
                doubt = _in_doubt(found_d[:, -1], worst, sizes, points.shape[1])
                _search_again(queries[rows], points, found_i, found_d, doubt, 1, own=False)
            out_i[rows], out_d[rows] = found_i, found_d

        native.run(search, native.blocks(queries.shape[0], 512), n_jobs)
        return out_i, out_d

    def compare(rows: slice) -> None:
        distances = metric.block(queries[rows], points)
        out_i[rows], out_d[rows] = smallest(distances, k)

    native.run(compare, native.blocks(queries.shape[0], 128), n_jobs)
    return out_i, out_d


def within_reach(
    points: Any, queries: Any, reach: Array, metric: Metric, n_jobs: int | None = None
) -> tuple[Array, Array, Array]:
    """Row, column and distance of every pair with d(query, point) at most the point's reach."""
    dense = not hasattr(points, "tocsr") and not hasattr(queries, "tocsr")
    by_products = metric.name == "euclidean" and dense
    if by_products:
        center = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
        shifted = points - center
        norms = np.einsum("ij,ij->i", shifted, shifted)

    def one(part: slice) -> tuple[Array, Array, Array]:
        if not by_products:
            block = np.asarray(metric.block(queries[part], points))
            rows, columns = np.nonzero(block <= reach)
            return rows + part.start, columns, block[rows, columns]
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
    return rows, columns, distances.astype(_float(points))


def smallest(values: Array, k: int) -> tuple[Array, Array]:
    """Columns and values of each row's k smallest entries, ordered by (value, column)."""
    heap, ids = _empty_heaps(values.shape[0], k, values.dtype)
    offset = np.zeros(values.shape[1], dtype=values.dtype)
    first = (-1 - values.shape[0], 0)
    native.offer(np.ascontiguousarray(values), offset, first, 1.0, heap, ids)
    order = np.lexsort((ids, heap), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(heap, order, axis=1)


def check_k(k: Any, n: int, name: str = "n_neighbors") -> int:
    """A number of neighbours that n objects can have."""
    count = checks.integer(k, name, 1)
    if count > n - 1:
        raise ValueError(
            f"{name} must be smaller than the number of objects: got {name}={k} for n_samples={n}. "
            f"Use at most {max(n - 1, 0)}."
        )
    return count


def precomputed_graph(X: Any, k: int | None, radius: float | None) -> NeighborGraph:
    """The neighbour graph in a dense matrix of dissimilarities or a sparse graph of them."""
    if isinstance(X, NeighborGraph):
        return X if k is None or X.n_neighbors is None else X.take(k)
    if (k is None) == (radius is None):
        raise ValueError("Both n_neighbors and radius are provided: set one of them to None.")
    if hasattr(X, "tocsr"):
        return _sparse_graph(X, k, radius)
    D = check_dissimilarities(X)
    n = len(D)
    if radius is not None:
        near = checks.real(radius, "radius", 0) >= D
        np.fill_diagonal(near, False)
        rows, columns = np.nonzero(near)
        distances = D[rows, columns]
        order = np.lexsort((columns, distances, rows))
        columns, distances = columns[order].astype(np.int32), distances[order]
        indptr = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int64)
        return NeighborGraph(columns, distances, "precomputed", fingerprint(D), indptr)
    k = check_k(k, n)
    heap, ids = _empty_heaps(n, k, D.dtype)
    native.offer(D, np.zeros(n, dtype=D.dtype), (0, 0), 1.0, heap, ids)
    order = np.lexsort((ids, heap), axis=1)
    return NeighborGraph(
        np.take_along_axis(ids, order, axis=1),
        np.take_along_axis(heap, order, axis=1),
        "precomputed",
        fingerprint(D),
    )


def sparse_rows(X: Any, k: int | None, radius: float | None) -> tuple[Array, Array, Array]:
    """indptr, indices, distances of each row's k smallest (or close enough) stored entries."""
    X = checks.vectors(X, sparse=True)
    if len(X.data) and X.data.min() < 0:
        raise ValueError(f"X: a stored distance is negative ({X.data.min():g}).")
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((X.indices, X.data, rows))
    rows, columns, distances = rows[order], X.indices[order], X.data[order]
    keep = np.ones(len(rows), dtype=bool)
    if radius is not None:
        keep = distances <= radius
    if k is not None:
        rank = np.arange(len(rows)) - X.indptr[rows]
        keep &= rank < k
    counts = np.bincount(rows[keep], minlength=X.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, columns[keep].astype(np.int32), distances[keep]


def _sparse_graph(X: Any, k: int | None, radius: float | None) -> NeighborGraph:
    from scipy.sparse import coo_array, csr_array

    if X.shape[0] != X.shape[1]:
        raise ValueError(f"X: array must be 2-dimensional and square, got shape {X.shape}.")
    if k is not None:
        k = check_k(k, X.shape[0])
    else:
        radius = checks.real(radius, "radius", 0)
    parts = coo_array(X)
    off = parts.row != parts.col  # an object is no neighbour of its own
    csr = csr_array((parts.data[off], (parts.row[off], parts.col[off])), shape=X.shape)
    indptr, indices, distances = sparse_rows(csr, k, radius)
    counts = np.diff(indptr)
    digest = fingerprint(csr)
    if k is not None and len(counts) and counts.min() == k:
        shape = (X.shape[0], k)
        return NeighborGraph(
            indices.reshape(shape), distances.reshape(shape), "precomputed", digest
        )
    return NeighborGraph(indices, distances, "precomputed", digest, indptr)


def nearest_outside(rows: Any, metric: Metric, n_jobs: int | None) -> NearestOutside:
    """How `bridge` finds, for some objects, the nearest one in another component."""

    def search(asked: Array, labels: Array) -> tuple[Array, Array, Array]:
        def one(part: slice) -> tuple[Array, Array]:
            mine = asked[part]
            distances = np.asarray(metric.block(rows[mine], rows))
            distances[labels[mine][:, None] == labels[None, :]] = np.inf
            best = distances.argmin(axis=1)
            return best, distances[np.arange(len(mine)), best]

        found = native.run(one, native.blocks(len(asked), 128), n_jobs)
        return asked, np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    return search


def _tree_fits(rows: Any, metric: Metric) -> bool:
    powers = ("euclidean", "cityblock", "chebyshev")
    return (
        metric.name in powers
        and not hasattr(rows, "tocsr")
        and rows.shape[1] <= TREE_DIMENSIONS
        and rows.shape[0] > 256
    )


def _tree_neighbors(
    points: Array, queries: Array | None, k: int, metric: Metric, n_jobs: int | None
) -> tuple[Array, Array]:
    from scipy.spatial import cKDTree

    p = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}[metric.name]
    asked = points if queries is None else queries
    tree: Any = cKDTree(points)
    found_d, found_i = tree.query(
        asked, np.arange(1, k + 1 + (queries is None)), p=p, workers=native.n_threads(n_jobs)
    )
    if queries is None:  # put the object itself last, or drop the farthest where it was not found
        own = found_i == np.arange(len(points))[:, None]
        found_d = np.where(own, np.inf, found_d)
    order = np.lexsort((found_i, found_d), axis=1)[:, :k]
    indices = np.take_along_axis(found_i, order, axis=1).astype(np.int32)
    distances = np.take_along_axis(found_d, order, axis=1).astype(points.dtype)
    _check_overflow(distances, asked)
    return indices, distances


def _gemm_neighbors(X: Any, k: int, cosine: bool, n_jobs: int | None) -> tuple[Array, Array]:
    n = X.shape[0]
    shifted, norms = _prepared(X, cosine)
    m = min(n - 1, k + SPARE)
    values, ids = _empty_heaps(n, m, shifted.dtype)
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
    if hasattr(X, "tocsr"):
        _check_overflow(values, X)
        return _sparse_exact(X if not cosine else shifted, ids, k, cosine)
    exact = shifted if cosine else X
    worst = values.max(axis=1)
    indices, distances = native.rerank(exact, exact, _known(ids), k, cosine, n_jobs)
    _check_overflow(distances, X)
    if not cosine and m < n - 1:
        doubt = _in_doubt(distances[:, -1], worst, norms, X.shape[1])
        _search_again(X, X, indices, distances, doubt, n_jobs, own=True)
    return indices, distances


def _check_overflow(distances: Array, X: Any) -> None:
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
        return _unit(X), np.zeros(X.shape[0], dtype=X.dtype)
    if hasattr(X, "tocsr"):
        exact = X.astype(np.float64)  # it is not centred, and its product is no faster in float32
        return exact, np.asarray(exact.multiply(exact).sum(axis=1)).ravel()
    memory.claim(X.nbytes, "A centred copy of X", "Use float32.")
    shifted = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    return shifted, np.einsum("ij,ij->i", shifted, shifted)


def _unit(X: Any) -> Any:
    from sklearn.preprocessing import normalize

    return normalize(X)


def _empty_heaps(n: int, m: int, dtype: Any) -> tuple[Array, Array]:
    return np.full((n, m), np.inf, dtype=dtype), np.full((n, m), NOBODY, dtype=np.int32)


def _known(ids: Array) -> Array:
    ids[ids == NOBODY] = -1
    return ids


def _sparse_exact(X: Any, ids: Array, k: int, cosine: bool) -> tuple[Array, Array]:
    """Exact distances of sparse rows to their candidates, a block of rows at a time."""
    n, m = ids.shape
    out_i = np.empty((n, k), dtype=np.int32)
    out_d = np.empty((n, k), dtype=X.dtype)
    for rows in native.blocks(n, max(1, 65536 // m)):
        left = X[np.repeat(np.arange(rows.start, rows.stop), m)]
        right = X[ids[rows].ravel()]
        if cosine:
            values = 1 - np.asarray(left.multiply(right).sum(axis=1)).reshape(-1, m)
        else:
            gap = left - right
            values = np.sqrt(np.asarray(gap.multiply(gap).sum(axis=1))).reshape(-1, m)
        values = np.maximum(values, 0)
        order = np.lexsort((ids[rows], values), axis=1)[:, :k]
        out_i[rows] = np.take_along_axis(ids[rows], order, axis=1)
        out_d[rows] = np.take_along_axis(values, order, axis=1)
    return out_i, out_d


def _block_neighbors(rows: Any, k: int, metric: Metric, n_jobs: int | None) -> tuple[Array, Array]:
    """Neighbours under any metric, each pair measured once."""
    n = rows.shape[0]
    values, ids = _empty_heaps(n, k, _float(rows))
    tiles = native.blocks(n, 512)
    locks = {part.start: threading.Lock() for part in tiles}
    zeros = np.zeros(512, dtype=values.dtype)

    def measure(pair: tuple[slice, slice]) -> None:
        left, right = pair
        tile = np.ascontiguousarray(measured(rows, metric, left, right), dtype=values.dtype)
        first = (left.start, right.start)
        with locks[left.start]:
            native.offer(tile, zeros[: tile.shape[1]], first, 1.0, values[left], ids[left])
        if left != right:
            with locks[right.start]:
                native.offer(
                    tile,
                    zeros[: tile.shape[0]],
                    first,
                    1.0,
                    values[right],
                    ids[right],
                    columns=True,
                )

    native.run(measure, combinations_with_replacement(tiles, 2), n_jobs)
    order = np.lexsort((ids, values), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)


def _within(
    rows: Any, metric: Metric, radius: float, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    """indptr, indices and distances of all neighbours within the radius."""
    n = rows.shape[0]

    def one(part: slice) -> tuple[Array, Array, Array]:
        distances = measured(rows, metric, part, slice(0, n))
        near = distances <= radius
        near[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = False
        i, j = np.nonzero(near)
        values = distances[i, j]
        order = np.lexsort((j, values, i))
        return near.sum(axis=1), j[order], values[order]

    found = native.run(one, native.blocks(n, 128), n_jobs)
    counts = np.concatenate([f[0] for f in found])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = np.concatenate([f[1] for f in found]).astype(np.int32)
    return indptr, indices, np.concatenate([f[2] for f in found]).astype(_float(rows))


def _float(rows: Any) -> Any:
    return rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)


def _common(points: Array, queries: Array) -> tuple[Array, Array]:
    dtype = np.result_type(points, queries)
    return np.ascontiguousarray(points, dtype), np.ascontiguousarray(queries, dtype)
