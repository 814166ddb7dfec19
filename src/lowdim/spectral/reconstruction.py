"""The sparse matrices of locally linear embedding and its variants.

All variants depend on a neighbourhood only through its local Gram matrix
g_jl = <x_j - x_i, x_l - x_i>, which can be computed from vectors or from dissimilarities. The
functions `..._matrix` turn these Gram matrices into the sparse matrix M whose bottom eigenvectors
are the coordinates. Their argument `grams` is a function from objects to their Gram matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from lowdim.checks import Array
from lowdim.estimator.barycentric import barycentric_weights, local_grams
from lowdim.objects.objects import Objects
from lowdim.runtime.scheduling import blocks, run

Blocks = Callable[[Array], Array]
"""From the numbers of m objects to m small matrices."""

BLOCK_OBJECTS = 512  # neighbourhoods handled at once


def local_grams_from_distances(D: Array, neighbors: Array, objects: Array) -> Array:
    """Local Gram matrices from dissimilarities: g_jl = (d_ij^2 + d_il^2 - d_jl^2) / 2."""
    to_center = D[objects[:, None], neighbors] ** 2
    between = D[neighbors[:, :, None], neighbors[:, None, :]] ** 2
    return np.asarray((to_center[:, :, None] + to_center[:, None, :] - between) / 2)


def gram_blocks(objects: Objects, neighbors: Array, purpose: str) -> Blocks:
    """A function from objects to their local Gram matrices, from vectors or dissimilarities."""
    if objects.has_vectors:
        rows = objects.vectors(purpose)
        return lambda members: local_grams(rows, neighbors[members], rows, members)
    D = objects.all_pairs()
    return lambda members: local_grams_from_distances(D, neighbors[members], members)


def standard_matrix(grams: Blocks, neighbors: Array, reg: float) -> Any:
    """Standard LLE (Roweis and Saul 2000): barycentric weights with the ridge reg."""

    def weights(members: Array) -> Array:
        return barycentric_weights(grams(members).astype(np.float64), reg)

    W = np.concatenate(run(weights, _chunks(len(neighbors))))
    return reconstruction_matrix(W, neighbors)


def reconstruction_matrix(W: Array, neighbors: Array) -> Any:
    """M = (I - W)'(I - W)."""
    n, k = neighbors.shape
    indptr = np.arange(n + 1, dtype=np.int64) * k
    weights = csr_array((W.ravel(), neighbors.ravel(), indptr), shape=(n, n))
    residual = (eye_array(n, dtype=W.dtype, format="csr") - weights).tocsr()
    return (residual.T @ residual).tocsr()


def modified_matrix(grams: Blocks, neighbors: Array, dim: int, tol: float) -> Any:
    """Modified LLE (Zhang and Wang 2007): several weight vectors a neighbourhood.

    The weight vectors of i are W_i = V_i H_i + (1 - alpha_i) w_i 1', with V_i the eigenvectors of
    the s_i smallest eigenvalues of its Gram matrix and H_i a Householder reflection.
    """
    n, k = neighbors.shape
    parts = run(lambda rows: _spectrum(grams(rows)), _chunks(n))
    values = np.concatenate([part[0] for part in parts])
    vectors = np.concatenate([part[1] for part in parts])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values[:, dim:].sum(axis=1) / values[:, :dim].sum(axis=1)
        eta = np.median(np.nan_to_num(ratio, nan=0.0, posinf=np.inf))
        running = np.cumsum(values, axis=1)
        tails = np.nan_to_num(running[:, -1:] / running[:, :-1] - 1, nan=0.0)
    sizes = np.maximum(((tails < eta) | (tails == 0)).sum(axis=1), 1)

    def contributions(rows: Array) -> Array:
        """(m, k + 1, k + 1) contributions to M, on the k neighbours and the object itself."""
        V, size = vectors[rows], sizes[rows]
        small = np.arange(k) >= (k - size)[:, None]  # the columns of V_i
        ridge = 1e-3 * np.maximum(values[rows].sum(axis=1, keepdims=True), 1e-300)
        ones = V.sum(axis=1)
        w = np.einsum("mkj,mj->mk", V, ones / (values[rows] + ridge))
        w /= w.sum(axis=1, keepdims=True)
        alpha = np.linalg.norm(ones * small, axis=1, keepdims=True) / np.sqrt(size)[:, None]
        h = np.where(small, alpha - ones, 0)
        length = np.linalg.norm(h, axis=1, keepdims=True)
        h = np.where(length < tol, 0, h / np.maximum(length, 1e-300))
        null = V * small[:, None, :]
        reflected = null - 2 * np.einsum("mkj,mj->mk", null, h)[:, :, None] * h[:, None, :]
        weights = reflected + (1 - alpha)[:, :, None] * w[:, :, None] * small[:, None, :]
        residual = np.concatenate([weights, -1.0 * small[:, None, :]], axis=1)
        return np.asarray(residual @ residual.transpose(0, 2, 1))

    supports = np.concatenate([neighbors, np.arange(n, dtype=neighbors.dtype)[:, None]], axis=1)
    return _assemble(contributions, supports)


