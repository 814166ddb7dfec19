"""Objects given by a matrix of similarities: a precomputed kernel or affinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import is_sparse
from lowdim.distances.matrices import check_square
from lowdim.objects.objects import Objects


class Similarities(Objects):
    """A square matrix of similarities, dense or sparse."""

    metric_name = "precomputed"
    _description = "a matrix of similarities"

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.n, self.dtype = matrix, matrix.shape[0], matrix.dtype


def similarities_of(X: Any, name: str, *, nonnegative: bool = False) -> Similarities:
    """Check a square matrix of similarities given by the user.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n)
    name : str
        What the similarities are, for messages: "kernel" or "affinity".
    nonnegative : bool
        Whether they must also be symmetric and not negative.
    """
    W = checks.vectors(X, sparse=True) if is_sparse(X) else check_square(X)
    if not nonnegative:
        return Similarities(W)
    rounding = max(1e-9, 8 * float(np.finfo(W.dtype).eps))
    if W.shape[0] != W.shape[1] or abs(W - W.T).max() > rounding * abs(W).max():
        raise ValueError(f"X: a precomputed {name} must be square and symmetric.")
    if W.min() < 0:
        raise ValueError(f"X: a precomputed {name} must not be negative, found {W.min():g}.")
    return Similarities(W)
