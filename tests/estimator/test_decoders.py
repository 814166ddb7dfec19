"""General decoders: their errors, the choice between them, and objects without vectors."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowdim
from lowdim.estimator.decoders import (
    _least_error,
    decode_by_kernel,
    fit_decoder,
    fit_kernel_decoder,
    held_out_errors,
)
from lowdim.numerics.kernels import gaussian


@pytest.fixture(scope="module")
def sheet():
    """Coordinates in the plane, and noisy vectors that are smooth functions of them."""
    random = np.random.RandomState(0)
    Y = random.uniform(-1, 1, (300, 2))
    X = np.stack([np.sin(3 * Y[:, 0]), Y[:, 0] * Y[:, 1], np.cos(2 * Y[:, 1]), Y[:, 0]], axis=1)
    return Y, X + 0.1 * random.standard_normal(X.shape)


def test_the_leave_one_out_error_is_that_of_leaving_out(sheet):
    Y, X = sheet[0][:60], sheet[1][:60] - sheet[1][:60].mean(axis=0)
    gamma, penalty, _ = _least_error(Y, X)

    def left_out(gamma, penalty):
        total = 0.0
        for i in range(len(Y)):
            rest = np.arange(len(Y)) != i
            K = gaussian(Y[rest], Y[rest], gamma) + penalty * np.eye(len(Y) - 1)
            found = gaussian(Y[i : i + 1], Y[rest], gamma) @ np.linalg.solve(K, X[rest])
            total += np.square(found - X[i]).sum()
        return total / X.size

    best = left_out(gamma, penalty)
    for factor in (0.25, 4):
        assert best <= left_out(gamma * factor, penalty) * (1 + 1e-9)
    for factor in (0.1, 10):
        assert best <= left_out(gamma, penalty * factor) * (1 + 1e-9)


@pytest.fixture(scope="module")
def errors(sheet):
    return held_out_errors(*sheet)


def test_the_kernel_smooths_noise_that_interpolation_repeats(errors):
    assert set(errors) == {"local", "kernel", "network"}
    noise = 0.1**2
    assert errors["kernel"] - noise < 0.7 * (errors["local"] - noise)
    assert errors["network"] < errors["local"]


def test_more_objects_than_centers_all_count(sheet, monkeypatch):
    Y, X = sheet
    exact = decode_by_kernel(fit_kernel_decoder(Y, X), Y)
    monkeypatch.setattr("lowdim.estimator.decoders.MOST_CENTERS", 150)
    sampled = fit_kernel_decoder(Y, X)
    assert sampled["centers"].shape == (150, 2)
    assert np.square(decode_by_kernel(sampled, Y) - X).mean() < 1.3 * np.square(exact - X).mean()


def test_auto_takes_the_least_error(sheet, errors):
    found = fit_decoder("auto", *sheet)
    assert found["kind"] == min(errors, key=errors.get)
    assert found["errors"] == errors


@pytest.mark.parametrize("kind", ["local", "kernel", "network", "auto"])
def test_a_decoder_is_saved_with_the_model(kind, tmp_path):
    X, _ = lowdim.data.swiss_roll(150, random_state=0)
    model = lowdim.Isomap().fit(X).fit_decoder(kind)
    Y = model.embedding_ + 0.1
    found = model.inverse_transform(Y)
    model.save(tmp_path / "model.lowdim")
    loaded = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(loaded.inverse_transform(Y), found)
    assert model.decoder_["kind"] == kind or kind == "auto"
    assert not hasattr(model.fit(X), "decoder_")


def test_methods_without_training_vectors_say_so():
    X, _ = lowdim.data.swiss_roll(60, random_state=0)
    for model, rows in ((lowdim.PCA(2), X), (lowdim.MDS(metric="precomputed"), cdist(X, X))):
        with pytest.raises(ValueError, match="keeps no training vectors"):
            model.fit(rows).fit_decoder()
    with pytest.raises(ValueError, match="decoder must be one of"):
        lowdim.Isomap().fit(X).fit_decoder("best")


def test_dissimilarities_are_decoded_to_objects_with_weights():
    X = np.random.RandomState(0).uniform(size=(80, 2))
    model = lowdim.ClassicalMDS(metric="precomputed").fit(cdist(X, X))
    objects, weights = model.inverse_transform(model.embedding_)
    assert (objects[:, 0] == np.arange(80)).all()
    np.testing.assert_allclose(weights[:, 0], 1, atol=1e-5)
    middle = (model.embedding_[objects[:, 0]] + model.embedding_[objects[:, 1]]) / 2
    objects, weights = model.inverse_transform(middle)
    found = np.einsum("nk,nkd->nd", weights, model.embedding_[objects])
    assert np.abs(found - middle).max() < 0.15
    assert weights.min() >= 0
