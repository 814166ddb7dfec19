"""Affinities of neighbours: distances turned into probabilities, row by row or for pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowdim.backends import native
from lowdim.checks import Array
from lowdim.relations.graph import NeighborGraph, symmetrize


def conditional(
    indptr: Array,
    distances: Array,
    perplexity: float | Sequence[float] | None = None,
    *,
    sigma: float | None = None,
    n_jobs: int | None = None,
) -> Array:
    """p_{j|i} of every listed neighbour j of i, each row of sum one.

    With a perplexity p is proportional to exp(-beta_i d^2), beta_i such that the row's entropy is
    log(perplexity) (Hinton and Roweis 2002); several perplexities are averaged (Lee, Peluffo and
    Verleysen 2015). With `sigma` it is proportional to exp(-d^2 / (2 sigma^2)); with neither,
    uniform. Neighbours at infinite distance get nothing.
    """
    counts = np.diff(indptr)
    if perplexity is None and sigma is None:
        return np.repeat(1 / np.maximum(counts, 1), counts).astype(distances.dtype)
    squared = np.square(distances)
    if sigma is not None:
        return _fixed(indptr, squared, 1 / (2 * sigma**2))
    wanted = [float(value) for value in np.atleast_1d(np.asarray(perplexity, dtype=float))]
    p = native.perplexity_affinities(indptr, squared, wanted[0], n_jobs)[0]
    for value in wanted[1:]:
        p += native.perplexity_affinities(indptr, squared, value, n_jobs)[0]
    return p if len(wanted) == 1 else np.asarray(p / len(wanted), p.dtype)


def _fixed(indptr: Array, squared: Array, beta: float) -> Array:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    least = np.full(len(indptr) - 1, np.inf)
    np.minimum.at(least, rows, squared)
    p = np.exp(-beta * (squared - least[rows]))
    total = np.bincount(rows, p, minlength=len(indptr) - 1)
    return np.asarray(p / total[rows], squared.dtype)


def conditional_matrix(
    graph: NeighborGraph,
    perplexity: float | Sequence[float] | None = None,
    *,
    sigma: float | None = None,
    n_jobs: int | None = None,
) -> Any:
    """The affinities p_{j|i} of a neighbour graph as a CSR matrix, row i those of object i."""
    from scipy.sparse import csr_array

    csr = graph.csr()
    indptr = csr.indptr.astype(np.int64, copy=False)
    p = conditional(indptr, csr.data, perplexity, sigma=sigma, n_jobs=n_jobs)
    return csr_array((p, csr.indices, indptr), shape=csr.shape)


def joint(P: Any, n_jobs: int | None = None) -> Any:
    """p_ij = (p_{j|i} + p_{i|j}) / 2 n: symmetric, of sum one."""
    both = symmetrize(P, "half-sum", n_jobs)
    both.data /= both.dtype.type(both.data.sum(dtype=np.float64))
    return both


def conditional_to_new(
    distances: Array,
    perplexity: float | Sequence[float] | None = None,
    *,
    sigma: float | None = None,
    n_jobs: int | None = None,
) -> Array:
    """p_{j|i} of new objects i over their nearest training objects, from an (m, k) array of
    distances; infinite ones are no neighbours."""
    known = np.isfinite(distances)
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
    p = np.zeros_like(distances)
    flat = np.ascontiguousarray(distances[known])
    p[known] = conditional(indptr, flat, perplexity, sigma=sigma, n_jobs=n_jobs)
    return p
