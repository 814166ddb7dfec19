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
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.matrices.operators import Operator, as_operator

logger = logging.getLogger("lowdim")

SOLVERS = ("auto", "dense", "arpack", "shift-invert", "lobpcg")
SMALL = 300  # up to this size a dense decomposition is fastest
FACTOR_FLOPS = 4e10  # factorise up to this estimate of the work
RESIDUAL = 1e-6  # relative residual above which a result is announced as inaccurate


class Eigenpairs(NamedTuple):
    """Eigenvalues in the order asked for and the eigenvectors as columns."""

    values: Array
    vectors: Array


def top_eigenpairs(
    A: Any,
    k: int,
    *,
    B: Array | None = None,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    seed: Any = None,
    n_jobs: int | None = None,
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
            n_jobs=n_jobs,
        )
        return Eigenpairs(inner.values, fix_signs(inner.vectors * scale[:, None]))
    operator = as_operator(A, n_jobs)
    solver = _choose(operator.n, k, solver, "arpack")
    with native.blas_on_one_thread():
        if solver == "dense":
            found = _dense(A, operator, k, top=True)
        elif operator.dense:
            found = _krylov(operator, k, tol, max_iter, seed)
        else:
            try:
                found = _lanczos(operator, k, tol, max_iter, seed)
            except ArpackNoConvergence:
                logger.warning("Lanczos iterations did not converge; going on in blocks")
                found = _krylov(operator, k, tol, max_iter, seed)
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
    n_jobs: int | None = None,
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
            n_jobs=n_jobs,
        )
        return Eigenpairs(inner.values, fix_signs(inner.vectors * scale[:, None]))
    operator = as_operator(A, n_jobs)
    basis = _orthonormal(null, operator)
    known = 0 if basis is None else basis.shape[1]
    solver = _choose(operator.n, k + known, solver, "bottom")
    with native.blas_on_one_thread():
        found = _bottom(A, operator, k, basis, solver, tol, max_iter, preconditioner, seed)
    return _finish(operator, found, np.argsort(found.values, kind="stable"), basis)


def fix_signs(vectors: Array) -> Array:
    """Each column with its largest entry (the first of equals) positive."""
    size = np.abs(vectors)
    first = (size >= size.max(axis=0, initial=0) * (1 - 1e-6)).argmax(axis=0)
    signs = np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1, 1)
    return np.asarray(vectors * signs.astype(vectors.dtype))


def spectrum_size(A: Any, known: Eigenpairs, *, exact: bool, n_jobs: int | None = None) -> float:
    """The sum of absolute eigenvalues, exactly or by an estimate from about ten products.

    The largest eigenvalues are found by subspace iteration, as far as it gets; the rest is
    estimated by stochastic Lanczos quadrature with fixed probes (Ubaru, Chen and Saad 2017). The
    error is about one percent of the sum, seldom more than four.
    """
    operator = as_operator(A, n_jobs)
    n = operator.n
    with native.blas_on_one_thread():
        if exact:
            full = operator.matmat(np.eye(n, dtype=operator.dtype)).astype(np.float64)
            return float(np.abs(np.linalg.eigvalsh((full + full.T) / 2)).sum())
        sketch = operator.matmat(operator.matmat(_start(operator, 16, 1)))
        Q = np.linalg.qr(np.hstack([known.vectors, sketch]))[0]
        AQ = operator.matmat(Q)
        values, S = np.linalg.eigh((Q.T @ AQ + AQ.T @ Q) / 2)
        residuals = np.linalg.norm(AQ @ S - (Q @ S) * values, axis=0)
        found = residuals <= 0.1 * np.abs(values)
        inside = float(np.abs(values[found]).sum())
        return inside + _quadrature(operator, Q @ S[:, found], probes=4, steps=10)


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
        scale = max(size, _norm_estimate(operator))
        worst = residual / scale
        floor = 1e-3 if operator.dtype == np.float32 else RESIDUAL
        if worst > floor:
            checks.warn(
                f"The eigenvectors are inaccurate: relative residual {worst:.1e}. Raise max_iter, "
                "or set eigen_solver='dense' if the problem is small enough."
            )
    return Eigenpairs(values, vectors)


