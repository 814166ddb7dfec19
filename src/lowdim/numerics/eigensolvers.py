"""Symmetric operators, and the algorithms for their extreme eigenpairs; `eigenpairs` chooses."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.backends.generic import (
    column_means,
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
from lowdim.backends.native.algebra import gram, times
from lowdim.backends.native.dense import symmetric_eigen
from lowdim.backends.subspace import Problem, smallest_eigenpairs
from lowdim.checks import Array, fixed_random_state, is_sparse

GUARD = 4  # columns beyond those asked for, at least, of `chebyshev`
MOST_PRODUCTS = 4000  # with these columns, of `chebyshev`


@dataclass(frozen=True)
class Operator:
    """A symmetric n x n matrix that is defined by its products and need not be stored.

    `matmat` multiplies it with V of shape (n, k). It is `dense` if a product reads n^2 numbers, so
    that its time hardly depends on k; `matmat` then takes arrays of either kind that
    `Backend.matmul` does.
    """

    n: int
    dtype: Any
    matmat: Callable[[Any], Any]
    dense: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n


def as_operator(A: Any) -> Operator:
    """A symmetric array, sparse matrix or `Operator` as an `Operator`."""
    if isinstance(A, Operator):
        return A
    if is_sparse(A):
        csr = A.tocsr()
        return Operator(csr.shape[0], csr.dtype, lambda V: backend().spmm(csr, V))
    return Operator(len(A), A.dtype, lambda V: backend().matmul(A, V), dense=True)


def center(A: Operator) -> Operator:
    """J A J with the centring matrix J = I - 11'/n."""

    def product(V: Any) -> Any:
        out = A.matmat(V - column_means(V))
        return out - column_means(out)

    return Operator(A.n, A.dtype, product, A.dense)


class Eigenpairs(NamedTuple):
    """Eigenvalues and, as columns, eigenvectors.

    A solver may give one pair more than it was asked for, or its value alone.
    """

    values: Array
    vectors: Array


class Settings(NamedTuple):
    """Where iterations end, by relative residual and number, and the seed of their start."""

    tol: float
    max_iter: int | None = None
    seed: Any = None


def dense(A: Any, operator: Operator, k: int, top: bool, basis: Array | None = None) -> Eigenpairs:
    """By LAPACK; null vectors in `basis` are moved to the top of the spectrum."""
    if isinstance(A, np.ndarray):
        full = A
    elif is_sparse(A):
        full = A.toarray()
    else:
        full = operator.matmat(np.eye(operator.n, dtype=operator.dtype))
    full = full + full.T
    full /= 2
    if basis is not None:  # above every other eigenvalue
        full = _project_out(basis, _project_out(basis, full).T)
        full += (2 * np.abs(full).sum(axis=1).max() + 1) * (basis @ basis.T)
    return _lapack(full, k, top)


def _lapack(A: Array, k: int, top: bool) -> Eigenpairs:
    """The k largest (or smallest) eigenpairs of a symmetric array, ascending, by LAPACK."""
    from scipy.linalg import eigh

    n = len(A)
    span = (n - k, n - 1) if top else (0, k - 1)
    if k <= n // 4:
        values, vectors = eigh(A, subset_by_index=span, check_finite=False)
        if vectors.shape[1] == k:  # LAPACK may lose some of many equal eigenvalues
            return Eigenpairs(values, vectors)
    values, vectors = eigh(A, check_finite=False)
    return Eigenpairs(values[span[0] : span[1] + 1], vectors[:, span[0] : span[1] + 1])


