"""Models as files: the same bits back, nothing executable inside, and clear refusals."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowdim
from helpers import differences


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


def test_pickle(case, X, new):
    estimator = case.make().fit(X)
    same_answers(estimator, pickle.loads(pickle.dumps(estimator)), new)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(case, X, new, dtype, tmp_path):
    estimator = case.make().fit(X.astype(dtype))
    estimator.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert type(loaded) is case.cls
    assert loaded.get_params() == estimator.get_params()
    assert loaded.n_features_in_ == 3
    assert list(loaded.get_feature_names_out()) == list(estimator.get_feature_names_out())
    same_answers(estimator, loaded, new.astype(dtype))


def test_all_fitted_attributes_come_back(case, X, tmp_path):
    estimator = case.make().fit(X)
    estimator.save(tmp_path / "model")
    loaded = lowdim.load(str(tmp_path / "model"))
    public = {name for name in vars(estimator) if not name.startswith("_")}
    assert public == {name for name in vars(loaded) if not name.startswith("_")}
    for name in public:
        value, read = getattr(estimator, name), getattr(loaded, name)
        assert type(read) is type(value), name
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(read, value)
            assert read.dtype == value.dtype


def test_sparse_training_rows_are_kept(case, tmp_path):
    random = np.random.RandomState(0)
    rows = csr_array(random.uniform(1, 2, (60, 9)) * (random.uniform(size=(60, 9)) < 0.5))
    estimator = case.make().fit(rows)
    estimator.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(rows[:7]), estimator.transform(rows[:7]))


def test_a_fitted_model_can_be_fitted_again_after_loading(case, X, tmp_path):
    case.make().fit(X[:50]).save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model").fit(X)
    np.testing.assert_array_equal(loaded.embedding_, case.make().fit(X).embedding_)


def test_an_unfitted_estimator_can_be_saved(case, X, tmp_path):
    case.make().save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert loaded.get_params() == case.make().get_params()
    with pytest.raises(NotFittedError):
        loaded.transform(X)
    np.testing.assert_array_equal(loaded.fit(X).embedding_, case.make().fit(X).embedding_)


def test_the_file_holds_arrays_and_json_only(case, X, tmp_path):
    case.make().fit(X).save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        names = archive.namelist()
        document = json.loads(archive.read("model.json"))
        assert document["model"]["$estimator"] == case.name
        for name in set(names) - {"model.json"}:
            assert name.endswith(".npy")
            with archive.open(name) as file:
                np.lib.format.read_array(file, allow_pickle=False)
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_functions_are_refused_and_the_old_file_stays(case, X, tmp_path):
    case.make().fit(X).save(tmp_path / "model")
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
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        (tmp_path / "part").write_bytes(bytes(flipped))
        with suppress(ValueError):  # or the byte is one that does not matter
            assert differences(lowdim.load(tmp_path / "part"), model) == []


def test_an_array_with_pickled_objects_is_refused(X, tmp_path):
    lowdim.PCA(2).fit(X).save(tmp_path / "model")

    def change(contents):
        buffer = io.BytesIO()
        np.save(buffer, np.array([{"code": 1}], dtype=object), allow_pickle=True)
        return {**contents, "array0.npy": buffer.getvalue()}

    rewritten(tmp_path / "model", change)
    with pytest.raises(ValueError, match="pickle"):
        lowdim.load(tmp_path / "model")