def _norm_estimate(operator: Operator) -> float:
    """A lower bound of the spectral norm, from one product."""
    probe = np.cos(np.arange(operator.n, dtype=np.float64) ** 2)[:, None].astype(operator.dtype)
    return float(np.linalg.norm(operator.matmat(probe)) / np.linalg.norm(probe))


def _dense(A: Any, operator: Operator, k: int, top: bool, basis: Array | None = None) -> Eigenpairs:
    from scipy.linalg import eigh

    n = operator.n
    if isinstance(A, np.ndarray):
        full = A
    elif hasattr(A, "toarray"):
        full = A.toarray()
    else:
        full = operator.matmat(np.eye(n, dtype=operator.dtype))
    full = (full + full.T) / 2
    if basis is not None:  # to the very top, above every other eigenvalue
        full = _off(basis, _off(basis, full).T)
        full += (2 * np.abs(full).sum(axis=1).max() + 1) * (basis @ basis.T)
    span = (n - k, n - 1) if top else (0, k - 1)
    if k > n // 4:
        values, vectors = eigh(full, check_finite=False, overwrite_a=True)
        return Eigenpairs(values[span[0] : span[1] + 1], vectors[:, span[0] : span[1] + 1])
    return Eigenpairs(*eigh(full, subset_by_index=span, check_finite=False, overwrite_a=True))


def _lanczos(
    operator: Operator, k: int, tol: float, max_iter: int | None, seed: Any, sign: float = 1.0
) -> Eigenpairs:
    """The largest eigenvalues of sign * A by implicitly restarted Lanczos iterations."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def product(v: Array) -> Array:
        return np.asarray(sign * operator.matmat(v.reshape(-1, 1))[:, 0])

    A = LinearOperator(operator.shape, matvec=product, dtype=operator.dtype)
    start = _start(operator, 1, seed)[:, 0]
    basis = min(operator.n - 1, max(2 * k + 1, 20))
    values, vectors = eigsh(A, k, which="LA", tol=tol, maxiter=max_iter, v0=start, ncv=basis)
    return Eigenpairs(sign * values, vectors)


def _krylov(operator: Operator, k: int, tol: float, max_iter: int | None, seed: Any) -> Eigenpairs:
    """The largest eigenvalues of a dense matrix by block Krylov iterations.

    A product with eight columns costs little more than with one, for both wait until the matrix
    has been read; so the subspace grows by the residuals of eight Ritz vectors at once. When it
    is full it restarts from its better half (Rayleigh and Ritz).
    """
    width = max(8, 4 * -(-(k + 2) // 4))
    most = max(8 * width, 2 * k + 4 * width)
    floor = 1e-6 if operator.dtype == np.float32 else 1e-13
    Q = np.linalg.qr(_start(operator, width, seed))[0]
    AQ = operator.matmat(Q)
    for _ in range(max_iter or 200):
        values, S = _rayleigh(Q, AQ)
        residuals = AQ @ S[:, :width] - (Q @ S[:, :width]) * values[:width]
        size = max(float(np.abs(values).max()), 1e-300)
        converged = np.linalg.norm(residuals[:, :k], axis=0).max() <= max(tol, floor) * size
        fresh = residuals[:, :0] if converged else _new_directions(residuals, Q)
        if not fresh.shape[1]:  # accurate enough, or the subspace is invariant
            break
        if Q.shape[1] + width > most:
            better = S[:, : max(k + width, most // 2)]
            Q, AQ = Q @ better, AQ @ better
        Q, AQ = np.hstack([Q, fresh]), np.hstack([AQ, operator.matmat(fresh)])
    else:
        values, S = _rayleigh(Q, AQ)
    return Eigenpairs(values[:k], Q @ S[:, :k])


def _rayleigh(Q: Array, AQ: Array) -> tuple[Array, Array]:
    """Eigenvalues of Q'AQ, descending, and their eigenvectors."""
    values, S = np.linalg.eigh((Q.T @ AQ + AQ.T @ Q) / 2)
    return values[::-1], S[:, ::-1]


