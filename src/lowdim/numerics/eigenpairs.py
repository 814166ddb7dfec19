"""Extreme eigenpairs of symmetric matrices: dense, sparse, or defined by their products.

The solver is chosen by its estimated cost. Small problems are solved by LAPACK. The largest
eigenvalues of a large dense matrix are computed by block Krylov iterations, which read it only a
few times, and those of a sparse one by Lanczos iterations (ARPACK; Lehoucq, Sorensen, Yang 1998).
The smallest eigenvalues of a sparse matrix are computed by Lanczos iterations on its inverse if its
factorisation is cheap, as for neighbour graphs of low-dimensional data, else by subspace iterations
with polynomials of the matrix, which converge for graphs of high-dimensional data because of their
large spectral gaps, and use all cores. If they do not converge, Lanczos iterations and then LOBPCG
(Knyazev 2001) are used and this is logged. Residuals are checked at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.generic import column_norms, convert_like, join_columns, qr, to_numpy
from lowdim.backends.native.dense import symmetric_eigen
from lowdim.backends.numpy_blocks import scale_entries
from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.numerics.eigensolvers import (
    Eigenpairs,
    Operator,
    Settings,
    as_operator,
    chebyshev,
    columns,
    dense,
    krylov,
    lanczos,
    lift,
    lobpcg,
    norm_estimate,
    quadrature,
    random_signs,
    rayleigh,
    shift_invert,
)
from lowdim.runtime import memory
from lowdim.runtime.callbacks import phase
from lowdim.runtime.scheduling import blas_on_one_thread, part_counter

logger = logging.getLogger("lowdim")

SOLVERS = ("auto", "dense", "arpack", "shift-invert", "lobpcg")
DENSE_UP_TO = 300  # size up to which LAPACK is fastest
FACTOR_BYTES = 10  # of an entry of a sparse factor: the number, and a share of the indices
FACTOR_FLOPS = 4e10  # largest estimated number of operations of a sparse factorisation
START_DENSE_UP_TO = 64  # size up to which `start_eigenpairs` diagonalises the matrix
START_RESIDUAL = 1e-6  # relative residual of an eigenpair of a start
NEAR = 1e-9  # relative gap of eigenvalues in which rounding turns eigenvectors by a millionth
NEAR_FLOAT32 = 1e-6
LARGEST_RESIDUAL = 1e-6  # relative residual of an eigenpair above which a warning is issued
LARGEST_RESIDUAL_FLOAT32 = 1e-3


def top_eigenpairs(
    A: Any,
    k: int,
    *,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    seed: Any = None,
) -> Eigenpairs:
    """The k largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    A is an array, a CSR matrix or an `Operator`. The solver is "auto", "dense" or "arpack", whose
    iterations end at a relative residual of `tol` (0: as small as rounding allows) or after
    `max_iter`; `seed` (None: a fixed one) is that of their start.
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    operator, settings = as_operator(A), Settings(tol, max_iter, seed)
    solver = _choose(operator.n, k, solver, "arpack")
    with _eigenvectors(operator) as operator:
        if solver == "dense":
            pairs = dense(A, operator, min(k + 1, operator.n), top=True)
        elif operator.dense:
            pairs = krylov(operator, k, settings)
        else:
            try:
                pairs = lanczos(operator, k + 1, settings)
            except ArpackNoConvergence:
                logger.warning("Lanczos iterations did not converge; going on in blocks")
                pairs = krylov(operator, k, settings)
    return _sort_and_check(operator, pairs, k, top=True)


