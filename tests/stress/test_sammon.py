"""Sammon's mapping: its stress by definition, its gradient, and what others reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits, load_iris

import lowdim
from lowdim.objects.identical import merge_identical
from lowdim.stress.sammon_stress import SammonStress

few = settings(max_examples=15)

# Swiss provinces about 1888: agriculture, examination, education, catholic, infant mortality.
SWISS = """
    17 15 12 9.96 22.2, 45.1 6 9 84.84 22.2, 39.7 5 5 93.4 20.2, 36.5 12 7 33.77 20.3,
    43.5 17 15 5.16 20.6, 35.3 9 7 90.57 26.6, 70.2 16 7 92.85 23.6, 67.8 14 8 97.16 24.9,
    53.3 12 7 97.67 21, 45.2 16 13 91.38 24.4, 64.5 14 6 98.61 24.5, 62 21 12 8.52 16.5,
    67.5 14 7 2.27 19.1, 60.7 19 12 4.43 22.7, 69.3 22 5 2.82 18.7, 72.6 18 2 24.2 21.2,
    34 17 8 3.3 20, 19.4 26 28 12.11 20.2, 15.2 31 20 2.15 10.8, 73 19 9 2.84 20,
    59.8 22 10 5.23 18, 55.1 14 3 4.52 22.4, 50.9 22 12 15.14 16.7, 54.1 20 6 4.2 15.3,
    71.2 12 1 2.4 21, 58.1 14 8 5.23 23.8, 63.5 6 3 2.56 18, 60.8 16 10 7.72 16.3,
    26.8 25 19 18.46 20.9, 49.5 15 8 6.1 22.5, 85.9 3 2 99.71 15.1, 84.9 7 6 99.68 19.8,
    89.7 5 2 100 18.3, 78.2 12 6 98.96 19.4, 64.9 7 3 98.22 20.2, 75.9 9 9 99.06 17.8,
    84.6 3 3 99.46 16.3, 63.1 13 13 96.83 18.1, 38.4 26 12 5.62 20.3, 7.7 29 11 13.79 20.5,
    16.7 22 13 11.22 18.9, 17.6 35 32 16.92 23, 37.6 15 7 4.97 20, 18.7 25 7 8.65 19.5,
    1.2 37 53 42.34 18, 46.6 16 29 50.43 18.2, 27.7 22 29 58.33 19.3
"""


def swiss():
    return np.array([row.split() for row in SWISS.replace("\n", " ").split(",")], dtype=float)


def iris():
    return np.delete(load_iris().data, 142, axis=0)  # the one duplicate


def jittered():
    X = load_iris().data
    return X + 1e-3 * np.random.RandomState(0).standard_normal(X.shape)


def digits():
    return load_digits().data[:120]


def stress(delta, Y):
    """The definition, on the distances of all pairs."""
    return float(((delta - pdist(Y)) ** 2 / delta).sum() / delta.sum())


def sammons_own(X, n_iter=500, magic=0.3):
    """The paper's steepest descent: each coordinate by its gradient over |second derivative|."""
    D = cdist(X, X)
    np.fill_diagonal(D, 1.0)
    centered = X - X.mean(axis=0)
    Y = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    best = np.inf
    for _ in range(n_iter):
        best = min(best, stress(pdist(X), Y))
        d = cdist(Y, Y)
        np.fill_diagonal(d, 1.0)
        gap = Y[:, None, :] - Y[None, :, :]
        short, dd = (D - d)[:, :, None], d[:, :, None]
        np.fill_diagonal(short[:, :, 0], 0.0)
        first = (short / (D * d)[:, :, None] * gap).sum(axis=1)
        second = (short - gap**2 / dd * (1 + short / dd)) / (D * d)[:, :, None]
        second[np.arange(len(Y)), np.arange(len(Y))] = 0
        Y = Y + magic * first / np.abs(second.sum(axis=1))
    return best


