"""The group space and the subject weights of several scalar-product matrices (Carroll, Chang 1970).

The model is B_k ~ X C_k X' with the group space X and a small positive semidefinite matrix C_k for
each subject k: diagonal in INDSCAL, any in IDIOSCAL. For a given X the best C_k solves a small
problem, so it is eliminated, and a quasi-Newton method minimises over X alone; alternating least
squares would converge slowly. If C_k is diagonal and not negative, dimensions cannot diverge and
cancel each other as in unconstrained CANDECOMP (ten Berge, Kiers and Krijnen 1993), so that a
minimum exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lowdim.backends.native.dense import orthonormal, product, stack_product, symmetric_eigen
from lowdim.checks import Array
from lowdim.numerics.eigenpairs import fix_signs, start_eigenpairs
from lowdim.numerics.quasi_newton import Minimum, lbfgs
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.elementary import normal_numbers
from lowdim.stress.disparities import nonnegative_minimum

MIXTURES = 50  # random mixtures of the subjects' matrices that are tried for a start
BETTER = 1e-9  # relative decrease of the loss from which a later start is preferred

Inner = Callable[[Array, Array], Array]
"""From the Gram matrix X'X and the stack X'B_kX to the best C_k."""


class SharedSpace:
    """mean_k |B_k - X C_k X'|^2 as a function of X, an `Objective`."""

    def __init__(self, B: Array, inner: Inner) -> None:
        self.B, self.inner = B, inner
        self.squares = np.array([float((Bk.astype(np.float64) ** 2).sum()) for Bk in B])

    def __call__(self, X: Array) -> tuple[float, Array]:
        BX, gram = self.products(X), product(X.T, X.T)
        XBX = stack_product(X.T, BX)
        C = self.inner(gram, XBX)
        inside = stack_product(stack_product(C, gram), C)
        gradient = (stack_product(X, inside) - stack_product(BX, C)).sum(axis=0)
        return float(self.losses(XBX, gram, C).mean()), gradient * (4 / len(self.B))

    def products(self, X: Array) -> Array:
        """The stack of B_k X."""
        return stack_product(self.B, X.astype(self.B.dtype)).astype(np.float64, copy=False)

    def weights(self, X: Array) -> tuple[Array, Array]:
        """The best C_k, and the share of each subject's sum of squares that the model explains."""
        XBX, gram = stack_product(X.T, self.products(X)), product(X.T, X.T)
        C = self.inner(gram, XBX)
        return C, 1 - self.losses(XBX, gram, C) / self.squares

    def losses(self, XBX: Array, gram: Array, C: Array) -> Array:
        """|B_k - X C_k X'|^2 of each subject, from X'B_kX and X'X."""
        fit = (C * XBX).sum(axis=(1, 2))
        scaled = stack_product(C, gram)
        size = (scaled * scaled.transpose(0, 2, 1)).sum(axis=(1, 2))
        return np.asarray(np.maximum(self.squares - 2 * fit + size, 0))


