"""The autoencoder: what it reconstructs, its variants, and how its training stops and goes on."""

import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
import torch

import lowdim
from lowdim.learned.networks.autoencoding import _squared_jacobian
from lowdim.learned.networks.layers import Architecture


@pytest.fixture(scope="module")
def curve():
    """Points near a bent curve in six dimensions."""
    random = np.random.RandomState(0)
    t = random.uniform(-2, 2, 400)
    X = np.stack([t, t**2, np.sin(2 * t), np.cos(t), t**3 / 4, np.tanh(t)], axis=1)
    return X + 0.01 * random.standard_normal(X.shape)


def small(**params):
    return lowdim.Autoencoder(**{"n_components": 1, "layers": (32, 32), "max_iter": 60, **params})


@pytest.fixture(scope="module")
def fitted(curve):
    return small(max_iter=200).fit(curve)


def error(model, X):
    return np.square(model.inverse_transform(model.transform(X)) - X).mean()


def test_one_coordinate_holds_a_bent_curve_and_one_component_does_not(curve, fitted):
    pca = lowdim.PCA(1).fit(curve)
    assert error(fitted, curve) < 0.1 * error(pca, curve)
    assert fitted.reconstruction_error_ == pytest.approx(error(fitted, curve), rel=1.0)


def test_the_kept_weights_are_those_of_the_best_epoch(fitted):
    held_out = fitted.history_[:, 1]
    found = fitted.reconstruction_error_ / fitted.scale_**2
    assert 1 - 1e-9 <= found / held_out.min() <= 1 + 1e-3  # the first by rounding


def test_training_stops_early_without_progress(curve):
    random = np.random.RandomState(1).standard_normal((200, 6))
    model = small(max_iter=500, patience=4).fit(random)
    assert model.n_iter_ < 500
    best = np.nanargmin(model.history_[:, 1])
    assert model.n_iter_ - best <= 4 + 10


def test_without_validation_the_training_error_decides(curve):
    model = small(validation_fraction=0.0, max_iter=5).fit(curve)
    assert np.isnan(model.history_[:, 1]).all()
    assert model.n_iter_ == 5


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_no_bit(curve, threads):
    reference = small(max_iter=4, batch_size=400, noise=0.1, n_jobs=1).fit(curve)
    model = small(max_iter=4, batch_size=400, noise=0.1, n_jobs=threads).fit(curve)
    np.testing.assert_array_equal(model.embedding_, reference.embedding_)


def test_a_row_does_not_depend_on_the_others(curve, fitted):
    np.testing.assert_array_equal(fitted.transform(curve[7:8]), fitted.embedding_[7:8])
    np.testing.assert_array_equal(fitted.transform(curve[::-1]), fitted.embedding_[::-1])


def test_a_callback_sees_the_coordinates_and_stops(curve):
    seen = []

    def look(state):
        seen.append(state.embedding.shape)
        return state.iteration == 3

    assert small(callback=look).fit(curve).n_iter_ == 3
    assert seen == [(400, 1)] * 3