@pytest.mark.parametrize("method", ["lbfgs", "majorize"])
@pytest.mark.parametrize("data", [swiss, iris, jittered, digits], ids=lambda data: data.__name__)
def test_no_higher_than_sammons_own_descent(data, method):
    X = data()
    found = lowdim.Sammon(method=method, max_iter=1000).fit(X)
    # Its long steps may reach another valley: on the digits, changes of X in the last bits lead it
    # to between 0.99881 and 1.25 times the stress found here.
    assert found.stress_ <= sammons_own(X) * 1.01
    assert found.stress_ == pytest.approx(stress(pdist(X), found.embedding_), rel=1e-9)
    assert found.history_[0] == pytest.approx(
        stress(pdist(X), lowdim.ClassicalMDS().fit(X).embedding_)
    )
    assert (np.diff(found.history_) <= 0).all()
    assert found.history_[-1] == found.stress_
    assert found.n_iter_ == len(found.history_) - 1


def test_no_higher_than_what_r_reports():
    """MASS::sammon starts at 0.00824 and ends at 0.00383 on the Swiss data, 0.004015 on iris."""
    found = lowdim.Sammon().fit(swiss())
    assert round(found.history_[0], 5) == 0.00824
    assert found.stress_ < 0.00383
    assert lowdim.Sammon().fit(iris()).stress_ < 0.004


def test_both_methods_find_the_same_map():
    one, other = (
        lowdim.Sammon(method=m, max_iter=3000).fit(swiss()) for m in ("lbfgs", "majorize")
    )
    assert one.stress_ == pytest.approx(other.stress_, rel=1e-6)
    assert lowdim.procrustes(one.embedding_, other.embedding_).correlation > 0.999999


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient(epsilon, dtype):
    random = np.random.RandomState(0)
    D = cdist(*[random.standard_normal((40, 4))] * 2)
    D[3, 5] = D[5, 3] = 0.0
    mass = random.randint(1, 4, 40)
    function = SammonStress((D / D.max()).astype(dtype), mass, 1e-12, epsilon)
    X = random.standard_normal((40, 3))
    value, gradient = function.at(X)
    numerical = approx_fprime(X.ravel(), lambda x: function.at(x.reshape(40, 3))[0], 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numerical, atol=1e-5 * np.abs(numerical).max())
    Z = function.encode(X)
    np.testing.assert_allclose(function.decode(Z), X, atol=1e-9)
    numerical = approx_fprime(Z.ravel(), lambda z: function(z.reshape(40, 3))[0], 1e-7)
    at_Z, inner = function(Z)
    assert at_Z == pytest.approx(value)
    np.testing.assert_allclose(inner.ravel(), numerical, atol=1e-5 * np.abs(numerical).max())


@pytest.mark.parametrize("method", ["lbfgs", "majorize"])
def test_a_flat_configuration_is_recovered(method):
    X = np.random.RandomState(0).standard_normal((50, 2))
    found = lowdim.Sammon(method=method, metric="precomputed").fit(cdist(X, X))
    assert found.stress_ < 1e-12
    assert lowdim.procrustes(X, found.embedding_).correlation > 1 - 1e-10
    start = X + 0.05 * np.random.RandomState(1).standard_normal(X.shape)
    near = lowdim.Sammon(method=method, init=start, max_iter=2000).fit(X)
    assert lowdim.procrustes(X, near.embedding_).correlation > 1 - 1e-6


def test_random_starts():
    X = swiss()
    first = lowdim.Sammon(init="random", random_state=1).fit(X)
    again = lowdim.Sammon(init="random", random_state=1).fit(X)
    other = lowdim.Sammon(init="random", random_state=2).fit(X)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert first.history_[0] != other.history_[0]
    assert first.stress_ < 0.02
    covariance = np.cov(first.embedding_.T)  # turned to its principal axes
    assert abs(covariance[0, 1]) < 1e-9 * covariance[0, 0]
    assert covariance[0, 0] > covariance[1, 1]


