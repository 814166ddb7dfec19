"""`update`: new objects join a map, near which the old ones stay."""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.decomposition import IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

import lowdim
from helpers import differences, with_threads
from lowdim.catalog import CATALOG
from lowdim.estimator.updating import Growth, drift_score, width

EXAMPLES = {
    "PCA": {"n_components": 2},
    "Isomap": {"n_neighbors": 8, "n_landmarks": 40, "random_state": 0},
    "LaplacianEigenmaps": {"n_neighbors": 8},
    "UMAP": {"n_neighbors": 8, "n_epochs": 60},
    "MultiscaleSNE": {},
    "LargeVis": {"perplexity": 8, "max_iter": 60},
    "NegativeSamplingTSNE": {"perplexity": 8, "max_iter": 60},
    "NeRV": {"perplexity": 8},
    **{
        name: {"perplexity": 8, "max_iter": 300, "random_state": 0}
        for name in ("SNE", "SymmetricSNE", "TSNE")
    },
}
GROWING = [method for method in CATALOG if method.grows]
NEIGHBOURS = ["UMAP", "SNE", "SymmetricSNE", "TSNE"]


@pytest.fixture(scope="module")
def rolls():
    """240 objects and 40 more of the same kind."""
    X, _ = lowdim.data.s_curve(280, noise=0.02, random_state=0)
    return X[:240], X[240:]


@pytest.fixture(params=GROWING, ids=lambda method: method.name)
def method(request):
    return request.param


def make(method, **params):
    name = method if isinstance(method, str) else method.name
    return getattr(lowdim, name)(**{**EXAMPLES[name], **params})


def assert_same(one, other):
    """Two graphs have the same neighbours, at the same distances up to rounding."""
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_allclose(one.distances, other.distances, rtol=1e-6)
    assert one.fingerprint == other.fingerprint


def shared(one, other):
    """The share of the neighbours in one graph that each object has in another one."""
    pairs = zip(one.indices, other.indices, strict=True)
    return np.array([len(np.intersect1d(a, b)) / len(a) for a, b in pairs])


@pytest.fixture(scope="module")
def grown(rolls):
    """A function from a method to its model of the first objects, the others added; not to be
    changed."""
    models = {}

    def find(method):
        if method.name not in models:
            models[method.name] = make(method).fit(rolls[0]).update(rolls[1])
        return models[method.name]

    return find


# --- what every method promises -------------------------------------------------------------------


def test_the_examples_are_complete():
    assert {method.name for method in GROWING} == set(EXAMPLES)


def test_the_state_is_that_of_a_fit(method, rolls, grown):
    model, fitted = grown(method), make(method).fit(np.vstack(rolls))
    assert model.embedding_.shape == (280, 2)
    assert np.isfinite(model.embedding_).all()
    assert model.drift_.shape == (240,)
    assert 0 <= model.drift_score_ < 1
    further = {"drift_", "drift_score_", "_fitted_rotation", "_fitted_first_map"}
    assert set(vars(model)) - further == set(vars(fitted))
    for name, value in vars(fitted).items():
        if isinstance(value, np.ndarray) and name != "history_":
            assert getattr(model, name).shape == value.shape, name
            assert getattr(model, name).dtype == value.dtype, name


def test_the_old_objects_stay(method, rolls, grown):
    """The map of a fit to other objects is turned, mirrored and stretched."""
    before = make(method).fit_transform(rolls[0])
    model = grown(method)
    moved = np.linalg.norm(model.embedding_[:240] - before, axis=1)
    np.testing.assert_allclose(model.drift_, moved)
    most = 0.05 if method.name in NEIGHBOURS else 0.1  # the others are those of a fit
    assert np.median(moved) < most * width(before)


def test_the_neighbours_of_new_objects_are_near_them(method, rolls, grown):
    """As near as those of old objects."""
    shown = lowdim.neighbors(grown(method).embedding_, 10)
    kept = shared(lowdim.neighbors(np.vstack(rolls), 10), shown)
    assert kept[240:].mean() > 0.8 * kept[:240].mean()