def _new_directions(W: Array, Q: Array) -> Array:
    """An orthonormal basis of what W adds to the span of Q."""
    lengths = np.linalg.norm(W, axis=0)
    W = W[:, lengths > 0] / lengths[lengths > 0]
    for _ in range(2):  # twice is enough
        W, R = np.linalg.qr(W - Q @ (Q.T @ W))
        W = W[:, np.abs(np.diagonal(R)) > 100 * np.finfo(W.dtype).eps]
    return W


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
        return _dense(A, operator, k, top=False, basis=basis)
    if solver == "bottom":
        solver = "shift-invert" if _factors_cheaply(A) else "arpack"
    if solver == "shift-invert":
        try:
            return _shift_invert(A, operator, k, basis, tol, max_iter, seed)
        except (RuntimeError, TypeError, ArpackNoConvergence) as error:
            logger.warning("shift-invert failed (%s); going on with LOBPCG", error)
    elif solver == "arpack":
        try:
            return _lanczos(_lift(operator, basis), k, tol, max_iter or 100, seed, sign=-1.0)
        except ArpackNoConvergence:
            logger.warning("Lanczos iterations did not converge; going on with LOBPCG")
    return _lobpcg(A, operator, k, basis, tol, max_iter, preconditioner, seed)


def _off(basis: Array, V: Array) -> Array:
    """What is left of V without its share in the span of the basis."""
    return np.asarray(V - basis @ (basis.T @ V))


def _lift(operator: Operator, basis: Array | None) -> Operator:
    """The operator with its known null vectors moved to the top of the spectrum."""
    if basis is None:
        return operator
    height = np.asarray(2 * _norm_estimate(operator), dtype=operator.dtype)

    def product(V: Array) -> Array:
        inside = basis @ (basis.T @ V)
        return np.asarray(operator.matmat(V - inside) + height * inside)

    return Operator(operator.n, operator.dtype, product)


def _factors_cheaply(A: Any) -> bool:
    """Whether a sparse factorisation is affordable.

    The widest breadth-first level of the graph separates it, so a factor needs about n * width
    entries and n * width^2 operations at most.
    """
    if not hasattr(A, "tocsr"):
        return False
    _, width = native.level_structure(*native.csr_indices(A.tocsr()))
    return float(A.shape[0]) * width**2 <= FACTOR_FLOPS


def _shift_invert(
    A: Any,
    operator: Operator,
    k: int,
    basis: Array | None,
    tol: float,
    max_iter: int | None,
    seed: Any,
) -> Eigenpairs:
    """Lanczos on the inverse of A + shift, with A = (I - P) A (I - P) kept off its null space."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    if isinstance(A, Operator):
        raise TypeError("a matrix known by its products alone has no factors")
    sparse = csc_array(A, dtype=np.float64)
    # Rounding may have left a zero eigenvalue negative, and that must not change sides.
    slack = 1e-6 if operator.dtype == np.float32 else 1e-10
    shift = slack * max(float(np.abs(sparse.diagonal()).mean()), 1e-300)
    factor = splu(
        csc_array(sparse + shift * eye_array(operator.n, format="csc")),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(V: Array) -> Array:
        inside = V if basis is None else V - basis @ (basis.T @ V)
        x = factor.solve(np.ascontiguousarray(inside, dtype=np.float64))
        return np.asarray(x if basis is None else x - basis @ (basis.T @ x))

    inverse = Operator(operator.n, np.dtype(np.float64), solve)
    found = _lanczos(inverse, k, tol, max_iter, seed)
    return _ritz(operator, found.vectors)


def _ritz(operator: Operator, vectors: Array) -> Eigenpairs:
    """Rayleigh and Ritz's best approximations to eigenpairs of A from a subspace."""
    basis = np.linalg.qr(vectors)[0].astype(operator.dtype, copy=False)
    values, rotation = np.linalg.eigh(basis.T @ operator.matmat(basis))
    return Eigenpairs(values, basis @ rotation)


