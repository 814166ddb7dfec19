"""The algorithms that `spectral` chooses from: extreme eigenpairs of a symmetric operator."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.backends.generic import (
    column_norms,
    combine,
    convert_like,
    inner,
    join_columns,
    norms,
    orthonormal_basis,
    qr,
    select_columns,
    to_numpy,
)
from lowdim.backends.native.algebra import NARROW_COLUMNS, gram, matmul, times
from lowdim.backends.native.dense import symmetric_eigen
from lowdim.backends.subspace import Problem, smallest_eigenpairs
from lowdim.checks import Array, check_random_state, is_sparse
from lowdim.numerics.operators import Operator, symmetric_lu

GUARD = 4  # columns beyond those asked for, at least, of `chebyshev`
MOST_PRODUCTS = 4000  # with these columns, of `chebyshev`
LEAST_ITERATED = 400  # rows of an array from which iterations for a few eigenpairs pay


class Eigenpairs(NamedTuple):
    """Eigenvalues and, as columns, eigenvectors."""

    values: Array
    vectors: Array


def dense(A: Any, operator: Operator, k: int, top: bool, basis: Array | None = None) -> Eigenpairs:
    """By LAPACK; null vectors in `basis` are moved to the top of the spectrum."""
    n = operator.n
    if isinstance(A, np.ndarray):
        full = A
    elif is_sparse(A):
        full = A.toarray()
    else:
        full = operator.matmat(np.eye(n, dtype=operator.dtype))
    full = full + full.T
    full /= 2
    if basis is not None:  # above every other eigenvalue
        full = _project_out(basis, _project_out(basis, full).T)
        full += (2 * np.abs(full).sum(axis=1).max() + 1) * (basis @ basis.T)
    return _lapack(full, k, top)


def extreme_eigh(A: Array, k: int, top: bool) -> Eigenpairs:
    """The k largest (or smallest) eigenpairs of a symmetric array, ascending, to rounding."""
    width = 4 * (k // 4 + 1)
    if top and k > 0 and len(A) >= LEAST_ITERATED and width <= NARROW_COLUMNS:
        pairs = _block_lanczos(A, k, width)
        if pairs is not None:
            return pairs
    return _lapack(A, k, top)


def _lapack(A: Array, k: int, top: bool) -> Eigenpairs:
    """As `extreme_eigh`, by LAPACK."""
    from scipy.linalg import eigh

    n = len(A)
    span = (n - k, n - 1) if top else (0, k - 1)
    if k <= n // 4:
        values, vectors = eigh(A, subset_by_index=span, check_finite=False)
        if vectors.shape[1] == k:  # LAPACK may lose some of many equal eigenvalues
            return Eigenpairs(values, vectors)
    values, vectors = eigh(A, check_finite=False)
    return Eigenpairs(values[span[0] : span[1] + 1], vectors[:, span[0] : span[1] + 1])


def _block_lanczos(A: Array, k: int, width: int) -> Eigenpairs | None:
    """The k largest eigenpairs of a symmetric array, ascending, by Lanczos iterations in blocks.

    The blocks are wider than k, so equal eigenvalues are all found. Returns None where LAPACK is
    the better choice: if the residuals decrease too slowly for the subspace to stay below a fifth
    of all dimensions, because there is no gap in the spectrum, or if A maps the subspace into
    itself before the residuals vanish.
    """
    n, eps = len(A), float(np.finfo(A.dtype).eps)
    tol, most = 32 * eps, n // 5
    Q = np.empty((n, most), dtype=A.dtype, order="F")
    T = np.zeros((most, most), dtype=A.dtype)  # Q' A Q
    V = np.linalg.qr(np.random.RandomState(0).uniform(-1, 1, (n, width)).astype(A.dtype))[0]
    for end in range(width, most + 1, width):
        new, basis = slice(end - width, end), Q[:, :end]
        Q[:, new] = V
        W = matmul(A, V)
        inner = basis.T @ W
        W -= basis @ inner
        again = basis.T @ W  # orthogonalising twice is enough
        W -= basis @ again
        T[:end, new] = inner + again
        T[new, :end] = T[:end, new].T
        size = np.abs(T[:end, :end]).max()
        if not 0 < size < np.inf:
            return None
        V, R = np.linalg.qr(W)
        values, S = np.linalg.eigh(T[:end, :end])
        residual = np.linalg.norm(R @ S[new, -k:], axis=0).max() / size
        if residual <= tol:
            return Eigenpairs(values[-k:], basis @ S[:, -k:])
        slow = end >= most // 3 and residual > tol ** (0.75 * end / most)
        if slow or np.abs(np.diagonal(R)).min() <= 100 * eps * size:
            return None
    return None


def krylov(operator: Operator, k: int, tol: float, max_iter: int | None, seed: Any) -> Eigenpairs:
    """The largest eigenvalues of a dense matrix by block Krylov iterations.

    A product with eight columns takes little more time than with one, because reading the matrix
    takes most of it. So the subspace grows by the residuals of eight Ritz vectors at once. A full
    subspace is restarted from its leading Ritz vectors.
    """
    width = max(8, 4 * -(-(k + 2) // 4))
    most = max(8 * width, 2 * k + 4 * width)
    floor = 1e-6 if operator.dtype == np.float32 else 1e-13
    Q = qr(columns(operator, random_start(operator, width, seed)))[0]
    AQ = operator.matmat(Q)
    for _ in range(max_iter or 200):
        values, S = rayleigh(Q, AQ)
        turn = convert_like(S[:, :width], Q)
        residuals = combine(AQ, turn) - combine(Q, turn) * convert_like(values[:width], Q)
        size = max(float(np.abs(values).max()), 1e-300)
        lengths = column_norms(residuals)
        converged = lengths[:k].max() <= max(tol, floor) * size
        fresh = residuals[:, :0] if converged else _new_directions(residuals, lengths, Q)
        if not fresh.shape[1]:  # accurate enough, or the subspace is invariant
            break
        if Q.shape[1] + width > most:
            better = convert_like(S[:, : max(k + width, most // 2)], Q)
            Q, AQ = combine(Q, better), combine(AQ, better)
        Q, AQ = join_columns(Q, fresh), join_columns(AQ, operator.matmat(fresh))
    else:
        values, S = rayleigh(Q, AQ)
    return Eigenpairs(values[:k], to_numpy(combine(Q, convert_like(S[:, :k], Q))))


def lanczos(
    operator: Operator, k: int, tol: float, max_iter: int | None, seed: Any, sign: float = 1.0
) -> Eigenpairs:
    """The largest eigenvalues of sign * A by implicitly restarted Lanczos iterations."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def product(v: Array) -> Array:
        return np.asarray(sign * operator.matmat(v.reshape(-1, 1))[:, 0])

    A = LinearOperator(operator.shape, matvec=product, dtype=operator.dtype)
    start = random_start(operator, 1, seed)[:, 0]
    basis = min(operator.n - 1, max(2 * k + 1, 20))
    options: dict[str, Any] = {"rng": np.random.default_rng(0)} if _restarts_can_be_seeded() else {}
    values, vectors = eigsh(
        A, k, which="LA", tol=tol, maxiter=max_iter, v0=start, ncv=basis, **options
    )
    return Eigenpairs(sign * values, vectors)