def test_transform_and_inverse_go_on(method, rolls, grown):
    model, X = grown(method), np.vstack(rolls)
    size = width(model.embedding_)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-3 * size)
    assert model.inverse_transform(model.embedding_[-3:]).shape == (3, 3)
    assert lowdim.quality.assess(X, model) is not None


def test_files_and_copies_hold_it(method, rolls, grown, tmp_path):
    model = grown(method)
    model.save(tmp_path / "model.lowdim")
    more = rolls[0][:5] + 0.01
    for copy in (lowdim.load(tmp_path / "model.lowdim"), pickle.loads(pickle.dumps(model))):
        assert copy.drift_score_ == model.drift_score_
        np.testing.assert_array_equal(copy.transform(more), model.transform(more))
        copy.update(more)
        again = pickle.loads(pickle.dumps(model)).update(more)
        np.testing.assert_array_equal(copy.embedding_, again.embedding_)
        assert copy.embedding_.shape == (285, 2)


def test_the_same_bits_for_any_number_of_threads(method, rolls, grown):
    model = make(method, n_jobs=1).fit(rolls[0])
    found = with_threads(1, model.set_params(n_jobs=None).update, rolls[1])
    found.set_params(n_jobs=grown(method).n_jobs)
    ignored = {"_cached_training"}
    kept = {k: v for k, v in vars(found).items() if k not in ignored}
    other = {k: v for k, v in vars(grown(method)).items() if k not in ignored}
    assert differences(kept, other) == []


def test_float32_stays_float32(method, rolls):
    old, new = (part.astype(np.float32) for part in rolls)
    model = make(method).fit(old).update(new.astype(np.float64))
    assert model.embedding_.dtype == np.float32


def test_one_object_is_enough(method, rolls):
    """It lands near its neighbours."""
    model = make(method).fit(rolls[0]).update(rolls[1][:1])
    assert model.embedding_.shape == (241, 2)
    near = np.linalg.norm(rolls[0] - rolls[1][0], axis=1).argsort()[:5]
    apart = model.embedding_[240] - model.embedding_[near].mean(axis=0)
    assert np.linalg.norm(apart) < 0.1 * width(model.embedding_)


def test_a_fit_forgets_it(method, rolls, grown):
    model = pickle.loads(pickle.dumps(grown(method))).fit(rolls[0])
    assert not hasattr(model, "drift_")
    assert model.embedding_.shape == (240, 2)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
@pytest.mark.parametrize("name", ["PCA", "Isomap", "UMAP"])
def test_data_of_extreme_magnitude(name, unit, rolls):
    """The map of c X is c times that of X, or the same."""
    old, new = rolls
    plain = make(name).fit(old).update(new)
    model = make(name).fit(old * unit).update(new * unit)
    factor = 1 if name == "UMAP" else unit
    size = width(plain.embedding_) * factor
    np.testing.assert_allclose(model.embedding_ / size, plain.embedding_ * factor / size, atol=1e-6)
    np.testing.assert_allclose(model.drift_ / size, plain.drift_ * factor / size, atol=1e-6)
    assert model.transform(new * unit).shape == (40, 2)


# --- errors leave the estimator as it was ---------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((3, 4)), "4 features"),
        (np.full((3, 3), np.nan), "NaN"),
        (np.full((3, 3), np.inf), "infinity"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros(3), "2D"),
        ([["a", "b", "c"]], "X holds .a. at"),
    ],
)
def test_wrong_input_is_refused_and_nothing_changes(method, wrong, message, rolls, grown):
    model = grown(method)
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=message):
        model.update(wrong)
    kept = {k: v for k, v in vars(model).items() if not k.startswith("_cached")}
    assert differences(kept, vars(before)) == []


def test_an_error_in_the_middle_changes_nothing(rolls, monkeypatch):
    model = make("UMAP").fit(rolls[0])
    before = pickle.loads(pickle.dumps(model))

    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("lowdim.neighbor_embedding.umap.umap.lay_out", fail)
    with pytest.raises(MemoryError):
        model.update(rolls[1])
    kept = {k: v for k, v in vars(model).items() if not k.startswith("_cached")}
    assert differences(kept, vars(before)) == []
    monkeypatch.undo()
    assert model.update(rolls[1]).embedding_.shape == (280, 2)


