"""Common space and subject weights of several scalar-product matrices (Carroll and Chang 1970).

The model is B_k ~ X C_k X' with a small positive semidefinite matrix C_k for each subject k. For a
given X the best C_k solves a small problem, so it is eliminated, and a quasi-Newton method
minimises over X alone; alternating least squares would converge slowly. If C_k is diagonal and not
negative, dimensions cannot diverge and cancel each other as in unconstrained CANDECOMP (ten Berge,
Kiers and Krijnen 1993), so that a minimum exists.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim.checks import Array

Inner = Callable[[Array, Array], Array]
"""From the Gram matrix X'X and the stack X'B_kX to the best C_k."""


class SharedSpace:
    """mean_k |B_k - X C_k X'|^2 as a function of X, an `Objective`."""

    def __init__(self, B: Array, inner: Inner) -> None:
        self.B, self.inner = B, inner
        self.squares = np.array([float((Bk.astype(np.float64) ** 2).sum()) for Bk in B])

    def __call__(self, X: Array) -> tuple[float, Array]:
        BX = self.products(X)
        gram = X.T @ X
        C = self.inner(gram, X.T @ BX)
        gradient = (X @ (C @ gram @ C) - BX @ C).sum(axis=0) * (4 / len(self.B))
        return float(self.losses(X.T @ BX, gram, C).mean()), gradient

    def products(self, X: Array) -> Array:
        """The stack of B_k X."""
        return np.asarray(np.matmul(self.B, X.astype(self.B.dtype)), dtype=np.float64)

    def weights(self, X: Array) -> tuple[Array, Array]:
        """The best C_k, and the share of each subject's sum of squares that the model explains."""
        XBX, gram = X.T @ self.products(X), X.T @ X
        C = self.inner(gram, XBX)
        return C, 1 - self.losses(XBX, gram, C) / self.squares

    def losses(self, XBX: Array, gram: Array, C: Array) -> Array:
        """|B_k - X C_k X'|^2 of each subject, from X'B_kX and X'X."""
        fit = np.einsum("kab,kab->k", C, XBX)
        scaled = C @ gram
        size = np.einsum("kab,kba->k", scaled, scaled)
        return np.asarray(np.maximum(self.squares - 2 * fit + size, 0))


def diagonal_weights(gram: Array, XBX: Array) -> Array:
    """The best diagonal C_k with entries w_k >= 0.

    Without the sign constraint they solve (X'X o X'X) w_k = diag(X'B_kX).
    """
    targets = np.diagonal(XBX, axis1=1, axis2=2)
    w = nonnegative(gram * gram, targets)
    return np.asarray(w[:, :, None] * np.eye(len(gram)))


def full_weights(gram: Array, XBX: Array) -> Array:
    """The best positive semidefinite C_k.

    B_k is projected on the span of X, and its negative eigenvalues there are set to 0.
    """
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, 1e-14 * max(float(values[-1]), 1e-300)))
    basis = vectors / root
    inside, turn = np.linalg.eigh(basis.T @ XBX @ basis)
    kept = (turn * np.maximum(inside, 0)[:, None, :]) @ turn.transpose(0, 2, 1)
    return np.asarray(basis @ kept @ basis.T)


def nonnegative(A: Array, targets: Array) -> Array:
    """For each row t of `targets`, the w >= 0 that minimises w'Aw - 2 w't."""
    from scipy.optimize import nnls

    size = np.sqrt(np.maximum(np.diagonal(A), 1e-300))
    scaled = A / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    root = np.sqrt(np.maximum(values, 1e-14))
    factor = (vectors * root) @ vectors.T
    inverse = (vectors / root) @ vectors.T
    right = (targets / size) @ inverse
    free = right @ inverse
    for k in np.flatnonzero((free < 0).any(axis=1)):
        free[k] = nnls(factor, right[k])[0]
    return np.asarray(free / size)


def principal_space(B: Array, p: int) -> tuple[Array, Array]:
    """The p leading eigenvectors of the mean of the B_k, and their eigenvalues, not negative."""
    from lowdim.numerics.eigenpairs import top_eigenpairs

    mean = B.mean(axis=0, dtype=np.float64)
    eigenpairs = top_eigenpairs(mean, p)
    return eigenpairs.vectors, np.maximum(eigenpairs.values, 0)


def simultaneous_axes(B: Array, p: int, random: np.random.RandomState, tries: int) -> list[Array]:
    """Starts for X whose axes diagonalise random mixtures of the subjects' matrices, best first.

    If the model holds, the whitened matrices S^-1/2 U'B_kU S^-1/2, with U and S the leading
    eigenpairs of the mean, all have the same eigenvectors (Schoenemann 1972). Then these are also
    the eigenvectors of a random linear combination, whose eigenvalues are distinct. Starts are
    ordered by the sum of squares that they leave outside of the diagonals.
    """
    U, values = principal_space(B, p)
    root = np.sqrt(np.maximum(values, 1e-9 * max(float(values.max()), 1e-300)))
    inside = np.matmul(U.T, np.matmul(B, U.astype(B.dtype)).astype(np.float64))
    whitened = inside / np.outer(root, root)
    centered = whitened - whitened.mean(axis=0)
    spaces = []
    for _ in range(tries):
        mixture = np.einsum("k,kab->ab", random.standard_normal(len(B)), centered)
        turn = np.linalg.eigh(mixture)[1]
        turned = turn.T @ centered @ turn
        outside = float((turned**2).sum() - (np.diagonal(turned, axis1=1, axis2=2) ** 2).sum())
        spaces.append((outside, (U * root) @ turn))
    spaces.sort(key=lambda pair: pair[0])
    return [space for _, space in spaces]
