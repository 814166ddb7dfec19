"""Probabilities and fuzzy memberships from the distances to neighbours, and divergences between
the probabilities in the data and on the map, of all pairs or of weighted samples."""

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


def divergence_gradient(
    costs: Array, precisions: Array, trade_off: float, Y: Array
) -> tuple[float, float, Array]:
    """sum_i KL(p_i || q_i), sum_i KL(q_i || p_i), and the gradient of t times the first plus 1 - t
    times the second, t being `trade_off`.

    `costs` of shape (n, n - 1) are -log p of all other objects in the order of their index; q_i is
    the mean over the ascending `precisions`, of shape (n, n_scales), of softmax(-precision |y_i -
    y_j|^2).
    """
    gradient = np.empty(Y.shape)
    transposed = np.ascontiguousarray(Y.T)
    forward, backward = _native.divergence_gradient(
        costs, precisions, trade_off, transposed, gradient, current().threads
    )
    return float(forward), float(backward), gradient


def listed_precisions(indptr: Array, squared: Array, weights: Array, perplexities: Array) -> Array:
    """The precisions, of shape (n, n_perplexities), at which the Gaussian probabilities of weighted
    lists have given perplexities.

    The lists begin at `indptr`. Entry k, at the squared distance squared[k], stands for weights[k]
    objects.
    """
    p, beta = np.empty_like(squared), np.empty((len(perplexities), len(indptr) - 1))
    for perplexity, out in zip(perplexities, beta, strict=True):
        _native.perplexity_affinities(
            indptr, squared, weights, float(perplexity), p, out, current().threads
        )
    return np.ascontiguousarray(beta.T)


def mixture_costs(indptr: Array, squared: Array, weights: Array, precisions: Array) -> Array:
    """-log p of an object of each entry of weighted lists.

    p is the mean over the scales of exp(-precision squared), normalized to a weighted sum of 1
    over the list; precisions, of shape (n, n_scales), ascend.
    """
    costs = np.empty_like(squared)
    precisions = np.ascontiguousarray(precisions, dtype=squared.dtype)
    _native.mixture_costs(indptr, squared, weights, precisions, costs, current().threads)
    return costs


def listed_divergence_gradient(
    indptr: Array,
    indices: Array,
    costs: Array,
    weights: Array,
    precisions: Array,
    trade_off: float,
    Y: Array,
) -> tuple[float, float, Array]:
    """`divergence_gradient` for lists of some of the other objects.

    Entry k of a list stands for weights[k] objects at the place of the object indices[k], both
    in the sums of the divergences and in the normalization of q. Computed in the precision of
    `costs`, `weights` and `precisions`.
    """
    gradient = np.empty(Y.shape)
    forward, backward = _native.listed_divergence_gradient(
        indptr, indices, costs, weights, precisions, trade_off, Y, gradient, current().threads
    )
    return float(forward), float(backward), gradient


def place_by_divergence(
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    starts: Array,
    max_iter: int,
    tol: float,
    lists: tuple[Array, Array] | None = None,
) -> Array:
    """New points that minimise the same divergences against a fixed embedding.

    `costs` has one row per new point and one column per fixed point. `starts`, of shape
    (n_new, n_starts, dim), are tried and the best one is followed for at most `max_iter` steps,
    until a step is shorter than `tol` in units of the narrowest Gaussian. Each point is
    computed independently.

    With `lists`, the indices and weights of some fixed points for each new point, `costs` has
    one column for each entry of these lists.
    """
    Y = np.empty((len(costs), embedding.shape[1]))
    fixed = np.ascontiguousarray(embedding.T)
    indices, weights = lists or (np.empty((0, 0), np.int32), np.empty((0, 0), costs.dtype))
    setting = (precisions, trade_off, fixed, starts, Y, max_iter, tol, current().threads)
    _native.place_by_divergence(costs, indices, weights, *setting)
    return Y


