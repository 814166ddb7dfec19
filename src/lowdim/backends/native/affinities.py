"""Probabilities and fuzzy memberships from the distances to neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.forces import total
from lowdim.backends.native.graphs import symmetrize
from lowdim.backends.numpy_blocks import ENTRIES, elementwise
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.elementary import log
from lowdim.runtime.scheduling import blocks, run


def perplexity_affinities(
    indptr: Array, distances: Array, perplexity: float, *, squared: bool = False
) -> tuple[Array, Array]:
    """p proportional to exp(-beta d^2), with sum 1 and entropy log(perplexity) in each row.

    Rows are those of a CSR matrix. `squared` says that the distances have been squared. Returns
    p and the beta of each row.
    """
    p, beta = np.empty_like(distances), np.empty(len(indptr) - 1)
    indptr = indptr.astype(np.int64, copy=False)
    squares = distances if squared else elementwise(np.square, np.empty_like(distances), distances)
    none = np.empty(0, distances.dtype)
    _native.perplexity_affinities(indptr, squares, none, perplexity, p, beta, current().threads)
    return p, beta


def joint_probabilities(P: Any) -> Any:
    """(P + P') / 2, divided by the sum of its entries, for a CSR matrix P."""
    both = symmetrize(P, "half-sum")
    elementwise(np.divide, both.data, both.data, both.dtype.type(total(both.data)))
    return both


def negative_entropy(p: Array) -> float:
    """The sum of p log p, in double precision and in a fixed order; 0 log 0 is 0."""

    def part(entries: slice) -> float:
        own = p[entries].astype(np.float64)
        return float((own * log(np.where(own > 0, own, 1))).sum())

    return float(sum(run(part, blocks(len(p), ENTRIES))))


def memberships(
    indptr: Array, distances: Array, target: float, connectivity: float
) -> tuple[Array, Array, Array]:
    """Fuzzy memberships exp(-max(d - rho, 0) / sigma) that sum to `target` in each row.

    Rows are those of a CSR matrix, ascending. rho is the distance to the
    `connectivity`-th nearest neighbour, interpolated for fractions. Returns the memberships,
    rho and sigma.
    """
    rho = np.empty(len(indptr) - 1, dtype=distances.dtype)
    indptr = indptr.astype(np.int64, copy=False)
    sigma, out = np.empty_like(rho), np.empty_like(distances)
    _native.memberships(indptr, distances, target, connectivity, rho, sigma, out, current().threads)
    return out, rho, sigma
