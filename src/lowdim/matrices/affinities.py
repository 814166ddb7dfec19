"""Affinities of neighbours: distances turned into probabilities, row by row or for pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.relations.graph import NeighborGraph
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run


def conditional(
    indptr: Array,
    distances: Array,
    perplexity: float | Sequence[float] | None = None,
    *,
    sigma: float | None = None,
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
    p = backend().perplexity_affinities(indptr, squared, wanted[0])[0]
    for value in wanted[1:]:
        p += backend().perplexity_affinities(indptr, squared, value)[0]
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
) -> Any:
    """The affinities p_{j|i} of a neighbour graph as a CSR matrix, row i those of object i."""
    from scipy.sparse import csr_array

    csr = graph.csr()
    indptr = csr.indptr.astype(np.int64, copy=False)
    p = conditional(indptr, csr.data, perplexity, sigma=sigma)
    return csr_array((p, csr.indices, indptr), shape=csr.shape)


NARROWEST = 1e8  # precision of a row, in units of its own mean square distance
ROWS = 64  # of all pairs, handled at once


def log_conditional(distances: Array, perplexity: float) -> tuple[Array, Array]:
    """-log p_{j|i} of all columns j of each row, for which nothing underflows, and beta_i.

    Where more distances than the perplexity are least, beta would be infinite; it is bounded.
    """
    squared = np.square(distances)
    m, k = squared.shape
    squared -= squared.min(axis=1, keepdims=True)
    indptr = np.arange(0, (m + 1) * k, k, dtype=np.int64)
    beta = backend().perplexity_affinities(indptr, squared.ravel(), perplexity)[1]
    spread = squared.mean(axis=1, dtype=np.float64)
    spread[beta == 0] = 1.0  # where all distances are the same
    beta = np.minimum(beta, NARROWEST / spread)
    squared *= beta[:, None].astype(squared.dtype)
    total = np.exp(-squared).sum(axis=1, dtype=np.float64)
    squared += np.log(total)[:, None].astype(squared.dtype)
    return squared, beta


def log_conditional_of_pairs(D: Array, perplexity: float) -> tuple[Array, Array]:
    """-log p_{j|i} of all others in order, (n, n - 1), from all distances (n, n), and beta_i."""
    n = len(D)
    memory.claim(
        n * n * D.dtype.itemsize,
        f"The matrix of affinities between {n} objects",
        "Use a method that works on a neighbour graph, such as TSNE, or take a sample of the "
        "objects and place the others with transform.",
    )
    costs, beta = np.empty((n, n - 1), D.dtype), np.empty(n)

    def fill(part: slice) -> None:
        others = np.arange(n - 1)[None, :]
        others = others + (others >= np.arange(part.start, part.stop)[:, None])
        rows = np.take_along_axis(D[part], others, axis=1)
        costs[part], beta[part] = log_conditional(rows, perplexity)

    run(fill, blocks(n, ROWS))
    return costs, beta


def mix_logs(costs: Array, count: int, more: Array) -> None:
    """Costs -log p of a mean of `count` affinities, in place those of the mean with one more."""

    def mix(part: slice) -> None:
        both = np.logaddexp(np.log(count) - costs[part], -more[part])
        costs[part] = np.log(count + 1) - both

    run(mix, blocks(len(costs), ROWS))


def joint(P: Any) -> Any:
    """p_ij = (p_{j|i} + p_{i|j}) / 2 n: symmetric, of sum one."""
    both = backend().symmetrize(P, "half-sum")
    both.data /= both.dtype.type(both.data.sum(dtype=np.float64))
    return both


def conditional_to_new(
    distances: Array,
    perplexity: float | Sequence[float] | None = None,
    *,
    sigma: float | None = None,
) -> Array:
    """p_{j|i} of new objects i over their nearest training objects, from an (m, k) array of
    distances; infinite ones are no neighbours."""
    known = np.isfinite(distances)
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
    p = np.zeros_like(distances)
    flat = np.ascontiguousarray(distances[known])
    p[known] = conditional(indptr, flat, perplexity, sigma=sigma)
    return p
