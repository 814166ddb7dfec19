"""Start of a configuration from a list of pairs and their dissimilarities."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array
from lowdim.neighbor_graphs.geodesics import shortest_path_lengths
from lowdim.objects.pairs import Pairs
from lowdim.spectral.starts import classical_start, landmark_start

FILL_IN_UP_TO = 1500  # objects up to which all unknown pairs are filled in by shortest paths


def start_from_pairs(pairs: Pairs, k: int, random: np.random.RandomState) -> Array:
    """Classical scaling of listed pairs; unknown pairs are filled in by shortest paths."""
    if pairs.complete:
        return classical_start(pairs.matrix(pairs.values), k)
    graph = pairs.graph(pairs.values)
    if pairs.n > FILL_IN_UP_TO:
        return landmark_start(
            lambda sources: shortest_path_lengths(graph, sources), pairs.n, k, random
        )
    D = shortest_path_lengths(graph)
    return classical_start(np.maximum(D, D.T), k)
