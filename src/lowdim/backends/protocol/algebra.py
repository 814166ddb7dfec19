"""Products of matrices, and linear systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from lowdim.checks import Array

Columns = TypeVar("Columns")
"""A NumPy array, or one of the kind that `Backend.on_device` returns."""


class Algebra(Protocol):
    """Products with dense and sparse matrices, and linear systems."""

    def on_device(self, V: Array) -> Any:
        """The array itself, or a copy of it that stays on the device of the backend.

        `matmul` takes either as V, and returns the same kind.
        """

    def matmul(self, A: Array, V: Columns, *, squared: bool = False) -> Columns:
        """A @ V, or (A * A) @ V without storing A * A."""

    def spmm(
        self,
        A: Any,
        V: Array,
        *,
        scale: float = 1.0,
        shift: float = 0.0,
        before: Array | None = None,
    ) -> Array:
        """scale A V + shift V - before for a CSR matrix and a few dense columns.

        By default A V. With other values A must be square, and `before` has the shape of V.
        """

    def scatter(self, X: Array, center: Array) -> tuple[Array, Array]:
        """(X - center)' (X - center) and the sums of the columns of X - center, in float64."""

    def project(self, X: Array, center: Array, axes: Array) -> Array:
        """(X - center) axes', for a few axes (rows), in their dtype."""

    def smooth_modes(self, graphs: list[Any], k: int, seed: int) -> list[Array]:
        """The smoothest eigenvectors of the random walks on connected graphs, to a few digits.

        Parameters
        ----------
        graphs : list of symmetric CSR matrices
            Edge weights A; the random walk is diag(A 1)^-1 A.
        k : int
            Number of eigenvectors. The constant one, of the eigenvalue 1, is left out.
        seed : int
            Of the random start.

        Returns
        -------
        list of float32 arrays of shape (n, k)
            v with v' diag(A 1) v = 1, in the order of descending eigenvalues.
        """

    def inverse(self, V: Array) -> Callable[[Array], Array]:
        """The function from g, of shape (n, k), to V^-1 g, in float64.

        V is a symmetric positive definite float64 matrix, which may be overwritten.
        """

    def barycentric_weights(self, grams: Array, reg: float) -> Array:
        """Weights w of sum 1 with (G + reg tr(G) I) w proportional to 1, for each Gram matrix G."""

    def bregman_projections(
        self,
        gaps: Array,
        signs: Array,
        slack: float,
        multipliers: Array,
        targets: Array,
        matrix: Array,
    ) -> None:
        """Projections of a Mahalanobis matrix onto bounds of z'Mz, one after the other.

        Row c of `gaps` is the difference z of a pair, signs[c] is 1 for an upper and -1 for a lower
        bound, and targets[c] the bound (see `metric_learning.bregman`). All are float64. The
        multipliers, the targets and the symmetric matrix are updated in place.
        """
