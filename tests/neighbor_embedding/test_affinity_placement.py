"""New objects on maps of the SNE family."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.datasets import load_iris

import lowdim
from lowdim.backends.similarity import Similarity
from lowdim.neighbor_embedding.stochastic_neighbors import place_by_affinity


def share_outside(embedding, new):
    """Share of the new objects that are farther from all training objects than any of these is
    from its nearest neighbour."""
    tree = cKDTree(embedding)
    widest = tree.query(embedding, 2)[0][:, 1].max()
    return float((tree.query(new)[0] > widest).mean())


@pytest.mark.parametrize("method", [lowdim.SNE, lowdim.SymmetricSNE, lowdim.TSNE])
@pytest.mark.parametrize("name", ["iris", "s_curve"])
def test_held_out_objects_stay_on_the_map(method, name):
    X = np.unique(load_iris().data, axis=0) if name == "iris" else None
    X = lowdim.data.s_curve(500, noise=0.02, random_state=0)[0] if X is None else X
    shuffled = np.random.RandomState(0).permutation(X)
    held_out, rest = shuffled[: len(X) // 5], shuffled[len(X) // 5 :]
    model = method(max_iter=500, random_state=0).fit(rest)
    assert share_outside(model.embedding_, model.transform(held_out)) <= 0.01


@pytest.mark.parametrize("joint", [False, True])
def test_a_placed_object_is_where_the_gradient_vanishes(joint):
    random = np.random.RandomState(0)
    fixed = random.standard_normal((40, 2))
    p = random.dirichlet(np.ones(40), size=3)
    nearest = np.tile(np.arange(40), (3, 1))
    Y = place_by_affinity(
        p, nearest, fixed, Similarity("gaussian"), joint_sum=joint, iterations=2000
    )
    gaps = Y[:, None] - fixed
    w = np.exp(-(gaps**2).sum(axis=2))
    between = np.exp(-((fixed[:, None] - fixed) ** 2).sum(axis=2)) - np.eye(40)
    z = between.sum(axis=1).mean() if joint else w.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(((p - w / z)[:, :, None] * gaps).sum(axis=1), 0, atol=1e-6)