def bottom_eigenpairs(
    A: Any,
    k: int,
    *,
    B: Array | None = None,
    null: Array | None = None,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    seed: Any = None,
    announce: bool = True,
) -> Eigenpairs:
    """The k smallest eigenvalues of a positive semidefinite matrix, ascending, and their
    eigenvectors.

    B is the diagonal of a positive definite mass matrix: then A v = lambda B v with v' B v = 1.
    `null` are known null vectors of A, which are left out of the result. The solver is "auto",
    "dense", "arpack", "shift-invert" or "lobpcg"; `announce` is whether to warn if the next
    eigenvalue equals the last one; the other parameters are those of `top_eigenpairs`.
    """
    if B is not None:  # with u = B^(1/2) v the problem is an ordinary one
        scale = 1 / np.sqrt(B)
        null = None if null is None else np.asarray(null).reshape(len(B), -1) / scale[:, None]
        options: dict[str, Any] = {
            "tol": tol,
            "max_iter": max_iter,
            "seed": seed,
            "announce": announce,
        }
        scaled = scale_both_sides(A, scale)
        inner = bottom_eigenpairs(scaled, k, null=null, solver=solver, **options)
        return Eigenpairs(inner.values, fix_signs(inner.vectors * scale[:, None]))
    operator = as_operator(A)
    basis: Array | None = None
    if null is not None:
        basis = np.linalg.qr(np.asarray(null, operator.dtype).reshape(operator.n, -1))[0]
    known = 0 if basis is None else basis.shape[1]
    solver = _choose(operator.n, k + known, solver, "bottom")
    with _eigenvectors(operator) as operator:
        pairs = _solve_bottom(A, operator, k, basis, solver, Settings(tol, max_iter, seed))
    return _sort_and_check(operator, pairs, k, top=False, basis=basis, announce=announce)


def start_eigenpairs(A: Any, k: int) -> Eigenpairs:
    """The k largest eigenvalues of a dense symmetric matrix and their eigenvectors, for a start.

    To about six digits, and with the same bits on all processors: LAPACK is not used. `A` is an
    array or an `Operator`.
    """
    operator = as_operator(A)
    if operator.n <= START_DENSE_UP_TO:
        full = np.asarray(to_numpy(operator.matmat(columns(operator, np.eye(operator.n)))))
        values, vectors = symmetric_eigen((full + full.T) / 2)
        pairs = Eigenpairs(values[::-1][:k], vectors[:, ::-1][:, :k])
    else:
        pairs = krylov(operator, k, Settings(START_RESIDUAL))
    vectors = fix_signs(pairs.vectors.astype(operator.dtype, copy=False))
    return Eigenpairs(pairs.values[:k], vectors)


def fix_signs(vectors: Array) -> Array:
    """Flip columns so that the largest absolute entry (the first of equals) is positive."""
    size = np.abs(np.ascontiguousarray(vectors.T))  # NumPy is slow along short axes
    first = (size >= size.max(axis=1, initial=0, keepdims=True) * (1 - 1e-6)).argmax(axis=1)
    signs = np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1, 1)
    return np.asarray(vectors * signs.astype(vectors.dtype))


def settle(
    values: Array, vectors: Array, norm: float | None = None, *, announce: bool = True
) -> Array:
    """Eigenvectors with signs, and bases of the spaces of equal eigenvalues, fixed by rule, so that
    rounding does not decide them.

    The first eigenvector of such a space is the direction in it of the row that is longest in it,
    the next one that of the row whose remainder is longest, and so on. `norm` is that of the
    matrix. None: the values are descending, and those that are nearly zero are not looked at.

    `announce`: warn of axes whose eigenvalues differ so little that rounding turns them, or of
    which only one is on the map: the last of the `values` may be the first that is left out.
    """
    k, top = vectors.shape[1], norm is None
    near = NEAR_FLOAT32 if vectors.dtype == np.float32 else NEAR
    size = float(values.max(initial=0)) if norm is None else norm
    large = np.maximum(values[1:], values[:-1])
    counts = large > (near * size if top else -1)
    gaps, rounding = np.abs(np.diff(values)), 16 * float(np.finfo(vectors.dtype).eps) * size
    equal = counts & (gaps <= 1e-3 * near * large + rounding)
    unstable = (counts & (gaps <= near * large)) | equal
    for space in np.split(np.arange(k), np.flatnonzero(~equal[: max(k - 1, 0)]) + 1):
        if len(space) > 1:
            vectors[:, space] = _along_rows(vectors[:, space])
    unstable[: k - 1] &= ~equal[: k - 1]
    if announce and unstable.any():
        first = int(unstable.argmax())
        cut = first == k - 1
        checks.warn(
            f"Axes {first} and {first + 1} of the map are exchangeable"
            + (f", and axis {k} is left out" if cut else "")
            + ": their eigenvalues are equal, so that rounding decides how the map is turned in "
            "their plane, and coordinates can differ between machines. Symmetric data, such as a "
            "circle or a grid, have such axes, and graphs in pieces that are hardly connected."
            + (f" Change {argument('n_components')} by one." if cut else "")
        )
    return fix_signs(vectors)


