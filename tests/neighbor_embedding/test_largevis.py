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


def test_the_loss_of_negative_sampling_is_that_of_a_classifier():
    """Of neighbours against random pairs, by the odds w / c that a pair are neighbours."""
    losses, maps = [], []

    def callback(state):
        losses.append(state.loss)
        maps.append(state.embedding)

    model = lowdim.NegativeSamplingTSNE(
        perplexity=10, max_iter=5, spectrum=0.5, negative_sample_rate=3, callback=callback
    ).fit(DIGITS[:100])
    P = 100 * 4 * model.affinities_.toarray()
    Y = maps[2].astype(np.float64)
    w = 1 / (1 + ((Y[:, None] - Y[None]) ** 2).sum(axis=2))
    c = np.sqrt(3 * (1 / 1500 + 5 / 100))
    h = w / (w + c)
    # An object meets itself too. Each random pair repels both of its ends.
    repulsion = -2 * 3 * (P.sum(axis=1)[:, None] / 100 * np.log(1 - h)).sum()
    attraction = -(P * np.log(h * (1 + c))).sum()
    assert losses[3] == pytest.approx(attraction + repulsion, rel=1e-3)


def test_the_spectrum_leads_from_tsne_to_umap():
    """By the sum of all similarities, which is small for t-SNE and large for UMAP."""

    def similarity(method, **params):
        Y = getattr(lowdim, method)(random_state=0, **params).fit_transform(DIGITS)
        return np.mean(1 / (1 + ((Y[:, None] - Y[None]) ** 2).sum(axis=2)))

    tsne, umap = similarity("TSNE"), similarity("UMAP")
    ends = [similarity("NegativeSamplingTSNE", spectrum=s) for s in (0, 0.5, 1)]
    assert 0.7 * tsne < ends[0] < 1.4 * tsne
    assert ends[0] * 2 < ends[1] < ends[2] / 2
    assert 0.7 * umap < ends[2] < 1.4 * umap


@pytest.mark.parametrize("name", ["LargeVis", "PaCMAP", "TriMap"])
def test_pinned_objects_stay_and_others_follow(name):
    """Pins at the mirrored places of a free map: the others are mirrored too."""
    free = getattr(lowdim, name)(random_state=0).fit(DIGITS[:300]).embedding_
    wanted, pins = free[:, ::-1] + 7, np.full((300, 2), np.nan)
    pins[:60] = wanted[:60]
    held = getattr(lowdim, name)(random_state=0).fit(DIGITS[:300], pinned=pins).embedding_
    np.testing.assert_allclose(held[:60], pins[:60], rtol=1e-5)
    gap = np.linalg.norm(held[60:] - wanted[60:], axis=1).mean()
    assert gap < 0.1 * np.linalg.norm(free[60:] - wanted[60:], axis=1).mean()
    spring = getattr(lowdim, name)(random_state=0).fit(DIGITS[:300], pinned=pins, pin_strength=0.05)
    assert 0 < np.abs(spring.embedding_[:60] - pins[:60]).max() < 0.2 * np.ptp(wanted)