def test_a_memory_map_is_not_read_whole(curve, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, curve.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    model = small(max_iter=3).fit(mapped)
    assert model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(
        model.embedding_, small(max_iter=3).fit(curve.astype(np.float32)).embedding_
    )


def test_a_memory_map_of_bytes_becomes_floats_in_batches_alone(tmp_path):
    path = tmp_path / "pixels.npy"
    random = np.random.default_rng(0)
    np.save(path, random.integers(0, 256, (20_000, 400), dtype=np.uint8))
    mapped = np.load(path, mmap_mode="r")
    model = small(layers=(8,), max_iter=1)
    model.fit(mapped[:100])  # the first fit of a process imports more of PyTorch
    tracemalloc.start()
    try:
        with lowdim.compute(n_jobs=1):  # each thread has a batch
            model.fit(mapped)
            found = model.transform(mapped)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000 * 400 * 4 / 2  # half of the pixels as float32
    assert found.dtype == model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(model.transform(np.asarray(mapped, np.float32)), found)
    floats = small(layers=(8,), max_iter=1).fit(np.asarray(mapped, np.float32))
    np.testing.assert_array_equal(floats.embedding_, found)


def test_saved_weights_are_arrays(fitted, curve, tmp_path):
    fitted.save(tmp_path / "model.lowdim")
    loaded = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(loaded.transform(curve), fitted.embedding_)
    assert all(isinstance(w, np.ndarray) for w in loaded.network_.values())


def test_weights_of_another_network_are_refused(fitted, curve):
    other = small(layers=(8,), max_iter=1).fit(curve)
    other.network_ = fitted.network_
    del other._cached_network
    with pytest.raises(ValueError, match="belong to another network"):
        other.transform(curve)


def test_images_of_odd_sides_are_encoded_by_convolutions():
    random = np.random.RandomState(0)
    images = random.uniform(size=(60, 7, 5, 2)).reshape(60, -1)
    model = lowdim.Autoencoder(3, image_shape=(7, 5, 2), layers=(4, 6), max_iter=2).fit(images)
    assert model.network_["encoder.1.weight"].shape == (4, 2, 4, 4)
    assert model.inverse_transform(model.embedding_).shape == images.shape
    with pytest.raises(ValueError, match=r"image_shape=\(7, 5\) has 35 values, but X has 70"):
        lowdim.Autoencoder(image_shape=(7, 5)).fit(images)


def test_a_convolutional_decoder_gives_rows_in_the_order_of_the_encoder():
    shape = Architecture(12, 2, (4,), (4,), image_shape=(3, 2, 2))
    rows = torch.arange(24.0).reshape(2, 12)
    images, rest = shape.encoder()[0], shape.decoder()[-1]
    torch.testing.assert_close(rest(images(rows)), rows)


def test_decoders_need_not_mirror_encoders(curve):
    model = small(layers=(16,), decoder_layers=(8, 12), max_iter=1).fit(curve)
    shapes = [w.shape for k, w in model.network_.items() if k.startswith("decoder") and w.ndim == 2]
    assert shapes == [(8, 1), (12, 8), (6, 12)]


def test_denoising_reconstructs_noisy_rows_better(curve):
    noisy = curve + 0.5 * np.random.RandomState(3).standard_normal(curve.shape)

    def denoised(model):
        return np.square(model.inverse_transform(model.transform(noisy)) - curve).mean()

    plain, robust = small(max_iter=100).fit(curve), small(max_iter=100, noise=0.5).fit(curve)
    assert denoised(robust) < denoised(plain)


def test_sparsity_and_contraction_shrink_what_they_penalise(curve):
    plain = small(n_components=3, max_iter=30).fit(curve)
    sparse = small(n_components=3, max_iter=30, sparsity=0.3).fit(curve)
    assert np.abs(sparse.embedding_).mean() < 0.7 * np.abs(plain.embedding_).mean()
    flat = small(n_components=3, max_iter=30, contraction=1.0).fit(curve)
    step = np.random.RandomState(0).standard_normal(curve.shape) * 0.01

    def moved(model):
        return np.abs(model.transform(curve + step) - model.embedding_).mean()

    assert moved(flat) < 0.7 * moved(plain)


def test_the_penalty_of_contraction_is_the_squared_jacobian():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    x = torch.randn(3, 4, requires_grad=True)
    found = _squared_jacobian(network(x), x)
    wanted = sum(torch.autograd.functional.jacobian(network, row).square().sum() for row in x)
    torch.testing.assert_close(found, wanted)


def test_variational_coordinates_are_near_a_normal_distribution(curve):
    noisy = curve + 0.4 * np.random.RandomState(3).standard_normal(curve.shape)
    model = small(variational=1.0, batch_size=64, learning_rate=3e-3, max_iter=100).fit(noisy)
    assert abs(model.embedding_.mean()) < 0.3
    assert 0.7 < model.embedding_.std() < 1.2


def test_without_torch_the_library_works_and_says_what_to_install():
    code = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else found(name, *rest)
import numpy as np, lowdim
X = np.random.RandomState(0).standard_normal((30, 4))
assert lowdim.PCA(2).fit_transform(X).shape == (30, 2)
for name in NAMES:
    cls = getattr(lowdim, name)
    try:
        cls()
    except ImportError as error:
        assert "pip install 'lowdim[torch]'" in str(error), error
    else:
        raise AssertionError(name)
assert "torch" not in sys.modules
""".replace(
        "NAMES",
        repr(
            [
                n
                for n in ("Autoencoder", "ParametricTSNE", "ParametricUMAP")
                if lowdim.catalog.find(n)
            ]
        ),
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"layers": (8, 0)}, r"layers\[1\] must be at least 1"),
        ({"layers": "deep"}, r"layers must be one or more sizes of layers, such as \(256, 128\)"),
        ({"image_shape": "8x8"}, r"image_shape must be \(height, width\)"),
        ({"image_shape": (1.5, 2)}, r"image_shape\[0\] must be an integer"),
        ({"layers": 12}, "layers must be one or more sizes"),
        ({"masking": 2.0}, "masking"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"schedule": "linear"}, "schedule"),
        ({"activation": "step"}, "activation"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
    ],
)
def test_bad_parameters_are_named(curve, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        small(**params).fit(curve)


def test_a_training_that_diverges_is_pointed_out(curve):
    with pytest.warns(UserWarning, match="times worse than its mean does. Lower learning_rate"):
        small(learning_rate=1000.0).fit(curve)


@pytest.mark.parametrize("name", ["noise", "sparsity", "contraction", "variational"])
def test_infinite_penalties_are_refused(curve, name):
    with pytest.raises(ValueError, match=rf"{name} must lie in \[0, 1e\+06\]"):
        small(**{name: np.inf}).fit(curve)


def test_weights_depend_on_the_seed_alone_while_other_threads_make_networks():
    rows, found = np.zeros((5, 40)), []

    def make(seed):
        network = lowdim.Autoencoder(layers=(64, 64))._new_network(rows, seed)
        found.append((seed, next(network.parameters()).detach().numpy().tobytes()))

    threads = [threading.Thread(target=make, args=(number % 4,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 4
