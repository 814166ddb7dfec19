"""Models as files: the same bits back, nothing executable inside, and clear refusals."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowdim
from helpers import differences
from lowdim.catalog import CATALOG


def straight(a, b):
    return float(np.sqrt(((a - b) ** 2).sum()))


def gaussian(a, b):
    return float(np.exp(-0.1 * ((a - b) ** 2).sum()))


def same_answers(one, other, new):
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    placed = one.transform(new)
    np.testing.assert_array_equal(placed, other.transform(new))
    np.testing.assert_array_equal(one.inverse_transform(placed), other.inverse_transform(placed))
    assert one.embedding_.dtype == other.embedding_.dtype


def test_pickle(fitted, new):
    same_answers(fitted, pickle.loads(pickle.dumps(fitted)), new)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(case, fitted, X, new, dtype, tmp_path):
    estimator = fitted if dtype is np.float64 else case.make().fit(X.astype(dtype))
    estimator.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert type(loaded) is case.cls
    assert loaded.get_params() == estimator.get_params()
    assert loaded.n_features_in_ == 3
    assert list(loaded.get_feature_names_out()) == list(estimator.get_feature_names_out())
    same_answers(estimator, loaded, new.astype(dtype))


def with_categories(X):
    names = np.array(["low", "high"])[(X[:, 2] > X[:, 2].mean()).astype(int)]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": names})


def with_gaps(X):
    return np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.05, np.nan, X)


def in_two_parts(X):
    return X + np.where(np.arange(len(X)) % 2, 100.0, 0.0)[:, None]


def sparse_graph(X):
    return lowdim.NeighborsTransformer(n_neighbors=20).fit_transform(X)


KINDS_OF_INPUT = {
    "list": ({}, lambda X: X.tolist()),
    "integers": ({}, lambda X: (100 * X).astype(np.int32)),
    "frame": ({}, lambda X: pd.DataFrame(X, columns=["a", "b", "c"])),
    "CSR": ({}, lambda X: csr_array(np.where(X.min(axis=0) + 0.3 < X, X, 0))),
    "extreme": ({}, lambda X: 1e200 * X),
    "chain": ({"n_components": 1}, lambda X: X),
    "dissimilarities": ({"metric": "precomputed"}, lambda X: cdist(X, X)),
    "sparse graph": ({"metric": "precomputed"}, sparse_graph),
    "affinities": ({"affinity": "precomputed"}, lambda X: np.exp(-cdist(X, X))),
    "graph of affinities": ({"affinity": "precomputed_nearest_neighbors"}, sparse_graph),
    "kernel": ({"kernel": "precomputed"}, lambda X: X @ X.T),
    "Gower": ({"metric": "gower"}, with_categories),
    "missing": ({"metric": "nan_euclidean"}, with_gaps),
    "learned metric": ({"metric": "learned"}, lambda X: X),
    "parts": ({"disconnected": "separate"}, in_two_parts),
}
PROJECTIONS = (
    "LocalityPreservingProjections",
    "NeighborhoodPreservingEmbedding",
    "LinearLocalTangentSpaceAlignment",
)
REFUSED = {  # what methods that have the parameter do not take
    "sparse graph": (
        "ClassicalMDS",
        "LocallyLinearEmbedding",
        "Sammon",
        "CurvilinearComponentAnalysis",
        "MultiscaleSNE",
        "NeRV",
        "SelfOrganizingMap",
    ),
    "extreme": ("KernelPCA",),
    "parts": ("SpectralClustering",),
    "kernel": PROJECTIONS,
}


def answer(estimator, rows):
    """The bits of transform(rows), or why there are none."""
    try:
        return estimator.transform(rows).tobytes()
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("kind", KINDS_OF_INPUT)
def test_every_kind_of_input_comes_back(case, kind, X, tmp_path):
    own, make = KINDS_OF_INPUT[kind]
    if not all(case.has(name) for name in own):
        pytest.skip("the method takes no such input")
    if own == {"metric": "learned"}:
        own = {"metric": lowdim.NeighborhoodComponentsAnalysis(2).fit(X, X[:, 0] > 0)}
    rows = make(X[:60])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.name in REFUSED.get(kind, ()):
            with pytest.raises((TypeError, ValueError)):
                case.steady(**own).fit(rows)
            return
        estimator = case.steady(**own).fit(rows)
        estimator.save(tmp_path / "model")
        loaded = lowdim.load(tmp_path / "model")
        assert differences(loaded, pickle.loads(pickle.dumps(estimator))) == []
        assert answer(loaded, rows) == answer(estimator, rows)


LABELS = {
    "integers": np.arange(90) % 3,
    "bytes of integers": (np.arange(90) % 3).astype(np.int8),
    "truth values": np.arange(90) % 3 > 0,
    "floats": np.arange(90) % 3.0,
    "strings": np.array(["one", "two", "three"])[np.arange(90) % 3],
    "objects": np.array(["one", "two", "three"], dtype=object)[np.arange(90) % 3],
    "bytes": np.array([b"one", b"two", b"three"])[np.arange(90) % 3],
    "dates": np.arange(90).astype("M8[D]") - np.arange(90) // 3 * np.timedelta64(3, "D"),
    "categories": pd.Series(pd.Categorical(["one", "two", "three"] * 30)),
    "nullable": pd.Series([1, 2, 3] * 30, dtype="Int64"),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("method", [m.name for m in CATALOG if m.objects == "labelled"])
def test_every_kind_of_label_comes_back(method, kind, X, tmp_path):
    estimator = getattr(lowdim, method)(2, max_iter=3).fit(X, LABELS[kind])
    estimator.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert differences(loaded, pickle.loads(pickle.dumps(estimator))) == []
    assert loaded.classes_.dtype == estimator.classes_.dtype
    np.testing.assert_array_equal(loaded.transform(X), estimator.transform(X))


@pytest.mark.parametrize("combine", ["__mul__", "__add__", "__sub__"])
def test_combinations_of_models_come_back(combine, X, tmp_path):
    left, right = (lowdim.UMAP(n_epochs=5).fit(X[:, i:]) for i in (0, 1))
    both = getattr(left, combine)(right)
    both.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.embedding_, both.embedding_)
    with pytest.raises(ValueError, match="combines two others"):
        loaded.transform(X)


def test_a_grid_of_a_prime_number_of_units(X, tmp_path):
    som = lowdim.SelfOrganizingMap(1, shape=(19,)).fit(X)
    som.save(tmp_path / "model")
    assert lowdim.load(tmp_path / "model").shape_ == (19,)


@pytest.mark.parametrize("name", ["embedding_", "X_fit_", "note"])
def test_what_cannot_be_loaded_is_not_saved(name, X, tmp_path):
    model = lowdim.Isomap(n_neighbors=8).fit(X)
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    setattr(model, name, np.full((90, 2), np.nan))
    with pytest.raises(ValueError, match=f"was not written.*{name}"):
        model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before


def test_all_fitted_attributes_come_back(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = lowdim.load(str(tmp_path / "model"))
    public = {name for name in vars(fitted) if not name.startswith("_")}
    assert public == {name for name in vars(loaded) if not name.startswith("_")}
    for name in public:
        value, read = getattr(fitted, name), getattr(loaded, name)
        assert type(read) is type(value), name
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(read, value)
            assert read.dtype == value.dtype


def test_a_fitted_model_can_be_fitted_again_after_loading(case, fitted, X, tmp_path):
    case.make().fit(X[:50]).save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model").fit(X)
    np.testing.assert_array_equal(loaded.embedding_, fitted.embedding_)


def test_an_unfitted_estimator_can_be_saved(case, fitted, X, tmp_path):
    case.make().save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert loaded.get_params() == case.make().get_params()
    with pytest.raises(NotFittedError):
        loaded.transform(X)
    np.testing.assert_array_equal(loaded.fit(X).embedding_, fitted.embedding_)


def test_the_file_holds_arrays_and_json_only(case, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        names = archive.namelist()
        document = json.loads(archive.read("model.json"))
        assert document["model"]["$estimator"] == case.name
        for name in set(names) - {"model.json"}:
            assert name.endswith(".npy")
            with archive.open(name) as file:
                np.lib.format.read_array(file, allow_pickle=False)
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_functions_are_refused_and_the_old_file_stays(case, fitted, X, tmp_path):
    fitted.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    name, function = ("metric", straight) if case.has("metric") else ("kernel", gaussian)
    if not case.has(name):
        pytest.skip("the method takes no function")
    estimator = case.make(**{name: function}).fit(X)
    with pytest.raises(TypeError, match=f"{name} is a function.*by name"):
        estimator.save(tmp_path / "model")
    with pytest.raises(TypeError, match=name):
        clone(estimator).save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]
    copy = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(copy.transform(X[:4]), estimator.transform(X[:4]))


@pytest.mark.parametrize(
    "estimator",
    [
        lowdim.KernelPCA(),
        lowdim.KernelPCA(2, remove_zero_eig=True),
        lowdim.PCA(0, svd_solver="full"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*objects are the same")
def test_a_map_of_no_dimensions(estimator, X, tmp_path):
    rows = X if isinstance(estimator, lowdim.PCA) else np.zeros_like(X)
    estimator.fit(rows)
    assert estimator.embedding_.shape == (len(X), 0)
    estimator.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert loaded.transform(rows[:4]).shape == (4, 0)


def test_a_map_of_no_dimensions_is_refused_elsewhere(X, tmp_path):
    umap = lowdim.UMAP(n_epochs=5).fit(X)
    umap.embedding_ = umap.embedding_[:, :0]
    with pytest.raises(ValueError, match="embedding_ has shape"):
        umap.save(tmp_path / "model")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        lowdim.load(tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps({"a": 1}), b"PK\x03\x04broken"])
def test_a_foreign_file(content, tmp_path):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match="not a lowdim model"):
        lowdim.load(tmp_path / "other")


def rewritten(path, change):
    """The file with its JSON document changed."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents = change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def without(name):
    return lambda contents: {k: v for k, v in contents.items() if k != name}


