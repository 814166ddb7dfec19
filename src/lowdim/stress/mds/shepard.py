"""The data of a Shepard diagram: how distances on the map follow the dissimilarities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.objects.pairs import dense_pairs, sparse_pairs
from lowdim.stress.mds.problems import pair_distances


class Shepard(NamedTuple):
    """Data of a Shepard diagram: one entry per known pair, by ascending dissimilarity."""

    dissimilarities: Array
    distances: Array
    disparities: Array


def shepard_pairs(D: Any, disparities: Any, embedding: Array) -> Shepard:
    """The pairs that have a disparity, by ascending dissimilarity.

    Parameters
    ----------
    D, disparities : arrays of shape (n, n), NaN for unknown pairs, or CSR matrices of known ones
    embedding : array of shape (n, dim)
    """
    pairs = sparse_pairs(disparities) if is_sparse(disparities) else dense_pairs(disparities)
    dissimilarities = np.asarray(D[pairs.first, pairs.second])
    order = np.argsort(dissimilarities, kind="stable")
    pairs = pairs.take(order)
    return Shepard(dissimilarities[order], pair_distances(pairs, embedding), pairs.values)
