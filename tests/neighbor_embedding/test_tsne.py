"""t-SNE and its variants: as good as scikit-learn's, whatever computes the forces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE as PEER
from sklearn.neighbors import KNeighborsClassifier

from lowdim import SNE, TSNE, SymmetricSNE, WeightedTSNE, neighbors
from lowdim.backends.native.repulsion import AllPairs
from lowdim.backends.similarity import Similarity
from lowdim.neighbor_embedding.divergence import PairDivergence


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600].astype(np.float32), y[:600]


@pytest.fixture(scope="module")
def fitted(digits):
    return TSNE(random_state=0).fit(digits[0])


def divergence(model, Y):
    """The divergence of any map from the affinities of a fitted model."""
    P = model.affinities_.astype(np.float64)
    exact = PairDivergence(P, Similarity(), AllPairs(Similarity()))
    return exact(np.ascontiguousarray(Y, dtype=np.float64))[0]


def accuracy(Y, y):
    near = np.argsort(cdist(Y, Y), axis=1)[:, 1:11]
    votes = np.array([np.bincount(row, minlength=10).argmax() for row in y[near]])
    return (votes == y).mean()


def test_the_divergence_is_that_of_the_embedding(fitted):
    assert fitted.kl_divergence_ == pytest.approx(divergence(fitted, fitted.embedding_), rel=1e-5)


def test_the_divergence_is_not_above_that_of_scikit_learn():
    """The median over data sets; single ratios are between 0.99 and 1.06 on one processor."""
    X = load_digits().data.astype(np.float32)
    ratios = []
    for begin in range(0, 1600, 200):
        rows = X[begin : begin + 400]
        ours = TSNE(random_state=0).fit(rows)
        theirs = PEER(random_state=0, max_iter=1000).fit(rows).embedding_
        ratios.append(ours.kl_divergence_ / divergence(ours, theirs))
    assert np.median(ratios) <= 1.015  # 1.007 with AVX-512, 1.000 with AVX2


@pytest.mark.parametrize("method", ["exact", "barnes_hut", "fft"])
def test_every_repulsion_method_separates_the_digits(digits, fitted, method):
    model = TSNE(method=method, random_state=0, max_iter=600).fit(digits[0])
    assert accuracy(model.embedding_, digits[1]) > 0.93
    assert divergence(fitted, model.embedding_) < 1.15 * fitted.kl_divergence_


def test_new_digits_land_among_their_class(digits):
    X, y = digits
    model = TSNE(random_state=0).fit(X[:450])
    there = KNeighborsClassifier(10).fit(X[:450], y[:450]).score(X[450:], y[450:])
    judge = KNeighborsClassifier(10).fit(model.embedding_, y[:450])
    assert judge.score(model.transform(X[450:]), y[450:]) > there - 0.05


@pytest.mark.parametrize("cls", [SNE, SymmetricSNE, TSNE, WeightedTSNE])
@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("method", ["auto", "exact", "barnes_hut", "fft"])
def test_the_same_bits_for_any_number_of_threads(cls, n_components, method):
    if method == "fft" and n_components == 3:
        pytest.skip("a grid has one or two dimensions")
    random = np.random.RandomState(0)
    X = np.concatenate([random.standard_normal((400, 8)) + 6 * c for c in range(3)])
    settings = {"perplexity": 10, "max_iter": 20, "method": method, "random_state": 0}
    one, three = (cls(n_components, n_jobs=jobs, **settings).fit(X) for jobs in (1, 3))
    np.testing.assert_array_equal(one.embedding_, three.embedding_)


@pytest.mark.parametrize("cls", [SNE, SymmetricSNE, TSNE, WeightedTSNE])
def test_clusters_come_apart(cls):
    random = np.random.RandomState(0)
    X = np.concatenate([random.standard_normal((60, 5)) + 12 * c for c in range(4)])
    y = np.repeat(np.arange(4), 60)
    model = cls(perplexity=15, max_iter=600, random_state=0).fit(X)
    assert accuracy(model.embedding_, y) == 1.0
    assert model.history_[-1, 1] < model.history_[0, 1]


def test_several_perplexities(digits):
    X = digits[0][:300]
    model = TSNE(perplexity=[5, 50], max_iter=300).fit(X)
    halves = [TSNE(perplexity=p, max_iter=1).fit(X, graph=neighbors(X, 150)) for p in (5, 50)]
    whole = TSNE(perplexity=[5, 50], max_iter=1).fit(X, graph=neighbors(X, 150))
    np.testing.assert_array_equal(whole.affinities_.data, model.affinities_.data)
    assert model.affinities_.nnz == halves[1].affinities_.nnz


def test_late_exaggeration_contracts_clusters(digits, fitted):
    tight = TSNE(exaggeration=4, random_state=0).fit(digits[0])
    assert np.ptp(tight.embedding_) < 0.7 * np.ptp(fitted.embedding_)


def test_heavier_tails_spread_the_map(digits):
    spans = [
        np.ptp(TSNE(dof=dof, max_iter=500, random_state=0).fit(digits[0]).embedding_)
        for dof in (0.6, 1.0, 5.0)
    ]
    assert spans[0] > spans[1] > spans[2]


def test_the_callback_sees_the_map_in_the_order_of_the_data():
    """Many points change their numbers on the way."""
    X = np.random.RandomState(0).standard_normal((4_100, 3)).astype(np.float32)
    seen = {}

    def look(state):
        seen[state.iteration] = state.embedding.copy()
        return state.iteration == 102

    model = TSNE(perplexity=3, random_state=0, max_iter=150, callback=look).fit(X)
    assert model.n_iter_ == 102
    np.testing.assert_array_equal(seen[102], model.embedding_)
    steps = np.linalg.norm(seen[101] - seen[100], axis=1)
    assert np.median(steps) < 0.05 * np.ptp(seen[100])


def test_importance(digits):
    X = digits[0][:300]
    uniform = WeightedTSNE(max_iter=50).fit(X, sample_weight=np.full(300, 2.0))
    np.testing.assert_array_equal(uniform.embedding_, TSNE(max_iter=50).fit(X).embedding_)
    degree = WeightedTSNE(max_iter=50).fit(X)
    assert degree.importance_.mean() == pytest.approx(1, rel=1e-5)
    given = WeightedTSNE(max_iter=50).fit(X, sample_weight=degree.importance_)
    np.testing.assert_allclose(given.importance_, degree.importance_, rtol=1e-6)
    with pytest.raises(ValueError, match="sample_weight has 3 entries, but X has 300"):
        WeightedTSNE().fit(X, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match=r"sample_weight must be positive, found -1 at \[1\]"):
        WeightedTSNE().fit(X, sample_weight=np.r_[1, -1, np.ones(298)])


def test_heavy_points_keep_others_away():
    """A point of more mass repels more."""
    X = np.random.RandomState(0).standard_normal((200, 4))
    mass = np.ones(200)
    mass[:5] = 60
    rooms = []
    for weights in (np.ones(200), mass):
        model = WeightedTSNE(perplexity=10, random_state=0)
        Y = model.fit(X, sample_weight=weights).embedding_
        D = cdist(Y, Y) / np.median(cdist(Y, Y))
        rooms.append(np.sort(D[:5], axis=1)[:, 1:6].mean())
    assert rooms[1] > 1.5 * rooms[0]


def test_perplexity_near_the_number_of_points():
    """Where exaggerated attraction would draw everything into one point."""
    X = np.random.RandomState(0).standard_normal((50, 2))
    model = TSNE(perplexity=30, random_state=0).fit(X)
    assert model.kl_divergence_ < 0.04
    assert np.ptp(model.embedding_) > 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"perplexity": 200}, r"perplexity \(200\) must be less than n_samples \(120\)"),
        ({"perplexity": "many"}, "perplexity must be a number or a list"),
        ({"perplexity": []}, "perplexity must be a number or a list"),
        ({"perplexity": -1}, "perplexity must lie"),
        ({"method": "fast"}, "method must be one of 'auto', 'exact', 'barnes_hut', 'fft'"),
        ({"dof": 0}, "dof must lie in"),
        ({"early_exaggeration": 0.5}, "early_exaggeration must lie in"),
        ({"exaggeration": 0}, "exaggeration must lie in"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"init": np.zeros((3, 2))}, r"init must be .*array of shape \(120, 2\)"),
        ({"init": "best"}, "init must be one of 'pca', 'spectral', 'random'"),
        ({"n_components": 3, "method": "fft"}, "fft.*one or two dimensions"),
    ],
)
def test_bad_parameters(params, message):
    X = np.random.RandomState(0).standard_normal((120, 4))
    with pytest.raises((ValueError, TypeError), match=message):
        TSNE(**params).fit(X)


@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
def test_data_in_two_components(init):
    X = np.concatenate(
        [np.random.RandomState(0).standard_normal((80, 4)) + 1e3 * c for c in (0, 1)]
    )
    Y = TSNE(perplexity=8, init=init, random_state=0, max_iter=400).fit(X).embedding_
    assert np.isfinite(Y).all()
    assert accuracy(Y, np.repeat([0, 1], 80)) == 1.0


def test_affinities_can_be_given():
    X = np.random.RandomState(0).standard_normal((100, 4))
    one = TSNE(perplexity=10, max_iter=300).fit(X)
    for P in (one.affinities_, 7 * one.affinities_.toarray()):
        other = TSNE(perplexity=10, max_iter=300).fit(X, affinities=P)
        size = np.abs(one.embedding_).max()
        assert other.kl_divergence_ == pytest.approx(one.kl_divergence_, rel=0.05)
        assert np.abs(other.embedding_).max() == pytest.approx(size, rel=0.3)
    same = TSNE(perplexity=10, max_iter=300).fit(X, affinities=one.affinities_)
    np.testing.assert_allclose(same.affinities_.toarray(), one.affinities_.toarray(), rtol=1e-12)
    assert same.transform(X[:3]).shape == (3, 2)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.ones((3, 3)), "shape"),
        (-np.ones((20, 20)), "negative"),
        (np.zeros((20, 20)), "zero"),
        (np.triu(np.ones((20, 20))), "symmetric"),
    ],
)
def test_bad_affinities(P, message):
    X = np.random.RandomState(0).standard_normal((20, 4))
    with pytest.raises(ValueError, match=f"affinities.*{message}"):
        TSNE(perplexity=5).fit(X, affinities=P)


def test_a_descent_is_resumed_with_other_settings():
    X = np.random.RandomState(0).standard_normal((120, 5))
    tsne = TSNE(perplexity=10, max_iter=300).fit(X)
    before, start = tsne.kl_divergence_, tsne.embedding_.copy()
    tsne.resume(200)
    assert tsne.n_iter_ == 500
    assert tsne.kl_divergence_ < before
    assert (np.diff(tsne.history_[:, 0]) > 0).all()
    again = TSNE(perplexity=10, max_iter=300).fit(X).resume(200)
    np.testing.assert_array_equal(again.embedding_, tsne.embedding_)
    again.resume(200, exaggeration=6.0)
    assert np.ptp(again.embedding_) < np.ptp(tsne.embedding_)
    assert np.ptp(start) > 0
    with pytest.raises(ValueError, match="exaggeration"):
        tsne.resume(exaggeration=0)


def test_affinities_without_objects_are_refused_by_name():
    with pytest.raises(ValueError, match=r"X is None.*Give X beside affinities"):
        TSNE().fit(None, affinities=np.ones((20, 20)))


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_a_weighted_row_is_that_many_repeated_rows(method):
    """With all pairs, the same iterations but for rounding errors; else about the same."""
    X, random = load_digits().data[:120], np.random.default_rng(0)
    counts, start = random.integers(1, 5, 120), random.normal(size=(120, 2)) * 1e-2
    own = np.repeat(np.arange(120), counts)
    settings = {"perplexity": 20, "max_iter": 50, "method": method}
    short = TSNE(init=start, **settings).fit(X, sample_weight=counts)
    long = TSNE(init=start[own], **settings).fit(X[own])
    size = np.abs(long.embedding_).max()
    error = np.abs(short.embedding_[own] - long.embedding_).max() / size
    assert error < {"exact": 1e-8, "auto": 0.2}[method]
    rtol = {"exact": 1e-9, "auto": 0.05}[method]
    np.testing.assert_allclose(short.kl_divergence_, long.kl_divergence_, rtol=rtol)
    between = short.affinities_.toarray()
    sums = np.zeros((120, 120))
    np.add.at(sums, np.ix_(own, own), long.affinities_.toarray())
    np.testing.assert_allclose(between, sums, atol={"exact": 1e-9, "auto": 2e-4}[method])


def test_equal_weights_change_nothing_and_wrong_ones_are_refused():
    X = load_digits().data[:100]
    free = TSNE(perplexity=10, max_iter=30).fit(X)
    ones = TSNE(perplexity=10, max_iter=30).fit(X, sample_weight=np.ones(100))
    np.testing.assert_allclose(ones.embedding_, free.embedding_, atol=1e-6)
    with pytest.raises(ValueError, match="sample_weight must be at least 1"):
        TSNE().fit(X, sample_weight=np.full(100, 0.5))
    with pytest.raises(ValueError, match="has 99 entries"):
        TSNE().fit(X, sample_weight=np.ones(99))
    with pytest.raises(ValueError, match="no neighbour graph"):
        ones.update(load_digits().data[100:110])
