"""Data that do not fit into memory: maps, transforms and measures are those of data that do."""

from __future__ import annotations

import json
import pickle

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from click.testing import CliRunner
from pyarrow import parquet
from sklearn.manifold import trustworthiness

import lowdim
from helpers import aligned, with_threads
from lowdim.cli import main
from lowdim.objects.block_sources import MappedRows
from lowdim.runtime import memory

N, D = 1200, 12


def rows_of(n=N, seed=0):
    """Points of a curved sheet and of a cluster beside it."""
    random = np.random.default_rng(seed)
    place = random.uniform(-1, 1, size=(n, 2))
    terms = np.concatenate([place, np.sin(3 * place), np.cos(2 * place)], axis=1)
    axes = np.random.default_rng(9).normal(size=(6, D))
    return (terms @ axes + 0.05 * random.normal(size=(n, D))).astype(np.float32)


X = rows_of()
NEW = rows_of(60, seed=1)


@pytest.fixture
def limit(monkeypatch):
    """Sets the memory that blocks are planned for, without a limit on what methods may claim."""

    def to(n_bytes):
        monkeypatch.setattr(memory, "budget", lambda: n_bytes)

    to(100_000)
    return to


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


EXACT = {
    "PCA": lowdim.PCA(3),
    "PCA, whitened": lowdim.PCA(2, whiten=True),
    "PCA, share": lowdim.PCA(0.9),
    "classical MDS": lowdim.ClassicalMDS(2),
    "landmark MDS": lowdim.ClassicalMDS(2, n_landmarks=80, random_state=0),
    "landmark MDS, cosine": lowdim.ClassicalMDS(
        2, n_landmarks=80, metric="cosine", correction="lingoes", random_state=0
    ),
    "landmark Isomap": lowdim.Isomap(n_landmarks=60, n_neighbors=8, random_state=0),
    "Laplacian eigenmaps": lowdim.LaplacianEigenmaps(n_neighbors=8),
    "Laplacian eigenmaps, radius": lowdim.LaplacianEigenmaps(n_neighbors=None, radius=1.5),
    "diffusion map": lowdim.DiffusionMap(n_neighbors=12),
}


@pytest.mark.parametrize("name", EXACT)
def test_methods_without_approximation_have_the_map_of_memory(name, mapped, limit):
    one = pickle.loads(pickle.dumps(EXACT[name])).fit(X)
    placed = one.transform(NEW)
    other = pickle.loads(pickle.dumps(EXACT[name])).fit(mapped)
    size = np.abs(one.embedding_).max()
    assert other.embedding_.dtype == np.float32
    np.testing.assert_allclose(
        aligned(other.embedding_, one.embedding_), one.embedding_, atol=2e-5 * size
    )
    np.testing.assert_allclose(other.transform(NEW), placed, atol=2e-5 * size)


