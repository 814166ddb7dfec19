"""Maximum variance unfolding: what unfolds, what stays, and what the parameters change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist

from lowdim import MaximumVarianceUnfolding, compute, data, neighbors
from lowdim.spectral.maximum_variance import factorized, maximum_variance


def edges(estimator):
    graph = estimator.graph_.adjacency().tocoo()
    upper = graph.row < graph.col
    return graph.row[upper], graph.col[upper], graph.data[upper]


def kept(estimator, Y=None):
    """Distances between neighbours in K, or in a map, over those given."""
    i, j, d = edges(estimator)
    if Y is not None:
        return np.linalg.norm(Y[i] - Y[j], axis=1) / d
    K = estimator.kernel_
    return np.sqrt(K[i, i] + K[j, j] - 2 * K[i, j]) / d


@pytest.fixture(scope="module")
def bent():
    """A sheet bent like an S, dense enough for five neighbours to stay on it."""
    return data.s_curve(200, random_state=0)[0]


def test_a_spiral_becomes_a_line_of_its_length():
    t = np.linspace(2, 14, 60)
    spiral = np.stack([t * np.cos(t), t * np.sin(t)], axis=1)
    steps = np.linalg.norm(np.diff(spiral, axis=0), axis=1)
    pairs = np.zeros((60, 60))
    for i in range(59):
        pairs[i, i + 1] = pairs[i + 1, i] = steps[i]
    from scipy.sparse import csr_array

    estimator = MaximumVarianceUnfolding(1, n_neighbors=2, metric="precomputed", slack=0)
    Y = estimator.fit_transform(csr_array(pairs))[:, 0]
    assert np.ptp(Y) == pytest.approx(steps.sum(), rel=1e-5)
    np.testing.assert_allclose(np.abs(np.diff(Y)), steps, rtol=1e-4)
    assert estimator.eigenvalues_[0] / estimator.eigenvalues_.sum() > 0.99999


@pytest.mark.parametrize("slack", [0, 1e-4])
def test_a_rigid_plane_stays_as_it_is(slack):
    points = np.random.RandomState(0).uniform(size=(40, 2))
    plane = points @ np.linalg.qr(np.random.RandomState(1).standard_normal((5, 2)))[0].T
    Y = MaximumVarianceUnfolding(n_neighbors=15, slack=slack).fit_transform(plane)
    np.testing.assert_allclose(pdist(Y), pdist(points), rtol=0.01 if slack else 1e-3, atol=1e-3)


def test_a_bent_sheet_unfolds(bent):
    estimator = MaximumVarianceUnfolding(n_neighbors=5, solver="interior-point").fit(bent)
    assert estimator.eigenvalues_[:2].sum() / estimator.eigenvalues_.sum() > 0.95
    ratio = kept(estimator)
    assert np.abs(ratio - 1).max() < 0.01
    assert np.abs(ratio - 1).max() == pytest.approx(estimator.length_error_, rel=1e-4)
    assert estimator.duality_gap_ < 1e-4
    assert len(estimator.history_) == estimator.n_iter_
    K = estimator.kernel_
    np.testing.assert_allclose(K, K.T)
    assert np.abs(K.sum(axis=0)).max() < 1e-8 * np.trace(K)
    values = np.linalg.eigvalsh(K)[::-1]
    np.testing.assert_allclose(estimator.eigenvalues_, values, atol=1e-9 * values[0])
    Y = estimator.embedding_
    np.testing.assert_allclose((Y**2).sum(axis=0), values[:2], rtol=1e-8)


def test_the_factorized_version_is_close_to_the_exact_one(bent):
    exact = MaximumVarianceUnfolding(n_neighbors=5, solver="interior-point").fit(bent)
    quick = MaximumVarianceUnfolding(n_neighbors=5, solver="factorized").fit(bent)
    assert quick.eigenvalues_.sum() == pytest.approx(exact.eigenvalues_.sum(), rel=0.02)
    assert quick.length_error_ < 0.05
    assert len(quick.eigenvalues_) == 3
    assert not hasattr(quick, "kernel_")
    a, b = pdist(exact.embedding_), pdist(quick.embedding_)
    assert np.corrcoef(a, b)[0, 1] > 0.999


def test_many_points_take_the_factorized_version():
    X, position = data.swiss_roll(800, random_state=1)
    estimator = MaximumVarianceUnfolding(n_neighbors=6).fit(X)
    assert not hasattr(estimator, "kernel_")
    assert abs(np.corrcoef(estimator.embedding_[:, 0], position)[0, 1]) > 0.97
    assert estimator.eigenvalues_[:2].sum() / estimator.eigenvalues_.sum() > 0.99
    np.testing.assert_allclose(
        np.quantile(kept(estimator, estimator.embedding_), 0.5), 1, atol=0.05
    )


def agreement(Y, reference):
    """Procrustes correlation: one where the maps differ by turns, shifts and scale alone."""
    return np.sqrt(1 - procrustes(reference, Y)[2])


def test_a_map_that_did_not_converge_is_warned_of(bent):
    estimator = MaximumVarianceUnfolding(solver="factorized", max_iter=1)
    with pytest.warns(UserWarning, match="stopped after max_iter=1 iterations") as caught:
        estimator.fit(bent)
    assert caught[0].filename == __file__
    assert estimator.length_error_ > 0.2


@pytest.mark.parametrize("solver", ["interior-point", "factorized"])
def test_inequality_lets_distances_shrink(solver):
    X = data.swiss_roll(100, random_state=0)[0]
    equal = MaximumVarianceUnfolding(n_neighbors=6, solver=solver).fit(X)
    below = MaximumVarianceUnfolding(n_neighbors=6, solver=solver, constraint="inequality").fit(X)
    assert below.eigenvalues_.sum() > equal.eigenvalues_.sum()
    assert below.length_error_ < 0.02
    ratio = kept(below) if solver == "interior-point" else kept(below, below.embedding_)
    assert ratio.min() < 0.8


def test_more_slack_unfolds_more():
    X = data.s_curve(80, noise=0.05, random_state=0)[0]
    traces, errors = [], []
    for slack in (1e-4, 1e-3, 1e-2):
        estimator = MaximumVarianceUnfolding(n_neighbors=6, slack=slack).fit(X)
        traces.append(estimator.eigenvalues_.sum())
        errors.append(np.mean(kept(estimator) - 1))
    assert traces == sorted(traces)
    assert errors == sorted(errors)


def test_common_neighbors_keep_the_angles():
    X = data.swiss_roll(60, random_state=0)[0]
    plain = MaximumVarianceUnfolding(n_neighbors=4).fit(X)
    tied = MaximumVarianceUnfolding(n_neighbors=4, common_neighbors=True).fit(X)
    assert tied.eigenvalues_.sum() < plain.eigenvalues_.sum()
    K = tied.kernel_
    errors = []
    for own in tied.graph_.indices:
        for a in own:
            for b in own:
                if a < b:
                    d = np.linalg.norm(X[a] - X[b])
                    errors.append(np.sqrt(K[a, a] + K[b, b] - 2 * K[a, b]) / d - 1)
    assert np.abs(errors).max() < 0.02
    given = MaximumVarianceUnfolding(n_neighbors=4, common_neighbors=True, metric="precomputed")
    Y = given.fit_transform(cdist(X, X))
    assert given.eigenvalues_.sum() == pytest.approx(tied.eigenvalues_.sum(), rel=1e-5)
    assert Y.shape == (60, 2)
    with pytest.raises(ValueError, match="common_neighbors=True needs the distances"):
        given.fit(neighbors(X, 4))


def test_dissimilarities_that_violate_the_triangle_inequality():
    """Distances that violate the triangle inequality are kept as well as they can be."""
    random = np.random.RandomState(0)
    D = random.uniform(1, 5, (30, 30))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    estimator = MaximumVarianceUnfolding(n_neighbors=25, metric="precomputed").fit(D)
    assert np.isfinite(estimator.embedding_).all()
    assert estimator.length_error_ > 0.01


@pytest.mark.parametrize("solver", ["interior-point", "factorized"])
def test_the_callback_sees_the_map_and_stops(solver):
    X = data.swiss_roll(80, random_state=0)[0]
    seen = []

    def callback(state):
        seen.append(state)
        return state.iteration == 4

    estimator = MaximumVarianceUnfolding(solver=solver, callback=callback).fit(X)
    assert [state.iteration for state in seen] == [1, 2, 3, 4]
    assert all(state.embedding.shape == (80, 2) for state in seen)
    assert estimator.n_iter_ == 4
    assert np.isfinite(estimator.embedding_).all()


@pytest.mark.parametrize("solver", ["interior-point", "factorized"])
def test_ctrl_c_keeps_the_best_so_far(solver):
    X = data.swiss_roll(80, random_state=0)[0]

    def callback(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    estimator = MaximumVarianceUnfolding(solver=solver, callback=callback)
    with pytest.warns(UserWarning, match="was interrupted"):
        estimator.fit(X)
    assert np.isfinite(estimator.embedding_).all()
    assert estimator.transform(X[:3]).shape == (3, 2)


def test_progress_is_shown_on_request_only(capsys):
    X = data.swiss_roll(60, random_state=0)[0]
    MaximumVarianceUnfolding().fit(X)
    assert capsys.readouterr() == ("", "")
    MaximumVarianceUnfolding(verbose=1).fit(X)
    assert "MaximumVarianceUnfolding: " in capsys.readouterr().err


def test_new_points_keep_their_distances(bent):
    estimator = MaximumVarianceUnfolding(n_neighbors=5).fit(bent[:180])
    placed = estimator.transform(bent[180:])
    D = cdist(bent[180:], bent[:180])
    nearest = D.argmin(axis=1)
    gap = np.linalg.norm(placed - estimator.embedding_[nearest], axis=1)
    assert np.median(np.abs(gap / D.min(axis=1) - 1)) < 0.1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"constraint": "both"}, "constraint must be one of"),
        ({"solver": "simplex"}, "solver must be one of"),
        ({"slack": -1.0}, "slack must lie in"),
        ({"slack": 2.0}, "slack must lie in"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": 0.0}, "tol must lie in"),
        ({"n_functions": 0}, "n_functions must be at least 1"),
        ({"common_neighbors": "yes"}, "common_neighbors must be True or False"),
    ],
)
def test_bad_parameters(params, message, bent):
    with pytest.raises(ValueError, match=message):
        MaximumVarianceUnfolding(**params).fit(bent[:30])


def test_data_of_many_dimensions_are_refused_before_they_fill_the_memory(monkeypatch):
    """The factors of the graph of ten-dimensional data have about n^2 entries, of a curve n."""
    monkeypatch.setattr(maximum_variance, "CLAIMED_FROM", 1000)
    monkeypatch.setattr(factorized, "SAMPLES", (100, 400))
    estimator = MaximumVarianceUnfolding(solver="factorized", max_iter=3)
    blob = np.random.RandomState(0).standard_normal((1500, 10))
    with compute(memory="24MB", n_jobs=1):  # each thread takes some of it
        with pytest.raises(MemoryError, match="MaximumVarianceUnfolding of 1500 objects"):
            estimator.fit(blob)
        strip = np.stack([np.arange(1500.0), blob[:, 0] / 100], axis=1)
        with pytest.warns(UserWarning, match="before it converged"):
            estimator.fit(strip)
