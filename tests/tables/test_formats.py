"""What is written can be read again: every format, with ids, labels and names."""

import numpy as np
import pytest

from helpers import write_h5ad
from lowdim import tables
from lowdim.tables.formats import ENDINGS

Y = np.array([[0.1, -2.5], [1e-12, 3.0], [7.25, 1e9]])
IDS = np.array(["a", "b, c", "dé"], dtype=object)
LABELS = {"kind": np.array(["x", "y", "x"], dtype=object), "size": np.array([3, 1, 2])}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ending", [e for e in ENDINGS if e not in (".npy", ".h5ad")])
def test_coordinates_ids_and_labels_come_back(ending, dtype, tmp_path):
    path = tmp_path / f"map{ending}"
    coordinates = Y.astype(dtype)
    tables.write(path, coordinates, names=["lle0", "lle1"], ids=IDS, labels=LABELS)
    table = tables.read(path, labels=["size"])
    assert table.columns is None or table.columns[-2:] == ["lle0", "lle1"]
    np.testing.assert_array_equal(np.asarray(table.X, dtype=dtype), coordinates)
    assert table.ids.tolist() == IDS.tolist()
    assert table.labels["size"].tolist() == [3, 1, 2]
    assert table.labels["kind"].tolist() == ["x", "y", "x"]


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".feather", ".h5"])
def test_binary_formats_keep_single_precision(ending, tmp_path):
    tables.write(tmp_path / f"m{ending}", Y.astype(np.float32))
    assert tables.read(tmp_path / f"m{ending}").X.dtype == np.float32


def test_an_npy_file_is_mapped_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", Y)
    assert isinstance(tables.read(tmp_path / "x.npy").X, np.memmap)


def test_anndata_is_not_written(tmp_path):
    with pytest.raises(tables.DataError, match="can be read, but not written"):
        tables.write(tmp_path / "m.h5ad", Y)


def test_anndata_matrices_and_annotations(tmp_path):
    path = tmp_path / "cells.h5ad"
    write_h5ad(path)
    table = tables.read(path)
    np.testing.assert_array_equal(table.X.toarray(), [[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 0, 0]])
    assert table.columns == ["g1", "g2", "g3", "g4"]
    assert table.ids.tolist() == ["c1", "c2", "c3"]
    assert table.labels["cell"].tolist() == ["T", None, "B"]
    np.testing.assert_array_equal(table.labels["age"], [30, np.nan, 50])
    np.testing.assert_array_equal(tables.read(path, key="obsm/X_pca").X, Y)
    np.testing.assert_array_equal(tables.read(path, key="layers/counts").X[2], [8, 9, 10, 11])
    with pytest.raises(
        tables.DataError, match=r"no 'obsm/X_umap'; it holds X, layers/counts, obsm"
    ):
        tables.read(path, key="obsm/X_umap")


def test_of_several_arrays_the_telling_name_is_taken_and_others_are_labels(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
    np.savez(tmp_path / "f.npz", X=images, y=[1, 2, 1], lighting=[0.5, 0.25, 0.0], other=np.eye(2))
    table = tables.read(tmp_path / "f.npz")
    np.testing.assert_array_equal(table.X, images.reshape(3, 8))
    assert list(table.labels) == ["y", "lighting"]
    assert any("2 x 4" in note for note in table.notes)
    assert tables.read(tmp_path / "f.npz", key="other").X.shape == (2, 2)


def test_arrays_without_a_telling_name_must_be_chosen(tmp_path):
    np.savez(tmp_path / "f.npz", a=Y, b=Y)
    with pytest.raises(tables.DataError, match=r"a \(3 x 2\), b \(3 x 2\).*key="):
        tables.read(tmp_path / "f.npz")


def test_hdf5_groups_and_matlab_7_3(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["run/data"], file["run/y"] = Y, [1, 2, 3]
    table = tables.read(tmp_path / "f.h5", key="/run/data")
    np.testing.assert_array_equal(table.X, Y)
    assert list(table.labels) == ["run/y"]
    with h5py.File(tmp_path / "f.mat", "w") as file:  # columns first, as Matlab stores
        file["X"], file["y"] = Y.T, np.array([[1.0, 2.0, 3.0]])
    table = tables.read(tmp_path / "f.mat")
    np.testing.assert_array_equal(table.X, Y)
    assert table.labels["y"].tolist() == [1, 2, 3]


def test_images_in_natural_order_with_folders_as_labels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, value in (("cat/10.png", 10), ("cat/9.png", 9), ("dog/1.png", 1)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        image.fromarray(np.full((4, 6, 3), value, dtype=np.uint8)).save(tmp_path / name)
    table = tables.read(tmp_path)
    assert table.X.shape == (3, 24)
    assert table.X[:, 0].tolist() == [9, 10, 1]
    assert table.ids.tolist() == ["cat/9.png", "cat/10.png", "dog/1.png"]
    assert table.labels["folder"].tolist() == ["cat", "cat", "dog"]
    np.testing.assert_array_equal(table.images[..., 2], table.X.reshape(3, 4, 6))
    assert tables.read(tmp_path, image_size=(3, 2), color=True).X.shape == (3, 18)
    image.fromarray(np.zeros((5, 6), dtype=np.uint8)).save(tmp_path / "dog" / "2.png")
    with pytest.raises(tables.DataError, match=r"6 x 5, but 9.png is 6 x 4.*image_size="):
        tables.read(tmp_path)
    assert tables.read(tmp_path, image_size=(3, 2)).X.shape == (4, 6)


def test_parquet_from_pandas_with_categories_nulls_and_an_index(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas

    frame = pandas.DataFrame(
        {"a": [1, None, 3], "c": pandas.Categorical(["u", "v", None]), "b": [True, False, True]},
        index=["r1", "r2", "r3"],
    )
    frame.to_parquet(tmp_path / "f.parquet")
    table = tables.read(tmp_path / "f.parquet", missing="mean")
    np.testing.assert_array_equal(table.X, [[1, 1], [2, 0], [3, 1]])
    assert table.columns == ["a", "b"]
    assert table.ids.tolist() == ["r1", "r2", "r3"]
    assert table.labels["c"].tolist() == ["u", "v", None]


def test_repeated_names_in_an_arrow_file_are_told_apart(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = [arrow.array([1.0, 2.0, 4.0]), arrow.array([5.0, 7.0, 6.0])]
    parquet.write_table(arrow.table(columns, names=["a", "a"]), tmp_path / "f.parquet")
    table = tables.read(tmp_path / "f.parquet")
    assert table.columns == ["a", "a.2"]
    np.testing.assert_array_equal(table.X, [[1, 5], [2, 7], [4, 6]])


@pytest.mark.parametrize(("ending", "extra"), [("parquet", "io"), ("h5", "hdf5"), ("h5ad", "hdf5")])
def test_a_missing_package_is_named_with_its_extra(ending, extra, tmp_path, monkeypatch):
    path = tmp_path / f"f.{ending}"
    path.write_bytes(b"something")

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr("lowdim.tables.errors.import_module", absent)
    with pytest.raises(ImportError, match=rf'pip install "lowdim\[{extra}\]"'):
        tables.read(path)
    if ending != "h5ad":
        with pytest.raises(ImportError, match=rf'pip install "lowdim\[{extra}\]"'):
            tables.write(tmp_path / f"g.{ending}", Y)
    assert [p.name for p in tmp_path.iterdir()] == [f"f.{ending}"]
