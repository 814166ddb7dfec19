"""Extreme eigenpairs of symmetric matrices: dense, sparse, or known only by their products.

The solver is chosen by what the problem costs. Small problems are solved densely. The largest
eigenvalues of a large dense matrix come from block Krylov iterations, which read it few times,
those of a sparse one from Lanczos iterations (Lehoucq, Sorensen and Yang's ARPACK).
The smallest eigenvalues of a sparse matrix come from Lanczos on its inverse where the matrix
factors cheaply, as graphs of low-dimensional data do, and from Lanczos on the matrix itself
where it does not, as graphs of high-dimensional data, whose spectra have wide gaps. What has not
converged goes on to LOBPCG (Knyazev 2001) with a preconditioner, and that is announced. Residuals
are checked at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, is_sparse
from lowdim.matrices.operators import Operator, as_operator
from lowdim.runtime.scheduling import blas_on_one_thread
from lowdim.solvers.eigensolvers import (
    Eigenpairs,
    dense,
    krylov,
    lanczos,
    lift,
    lobpcg,
    norm_estimate,
    quadrature,
    random_start,
    shift_invert,
)

logger = logging.getLogger("lowdim")

SOLVERS = ("auto", "dense", "arpack", "shift-invert", "lobpcg")
SMALL = 300  # up to this size a dense decomposition is fastest
FACTOR_FLOPS = 4e10  # factorise up to this estimate of the work
RESIDUAL = 1e-6  # relative residual above which a result is announced as inaccurate


def top_eigenpairs(
    A: Any,
    k: int,
    *,
    B: Array | None = None,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    seed: Any = None,
) -> Eigenpairs:
    """The k largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    Parameters
    ----------
    A : dense array, CSR matrix or `Operator`.
    B : diagonal of a positive mass matrix: solve A v = lambda B v with v' B v = 1.
    solver : "auto", "dense" or "arpack".
    tol : relative residual to reach; 0: as small as rounding allows.
    max_iter : of the iterative solvers.
    seed : of their start.
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    if B is not None:  # with u = B^(1/2) v the problem is an ordinary one
        scale = 1 / np.sqrt(B)
        inner = top_eigenpairs(
            _scaled(A, scale),
            k,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            seed=seed,
        )
        return Eigenpairs(inner.values, fix_signs(inner.vectors * scale[:, None]))
    operator = as_operator(A)
    solver = _choose(operator.n, k, solver, "arpack")
    with blas_on_one_thread():
        if solver == "dense":
            found = dense(A, operator, k, top=True)
        elif operator.dense:
            found = krylov(operator, k, tol, max_iter, seed)
        else:
            try:
                found = lanczos(operator, k, tol, max_iter, seed)
            except ArpackNoConvergence:
                logger.warning("Lanczos iterations did not converge; going on in blocks")
                found = krylov(operator, k, tol, max_iter, seed)
    return _finish(operator, found, np.argsort(-found.values, kind="stable"), None)


def bottom_eigenpairs(
    A: Any,
    k: int,
    *,
    B: Array | None = None,
    null: Array | None = None,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    preconditioner: Callable[[Array], Array] | None = None,
    seed: Any = None,
) -> Eigenpairs:
    """The k smallest eigenvalues of a positive semidefinite matrix, ascending.

    Parameters
    ----------
    A : dense array, CSR matrix or `Operator`.
    B : diagonal of a positive mass matrix: solve A v = lambda B v with v' B v = 1.
    null : (n,) or (n, r) known null vectors of A, to be left out of the answer.
    preconditioner : approximate solution of A x = b for LOBPCG; the diagonal by default.
    """
    if B is not None:  # with u = B^(1/2) v the problem is an ordinary one
        scale = 1 / np.sqrt(B)
        null = None if null is None else np.asarray(null).reshape(len(B), -1) / scale[:, None]
        inner = bottom_eigenpairs(
            _scaled(A, scale),
            k,
            null=null,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            preconditioner=preconditioner,
            seed=seed,
        )
        return Eigenpairs(inner.values, fix_signs(inner.vectors * scale[:, None]))
    operator = as_operator(A)
    basis = _orthonormal(null, operator)
    known = 0 if basis is None else basis.shape[1]
    solver = _choose(operator.n, k + known, solver, "bottom")
    with blas_on_one_thread():
        found = _bottom(A, operator, k, basis, solver, tol, max_iter, preconditioner, seed)
    return _finish(operator, found, np.argsort(found.values, kind="stable"), basis)


def fix_signs(vectors: Array) -> Array:
    """Each column with its largest entry (the first of equals) positive."""
    size = np.abs(vectors)
    first = (size >= size.max(axis=0, initial=0) * (1 - 1e-6)).argmax(axis=0)
    signs = np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1, 1)
    return np.asarray(vectors * signs.astype(vectors.dtype))