def hessian_matrix(grams: Blocks, neighbors: Array, dim: int, tol: float) -> Any:
    """Hessian LLE (Donoho and Grimes 2003): second derivatives in local tangent coordinates.

    Functions that are orthogonal to the constant and the linear functions of the tangent
    coordinates are penalised.
    """
    quadratic = [(a, b) for a in range(dim) for b in range(a, dim)]

    def contributions(rows: Array) -> Array:
        tangent = _tangent(grams(rows), dim)
        products = np.stack([tangent[:, :, a] * tangent[:, :, b] for a, b in quadratic], axis=2)
        ones = np.ones((*tangent.shape[:2], 1))
        basis = np.linalg.qr(np.concatenate([ones, tangent, products], axis=2), mode="complete")[0]
        w = basis[:, :, dim + 1 :]
        sums = w.sum(axis=1, keepdims=True)
        w = w / np.where(np.abs(sums) < tol, 1, sums)
        return np.asarray(w @ w.transpose(0, 2, 1))

    return _assemble(contributions, neighbors)


def alignment_matrix(grams: Blocks, neighbors: Array, dim: int) -> Any:
    """Local tangent space alignment (Zhang and Zha 2004): I - [1/sqrt(k), U][1/sqrt(k), U]'."""
    k = neighbors.shape[1]

    def contributions(rows: Array) -> Array:
        tangent = _tangent(grams(rows), dim)
        constant = np.full((*tangent.shape[:2], 1), 1 / np.sqrt(k))
        G = np.concatenate([constant, tangent], axis=2)
        return np.asarray(np.eye(k) - G @ G.transpose(0, 2, 1))

    return _assemble(contributions, neighbors)


def _chunks(n: int) -> list[Array]:
    return [np.arange(rows.start, rows.stop) for rows in blocks(n, BLOCK_OBJECTS)]


def _spectrum(grams: Array) -> tuple[Array, Array]:
    """Eigenvalues (descending, not negative) and eigenvectors of each Gram matrix."""
    values, vectors = np.linalg.eigh(grams.astype(np.float64))
    values = np.where(values < 1e-13 * np.abs(values).max(axis=1, keepdims=True), 0, values)
    return values[:, ::-1], vectors[:, :, ::-1]


def _tangent(grams: Array, dim: int) -> Array:
    """Tangent coordinates: leading eigenvectors of the centred Gram matrices, (m, k, dim)."""
    grams = grams.astype(np.float64)  # so that M 1 = 0 up to rounding in float64
    centered = grams - grams.mean(axis=1, keepdims=True)
    centered = centered - centered.mean(axis=2, keepdims=True)
    return _spectrum(centered)[1][:, :, :dim]


def _assemble(contributions: Blocks, supports: Array) -> Any:
    """The CSR matrix that is the sum of small matrices on the rows and columns `supports[i]`."""
    n, k = supports.shape
    data = np.concatenate(run(contributions, _chunks(n)))
    rows = np.repeat(supports, k, axis=1).ravel()
    columns = np.tile(supports, (1, k)).ravel()
    return coo_array((data.ravel(), (rows, columns)), shape=(n, n)).tocsr()
