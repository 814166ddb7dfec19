"""Recall against partitions and replication: `python -m benchmarks partitions [--rows 200000]`.

A simulation of the neighbour search on a cluster. Rows are divided into shards by the cells that
the search uses. For sampled rows with known neighbours, the tables say which share of the
neighbours is in the r nearest shards, r being the replication, and how many shards a row is
searched in on average if the number of cells is chosen for a given recall, as the search does.
The search inside of a shard is taken to be exact.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large import sheets

ROOT = Path(__file__).resolve().parents[1]
SHARDS = (4, 16, 64, 256)
REPLICATION = (1, 2, 3, 4, 8)
RECALLS = (0.9, 0.95, 0.99)
SMALLEST = 500  # rows of a shard
SAMPLED = 1000
NEIGHBORS = 15


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks partitions", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="of the sheets (%(default)s)")
    default = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of fashion-mnist.npz")
    options = parser.parse_args(arguments)
    simulate("curved sheets", sheets(options.rows, 0, 0))
    fashion = options.data / "fashion-mnist.npz"
    if fashion.exists():
        with np.load(fashion) as file:
            images = file["X"].astype(np.float32)
        simulate("Fashion-MNIST", images)
    else:
        print(f"Fashion-MNIST: {fashion} not found (see --data)")
    return 0


def simulate(name: str, X: Any) -> None:
    """Print the tables of one set of data."""
    from lowdim.distances.metrics import plain_metric
    from lowdim.neighbor_graphs.exact import query

    began = time.perf_counter()
    n = len(X)
    some = np.sort(np.random.default_rng(1).choice(n, SAMPLED, replace=False))
    found = query(X, X[some], NEIGHBORS + 1, plain_metric("euclidean"))[0]
    neighbors = np.array([row[row != i][:NEIGHBORS] for row, i in zip(found, some, strict=True)])
    print(f"\n{name}, {n} x {X.shape[1]}, {NEIGHBORS} neighbours of {SAMPLED} rows\n")
    heads = [f"recall, r = {r}" for r in REPLICATION] + [f"shards for {r}" for r in RECALLS]
    print(f"| shards | {' | '.join(heads)} |")
    print("| --: |" + " --: |" * len(heads))
    for count in [count for count in SHARDS if n // count >= SMALLEST]:
        shares, needed = row_of_table(X, X[some], neighbors, count)
        cells = [f"{share:.3f}" for share in shares] + [f"{mean:.2f}" for mean in needed]
        print(f"| {count} | {' | '.join(cells)} |", flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s")


def row_of_table(X: Any, asked: Any, neighbors: Any, count: int) -> tuple[list[float], list[float]]:
    """Recall for each number of nearest shards, and mean numbers of shards for each recall."""
    from lowdim.neighbor_graphs.shards import FILL, LEAST_CELLS, divide_rows

    capacity = int(np.ceil(len(X) / count / FILL))
    division = divide_rows(_source(X), capacity, "euclidean", np.random.default_rng(0))
    order = division.shards_near(asked, len(division.centers))
    home = division.shards_near(X[neighbors.ravel()], 1)[:, 0].reshape(neighbors.shape)
    # The cell with which the shard of a neighbour is reached, and the number of shards up to there.
    cell = np.stack([(order == column[:, None]).argmax(axis=1) for column in home.T], axis=1)
    distinct = np.array([_distinct(row) for row in order])
    shards = np.take_along_axis(distinct, cell, axis=1)
    shares = [float((shards <= r).mean()) for r in REPLICATION]
    depths = [1 + int(np.quantile(cell, recall, method="inverted_cdf")) for recall in RECALLS]
    return shares, [float(distinct[:, max(depth, LEAST_CELLS) - 1].mean()) for depth in depths]


def _distinct(order: Any) -> Any:
    """How many different shards there are up to each place."""
    first = np.zeros(len(order), dtype=np.int64)
    first[np.unique(order, return_index=True)[1]] = 1
    return np.cumsum(first)


def _source(X: Any) -> Any:
    """Rows in memory as a source of blocks."""
    from lowdim.distances.row_blocks import RowBlocks

    class Held(RowBlocks):
        def _values(self, start: int, stop: int) -> Any:
            return X[start:stop]

    return Held(X.shape, X.dtype)
