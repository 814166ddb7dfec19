"""New points by divergence, against a search on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp

from lowdim.neighbor_embedding.affinities import log_conditional
from lowdim.neighbor_embedding.all_pairs_divergence import place_by_divergence


@pytest.mark.parametrize("trade_off", [0.2, 1.0])
def test_a_new_point_goes_where_its_own_divergence_is_least(trade_off):
    """No point of a fine grid around it is better."""
    random = np.random.RandomState(2)
    Y = random.standard_normal((60, 2))
    D = cdist(random.standard_normal((5, 2)), Y)
    costs, beta = log_conditional(D, 10.0)
    precisions = beta[:, None] * [[1.0, 1.7]]
    placed = place_by_divergence(D, costs, precisions, trade_off, Y)

    def values(r, at):
        squared = cdist(at, Y, "sqeuclidean")
        log_q = logsumexp([log_softmax(-b * squared, axis=1) for b in precisions[r]], axis=0)
        log_q -= np.log(2)
        missed = (np.exp(-costs[r]) * (-costs[r] - log_q)).sum(axis=1)
        return trade_off * missed + (1 - trade_off) * (np.exp(log_q) * (log_q + costs[r])).sum(1)

    side = np.linspace(-0.3, 0.3, 41)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for r in range(5):
        least = values(r, placed[r : r + 1])[0]
        assert least <= values(r, placed[r] + grid).min() + 1e-9
    alone = place_by_divergence(D[1:2], costs[1:2], precisions[1:2], trade_off, Y)
    np.testing.assert_array_equal(alone[0], placed[1])