def nearest_in_groups(Y: Array, groups: Array, k: int) -> tuple[Array, Array, Array]:
    """Indices (int32) and distances of each point's k nearest other points in its group, ordered by
    (distance, index), and the points group by group, near ones near each other.

    `groups` has the number of each point's group, from 0. If a group has too few points, the index
    is -1 and the distance infinite.
    """
    members = np.argsort(groups, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)
    ids, distances = np.empty((len(Y), k), np.int32), np.empty((len(Y), k))
    _native.nearest_in_groups(Y, members, starts, ids, distances, current().threads)
    return ids, distances, members


def drop_listed(listed: Array, ids: Array) -> None:
    """Set entries of rows of `ids` to -1 that the same rows of `listed` have.

    Both are int32 arrays with n rows of numbers less than n; -1 is none.
    """
    _native.drop_listed(listed, ids, current().threads)


def join_samples(
    near: tuple[Array, Array],
    more: tuple[Array, Array],
    radii: Array,
    map_radii: Array,
    Y: Array,
    labels: Array,
    ratio: int,
    largest: float,
    weights: Array,
) -> tuple[Array, Array, Array, Array]:
    """Join two lists of candidates of each object to one, with weights.

    The level of a distance is the number of `radii`, of shape (n, n_levels - 1) and ascending, that
    are less. That of a candidate is the smaller one of its levels in the data and, with
    `map_radii`, on the map Y. It stays if its label is that of the object modulo ratio^level.

    `near` and `more` are pairs of indices (-1 is none) and distances in the data, without a
    candidate in common. Returns indptr, the candidates of each object by their level on the map,
    their squared distances in units of `largest`, and `weights` by their level.
    """
    all_of_them = near[0].size + more[0].size
    indptr = np.empty(len(Y) + 1, np.int64)
    indices = np.empty(all_of_them, np.int32)
    squared, repeats = np.empty(all_of_them, np.float32), np.empty(all_of_them, np.float32)
    setting = (radii, map_radii, Y, labels, ratio, largest, weights)
    out = (indptr, indices, squared, repeats, current().threads)
    _native.join_samples(*near, *more, *setting, *out)
    size = indptr[-1]
    return indptr, indices[:size], squared[:size], repeats[:size]


def vector_sample(
    rows: Array, labels: Array, ratio: int, nearest: tuple[Array, Array], n_levels: int
) -> Any:
    """Samples of the other vectors of each vector that stay on a device; None on the CPU.

    Parameters
    ----------
    rows : array of shape (n, d)
        Vectors under the Euclidean distance.
    labels : int32 array of shape (n,)
        A permutation. Groups of level t have equal labels modulo ratio^t.
    ratio : int
    nearest : indices and distances of shape (n, k)
        The nearest others of each vector; as many are listed at every level.
    n_levels : int

    Returns
    -------
    object or None
        Its method `lists` and its attribute `largest` are those of
        `lowdim.neighbor_embedding.samples.SampledObjects`.
    """
    return None


def sum_buffers(n: int) -> int:
    """The number of buffers of the gradient of n points that `stochastic_neighbor_errors` has."""
    return int(_native.stochastic_parts(n))


def stochastic_neighbor_errors(Z: Array, classes: Array, accuracy: float) -> tuple[float, Array]:
    """Expected errors of classification by a stochastic neighbour, and their gradient.

    Point i takes the class of point j with probability p_ij, the softmax of -|z_i - z_j|^2 over all
    j other than i. The value is the sum of 1 - sum_j p_ij over all i, with the j of the class of i;
    `classes` ascend. `accuracy` is the size of errors that squared distances may have; 0 for double
    precision. Of a row, probabilities that add up to less than a tenth of it may be left out if
    none is above 1e-9 of the largest one, and those below 1e-13 of that in any case.
    """
    gradient = np.empty(Z.shape)
    value = _native.stochastic_neighbor_errors(Z, classes, accuracy, gradient, current().threads)
    return float(value), gradient
