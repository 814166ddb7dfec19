"""Principal axes: leading singular vectors of a centred matrix, by the cheapest algorithm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import product
from lowdim.checks import Array, is_sparse
from lowdim.distances.row_blocks import RowBlocks
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import fix_signs, settle, start_eigenpairs, top_eigenpairs
from lowdim.numerics.eigensolvers import Operator
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blas_on_one_thread, blocks, run

MEAN_ROWS, SUM_ROWS = 512, 4096  # rows of a block, by computation
LARGEST_SQUARE = 2000  # rows of a matrix of covariances or products that is stored
SOLVERS = ("auto", "full", "covariance_eigh", "gram_eigh", "arpack", "randomized")


class Axes(NamedTuple):
    """Mean, principal axes (rows), their variances, and the total variance."""

    mean: Array
    components: Array
    variances: Array
    total: float


def principal_axes(
    X: Any,
    k: int,
    *,
    solver: str = "auto",
    seed: Any = None,
    tol: float = 0.0,
    power: Any = "auto",
    oversamples: int = 10,
    normalizer: str = "auto",
    announce: bool = True,
) -> Axes:
    """The k leading principal axes of the rows of X, an array, CSR matrix or `RowBlocks`.

    The solver is one of `SOLVERS`; see `choose` for "auto". `seed` (None: a fixed one) is that of
    iterative solvers, `tol` the accuracy of "arpack" (0: machine precision), `power`, `oversamples`
    and `normalizer` are those of the randomized one. Variances are sums of squares divided by n -
    1. `announce`: warn of exchangeable axes.
    """
    checks.choice(solver, "svd_solver", SOLVERS)
    n, d = X.shape
    if isinstance(X, RowBlocks):
        if solver not in ("auto", "covariance_eigh"):
            raise ValueError(
                f"{argument('svd_solver', solver)} needs all rows of X in memory, but they are "
                f"read in blocks from {X.description}. Use 'auto', or allow more memory "
                "(lowdim.compute)."
            )
        solver = "covariance_eigh"
    if solver == "auto":
        solver = choose(n, d, k, sparse=is_sparse(X))
    if is_sparse(X):
        if solver in ("full", "gram_eigh", "randomized"):
            raise TypeError(
                f"{argument('svd_solver', solver)} needs dense X; use 'auto' or 'arpack'."
            )
        solver = "arpack"
    with blas_on_one_thread():
        if solver == "covariance_eigh":
            mean, covariances = _covariances(X)
            values, vectors = top_eigenpairs(covariances, k)
            components, total = vectors.T, float(np.trace(covariances))
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # `_require_finite` reports it
                mean = _mean(X)
                total = _sum_of_squares(X, mean)
            _require_finite(total, X)
            if solver == "arpack":
                pairs = top_eigenpairs(_covariance_operator(X, mean), k, tol=tol, seed=seed)
                values, components = pairs.values.astype(np.float64), pairs.vectors.T
            elif solver == "randomized":
                centered = X - mean.astype(X.dtype)
                values, components = _by_sampling(centered, k, power, oversamples, normalizer, seed)
            else:
                solve = _by_svd if solver == "full" else _by_gram
                values, components = solve(X - mean.astype(X.dtype), k)
    components = settle(values, components.astype(X.dtype).T, announce=announce).T
    values = values[:k]
    return Axes(mean, components, np.maximum(values, 0) / max(n - 1, 1), total / max(n - 1, 1))


def update_axes(axes: Axes, n: int, X: Array) -> Axes:
    """The principal axes of n rows, of which the axes are known, and of the rows of X; as many as
    before.

    Exact if the known axes hold all of the variance of the n rows. Otherwise the variance beside
    them counts in the total but in no direction (Ross, Lim, Lin and Yang 2008).
    """
    from scipy.linalg import svd

    m, k = len(X), len(axes.components)
    known = axes.components * np.sqrt(axes.variances * (n - 1))[:, None]
    with blas_on_one_thread():
        near = _mean(X)
        gap = np.sqrt(n * m / (n + m)) * (axes.mean - near)
        rows = np.concatenate([known, X - near, gap[None, :]]).astype(np.float64)
        if len(rows) > X.shape[1] and k:
            values, vectors = top_eigenpairs(rows.T @ rows, k)
            components = vectors.T
        else:
            _, singular, right = svd(rows, full_matrices=False, check_finite=False)
            values, components = singular[:k] ** 2, right[:k]
    total = axes.total * (n - 1) + float((rows[k:] ** 2).sum())
    mean = (n * axes.mean + m * near) / (n + m)
    variances = np.maximum(values, 0) / (n + m - 1)
    return Axes(mean, components.astype(X.dtype), variances, total / (n + m - 1))


def residual_share(X: Array, mean: Array, components: Array) -> float:
    """The share of the squared distances of rows from the mean that lies beside the axes."""
    total = _sum_of_squares(X, mean)
    kept = float((scores(X, mean, components).astype(np.float64) ** 2).sum())
    return max(0.0, 1 - kept / total) if total > 0 else 0.0


def choose(n: int, d: int, k: int, sparse: bool = False) -> str:
    """The cheapest solver for an n x d matrix: SVD if it is small, else the eigenvectors of the
    smaller of covariance and Gram matrix, else a randomized SVD."""
    if sparse:
        return "arpack"
    if max(n, d) <= 500:
        return "full"
    if min(n, d) <= LARGEST_SQUARE:
        return "covariance_eigh" if d <= n else "gram_eigh"
    return "randomized" if k < 0.8 * min(n, d) else "full"


def scores(X: Any, mean: Array, components: Array) -> Array:
    """(X - mean) components'."""
    if isinstance(X, RowBlocks):
        return np.concatenate(list(X.map(_scores_of_block, mean, components)))
    if is_sparse(X):
        center = product(mean.astype(X.dtype)[None, :], components)
        return np.asarray(backend().spmm(X, components.T) - center)
    return backend().project(X, mean, components)