def test_a_given_start_keeps_its_orientation():
    X = swiss()
    fitted = lowdim.Sammon().fit(X).embedding_
    turned = fitted @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + [5.0, -3.0]
    again = lowdim.Sammon(init=turned).fit(X).embedding_
    np.testing.assert_allclose(again, turned, atol=1e-3 * np.abs(turned).max())


def test_duplicates_are_one_point_with_the_weight_of_all():
    X = swiss()
    twice = np.concatenate([X, X[:10], X[:5]])
    found = lowdim.Sammon().fit(twice)
    np.testing.assert_array_equal(found.embedding_[47:57], found.embedding_[:10])
    np.testing.assert_array_equal(found.embedding_[57:], found.embedding_[:5])
    delta = pdist(twice)
    d = pdist(found.embedding_)
    known = delta > 0
    expected = ((delta - d)[known] ** 2 / delta[known]).sum() / delta.sum()
    assert found.stress_ == pytest.approx(expected)
    assert found.stress_ < found.history_[0]


def test_nearly_identical_objects():
    """Weights of 1e9 beside weights of one: neither stalls nor overflows."""
    random = np.random.RandomState(0)
    X = random.standard_normal((60, 5))
    X = np.concatenate([X, X[:20] + 1e-9 * random.standard_normal((20, 5))])
    alone = lowdim.Sammon().fit(X[:60])
    found = lowdim.Sammon().fit(X)
    gaps = np.linalg.norm(found.embedding_[:20] - found.embedding_[60:], axis=1)
    assert gaps.max() < 1e-7
    assert found.n_iter_ < 300
    assert abs(found.stress_ - alone.stress_) < 0.02


def test_zeros_between_objects_that_differ():
    D = cdist(swiss(), swiss())
    D[3, 7] = D[7, 3] = 0.0
    for epsilon, apart in ((0.0, 15.0), (0.01, 15.0)):
        found = lowdim.Sammon(metric="precomputed", epsilon=epsilon).fit(D)
        assert np.isfinite(found.embedding_).all()
        assert (np.diff(found.history_) <= 0).all()
        assert found.stress_ < 0.05
        gap = np.linalg.norm(found.embedding_[3] - found.embedding_[7])
        if epsilon == 0:
            assert gap > apart  # left out: the others decide
            free = gap
        else:
            assert gap < free  # the weight 1/epsilon pulls


def test_the_ball_of_epsilon_takes_weight_from_small_distances():
    X = jittered()
    delta = pdist(X)
    plain, ball = lowdim.Sammon().fit(X), lowdim.Sammon(epsilon=0.5).fit(X)
    small = delta < 0.1 * delta.max()

    def error(found):
        return (((delta - pdist(found.embedding_)) ** 2) / delta)[small].sum()

    assert error(plain) < error(ball)
    weights = 1 / np.maximum(delta, 0.5 * delta.max())
    expected = (weights * (delta - pdist(ball.embedding_)) ** 2).sum() / delta.sum()
    assert ball.stress_ == pytest.approx(expected)


def test_merging():
    D = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 2], [0, 0, 2, 0]], dtype=float)
    first, kinds = merge_identical(D, 1e-12)
    assert first.tolist() == [0, 2, 3]  # the last is at zero from the first, but not the same
    assert kinds.tolist() == [0, 0, 1, 2]


@pytest.mark.filterwarnings("ignore:.*objects are the same")
def test_identical_objects():
    found = lowdim.Sammon(metric="precomputed").fit(np.zeros((5, 5)))
    np.testing.assert_array_equal(found.embedding_, 0)
    assert found.stress_ == 0


@few
@given(
    D=arrays.arrays(
        np.float64,
        st.integers(2, 9).map(lambda n: (n, n)),
        elements=st.sampled_from([0.0, 1e-300, 1e-13, 0.5, 1.0, 2.0, 1e6]),
    ),
    method=st.sampled_from(["lbfgs", "majorize"]),
    epsilon=st.sampled_from([0.0, 0.1]),
)
@pytest.mark.filterwarnings("ignore:.*objects are the same")
def test_any_dissimilarities(D, method, epsilon):
    D = np.triu(D, 1) + np.triu(D, 1).T
    found = lowdim.Sammon(1, metric="precomputed", method=method, epsilon=epsilon).fit(D)
    assert np.isfinite(found.embedding_).all()
    assert np.isfinite(found.stress_)
    slack = 1e-12 * found.history_[:-1]
    assert (np.diff(found.history_) <= slack).all()
    assert np.isfinite(found.transform(D)).all()