def test_it_must_be_fitted(method, rolls):
    with pytest.raises(NotFittedError):
        make(method).update(rolls[1])


def test_methods_that_cannot_grow_say_what_to_do(rolls):
    model = lowdim.MDS(max_iter=3).fit(rolls[0][:30])
    assert not hasattr(model, "update")
    with pytest.raises(AttributeError, match=r"MDS has no update\. .*transform, or fit .*UMAP"):
        model.update(rolls[1])
    for method in CATALOG:
        assert hasattr(method.load(), "update") is method.grows


def test_distances_that_new_objects_would_change_are_refused(rolls):
    D = np.linalg.norm(rolls[0][:, None] - rolls[0], axis=2)
    with pytest.raises(ValueError, match="Fit again to the matrix of all objects"):
        make("UMAP", metric="precomputed").fit(D).update(D)
    with pytest.raises(ValueError, match=r"give metric_params=\{'V': \.\.\.\}, or fit again"):
        make("TSNE", metric="seuclidean").fit(rolls[0]).update(rolls[1])
    with pytest.raises(ValueError, match=r"metric='gower' is estimated .*: fit again"):
        make("Isomap", metric="gower").fit(rolls[0]).update(rolls[1])
    model = make("TSNE", metric="seuclidean", metric_params={"V": np.ones(3)}).fit(rolls[0])
    assert model.update(rolls[1]).embedding_.shape == (280, 2)


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        ({}, {"y": np.arange(240) % 3}),
        ({"unique": True}, {}),
        ({"output_metric": "haversine"}, {}),
        ({"transform_mode": "graph"}, {}),
    ],
)
def test_models_of_umap_that_cannot_grow(params, arguments, rolls):
    model = make("UMAP", **params).fit(rolls[0], **arguments)
    with pytest.raises(ValueError, match=r"UMAP\.update"):
        model.update(rolls[1])


def test_affinities_of_the_user_and_kernels_cannot_grow(rolls):
    P = make("TSNE").fit(rolls[0]).affinities_
    with pytest.raises(ValueError, match="no neighbour graph that new objects could join"):
        make("TSNE").fit(rolls[0], affinities=P).update(rolls[1])
    with pytest.raises(ValueError, match="affinity='rbf' has no neighbour graph"):
        make("LaplacianEigenmaps", affinity="rbf").fit(rolls[0]).update(rolls[1])


# --- graphs and maps ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_graph_is_that_of_all_objects(name, rolls):
    model = make(name).fit(rolls[0]).update(rolls[1])
    fitted = make(name).fit(np.vstack(rolls))
    assert_same(model._fitted_neighbors, fitted._fitted_neighbors)
    matrix = "graph_" if name == "UMAP" else "affinities_"
    gap = abs(getattr(model, matrix) - getattr(fitted, matrix)).max()
    assert gap <= 1e-12