@cache
def _restarts_can_be_seeded() -> bool:
    """Whether `eigsh` has an argument for the vectors that it draws in an invariant subspace.

    Since SciPy 1.17; before, ARPACK draws them from a generator with a fixed seed.
    """
    from scipy.sparse.linalg import eigsh

    return "rng" in inspect.signature(eigsh).parameters


def chebyshev(
    A: Any, operator: Operator, k: int, basis: Array | None, tol: float, seed: Any
) -> Eigenpairs | None:
    """The smallest eigenvalues of a sparse positive semidefinite matrix by filtered subspaces.

    Returns None if the eigenvalues are too close to each other for this to be fast; see
    `lowdim.backends.subspace`.
    """

    def step(V: Array, a: float, b: float, W: Array | None) -> Array:
        return backend().spmm(A, V, scale=a, shift=b, before=W)

    floor = 1e-6 if operator.dtype == np.float32 else 1e-13
    width = -(-(k + max(GUARD, k // 4)) // 8) * 8  # products take eight columns at once
    width = min(width, operator.n - (0 if basis is None else basis.shape[1]))
    problem = Problem(step, _norm_bound(A), basis, gram, times, lambda V: qr(V)[0])
    start = random_start(operator, width, seed)
    pairs = smallest_eigenpairs(problem, start, k, max(tol, floor), MOST_PRODUCTS)
    return None if pairs is None else Eigenpairs(*pairs)


def _norm_bound(A: Any) -> float:
    """An upper bound of the spectral norm of a symmetric CSR matrix.

    For positive v, no eigenvalue exceeds the largest entry of |A| v / v (Collatz 1942). Row sums
    are the case v = 1; v = |A| 1 is often much closer.
    """
    from scipy.sparse import csr_array

    sizes = csr_array((np.abs(A.data), A.indices, A.indptr), shape=A.shape)
    once = backend().spmm(sizes, np.ones((A.shape[0], 1), dtype=A.dtype))
    twice = backend().spmm(sizes, once)
    ratio = np.divide(twice, once, out=np.zeros_like(once), where=once > 0)
    rounding = 1 + 1e3 * np.finfo(A.dtype).eps
    return rounding * min(float(once.max()), float(ratio.max())) or 1.0


def shift_invert(
    A: Any,
    operator: Operator,
    k: int,
    basis: Array | None,
    tol: float,
    max_iter: int | None,
    seed: Any,
) -> Eigenpairs:
    """The smallest eigenvalues by Lanczos iterations on the inverse of A + shift, orthogonal to
    the null vectors in `basis`."""
    from scipy.sparse import csc_array, eye_array

    if isinstance(A, Operator):
        raise TypeError("an Operator cannot be factorised; give a matrix")
    sparse = csc_array(A, dtype=np.float64)
    # Rounding may have made a zero eigenvalue negative; the shift makes all eigenvalues positive.
    slack = 1e-6 if operator.dtype == np.float32 else 1e-10
    shift = slack * max(float(np.abs(sparse.diagonal()).mean()), 1e-300)
    factor = symmetric_lu(sparse + shift * eye_array(operator.n, format="csc"))

    def solve(V: Array) -> Array:
        inside = V if basis is None else V - basis @ (basis.T @ V)
        x = factor.solve(np.ascontiguousarray(inside, dtype=np.float64))
        return np.asarray(x if basis is None else x - basis @ (basis.T @ x))

    inverse = Operator(operator.n, np.dtype(np.float64), solve)
    pairs = lanczos(inverse, k, tol, max_iter, seed)
    return _rayleigh_ritz(operator, pairs.vectors)


def lobpcg(
    A: Any,
    operator: Operator,
    k: int,
    basis: Array | None,
    tol: float,
    max_iter: int | None,
    seed: Any,
) -> Eigenpairs:
    """The smallest eigenvalues by LOBPCG (Knyazev 2001), preconditioned by the diagonal of A."""
    from scipy.sparse.linalg import LinearOperator
    from scipy.sparse.linalg import lobpcg as scipy_lobpcg

    preconditioner = None
    if hasattr(A, "diagonal"):  # an `Operator` has none
        diagonal = np.maximum(A.diagonal(), 1e-12 * max(float(A.diagonal().max()), 1e-300))

        def preconditioner(V: Array) -> Array:
            return np.asarray(V / diagonal[:, None])

    def linear_operator(product: Callable[[Array], Array]) -> Any:
        def multiply_one(v: Array) -> Array:
            return product(v.reshape(-1, 1))[:, 0]

        return LinearOperator(
            operator.shape, matvec=multiply_one, matmat=product, dtype=operator.dtype
        )

    guard = min(k + 5, operator.n // 5)
    with warnings.catch_warnings():  # `spectral` checks the residuals and warns
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = scipy_lobpcg(
            linear_operator(operator.matmat),
            random_start(operator, max(guard, k), seed),
            Y=basis,
            M=None if preconditioner is None else linear_operator(preconditioner),
            largest=False,
            tol=max(tol, 1e-9) * norm_estimate(operator),
            maxiter=max_iter or 1000,
        )
    order = np.argsort(values)[:k]
    return Eigenpairs(values[order], vectors[:, order])


def quadrature(operator: Operator, known: Array, probes: int, steps: int) -> float:
    """An estimate of tr |P A P|, P the projection orthogonal to the known vectors.

    Stochastic Lanczos quadrature with random signs as probes (Ubaru, Chen and Saad 2017).
    """

    def project(V: Any) -> Any:
        return V - known @ (known.T @ V)

    start = project(columns(operator, random_signs(operator, probes, 0)))
    lengths = norms(start)
    V, before, beta = start / lengths.clip(1e-30), None, None
    steps_of: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(steps):  # nothing is copied to the host, which would wait for the device
        W = project(operator.matmat(V))  # V is orthogonal to the known vectors already
        if before is not None:
            W -= before * beta
        alpha = (V * W).sum(0)
        W -= V * alpha
        beta = norms(W)
        before, V = V, W / beta.clip(1e-30)
        for series, value in zip(steps_of, (alpha, beta), strict=True):
            series.append(value[:, None])
    alphas, betas = (to_numpy(join_columns(*series)).astype(np.float64).T for series in steps_of)
    lengths = to_numpy(lengths)
    total = 0.0
    for p in range(probes):
        T = np.diag(alphas[:, p]) + np.diag(betas[:-1, p], 1) + np.diag(betas[:-1, p], -1)
        nodes, vectors = np.linalg.eigh(T)
        total += lengths[p] ** 2 * float((vectors[0] ** 2 * np.abs(nodes)).sum())
    return total / probes


def lift(operator: Operator, basis: Array | None) -> Operator:
    """The operator with the null vectors in `basis` moved to the top of the spectrum."""
    if basis is None:
        return operator
    height = np.asarray(2 * norm_estimate(operator), dtype=operator.dtype)

    def product(V: Array) -> Array:
        inside = basis @ (basis.T @ V)
        return np.asarray(operator.matmat(V - inside) + height * inside)

    return Operator(operator.n, operator.dtype, product)


def _project_out(basis: Array, V: Array) -> Array:
    """V minus its projection on the span of `basis`."""
    return np.asarray(V - basis @ (basis.T @ V))


def rayleigh(Q: Any, AQ: Any) -> tuple[Array, Array]:
    """Eigenvalues of Q'AQ, descending, and their eigenvectors, as NumPy arrays."""
    compressed = to_numpy(inner(Q, AQ))
    values, S = symmetric_eigen((compressed + compressed.T) / 2)
    return values[::-1], S[:, ::-1]


def _rayleigh_ritz(operator: Operator, vectors: Array) -> Eigenpairs:
    """Rayleigh-Ritz approximations to eigenpairs from the span of `vectors`."""
    basis = np.linalg.qr(vectors)[0].astype(operator.dtype, copy=False)
    values, rotation = np.linalg.eigh(basis.T @ operator.matmat(basis))
    return Eigenpairs(values, basis @ rotation)


def _new_directions(W: Any, lengths: Array, Q: Any) -> Any:
    """An orthonormal basis of the part of W that is orthogonal to Q, from the lengths of W."""
    used = lengths > 0
    W = select_columns(W, used) / convert_like(lengths[used], W)
    for _ in range(2):  # orthogonalising twice is enough
        W = orthonormal_basis(W - combine(Q, inner(Q, W)), 100 * float(np.finfo(lengths.dtype).eps))
    return W


def norm_estimate(operator: Operator) -> float:
    """A lower bound of the spectral norm, from one product."""
    probe = np.cos(np.arange(operator.n, dtype=np.float64) ** 2)[:, None].astype(operator.dtype)
    product = to_numpy(operator.matmat(columns(operator, probe)))
    return float(np.linalg.norm(product) / np.linalg.norm(probe))


def columns(operator: Operator, V: Array) -> Any:
    """Columns of the kind that are multiplied fastest with the matrix of an operator."""
    return backend().on_device(V) if operator.dense else V


def random_start(operator: Operator, width: int, seed: Any) -> Array:
    """Random columns to start an iteration from, uniform in [-1, 1]."""
    random = check_random_state(0 if seed is None else seed)
    return np.asarray(random.uniform(-1, 1, (operator.n, width))).astype(operator.dtype)


def random_signs(operator: Operator, width: int, seed: int) -> Array:
    """Random columns of -1 and 1, to estimate traces and spectra; quickly drawn."""
    bits = np.frombuffer(np.random.RandomState(seed).bytes(-(-operator.n * width // 8)), np.uint8)
    signs = np.unpackbits(bits, count=operator.n * width).reshape(operator.n, width)
    return np.asarray(2 * signs.astype(operator.dtype) - 1)