def krylov(operator: Operator, k: int, settings: Settings) -> Eigenpairs:
    """The largest eigenvalues of a dense matrix by block Krylov iterations.

    A product with eight columns takes little more time than with one, because reading the matrix
    takes most of it. So the subspace grows by the residuals of eight Ritz vectors at once. A full
    subspace is restarted from its leading Ritz vectors.
    """
    width = max(8, 4 * -(-(k + 2) // 4))
    most = max(8 * width, 2 * k + 4 * width)
    floor = 1e-6 if operator.dtype == np.float32 else 1e-13
    Q = qr(columns(operator, random_start(operator, width, settings.seed)))[0]
    AQ = operator.matmat(Q)
    for _ in range(settings.max_iter or 200):
        values, S = rayleigh(Q, AQ)
        turn = convert_like(S[:, :width], Q)
        residuals = combine(AQ, turn) - combine(Q, turn) * convert_like(values[:width], Q)
        size = max(float(np.abs(values).max()), 1e-300)
        lengths = column_norms(residuals)
        converged = lengths[:k].max() <= max(settings.tol, floor) * size
        fresh = residuals[:, :0] if converged else _new_directions(residuals, lengths, Q)
        if not fresh.shape[1]:  # accurate enough, or the subspace is invariant
            break
        if Q.shape[1] + width > most:
            better = convert_like(S[:, : max(k + width, most // 2)], Q)
            Q, AQ = combine(Q, better), combine(AQ, better)
        Q, AQ = join_columns(Q, fresh), join_columns(AQ, operator.matmat(fresh))
    else:
        values, S = rayleigh(Q, AQ)
    return Eigenpairs(values[: k + 1], to_numpy(combine(Q, convert_like(S[:, :k], Q))))


def lanczos(operator: Operator, k: int, settings: Settings, sign: float = 1.0) -> Eigenpairs:
    """The largest eigenvalues of sign * A by implicitly restarted Lanczos iterations."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def product(v: Array) -> Array:
        return np.asarray(sign * operator.matmat(v.reshape(-1, 1))[:, 0])

    A = LinearOperator(operator.shape, matvec=product, dtype=operator.dtype)
    options: dict[str, Any] = {
        "tol": settings.tol,
        "maxiter": settings.max_iter,
        "v0": random_start(operator, 1, settings.seed)[:, 0],
        "ncv": min(operator.n - 1, max(2 * k + 1, 20)),
    }
    if _restarts_can_be_seeded():
        options["rng"] = np.random.default_rng(0)
    values, vectors = eigsh(A, k, which="LA", **options)
    return Eigenpairs(sign * values, vectors)


@cache
def _restarts_can_be_seeded() -> bool:
    """Whether `eigsh` has an argument for the vectors that it draws in an invariant subspace.

    Since SciPy 1.17; before, ARPACK draws them from a generator with a fixed seed.
    """
    from scipy.sparse.linalg import eigsh

    return "rng" in inspect.signature(eigsh).parameters


def chebyshev(
    A: Any, operator: Operator, k: int, basis: Array | None, settings: Settings
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
    start = random_start(operator, width, settings.seed)
    pairs = smallest_eigenpairs(problem, start, k, max(settings.tol, floor), MOST_PRODUCTS)
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


def symmetric_lu(A: Any) -> Any:
    """SuperLU factors of a sparse symmetric matrix, ordered by minimum degree without pivoting."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    return splu(
        csc_array(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def shift_invert(
    A: Any, operator: Operator, k: int, basis: Array | None, settings: Settings
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
        inside = V if basis is None else _project_out(basis, V)
        x = factor.solve(np.ascontiguousarray(inside, dtype=np.float64))
        return np.asarray(x if basis is None else _project_out(basis, x))

    pairs = lanczos(Operator(operator.n, np.dtype(np.float64), solve), k + 1, settings)
    ritz = np.linalg.qr(pairs.vectors)[0].astype(operator.dtype, copy=False)
    values, rotation = np.linalg.eigh(ritz.T @ operator.matmat(ritz))
    return Eigenpairs(values, ritz @ rotation)


def lobpcg(
    A: Any, operator: Operator, k: int, basis: Array | None, settings: Settings
) -> Eigenpairs:
    """The smallest eigenvalues by LOBPCG (Knyazev 2001), preconditioned by the diagonal of A."""
    from scipy.sparse.linalg import lobpcg as scipy_lobpcg

    preconditioner = None
    if hasattr(A, "diagonal"):  # an `Operator` has none
        diagonal = np.maximum(A.diagonal(), 1e-12 * max(float(A.diagonal().max()), 1e-300))[:, None]

        def preconditioner(V: Array) -> Array:
            return np.asarray(V / diagonal)

    guard = min(k + 5, operator.n // 5)
    with warnings.catch_warnings():  # `eigenpairs` checks the residuals and warns
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = scipy_lobpcg(
            operator.matmat,
            random_start(operator, max(guard, k), settings.seed),
            Y=basis,
            M=preconditioner,
            largest=False,
            tol=max(settings.tol, 1e-9) * norm_estimate(operator),
            maxiter=settings.max_iter or 1000,
        )
    order = np.argsort(values)[: k + 1]
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
    coefficients: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(steps):  # nothing is copied to the host, which would wait for the device
        W = project(operator.matmat(V))  # V is orthogonal to the known vectors already
        if before is not None:
            W -= before * beta
        alpha = (V * W).sum(0)
        W -= V * alpha
        beta = norms(W)
        before, V = V, W / beta.clip(1e-30)
        for series, value in zip(coefficients, (alpha, beta), strict=True):
            series.append(value[:, None])
    alphas, betas = (to_numpy(join_columns(*c)).astype(np.float64).T for c in coefficients)
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
    random = fixed_random_state(seed)
    return np.asarray(random.uniform(-1, 1, (operator.n, width))).astype(operator.dtype)


def random_signs(operator: Operator, width: int, seed: int) -> Array:
    """Random columns of -1 and 1, to estimate traces and spectra; quickly drawn."""
    bits = np.frombuffer(np.random.RandomState(seed).bytes(-(-operator.n * width // 8)), np.uint8)
    signs = np.unpackbits(bits, count=operator.n * width).reshape(operator.n, width)
    return np.asarray(2 * signs.astype(operator.dtype) - 1)