@pytest.mark.parametrize(
    "params",
    [{}, {"n_neighbors": None, "radius": 0.5}, {"symmetry": "mutual"}, {"normalization": "none"}],
)
def test_laplacian_eigenmaps_are_those_of_a_fit(params, rolls):
    """Up to the signs and the common size, which are those of the old map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the mutual graph is disconnected
        model = make("LaplacianEigenmaps", **params).fit(rolls[0]).update(rolls[1])
        fitted = make("LaplacianEigenmaps", **params).fit(np.vstack(rolls))
    np.testing.assert_allclose(model.eigenvalues_, fitted.eigenvalues_, rtol=1e-8)
    ratio = model.embedding_ / fitted.embedding_
    np.testing.assert_allclose(abs(ratio), abs(ratio[0, 0]), rtol=1e-4)
    assert model.drift_score_ == 0


@pytest.mark.parametrize("params", [{"n_landmarks": None}, {"n_landmarks": None, "mds": "stress"}])
def test_isomap_is_that_of_a_fit(params, rolls):
    model = make("Isomap", **params).fit(rolls[0]).update(rolls[1])
    fitted = make("Isomap", **params).fit(np.vstack(rolls))
    np.testing.assert_allclose(model.dist_matrix_, fitted.dist_matrix_, rtol=1e-12)
    found = lowdim.procrustes(fitted.embedding_, model.embedding_, scaling=False)
    assert found.disparity < 1e-9


def test_isomap_keeps_its_landmarks(rolls):
    model = make("Isomap").fit(rolls[0])
    landmarks = model.landmarks_
    model.update(rolls[1]).update(rolls[1] + 0.01)
    np.testing.assert_array_equal(model.landmarks_, landmarks)
    assert model.dist_matrix_.shape == (40, 320)


def test_a_disconnected_graph_can_be_joined_by_new_objects():
    """Two halves of a strip, between which the new objects are."""
    X, t = lowdim.data.s_curve(300, noise=0.0, random_state=1)
    gap = abs(t - np.median(t)) < 0.4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make("Isomap", n_neighbors=6, n_landmarks=None, disconnected="separate")
        model.fit(X[~gap])
        assert len(model.parts_) == 2
    model.update(X[gap])
    assert not hasattr(model, "parts_")
    assert np.isfinite(model.embedding_).all()


def test_few_objects_get_more_neighbours(rolls):
    """Ten objects have nine neighbours; more of them have as many as the method wants."""
    X = np.vstack(rolls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make("UMAP", n_neighbors=15).fit(X[:10]).update(X[10:])
    assert model._fitted_neighbors.n_neighbors == 14
    np.testing.assert_array_equal(model._fitted_neighbors.indices, lowdim.neighbors(X, 14).indices)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_an_approximate_graph_grows_through_its_index(metric, monkeypatch):
    """With an index for few objects, whatever it costs: as many true neighbours as it finds."""
    monkeypatch.setattr("lowdim.neighbor_graphs.search.EXACT_UP_TO", 2000)
    monkeypatch.setattr("lowdim.backends.native.index.LARGEST_COST", np.inf)
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4)) @ random.normal(size=(4, 40))
    X = (X + random.normal(size=X.shape) / 9).astype(np.float32)
    model = lowdim.UMAP(n_epochs=10, init="pca", metric=metric).fit(X[:2600])
    assert model._fitted_neighbors.recall is not None, "the search was exact"
    model.update(X[2600:])
    kept = shared(lowdim.neighbors(X, 14, method="exact", metric=metric), model._fitted_neighbors)
    assert kept[:2600].mean() > 0.94
    assert kept[2600:].mean() > 0.94
    assert (np.diff(model._fitted_neighbors.distances, axis=1) >= 0).all()
    again = lowdim.UMAP(n_epochs=10, init="pca", metric=metric).fit(X[:2600])
    again._cached_training._searches.clear()  # as after loading
    np.testing.assert_array_equal(again.update(X[2600:]).embedding_, model.embedding_)


@pytest.mark.parametrize("name", ["UMAP", "TSNE"])
def test_the_map_of_digits_is_as_good_as_that_of_a_fit(name):
    X, y = load_digits(return_X_y=True)
    X, y = X[:1000], y[:1000]
    params = {"n_epochs": 200} if name == "UMAP" else {"perplexity": 15, "max_iter": 500}
    model = getattr(lowdim, name)(**params).fit(X[:800]).update(X[800:])
    labels = KNeighborsClassifier(10).fit(model.embedding_[:800], y[:800])
    assert labels.score(model.embedding_[800:], y[800:]) > 0.93
    assert model.drift_score_ < 1


@pytest.mark.parametrize("name", ["UMAP", "TSNE"])
def test_a_new_kind_of_objects_asks_for_a_fresh_fit(name):
    X, y = lowdim.data.clusters(300, random_state=0)
    model = make(name).fit(X[y < 2])
    with pytest.warns(UserWarning, match=r"drift_score_ is .*, above 1: .*Fit again to all"):
        model.update(X[y == 2])
    assert model.drift_score_ > 1
    assert len(model.embedding_) == (y < 3).sum()


def test_a_new_kind_that_comes_slowly_asks_for_a_fresh_fit():
    X, y = lowdim.data.clusters(300, random_state=0)
    model = make("UMAP", n_epochs=20).fit(X[y < 2])
    scores = [0.0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for row in X[y == 2][:40]:
            model.update(row[None])
            scores.append(model.drift_score_)
    assert max(scores[:8]) < 1  # the new ones have old neighbours
    assert scores[-1] > 1
    assert "Fit again to all objects" in str(caught[-1].message)
    assert model._fitted_first_map.shape == ((y < 2).sum(), 2)


def test_a_map_that_moves_slowly_asks_for_a_fresh_fit():
    old = np.random.default_rng(0).normal(size=(50, 2))
    steps = [old + step * np.array([0.01, 0]) * width(old) for step in range(9)]
    each = [drift_score(a, b, Growth(refined=True)) for a, b in pairwise(steps)]
    assert max(each) < 0.3
    assert drift_score(steps[0], steps[-1], Growth(refined=True)) == pytest.approx(8 * 0.01 / 0.05)


def test_several_updates_in_a_row(rolls):
    X = np.vstack(rolls)
    model = make("UMAP").fit(X[:200])
    for first in range(200, 280, 20):
        model.update(X[first : first + 20])
    assert_same(model._fitted_neighbors, lowdim.neighbors(X, 7))
    assert model.drift_.shape == (260,)


def test_sparse_rows_and_frames(rolls):
    pd = pytest.importorskip("pandas")
    old, new = rolls
    dense = make("TSNE").fit(old).update(new)
    sparse = make("TSNE").fit(csr_array(old)).update(csr_array(new))
    assert sparse.X_fit_.shape == (280, 3)
    np.testing.assert_array_equal(sparse._fitted_neighbors.indices, dense._fitted_neighbors.indices)
    mixed = make("TSNE").fit(old).update(csr_array(new))
    np.testing.assert_array_equal(mixed.X_fit_, dense.X_fit_)
    frame = pd.DataFrame(old, columns=list("abc"))
    model = make("TSNE").fit(frame)
    model.update(pd.DataFrame(new, columns=list("abc")))
    with pytest.raises(ValueError, match="feature names"):
        model.update(pd.DataFrame(new, columns=list("abd")))


def test_a_metric_of_the_user_on_any_objects():
    words = ["map", "mop", "mat", "maps", "cat", "cut", "car", "cart", "card", "tap", "top", "tip"]
    metric = lambda a, b: float(abs(len(a) - len(b)) + len(set(a) ^ set(b)))  # noqa: E731
    model = lowdim.UMAP(n_neighbors=4, n_epochs=20, metric=metric).fit(words)
    model.update(["cap", "mapped"])
    assert model.embedding_.shape == (14, 2)
    np.testing.assert_array_equal(model.transform(["cap"])[0], model.embedding_[12])


@pytest.mark.parametrize("finite", [True, False, "allow-nan"])
def test_rows_that_a_metric_of_the_user_accepts(finite, rolls):
    """umap-learn's argument of the same name."""
    rows = rolls[0][:30].copy()
    if finite is not True:
        rows[0] = np.nan

    def metric(a, b):
        distance = float(np.nansum(abs(a - b)))
        a[0] = -1.0 if finite is False else a[0]  # it may write into what it gets
        return distance, a  # with a gradient

    before = rows.copy()
    model = lowdim.UMAP(n_neighbors=5, n_epochs=5, metric=metric).fit(rows, None, finite)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.update(rows, finite)
    assert model.embedding_.shape == (60, 2)
    np.testing.assert_array_equal(rows, before)


