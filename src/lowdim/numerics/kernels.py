"""Kernels that are functions of two vectors, their matrices and their distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.numpy_blocks import fill_symmetric, unit_length
from lowdim.checks import Array, dense, is_sparse
from lowdim.messages import argument
from lowdim.numerics.eigensolvers import Operator, as_operator, center
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run

ALIASES = {"gaussian": "rbf", "polynomial": "poly"}
NAMES = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine")
TILE = 512


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters: `block(A, B)` holds k(a, b) for the rows of A and B."""

    name: str
    block: Callable[[Any, Any], Array]


def resolve_kernel(
    kernel: str | Callable[..., Any],
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    params: dict[str, Any] | None = None,
    n_features: int = 1,
) -> Kernel:
    """The kernel of a name or a function of two vectors; gamma defaults to 1 / n_features."""
    if callable(kernel):
        return Kernel("callable", _pairwise(kernel, dict(params or {})))
    name = ALIASES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    checks.choice(name, "kernel", (*NAMES, *ALIASES, "precomputed"))
    gamma = 1.0 / n_features if gamma is None else checks.real(gamma, "gamma", 0)
    degree = checks.real(degree, "degree", 0)
    coef0 = checks.real(coef0, "coef0")
    blocks: dict[str, Callable[[Any, Any], Array]] = {
        "linear": _inner,
        "poly": lambda A, B: (gamma * _inner(A, B) + coef0) ** degree,
        "rbf": lambda A, B: gaussian(A, B, gamma),
        "laplacian": lambda A, B: _laplacian(A, B, gamma),
        "sigmoid": lambda A, B: np.tanh(gamma * _inner(A, B) + coef0),
        "cosine": lambda A, B: _inner(unit_length(A), unit_length(B)),
    }
    return Kernel(name, blocks.get(name, _precomputed_kernel))


def gaussian(A: Any, B: Any, gamma: float) -> Array:
    """exp(-gamma |a - b|^2)."""
    dtype = np.result_type(A.dtype, B.dtype)
    A, B = A.astype(np.float64), B.astype(np.float64)  # differences of squares cost digits
    if not is_sparse(A) and not is_sparse(B):  # and so does a common offset
        center = B.mean(axis=0)
        A, B = A - center, B - center
    block = _inner(A, B)
    block *= -2
    block += _squares(A)[:, None]
    block += _squares(B)[None, :]
    np.maximum(block, 0, out=block)
    block *= -gamma
    return np.asarray(np.exp(block, out=block), dtype=dtype)


def kernel_matrix(rows: Any, kernel: Kernel) -> Array:
    """K for all pairs of rows, each pair computed once; n x n."""
    n = rows.shape[0]
    memory.claim(
        n * n * rows.dtype.itemsize,
        f"The kernel matrix of {n} objects",
        "Use a subset of the rows, or float32.",
    )

    def tile(left: slice, right: slice) -> Array:
        return _values(kernel, rows[left], rows[right])

    return fill_symmetric(np.empty((n, n), dtype=rows.dtype), tile, TILE)


def cross_kernel(A: Any, B: Any, kernel: Kernel) -> Array:
    """k(a, b) for the rows of A and the rows of B."""
    K = np.empty((A.shape[0], B.shape[0]), dtype=np.result_type(A.dtype, B.dtype))

    def fill(rows: slice) -> None:
        K[rows] = _values(kernel, A[rows], B)

    run(fill, blocks(A.shape[0], TILE))
    return K


def _values(kernel: Kernel, A: Any, B: Any) -> Array:
    """The kernels of two blocks of rows, refused where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        block = np.asarray(kernel.block(A, B))
    if not np.isfinite(block.sum(dtype=np.float64)) and not np.isfinite(block).all():
        if kernel.name == "callable":
            raise ValueError(
                "The function given as kernel or affinity returns values that are not finite for "
                "some pairs of objects. It must return a finite number for every pair."
            )
        raise ValueError(
            f"X: the kernel {kernel.name!r} overflows {block.dtype} or is not a number for some "
            f"objects; the largest entry is {max(abs(A).max(), abs(B).max()):g}. Rescale X."
        )
    return block


@dataclass(frozen=True)
class KernelCenter:
    """Centring in feature space: k~(x, y) = <phi(x) - mean, phi(y) - mean>."""

    means: Array
    mean: float

    @classmethod
    def from_kernel(cls, K: Array) -> KernelCenter:
        ones = np.full((len(K), 1), 1.0 / len(K), dtype=K.dtype)
        means = backend().matmul(K.T, ones)[:, 0].astype(np.float64)
        return cls(means, float(means.mean()))

    def new_rows(self, K: Array) -> Array:
        """Centre kernels between new objects (rows) and the training objects (columns)."""
        out = K - self.means.astype(K.dtype)
        out -= K.mean(axis=1, keepdims=True, dtype=np.float64).astype(K.dtype)
        out += np.asarray(self.mean, dtype=K.dtype)
        return np.asarray(out)


def centered_kernel(K: Array) -> Operator:
    """J K J as an operator; no second n x n matrix."""
    return center(as_operator(K))


def kernel_distances(K: Array) -> Array:
    """Distances in feature space: d_ij^2 = k_ii - 2 k_ij + k_jj."""
    diagonal = np.diagonal(K)
    squares = diagonal[:, None] - 2 * K + diagonal[None, :]
    np.fill_diagonal(squares, 0)
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def _inner(A: Any, B: Any) -> Array:
    product = A @ B.T
    return dense(product)


def _squares(A: Any) -> Array:
    if is_sparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _laplacian(A: Any, B: Any, gamma: float) -> Array:
    from scipy.spatial.distance import cdist

    left, right = (dense(M) for M in (A, B))
    return np.asarray(np.exp(-gamma * cdist(left, right, "cityblock")))


def _precomputed_kernel(A: Any, B: Any) -> Array:
    raise ValueError(
        f"{argument('kernel', 'precomputed')} has no function: give the kernel matrix itself."
    )


def _pairwise(function: Callable[..., Any], params: dict[str, Any]) -> Callable[[Any, Any], Array]:
    def block(A: Any, B: Any) -> Array:
        return np.array([[function(a, b, **params) for b in B] for a in A], dtype=np.float64)

    return block
