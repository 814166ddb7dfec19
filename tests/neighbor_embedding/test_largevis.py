"""LargeVis: its forces, its maps, and the spectrum of attraction and repulsion."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import lowdim

DIGITS, LABELS = load_digits(return_X_y=True)


def test_the_loss_is_that_of_the_paper():
    """Of few objects, all of which repel each other: no sample is drawn."""
    losses, maps = [], []

    def callback(state):
        losses.append(state.loss)
        maps.append(state.embedding)

    model = lowdim.LargeVis(perplexity=10, max_iter=5, repulsion_strength=3.0, callback=callback)
    P = 100 * 4 * model.fit(DIGITS[:100]).affinities_.toarray()
    Y = maps[2].astype(np.float64)
    s = np.maximum(((Y[:, None] - Y[None]) ** 2).sum(axis=2), 1e-6)
    attraction = (P * np.log1p(s)).sum()
    repulsion = (3 * 5 * P.sum(axis=1)[:, None] / 100 * np.log1p(1 / s)).sum()
    assert losses[3] == pytest.approx(attraction + repulsion, rel=1e-4)


def test_maps_of_digits_and_new_ones():
    model = lowdim.LargeVis(random_state=0).fit(DIGITS[:1500])
    right = cross_val_score(KNeighborsClassifier(5), model.embedding_, LABELS[:1500]).mean()
    assert right > 0.95
    known = KNeighborsClassifier(5).fit(model.embedding_, LABELS[:1500])
    assert known.score(model.transform(DIGITS[1500:]), LABELS[1500:]) > 0.92


def test_less_repulsion_contracts_the_map_also_during_a_fit():
    def width(**settings):
        model = lowdim.LargeVis(perplexity=20, max_iter=150, random_state=0, **settings)
        return np.ptp(model.fit(DIGITS[:700]).embedding_, axis=0).max()

    def callback(state):
        if state.iteration == 5:
            state.change(repulsion_strength=0.5)

    strong, weak = width(), width(repulsion_strength=0.5)
    assert weak < 0.6 * strong
    assert weak < width(callback=callback) < strong