def spectrum_size(A: Any, known: Eigenpairs, *, exact: bool) -> float:
    """The sum of absolute eigenvalues, exactly or by an estimate from about ten products.

    The largest eigenvalues are found by subspace iteration, as far as it gets; the rest is
    estimated by stochastic Lanczos quadrature with fixed probes (Ubaru, Chen and Saad 2017). The
    error is about one percent of the sum, seldom more than four.
    """
    operator = as_operator(A)
    n = operator.n
    with blas_on_one_thread():
        if exact:
            full = operator.matmat(np.eye(n, dtype=operator.dtype)).astype(np.float64)
            return float(np.abs(np.linalg.eigvalsh((full + full.T) / 2)).sum())
        sketch = operator.matmat(operator.matmat(random_start(operator, 16, 1)))
        Q = np.linalg.qr(np.hstack([known.vectors, sketch]))[0]
        AQ = operator.matmat(Q)
        values, S = np.linalg.eigh((Q.T @ AQ + AQ.T @ Q) / 2)
        residuals = np.linalg.norm(AQ @ S - (Q @ S) * values, axis=0)
        found = residuals <= 0.1 * np.abs(values)
        inside = float(np.abs(values[found]).sum())
        return inside + quadrature(operator, Q @ S[:, found], probes=4, steps=10)


def _choose(n: int, k: int, solver: str, otherwise: str) -> str:
    checks.choice(solver, "eigen_solver", (*SOLVERS, "randomized"))
    if n <= SMALL or k >= n - 1 or k > n // 3:
        return "dense"
    return otherwise if solver in ("auto", "randomized") else solver


def _finish(operator: Operator, found: Eigenpairs, order: Array, basis: Array | None) -> Eigenpairs:
    values, vectors = found.values[order], fix_signs(found.vectors[:, order])
    vectors = vectors.astype(operator.dtype, copy=False)
    if vectors.shape[1]:
        products = operator.matmat(vectors)
        if basis is not None:  # the answer lives in the complement of what was left out
            products = products - basis @ (basis.T @ products)
        residual = np.linalg.norm(products - vectors * values.astype(vectors.dtype), axis=0).max()
        size = max(float(np.abs(products).max()), float(np.abs(values).max()), 1e-300)
        scale = max(size, norm_estimate(operator))
        worst = residual / scale
        floor = 1e-3 if operator.dtype == np.float32 else RESIDUAL
        if worst > floor:
            checks.warn(
                f"The eigenvectors are inaccurate: relative residual {worst:.1e}. Raise max_iter, "
                "or set eigen_solver='dense' if the problem is small enough."
            )
    return Eigenpairs(values, vectors)


def _bottom(
    A: Any,
    operator: Operator,
    k: int,
    basis: Array | None,
    solver: str,
    tol: float,
    max_iter: int | None,
    preconditioner: Callable[[Array], Array] | None,
    seed: Any,
) -> Eigenpairs:
    from scipy.sparse.linalg import ArpackNoConvergence

    if solver == "dense":
        return dense(A, operator, k, top=False, basis=basis)
    if solver == "bottom":
        solver = "shift-invert" if _factors_cheaply(A) else "arpack"
    if solver == "shift-invert":
        try:
            return shift_invert(A, operator, k, basis, tol, max_iter, seed)
        except (RuntimeError, TypeError, ArpackNoConvergence) as error:
            logger.warning("shift-invert failed (%s); going on with LOBPCG", error)
    elif solver == "arpack":
        try:
            return lanczos(lift(operator, basis), k, tol, max_iter or 100, seed, sign=-1.0)
        except ArpackNoConvergence:
            logger.warning("Lanczos iterations did not converge; going on with LOBPCG")
    return lobpcg(A, operator, k, basis, tol, max_iter, preconditioner, seed)


def _factors_cheaply(A: Any) -> bool:
    """Whether a sparse factorisation is affordable.

    The widest breadth-first level of the graph separates it, so a factor needs about n * width
    entries and n * width^2 operations at most.
    """
    if not is_sparse(A):
        return False
    _, width = backend().level_structure(A.tocsr())
    return float(A.shape[0]) * width**2 <= FACTOR_FLOPS


def _orthonormal(null: Array | None, operator: Operator) -> Array | None:
    if null is None:
        return None
    columns = np.asarray(null, dtype=operator.dtype).reshape(operator.n, -1)
    return np.linalg.qr(columns)[0]


def _scaled(A: Any, scale: Array) -> Any:
    """diag(scale) A diag(scale), in the form of A."""
    if is_sparse(A):
        from scipy.sparse import csr_array

        csr = A.tocsr()
        rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
        data = csr.data * scale[rows] * scale[csr.indices]
        return csr_array((data, csr.indices, csr.indptr), shape=csr.shape)
    if isinstance(A, Operator):
        column = scale[:, None]
        return Operator(A.n, A.dtype, lambda V: column * A.matmat(column * V), A.dense)
    return scale[:, None] * A * scale[None, :]
