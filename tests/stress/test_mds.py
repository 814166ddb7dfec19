"""MDS by stress: oracles, known configurations, weights, missing pairs, order, and refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.manifold import smacof as their_smacof

import lowdim
from lowdim import MDS, data
from lowdim.stress.mds.starts import same_shape


@pytest.fixture(scope="module")
def plane():
    return np.random.default_rng(0).normal(size=(200, 2)) * [2, 1]


@pytest.fixture(scope="module")
def D(plane):
    return cdist(plane, plane)


@pytest.fixture(scope="module")
def bent():
    """Distances that no plane holds."""
    points = np.random.default_rng(1).normal(size=(120, 6))
    return cdist(points, points)


def fitted(D, **params):
    fit = {name: params.pop(name) for name in ("weights", "init") if name in params}
    if isinstance(fit.get("weights"), str):
        params["weights"] = fit.pop("weights")
    return MDS(metric="precomputed", **params).fit(D, **fit)


def correlation(Y, truth):
    return lowdim.procrustes(truth, Y).correlation


# --- metric ---------------------------------------------------------------------------------


def test_distances_in_the_plane_are_recovered(D, plane):
    for init in ("classical", "random"):
        model = fitted(D, init=init, n_init=3 if init == "random" else 1, eps=1e-12)
        assert model.stresses_["normalized"] < 1e-9
        assert correlation(model.embedding_, plane) > 0.9999


def test_stress_is_what_it_says(bent):
    model = fitted(bent)
    d = pdist(model.embedding_)
    delta = squareform(bent, checks=False)
    raw = np.sum((delta - d) ** 2)
    expected = {
        "raw": raw,
        "stress-1": np.sqrt(raw / np.sum(d**2)),
        "normalized": raw / np.sum(delta**2),
    }
    assert model.stresses_ == pytest.approx(expected)
    assert model.stress_ == pytest.approx(raw)
    assert model.history_[-1] == pytest.approx(raw)
    assert fitted(bent, normalized_stress=True).stress_ == pytest.approx(expected["stress-1"])


def theirs(D, start, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return their_smacof(D, init=start, n_init=1, normalized_stress=True, **params)[1]


@pytest.mark.parametrize("metric", [True, False])
def test_no_worse_than_scikit_learn_from_the_classical_start(bent, metric):
    start = lowdim.ClassicalMDS(metric="precomputed").fit(bent).embedding_
    model = fitted(bent, metric_mds=metric, init=start)
    assert model.stresses_["stress-1"] <= theirs(bent, start, metric=metric)


def test_no_worse_than_scikit_learn_from_random_starts(bent):
    """Other steps lead to other minima: better ones on the whole, and never much worse."""
    ratios = []
    for seed in range(6):
        start = np.random.default_rng(seed).uniform(size=(len(bent), 2)) * bent.max()
        ratios.append(fitted(bent, init=start).stresses_["stress-1"] / theirs(bent, start))
    assert np.mean(ratios) < 1
    assert np.max(ratios) < 1.02


@pytest.mark.parametrize("kind", ["ratio", "interval", "ordinal", "spline"])
@pytest.mark.parametrize("init", ["classical", "random"])
def test_stress_never_increases(bent, kind, init):
    model = fitted(bent, disparities=kind, init=init, eps=0, max_iter=120, random_state=3)
    assert (np.diff(model.history_) <= 1e-12 * model.history_[0]).all()
    assert model.n_iter_ == len(model.history_) - 1 <= 120


@pytest.mark.parametrize("kind", ["ratio", "ordinal"])
@pytest.mark.parametrize("scale", [1e-4, 1e5])
def test_iterations_do_not_depend_on_the_scale(bent, kind, scale):
    model, scaled = fitted(bent, disparities=kind), fitted(bent * scale, disparities=kind)
    assert scaled.n_iter_ == model.n_iter_
    expected = model.embedding_ * (scale if kind == "ratio" else 1)
    np.testing.assert_allclose(scaled.embedding_, expected, atol=1e-6 * np.abs(expected).max())


def test_the_gradient_vanishes_at_the_end(bent):
    model = fitted(bent, eps=0, max_iter=3000)
    X, d = model.embedding_, cdist(model.embedding_, model.embedding_)
    ratio = 1 - bent / np.where(d > 0, d, 1)
    np.fill_diagonal(ratio, 0)
    gradient = ratio.sum(axis=1)[:, None] * X - ratio @ X
    assert np.abs(gradient).max() < 1e-4 * bent.sum() / len(bent)


@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_other_dimensions(n_components):
    points = np.random.default_rng(2).normal(size=(60, n_components))
    model = fitted(cdist(points, points), n_components=n_components)
    assert correlation(model.embedding_, points) > 0.999


def test_starts_in_parallel_keep_the_best_and_its_bits(bent):
    one = fitted(bent, init="random", n_init=4, n_jobs=1, random_state=1)
    many = fitted(bent, init="random", n_init=4, n_jobs=3, random_state=1)
    np.testing.assert_array_equal(one.embedding_, many.embedding_)
    single = fitted(bent, init="random", n_init=1, random_state=1)
    assert one.stress_ <= single.stress_


def test_a_start_can_be_given_in_both_places(bent):
    start = np.random.default_rng(0).normal(size=(len(bent), 2))
    np.testing.assert_array_equal(
        fitted(bent, init=start).embedding_,
        MDS(metric="precomputed", init=start).fit_transform(bent),
    )
    with pytest.raises(ValueError, match=r"init must be .*shape \(120, 2\), .*; got \(4, 2\)"):
        fitted(bent, init=start[:4])


def test_more_iterations_from_where_it_stopped(bent):
    first = fitted(bent, max_iter=5)
    assert fitted(bent, init=first.embedding_).stress_ < first.stress_


# --- order ----------------------------------------------------------------------------------

DISTORTIONS = {
    "square": np.square,
    "log1p": np.log1p,
    "rank": lambda D: squareform(squareform(D, checks=False).argsort().argsort() + 1.0),
}


@pytest.mark.parametrize("how", DISTORTIONS)
@pytest.mark.parametrize("ties", ["primary", "secondary"])
@pytest.mark.parametrize("init", ["classical", "random"])
def test_order_alone_recovers_the_plane(D, plane, how, ties, init):
    bent = DISTORTIONS[how](D)
    n_init = 4 if init == "random" else 1
    model = fitted(bent, metric_mds=False, ties=ties, init=init, n_init=n_init, random_state=0)
    assert model.stress_ == model.stresses_["stress-1"] < 0.01
    assert correlation(model.embedding_, plane) > 0.99


def test_disparities_keep_the_order_and_stress_fits_them(bent):
    model = fitted(bent**2, metric_mds=False)
    given, distances, disparities = model.shepard()
    assert (np.diff(given) >= 0).all()
    assert (np.diff(disparities) >= 0).all()
    assert np.mean(disparities**2) == pytest.approx(1)
    assert model.history_[-1] == pytest.approx(np.sum((disparities - distances) ** 2))
    np.testing.assert_allclose(model.disparities_, model.disparities_.T)


def test_ties_primary_and_secondary(bent):
    rounded = np.round(bent)
    secondary = fitted(rounded, metric_mds=False, ties="secondary", eps=1e-9)
    primary = fitted(rounded, metric_mds=False, ties="primary", eps=1e-9)
    assert primary.stress_ < secondary.stress_
    given, _, disparities = secondary.shepard()
    for value in np.unique(given):
        assert np.ptp(disparities[given == value]) < 1e-12
    given, _, disparities = primary.shepard()
    assert np.ptp(disparities[given == np.median(given)]) > 0.01
    highest = [disparities[given == v].max() for v in np.unique(given)]
    lowest = [disparities[given == v].min() for v in np.unique(given)]
    assert (np.array(lowest[1:]) >= np.array(highest[:-1]) - 1e-12).all()


def test_interval_recovers_a_shift(D, plane):
    shifted = 3 * D + 2
    np.fill_diagonal(shifted, 0)
    model = fitted(shifted, disparities="interval", eps=1e-10, max_iter=2000)
    given, _, disparities = model.shepard()
    slope, offset = np.polyfit(given, disparities, 1)
    np.testing.assert_allclose(disparities, slope * given + offset, atol=1e-9)
    assert slope > 0
    assert model.stress_ <= fitted(shifted, normalized_stress=True).stress_


def test_a_spline_is_between_interval_and_order(D):
    bent = np.log1p(D)
    stress = {
        kind: fitted(bent, disparities=kind, eps=1e-9).stress_
        for kind in ("interval", "spline", "ordinal")
    }
    assert stress["ordinal"] < stress["spline"] < 0.1 * stress["interval"]


# --- weights and missing pairs ----------------------------------------------------------------


def naive_weighted(D, W, X, steps):
    """SMACOF by its formulas: X <- V+ B(X) X."""
    V = np.diag(W.sum(axis=1)) - W
    inverse = np.linalg.pinv(V)
    for _ in range(steps):
        d = cdist(X, X)
        B = -W * np.where(d > 0, D / np.where(d > 0, d, 1), 0)
        np.fill_diagonal(B, 0)
        np.fill_diagonal(B, -B.sum(axis=1))
        X = inverse @ B @ X
    return X, np.sum(W * (D - cdist(X, X)) ** 2) / 2


@pytest.mark.parametrize("share", [1.0, 0.3, 0.05])
def test_weights_against_the_formulas(bent, share):
    random = np.random.default_rng(5)
    W = np.triu(random.uniform(0.1, 3, bent.shape) * (random.random(bent.shape) < share), 1)
    W[np.arange(119), np.arange(1, 120)] = 1
    W = W + W.T
    start = random.normal(size=(len(bent), 2))
    one = fitted(bent, weights=W, init=start, max_iter=1, eps=0)
    d = cdist(start, start)
    scaled = start * np.sum(W * bent * d) / np.sum(W * d**2)
    expected, stress = naive_weighted(bent, W, scaled, 1)
    moved = one.embedding_ - one.embedding_.mean(axis=0)
    tol = 1e-8 if share > 0.1 else 1e-2  # iterations of conjugate gradients end early
    np.testing.assert_allclose(moved, expected, atol=tol * np.abs(expected).max())
    assert one.stress_ == pytest.approx(stress, rel=tol)
    assert fitted(bent, weights=W, init=start).stress_ <= naive_weighted(bent, W, scaled, 50)[1]


def test_weights_all_one_change_nothing(bent):
    ones = np.ones_like(bent)
    for params in ({}, {"metric_mds": False}, {"init": "random"}):
        np.testing.assert_array_equal(
            fitted(bent, weights=ones, **params).embedding_, fitted(bent, **params).embedding_
        )


@pytest.mark.parametrize("how", ["NaN", "weight 0", "sparse", "sparse weights"])
def test_half_of_the_pairs_are_enough(D, plane, how):
    gone = np.triu(np.random.default_rng(3).random(D.shape) < 0.5, 1)
    gone = gone | gone.T
    if how == "NaN":
        model = fitted(np.where(gone, np.nan, D))
    elif how == "weight 0":
        model = fitted(D, weights=(~gone).astype(float))
    elif how == "sparse":
        model = fitted(csr_array(np.where(gone, 0, np.triu(D))))
    else:
        model = fitted(D, weights=csr_array((~gone).astype(float)))
    assert correlation(model.embedding_, plane) > 0.999


def test_the_order_of_half_of_the_pairs_is_enough(D, plane):
    gone = np.triu(np.random.default_rng(3).random(D.shape) < 0.5, 1)
    model = fitted(np.where(gone | gone.T, np.nan, D**2), metric_mds=False)
    assert correlation(model.embedding_, plane) > 0.99


def test_known_pairs_of_many_objects():
    points = np.random.default_rng(0).uniform(size=(1700, 2))
    i, j = np.random.default_rng(1).integers(0, 1700, size=(2, 60_000))
    kept = np.unique(np.minimum(i, j) * 1700 + np.maximum(i, j))
    i, j = kept // 1700, kept % 1700
    i, j = i[i != j], j[i != j]
    d = np.linalg.norm(points[i] - points[j], axis=1)
    model = fitted(coo_array((d, (i, j)), (1700, 1700)))
    assert correlation(model.embedding_, points) > 0.999
    assert model.disparities_.nnz == 2 * len(d)


def test_weights_by_name(bent):
    by_name = fitted(bent, weights="d^-2")
    W = 1 / np.where(bent > 0, bent, 1) ** 2
    given = fitted(bent, weights=W)
    np.testing.assert_allclose(by_name.embedding_, given.embedding_, atol=1e-6)
    with pytest.raises(ValueError, match=r"weights must be None or a name such as 'd\^-1'"):
        fitted(bent, weights="heavy")


def test_duplicates_and_zero_dissimilarities_with_every_weight(plane):
    twice = np.concatenate([plane[:40], plane[:10]])
    for params in ({"weights": "d^-1"}, {"metric_mds": False}, {"disparities": "spline"}):
        Y = MDS(**params).fit(twice).embedding_
        assert np.isfinite(Y).all()
        np.testing.assert_allclose(Y[:10], Y[40:], atol=0.05)


# --- many objects ------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_sampled_pairs_come_close_to_all_pairs(metric):
    X, _ = data.swiss_roll(1500, random_state=0)
    full = MDS(metric=metric).fit(X)
    sampled = MDS(metric=metric, method="sampled").fit(X)
    d = cdist(X, X, metric)
    raw = np.sum((d - cdist(sampled.embedding_, sampled.embedding_)) ** 2) / 2
    assert raw < 1.01 * full.stress_
    assert sampled.stress_ == pytest.approx(raw, rel=0.05)
    again = MDS(metric=metric, method="sampled", n_jobs=3).fit(X)
    np.testing.assert_array_equal(again.embedding_, sampled.embedding_)


def test_sampled_pairs_from_a_random_start_and_with_weights():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    for params in ({"init": "random"}, {"weights": "d^-1"}):
        model = MDS(method="sampled", random_state=0, **params).fit(X)
        assert correlation(model.embedding_, X) > 0.999


def test_sampled_refuses_what_it_cannot_do(D, plane):
    with pytest.raises(ValueError, match="needs vectors"):
        fitted(D, method="sampled")
    with pytest.raises(ValueError, match="disparities='ordinal'"):
        MDS(method="sampled", metric_mds=False).fit(plane)


# --- new objects ------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"metric_mds": False}, {"disparities": "interval"}])
def test_new_objects_of_the_plane_find_their_place(plane, params):
    model = MDS(**params, eps=1e-10).fit(plane[:150])
    placed = model.transform(plane[150:])
    together = np.concatenate([model.embedding_, placed])
    assert correlation(together, plane) > (0.9999 if not params else 0.999)


def test_training_objects_come_back_when_the_fit_has_converged(bent):
    model = fitted(bent, eps=0, max_iter=5000)
    gap = np.abs(model.transform(bent) - model.embedding_).max()
    assert gap < 1e-3 * np.abs(model.embedding_).max()


def test_missing_entries_of_new_objects(D, plane):
    model = fitted(D[:150, :150])
    rows = D[150:, :150].copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = np.nan
    together = np.concatenate([model.embedding_, model.transform(rows)])
    assert correlation(together, plane) > 0.9999


# --- refusals -----------------------------------------------------------------------------------


def broken(D, change):
    D = D.copy()
    change(D)
    return D


REFUSED = {
    "asymmetric": (lambda D: D.__setitem__((3, 5), 9.0), r"symmetric.*\[3, 5\]"),
    "negative": (
        lambda D: D.__setitem__(([3, 5], [5, 3]), -1.0),
        r"must not be negative, \[3, 5\] is -1",
    ),
    "diagonal": (lambda D: D.__setitem__((4, 4), 1.0), r"diagonal must be zero.*\[4, 4\] is 1"),
    "NaN diagonal": (lambda D: D.__setitem__((4, 4), np.nan), r"diagonal.*\[4, 4\] is NaN"),
    "one-sided NaN": (lambda D: D.__setitem__((3, 5), np.nan), r"NaN at \[3, 5\].*both places"),
    "all zero": (lambda D: D.fill(0), "all dissimilarities are zero"),
    "infinite": (lambda D: D.__setitem__((3, 5), np.inf), r"infinity at \[3, 5\]"),
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.filterwarnings("ignore:.*objects are the same")
def test_bad_dissimilarities(D, why):
    change, message = REFUSED[why]
    with pytest.raises(ValueError, match=message):
        fitted(broken(D, change))


def test_objects_without_a_link_are_named(D):
    apart = D.copy()
    apart[:190, 190:] = apart[190:, :190] = np.nan
    with pytest.raises(ValueError, match=r"objects 190, 191, .*\(10 in all\) cannot be placed"):
        fitted(apart)
    W = np.isfinite(apart).astype(float)
    with pytest.raises(ValueError, match="2 groups of objects"):
        fitted(D, weights=W)


def test_bad_weights(D):
    W = np.ones_like(D)
    with pytest.raises(ValueError, match=r"weights must be \(200, 200\)"):
        fitted(D, weights=W[:5])
    with pytest.raises(ValueError, match=r"weights: entries must not be negative, \[0, 1\]"):
        fitted(D, weights=-W)
    with pytest.raises(ValueError, match="weights must be symmetric"):
        fitted(D, weights=broken(W, lambda W: W.__setitem__((0, 1), 2.0)))


@pytest.mark.parametrize(
    ("S", "message"),
    [
        (csr_array(np.array([[0, 1.0, 2], [3, 0, 1], [0, 0, 0]])), "symmetric.* differ"),
        (csr_array(np.array([[0, -1.0], [0, 0]])), "negative"),
        (csr_array(np.array([[1.0, 1.0], [0, 0]])), "diagonal"),
        (csr_array(np.ones((2, 3))), "square"),
    ],
)
def test_bad_known_pairs(S, message):
    with pytest.raises(ValueError, match=message):
        fitted(S, n_components=1)


def test_old_spellings_still_work(D):
    with pytest.warns(FutureWarning, match="`dissimilarity` parameter is"):
        old = MDS(dissimilarity="precomputed").fit(D)
    np.testing.assert_array_equal(old.embedding_, fitted(D).embedding_)
    with pytest.warns(FutureWarning, match="Use metric_mds=False"):
        assert MDS(metric=False).fit(D[:20, :2])._kind == "ordinal"
    with pytest.raises(ValueError, match="both `dissimilarity` and `metric`"):
        MDS(metric="cosine", dissimilarity="euclidean").fit(D)


def test_a_callback_sees_iterations_and_stops(bent):
    seen = []

    def stop(state):
        seen.append(state.loss)
        return len(seen) == 3

    model = fitted(bent, callback=stop, eps=0)
    assert len(seen) == 3
    assert model.n_iter_ >= 3
    assert seen == sorted(seen, reverse=True)


def test_interruption_leaves_a_map(bent):
    def interrupt(state):
        if state.iteration == 4:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        model = fitted(bent, callback=interrupt)
    assert np.isfinite(model.embedding_).all()


def test_saved_and_loaded_with_order(bent, tmp_path):
    model = fitted(bent, metric_mds=False)
    model.save(tmp_path / "mds")
    loaded = lowdim.load(tmp_path / "mds")
    np.testing.assert_array_equal(loaded.transform(bent[:3]), model.transform(bent[:3]))
    np.testing.assert_array_equal(loaded.shepard().disparities, model.shepard().disparities)


def test_starts_until_the_best_solution_is_found_twice():
    X = np.random.RandomState(2).standard_normal((10, 3)) * [2, 1, 0.4]
    options = {"init": "random", "eps": 1e-9, "max_iter": 1000}
    auto = MDS(2, n_init="auto", **options).fit(X)
    assert auto.n_starts_ == 8  # none of the first four led to the same solution as another
    many = MDS(2, n_init=8, **options).fit(X)
    assert auto.stress_ == pytest.approx(many.stress_, rel=1e-6)
    with lowdim.compute(n_jobs=3):
        threads = MDS(2, n_init="auto", **options).fit(X)
    np.testing.assert_array_equal(threads.embedding_, auto.embedding_)


def test_a_solution_that_is_not_found_again_is_reported():
    D = cdist(*[np.random.RandomState(0).standard_normal((40, 30))] * 2)
    with pytest.warns(UserWarning, match="no two of 20 starts"):
        MDS(1, metric="precomputed", n_init="auto", init="random").fit(D)
    with pytest.raises(ValueError, match="n_init"):
        MDS(n_init="many").fit(D)


def test_equal_shapes():
    X = np.random.RandomState(0).standard_normal((30, 2))
    turned = X @ np.array([[0, 1], [1, 0]]) + 5
    assert same_shape(X, turned)
    assert same_shape(X, turned + 1e-3)
    assert not same_shape(X, 1.1 * turned)
    assert not same_shape(X, X[::-1])


@pytest.mark.parametrize("metric_mds", [True, False])
def test_training_objects_keep_their_places(metric_mds):
    from sklearn.datasets import load_digits

    X = np.unique(load_digits().data[:300], axis=0)
    scaling = MDS(metric_mds=metric_mds, max_iter=20).fit(X)
    np.testing.assert_array_equal(scaling.transform(X), scaling.embedding_)
