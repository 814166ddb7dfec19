"""Similarities of all pairs of objects: by a kernel, by a function, or precomputed."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from lowdim import checks
from lowdim.checks import Array, dense, is_sparse
from lowdim.distances.matrices import check_square
from lowdim.messages import argument
from lowdim.numerics.kernels import Kernel, cross_kernel, kernel_matrix
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral.laplacian import degrees

KernelFor = Callable[[int], Kernel]  # the kernel that an affinity names, for a number of features


class Similarities(Objects):
    """A square matrix of similarities, dense or sparse."""

    metric_name = "precomputed"
    _description = "a matrix of similarities"

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.n, self.dtype = matrix, matrix.shape[0], matrix.dtype


def similarities_of(X: Any, name: str, *, nonnegative: bool = False) -> Similarities:
    """Check a square matrix of similarities given by the user.

    `name` is what they are, for messages: "kernel" or "affinity". With `nonnegative` they must also
    be symmetric and not negative.
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


def weights_of_all_pairs(objects: Objects, affinity: Any, kernel_for: KernelFor) -> Any:
    """The symmetric matrix of weights of all pairs, none of them negative.

    `kernel_for` is a function from the number of features to the kernel, unless `affinity` is a
    function of all rows. Neither is used if the objects are `Similarities`.
    """
    if isinstance(objects, Similarities):
        return objects.matrix
    rows = objects.vectors("affinity")
    if takes_all_rows(affinity):
        W = similarities_of(affinity(rows), "affinity", nonnegative=True).matrix
    else:
        W = kernel_matrix(rows, kernel_for(rows.shape[1]))
    if W.min() < 0:
        i, j = np.argwhere(W < 0)[0]
        raise ValueError(
            f"{argument('affinity', affinity)} is negative for objects {i} and {j} ({W[i, j]:g}), "
            "but weights must not be. Use another kernel, such as 'rbf'."
        )
    return W.astype(objects.dtype, copy=False)


def weights_to_all(new: NewObjects, rows: Any, affinity: Any, kernel_for: KernelFor) -> Array:
    """The weights of new objects to all training objects, which are `rows`."""
    if takes_all_rows(affinity):
        raise ValueError(
            "transform needs the weights between new objects and training objects, but the "
            "function given as affinity takes all rows at once. Give a function of two vectors."
        )
    return cross_kernel(new.vectors(), rows, kernel_for(rows.shape[1]))


def takes_all_rows(affinity: Any) -> bool:
    """Whether an affinity is a function of one argument, all rows, rather than of two vectors."""
    if not callable(affinity):
        return False
    parameters = signature(affinity).parameters.values()
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is Parameter.empty]
    return len(needed) == 1


def check_components(W: Any, policy: str) -> None:
    """Check that weights without loops connect all objects.

    Several components are warned of, or an error with policy "raise"; objects without any weight
    are an error in both cases.
    """
    isolated = np.flatnonzero(degrees(W) <= 0)
    if len(isolated):
        raise ValueError(
            f"X: object {isolated[0]} has no positive weight to any other object. Leave such "
            "objects out, or use another affinity."
        )
    count = connected_components(W, directed=False)[0]
    if count > 1:
        problem = f"the number of connected components of the affinity is {count} > 1"
        if policy == "raise":
            raise ValueError(f"X: {problem}.")
        checks.warn(f"{problem}: the first coordinates only tell the components apart.")


def equal_row(W: Any, row: Array) -> int | None:
    """The training object with the same weights as a new one, to rounding; None if there is none.

    It is sought only among objects with a weight to themselves. For others the extension formula
    gives their coordinates.
    """
    itself = W.diagonal()
    rounding = 1e-6 if row.dtype == np.float32 else 1e-12
    close = (itself > 0) & (np.abs(row - itself) <= rounding * itself)
    for i in np.flatnonzero(close):
        known = dense(W[[i]])[0]
        if np.allclose(row, known, rtol=0, atol=rounding * float(known.max())):
            return int(i)
    return None
