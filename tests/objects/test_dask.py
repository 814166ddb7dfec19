"""Dask arrays and clusters: the results of the same blocks here, also if a worker is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from functools import partial

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from dask.delayed import delayed
from distributed import Client, LocalCluster

import lowdim
from lowdim.backends.dask.calls import ClusterTasks
from lowdim.cli import main
from lowdim.distances.metrics import plain_metric
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.shards import search_shards
from lowdim.objects.block_sources import as_blocks, open_source
from lowdim.objects.dask_rows import DaskRows
from lowdim.runtime import memory
from lowdim.runtime.tasks import HERE, tasks

# Dask warns of slow disks and of its own sockets on a busy machine: that must not end a cluster.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Creating scratch directories is taking a surprisingly long"),
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::RuntimeWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]

N, D = 600, 8
BLOCK = 150
SMALL = 60_000  # bytes of memory with which the rows are large, and divided into several shards

# Workers cannot import the modules of tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def curved(n, seed=0):
    random = np.random.default_rng(seed)
    place = random.uniform(-1, 1, size=(n, 2))
    frame = np.random.default_rng(9).normal(size=(4, D))
    bent = np.concatenate([place, np.sin(3 * place)], axis=1) @ frame
    return (bent + 0.01 * random.normal(size=(n, D))).astype(np.float32)


X = curved(N)


class ArrayRows(RowBlocks):
    """Rows in memory as blocks, which are worked on here: the oracle."""

    def __init__(self, rows, block_rows):
        super().__init__(rows.shape, rows.dtype)
        self.rows, self.block_rows = rows, block_rows

    def _values(self, start, stop):
        return self.rows[start:stop]


@pytest.fixture(scope="module")
def cluster():
    # By default a worker may use the share of a machine's memory that its threads have of the
    # cores. On a machine with many cores, that is less than the imports take.
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        memory_limit=None,
    ) as found:
        yield found


@pytest.fixture
def client(cluster):
    with Client(cluster) as found:
        yield found


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: SMALL)


def neighbors(source):
    return search_shards(source, 5, plain_metric("euclidean"), 0.9, 0)


# --- Dask's scheduler in this process ------------------------------------------------------------


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("chunks", [(BLOCK, D), (BLOCK, 3), ((200, 0, 399, 1), (D,))])
def test_an_array_has_the_rows_and_the_results_of_its_partitions(chunks):
    found = open_source(da.from_array(X, chunks=chunks))
    assert isinstance(found, DaskRows)
    np.testing.assert_array_equal(found.read(slice(140, 460)), X[140:460])
    rows = np.array([0, 3, 299, 300, 301, 599])
    np.testing.assert_array_equal(found.take(rows), X[rows])
    sizes = [size for size in found._array.chunks[0] if size]
    assert list(found.map(first_and_size, 7)) == [
        (int(first) + 7, size) for first, size in zip(np.cumsum([0, *sizes]), sizes, strict=False)
    ]
    assert found.fingerprint() == ArrayRows(X, N).fingerprint()


def first_and_size(rows, first, add):
    return first + add, len(rows)


@pytest.mark.usefixtures("little_memory")
def test_the_graph_is_that_of_the_same_blocks_here():
    found = neighbors(as_blocks(da.from_array(X, chunks=(BLOCK, D))))
    wanted = neighbors(ArrayRows(X, BLOCK))
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_array_equal(found.distances, wanted.distances)


def test_small_arrays_are_computed_as_arrays_in_memory():
    lazy = da.from_array(X, chunks=(BLOCK, D))
    for method in (lowdim.UMAP(n_epochs=5, random_state=0), lowdim.KernelPCA()):
        found = method.fit(lazy).embedding_
        np.testing.assert_array_equal(found, method.fit(X).embedding_)


def test_transform_of_an_array_is_lazy_and_has_its_partitions():
    loads = []

    def load(number):
        loads.append(number)
        return X[number * BLOCK : (number + 1) * BLOCK]

    parts = [da.from_delayed(delayed(load)(i), (BLOCK, D), X.dtype) for i in range(4)]
    model = lowdim.UMAP(n_epochs=5, random_state=0).fit(X[:300])
    found = model.transform(da.concatenate(parts))
    assert loads == []
    assert found.chunks == ((BLOCK,) * 4, (2,))
    assert found.dtype == np.float32
    placed = found[-10:].compute()
    assert loads == [3]
    np.testing.assert_array_equal(placed, model.transform(X)[-10:])


@pytest.mark.usefixtures("little_memory")
def test_transform_by_a_model_of_a_large_array_compares_with_its_partitions():
    lazy = da.from_array(X, chunks=(BLOCK, D))
    model = lowdim.UMAP(n_epochs=5, random_state=0).fit(lazy)
    found = model.transform(lazy[:200])
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), model.embedding_[:200])


@pytest.mark.usefixtures("little_memory")
def test_a_data_frame_whose_lengths_are_not_known():
    names = [f"c{i}" for i in range(D)]
    frame = dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=4)
    whole = lowdim.PCA(2).fit(X)
    for lazy in (frame, frame.to_dask_array()):
        assert not isinstance(lazy, da.Array) or np.isnan(lazy.chunks[0]).all()
        found = lowdim.PCA(2).fit(lazy)
        np.testing.assert_allclose(found.embedding_, whole.embedding_, atol=1e-4)
        np.testing.assert_array_equal(found.transform(lazy).compute(), found.transform(X))
        assert isinstance(lazy, dd.DataFrame) or np.isnan(lazy.chunks[0]).all()  # unchanged


@pytest.mark.usefixtures("little_memory")
def test_nan_is_reported_with_its_partition_and_column():
    bad = X.copy()
    bad[470, 5] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 470, column 5 \(found in partition 3: rows"):
        lowdim.PCA(2).fit(da.from_array(bad, chunks=(BLOCK, D)))
    frame = pd.DataFrame(bad, columns=[f"c{i}" for i in range(D)])
    with pytest.raises(ValueError, match=r"NaN in row 470, column 'c5'"):
        lowdim.PCA(2).fit(dd.from_pandas(frame, npartitions=4))


def test_nullable_columns_are_numbers_and_their_gaps_are_missing_values():
    frame = pd.DataFrame({"a": pd.array([1, 2, 3, 5], dtype="Int64"), "b": [1.0, 0.5, 2.0, 1.0]})
    found = lowdim.PCA(2).fit(dd.from_pandas(frame, npartitions=2))
    wanted = lowdim.PCA(2).fit(frame.to_numpy(float))
    np.testing.assert_allclose(found.embedding_, wanted.embedding_)
    frame.loc[2, "a"] = pd.NA
    with pytest.raises(ValueError, match="NaN in row 2, column 'a'"):
        lowdim.PCA(2).fit(dd.from_pandas(frame, npartitions=2))


def test_what_does_not_hold_rows_of_numbers_is_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "name": ["x", "y", "z"]})
    lazy = dd.from_pandas(frame, npartitions=1)
    with pytest.raises(TypeError, match=r"Dask DataFrame do not: name \(str(ing)?\)\. Drop or"):
        lowdim.PCA(1).fit(lazy)
    with pytest.raises(ValueError, match="Dask Series"):
        lowdim.PCA(1).fit(lazy["a"])
    with pytest.raises(ValueError, match=r"a Dask array has shape \(600,\)"):
        lowdim.PCA(1).fit(da.from_array(X[:, 0], chunks=BLOCK))
    with pytest.raises(TypeError, match="a Dask array holds object"):
        lowdim.PCA(1).fit(da.from_array(X.astype(object), chunks=(BLOCK, D)))
    with pytest.raises(ValueError, match=r"3 features.*8 features"):
        lowdim.PCA(2).fit(X).transform(da.from_array(X[:, :3], chunks=(BLOCK, 3)))


# --- a cluster of two processes ------------------------------------------------------------------


@pytest.mark.usefixtures("client", "little_memory")
def test_the_cluster_finds_the_graph_and_the_axes_of_the_same_blocks_here(tmp_path):
    with lowdim.compute(memory=SMALL):  # that of the workers too
        found = neighbors(as_blocks(da.from_array(X, chunks=(BLOCK, D))))
        np.save(tmp_path / "rows.npy", X)
        file = as_blocks(tmp_path / "rows.npy")
        file.block_rows = BLOCK
        of_file = neighbors(file)
    wanted = neighbors(ArrayRows(X, BLOCK))
    for one in (found, of_file):
        np.testing.assert_array_equal(one.indices, wanted.indices)
        np.testing.assert_array_equal(one.distances, wanted.distances)
        assert one.recall == wanted.recall
    axes = lowdim.PCA(2).fit(da.from_array(X, chunks=(BLOCK, D)))
    np.testing.assert_array_equal(
        axes.components_, lowdim.PCA(2).fit(ArrayRows(X, BLOCK)).components_
    )
    assert isinstance(axes.transform(da.from_array(X, chunks=(BLOCK, D))), da.Array)


def load_or_die(number, folder, fatal):
    """The rows of a partition; the worker dies when partition 1 is loaded for the n-th time."""
    if number == 1:
        with open(os.path.join(folder, "loads"), "a") as file:
            file.write("x")
        if os.path.getsize(os.path.join(folder, "loads")) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
    return X[number * BLOCK : (number + 1) * BLOCK]


def loads(folder):
    return os.path.getsize(folder / "loads")


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_lost_workers_do_not_change_the_map(client, tmp_path, monkeypatch):
    def fitted(name, fatal=-1):
        folder = tmp_path / name
        folder.mkdir()
        load = delayed(load_or_die, pure=False)
        parts = [load(number, str(folder), fatal) for number in range(N // BLOCK)]
        lazy = da.concatenate([da.from_delayed(part, (BLOCK, D), X.dtype) for part in parts])
        return lowdim.UMAP(n_epochs=5, random_state=0).fit(lazy).embedding_

    def deadly(self, *arguments):
        """Kills all workers after the first result of the first shard."""
        for number, result in enumerate(exchange(self, *arguments)):
            if number == 0:
                for worker in client.run(os.getpid).values():
                    os.kill(worker, signal.SIGKILL)
            yield result

    monkeypatch.setattr("lowdim.neighbor_graphs.search.FEW_IN_BLOCKS", 100)
    monkeypatch.setattr(ClusterTasks, "memory", lambda self: SMALL)
    exchange = ClusterTasks.exchange
    wanted = fitted("none lost")
    last = loads(tmp_path / "none lost")  # of the pass that sends the rows to their shards
    np.testing.assert_array_equal(fitted("one lost", last), wanted)
    assert loads(tmp_path / "one lost") == last + 1
    monkeypatch.setattr(ClusterTasks, "exchange", deadly)
    np.testing.assert_array_equal(fitted("all lost"), wanted)
    assert loads(tmp_path / "all lost") > last


def test_errors_of_workers_are_those_of_this_process(client):
    bad = X.copy()
    bad[470, 5] = np.inf
    with pytest.raises(ValueError, match=r"infinity in row 470, column 5 \(found in partition 3"):
        lowdim.PCA(2).fit(da.from_array(bad, chunks=(BLOCK, D)))


def aligned(held, items):
    return [a.flags.aligned for a in (*held, *items)], items


def test_arrays_are_aligned_wherever_they_arrive(client):
    odd = [np.frombuffer(bytes(8 * n + 1), dtype, n, 1) for n in (1, 99) for dtype in ("f4", "f8")]
    assert not any(one.flags.aligned for one in odd)
    ((there, back),) = ClusterTasks(client).map(partial(aligned, odd), [odd])
    assert all(there)
    assert all(one.flags.aligned for one in back)


def test_tasks_do_not_use_the_cluster_themselves(client):
    assert tasks().parallel
    assert not client.submit(lambda: tasks().parallel, pure=False).result()


def test_a_scheduler_is_joined_for_a_block_of_code(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("lowdim.backends.dask.clusters.ANSWER_SECONDS", 300)
    np.save(tmp_path / "rows.npy", X)
    assert tasks() is HERE
    with lowdim.compute(scheduler=cluster.scheduler_address):
        assert tasks().parallel
        assert isinstance(open_source(tmp_path / "rows.npy"), RowBlocks)
        found = lowdim.PCA(2).fit(tmp_path / "rows.npy")
    assert tasks() is HERE
    np.testing.assert_allclose(found.embedding_, lowdim.PCA(2).fit(X).embedding_, atol=1e-4)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("lowdim.backends.dask.clusters.ANSWER_SECONDS", 1)
    with (
        pytest.raises(ValueError, match=r"scheduler='tcp://127\.0\.0\.1:9': no Dask scheduler"),
        lowdim.compute(scheduler="tcp://127.0.0.1:9"),
    ):
        pass
    found = CliRunner().invoke(main, ["embed", "x.npy", "-m", "pca", "--scheduler", "nowhere"])
    assert found.exit_code == 2
    assert "--scheduler nowhere" in found.stderr


def test_the_command_line_starts_workers_and_ends_them(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    out = tmp_path / "map.npy"
    arguments = ["embed", str(tmp_path / "rows.npy"), "-m", "pca", "-o", str(out), "--no-estimate"]
    # The pipe of the output is closed when the last of the processes has ended.
    found = subprocess.run(
        [sys.executable, "-m", "lowdim", *arguments, "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stdout
    assert "read in blocks" in found.stdout
    np.testing.assert_allclose(np.load(out), lowdim.PCA(2).fit(X).embedding_, atol=1e-4)


def test_one_cluster_at_a_time_on_the_command_line(monkeypatch):
    monkeypatch.setattr(
        "lowdim.backends.dask.clusters.start_cluster", lambda workers: nullcontext()
    )
    arguments = ["embed", "x.npy", "-m", "pca", "--workers", "1", "--scheduler", "tcp://x:1"]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 2
    assert "--workers or --scheduler, not both" in found.stderr