@dataclass(frozen=True)
class SubjectWeights:
    """The form of C_k: `full` matrices, or diagonal ones that are stored as vectors."""

    full: bool

    def shared_space(self, B: Array) -> SharedSpace:
        """The loss as a function of the group space alone."""
        return SharedSpace(B, full_weights if self.full else diagonal_weights)

    def matrices(self, weights: Array) -> Array:
        """C_k from what is stored, shape (n_subjects, p, p)."""
        exact = weights.astype(np.float64)
        return exact if self.full else exact[:, :, None] * np.eye(exact.shape[1])

    def storage_form(self, C: Array) -> Array:
        """What is stored of C_k."""
        return C if self.full else np.diagonal(C, axis1=1, axis2=2).copy()

    def best_weights(self, B: Array, X: Array) -> Array:
        """The weights of subjects in a given group space."""
        return self.storage_form(self.shared_space(B).weights(X.astype(np.float64))[0])

    def normal_form(self, B: Array, X: Array) -> tuple[Array, Array]:
        """The same solution with unit columns, the largest weights first and signs fixed.

        The columns of a full model are orthonormal, along the axes of the mean of C_k.
        """
        shared = self.shared_space(B)
        if not self.full:
            X = unit_columns(X)
            C = shared.weights(X)[0]
            order = np.argsort(-(np.diagonal(C, axis1=1, axis2=2) ** 2).sum(axis=0), kind="stable")
            return fix_signs(X[:, order]), self.storage_form(C[:, order][:, :, order])
        X = orthonormal(X)[0]
        turn = symmetric_eigen(shared.weights(X)[0].mean(axis=0))[1][:, ::-1]
        X = fix_signs(product(X, turn.T))
        return X, self.storage_form(shared.weights(X)[0])

    def explained_shares(self, B: Array, X: Array, weights: Array) -> Array:
        """1 - |B_k - X C_k X'|^2 / |B_k|^2 of each subject."""
        shared, X = self.shared_space(B), X.astype(np.float64)
        XBX, gram = stack_product(X.T, shared.products(X)), product(X.T, X.T)
        losses = shared.losses(XBX, gram, self.matrices(weights))
        return np.asarray(1 - losses / shared.squares)

    def starts(self, B: Array, p: int, n_init: int, random: np.random.RandomState) -> list[Array]:
        """Likely group spaces, and random ones to make up the number."""
        drawn = random_spaces(B.shape[1], p, n_init, random)
        if self.full:
            return [principal_space(B, p)[0], *drawn[1:]]
        likely = simultaneous_axes(B, p, random, MIXTURES)
        return [*likely[: (n_init + 1) // 2], *drawn][:n_init]


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
    values, vectors = symmetric_eigen(gram)
    root = np.sqrt(np.maximum(values, 1e-14 * max(float(values[-1]), 1e-300)))
    basis = vectors / root
    inside, turn = symmetric_eigen(stack_product(stack_product(basis.T, XBX), basis))
    kept = stack_product(turn * np.maximum(inside, 0)[:, None, :], turn.transpose(0, 2, 1))
    return stack_product(stack_product(basis, kept), basis.T)


def nonnegative(A: Array, targets: Array) -> Array:
    """For each row t of `targets`, the w >= 0 that minimises w'Aw - 2 w't."""
    size = np.sqrt(np.maximum(np.diagonal(A), 1e-300))
    scaled = A / np.outer(size, size)
    values, vectors = symmetric_eigen(scaled)
    values = np.maximum(values, 1e-14)
    wanted = targets / size
    free = product(product(wanted, vectors.T) / values, vectors)
    positive = product(vectors * values, vectors)
    for k in np.flatnonzero((free < 0).any(axis=1)):
        free[k] = nonnegative_minimum(positive, wanted[k])
    return np.asarray(free / size)


def principal_space(B: Array, p: int) -> tuple[Array, Array]:
    """The p leading eigenvectors of the mean of the B_k, and their eigenvalues, not negative."""
    eigenpairs = start_eigenpairs(B.mean(axis=0, dtype=np.float64), p)
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
    inside = stack_product(U.T, stack_product(B, U.astype(B.dtype)).astype(np.float64))
    whitened = inside / np.outer(root, root)
    centered = whitened - whitened.mean(axis=0)
    spaces = []
    for _ in range(tries):
        mixture = (normal_numbers(random, len(B))[:, None, None] * centered).sum(axis=0)
        turn = symmetric_eigen((mixture + mixture.T) / 2)[1]
        turned = stack_product(stack_product(turn.T, centered), turn)
        outside = float((turned**2).sum() - (np.diagonal(turned, axis1=1, axis2=2) ** 2).sum())
        spaces.append((outside, product(U * root, turn.T)))
    spaces.sort(key=lambda pair: pair[0])
    return [space for _, space in spaces]


def random_spaces(n: int, p: int, count: int, random: np.random.RandomState) -> list[Array]:
    """Random group spaces, centred."""
    drawn = [normal_numbers(random, (n, p)) for _ in range(count)]
    return [start - start.mean(axis=0) for start in drawn]


def best_minimum(
    shared: SharedSpace, starts: list[Array], new_monitor: Callable[[], Monitor], tol: float
) -> Minimum:
    """The lowest of the minima that quasi-Newton steps reach from the starts."""
    best: Minimum | None = None
    for number, start in enumerate(starts):
        monitor = new_monitor()
        monitor.label += f", start {number + 1} of {len(starts)}"
        minimum = lbfgs(shared, unit_columns(start), monitor, tol=tol, show=unit_columns)
        if best is None or minimum.value < best.value * (1 - BETTER):
            best = minimum
        if monitor.stopped:
            break
    assert best is not None
    return best


def unit_columns(X: Array) -> Array:
    """Columns scaled to length one."""
    length = np.sqrt((X**2).sum(axis=0))
    return np.asarray(X / np.where(length > 0, length, 1.0))


def square_root(C: Array, name: str) -> Array:
    """The symmetric square root of a matrix of weights, which stretches the group space.

    `name` says in the message of an error which weights are negative.
    """
    values, vectors = symmetric_eigen(C)
    if values[0] < -1e-5 * max(float(np.abs(values).max()), 1e-300):
        raise ValueError(
            f"{name} has the negative weight {values[0]:g}: no distances belong to it."
        )
    return product(vectors * np.sqrt(np.maximum(values, 0)), vectors)
