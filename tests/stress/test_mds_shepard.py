"""The data of the Shepard diagram of MDS, for every form of input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform

from lowdim import MDS

X = np.random.RandomState(0).standard_normal((12, 3))
D = squareform(pdist(X))


def known(share):
    """Weights of which some are zero, so that these pairs are not fitted."""
    kept = np.triu(np.random.RandomState(1).uniform(size=D.shape) < share, 1)
    kept[np.arange(11), np.arange(1, 12)] = True  # a path links all objects
    return (kept | kept.T).astype(float)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("disparities", ["ratio", "ordinal"])
def test_fitted_pairs_by_ascending_dissimilarity(form, share, disparities):
    W = known(share)
    model = MDS(metric="precomputed", disparities=disparities, max_iter=20)
    found = model.fit(form(D), weights=W).shepard()
    fitted = W[np.triu_indices(12, 1)] > 0
    upper = D[np.triu_indices(12, 1)][fitted]
    np.testing.assert_allclose(found.dissimilarities, np.sort(upper))
    distances = pdist(model.embedding_)[fitted]
    np.testing.assert_allclose(found.distances, distances[np.argsort(upper, kind="stable")])
    if disparities == "ratio":
        np.testing.assert_allclose(found.disparities, found.dissimilarities)
    else:
        assert (np.diff(found.disparities) >= 0).all()
