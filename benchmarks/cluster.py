"""A map on a cluster of processes beside one in memory: `python -m benchmarks cluster`.

The data are curved sheets, float32, in a file. UMAP is fitted to them in memory, and to a Dask
array of the file on a `LocalCluster` whose workers have one thread each. The table has the seconds
of both, the recall of the neighbour graphs against the exact neighbours of 1,000 rows, and the
trustworthiness of the maps on a sample.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large import BLOCK, rows_checked, sheets, trustworthiness

NEIGHBORS = 15


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cluster", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=None, help="of the layout; default: UMAP's")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        _write(path, options.rows, options.features)
        compare(path, options.workers, options.epochs)
    return 0


def _write(path: Path, n: int, width: int) -> None:
    out: Any = np.lib.format.open_memmap(path, "w+", np.float32, (n, width))
    for begin in range(0, n, BLOCK):
        rows = sheets(min(BLOCK, n - begin), 0, begin // BLOCK)
        out[begin : begin + BLOCK] = rows[:, :width]
    out.flush()


def compare(path: Path, workers: int, epochs: int | None) -> None:
    """Fit both ways and print the table."""
    from distributed import Client, LocalCluster

    from lowdim.distances.metrics import plain_metric
    from lowdim.neighbor_graphs.exact import query
    from lowdim.objects.block_sources import MappedRows

    mapped = np.load(path, mmap_mode="r")
    source, checked = MappedRows(mapped), rows_checked(len(mapped))
    exact = query(source, source.take(checked), NEIGHBORS, plain_metric("euclidean"), checked)[0]
    found = {"in memory": _fit(np.array(mapped), epochs)}
    began = time.perf_counter()
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        started = time.perf_counter() - began
        found["cluster"] = _fit(_lazy(path, mapped.shape), epochs)
    print(f"{len(mapped)} x {mapped.shape[1]}, {workers} workers, started in {started:.1f} s")
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    print("| | neighbours, s | start and layout, s | total, s | recall | trustworthiness |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name, (graph, Y, searched, laid_out) in found.items():
        pairs = zip(exact.tolist(), graph.indices[checked].tolist(), strict=True)
        recall = sum(len(set(a) & set(b)) for a, b in pairs) / exact.size
        print(
            f"| {name} | {searched:.1f} | {laid_out:.1f} | {searched + laid_out:.1f} | "
            f"{recall:.4f} | {trustworthiness(source, Y):.4f} |"
        )
    totals = [searched + laid_out for _, _, searched, laid_out in found.values()]
    print(f"\noverhead of the cluster: {totals[1] / totals[0] - 1:+.0%} of the time in memory")


def _lazy(path: Path, shape: tuple[int, int]) -> Any:
    """A Dask array of the file, whose partitions the workers read."""
    import dask.array as da
    from dask.delayed import delayed

    load = delayed(_rows)
    parts = []
    size = max(1, shape[0] // 32)
    for begin in range(0, shape[0], size):
        count = min(size, shape[0] - begin)
        part = load(str(path), begin, begin + count)
        parts.append(da.from_delayed(part, (count, shape[1]), np.float32))
    return da.concatenate(parts)


def _rows(path: str, start: int, stop: int) -> Any:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _fit(X: Any, epochs: int | None) -> tuple[Any, Any, float, float]:
    """Graph, map, and the seconds of both."""
    import lowdim

    began = time.perf_counter()
    graph = lowdim.neighbors(X, NEIGHBORS, method="approximate")
    searched = time.perf_counter()
    model = lowdim.UMAP(n_neighbors=NEIGHBORS, n_epochs=epochs, random_state=0)
    Y = model.fit(X, graph=graph).embedding_
    return graph, Y, searched - began, time.perf_counter() - searched
