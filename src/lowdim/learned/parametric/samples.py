"""Random pairs of neighbours, and rows displaced along the data: what a map is trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lowdim.checks import Array
from lowdim.learned.networks.weights import Rows, random_generator
from lowdim.neighbor_graphs.graph import row_of_entries

SHARE = 0.05  # of the length of a difference: the Gaussian noise in each feature
# Last keys of random numbers. NumPy takes missing keys for zeros: without these, the neighbours of
# the first part of a step would be drawn by the same numbers as the pairs of the step.
OF_PAIRS, OF_NEIGHBORS = 2**32 - 1, 2**32 - 2


class Samples:
    """Rows of data with symmetric weights of pairs of neighbours, to draw from.

    Parameters
    ----------
    rows : Rows
    matrix : CSR matrix
        Symmetric weights of pairs of neighbours.
    noise : float
        Size of the displacements, see `displace`.
    seed : int
        Random numbers depend on it and on the key of each call.
    """

    def __init__(self, rows: Rows, matrix: Any, noise: float, seed: int) -> None:
        self.rows, self.noise, self.seed = rows, noise, seed
        weights = np.asarray(matrix.data, dtype=np.float64)
        self.indptr, self.tails = matrix.indptr, matrix.indices
        self.heads = row_of_entries(matrix.indptr)
        self.degrees = np.bincount(self.heads, weights, minlength=len(rows))
        self.cumulated = np.cumsum(weights)

    def pairs(self, count: int, key: tuple[int, ...]) -> tuple[Array, Array]:
        """First and second members of pairs, drawn in proportion to their weights."""
        random = np.random.default_rng((self.seed, *key, OF_PAIRS))
        drawn = np.searchsorted(self.cumulated, random.uniform(0, self.cumulated[-1], count))
        drawn = np.minimum(drawn, len(self.cumulated) - 1)
        return self.heads[drawn], self.tails[drawn]

    def displace(self, index: Array, key: tuple[int, ...]) -> torch.Tensor:
        """Rows, each displaced by `noise` times the difference of two of its neighbours.

        New objects lie between those of the training and beside them, in the directions in which
        neighbours differ. To this comes Gaussian noise in all directions, which in each feature is
        a small share of the difference: the sum is as long as the difference itself if there are
        hundreds of features, but does not take objects of few features to other parts of the data.
        """
        x = self.rows.take(index)
        if not self.noise:
            return x
        random = np.random.default_rng((self.seed, *key, OF_NEIGHBORS))
        one, other = (self.rows.take(self._neighbors(index, random)) for _ in range(2))
        gap = one - other
        size = SHARE * torch.linalg.vector_norm(gap, dim=1, keepdim=True)
        # drawn in float32 whatever the type of x, so that the same seed means the same noise
        normal = torch.randn(x.shape, generator=random_generator(self.seed, *key)).to(x)
        moved: torch.Tensor = x + self.noise * (gap + size * normal)
        return moved

    def _neighbors(self, index: Array, random: np.random.Generator) -> Array:
        """A neighbour of each object, in proportion to its weight; itself if it has none."""
        first, last = self.indptr[index], self.indptr[index + 1] - 1
        alone = last < first
        if alone.all():
            return index
        first = np.minimum(first, len(self.cumulated) - 1)
        high = self.cumulated[last]
        low = high - self.degrees[index]
        drawn = np.searchsorted(self.cumulated, random.uniform(low, high), side="right")
        return np.where(alone, index, self.tails[np.clip(drawn, first, np.maximum(first, last))])
