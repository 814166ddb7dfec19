"""Kernel ridge regression from coordinates to vectors, its width by leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array, dense
from lowdim.distances.metrics import euclidean
from lowdim.neighbor_graphs.exact import query
from lowdim.numerics.kernels import gaussian
from lowdim.runtime.scheduling import blocks, run

MOST_CENTERS = 1500  # training objects with a kernel of their own; more are sampled
WIDTHS = tuple(2.0**e for e in range(-1, 7))  # in units of the median distance of neighbours
PENALTIES = tuple(10.0**e for e in range(-6, 1))  # ridge, in units of the kernel's value at 0
NEIGHBORS = 5  # whose distance is the unit of the width
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class KernelDecoder:
    """sum_c k(y, c) coefficients_c + mean, with a Gaussian kernel k of the coordinates.

    Attributes
    ----------
    centers : array of shape (m, dim)
        Coordinates of the training objects that have a kernel.
    coefficients : array of shape (m, d)
    mean : array of shape (d,)
    gamma : float
        Of the kernel exp(-gamma |y - c|^2).
    """

    centers: Array
    coefficients: Array
    mean: Array
    gamma: float

    def __call__(self, Y: Array) -> Array:
        """Vectors of coordinates."""
        out = np.empty((len(Y), len(self.mean)), self.mean.dtype)

        def fill(part: slice) -> None:
            K = gaussian(Y[part].astype(self.centers.dtype), self.centers, self.gamma)
            out[part] = backend().matmul(K, self.coefficients) + self.mean

        run(fill, blocks(len(Y), BLOCK_ROWS))
        return out


def fit_kernel_decoder(embedding: Array, X: Any) -> KernelDecoder:
    """Fit a decoder to training objects.

    Width and ridge penalty are those of the least leave-one-out error of kernel ridge regression on
    the centres, which has a closed form. With more objects than centres, the coefficients are those
    of the least squared error of all objects (Nystroem's approximation).

    Parameters
    ----------
    embedding : array of shape (n, dim)
    X : array or CSR matrix of shape (n, d)
    """
    n = len(embedding)
    order = np.random.default_rng(0).permutation(n)[:MOST_CENTERS]
    chosen = np.sort(order)
    centers = np.ascontiguousarray(embedding[chosen], dtype=np.float64)
    rows = dense(X[chosen]).astype(np.float64)
    mean = rows.mean(axis=0)
    gamma, penalty, coefficients = _least_error(centers, rows - mean)
    if n > len(chosen):
        coefficients = _of_all(embedding, X, centers, mean, gamma, penalty)
    dtype = X.dtype
    return KernelDecoder(centers, coefficients.astype(dtype), mean.astype(dtype), gamma)


def _least_error(centers: Array, rows: Array) -> tuple[float, float, Array]:
    """Gamma, penalty and coefficients of the least leave-one-out error.

    With K = Q L Q' and r = penalty / (L + penalty), the error of object i, left out, is
    (Q r Q' x)_i / (Q r Q')_ii.
    """
    k = min(NEIGHBORS + 1, len(centers))
    gaps = query(centers, centers, k, euclidean())[1][:, -1]
    unit = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0

    def of_width(width: float) -> tuple[float, float, float, Array]:
        gamma = 1 / (2 * (width * unit) ** 2)
        values, Q = np.linalg.eigh(gaussian(centers, centers, gamma))
        values, turned = np.maximum(values, 0), Q.T @ rows
        best: tuple[float, float, float, Array] | None = None
        for penalty in PENALTIES:
            rest = penalty / (values + penalty)
            own = np.einsum("ij,j,ij->i", Q, rest, Q)
            error = float(np.square((Q @ (rest[:, None] * turned)) / own[:, None]).mean())
            if best is None or error < best[0]:
                best = error, gamma, penalty, rest
        assert best is not None
        return (*best[:3], Q @ ((best[3] / best[2])[:, None] * turned))

    found = run(of_width, WIDTHS)
    _, gamma, penalty, coefficients = min(found, key=lambda one: one[0])
    return gamma, penalty, coefficients


def _of_all(
    embedding: Array, X: Any, centers: Array, mean: Array, gamma: float, penalty: float
) -> Array:
    """Coefficients C of least |K C - X|^2 + penalty n / m tr(C' Kc C), with all objects."""

    def sums(part: slice) -> tuple[Array, Array]:
        K = gaussian(embedding[part].astype(np.float64), centers, gamma)
        return K.T @ K, K.T @ (dense(X[part]) - mean)

    m = len(centers)
    left, right = np.zeros((m, m)), np.zeros((m, len(mean)))
    for K, R in run(sums, blocks(len(embedding), BLOCK_ROWS)):
        left += K
        right += R
    left += penalty * gaussian(centers, centers, gamma) * (len(embedding) / m)
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])