def test_densmap_and_objects_without_edges(rolls):
    X = (np.random.default_rng(0).uniform(size=(90, 20)) < 0.4).astype(float)
    X[60] = 0  # shares nothing with any other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lowdim.UMAP(n_neighbors=5, n_epochs=30, metric="jaccard").fit(X[:80])
        assert np.isnan(model.embedding_).any(axis=1).sum() == 1
        model.update(X[80:])
    assert np.isnan(model.embedding_).any(axis=1).sum() == 1
    assert np.isnan(model.drift_).sum() == 1
    dense = make("UMAP", densmap=True, output_dens=True).fit(rolls[0]).update(rolls[1])
    assert dense.rad_orig_.shape == dense.rad_emb_.shape == (280,)


# --- principal components -------------------------------------------------------------------------


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("shape", [(200, 12), (20, 12), (200, 40)])
def test_pca_of_full_rank_is_that_of_all_objects(shape, whiten):
    random = np.random.default_rng(0)
    X = random.normal(size=shape) * np.linspace(1, 3, shape[1]) + 5
    most = 3 * shape[0] // 4
    if most < shape[1]:
        pytest.skip("fewer objects than features")
    model = lowdim.PCA(whiten=whiten).fit(X[:most]).update(X[most:])
    fitted = lowdim.PCA(whiten=whiten).fit(X)
    signs = np.sign((model.components_ * fitted.components_).sum(axis=1))
    np.testing.assert_allclose(model.embedding_, fitted.embedding_ * signs, atol=1e-6)
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(model, name), getattr(fitted, name), rtol=1e-9)
    assert model.n_samples_ == len(X)
    assert model.drift_score_ == pytest.approx(0, abs=1e-9)
    model.update(X[:1])
    assert model.embedding_.shape == (len(X) + 1, shape[1])


