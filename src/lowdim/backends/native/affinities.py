"""Probabilities and fuzzy memberships from the distances to neighbours."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def perplexity_affinities(indptr: Array, squared: Array, perplexity: float) -> tuple[Array, Array]:
    """p proportional to exp(-beta d^2) with entropy log(perplexity) in each row, and the betas."""
    p, beta = np.empty_like(squared), np.empty(len(indptr) - 1)
    indptr = indptr.astype(np.int64, copy=False)
    _native.perplexity_affinities(indptr, squared, perplexity, p, beta, current().threads)
    return p, beta


def memberships(
    indptr: Array, distances: Array, target: float, connectivity: float
) -> tuple[Array, Array, Array]:
    """Fuzzy memberships of each row's neighbours, and the rho and sigma of each row."""
    rho = np.empty(len(indptr) - 1, dtype=distances.dtype)
    indptr = indptr.astype(np.int64, copy=False)
    sigma, out = np.empty_like(rho), np.empty_like(distances)
    _native.memberships(indptr, distances, target, connectivity, rho, sigma, out, current().threads)
    return out, rho, sigma
