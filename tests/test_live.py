"""Watching and changing a fit while it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.runtime.callbacks import State


@pytest.mark.parametrize("name", ["SNE", "SymmetricSNE", "TSNE"])
def test_a_perplexity_changed_at_the_start_is_that_of_the_fit(name: str) -> None:
    """After the change nothing is left of the first value but the iterations before it."""
    X = lowdim.data.clusters(80, random_state=0)[0]
    cls = getattr(lowdim, name)

    def change(state: State) -> None:
        if state.iteration == 260:
            state.change(perplexity=20, exaggeration=2.0, learning_rate=10.0)

    changed = cls(perplexity=5, max_iter=300, callback=change).fit(X)
    own = cls(perplexity=20, max_iter=250).fit(X)
    assert (changed.perplexity, changed.exaggeration, changed.learning_rate) == (20, 2.0, 10.0)
    np.testing.assert_array_equal(changed.affinities_.toarray(), own.affinities_.toarray())
    assert changed.learning_rate_ == 10.0
    unchanged = cls(perplexity=5, max_iter=300).fit(X)
    assert not np.allclose(changed.embedding_, unchanged.embedding_)


def test_a_change_of_a_large_descent_keeps_the_order_of_the_points() -> None:
    """Points are renumbered on the way; the new objective must be, too."""
    X, y = lowdim.data.clusters(4500, random_state=0)

    def change(state: State) -> None:
        if state.iteration == 260:
            state.change(perplexity=8)

    model = lowdim.TSNE(perplexity=5, max_iter=320, callback=change, random_state=0).fit(X)
    assert lowdim.quality.knn_accuracy(model.embedding_, y) > 0.98


def test_forces_of_a_layout_are_changed_from_an_epoch_on() -> None:
    X = lowdim.data.clusters(80, random_state=0)[0]

    def change(state: State) -> None:
        if state.iteration == 1:
            state.change(min_dist=0.9, repulsion_strength=3.0)

    changed = lowdim.UMAP(n_epochs=60, random_state=0, callback=change).fit(X)
    own = lowdim.UMAP(n_epochs=60, random_state=0, min_dist=0.9, repulsion_strength=3.0).fit(X)
    plain = lowdim.UMAP(n_epochs=60, random_state=0).fit(X)
    assert (changed.a_, changed.b_) == (own.a_, own.b_) != (plain.a_, plain.b_)
    assert not np.array_equal(changed.embedding_, plain.embedding_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 3}, "n_components of TSNE cannot be changed during a fit"),
        ({"perplexity": 1000}, "perplexity"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"learning_rate": 20, "exaggeration": -1}, "exaggeration"),
    ],
)
def test_a_refused_change_changes_nothing(parameters: dict[str, Any], message: str) -> None:
    X = lowdim.data.clusters(60, random_state=0)[0]
    told = []

    def change(state: State) -> None:
        if state.iteration == 100:
            with pytest.raises((TypeError, ValueError), match=message) as error:
                state.change(**parameters)
            told.append(error)

    plain = lowdim.TSNE(perplexity=10, max_iter=300)
    watched = lowdim.TSNE(perplexity=10, max_iter=300, callback=change)
    np.testing.assert_array_equal(plain.fit_transform(X), watched.fit_transform(X))
    assert told
    watched.set_params(callback=None)
    assert watched.get_params() == plain.get_params()


def test_methods_without_live_parameters_refuse_changes() -> None:
    X = lowdim.data.clusters(40, random_state=0)[0]
    with pytest.raises(ValueError, match="cannot be changed during this fit"):
        lowdim.Sammon(callback=lambda state: state.change(max_iter=3)).fit(X)


@pytest.mark.parametrize("method", ["TSNE", "UMAP", "Sammon"])
def test_a_callback_is_asked_whether_it_is_due_and_does_not_change_the_result(method: str) -> None:
    X = lowdim.data.clusters(600, random_state=0)[0].astype(np.float32)
    cls = getattr(lowdim, method)

    class Every:
        def __init__(self, step: int) -> None:
            self.step, self.asked, self.seen = step, 0, []

        def due(self) -> bool:
            self.asked += 1
            return self.asked % self.step == 0

        def __call__(self, state: State) -> None:
            assert np.isfinite(state.loss)
            self.seen.append(state.iteration)

    limit = {"n_epochs": 50} if method == "UMAP" else {"max_iter": 50}
    alone = cls(random_state=0, **limit).fit_transform(X)
    for step in (1, 7):
        callback = Every(step)
        watched = cls(random_state=0, callback=callback, **limit).fit(X)
        np.testing.assert_array_equal(watched.embedding_, alone)
        assert callback.asked > len(callback.seen) - 2
        assert len(callback.seen) <= callback.asked // step + 2


def test_the_loss_is_computed_only_if_the_callback_wants_it() -> None:
    X = lowdim.data.clusters(100, random_state=0)[0]
    losses = []

    class Thrifty:
        wants_loss = False

        def __call__(self, state: State) -> None:
            losses.append(state.loss)
            self.wants_loss = state.iteration == 10

    thrifty = lowdim.TSNE(perplexity=10, max_iter=49, callback=Thrifty()).fit_transform(X)
    known = [at for at, loss in enumerate(losses, start=1) if np.isfinite(loss)]
    assert known == [11]
    alone = lowdim.TSNE(perplexity=10, max_iter=49).fit_transform(X)
    np.testing.assert_array_equal(thrifty, alone)
