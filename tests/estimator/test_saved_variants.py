"""Variants of methods that the contract tests do not fit are saved, loaded and pickled too."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lowdim
from lowdim import PCA, TSNE, UMAP, LaplacianEigenmaps, SpectralClustering

VARIANTS = {
    "eigenmaps of a kernel": LaplacianEigenmaps(affinity="rbf"),
    "clusters of a kernel": SpectralClustering(3, affinity="rbf", assign_labels="discretize"),
    "distinct rows": UMAP(8, n_epochs=10, unique=True),
    "sphere": UMAP(8, n_epochs=10, output_metric="haversine"),
    "fuzzy graph": UMAP(8, transform_mode="graph"),
    "most probable dimension": PCA("mle"),
    "t-SNE": TSNE(perplexity=5, max_iter=250),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_saved_model_transforms_as_before(name, tmp_path):
    X = np.random.RandomState(0).standard_normal((60, 3))
    model = VARIANTS[name].fit(np.vstack([X, X[:5]]))
    if name == "t-SNE":
        model.resume(20)
    model.save(tmp_path / "model.lowdim")
    new = X[:5] + 0.05
    expected = model.transform(new)
    for other in (lowdim.load(tmp_path / "model.lowdim"), pickle.loads(pickle.dumps(model))):
        found = other.transform(new)
        if name == "fuzzy graph":
            assert (found != expected).nnz == 0
        else:
            np.testing.assert_array_equal(found, expected)
