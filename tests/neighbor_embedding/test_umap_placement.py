"""New points by membership, on a map that stands still."""

from __future__ import annotations

import numpy as np

from lowdim.neighbor_embedding.umap.layout import place_by_membership
from lowdim.neighbor_embedding.umap.umap import place_among_placed

CURVE = (1.5769434, 0.8950608)  # of min_dist=0.1 and spread=1


def test_new_points_settle_where_forces_balance():
    """New points settle where pulls and pushes balance, each on its own."""
    random = np.random.RandomState(0)
    Y = random.uniform(-5, 5, (400, 2))
    nearest = np.argsort(((Y[:7, None] + 0.1 - Y) ** 2).sum(axis=2), axis=1)[:, :6]
    weights = random.uniform(0.2, 1, nearest.shape)
    found = place_by_membership(nearest, weights, Y, curve=CURVE, n_epochs=200)
    for row in range(7):
        alone = place_by_membership(nearest[[row]], weights[[row]], Y, curve=CURVE, n_epochs=200)
        np.testing.assert_array_equal(alone[0], found[row])
    a, b = CURVE
    gap = Y[None] - found[:, None]
    s = (gap**2).sum(axis=2)
    W = np.zeros((7, 400))
    np.put_along_axis(W, nearest, weights, axis=1)
    pull = 2 * W * 2 * a * b * s ** (b - 1) / (1 + a * s**b)
    push = 2 * b / ((s + 1e-3) * (1 + a * s**b))
    force = np.einsum("ij,ijc->ic", pull, gap)
    share = 5 * W.sum(axis=1) / 400
    force -= share[:, None] * np.clip(push[:, :, None] * gap, -4, 4).sum(axis=1)
    assert np.abs(force / pull.sum(axis=1, keepdims=True)).max() < 0.05


def test_training_objects_without_coordinates_are_ignored():
    Y = np.random.RandomState(0).standard_normal((30, 2))
    Y[[3, 7]] = np.nan
    nearest, weights = np.array([[3, 4, 5], [3, 7, 3]]), np.full((2, 3), 0.5)
    found = place_among_placed(nearest, weights, Y, "euclidean", curve=CURVE, n_epochs=50)
    placed = np.delete(Y, [3, 7], axis=0)
    alone = place_by_membership(
        np.array([[3, 4]]), weights[:1, :2], placed, curve=CURVE, n_epochs=50
    )
    np.testing.assert_allclose(found[0], alone[0])
    assert np.isnan(found[1]).all()