def replaced(old, new):
    def change(contents):
        assert old in contents["model.json"]
        return {**contents, "model.json": contents["model.json"].replace(old, new)}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda contents: {"readme.txt": b"hello"}, "not a lowdim model"),
        (lambda contents: {**contents, "model.json": b"{"}, "model.json"),
        (lambda contents: {**contents, "model.json": b"[1, 2]"}, "model.json|format"),
        (lambda contents: {**contents, "model.json": b'{"lowdim": 1}'}, "model: "),
        (replaced(b'"lowdim": 1', b'"lowdim": 99'), "format 99"),
        (replaced(b'"PCA"', b'"Nothing"'), "unknown method 'Nothing'"),
        (replaced(b'"$array"', b'"$code"'), "unknown kind"),
        (replaced(b'"whiten"', b'"blacken"'), "blacken"),
        (without("array0.npy"), "array0"),
        (lambda contents: {**contents, "array0.npy": b"\x93NUMPYgarbage"}, "model: "),
    ],
)
def test_a_damaged_file(change, message, X, tmp_path):
    lowdim.PCA(2).fit(X).save(tmp_path / "model")
    rewritten(tmp_path / "model", change)
    with pytest.raises(ValueError, match=message):
        lowdim.load(tmp_path / "model")


def test_a_truncated_or_flipped_file(X, tmp_path):
    model = lowdim.PCA(2).fit(X)
    model.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        (tmp_path / "part").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="part"):
            lowdim.load(tmp_path / "part")
    refused = []
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        (tmp_path / "part").write_bytes(bytes(flipped))
        try:
            loaded = lowdim.load(tmp_path / "part")
        except ValueError as error:
            refused.append(str(error))
        else:  # the byte is one that does not matter, such as a date in the archive
            assert differences(loaded, model) == []
    assert len(refused) > 30
    assert all("part" in message for message in refused)


