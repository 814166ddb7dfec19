"""Classical scaling: coordinates from a Gram matrix (Torgerson 1952; Gower 1966)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.checks import Array
from lowdim.numerics.eigenpairs import fix_signs, spectrum_size, top_eigenpairs
from lowdim.numerics.operators import Operator
from lowdim.spectral.gram import gram_operator, negative_share, squared_means

FULL_SPECTRUM_UP_TO = 1000  # objects up to which the negative share is exact, not an estimate


class Scaling(NamedTuple):
    """Leading eigenpairs of B, negative eigenvalues set to 0, and the negative share of B."""

    values: Array
    vectors: Array
    negative_share: float

    @property
    def coordinates(self) -> Array:
        """Eigenvectors times the square roots of the eigenvalues."""
        return np.asarray(self.vectors * np.sqrt(self.values).astype(self.vectors.dtype))


def classical_scaling(
    B: Operator,
    k: int,
    *,
    trace: float,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
) -> Scaling:
    """The k leading eigenpairs of a Gram matrix; negative eigenvalues are set to 0.

    Parameters
    ----------
    B : Operator
        Double-centred Gram matrix.
    k : int
    trace : float
        Of B; the share of negative eigenvalues follows from it.
    solver, tol, max_iter
        See `lowdim.numerics.eigenpairs.top_eigenpairs`.
    """
    found = top_eigenpairs(B, k, solver=solver, tol=tol, max_iter=max_iter)
    if k >= B.n:
        share = negative_share(found.values)
    else:
        size = spectrum_size(B, found, exact=B.n <= FULL_SPECTRUM_UP_TO)
        share = float(np.clip((size - trace) / 2 / size, 0, 1)) if size > 0 else 0.0
        share = 0.0 if share < 1e-9 else share
    return Scaling(np.maximum(found.values, 0), found.vectors, share)


def scale_distances(
    D: Array, k: int, *, solver: str = "auto", tol: float = 0.0, max_iter: int | None = None
) -> Scaling:
    """Classical scaling of a matrix of distances to k dimensions."""
    trace = float(squared_means(D).mean()) / 2 * len(D)
    return classical_scaling(
        gram_operator(D), k, trace=trace, solver=solver, tol=tol, max_iter=max_iter
    )


def leading_count(values: Array, share: float, total: float) -> int:
    """The fewest leading values, none of them negative, that hold more than a share of a total."""
    part = np.cumsum(values / total) if total > 0 else np.ones(len(values))
    return min(len(values), int(np.searchsorted(part, share, side="right")) + 1)


def pivoted_cholesky_scaling(D: Array, k: int) -> Scaling:
    """Approximate classical scaling by a pivoted Cholesky factorisation B ~ L L' with k columns.

    The pivots are objects farthest from the span of those before. Apart from the row means only k
    rows of D are read. L is then rotated to its principal axes.
    """
    n = len(D)
    means = squared_means(D)
    grand = means.mean()
    left = means - grand / 2  # the diagonal of B: the squared distance to the centroid
    floor = 1e-12 * max(float(left.max(initial=0.0)), 1e-300)
    L = np.zeros((n, k))
    for step in range(k):
        pivot = int(left.argmax())
        if left[pivot] <= floor:
            break
        column = -0.5 * (D[pivot].astype(np.float64) ** 2 - means - means[pivot] + grand)
        column -= L[:, :step] @ L[pivot, :step]
        L[:, step] = column / np.sqrt(left[pivot])
        left = np.maximum(left - L[:, step] ** 2, 0)
        left[pivot] = 0
    vectors, lengths, _ = np.linalg.svd(L, full_matrices=False)
    return Scaling(lengths**2, fix_signs(vectors).astype(D.dtype), 0.0)
