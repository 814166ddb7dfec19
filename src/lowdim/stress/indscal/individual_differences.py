"""Individual differences scaling: the weights of subjects, starts, and one normal form.

The model is B_k ~ X C_k X' with the group space X and a matrix C_k for each subject: diagonal in
INDSCAL (Carroll and Chang 1970), positive semidefinite in IDIOSCAL (Carroll and Chang 1972).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lowdim.backends.native.dense import orthonormal, product, stack_product, symmetric_eigen
from lowdim.checks import Array
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.quasi_newton import Minimum, lbfgs
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.elementary import normal_numbers
from lowdim.stress.indscal.candecomp import (
    SharedSpace,
    diagonal_weights,
    full_weights,
    principal_space,
    simultaneous_axes,
)

MIXTURES = 50  # random mixtures of the subjects' matrices that are tried for a start
BETTER = 1e-9  # relative decrease of the loss from which a later start is preferred


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