def test_an_array_with_pickled_objects_is_refused(X, tmp_path):
    lowdim.PCA(2).fit(X).save(tmp_path / "model")

    def change(contents):
        buffer = io.BytesIO()
        np.save(buffer, np.array([{"code": 1}], dtype=object), allow_pickle=True)
        return {**contents, "array0.npy": buffer.getvalue()}

    rewritten(tmp_path / "model", change)
    with pytest.raises(ValueError, match="pickle"):
        lowdim.load(tmp_path / "model")


def with_array(name, array):
    def change(contents):
        buffer = io.BytesIO()
        np.save(buffer, array)
        return {**contents, name: buffer.getvalue()}

    return change


def array_of(path, *keys):
    """The member that holds an array of the model."""
    with zipfile.ZipFile(path) as archive:
        entry = json.loads(archive.read("model.json"))["model"]["state"]
    for key in keys:
        entry = entry[key]
    return f"{entry}.npy"


@pytest.mark.parametrize(
    "indices", [2**30, -1], ids=["far", "negative"]
)  # read without a check, they crash the process
def test_indices_out_of_range(indices, tmp_path):
    rows = csr_array(np.random.RandomState(0).uniform(1, 2, (40, 6)))
    lowdim.UMAP(n_neighbors=5, n_epochs=5).fit(rows).save(tmp_path / "model")
    for attribute in ("X_fit_", "graph_"):
        name = array_of(tmp_path / "model", attribute, "$csr", 1)
        before = (tmp_path / "model").read_bytes()
        old = np.load(io.BytesIO(zipfile.ZipFile(tmp_path / "model").read(name)))
        rewritten(tmp_path / "model", with_array(name, np.full_like(old, indices)))
        with pytest.raises(ValueError, match=f"indices of {attribute}"):
            lowdim.load(tmp_path / "model")
        (tmp_path / "model").write_bytes(before)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.full((90, 3), np.nan), "NaN or infinity"),
        (np.zeros((89, 3)), "shape"),
        (np.zeros((90, 3), np.complex128), "type"),
        (np.zeros((90, 3), np.int64), "type"),
    ],
)
def test_arrays_are_checked(value, message, X, tmp_path):
    lowdim.Sammon(max_iter=5).fit(X).save(tmp_path / "model")
    name = array_of(tmp_path / "model", "X_fit_", "$array")
    rewritten(tmp_path / "model", with_array(name, value))
    with pytest.raises(ValueError, match=message):
        lowdim.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        *[(["_fitted_exponent"], value, "_fitted_exponent is") for value in (10**30, 1.5, True)],
        (["_fitted_in_unit", "state"], {}, "_fitted_in_unit is not a fitted model"),
    ],
)
def test_the_unit_of_extreme_data_is_checked(place, value, message, X, tmp_path):
    """A model in the unit without any state was loaded, and could not transform."""
    lowdim.PCA().fit(X * 1e200).save(tmp_path / "model")

    def change(contents):
        model = json.loads(contents["model.json"])
        *way, last = ["model", "state", *place]
        functools.reduce(dict.__getitem__, way, model)[last] = value
        return {**contents, "model.json": json.dumps(model).encode()}

    rewritten(tmp_path / "model", change)
    with pytest.raises(ValueError, match=message):
        lowdim.load(tmp_path / "model")


