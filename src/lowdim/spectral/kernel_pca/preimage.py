"""Pre-images of kernel PCA: input vectors whose images lie near given feature-space points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.numerics.kernels import Kernel, cross_kernel, gaussian, kernel_matrix
from lowdim.runtime.scheduling import blocks, run

MAX_ITER = 200
SMALL = 512  # rows of a matrix that is copied, so that one that is not definite can be solved too
BLOCK_ROWS = 64  # points handled at once


def fixed_point_preimages(
    Y: Array, X: Array, embedding: Array, axes: Array, gamma: float, *, tol: float = 1e-6
) -> Array:
    """Pre-images under a Gaussian kernel by the iteration of Mika et al. (1999).

    The feature-space point with coordinates y is sum_i c_i phi(x_i). Its pre-image solves
    z = sum_i c_i k(z, x_i) x_i / sum_i c_i k(z, x_i). The iteration starts from the training
    vector whose coordinates are nearest to y; a point whose denominator vanishes stays there.
    From coordinates to the coefficients c_i, up to centring, leads `axes`. The iteration ends with
    steps below `tol`, in units of the largest centred coordinate of X.
    """
    center = X.mean(axis=0)
    shifted = X - center

    def one(rows: slice) -> Array:
        target = Y[rows]
        coefficients = target @ axes + 1.0 / len(X)
        coefficients -= (target @ axes).sum(axis=1, keepdims=True) / len(X)
        gaps = ((target[:, None, :] - embedding[None, :, :]) ** 2).sum(axis=2)
        z = shifted[gaps.argmin(axis=1)]
        active = np.arange(len(z))
        for _ in range(MAX_ITER):
            weights = coefficients[active] * gaussian(z[active], shifted, gamma)
            mass = weights.sum(axis=1)
            fine = np.abs(mass) > 1e-12
            moved = z[active]
            moved[fine] = (weights[fine] @ shifted) / mass[fine, None]
            change = np.abs(moved - z[active]).max(axis=1)
            z[active] = moved
            active = active[fine & (change > tol * max(np.abs(shifted).max(), 1e-300))]
            if not len(active):
                break
        return np.asarray(z)

    parts = run(one, blocks(len(Y), BLOCK_ROWS))
    return np.concatenate(parts) + center if parts else np.empty((0, X.shape[1]), X.dtype)


def learn_preimages(embedding: Array, X: Any, kernel: Kernel, alpha: float) -> Array:
    """Dual coefficients C of kernel ridge regression from coordinates to vectors.

    They solve (K + alpha I) C = X, with K the kernel matrix of the coordinates (Bakir, Weston and
    Schoelkopf 2004).
    """
    K = kernel_matrix(np.ascontiguousarray(embedding), kernel)
    K.flat[:: len(K) + 1] += alpha
    try:
        return solve_positive(K, np.asarray(X))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{argument('alpha', alpha)} is too small: the kernel matrix of the map is "
            "singular. Raise it."
        ) from None


def learned_preimages(Y: Array, embedding: Array, coefficients: Array, kernel: Kernel) -> Array:
    """The vectors that the regression of `learn_preimages` predicts for coordinates Y."""
    return backend().matmul(cross_kernel(Y, embedding, kernel), coefficients)


def solve_positive(A: Array, B: Array) -> Array:
    """Solve A X = B for a positive definite A, which is overwritten."""
    small = len(A) <= SMALL
    try:  # the transpose is in the order that LAPACK takes without a copy
        factor = cho_factor(A.T, overwrite_a=not small, check_finite=False)
    except np.linalg.LinAlgError:
        if not small:
            raise
        return np.asarray(np.linalg.lstsq(A, B, rcond=None)[0])
    return np.asarray(cho_solve(factor, B, check_finite=False))
