"""Rows that are read in blocks: the same numbers as in memory, and errors that say where."""

from __future__ import annotations

import errno
import os
import pickle

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from scipy.spatial.distance import cdist

import lowdim
from helpers import with_threads
from lowdim import checks
from lowdim.distances.metrics import plain_metric
from lowdim.distances.row_blocks import fingerprint
from lowdim.neighbor_graphs import shards
from lowdim.neighbor_graphs.exact import query, within
from lowdim.objects.block_sources import MappedRows, as_blocks, load_all, open_source, reopen_source
from lowdim.runtime import memory, scratch

N, D = 1500, 5
X = np.random.default_rng(0).normal(size=(N, D))
KINDS = (
    "map",
    "part of a map",
    "columns of a map",
    "changed copy of a map",
    "path",
    "hdf5",
    "zarr",
    "parquet",
    "folder",
)


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Blocks of a few rows, without a limit on what methods may claim."""
    monkeypatch.setattr(memory, "budget", lambda: 200_000)


def write_parquet(path, rows, **options):
    table = pa.table({f"c{j}": column for j, column in enumerate(rows.T)})
    parquet.write_table(table, path, **options)


def source(kind, folder, rows=X):
    """The rows in a file, opened in each of the ways there are."""
    file = folder / "rows.npy"
    if kind == "hdf5":
        return h5py.File(folder / "rows.h5", "w").create_dataset("a/b", data=rows)
    if kind == "zarr":
        return zarr.create_array(str(folder / "rows.zarr"), data=rows)
    if kind == "parquet":
        write_parquet(folder / "rows.parquet", rows, row_group_size=400)
        return folder / "rows.parquet"
    if kind == "folder":
        for number, part in enumerate(np.array_split(rows, 3)):
            write_parquet(folder / f"part-{number}.parquet", part, row_group_size=300)
        return str(folder)
    if kind == "part of a map":
        np.save(file, np.concatenate([rows[:7] + 1, rows]))
        return np.load(file, mmap_mode="r")[7:]
    if kind == "columns of a map":
        np.save(file, np.concatenate([rows, rows], axis=1))
        return np.load(file, mmap_mode="r")[:, rows.shape[1] :]
    if kind == "changed copy of a map":
        np.save(file, np.zeros_like(rows))
        mapped = np.load(file, mmap_mode="c")
        mapped[:] = rows
        return mapped
    np.save(file, rows)
    return file if kind == "path" else np.load(file, mmap_mode="r")


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_has_the_numbers_of_the_array(kind, tmp_path):
    found = open_source(source(kind, tmp_path))
    assert found.shape == (N, D)
    assert found.dtype == X.dtype
    assert len(found.blocks()) > 3
    np.testing.assert_array_equal(np.concatenate([found.read(b) for b in found.blocks()]), X)
    np.testing.assert_array_equal(found.read(slice(290, 810)), X[290:810])
    rows = np.array([0, 3, 299, 300, 301, 1499])
    np.testing.assert_array_equal(found.take(rows), X[rows])
    assert found.fingerprint() == fingerprint(X)


def count_from(rows, first, add):
    return first + add, rows.shape[0]


@pytest.mark.parametrize("kind", KINDS)
def test_map_has_the_results_of_the_blocks_in_order(kind, tmp_path):
    found = open_source(source(kind, tmp_path))
    wanted = [(block.start + 5, block.stop - block.start) for block in found.blocks()]
    assert list(found.map(count_from, 5)) == wanted


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "changed copy of a map"])
def test_a_source_in_a_file_can_be_sent_to_another_process(kind, tmp_path):
    found = pickle.loads(pickle.dumps(open_source(source(kind, tmp_path))))
    np.testing.assert_array_equal(found.read(slice(2, 9)), X[2:9])


@pytest.mark.parametrize("kind", ["map", "part of a map", "hdf5", "zarr", "parquet", "folder"])
def test_a_source_is_found_again_by_its_description(kind, tmp_path):
    about = open_source(source(kind, tmp_path)).full_reference()
    np.testing.assert_array_equal(reopen_source(about).read(slice(2, 9)), X[2:9])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, np.int64, bool])
def test_the_fingerprint_is_that_of_the_array_in_memory(dtype, tmp_path):
    rows = (100 * np.random.default_rng(1).normal(size=(90_000, 7))).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    found = as_blocks(tmp_path / "rows.npy")
    assert found.nbytes > 2 * 1024**2  # several digests, whose borders are inside of blocks
    in_memory = rows.astype(found.dtype)
    assert found.fingerprint() == fingerprint(in_memory)
    changed = in_memory.copy()
    changed[-1, -1] += 1
    assert found.fingerprint() != fingerprint(changed)


def test_what_is_small_is_read_and_a_small_map_is_left_as_it_is(tmp_path, monkeypatch):
    mapped, stored = source("map", tmp_path), source("hdf5", tmp_path)
    monkeypatch.setattr(memory, "budget", lambda: 10**9)
    assert open_source(mapped) is mapped
    np.testing.assert_array_equal(open_source(stored), X)
    assert isinstance(open_source(stored), np.ndarray)


@pytest.mark.parametrize("value", [X, [[1.0], [2.0]], b"x"])
def test_other_things_are_left_as_they_are(value):
    assert open_source(value) is value
    assert load_all(value) is value


def test_a_method_that_needs_all_rows_says_how_many_bytes_they_take(tmp_path):
    source("map", tmp_path, np.tile(X, (4, 1)))
    with pytest.raises(MemoryError, match=r"rows\.npy take 0\.2 MB .* may take 0\.2 MB"):
        load_all(tmp_path / "rows.npy")


# --- bad input -----------------------------------------------------------------------------------


def test_nan_is_reported_with_its_row_column_and_block(tmp_path):
    rows = X.copy()
    rows[1234, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 1234, column 'c3' \(found in rows 12"):
        open_source(source("parquet", tmp_path, rows)).scan()


def test_a_missing_value_of_parquet_is_nan(tmp_path):
    table = pa.table({"a": [1.0, 2.0, None] * 1000, "b": [0.0] * 3000})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="NaN in row 2, column 'a'"):
        open_source(tmp_path / "rows.parquet").scan()


def test_infinity_is_reported(tmp_path):
    rows = X.copy()
    rows[3, 0] = -np.inf
    with pytest.raises(ValueError, match="infinity in row 3, column 0"):
        open_source(source("map", tmp_path, rows)).scan()


def test_a_file_that_is_cut_short_while_it_is_read(tmp_path):
    found = open_source(source("map", tmp_path))
    os.truncate(tmp_path / "rows.npy", 128 + 1000 * D * 8)
    with pytest.raises(ValueError, match=r"rows 9.* of .*rows\.npy cannot be read: .* cut short"):
        found.scan()


def test_a_truncated_npy_file(tmp_path):
    source("map", tmp_path)
    os.truncate(tmp_path / "rows.npy", 5000)
    with pytest.raises(ValueError, match=r"rows\.npy cannot be read as a NumPy file"):
        as_blocks(tmp_path / "rows.npy")


def test_a_truncated_part_of_a_folder(tmp_path):
    source("folder", tmp_path)
    os.truncate(tmp_path / "part-1.parquet", 3000)
    with pytest.raises(
        ValueError, match=r"part-1\.parquet cannot be read as Parquet; .* cut short"
    ):
        as_blocks(tmp_path)


def test_a_damaged_part_of_a_folder(tmp_path):
    source("folder", tmp_path)
    file = tmp_path / "part-1.parquet"
    content = bytearray(file.read_bytes())
    content[4:2000] = b"\x00" * 1996  # the pages; the directory at the end is there
    file.write_bytes(content)
    found = as_blocks(tmp_path)
    with pytest.raises(ValueError, match=r"rows 500 to .* cannot be read: .*part-1\.parquet"):
        found.scan()


def test_a_column_that_changes_its_type_between_files(tmp_path):
    source("folder", tmp_path)
    table = pa.table({f"c{j}": np.arange(9) for j in range(D)})
    parquet.write_table(table, tmp_path / "part-3.parquet")
    with pytest.raises(ValueError, match=r"'c0' is double in .*part-0.*, but int64 in .*part-3"):
        as_blocks(tmp_path)


def test_a_file_with_other_columns(tmp_path):
    source("folder", tmp_path)
    parquet.write_table(pa.table({"c0": [1.0]}), tmp_path / "part-3.parquet")
    with pytest.raises(ValueError, match=r"part-3\.parquet has other columns .*: c1, c2"):
        as_blocks(tmp_path)


def test_a_column_of_text(tmp_path):
    parquet.write_table(pa.table({"a": [1.0], "name": ["x"]}), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"column 'name' of .* holds string, not numbers"):
        as_blocks(tmp_path / "rows.parquet")


def test_a_row_group_that_does_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: 100_000)
    write_parquet(tmp_path / "rows.parquet", X)
    with pytest.raises(MemoryError, match="smaller row groups"):
        as_blocks(tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.npy", "does not exist"), ("rows.csv", "not a file that is read in blocks")],
)
def test_files_that_cannot_be_read_in_blocks(name, message, tmp_path):
    (tmp_path / "rows.csv").write_text("1,2\n")
    error = FileNotFoundError if "exist" in message else ValueError
    with pytest.raises(error, match=message):
        as_blocks(tmp_path / name)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 3, 2), (5,)])
def test_arrays_that_are_no_table(shape, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file, pytest.raises(ValueError, match="table"):
        as_blocks(file.create_dataset("a", data=np.zeros(shape)))


def test_arrays_without_numbers(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file, pytest.raises(TypeError, match="numbers"):
        as_blocks(file.create_dataset("a", data=np.array([[b"x", b"y"]])))


def test_a_source_that_has_changed_is_not_taken_for_the_former_one(tmp_path):
    about = open_source(source("map", tmp_path)).full_reference()
    np.save(tmp_path / "rows.npy", X + 1)
    with pytest.raises(ValueError, match="content has changed"):
        reopen_source(about)
    os.remove(tmp_path / "rows.npy")
    with pytest.raises(FileNotFoundError, match="does not exist any more"):
        reopen_source(about)


# --- neighbours ----------------------------------------------------------------------------------


def curved(n, d, seed=0):
    """Points of a curved sheet in d dimensions, and noise."""
    random = np.random.default_rng(seed)
    place = random.uniform(-1, 1, size=(n, 2))
    terms = np.concatenate([place, np.sin(3 * place), np.cos(2 * place)], axis=1)
    return (terms @ random.normal(size=(6, d)) + 0.01 * random.normal(size=(n, d))).astype("f4")


@pytest.fixture
def sheet(tmp_path):
    rows = curved(2500, 16)
    np.save(tmp_path / "sheet.npy", rows)
    return rows, np.load(tmp_path / "sheet.npy", mmap_mode="r")


def overlap(one, other):
    return np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(one, other, strict=True)])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock", "sqeuclidean"])
def test_exact_neighbours_are_those_of_memory(metric, sheet):
    rows, mapped = sheet[0][:600], sheet[1][:600]
    found = lowdim.neighbors(mapped, 8, metric=metric, method="exact")
    wanted = lowdim.neighbors(rows, 8, metric=metric, method="exact")
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_allclose(found.distances, wanted.distances, rtol=1e-4, atol=1e-6)
    assert found.fingerprint == wanted.fingerprint
    assert found.recall is None


def test_neighbours_within_a_radius_are_those_of_memory(sheet):
    found = lowdim.neighbors(sheet[1][:700], radius=0.4)
    wanted = lowdim.neighbors(sheet[0][:700], radius=0.4)
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_allclose(found.distances, wanted.distances, rtol=1e-5)
    assert len(within(MappedRows(sheet[1][:50]), plain_metric("euclidean"), 1e-9)[1]) == 0


def test_ties_within_a_radius_are_in_the_order_of_the_objects(tmp_path):
    lattice = np.stack(np.meshgrid(*[np.arange(8.0)] * 2), axis=-1).reshape(-1, 2)
    np.save(tmp_path / "rows.npy", lattice)
    mapped = MappedRows(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    indptr, indices, _ = within(mapped, plain_metric("euclidean"), 1.5)
    wanted = lowdim.neighbors(lattice, radius=1.5)
    np.testing.assert_array_equal(indices, wanted.indices)
    np.testing.assert_array_equal(indices[: indptr[1]], [1, 8, 9])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_approximate_neighbours_have_the_recall_that_is_asked_for(metric, sheet):
    rows, mapped = sheet
    found = lowdim.neighbors(mapped, 10, metric=metric, method="approximate", recall=0.9)
    wanted = lowdim.neighbors(rows, 10, metric=metric, method="exact")
    share = overlap(found.indices, wanted.indices)
    assert share >= 0.9
    assert found.recall == pytest.approx(share, abs=0.03)
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert (found.indices != np.arange(len(rows))[:, None]).all()
    assert [len(set(a)) for a in found.indices.tolist()] == [10] * len(rows)


def test_more_recall_is_had_by_asking_for_it(sheet):
    wanted = lowdim.neighbors(sheet[0], 10, method="exact").indices
    shares = [
        overlap(lowdim.neighbors(sheet[1], 10, method="approximate", recall=r).indices, wanted)
        for r in (0.5, 0.99)
    ]
    assert shares[1] > shares[0]
    assert shares[1] >= 0.98


def test_borders_of_shards_do_not_cut_the_graph(sheet):
    graph = lowdim.neighbors(sheet[1], 10, method="approximate", recall=0.5)
    assert graph.components()[0] == lowdim.neighbors(sheet[0], 10).components()[0] == 1


def test_approximate_neighbours_are_the_same_bits_for_any_number_of_threads(sheet):
    one, three = (
        with_threads(t, lowdim.neighbors, sheet[1], 10, method="approximate") for t in (1, 3)
    )
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.distances, three.distances)


def test_rows_that_are_all_equal_are_searched_in_pieces(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((3000, 16), dtype=np.float32))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found = lowdim.neighbors(mapped, 5, method="approximate")
    assert (found.distances == 0).all()
    assert (found.indices != np.arange(3000)[:, None]).all()


def test_rows_far_from_all_others_have_neighbours_too(tmp_path):
    rows = curved(2000, 16)
    rows[:3] += np.array([[100], [200], [400]], dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found = lowdim.neighbors(mapped, 12, method="approximate")
    wanted = lowdim.neighbors(rows, 12, method="exact")
    assert overlap(found.indices[:3], wanted.indices[:3]) > 0.9


def test_neighbours_of_new_rows(sheet):
    rows, mapped = sheet
    new = curved(40, 16, seed=1)
    indices, distances = query(MappedRows(mapped), new, 7, plain_metric("euclidean"))
    D = cdist(new, rows)
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :7], rtol=1e-5)


def test_approximate_neighbours_need_a_metric_with_products(sheet):
    with pytest.raises(ValueError, match="method='approximate' with metric='cityblock'"):
        lowdim.neighbors(sheet[1], 5, metric="cityblock", method="approximate")


# --- temporary files -----------------------------------------------------------------------------


def test_temporary_files_have_no_name_and_none_is_left(sheet, tmp_path, monkeypatch):
    folder, seen = tmp_path / "scratch", []
    folder.mkdir()
    read = shards.Shard.read

    def watched(*arguments):
        seen.append(os.listdir(folder))
        return read(*arguments)

    monkeypatch.setattr(shards.Shard, "read", watched)
    with lowdim.compute(scratch=folder):
        lowdim.neighbors(sheet[1], 5, method="approximate")
    assert len(seen) > 3
    if os.name == "posix":  # so they vanish even if the process is killed
        assert not any(seen)
    assert not os.listdir(folder)


def test_a_full_disk_is_an_error_that_names_the_folder(sheet, tmp_path, monkeypatch):
    class Full:
        """A file on a full disk."""

        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr(scratch, "_open_temporary", Full)
    with (
        lowdim.compute(scratch=tmp_path),
        pytest.raises(OSError, match=r"is full\. Choose another one by .*scratch") as error,
    ):
        lowdim.neighbors(sheet[1], 5, method="approximate")
    assert error.value.errno == errno.ENOSPC
    assert str(tmp_path) in str(error.value)


def test_the_folder_of_temporary_files_must_exist(tmp_path, monkeypatch):
    with (
        pytest.raises(ValueError, match="scratch must be an existing folder"),
        lowdim.compute(scratch=tmp_path / "none"),
    ):
        pass
    monkeypatch.setenv("LOWDIM_SCRATCH", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="LOWDIM_SCRATCH must be an existing folder"):
        lowdim.neighbors(X, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_file_that_begin_at_an_odd_byte_are_aligned(dtype, tmp_path):
    path = tmp_path / "rows.bin"
    path.write_bytes(b"\0" + np.ones((300, 4), dtype).tobytes())
    rows = np.memmap(path, dtype, "r", offset=1, shape=(300, 4))
    assert not rows.flags.aligned
    assert checks.vectors(rows).flags.aligned
    assert as_blocks(rows).read(slice(10, 20)).flags.aligned


@pytest.mark.parametrize("form", [np.asarray, lambda X: X, lambda X: X[::-1, 1:]])
def test_a_map_of_a_file_that_was_cut_short_is_refused(form, tmp_path):
    """To read it would end the process by SIGBUS."""
    np.save(tmp_path / "rows.npy", np.ones((4000, 20)))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    os.truncate(tmp_path / "rows.npy", 300_000)
    for use in (
        lowdim.PCA().fit,
        lowdim.neighbors,
        lowdim.UMAP(metric="gower").fit,
        lambda X: lowdim.quality.trustworthiness(X, X[:, :2]),
    ):
        with pytest.raises(ValueError, match=r"300000 bytes, but \d+ are needed.*cut short"):
            use(form(mapped))
    assert lowdim.PCA().fit(mapped[:1000]).embedding_.shape == (1000, 20)


def test_empty_columns_of_parquet_files_are_left_out_of_tables(tmp_path):
    from lowdim.cli.blocked import read_in_blocks

    nothing = pa.array([None] * 4000, pa.float64())
    columns = {"a": np.arange(4000.0), "gap": nothing, "null": pa.nulls(4000), "b": nothing}
    for part in range(2):  # a column that has a value in one of the files is not empty
        columns["b"] = np.ones(4000) if part else nothing
        parquet.write_table(pa.table(columns), tmp_path / f"{part}.parquet", row_group_size=1000)
    with lowdim.compute(memory="200kB"):
        table = read_in_blocks(tmp_path, missing="error")
    assert table.columns == ["a", "b"]
    assert list(table.labels) == []
    assert "left out, because no row has a value: 'gap', 'null'" in table.notes