def test_an_array_that_is_used_twice_is_refused(X, tmp_path):
    """Otherwise a small file could hold any number of large arrays."""
    lowdim.PCA(2).fit(X).save(tmp_path / "model")
    rewritten(tmp_path / "model", replaced(b'"array1"', b'"array0"'))
    with pytest.raises(ValueError, match="more than once"):
        lowdim.load(tmp_path / "model")


def test_a_compressed_file_is_refused(X, tmp_path):
    lowdim.PCA(2).fit(X).save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="compressed"):
        lowdim.load(tmp_path / "bomb")


def test_a_shape_larger_than_the_file_is_refused(X, tmp_path):
    lowdim.PCA(2).fit(X).save(tmp_path / "model")

    def change(contents):
        name = next(iter(set(contents) - {"model.json"}))
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(buffer, header)
        return {**contents, name: buffer.getvalue()}

    rewritten(tmp_path / "model", change)
    with pytest.raises(ValueError, match="shorter than its shape"):
        lowdim.load(tmp_path / "model")


@pytest.mark.parametrize("model", [b"5", b"null", b'{"$array": "array0"}', b'[{"$tuple": []}]'])
def test_what_is_loaded_is_an_estimator(model, X, tmp_path):
    lowdim.PCA(2).fit(X).save(tmp_path / "model")
    content = b'{"lowdim": 1, "model": ' + model + b"}"
    rewritten(tmp_path / "model", lambda contents: {**contents, "model.json": content})
    with pytest.raises(ValueError, match="describes no estimator"):
        lowdim.load(tmp_path / "model")


def test_an_attribute_that_is_missing_or_unknown(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    rewritten(tmp_path / "model", replaced(b'"embedding_"', b'"embeding_"'))
    with pytest.raises(ValueError, match="lacks embedding_"):
        lowdim.load(tmp_path / "model")
    (tmp_path / "model").write_bytes(before)
    rewritten(tmp_path / "model", replaced(b'"state": {', b'"state": {"transform": 1, '))
    with pytest.raises(ValueError, match="transform is no attribute"):
        lowdim.load(tmp_path / "model")


def test_graphs_keep_their_recall(X, tmp_path):
    model = lowdim.Isomap(n_neighbors=8).fit(X)
    model.graph_ = dataclasses.replace(model.graph_, recall=0.97)
    model.save(tmp_path / "model")
    assert lowdim.load(tmp_path / "model").graph_.recall == 0.97