LAYOUTS = {
    "UMAP": lambda: lowdim.UMAP(n_epochs=100, random_state=0),
    "UMAP from PCA": lambda: lowdim.UMAP(n_epochs=100, init="pca", random_state=0),
    "t-SNE": lambda: lowdim.TSNE(max_iter=300, perplexity=15, random_state=0),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_as_good_as_those_of_memory(name, mapped, limit):
    one = LAYOUTS[name]().fit(X)
    other = LAYOUTS[name]().fit(mapped)
    quality = [trustworthiness(X, model.embedding_, n_neighbors=10) for model in (one, other)]
    assert quality[1] > quality[0] - 0.01
    np.testing.assert_array_equal(other.transform(X[:40]), other.embedding_[:40])
    placed = other.transform(NEW)
    nearest = np.argmin(((NEW[:, None] - X[None]) ** 2).sum(axis=2), axis=1)
    apart = np.linalg.norm(placed - other.embedding_[nearest], axis=1)
    assert np.median(apart) < 0.1 * np.ptp(other.embedding_, axis=0).max()


def test_a_map_has_the_same_bits_for_any_number_of_threads(mapped, limit):
    one, three = (with_threads(t, LAYOUTS["UMAP"]().fit_transform, mapped) for t in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("kind", ["path", "hdf5", "zarr", "parquet", "folder"])
def test_every_kind_of_source_can_be_fitted(kind, tmp_path, limit):
    table = pa.table({f"c{j}": column for j, column in enumerate(X.T)})
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet.write_table(table, folder / "a.parquet", row_group_size=200)
    np.save(tmp_path / "rows.npy", X)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        given = {
            "path": tmp_path / "rows.npy",
            "hdf5": file.create_dataset("rows", data=X),
            "zarr": zarr.create_array(str(tmp_path / "rows.zarr"), data=X),
            "parquet": folder / "a.parquet",
            "folder": str(folder),
        }[kind]
        found = lowdim.PCA(2).fit(given)
        assert found.n_features_in_ == D
        np.testing.assert_allclose(found.embedding_, lowdim.PCA(2).fit(X).embedding_, atol=1e-5)
        model = lowdim.ClassicalMDS(2, n_landmarks=50, random_state=0).fit(given)
        np.testing.assert_allclose(model.transform(given), model.embedding_, atol=1e-4)


def test_a_graph_in_the_argument_is_recognised_by_the_data(mapped, limit):
    graph = lowdim.neighbors(mapped, 14, method="approximate")
    model = lowdim.UMAP(n_epochs=20, random_state=0).fit(mapped, graph=graph)
    same = lowdim.UMAP(n_epochs=20, random_state=0).fit(X, graph=graph)
    assert model.embedding_.shape == same.embedding_.shape
    with pytest.raises(ValueError, match="other data"):
        lowdim.UMAP().fit(rows_of(seed=5), graph=graph)


FITTED = {
    "PCA": lambda: lowdim.PCA(2),
    "Isomap": lambda: lowdim.Isomap(n_neighbors=8),
    "KernelPCA": lambda: lowdim.KernelPCA(2, kernel="rbf"),
    "LLE": lambda: lowdim.LocallyLinearEmbedding(n_neighbors=8),
    "UMAP": lambda: lowdim.UMAP(n_epochs=20, random_state=0),
    "SOM": lambda: lowdim.SelfOrganizingMap(max_iter=3, random_state=0),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_model_of_memory_transforms_files_by_blocks(name, tmp_path, monkeypatch):
    model = FITTED[name]().fit(X[:300])
    np.save(tmp_path / "new.npy", X)
    wanted = model.transform(X)
    monkeypatch.setattr(memory, "budget", lambda: 100_000)
    found = model.transform(np.load(tmp_path / "new.npy", mmap_mode="r"))
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


def test_a_fuzzy_graph_of_new_rows_is_made_by_blocks(mapped, limit):
    model = lowdim.UMAP(transform_mode="graph", random_state=0).fit(X)
    found = model.transform(mapped)
    assert found.shape == (N, N)
    assert abs(found - model.transform(X)).max() == 0


def test_methods_that_need_all_rows_refuse_and_say_what_to_do(tmp_path, limit):
    np.save(tmp_path / "rows.npy", np.tile(X, (3, 1)))
    with pytest.raises(MemoryError, match=r"needs all rows of X at once, .* 0\.2 MB .* transform"):
        lowdim.LocallyLinearEmbedding().fit(tmp_path / "rows.npy")
    with pytest.raises(ValueError, match="svd_solver='full' needs all rows"):
        lowdim.PCA(2, svd_solver="full").fit(tmp_path / "rows.npy")
    for asked in ("parallel", "mle"):
        with pytest.raises(ValueError, match=f"'{asked}' needs all rows"):
            lowdim.PCA(asked).fit(tmp_path / "rows.npy")


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean", "gower", "geodesic"])
def test_metrics_that_need_all_rows_are_refused(metric, mapped, limit):
    with pytest.raises(ValueError, match=f"must be a name without parameters.*got '{metric}'"):
        lowdim.UMAP(metric=metric).fit(mapped)


def test_a_function_as_metric_is_refused(mapped, limit):
    with pytest.raises(ValueError, match="a function or a learned metric"):
        lowdim.UMAP(metric=lambda a, b: float(abs(a - b).sum())).fit(mapped)


def test_extreme_numbers_are_refused(tmp_path, limit):
    np.save(tmp_path / "rows.npy", 1e30 * X)
    with pytest.raises(ValueError, match=r"largest magnitude in .*rows\.npy .* Rescale X"):
        lowdim.PCA(2).fit(tmp_path / "rows.npy")


def test_a_wrong_number_of_features_in_a_file(tmp_path, limit):
    model = lowdim.PCA(2).fit(X)
    np.save(tmp_path / "rows.npy", X[:, :-1])
    with pytest.raises(ValueError, match="11 features, but PCA is expecting 12"):
        model.transform(tmp_path / "rows.npy")


# --- saving --------------------------------------------------------------------------------------


def test_a_saved_model_finds_its_rows_again(mapped, tmp_path, limit):
    model = lowdim.UMAP(n_epochs=20, random_state=0).fit(mapped)
    assert not hasattr(model, "X_fit_")
    model.save(tmp_path / "model.lowdim")
    assert (tmp_path / "model.lowdim").stat().st_size < 10 * X.nbytes
    wanted = model.transform(NEW)
    for again in (lowdim.load(tmp_path / "model.lowdim"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(NEW), wanted)
    np.save(tmp_path / "rows.npy", X[::-1])
    with pytest.raises(ValueError, match="content has changed"):
        lowdim.load(tmp_path / "model.lowdim").transform(NEW)


def test_a_model_of_rows_without_a_file_says_so_after_loading(tmp_path, limit):
    model = lowdim.Isomap(n_landmarks=50, random_state=0).fit(zarr.array(X))
    assert model.transform(NEW).shape == (60, 2)
    model.save(tmp_path / "model.lowdim")
    again = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    with pytest.raises(ValueError, match="not in a file"):
        again.transform(NEW)


@pytest.mark.parametrize(
    "change", [{"shape": [3, 12]}, {"shape": "x"}, {"fingerprint": 3}, {"dtype": 5}]
)
def test_a_damaged_reference_in_a_model_is_refused(change, mapped, tmp_path, limit):
    model = lowdim.Isomap(n_landmarks=50, random_state=0).fit(mapped)
    model.source_ = {**model.source_, **change}
    with pytest.raises(ValueError, match=r"was not written: .*source_"):
        model.save(tmp_path / "model.lowdim")


def test_a_file_that_has_changed_since_the_fit_is_noticed(mapped, tmp_path, limit):
    model = lowdim.Isomap(n_landmarks=50, random_state=0).fit(mapped)
    before = model.transform(NEW)
    np.save(tmp_path / "rows.npy", X)  # written again, with the same content
    np.testing.assert_array_equal(model.transform(NEW), before)
    np.save(tmp_path / "rows.npy", X[::-1] + 1)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"rows\.npy, whose content has changed since"):
            model.transform(NEW)
    np.save(tmp_path / "rows.npy", X)
    np.testing.assert_array_equal(model.transform(NEW), before)


def test_the_inverse_of_a_model_without_rows_names_objects(mapped, limit):
    model = lowdim.UMAP(n_epochs=20, random_state=0).fit(mapped)
    found = model.inverse_transform(model.embedding_[:3])
    assert found.objects[:, 0].tolist() == [0, 1, 2]


# --- around the estimators -----------------------------------------------------------------------


def test_a_map_of_large_data_is_assessed_by_a_sample(mapped, limit):
    Y = lowdim.PCA(2).fit(X).embedding_
    found = lowdim.quality.assess(mapped, Y)
    wanted = lowdim.quality.assess(X, Y)  # a sample of 20,000 is all of them
    assert found.trustworthiness == wanted.trustworthiness


def test_a_plan_of_large_data(mapped, limit):
    found = lowdim.plan(lowdim.UMAP(), mapped)
    assert found.n == N
    assert found.approximate[0].startswith("nearest neighbours")
    in_memory = lowdim.plan(lowdim.UMAP(), X)
    assert found.n_bytes < in_memory.n_bytes


def test_a_budget_is_kept_by_the_size_of_the_blocks(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with lowdim.compute(memory="64KB"):
        small = MappedRows(mapped).block_rows
    with lowdim.compute(memory="6.4MB"):
        large = MappedRows(mapped).block_rows
    assert small * D * 4 <= 1000 < large * D * 4 <= 100_000


def run(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_line_reads_an_array_in_blocks(tmp_path, limit):
    np.save(tmp_path / "rows.npy", X)
    out, model = tmp_path / "map.npy", tmp_path / "model.lowdim"
    told = run(
        *("embed", tmp_path / "rows.npy", "-m", "umap", "--n-epochs", 20, "--random-state", 0),
        *("-o", out, "--model", model, "--scratch", tmp_path, "--no-estimate"),
    )
    assert "read in blocks" in told
    found = np.load(out)
    assert found.shape == (N, 2)
    run("transform", model, tmp_path / "rows.npy", "-o", tmp_path / "again.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), found)


def test_the_command_line_reads_parquet_in_blocks_with_ids_and_labels(tmp_path, limit):
    columns = {f"c{j}": column for j, column in enumerate(X.T)}
    table = pa.table(
        {
            "name": [f"o{i}" for i in range(N)],
            **columns,
            "kind": ["a", "b"] * (N // 2),
            "w": X[:, 0],
        }
    )
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=200)
    out = tmp_path / "map.csv"
    told = run(
        *("embed", tmp_path / "rows.parquet", "-m", "pca", "--id", "name", "--drop", "w"),
        *("-o", out, "--json", "--model", tmp_path / "model.lowdim"),
    )
    assert json.loads(told)["input"]["columns"] == list(columns)
    lines = out.read_text().splitlines()
    assert lines[0] == "name,kind,pca0,pca1"
    assert lines[2].startswith("o1,b,")
    found = np.array([line.split(",")[2:] for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(found, lowdim.PCA(2).fit(X).embedding_, atol=1e-4)
    for size in (10**9, 100_000):  # the model knows its columns, however the file is read
        limit(size)
        again = tmp_path / f"again-{size}.npy"
        run("transform", tmp_path / "model.lowdim", tmp_path / "rows.parquet", "-o", again)
        np.testing.assert_allclose(np.load(again), found, atol=1e-4)


def test_the_command_line_checks_its_memory_and_scratch(tmp_path):
    for option, value in (("--memory", "lots"), ("--scratch", tmp_path / "none")):
        result = CliRunner().invoke(main, ["embed", "x.npy", "-m", "pca", option, str(value)])
        assert result.exit_code == 2
        assert option in result.output