def _scores_of_block(rows: Array, first: int, mean: Array, components: Array) -> Array:
    return scores(rows, mean, components)


def _mean(X: Any) -> Array:
    """Column means; sums of blocks in the dtype of X, their total in float64."""
    if is_sparse(X):
        return np.asarray(X.mean(axis=0)).ravel().astype(np.float64)
    sums = run(lambda rows: X[rows].sum(axis=0), blocks(X.shape[0], MEAN_ROWS))
    return np.asarray(np.sum(sums, axis=0, dtype=np.float64) / X.shape[0])


def _sum_of_squares(X: Any, mean: Array) -> float:
    """The sum of squares about the column means."""
    if is_sparse(X):
        squares = float((X.data.astype(np.float64) ** 2).sum())
        return float(squares - X.shape[0] * float(mean @ mean))
    center = mean.astype(X.dtype)

    def spread(rows: slice) -> float:
        block = X[rows] - center
        return float(np.einsum("ij,ij->", block, block))

    return float(sum(run(spread, blocks(X.shape[0], SUM_ROWS))))


def _require_finite(total: float, X: Any) -> None:
    """Raise ValueError if a sum of squares has overflowed."""
    if not np.isfinite(total):
        largest = abs(X).max()
        raise ValueError(
            f"X: its squares overflow {X.dtype}; the largest entry is {largest:g}. Rescale X."
        )


def _by_svd(X: Array, k: int) -> tuple[Array, Array]:
    from scipy.linalg import svd

    _, s, Vt = svd(X, full_matrices=False, check_finite=False)
    return s[: k + 1] ** 2, Vt[:k]