def _along_rows(V: Array) -> Array:
    """V with its columns turned to the directions of its longest rows, each orthogonal to the
    rows before it."""
    turn = np.zeros((V.shape[1], 0), V.dtype)
    left = np.einsum("ij,ij->i", V, V)
    for _ in range(V.shape[1]):
        row = V[(left >= left.max() * (1 - 1e-6)).argmax()]  # the first of equals
        for _ in range(2):  # orthogonalising twice is enough
            row = row - turn @ (turn.T @ row)
            row = row / np.linalg.norm(row)
        turn = np.column_stack([turn, row])
        left = left - (V @ row) ** 2
    return np.asarray(V @ turn)


def spectrum_size(A: Any, known: Eigenpairs, *, exact: bool) -> float:
    """The sum of absolute eigenvalues, exact or estimated from about ten products.

    The estimate adds the eigenvalues that a subspace iteration from the `known` eigenvectors finds,
    and an estimate of the rest by stochastic Lanczos quadrature with fixed probes (Ubaru, Chen and
    Saad 2017). Its error is about one percent, seldom more than four.
    """
    operator = as_operator(A)
    n = operator.n
    with _eigenvectors(operator) as operator:
        if exact:
            full = operator.matmat(np.eye(n, dtype=operator.dtype)).astype(np.float64)
            return float(np.abs(np.linalg.eigvalsh((full + full.T) / 2)).sum())
        sketch = operator.matmat(operator.matmat(columns(operator, random_signs(operator, 16, 1))))
        Q = qr(join_columns(convert_like(known.vectors, sketch), sketch))[0]
        AQ = operator.matmat(Q)
        values, S = rayleigh(Q, AQ)
        turn = convert_like(S, Q)
        residuals = column_norms(AQ @ turn - (Q @ turn) * convert_like(values, Q))
        converged = residuals <= 0.1 * np.abs(values)
        inside = float(np.abs(values[converged]).sum())
        return inside + quadrature(
            operator, Q @ convert_like(S[:, converged], Q), probes=4, steps=10
        )


@contextmanager
def _eigenvectors(operator: Operator) -> Iterator[Operator]:
    """The phase of a computation in which eigensolvers run; its bar counts the products."""
    with phase("eigenvectors", "products"), blas_on_one_thread():
        finish = part_counter()

        def product(V: Any) -> Any:
            images = operator.matmat(V)
            finish(V.shape[1])
            return images

        yield replace(operator, matmat=product)


def _choose(n: int, k: int, solver: str, otherwise: str) -> str:
    """The solver to use; `otherwise` is that of "auto" for large problems."""
    checks.choice(solver, "eigen_solver", (*SOLVERS, "randomized"))
    if n <= DENSE_UP_TO or k >= n - 1 or k > n // 3:
        return "dense"
    return otherwise if solver in ("auto", "randomized") else solver