def _lobpcg(
    A: Any,
    operator: Operator,
    k: int,
    basis: Array | None,
    tol: float,
    max_iter: int | None,
    preconditioner: Callable[[Array], Array] | None,
    seed: Any,
) -> Eigenpairs:
    from scipy.sparse.linalg import LinearOperator, lobpcg

    if preconditioner is None and hasattr(A, "diagonal"):
        diagonal = np.maximum(A.diagonal(), 1e-12 * max(float(A.diagonal().max()), 1e-300))

        def preconditioner(V: Array) -> Array:
            return np.asarray(V / diagonal[:, None])

    def linear(product: Callable[[Array], Array]) -> Any:
        def one(v: Array) -> Array:
            return product(v.reshape(-1, 1))[:, 0]

        return LinearOperator(operator.shape, matvec=one, matmat=product, dtype=operator.dtype)

    guard = min(k + 5, operator.n // 5)
    with warnings.catch_warnings():  # our own check of the residuals speaks for it
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(
            linear(operator.matmat),
            _start(operator, max(guard, k), seed),
            Y=basis,
            M=None if preconditioner is None else linear(preconditioner),
            largest=False,
            tol=max(tol, 1e-9) * _norm_estimate(operator),
            maxiter=max_iter or 1000,
        )
    order = np.argsort(values)[:k]
    return Eigenpairs(values[order], vectors[:, order])


def _start(operator: Operator, columns: int, seed: Any) -> Array:
    from sklearn.utils import check_random_state

    random = check_random_state(0 if seed is None else seed)
    return np.asarray(random.uniform(-1, 1, (operator.n, columns))).astype(operator.dtype)


def _orthonormal(null: Array | None, operator: Operator) -> Array | None:
    if null is None:
        return None
    columns = np.asarray(null, dtype=operator.dtype).reshape(operator.n, -1)
    return np.linalg.qr(columns)[0]


def _scaled(A: Any, scale: Array) -> Any:
    """diag(scale) A diag(scale), in the form of A."""
    if hasattr(A, "tocsr"):
        from scipy.sparse import csr_array

        csr = A.tocsr()
        rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
        data = csr.data * scale[rows] * scale[csr.indices]
        return csr_array((data, csr.indices, csr.indptr), shape=csr.shape)
    if isinstance(A, Operator):
        column = scale[:, None]
        return Operator(A.n, A.dtype, lambda V: column * A.matmat(column * V), A.dense)
    return scale[:, None] * A * scale[None, :]


def _quadrature(operator: Operator, known: Array, probes: int, steps: int) -> float:
    """tr |P A P| by Lanczos from random signs, P the projector off the known vectors."""

    def project(V: Array) -> Array:
        return np.asarray(V - known @ (known.T @ V))

    random = np.random.RandomState(0)
    start = project(np.sign(random.uniform(-1, 1, (operator.n, probes))).astype(operator.dtype))
    lengths = np.linalg.norm(start, axis=0)
    V = start / np.maximum(lengths, 1e-300)
    before = np.zeros_like(V)
    alphas, betas = np.zeros((steps, probes)), np.zeros((steps, probes))
    for step in range(steps):
        W = project(operator.matmat(project(V)))
        if step:
            W -= before * betas[step - 1].astype(V.dtype)
        alphas[step] = np.einsum("ij,ij->j", V, W)
        W -= V * alphas[step].astype(V.dtype)
        betas[step] = np.linalg.norm(W, axis=0)
        before, V = V, W / np.maximum(betas[step], 1e-300).astype(V.dtype)
    total = 0.0
    for p in range(probes):
        T = np.diag(alphas[:, p]) + np.diag(betas[:-1, p], 1) + np.diag(betas[:-1, p], -1)
        nodes, vectors = np.linalg.eigh(T)
        total += lengths[p] ** 2 * float((vectors[0] ** 2 * np.abs(nodes)).sum())
    return total / probes
