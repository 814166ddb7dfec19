"""Affinities of stochastic neighbour embedding: probabilities from distances to neighbours.

Hinton and Roweis (2002) for conditional probabilities, van der Maaten and Hinton (2008) for joint
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.neighbor_embedding.samples import Lists
from lowdim.neighbor_graphs.graph import NeighborGraph, row_of_entries
from lowdim.runtime.elementary import exp, log
from lowdim.runtime.scheduling import blocks, run

LARGEST_PRECISION = 1e8  # of a row of `log_conditional`, times the mean squared distance of the row
BLOCK_ROWS = 64  # rows of an n x n matrix that are handled at once


def conditional(indptr: Array, distances: Array, perplexity: float | Sequence[float]) -> Array:
    """Conditional probabilities p_{j|i} of the neighbours j of each object i, with sum 1.

    The neighbours of object i are the entries indptr[i] to indptr[i + 1] - 1 of `distances`; one at
    infinite distance gets probability 0. p_{j|i} is proportional to exp(-beta_i d^2), with beta_i
    such that the entropy of the row is log(perplexity) (Hinton and Roweis 2002); the probabilities
    of several perplexities are averaged (Lee, Peluffo and Verleysen 2015).
    """
    wanted = [float(value) for value in np.atleast_1d(np.asarray(perplexity, dtype=float))]
    p = backend().perplexity_affinities(indptr, distances, wanted[0])[0]
    for value in wanted[1:]:
        p += backend().perplexity_affinities(indptr, distances, value)[0]
    return p if len(wanted) == 1 else np.asarray(p / len(wanted), p.dtype)


def conditional_matrix(graph: NeighborGraph, perplexity: float | Sequence[float]) -> Any:
    """The probabilities p_{j|i} of a neighbour graph as a CSR matrix; see `conditional`."""
    csr = graph.csr()
    indptr = csr.indptr.astype(np.int64, copy=False)
    p = conditional(indptr, csr.data, perplexity)
    return csr_array((p, csr.indices, indptr), shape=csr.shape)


def log_conditional(distances: Array, perplexity: float) -> tuple[Array, Array]:
    """-log p_{j|i} of all columns j of each row i, and beta_i.

    Unlike the probabilities, their logarithms do not underflow. beta_i, which would be infinite if
    the smallest distance of a row occurs more often than the perplexity, is bounded.
    """
    squared = np.square(distances)
    m, k = squared.shape
    squared -= squared.min(axis=1, keepdims=True)
    indptr = np.arange(0, (m + 1) * k, k, dtype=np.int64)
    beta = backend().perplexity_affinities(indptr, squared.ravel(), perplexity, squared=True)[1]
    spread = squared.mean(axis=1, dtype=np.float64)
    spread[beta == 0] = 1.0  # all distances of the row are equal
    beta = np.minimum(beta, LARGEST_PRECISION / spread)
    squared *= beta[:, None].astype(squared.dtype)
    total = exp(-squared).sum(axis=1, dtype=np.float64)
    squared += log(total)[:, None].astype(squared.dtype)
    return squared, beta


def log_conditional_of_pairs(D: Array, perplexity: float) -> tuple[Array, Array]:
    """-log p_{j|i} of all j != i, as an (n, n - 1) array, and beta_i, from an (n, n) array D."""
    n = len(D)
    costs, beta = np.empty((n, n - 1), D.dtype), np.empty(n)

    def fill(part: slice) -> None:
        others = np.arange(n - 1)[None, :]
        others = others + (others >= np.arange(part.start, part.stop)[:, None])
        rows = np.take_along_axis(D[part], others, axis=1)
        costs[part], beta[part] = log_conditional(rows, perplexity)

    run(fill, blocks(n, BLOCK_ROWS))
    return costs, beta


def listed_precisions(lists: Lists, perplexities: Sequence[float] | Array) -> Array:
    """beta (n, n_perplexities) of weighted lists, for perplexities that descend.

    They ascend in each row, and are bounded as those of `log_conditional`.
    """
    beta, spread = lists.precisions(np.asarray(perplexities)), lists.spreads()
    bound = LARGEST_PRECISION / np.where(spread > 0, spread, 1.0)
    return np.maximum.accumulate(np.minimum(beta, bound[:, None]), axis=1)


def mix_logs(costs: Array, count: int, more: Array) -> None:
    """Add one more distribution to a mean of `count` distributions, in place.

    `costs` and `more` are the negative logarithms of the mean and of the new distribution.
    """

    def mix(part: slice) -> None:
        first, second = log(count) - costs[part], -more[part]
        both = np.maximum(first, second) + log(1 + exp(-np.abs(first - second)))
        costs[part] = log(count + 1) - both

    run(mix, blocks(len(costs), BLOCK_ROWS))


def joint(P: Any) -> Any:
    """Joint probabilities p_ij = (p_{j|i} + p_{i|j}) / 2 n: symmetric, with sum 1."""
    return backend().joint_probabilities(P)


def joint_of_repeated(
    graph: NeighborGraph, counts: Array, perplexities: Sequence[float], most: float
) -> Any:
    """p_ij of objects i that stand for counts[i] equal ones each, summed over these.

    p_ii is the sum over pairs of the equal ones, which are each other's nearest neighbours. Only
    the `most` nearest neighbours of each have an affinity.
    """
    csr = graph.csr()
    n, rows = csr.shape[0], row_of_entries(csr.indptr)
    order = np.lexsort((csr.data, rows))
    own = csr.indptr[:-1]  # where an object itself is inserted before its neighbours
    indices = np.insert(csr.indices[order], own, np.arange(n))
    squared = np.insert(np.square(csr.data[order]), own, 0)
    rows = np.repeat(np.arange(n), np.diff(csr.indptr) + 1)
    repeats = counts[indices]
    repeats[own + np.arange(n)] -= 1
    repeats = np.maximum(repeats, 0)
    nearer = np.cumsum(repeats) - repeats
    nearer -= nearer[own + np.arange(n)][rows]
    repeats = np.minimum(repeats, most - nearer)
    kept = repeats > 0
    indices, squared, rows = indices[kept], squared[kept], rows[kept]
    repeats = repeats[kept].astype(squared.dtype)
    indptr = np.searchsorted(rows, np.arange(n + 1))
    betas = backend().listed_precisions(indptr, squared, repeats, np.asarray(perplexities))
    beyond = squared - squared[indptr[:-1]][rows]
    p = np.zeros(len(squared))
    for beta in betas.T:
        own_p = repeats * exp(-beta[rows] * beyond)
        p += own_p / np.bincount(rows, own_p)[rows]
    P = csr_array(((counts[rows] * p).astype(squared.dtype), indices, indptr), shape=(n, n))
    P.sort_indices()
    return joint(P)


def conditional_to_new(distances: Array, perplexity: float | Sequence[float]) -> Array:
    """p_{j|i} of new objects i, from (m, k) distances to their nearest training objects.

    Entries of infinite distance are padding and get probability 0. See `conditional`.
    """
    known = np.isfinite(distances)
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
    p = np.zeros_like(distances)
    p[known] = conditional(indptr, np.ascontiguousarray(distances[known]), perplexity)
    return p
