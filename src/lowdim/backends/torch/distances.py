"""Euclidean distances of all pairs, and the comparison of the rankings by two distances.

Distances of float32 come from inner products in double precision, where a distance that float32 can
tell from zero has digits enough; those of float64 from differences.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lowdim.backends.torch.arrays import Unsupported, free_bytes, get, put, tile_rows
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.checks import Array

DISTANCE_ROWS = 4096  # rows of a block of distances
BY_COLUMNS_UP_TO = 64  # dimensions up to which a pass per column beats PyTorch's distances
SMALLEST = 1e-13  # squared distance that differs from 0, as a share of the squared norms
ORDER_BYTES = 64  # of an entry that is ranked: keys, ranks and orders of two distances


def distance_matrix(device: torch.device, X: Array) -> Array:
    n = len(X)
    if device.type == "mps" or 2 * n * n * X.itemsize > free_bytes(device):
        raise Unsupported
    rows = resident(device, X)
    squares = Squares(rows)
    D = rows.new_empty(n, n)
    for begin in range(0, n, DISTANCE_ROWS):
        part = slice(begin, begin + DISTANCE_ROWS)
        D[part] = squares(rows[part]).sqrt_()
    D = torch.minimum(D, D.T)  # the two products of a pair differ by rounding
    D.fill_diagonal_(0)
    return get_and_remember(D)


def squared_distances(device: torch.device, queries: Array, points: Array) -> Array:
    if device.type == "mps" or 4 * len(queries) * len(points) * 8 > free_bytes(device):
        raise Unsupported
    return get_and_remember(Squares(resident(device, points))(put(device, queries)))


class Squares:
    """Squared distances of queries to all of some points."""

    def __init__(self, points: Tensor) -> None:
        self.points = points
        self.by_products = points.dtype != torch.float64
        if self.by_products:
            exact = points.double()
            self.center = exact.mean(dim=0)
            self.exact = exact - self.center
            self.norms = self.exact.square().sum(dim=1)

    def __call__(self, queries: Tensor) -> Tensor:
        """In the type of the points."""
        if not self.by_products:
            return squares_of_differences(queries, self.points)
        asked = queries.double() - self.center
        norms = asked.square().sum(dim=1)[:, None]
        squares = torch.addmm(self.norms, asked, self.exact.T, alpha=-2).add_(norms)
        squares.masked_fill_(squares <= SMALLEST * (self.norms + norms), 0)
        return squares.to(self.points.dtype)


def squares_of_differences(queries: Tensor, points: Tensor) -> Tensor:
    """|q - p|^2 of all queries and points, from differences."""
    if queries.shape[1] > BY_COLUMNS_UP_TO:
        far = torch.cdist(queries, points, compute_mode="donot_use_mm_for_euclid_dist")
        return far.square_()
    squares = queries.new_zeros(len(queries), len(points))
    for q, p in zip(queries.T, points.T, strict=True):
        squares += (q[:, None] - p).square_()
    return squares


def compare_orders(
    device: torch.device, first: Array, second: Array, own: Array, k: int, grid: Array
) -> tuple[Array, Array, Array, Array, Array]:
    keys = resident(device, first), resident(device, second)
    objects, sizes = put(device, own).long(), put(device, grid).long()
    n = first.shape[1]
    rows = tile_rows(device, ORDER_BYTES * n, len(own))
    parts = []
    for begin in range(0, len(own), rows):
        part = slice(begin, begin + rows)
        orders, ranks = zip(*(_rank(one[part], objects[part]) for one in keys), strict=True)
        near = [order[:, :k] for order in orders]
        # An object is in both neighbourhoods of a size if the larger of its ranks is at most that.
        larger = torch.maximum(*ranks)
        counts = torch.zeros_like(larger).scatter_add_(1, larger - 1, torch.ones_like(larger))
        shared = counts.cumsum(dim=1)[:, sizes - 1]
        others = (ranks[1].gather(1, near[0]), ranks[0].gather(1, near[1]))
        parts.append((near[0], others[0], near[1], others[1], shared))
    arrays = [get(torch.cat(columns).int()) for columns in zip(*parts, strict=True)]
    return arrays[0], arrays[1], arrays[2], arrays[3], arrays[4]


def _rank(keys: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """The objects in the order of their keys, and the rank of each, from 1; the own one is last."""
    others = keys.scatter(1, own[:, None], torch.nan)  # NaN is behind all numbers
    order = torch.argsort(others, dim=1, stable=True)
    numbers = torch.arange(1, keys.shape[1] + 1, device=keys.device).expand_as(order)
    return order, torch.empty_like(order).scatter_(1, order, numbers)