def _covariances(X: Any) -> tuple[Array, Array]:
    """The mean, and n times the covariances of the columns, from one pass over X.

    Products are computed about the mean of the first rows, and corrected at the end. That mean is
    so close to the mean of all rows that the correction loses no digits.
    """
    n, d = X.shape
    if isinstance(X, RowBlocks):
        memory.claim(3 * 8 * d * d, f"The covariances of {d} features", "Use fewer features.")
        near = X.read(slice(0, MEAN_ROWS)).mean(axis=0)
        total, sums = np.zeros((d, d)), np.zeros(d)
        for products, offsets in X.map(_scatter_of_block, near):
            total += products
            sums += offsets
    else:
        near = X[:MEAN_ROWS].mean(axis=0)
        total, sums = backend().scatter(X, near)
    total -= np.outer(sums, sums) / n
    _require_finite(float(total.sum()), X)
    return near + sums / n, total


def _scatter_of_block(rows: Array, first: int, center: Array) -> tuple[Array, Array]:
    return backend().scatter(rows, center)


def _by_gram(X: Array, k: int) -> tuple[Array, Array]:
    G = backend().matmul(X, X.T).astype(np.float64)
    values, vectors = top_eigenpairs(G, k)
    axes = np.linalg.qr(X.T @ vectors.astype(X.dtype))[0]  # axes without variance are arbitrary
    return values, axes.T


def _by_sampling(
    X: Array, k: int, power: Any, oversamples: int, normalizer: str, seed: Any
) -> tuple[Array, Array]:
    from sklearn.utils.extmath import randomized_svd

    _, _, Vt = randomized_svd(
        X,
        k,
        n_oversamples=oversamples,
        n_iter=power,
        power_iteration_normalizer=normalizer,
        random_state=0 if seed is None else seed,
    )
    # The axes span the right space up to the error of the sample; within it they are rotated so
    # that scores are uncorrelated and their variances are exactly those returned.
    T = backend().matmul(X, Vt.T).astype(np.float64)
    values, rotation = top_eigenpairs(T.T @ T, k)
    return values, rotation.T.astype(X.dtype) @ Vt


def principal_scores(rows: Any, k: int) -> Array:
    """Scores on the k leading principal axes, as a start; 0 if there are fewer axes."""
    n, d = rows.shape
    rank = min(k, n, d)
    Y = fix_signs(scores(rows, *start_axes(rows, rank)))
    return np.hstack([Y, np.zeros((n, k - rank), Y.dtype)])


def start_axes(X: Any, k: int) -> tuple[Array, Array]:
    """The mean of the rows and k leading principal axes (rows), for a start.

    To about six digits. Unlike those of `principal_axes`, all sums are in a fixed order, so that
    the bits do not depend on the processor.
    """
    n, d = X.shape
    dense = not is_sparse(X)
    if isinstance(X, RowBlocks) or (dense and d <= min(n, LARGEST_SQUARE)):
        mean, covariances = _covariances(X)
        axes = start_eigenpairs(covariances, k).vectors.T
    elif dense and n <= LARGEST_SQUARE:
        mean = _mean(X)
        centered = X - mean.astype(X.dtype)
        G = product(centered, centered, precise=True)
        _require_finite(float(np.trace(G)), X)
        values, vectors = start_eigenpairs(G, k)
        lengths = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
        axes = product((vectors / lengths).T.astype(X.dtype), centered.T)
    else:
        mean = _mean(X)
        axes = start_eigenpairs(_covariance_operator(X, mean), k).vectors.T
    return mean, np.ascontiguousarray(axes, dtype=X.dtype)


def _covariance_operator(X: Any, mean: Array) -> Operator:
    """n times the covariances of the columns of X, by products with X and its transpose."""
    center, d = mean.astype(X.dtype)[None, :], X.shape[1]
    transposed = X.T.tocsr() if is_sparse(X) else X.T

    def times_columns(A: Any, V: Array) -> Array:
        return backend().spmm(A, V) if is_sparse(A) else product(A, V.T)

    def matmat(V: Array) -> Array:
        inner = times_columns(X, V) - product(center, V.T)
        return np.asarray(times_columns(transposed, inner) - center.T * inner.sum(axis=0))

    return Operator(d, X.dtype, matmat)
