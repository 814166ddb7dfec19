"""INDSCAL: known weights and axes come back, whatever the noise and the start."""

from __future__ import annotations

import inspect
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowdim
from helpers import differences
from lowdim import plot
from lowdim.catalog import find
from lowdim.stress.indscal.group_space import (
    SharedSpace,
    diagonal_weights,
    full_weights,
    nonnegative,
)

few = settings(max_examples=12)


def subjects(m=10, n=25, p=2, noise=0.0, seed=0):
    """A group space, weights, and the dissimilarities that each subject reports."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((n, p))
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    W = random.uniform(0.1, 1, (m, p))
    D = np.stack([cdist(X * np.sqrt(w), X * np.sqrt(w)) for w in W])
    errors = np.triu(np.abs(1 + noise * random.standard_normal(D.shape)), 1)
    return X, W, D * (errors + errors.transpose(0, 2, 1))


def matched(X, found):
    """For each true axis its match among those found, and the correlations."""
    p = X.shape[1]
    correlations = np.abs(np.corrcoef(X.T, found.T)[:p, p:])
    return correlations.argmax(axis=1), correlations.max(axis=1)


def profile(W):
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def weight_correlations(W, found):
    W, found = profile(W), profile(found)
    return [np.corrcoef(a, b)[0, 1] for a, b in zip(W.T, found.T, strict=True)]


@few
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(2, 4),
    init=st.sampled_from(["simultaneous", "random"]),
)
def test_axes_and_weights_are_recovered_without_rotation(seed, p, init):
    X, W, D = subjects(p=p, seed=seed)
    found = lowdim.INDSCAL(p, init=init, random_state=seed).fit(D)
    order, correlations = matched(X, found.embedding_)
    assert sorted(order) == list(range(p))
    assert correlations.min() > 0.9999
    np.testing.assert_allclose(profile(found.weights_[:, order]), profile(W), atol=1e-4)
    np.testing.assert_allclose(found.vaf_, 1, atol=1e-8)


@pytest.mark.parametrize("init", ["simultaneous", "random"])
def test_recovery_from_noisy_judgements(init):
    for seed in range(5):
        X, W, D = subjects(m=20, noise=0.05, seed=seed)
        found = lowdim.INDSCAL(2, init=init, random_state=seed).fit(D)
        order, correlations = matched(X, found.embedding_)
        assert sorted(order) == [0, 1]
        assert correlations.min() > 0.99
        assert min(weight_correlations(W, found.weights_[:, order])) > 0.99


def test_a_bad_start_ends_where_a_good_one_does():
    _, _, D = subjects(noise=0.1, seed=3)
    good = lowdim.INDSCAL(2).fit(D)
    for seed in range(5):
        start = np.random.RandomState(seed).uniform(size=(25, 2)) ** 8
        bad = lowdim.INDSCAL(2, init=start).fit(D)
        assert bad.loss_ == pytest.approx(good.loss_, rel=1e-5)
        np.testing.assert_allclose(bad.embedding_, good.embedding_, atol=1e-3)


def test_the_normalisation_of_the_paper():
    _, _, D = subjects(noise=0.1)
    found = lowdim.INDSCAL(3).fit(D)
    np.testing.assert_allclose((found.embedding_**2).sum(axis=0), 1)
    np.testing.assert_allclose(found.embedding_.sum(axis=0), 0, atol=1e-10)
    assert found.weights_.shape == (10, 3)
    assert (found.weights_ >= 0).all()
    assert (np.diff((found.weights_**2).sum(axis=0)) <= 0).all()
    assert found.loss_ == pytest.approx(1 - found.vaf_.mean())
    assert found.loss_ == found.history_[-1]
    assert (np.diff(found.history_) <= 0).all()
    assert found.n_iter_ == len(found.history_) - 1


def test_variance_accounted_for_by_its_definition():
    _, _, D = subjects(noise=0.2)
    found = lowdim.INDSCAL(2).fit(D)
    J = np.eye(25) - 1 / 25
    for k in range(10):
        B = -0.5 * J @ D[k] ** 2 @ J
        B /= np.linalg.norm(B)
        rest = B - (found.embedding_ * found.weights_[k]) @ found.embedding_.T
        assert found.vaf_[k] == pytest.approx(1 - (rest**2).sum())


@few
@given(seed=st.integers(0, 10**6), log_scale=st.floats(-20, 20))
def test_the_unit_of_a_subject_and_the_order_of_things_do_not_matter(seed, log_scale):
    _, _, D = subjects(m=6, noise=0.05, seed=seed % 50)
    random = np.random.RandomState(seed)
    reference = lowdim.INDSCAL(2).fit(D)
    scaled = D.copy()
    scaled[2] *= 10**log_scale
    again = lowdim.INDSCAL(2).fit(scaled)
    np.testing.assert_allclose(again.embedding_, reference.embedding_, atol=1e-4)
    assert again.scales_[2] == pytest.approx(reference.scales_[2] * 10**log_scale)
    who, what = random.permutation(6), random.permutation(25)
    mixed = lowdim.INDSCAL(2).fit(D[who][:, what][:, :, what])
    signs = np.sign((mixed.embedding_ * reference.embedding_[what]).sum(axis=0))
    np.testing.assert_allclose(mixed.embedding_ * signs, reference.embedding_[what], atol=1e-4)
    np.testing.assert_allclose(mixed.weights_, reference.weights_[who], atol=1e-4)


def test_identity_is_classical_scaling_of_the_mean():
    _, _, D = subjects(noise=0.05)
    found = lowdim.INDSCAL(2, constraint="identity").fit(D)
    J = np.eye(25) - 1 / 25
    B = [-0.5 * J @ d**2 @ J for d in D]
    values, vectors = np.linalg.eigh(np.mean([b / np.linalg.norm(b) for b in B], axis=0))
    np.testing.assert_allclose(found.weights_, np.tile(values[:-3:-1], (10, 1)))
    np.testing.assert_allclose(np.abs(found.embedding_), np.abs(vectors[:, :-3:-1]), atol=1e-10)
    exact = subjects()[2][:1]
    one = lowdim.INDSCAL(2, constraint="identity").fit(exact)
    classical = lowdim.ClassicalMDS(2, metric="precomputed").fit(exact[0])
    fit = lowdim.procrustes(classical.embedding_, one.subject_space(0))
    assert fit.correlation == pytest.approx(1)
    assert found.loss_ >= lowdim.INDSCAL(2).fit(D).loss_


def test_idioscal_holds_what_rotated_subjects_see():
    """Subjects who stretch the space along axes of their own."""
    random = np.random.RandomState(0)
    X = random.standard_normal((20, 2))
    stretch = [random.standard_normal((2, 2)) for _ in range(8)]
    D = [cdist(X @ A, X @ A) for A in stretch]
    full = lowdim.INDSCAL(2, constraint="idioscal").fit(D)
    assert full.loss_ < 1e-12
    assert full.weights_.shape == (8, 2, 2)
    assert np.linalg.eigvalsh(full.weights_).min() > -1e-12
    np.testing.assert_allclose(full.embedding_.T @ full.embedding_, np.eye(2), atol=1e-10)
    assert lowdim.INDSCAL(2).fit(D).loss_ > 0.01
    back = full.inverse_transform(full.weights_) * full.scales_[:, None, None]
    np.testing.assert_allclose(back, D, atol=1e-6)
    np.testing.assert_allclose(full.transform(D[:3]), full.weights_[:3], atol=1e-10)


@pytest.mark.parametrize("inner", [diagonal_weights, full_weights])
def test_the_gradient(inner):
    random = np.random.RandomState(0)
    B = random.standard_normal((3, 7, 7))
    shared = SharedSpace(B + B.transpose(0, 2, 1), inner)
    X = random.standard_normal((7, 2))
    numerical = approx_fprime(X.ravel(), lambda x: shared(x.reshape(7, 2))[0], 1e-7)
    scale = np.abs(numerical).max()
    np.testing.assert_allclose(shared(X)[1].ravel(), numerical, atol=1e-5 * scale)


def test_weights_are_the_best_that_are_not_negative():
    from scipy.optimize import nnls

    random = np.random.RandomState(0)
    root, t = random.standard_normal((5, 3)), random.standard_normal((40, 5))
    found = nonnegative(root.T @ root, t @ root)
    expected = np.array([nnls(root, row)[0] for row in t])
    assert (expected == 0).any()
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_new_subjects_get_weights_and_weights_give_dissimilarities():
    X, W, D = subjects(m=14)
    found = lowdim.INDSCAL(2).fit(D[:10])
    new = found.transform(D[10:])
    order, _ = matched(X, found.embedding_)
    np.testing.assert_allclose(profile(new[:, order]), profile(W[10:]), atol=1e-4)
    np.testing.assert_allclose(found.transform([D[12]]), new[2:3], rtol=1e-10)
    np.testing.assert_allclose(found.transform(D[:10]), found.weights_, atol=1e-10)
    back = found.inverse_transform(found.weights_) * found.scales_[:, None, None]
    np.testing.assert_allclose(back, D[:10], atol=1e-5)
    np.testing.assert_allclose(
        cdist(found.subject_space(3), found.subject_space(3)) * found.scales_[3], D[3], atol=1e-5
    )
    same = lowdim.INDSCAL(2, constraint="identity").fit(D)
    np.testing.assert_array_equal(same.transform(D[:2]), same.weights_[:2])


def test_kinds_of_input_and_types_of_results():
    _, _, D = subjects(noise=0.05)
    reference = lowdim.INDSCAL(2).fit(D)
    np.testing.assert_array_equal(lowdim.INDSCAL(2).fit_transform(list(D)), reference.embedding_)
    np.testing.assert_array_equal(lowdim.INDSCAL(2).fit(D.tolist()).weights_, reference.weights_)
    assert reference.n_features_in_ == 25
    assert list(reference.get_feature_names_out()) == ["indscal0", "indscal1"]
    for constraint in ("indscal", "identity", "idioscal"):
        single = lowdim.INDSCAL(2, constraint=constraint).fit(D.astype(np.float32))
        assert single.embedding_.dtype == single.weights_.dtype == np.float32
        assert single.transform(D[:2].astype(np.float32)).dtype == np.float32
        assert single.inverse_transform(single.weights_).dtype == np.float32
    single = lowdim.INDSCAL(2).fit(D.astype(np.float32))
    np.testing.assert_allclose(single.embedding_, reference.embedding_, atol=2e-3)


def test_the_protocols_of_an_estimator(tmp_path):
    _, _, D = subjects(noise=0.05)
    assert find("INDSCAL").objects == "subjects"
    head = lowdim.INDSCAL.__doc__.partition("Attributes\n")[0]
    assert all(name in head for name in lowdim.INDSCAL().get_params())
    with pytest.raises(NotFittedError):
        lowdim.INDSCAL().transform(D)
    with pytest.raises(NotFittedError):
        lowdim.INDSCAL().inverse_transform(np.ones((1, 2)))
    for constraint in ("indscal", "identity", "idioscal"):
        found = clone(lowdim.INDSCAL(2, constraint=constraint)).fit(D)
        found.save(tmp_path / "model")
        for copy in (lowdim.load(tmp_path / "model"), pickle.loads(pickle.dumps(found))):
            assert copy.get_params() == found.get_params()
            for name in vars(found):
                np.testing.assert_array_equal(getattr(copy, name), getattr(found, name))
            np.testing.assert_array_equal(copy.transform(D[:2]), found.transform(D[:2]))
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert json.loads(archive.read("model.json"))["model"]["$estimator"] == "INDSCAL"
    signature = inspect.signature(lowdim.INDSCAL.__init__).parameters
    assert all(name in signature for name in ("n_jobs", "random_state", "callback", "verbose"))


def test_seeds():
    _, _, D = subjects(noise=0.3)
    fits = [lowdim.INDSCAL(3, init="random", random_state=5).fit(D) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)


def test_a_callback_stops_all_starts(capsys):
    _, _, D = subjects(noise=0.1)
    seen = []

    def stop(state):
        seen.append(state)
        return state.iteration == 3

    found = lowdim.INDSCAL(2, init="random", callback=stop, verbose=1).fit(D)
    assert [state.iteration for state in seen] == [1, 2, 3]
    assert seen[-1].embedding.shape == (25, 2)
    assert seen[-1].loss == found.loss_
    assert found.n_iter_ == 3
    capsys.readouterr()


def test_a_second_fit_has_the_state_of_a_fresh_fit():
    _, _, D = subjects(noise=0.1)
    fresh = lowdim.INDSCAL(2).fit(D)
    for params in ({"constraint": "identity"}, {"constraint": "idioscal"}, {"n_components": 3}):
        used = lowdim.INDSCAL(2).set_params(**params).fit(subjects(m=4, n=12)[2])
        used.set_params(**fresh.get_params()).fit(D)
        assert differences(used, fresh) == []


def test_a_failed_fit_leaves_the_estimator_not_fitted():
    def raises(state):
        raise ZeroDivisionError

    _, _, D = subjects(noise=0.1)
    unfitted = vars(lowdim.INDSCAL()).keys()
    for params, X, error in (
        ({}, D[0], ValueError),
        ({"n_components": 0}, D, ValueError),
        ({"n_jobs": 0}, D, ValueError),
        ({"callback": raises}, D, ZeroDivisionError),
    ):
        model = lowdim.INDSCAL(2).fit(D).set_params(**params)
        with pytest.raises(error):
            model.fit(X)
        assert vars(model).keys() == unfitted
        with pytest.raises(NotFittedError):
            model.transform(D)


def test_a_callback_sees_snapshots_and_changes_nothing():
    _, _, D = subjects(noise=0.1)
    seen, copies = [], []

    def look(state):
        seen.append(state.embedding)
        copies.append(state.embedding.copy())

    watched = lowdim.INDSCAL(2, callback=look).fit(D)
    assert len(seen) > 1
    for snapshot, copy in zip(seen, copies, strict=True):
        assert not snapshot.flags.writeable
        np.testing.assert_array_equal(snapshot, copy)
    assert (seen[0] != seen[-1]).any()
    assert differences(watched.set_params(callback=None), lowdim.INDSCAL(2).fit(D)) == []


def test_ctrl_c_keeps_the_best_so_far():
    _, _, D = subjects(noise=0.1)

    def interrupt(state):
        if state.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        found = lowdim.INDSCAL(2, init="random", callback=interrupt).fit(D)
    assert found.n_iter_ <= 3
    assert np.isfinite(found.embedding_).all()
    assert np.isfinite(found.transform(D)).all()


def spoiled(k, i, j, value, mirrored=True):
    D = subjects()[2]
    D[k, i, j] = value
    if mirrored:
        D[k, j, i] = value
    return D


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (spoiled(4, 2, 3, np.nan), r"X\[4\] contains NaN at \[2, 3\]"),
        (spoiled(4, 2, 3, np.inf), r"X\[4\] contains infinity at \[2, 3\]"),
        (spoiled(4, 2, 3, 9.0, mirrored=False), r"X\[4\].*symmetric.*\[2, 3\] is 9"),
        (spoiled(4, 2, 3, -1.0), r"X\[4\].*negative.*\[2, 3\]"),
        (spoiled(4, 2, 2, 1.0), r"X\[4\].*diagonal.*\[2, 2\]"),
        (np.zeros((3, 4, 4)), r"X\[0\]: all dissimilarities are zero"),
        (np.zeros((0, 4, 4)), "no subjects"),
        ([], "no subjects"),
        (subjects()[2][0], r"list of matrices.*shape \(25, 25\).*Wrap"),
        (subjects()[2][:1], "1 subject"),
        ([np.zeros((3, 4)), np.zeros((3, 4))], r"X\[0\].*square.*\(3, 4\)"),
        ([subjects()[2][0], subjects(n=7)[2][0]], r"X\[1\] is about 7 objects.*25"),
        (np.zeros((2, 1, 1)), "all dissimilarities are zero|n_objects"),
        (None, "list of matrices.*NoneType"),
        ("text", "list of matrices.*str"),
    ],
)
def test_bad_subjects(given, message):
    with pytest.raises(ValueError, match=message):
        lowdim.INDSCAL(2).fit(given)


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 0},
        {"n_components": 25},
        {"n_components": 1.5},
        {"constraint": "free"},
        {"constraint": []},
        {"init": "somehow"},
        {"init": np.zeros((3, 2))},
        {"init": 3},
        {"n_init": 0},
        {"max_iter": 0},
        {"tol": -1.0},
        {"n_jobs": 0},
    ],
)
def test_bad_parameters(params):
    with pytest.raises((TypeError, ValueError), match=next(iter(params))):
        lowdim.INDSCAL(**params).fit(subjects()[2])


def test_bad_new_subjects_and_weights():
    found = lowdim.INDSCAL(2).fit(subjects()[2])
    with pytest.raises(ValueError, match=r"X\[0\] is about 7 objects.*25"):
        found.transform(subjects(n=7)[2])
    with pytest.raises(ValueError, match=r"Y has shape \(4, 3\)"):
        found.inverse_transform(np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"Y\[1\] has the negative weight -2"):
        found.inverse_transform([[1.0, 1.0], [1.0, -2.0]])
    with pytest.raises(ValueError, match="k must be at most 9"):
        found.subject_space(10)


def test_odd_but_valid_dissimilarities():
    """Breaking the triangle inequality, with ties and zeros; more dimensions than are needed."""
    random = np.random.RandomState(0)
    D = random.randint(0, 4, (5, 8, 8)).astype(float)
    D = np.triu(D, 1) + np.triu(D, 1).transpose(0, 2, 1)
    for constraint in ("indscal", "identity", "idioscal"):
        found = lowdim.INDSCAL(7, constraint=constraint).fit(D)
        assert np.isfinite(found.embedding_).all()
        assert np.isfinite(found.weights_).all()
        assert (found.vaf_ <= 1 + 1e-12).all()
    line = np.abs(np.arange(6.0)[:, None] - np.arange(6.0))
    flat = lowdim.INDSCAL(3).fit([line, 2 * line, line])
    assert flat.loss_ < 1e-9
    assert np.isfinite(flat.embedding_).all()


def test_the_picture_of_the_weights(tmp_path):
    found = lowdim.INDSCAL(3).fit(subjects(p=3)[2])
    axes = plot.subject_weights(
        found.weights_, names=[f"s{k}" for k in range(10)], dimensions=(0, 2), title="Subjects"
    )
    ends = np.asarray(axes.collections[-1].get_offsets())
    np.testing.assert_allclose(ends, found.weights_[:, [0, 2]])
    assert axes.get_xlabel() == "weight of dimension 1"
    assert axes.get_ylabel() == "weight of dimension 3"
    axes.figure.savefig(tmp_path / "weights.png")
    own = plot.subject_weights(found.weights_, [0, 1] * 5, ax=axes)
    assert own is axes
    with pytest.raises(ValueError, match=r"at least two columns.*\(10, 1\)"):
        plot.subject_weights(found.weights_[:, :1])
    with pytest.raises(ValueError, match="dimensions must be two column numbers below 3"):
        plot.subject_weights(found.weights_, dimensions=(0, 3))
