"""What objectives and eigensolvers need to compute with NumPy arrays or the tensors of a device.

Inside of `Backend.descend` an objective gets coordinates of either kind, and columns that are
multiplied with a large dense matrix are of the kind that `Backend.on_device` returns. Arithmetic is
the same for both; the functions here are what differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.backends.native import forces as native_forces
from lowdim.backends.native.dense import orthonormal, product, symmetric_eigen
from lowdim.checks import Array

GRAM_ROUNDING = 1e-13  # relative error of the eigenvalues of a Gram matrix in double precision


def convert_like(values: Array, Y: Any) -> Any:
    """An array as an array of the kind and on the device of Y."""
    if isinstance(Y, np.ndarray):
        return values
    # The driver takes what it is given before it returns, so nothing need wait for the device.
    tensor = Y.new_tensor(np.ascontiguousarray(values), device="cpu")
    return tensor.to(Y.device, non_blocking=True)


def total(values: Any) -> Any:
    """The sum of a vector in double precision (a tensor that need not be computed yet, if the
    vector is one)."""
    if isinstance(values, np.ndarray):
        return native_forces.total(values)
    return values.sum() if values.device.type == "mps" else values.double().sum()


def subtract_scaled(first: Any, a: Any, second: Any, b: Any) -> None:
    """Set `first` to a first - b second; may change `second`."""
    if isinstance(first, np.ndarray):
        native_forces.subtract_scaled(first, float(a), second, float(b))
    else:
        first *= a
        second *= b
        first -= second


def to_numpy(values: Any) -> Array:
    """An array of either kind as a NumPy array."""
    return values if isinstance(values, np.ndarray) else np.asarray(values.cpu())


def column_means(V: Any) -> Any:
    """The means of the columns, summed in double precision, in the type of the matrix."""
    if isinstance(V, np.ndarray):
        return V.mean(axis=0, dtype=np.float64).astype(V.dtype)
    import torch

    dtype = V.dtype if V.device.type == "mps" else torch.float64
    return V.mean(dim=0, dtype=dtype).to(V.dtype)


def qr(V: Any) -> tuple[Any, Any]:
    """An orthonormal basis of the columns, and the triangular factor."""
    if isinstance(V, np.ndarray):
        return orthonormal(V)
    import torch

    factors: tuple[Any, Any] = torch.linalg.qr(V)
    return factors


def inner(V: Any, W: Any) -> Any:
    """V' W of matrices of a few columns, in the type of V."""
    if isinstance(V, np.ndarray):
        return product(V.T, W.T, precise=True).astype(V.dtype, copy=False)
    return V.T @ W


def combine(V: Any, S: Any) -> Any:
    """V S, for a small matrix S of the kind of V."""
    return product(V, S.T.astype(V.dtype, copy=False)) if isinstance(V, np.ndarray) else V @ S


def join_columns(*parts: Any) -> Any:
    """The columns of several matrices as one matrix."""
    if isinstance(parts[0], np.ndarray):
        return np.hstack(parts)
    import torch

    return torch.cat(parts, dim=1)


def orthonormal_basis(V: Any, least: float) -> Any:
    """An orthonormal basis of the columns, without directions of at most the given length.

    On a device a factorisation by reflections needs several kernels for every column. For single
    precision the Gram matrix in double precision is accurate enough (Stathopoulos and Wu 2002).
    """
    if isinstance(V, np.ndarray) or V.device.type == "mps" or V.element_size() > 4:
        Q, R = qr(V)
        return select_columns(Q, np.abs(np.diagonal(to_numpy(R))) > least)
    precise = V.double()
    values, turn = symmetric_eigen(to_numpy(precise.T @ precise))
    keep = values > max(least**2, GRAM_ROUNDING * values.max(initial=0))
    scaled = turn[:, keep] / np.sqrt(values[keep])
    return (precise @ convert_like(scaled, precise)).to(V.dtype)


def select_columns(V: Any, keep: Array) -> Any:
    """The columns of a matrix for which `keep` is true."""
    if not isinstance(V, np.ndarray) and keep.all():
        return V
    return V[:, np.flatnonzero(keep).tolist()]


def norms(V: Any) -> Any:
    """The lengths of the columns, of the kind of V."""
    return np.sqrt(np.square(V).sum(axis=0)) if isinstance(V, np.ndarray) else V.norm(dim=0)


def column_norms(V: Any) -> Array:
    """The lengths of the columns, as a NumPy array."""
    return to_numpy(norms(V))