def test_new_objects():
    X = load_iris().data
    found = lowdim.Sammon().fit(X[::2])
    new = X[1::2]
    placed = found.transform(new)
    np.testing.assert_array_equal(found.transform(new[[3]])[0], placed[3])
    np.testing.assert_array_equal(found.transform(X[::2]), found.embedding_)
    together = np.concatenate([found.embedding_, placed])
    all_delta = pdist(np.concatenate([X[::2], new]))
    known = all_delta > 0
    everything = ((all_delta - pdist(together)) ** 2)[known] / all_delta[known]
    assert everything.sum() / all_delta.sum() < 2 * lowdim.Sammon().fit(X).stress_


def test_any_number_of_threads_gives_the_same_bits():
    X = load_digits().data[:300]
    fits = [lowdim.Sammon(n_jobs=n, max_iter=20).fit(X) for n in (1, 3)]
    np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)
    np.testing.assert_array_equal(fits[0].history_, fits[1].history_)


@pytest.mark.parametrize("method", ["lbfgs", "majorize"])
def test_callbacks(method, capsys):
    seen = []

    def stop(state):
        seen.append(state)
        return state.iteration == 4

    found = lowdim.Sammon(method=method, callback=stop, verbose=1).fit(swiss())
    assert [state.iteration for state in seen] == [1, 2, 3, 4]
    assert [state.loss for state in seen] == found.history_[1:].tolist()
    assert found.n_iter_ == 4
    fit = lowdim.procrustes(seen[-1].embedding, found.embedding_, scaling=False)
    assert fit.disparity < 1e-20
    capsys.readouterr()


@pytest.mark.parametrize("method", ["lbfgs", "majorize"])
def test_ctrl_c_keeps_the_best_so_far(method):
    def interrupt(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="Sammon was interrupted"):
        found = lowdim.Sammon(method=method, callback=interrupt).fit(swiss())
    assert found.n_iter_ == 3
    assert found.stress_ == found.history_[-1] < found.history_[0]
    assert found.stress_ == pytest.approx(stress(pdist(swiss()), found.embedding_))
    assert np.isfinite(found.transform(swiss()[:3] + 1)).all()


def test_the_largest_number_of_iterations():
    assert lowdim.Sammon(max_iter=3).fit(swiss()).n_iter_ == 3
    assert lowdim.Sammon(max_iter=3, method="majorize").fit(swiss()).n_iter_ == 3
    assert lowdim.Sammon(tol=0.5).fit(swiss()).n_iter_ < lowdim.Sammon().fit(swiss()).n_iter_


@pytest.mark.parametrize(
    "params",
    [
        {"method": "newton"},
        {"init": "pca"},
        {"init": np.zeros((3, 2))},
        {"init": 4},
        {"init": np.full((47, 2), np.nan)},
        {"epsilon": -0.1},
        {"epsilon": 2},
        {"max_iter": 0},
        {"tol": -1.0},
        {"n_components": 47},
    ],
)
def test_bad_parameters(params):
    with pytest.raises((TypeError, ValueError), match=next(iter(params))):
        lowdim.Sammon(**params).fit(swiss())


def test_bad_dissimilarities():
    from scipy.sparse import csr_array

    D = cdist(swiss(), swiss())
    with pytest.raises(ValueError, match=r"dense array, got a sparse graph of dissimilarities"):
        lowdim.Sammon(metric="precomputed").fit(csr_array(D))
    found = lowdim.Sammon().fit(swiss())
    with pytest.raises(ValueError, match="gives infinity for row 1 of X"):
        found.transform(np.array([[1.0] * 5, [1e200] * 5]))
