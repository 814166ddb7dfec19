"""Parametric t-SNE and UMAP: their objectives, what they share with the others, and new data."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import lowdim
from lowdim.learned.networks import training
from lowdim.learned.networks.weights import Rows
from lowdim.learned.parametric import parametric
from lowdim.learned.parametric.pairs import Pairs, Samples, fuzzy_cross_entropy, student_divergence
from lowdim.neighbor_embedding.descent import Descent
from lowdim.neighbor_embedding.umap.layout import Layout
from lowdim.runtime import callbacks

METHODS = (lowdim.ParametricTSNE, lowdim.ParametricUMAP)
QUICK = {"layers": (32,), "max_iter": 2, "init": "random"}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900].astype(np.float32), y[:900]


@pytest.fixture
def short_imitation(monkeypatch):
    monkeypatch.setattr(parametric, "IMITATION_STEPS", 4)
    monkeypatch.setattr(parametric, "IMITATION_EPOCHS", 4)


@pytest.mark.parametrize("cls", METHODS)
def test_new_digits_lie_among_their_own(cls, digits):
    X, y = digits
    model = cls(max_iter=20).fit(X[:700])
    nearest = KNeighborsClassifier(10).fit(model.embedding_, y[:700])
    assert nearest.score(model.transform(X[700:]), y[700:]) > 0.8
    assert lowdim.quality.trustworthiness(X[:700], model.embedding_, n_neighbors=10) > 0.93


def test_new_points_of_a_roll_lie_between_their_neighbours():
    """Displaced rows stay on the sheet: noise in all directions would join its windings."""
    X, position = lowdim.data.swiss_roll(800, random_state=0)
    model = lowdim.ParametricUMAP(layers=(64, 64, 64), max_iter=30).fit(X[:500])
    nearest = KNeighborsRegressor(10).fit(model.embedding_, position[:500])
    assert nearest.score(model.transform(X[500:]), position[500:]) > 0.985


@pytest.mark.parametrize("cls", METHODS)
def test_the_objective_is_learned_from_a_random_network_too(cls, digits):
    model = cls(layers=(64,), init="random", max_iter=15).fit(digits[0][:400])
    assert model.history_[-1] < model.history_[0] - 0.3


@pytest.mark.parametrize("n_places", [0, 60])
def test_an_object_of_two_groups_is_put_into_one_of_them(n_places):
    """A third of the equal rows has its place in another group: the mean is in neither."""
    model = lowdim.ParametricTSNE(layers=(16,))
    model.n_places_ = n_places
    rows = Rows(np.ones((300, 2)), np.zeros(2), 1.0)
    places = np.where(np.arange(300)[:, None] % 3 > 0, [0.0, 0.0], [30.0, 0.0])
    network = model._new_network(rows.rows, 0)
    samples = Samples(rows, csr_array(np.eye(300)), 0.0, 0)
    settings = model._settings(1, 1.0)
    parametric.imitate(model, network, samples, places, student_divergence(1.0), settings)
    found = network.encode(rows.take(slice(0, 1))).detach().numpy() + places.mean(axis=0)
    np.testing.assert_allclose(found, [[0.0, 0.0]], atol=1.0)


def test_maps_with_jumps_are_learned_by_choosing_between_places():
    """The map is a line that was cut into ten pieces and put together in another order."""
    X = np.linspace(0, 10, 2400, endpoint=False)[:, None].astype(np.float32)
    piece = X.astype(int)
    Y = (np.random.default_rng(0).permutation(10)[piece] + X - piece) * np.ones((1, 2))
    errors = {}
    for n_places in (0, 400):
        model = lowdim.ParametricTSNE(layers=(128, 128))
        model.n_places_ = n_places
        rows = Rows.of(X[::2])
        network = model._new_network(X, 0)
        samples = Samples(rows, csr_array(np.eye(1200)), 0.0, 0)
        settings = model._settings(1, 1.0)
        parametric.imitate(model, network, samples, Y[::2], student_divergence(1.0), settings)
        found = network.encode(Rows(X, rows.mean, rows.scale).take(slice(1, None, 2)))
        found = found.detach().numpy() + Y[::2].mean(axis=0)
        errors[n_places] = np.quantile(np.abs(found - Y[1::2]).max(axis=1), 0.9)
    assert errors[400] < 0.6
    assert errors[0] > 2


@pytest.mark.parametrize(("params", "rate"), [({}, 1e-4), ({"init": "random"}, 1e-3)])
def test_steps_after_an_imitation_are_smaller(params, rate):
    given = {"layers": (8,), "max_iter": 1, **params}
    fixed = lowdim.ParametricTSNE(**given, learning_rate=rate).fit(np.eye(40))
    automatic = lowdim.ParametricTSNE(**given).fit(np.eye(40))
    np.testing.assert_array_equal(fixed.embedding_, automatic.embedding_)


@pytest.mark.parametrize("cls", METHODS)
def test_each_part_of_a_fit_has_one_progress_bar(cls, monkeypatch, short_imitation):
    shown = []

    def new_bar(**options):
        shown.append(options["desc"])
        return bar(**options)

    bar = callbacks._new_bar
    monkeypatch.setattr(callbacks, "_new_bar", new_bar)
    cls(layers=(8,), max_iter=1, verbose=1).fit(np.eye(40))
    name = cls.__name__
    free = name.removeprefix("Parametric")
    second = f"{name}, imitation of the map"
    assert [label for label in shown if ":" not in label] == [free, second, name]
    assert not any("imitation" in label for label in shown if ":" in label)


def pairs_of(Y, weights, loss):
    """The problem of coordinates Y as data, with a network that returns its input."""
    rows = Rows(Y, np.zeros(Y.shape[1]), 1.0)
    return Pairs(Samples(rows, weights, 0.0, 0), loss, len(Y))


class Identity(torch.nn.Module):
    decoder = None

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def encode(self, x):
        return x + self.shift


def ring(n):
    """The weights 1, 2 of the two neighbours of each of n objects on a circle, none of the last."""
    before, after = np.roll(np.eye(n), 1, axis=1), np.roll(np.eye(n), -1, axis=1)
    matrix = np.zeros((n + 1, n + 1))
    matrix[:n, :n] = before + 2 * after
    return csr_array(matrix)


def test_rows_are_displaced_along_the_data():
    """Objects on a line in space stay near it; one without neighbours stays where it is."""
    line = np.linspace(-1, 1, 21)[:, None] * np.array([[1.0, 2.0, -1.0]])
    samples = Samples(Rows(line, np.zeros(3), 1.0), ring(20), 0.5, 0)
    found = samples.displace(np.arange(21), (0, 1)).numpy()
    moved = found - line
    along = moved @ line[0] / np.linalg.norm(line[0])
    assert np.abs(along).max() > 0.1
    assert np.linalg.norm(moved) < 1.02 * np.linalg.norm(along)
    np.testing.assert_array_equal(found[20], line[20])
    np.testing.assert_array_equal(found, samples.displace(np.arange(21), (0, 1)).numpy())


def test_neighbors_are_drawn_in_proportion_to_their_weights():
    samples = Samples(Rows(np.zeros((6, 1)), np.zeros(1), 1.0), ring(5), 1.0, 0)
    drawn = samples._neighbors(np.repeat(np.arange(6), 3000), np.random.default_rng(0))
    counts = np.stack([np.bincount(part, minlength=6) for part in drawn.reshape(6, 3000)])
    np.testing.assert_allclose(counts[:5] / 1000, ring(5).toarray()[:5], atol=0.1)
    assert counts[5, 5] == 3000


def test_pairs_and_displacements_of_a_step_are_independent():
    """Pairs of a circle that are drawn by small numbers are those of the first objects. By the same
    numbers, these would always be displaced by their first neighbours."""
    n = 2000
    weights = csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
    weights.sort_indices()
    numbers = np.arange(n)[:, None] * np.ones((1, 2))
    samples = Samples(Rows(numbers, np.zeros(2), 1.0), weights, 1.0, 0)
    heads, _ = samples.pairs(1000, (3, 5))
    inner = heads[(heads > 0) & (heads < n - 1)]
    moved = samples.displace(inner, (3, 5, 0)).numpy().mean(axis=1) - inner
    assert set(np.round(moved)) == {-2, 0, 2}  # the difference of the two neighbours
    assert abs(np.corrcoef(moved, inner)[0, 1]) < 0.15


def test_samples_of_pairs_estimate_the_divergence_of_tsne(digits):
    X = digits[0][:300].astype(np.float64)
    tsne = lowdim.TSNE(perplexity=20, max_iter=300).fit(X)
    Y, P = tsne.embedding_, tsne.affinities_
    problem = pairs_of(Y, P, student_divergence(1.0))
    found = np.mean([problem.gradient(Identity(), np.arange(600), (0, t))[0] for t in range(40)])
    kernel = 1 / (1 + cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(kernel, 0)
    P = P.toarray()
    exact = -(P * np.log(np.where(P > 0, kernel, 1))).sum() + np.log(kernel.sum() / (300 * 299))
    assert found == pytest.approx(exact, abs=0.03)


class Scaled(torch.nn.Module):
    """A network that stretches its input."""

    decoder = None

    def __init__(self):
        super().__init__()
        self.stretch = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def encode(self, x):
        return torch.exp(self.stretch) * x


def test_small_batches_do_not_bias_the_scale_of_a_tsne_map(digits):
    X = digits[0][:300].astype(np.float64)
    tsne = lowdim.TSNE(perplexity=20, max_iter=300).fit(X)
    Y, P = tsne.embedding_, tsne.affinities_.toarray()
    squares = cdist(Y, Y, "sqeuclidean")
    kernel = 1 / (1 + squares)
    np.fill_diagonal(kernel, 0)
    pull = (P * 2 * squares * kernel).sum()
    exact = pull - (2 * squares * kernel**2).sum() / kernel.sum()
    problem, network = pairs_of(Y, tsne.affinities_, student_divergence(1.0)), Scaled()
    found = [float(problem.gradient(network, np.arange(10), (0, t))[1][0][0]) for t in range(1500)]
    error = np.std(found) / np.sqrt(1400)
    assert np.mean(found[100:]) == pytest.approx(exact, abs=4 * error)
    assert 4 * error < 0.1 * pull


def test_samples_of_edges_estimate_the_cross_entropy_of_umap(digits):
    X = digits[0][:300].astype(np.float64)
    umap = lowdim.UMAP(random_state=0).fit(X)
    Y, G = umap.embedding_, umap.graph_
    problem = pairs_of(Y, G, fuzzy_cross_entropy(umap.a_, umap.b_, 5.0))
    found = np.mean([problem.gradient(Identity(), np.arange(600), (0, t))[0] for t in range(40)])
    odds = umap.a_ * (cdist(Y, Y, "sqeuclidean") + 1e-6) ** umap.b_
    G = G.toarray()
    near = (G * np.log1p(odds)).sum() / G.sum()
    apart = np.log1p(1 / (odds + 1e-3))[~np.eye(300, dtype=bool)].mean()
    assert found == pytest.approx(near + 5 * apart, rel=0.02)


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("decoder", [False, True])
def test_the_decoder_does_not_change_the_map(cls, decoder, digits):
    X = digits[0][:200]
    plain = cls(**QUICK).fit(X)
    model = cls(decoder=decoder, **QUICK).fit(X)
    np.testing.assert_allclose(model.embedding_, plain.embedding_, rtol=1e-4, atol=1e-3)
    assert model.inverse_transform(model.embedding_[:3]).shape == (3, 64)


def test_a_trained_decoder_reconstructs_better_than_the_mean(digits):
    X = digits[0][:600]
    model = lowdim.ParametricUMAP(layers=(128, 64), max_iter=30, init="random", decoder=True).fit(X)
    back = model.inverse_transform(model.embedding_)
    assert np.square(back - X).mean() < 0.75 * np.square(X - X.mean(axis=0)).mean()


@pytest.mark.parametrize("cls", METHODS)
def test_threads_change_no_bit_and_models_are_saved(cls, digits, tmp_path):
    X = digits[0][:200]
    one, many = cls(n_jobs=1, **QUICK).fit(X), cls(n_jobs=3, **QUICK).fit(X)
    np.testing.assert_array_equal(one.embedding_, many.embedding_)
    one.save(tmp_path / "model.lowdim")
    loaded = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(loaded.transform(X), one.embedding_)


def test_graphs_and_affinities_are_shared_with_the_other_methods(digits):
    X = digits[0][:200]
    graph = lowdim.neighbors(X, 90)
    reference = lowdim.ParametricTSNE(**QUICK).fit(X)
    given = lowdim.ParametricTSNE(**QUICK).fit(X, graph=graph)
    np.testing.assert_array_equal(given.embedding_, reference.embedding_)
    affinities = lowdim.TSNE(max_iter=1).fit(X).affinities_
    shared = lowdim.ParametricTSNE(**QUICK).fit(X, affinities=affinities)
    np.testing.assert_allclose(shared.embedding_, reference.embedding_, rtol=1e-3, atol=1e-2)
    angles = lowdim.ParametricUMAP(**QUICK).fit(X, graph=lowdim.neighbors(X, 20, metric="cosine"))
    assert np.isfinite(angles.embedding_).all()


def test_any_module_can_be_the_network(digits, tmp_path):
    X = digits[0][:200]
    network = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    before = network[0].weight.detach().clone()
    model = lowdim.ParametricUMAP(network=network, max_iter=2, init="random").fit(X)
    torch.testing.assert_close(network[0].weight, before)
    assert set(model.network_) >= {"encoder.0.weight", "encoder.2.bias"}
    with pytest.raises(TypeError, match="network is a Sequential, which a model file cannot keep"):
        model.save(tmp_path / "model.lowdim")
    with pytest.raises(TypeError, match=r"network must be a torch\.nn\.Module"):
        lowdim.ParametricUMAP(network="deep").fit(X)


class Odd(torch.nn.Module):
    """A network whose outputs are changed by a function."""

    def __init__(self, change):
        super().__init__()
        self.inner, self.change = torch.nn.Linear(64, 2), change

    def forward(self, x):
        return self.change(self.inner(x))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (torch.nn.Linear(64, 8), r"\(n, 64\) to one of shape \(n, 2\), but returns .* \(32, 8\)"),
        (torch.nn.Linear(9, 2), r"\(n, 64\) to one of shape \(n, 2\), but raised RuntimeError"),
        (torch.nn.LSTM(64, 2), "but returns an object of type tuple"),
        (Odd(lambda y: y.sum(0, keepdim=True)), r"but returns one of shape \(1, 2\) for 32 rows"),
        (Odd(lambda y: y.detach()), "network cannot be trained"),
        (torch.nn.Linear(64, 2).requires_grad_(False), "network cannot be trained"),
        (Odd(lambda y: y / 0), "network returns numbers that are not finite"),
    ],
)
def test_a_network_that_cannot_be_a_map_is_refused_before_the_work(network, message, digits):
    with pytest.raises(ValueError, match=message):
        lowdim.ParametricUMAP(network=network).fit(digits[0][:100])


def layers(*between):
    return torch.nn.Sequential(torch.nn.Linear(64, 8), *between, torch.nn.Linear(8, 2))


@pytest.mark.parametrize("init", ["map", "random"])
def test_parts_of_a_network_may_be_frozen_or_unused(init, digits, short_imitation):
    network = layers()
    network[0].requires_grad_(False)
    network[1].register_module("head", torch.nn.Linear(3, 3))
    model = lowdim.ParametricUMAP(network=network, max_iter=2, init=init).fit(digits[0][:65])
    np.testing.assert_array_equal(model.network_["encoder.0.weight"], network[0].weight.numpy())
    changed = model.network_["encoder.1.weight"] != network[1].weight.detach().numpy()
    assert changed.all()


@pytest.mark.parametrize("init", ["map", "random"])
@pytest.mark.parametrize("layer", [torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3)])
def test_networks_that_vary_in_training_give_the_same_bits(layer, init, digits, short_imitation):
    """Also for 65 objects, of which a batch of 64 leaves one: it has no variance."""
    network, found = layers(layer), []
    state = torch.random.get_rng_state()
    for n_jobs in (1, 2, 2):
        model = lowdim.ParametricUMAP(network=network, max_iter=2, init=init, n_jobs=n_jobs)
        found.append(model.fit(digits[0][:65]).embedding_)
        torch.rand(3)  # what others draw has no effect
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
    torch.random.set_rng_state(state)


def test_few_objects_are_imitated_in_as_many_steps_as_others(digits, monkeypatch):
    steps, train = [], training.train

    def counted(network, problem, settings, *rest):
        steps.append(settings.max_iter * len(training.batches(problem.n, settings.batch_size)))
        return train(network, problem, replace(settings, max_iter=1), *rest)

    monkeypatch.setattr(training, "train", counted)
    lowdim.ParametricUMAP(n_neighbors=3, layers=(4,), max_iter=1).fit(digits[0][:5])
    assert steps[0] == parametric.IMITATION_STEPS


def interrupted_at(monkeypatch, module, name, call):
    """Let this call of a function, counted from 1, be one in which the user presses Ctrl-C."""
    original, calls = getattr(module, name), []

    def interrupt(*args, **kwargs):
        calls.append(None)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(module, name, interrupt)


def test_an_interrupted_imitation_ends_the_fit(digits, monkeypatch):
    interrupted_at(monkeypatch, training, "_epoch", 5)
    with pytest.warns(UserWarning, match="imitation of the map was interrupted; the best"):
        model = lowdim.ParametricUMAP(layers=(8,)).fit(digits[0][:90])
    assert model.n_iter_ == 0
    assert np.isnan(model.loss_)
    np.testing.assert_array_equal(model.transform(digits[0][:90]), model.embedding_)


@pytest.mark.parametrize(
    ("cls", "solver"),
    [(lowdim.ParametricTSNE, Descent), (lowdim.ParametricUMAP, Layout)],
)
def test_an_interrupted_map_has_no_network_to_keep(cls, solver, digits, monkeypatch):
    interrupted_at(monkeypatch, solver, "run", 1)
    with pytest.raises(KeyboardInterrupt):
        cls(layers=(8,)).fit(digits[0][:120])


@pytest.mark.parametrize("n", [65, 129])  # the imitation takes 64 objects at once
def test_batch_normalisation_gets_no_batch_of_one(n, short_imitation):
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    model = lowdim.ParametricUMAP(network=network, max_iter=1, batch_size=n - 1).fit(X)
    assert np.isfinite(model.embedding_).all()


def test_images_are_mapped_by_convolutions(digits):
    model = lowdim.ParametricTSNE(image_shape=(8, 8), layers=(4,), max_iter=1, init="random").fit(
        digits[0][:120]
    )
    assert model.network_["encoder.1.weight"].shape == (4, 1, 4, 4)


@pytest.mark.parametrize("cls", METHODS)
def test_bytes_and_floats_give_the_same_map(cls, digits):
    pixels = digits[0][:150].astype(np.uint8)
    model = cls(**QUICK).fit(pixels)
    floats = cls(**QUICK).fit(pixels.astype(np.float32))
    np.testing.assert_array_equal(model.embedding_, floats.embedding_)
    np.testing.assert_array_equal(model.transform(pixels), floats.transform(digits[0][:150]))
    assert model.inverse_transform(model.embedding_[:3]).dtype == np.float32
    shared = cls(**QUICK).fit(pixels, graph=lowdim.neighbors(pixels, 90))
    np.testing.assert_array_equal(shared.embedding_, model.embedding_)


def test_the_map_that_is_imitated_is_not_rounded_to_the_type_of_the_rows(digits):
    pixels = digits[0][:80].astype(np.uint8)
    start = {"layers": (8,), "max_iter": 1}
    model = lowdim.ParametricUMAP(**start).fit(pixels)
    floats = lowdim.ParametricUMAP(**start).fit(pixels.astype(np.float32))
    np.testing.assert_array_equal(model.embedding_, floats.embedding_)


@pytest.mark.parametrize(
    ("cls", "params", "message"),
    [
        (lowdim.ParametricTSNE, {"perplexity": 500}, "perplexity"),
        (lowdim.ParametricTSNE, {"dof": 0}, "dof"),
        (lowdim.ParametricUMAP, {"n_neighbors": 1}, "n_neighbors"),
        (lowdim.ParametricUMAP, {"min_dist": 3}, "min_dist"),
        (lowdim.ParametricUMAP, {"repulsion_strength": np.inf}, "repulsion_strength"),
        (lowdim.ParametricUMAP, {"weight_decay": np.inf}, "weight_decay"),
        (lowdim.ParametricUMAP, {"init": "pca"}, "init"),
        (lowdim.ParametricUMAP, {"decoder": "yes"}, "decoder"),
    ],
)
def test_bad_parameters_are_named(cls, params, message, digits):
    with pytest.raises(ValueError, match=message):
        cls(**params).fit(digits[0][:100])


@pytest.mark.parametrize("noise", [-1, np.inf, 1e300])
@pytest.mark.parametrize("method", [lowdim.ParametricTSNE, lowdim.ParametricUMAP])
def test_noise_that_is_too_large(method, noise):
    X = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(ValueError, match="noise must lie in"):
        method(noise=noise).fit(X)