def test_truncated_pca_is_incremental_pca():
    """scikit-learn's IncrementalPCA from the same two batches."""
    X = load_digits().data[:600]
    model = lowdim.PCA(5).fit(X[:400]).update(X[400:])
    oracle = IncrementalPCA(5).partial_fit(X[:400]).partial_fit(X[400:])
    signs = np.sign((model.components_ * oracle.components_).sum(axis=1))
    np.testing.assert_allclose(model.components_, oracle.components_ * signs[:, None], atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, oracle.explained_variance_)
    np.testing.assert_allclose(model.mean_, oracle.mean_)
    total = X.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(model.explained_variance_ / total, model.explained_variance_ratio_)
    np.testing.assert_allclose(model.transform(X[400:]), model.embedding_[400:])


def test_new_directions_ask_for_a_fresh_fit():
    X = np.random.default_rng(0).normal(size=(100, 6)) * [5, 4, 0.1, 0.1, 0.1, 0.1]
    model = lowdim.PCA(2).fit(X)
    with pytest.warns(UserWarning, match="drift_score_"):
        model.update(X[:, ::-1])
    assert model.drift_score_ > 1


def test_pca_of_many_features_and_of_sparse_rows():
    X = np.random.default_rng(0).normal(size=(40, 300))
    model = lowdim.PCA(3).fit(csr_array(X[:30])).update(csr_array(X[30:]))
    oracle = IncrementalPCA(3).partial_fit(X[:30]).partial_fit(X[30:])
    np.testing.assert_allclose(model.explained_variance_, oracle.explained_variance_, rtol=1e-6)


def test_objects_in_a_unit_that_is_too_different(rolls):
    X, new = rolls
    model = lowdim.PCA(n_components=2).fit(X)
    before = model.embedding_.copy()
    with pytest.raises(ValueError, match=r"PCA\.update: the values of X are larger .* fit again"):
        model.update(new * 1e200)
    assert np.array_equal(model.embedding_, before)


@pytest.mark.parametrize("method", [lowdim.PCA(2), lowdim.UMAP(n_neighbors=8, n_epochs=20)])
def test_new_objects_in_a_file(method, rolls, tmp_path):
    X, new = rolls
    np.save(tmp_path / "new.npy", new)
    expected = method.fit(X).update(new).embedding_
    assert np.array_equal(method.fit(X).update(tmp_path / "new.npy").embedding_, expected)