def _sort_and_check(
    operator: Operator,
    pairs: Eigenpairs,
    k: int,
    *,
    top: bool,
    basis: Array | None = None,
    announce: bool = True,
) -> Eigenpairs:
    """The first k eigenpairs, settled; warns if a residual is too large.

    There may be one more, or its eigenvalue alone.
    """
    order = np.argsort(-pairs.values if top else pairs.values, kind="stable")
    values = pairs.values[order]
    vectors = pairs.vectors[:, order[:k]].astype(operator.dtype)
    norm = None if top else norm_estimate(operator)
    vectors, values = settle(values[: k + announce], vectors, norm), values[:k]
    if vectors.shape[1]:
        products = to_numpy(operator.matmat(columns(operator, vectors)))
        if basis is not None:  # eigenvectors of A restricted to the complement of `basis`
            products = products - basis @ (basis.T @ products)
        residual = np.linalg.norm(products - vectors * values.astype(vectors.dtype), axis=0).max()
        size = max(float(np.abs(products).max()), float(np.abs(values).max()), 1e-300)
        limit = LARGEST_RESIDUAL_FLOAT32 if operator.dtype == np.float32 else LARGEST_RESIDUAL
        if residual > limit * size:  # else a better estimate of the norm changes nothing
            size = max(size, norm_estimate(operator))
        worst = residual / size
        if worst > limit:
            checks.warn(
                f"The eigenvectors are inaccurate: relative residual {worst:.1e}. Raise "
                f"{argument('max_iter')}, or set {argument('eigen_solver', 'dense')} if the "
                "problem is small enough."
            )
    return Eigenpairs(values, vectors)


def _solve_bottom(
    A: Any, operator: Operator, k: int, basis: Array | None, solver: str, settings: Settings
) -> Eigenpairs:
    """The smallest eigenpairs; LOBPCG takes over if another solver fails."""
    from scipy.sparse.linalg import ArpackNoConvergence

    if solver == "dense":
        return dense(A, operator, min(k + 1, operator.n), top=False, basis=basis)
    if solver == "bottom":
        solver = "shift-invert" if _factors_cheaply(A) else "arpack"
        if solver == "arpack" and is_sparse(A):
            pairs = chebyshev(A.tocsr(), operator, k, basis, settings)
            if pairs is not None:
                return pairs
            logger.info("The eigenvalues are close to each other; going on with Lanczos iterations")
    if solver == "shift-invert":
        try:
            return shift_invert(A, operator, k, basis, settings)
        except (RuntimeError, TypeError, ArpackNoConvergence) as error:
            logger.warning("shift-invert failed (%s); going on with LOBPCG", error)
    elif solver == "arpack":
        try:
            capped = settings._replace(max_iter=settings.max_iter or 100)
            return lanczos(lift(operator, basis), k, capped, sign=-1.0)
        except ArpackNoConvergence:
            logger.warning("Lanczos iterations did not converge; going on with LOBPCG")
    return lobpcg(A, operator, k, basis, settings)


def _factors_cheaply(A: Any) -> bool:
    """Whether a sparse factorisation is cheap.

    Breadth-first levels separate the graph, so that a factor has at most about n * width entries
    and needs n * width^2 operations, width being the size of the largest level.
    """
    if not is_sparse(A):
        return False
    n = A.shape[0]
    limit = int(np.sqrt(FACTOR_FLOPS / n))
    _, width = backend().level_structure(A.tocsr(), limit)
    if width > limit:
        return False
    memory.claim(
        int(FACTOR_BYTES * n * min(width, 0.42 * n)),  # of n^2 / 2 entries some stay zero
        f"The sparse factorisation of {n} rows",
        f"Set {argument('eigen_solver', 'lobpcg')}.",
    )
    return True


def scale_both_sides(A: Any, scale: Array) -> Any:
    """diag(scale) A diag(scale): an array, CSR matrix or Operator, as A is."""
    if is_sparse(A):
        from scipy.sparse import csr_array

        csr = A.tocsr()
        data = scale_entries(csr, scale, np.result_type(csr.dtype, scale.dtype))
        return csr_array((data, csr.indices, csr.indptr), shape=csr.shape)
    if isinstance(A, Operator):
        column = scale[:, None]

        def product(V: Any) -> Any:
            factor = convert_like(column, V)
            return factor * A.matmat(factor * V)

        return Operator(A.n, A.dtype, product, A.dense)
    return scale[:, None] * A * scale[None, :]
