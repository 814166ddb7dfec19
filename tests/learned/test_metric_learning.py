"""Metric learning: gradients, optima by other means, and accuracy against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import lowdim
from lowdim.learned.metric_learning import large_margin
from lowdim.learned.metric_learning.large_margin import LargeMargin, target_neighbors
from lowdim.learned.metric_learning.neighborhood_components import StochasticNeighbors

random = np.random.RandomState(0)
X = random.normal(size=(150, 4)) * [3, 1, 1, 0.3]
CODES = (X[:, 3] > 0).astype(int) + (X[:, 2] > 0.5)


# --- neighbourhood components analysis -----------------------------------------------------------


def expected_errors(L, X=X):
    D = cdist(X @ L.T, X @ L.T, "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    P = np.exp(D.min(axis=1, keepdims=True) - D)
    P /= P.sum(axis=1, keepdims=True)
    return len(X) - P[CODES[:, None] == CODES].sum()


@pytest.mark.parametrize(("k", "size"), [(1, 1), (4, 1), (4, 9)])
@pytest.mark.parametrize("accuracy", [0.0, 1e-5])
def test_stochastic_neighbours_value_and_gradient(k, size, accuracy):
    objective = StochasticNeighbors(X, CODES, accuracy)
    L = size * random.normal(size=(k, 4))
    assert objective(L)[0] == pytest.approx(expected_errors(L), rel=1e-9 + accuracy)
    exact = StochasticNeighbors(X, CODES, 0.0)
    gap = check_grad(
        lambda z: exact(z.reshape(k, 4))[0],
        lambda z: objective(z.reshape(k, 4))[1].ravel(),
        L.ravel(),
    )
    assert gap < 3e-4  # of finite differences: up to 6.3e-5, by instruction set


def test_stochastic_neighbours_of_rows_far_from_the_origin():
    rows = (X + 1e4).astype(np.float32)
    L = 3 * np.eye(2, 4)
    found = StochasticNeighbors(rows, CODES, 0.0)(L)[0]
    assert found == pytest.approx(expected_errors(L, rows.astype(np.float64)), rel=1e-5)


def test_the_loss_is_at_least_as_low_as_that_of_scikit_learn():
    theirs = NeighborhoodComponentsAnalysis(2, init="pca", max_iter=200).fit(X, CODES)
    ours = lowdim.NeighborhoodComponentsAnalysis(2, init="pca", max_iter=200).fit(X, CODES)
    assert ours.loss_ == pytest.approx(expected_errors(ours.components_) / len(X))
    assert ours.loss_ < 1.02 * expected_errors(theirs.components_) / len(X)
    assert (np.diff(ours.history_) <= 1e-12).all()


@pytest.mark.parametrize("init", ["pca", "lda", "identity", "random"])
def test_starts(init):
    found = lowdim.NeighborhoodComponentsAnalysis(2, init=init, random_state=3).fit(X, CODES)
    assert found.loss_ < 0.45
    given = lowdim.NeighborhoodComponentsAnalysis(2, init=found.components_).fit(X, CODES)
    assert given.loss_ <= found.loss_ + 1e-12
    with pytest.raises(ValueError, match=r"init must be .*\(2, 4\), one row for .*; got \(3, 3\)"):
        lowdim.NeighborhoodComponentsAnalysis(2, init=np.eye(3)).fit(X, CODES)


def test_objects_that_are_too_far_apart_are_pointed_out():
    with pytest.warns(UserWarning, match="X: the objects are so far apart .* Divide X by"):
        found = lowdim.NeighborhoodComponentsAnalysis(init="identity").fit(1e6 * X, CODES)
    assert found.n_iter_ == 0


# --- large margins -------------------------------------------------------------------------------


def full_loss(M, targets, push):
    """The definition, with a loop over all triples."""
    total = 0.0
    D = cdist(X, X, "mahalanobis", VI=M) ** 2
    for i in range(len(X)):
        for j in targets[i]:
            total += (1 - push) * D[i, j]
            others = D[i, CODES[i] != CODES]
            total += push * np.maximum(0, 1 + D[i, j] - others).sum()
    return total


def problem(push=0.5):
    targets = target_neighbors(X, CODES, 3)
    return LargeMargin(X, CODES, targets, push), targets


def test_target_neighbours_have_the_same_label_and_are_the_nearest():
    _, targets = problem()
    D = cdist(X, X)
    D[CODES[:, None] != CODES] = np.inf
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(np.sort(targets, axis=1), np.sort(D.argsort(axis=1)[:, :3]))
    lonely = CODES.copy()
    lonely[7] = 9
    assert (target_neighbors(X, lonely, 3)[7] == -1).all()


def test_large_margin_value_and_gradient():
    task, targets = problem(0.3)
    A = random.normal(size=(4, 9))
    M = A @ A.T / 4
    task.search(M)
    distances = task.distances(M)
    value, gradient = task.value(distances), task.gradient(distances)
    assert value == pytest.approx(full_loss(M, targets, 0.3))
    direction = random.normal(size=(4, 4))
    direction += direction.T
    h = 1e-6
    up, down = (task.value(task.distances(M + sign * h * direction)) for sign in (1, -1))
    assert (up - down) / (2 * h) == pytest.approx((gradient * direction).sum(), rel=1e-4)


def test_the_optimum_of_the_convex_problem():
    """No step along any direction from the solution, within the cone, lowers the full loss."""
    from scipy.optimize import minimize

    from lowdim.runtime.callbacks import Monitor

    task, targets = problem()
    best, value, _ = large_margin.minimize(task, np.eye(4), Monitor(2000), 1e-8)
    assert full_loss(best, targets, 0.5) == pytest.approx(value, rel=1e-6)
    assert np.linalg.eigvalsh(best).min() > -1e-10

    def by_factor(z):
        L = z.reshape(4, 4)
        fresh = LargeMargin(X, CODES, targets, 0.5)
        fresh.search(L.T @ L)
        distances = fresh.distances(L.T @ L)
        return fresh.value(distances), (2 * L @ fresh.gradient(distances)).ravel()

    other = minimize(by_factor, np.eye(4).ravel(), jac=True, method="L-BFGS-B")
    assert value < 1.01 * other.fun


@pytest.mark.parametrize("init", ["auto", "pca", "lda", "random", np.eye(2, 4)])
def test_the_problem_of_large_margins_is_convex_so_all_starts_lead_to_its_optimum(init):
    options = {"tol": 1e-7, "max_iter": 3000, "random_state": 3}
    expected = lowdim.LargeMarginNearestNeighbor(2, **options).fit(X, CODES)
    other = lowdim.LargeMarginNearestNeighbor(2, init=init, **options).fit(X, CODES)
    assert other.history_[0] != expected.history_[0]
    assert other.loss_ == pytest.approx(expected.loss_, rel=0.02)


def test_a_random_start_depends_on_the_seed_alone():
    options = {"init": "random", "max_iter": 3}
    one, same, other = (
        lowdim.LargeMarginNearestNeighbor(2, random_state=seed, **options).fit(X, CODES)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.components_, same.components_)
    assert one.history_[0] != other.history_[0]


def test_regularization_is_the_name_of_push_in_metric_learn():
    push = lowdim.LargeMarginNearestNeighbor(push=0.2).fit(X, CODES)
    named = lowdim.LargeMarginNearestNeighbor(regularization=0.2).fit(X, CODES)
    np.testing.assert_array_equal(push.components_, named.components_)
    with pytest.raises(ValueError, match="regularization must lie in"):
        lowdim.LargeMarginNearestNeighbor(regularization=2.0).fit(X, CODES)


@pytest.mark.parametrize(
    "method", [lowdim.NeighborhoodComponentsAnalysis, lowdim.LargeMarginNearestNeighbor]
)
def test_a_warm_start_with_other_data_begins_with_the_earlier_map(method):
    model = method(2, warm_start=True, max_iter=4).fit(X, CODES)
    first = model.components_.copy()
    expected = method(2, init=first, max_iter=4).fit(X[::2], CODES[::2])
    model.fit(X[::2], CODES[::2])
    np.testing.assert_array_equal(model.components_, expected.components_)
    fresh = method(2, max_iter=4).fit(X[::2], CODES[::2])
    assert (fresh.components_ != expected.components_).any()
    with pytest.raises(ValueError, match=r"warm_start=True: the map of the earlier fit has shape"):
        model.fit(X[:, :3], CODES)
    with pytest.raises(TypeError, match="warm_start must be"):
        method(2, warm_start=np.zeros(3)).fit(X, CODES)


def test_large_margins_improve_neighbours():
    lmnn = lowdim.LargeMarginNearestNeighbor().fit(X, CODES)

    def errors(rows):
        D = cdist(rows, rows)
        np.fill_diagonal(D, np.inf)
        return (CODES[D.argmin(axis=1)] != CODES).mean()

    assert errors(lmnn.embedding_) < 0.7 * errors(X)
    assert lmnn.loss_ < 0.85 * lmnn.history_[0]


# --- bounds on pairs -----------------------------------------------------------------------------


def test_bounds_are_met_where_they_can_be():
    """With a high cost of violations and few pairs, all bounds hold."""
    wine = load_wine().data
    wine = wine / wine.std(axis=0)
    similar = [[0, 1], [60, 70], [140, 150]]
    dissimilar = [[0, 60], [60, 140], [1, 150]]
    itml = lowdim.InformationTheoreticMetricLearning(
        bounds=(2.0, 30.0), slack=1e6, tol=1e-10, max_iter=5000
    ).fit(wine, similar=similar, dissimilar=dissimilar)
    D = cdist(itml.embedding_, itml.embedding_) ** 2
    assert all(D[i, j] <= 2.0 * (1 + 1e-3) for i, j in similar)
    assert all(D[i, j] >= 30.0 * (1 - 1e-3) for i, j in dissimilar)
    assert not hasattr(itml, "classes_")


def test_without_any_violation_the_prior_stays():
    pairs = {"similar": [[0, 0 + 1]], "dissimilar": [[0, 2]]}
    euclidean = lowdim.InformationTheoreticMetricLearning(bounds=(1e6, 1e-6), slack=1e6)
    np.testing.assert_allclose(euclidean.fit(X, **pairs).metric_, np.eye(4), atol=1e-5)
    prior = lowdim.InformationTheoreticMetricLearning(
        bounds=(1e6, 1e-6), slack=1e6, prior="covariance"
    ).fit(X, **pairs)
    np.testing.assert_allclose(prior.metric_, np.linalg.inv(np.cov(X.T)), atol=1e-4)


def test_the_projection_of_one_pair():
    """Equality at the bound, and the formula of a rank-one change."""
    z = X[0] - X[1]
    length = float(z @ z)
    itml = lowdim.InformationTheoreticMetricLearning(
        bounds=(length / 4, 1.0), slack=1e9, tol=1e-12
    ).fit(X, similar=[[0, 1]])
    assert z @ itml.metric_ @ z == pytest.approx(length / 4, rel=1e-6)
    expected = np.eye(4) - (1 - 1 / 4) * np.outer(z, z) / length
    np.testing.assert_allclose(itml.metric_, expected, atol=1e-6)


def test_a_start_by_discriminants_has_no_empty_axes():
    """Two classes have one discriminant, and classes of one point each have none."""
    found = lowdim.NeighborhoodComponentsAnalysis(3, init="lda").fit(X, CODES > 0)
    assert (np.abs(found.components_).max(axis=1) > 0).all()
    points = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    labels = np.repeat([0, 1], 5)
    two = lowdim.NeighborhoodComponentsAnalysis(1).fit(points, labels)
    assert two.loss_ < 0.1
    corners = np.repeat([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    lowdim.NeighborhoodComponentsAnalysis(1).fit(corners, np.repeat([0, 1], 10))  # equal means


def test_a_dissimilar_pair_has_two_objects():
    with pytest.raises(ValueError, match=r"dissimilar has the pair \[3, 3\]"):
        lowdim.InformationTheoreticMetricLearning().fit(X, dissimilar=[[0, 1], [3, 3]])


def test_bounds_are_two_numbers_in_any_sequence():
    given = lowdim.InformationTheoreticMetricLearning(bounds=np.array([1.0, 9.0])).fit(X, CODES)
    assert given.bounds_ == (1.0, 9.0)
    with pytest.raises(ValueError, match="bounds must be two numbers"):
        lowdim.InformationTheoreticMetricLearning(bounds=(1.0,)).fit(X, CODES)


@pytest.mark.parametrize(
    ("pairs", "found"),
    [([[0, 1, 2]], "3"), ([[0.5, 1.0]], "float"), ([[0, 500]], "500"), ([[-1, 0]], "-1")],
)
def test_bad_pairs(pairs, found):
    with pytest.raises(ValueError, match=f"similar must.*{found}"):
        lowdim.InformationTheoreticMetricLearning().fit(X, similar=pairs)


def test_a_saved_model_keeps_labels_that_are_strings(tmp_path):
    X = np.random.RandomState(0).standard_normal((30, 3))
    labels = np.array(list("abc"))[np.arange(30) % 3]
    model = lowdim.NeighborhoodComponentsAnalysis(max_iter=3).fit(X, labels)
    model.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert loaded.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_a_callback_of_two_arguments_gets_the_map_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    seen = []

    def callback(transformation, n_iter):
        seen.append((transformation.copy(), n_iter))
        return True  # ignored

    model = lowdim.NeighborhoodComponentsAnalysis(2, max_iter=6, callback=callback).fit(X, y)
    assert [n_iter for _, n_iter in seen] == list(range(model.n_iter_))
    assert model.n_iter_ > 1
    np.testing.assert_array_equal(seen[-1][0], model.components_.ravel())
    plain = lowdim.NeighborhoodComponentsAnalysis(2, max_iter=6).fit(X, y)
    np.testing.assert_array_equal(model.components_, plain.components_)
