"""UMAP of data that are read in blocks: `python -m benchmarks large [--rows 1000000]`.

The data are a mixture of curved sheets in 128 dimensions, float32, written to a file block by
block. The map is made in a process of its own, with a limit on the memory that it may plan to use.
The report has the time and the largest resident memory of each step (of the whole process, and
beyond what it had before the fit), the recall of its neighbour graph against the exact neighbours
of 1,000 rows, the trustworthiness of the map on a sample, and how often a classifier finds the
sheet of a row on the map.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import class_accuracy
from benchmarks.plan import reset_peak, resident

ROOT = Path(__file__).resolve().parents[1]
FEATURES = 128
SHEETS = 12
WAVES = 6  # terms of the curvature of a sheet
NOISE = 0.005  # standard deviation in every dimension; sheets are about 2 wide
BLOCK = 65536  # rows that are generated at once, from a seed of their own
CHECKED = 1000  # rows whose neighbours are compared with the exact ones
ASSESSED = 2000  # rows of the sample of trustworthiness


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks large", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", default="4GB", help="of lowdim.compute (%(default)s)")
    parser.add_argument("--epochs", type=int, default=None, help="of the layout; default: UMAP's")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--data", type=Path, help="a file of an earlier run, to be used again")
    parser.add_argument("--keep", action="store_true", help="leave the file of data there")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        print(json.dumps(_fit(options)))
        return 0
    path = options.data or options.scratch / f"lowdim-sheets-{options.rows}.npy"
    try:
        if not path.exists():
            began = time.perf_counter()
            write_sheets(path, options.rows)
            print(f"data: {path.stat().st_size / 1e9:.2f} GB, {time.perf_counter() - began:.0f} s")
        report(_worker(options, path), path)
    finally:
        if not options.keep and options.data is None:
            path.unlink(missing_ok=True)
    return 0


def write_sheets(path: Path, n: int, seed: int = 0) -> None:
    """Write the data: the rows of a block depend on the seed and the number of the block alone."""
    out: Any = np.lib.format.open_memmap(path, "w+", np.float32, (n, FEATURES))
    for begin in range(0, n, BLOCK):
        out[begin : begin + BLOCK] = sheets(min(BLOCK, n - begin), seed, begin // BLOCK)
    out.flush()


def sheet_of_rows(n: int, seed: int = 0) -> Any:
    """The number of the sheet that each of the rows of `write_sheets` lies on."""
    counts = [(block, min(BLOCK, n - begin)) for block, begin in enumerate(range(0, n, BLOCK))]
    draws = [np.random.default_rng((seed, b)).integers(SHEETS, size=m) for b, m in counts]
    return np.concatenate(draws)


def sheets(n: int, seed: int, block: int) -> Any:
    """Rows of one block: points of curved two-dimensional sheets, and noise."""
    shape = np.random.default_rng(seed)
    centers = shape.normal(scale=1.5 / np.sqrt(FEATURES) * 4, size=(SHEETS, FEATURES))
    frames = shape.normal(size=(SHEETS, 2 + 2 * WAVES, FEATURES)) / np.sqrt(FEATURES)
    rates = shape.uniform(1, 4, size=(SHEETS, WAVES, 2))
    random = np.random.default_rng((seed, block))
    sheet = random.integers(SHEETS, size=n)
    place = random.uniform(-1, 1, size=(n, 2))
    phases = np.einsum("nwd,nd->nw", rates[sheet], place)
    terms = np.concatenate([place, 0.5 * np.sin(phases), 0.5 * np.cos(phases)], axis=1)
    rows = random.standard_normal((n, FEATURES), dtype=np.float32)
    rows *= NOISE
    for number in range(SHEETS):
        own = sheet == number
        rows[own] += (terms[own] @ frames[number] + centers[number]).astype(np.float32)
    return rows


def _worker(options: argparse.Namespace, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", "large", "--worker", "--data", str(path)]
    command += ["--memory", options.memory, "--scratch", str(options.scratch)]
    if options.epochs is not None:
        command += ["--epochs", str(options.epochs)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _fit(options: argparse.Namespace) -> dict[str, Any]:
    """Fit, and write the map and the neighbours of some rows beside the data."""
    import logging

    import lowdim

    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d ms: %(message)s")
    X = np.load(options.data, mmap_mode="r")
    checked = rows_checked(len(X))
    kept: dict[str, Any] = {}
    steps: list[tuple[str, float, float, int]] = []
    before, began = resident("VmRSS"), time.perf_counter()
    reset_peak()

    def step(name: str) -> None:
        peak = resident("VmHWM")
        steps.append((name, time.perf_counter() - began, time.process_time(), peak))
        reset_peak()
        print(f"{name}: {steps[-1][1]:.0f} s, {peak / 1e9:.2f} GB", file=sys.stderr, flush=True)

    class Watched(lowdim.UMAP):
        """Keeps the neighbours of some rows, and notes time and memory after each step."""

        def _fuzzy_graph(self, graph: Any) -> Any:
            kept["indices"], kept["recall"] = graph.indices[checked], graph.recall
            step("neighbours")
            found = super()._fuzzy_graph(graph)
            step("fuzzy graph")
            return found

        def _lay_out(self, start: Any, *rest: Any, **named: Any) -> None:
            step("start")
            super()._lay_out(start, *rest, **named)
            step("layout")

    Watched.__name__ = "UMAP"  # by which it claims its memory
    with lowdim.compute(memory=options.memory, scratch=options.scratch):
        model = Watched(n_epochs=options.epochs, random_state=0).fit(X)
    np.savez(_results(options.data), embedding=model.embedding_, indices=kept["indices"])
    return {"steps": steps, "before": before, "recall": kept["recall"]}


def _results(path: Path) -> Path:
    return path.with_suffix(".map.npz")


def rows_checked(n: int) -> Any:
    """The rows whose neighbours are compared with the exact ones."""
    return np.sort(np.random.default_rng(1).choice(n, min(n, CHECKED), replace=False))


def report(found: dict[str, Any], path: Path) -> None:
    """Print what the worker measured, and the quality of its results."""
    from lowdim.distances.metrics import plain_metric
    from lowdim.neighbor_graphs.exact import query
    from lowdim.objects.block_sources import MappedRows

    X = np.load(path, mmap_mode="r")
    results = _results(path)
    with np.load(results) as file:
        Y, indices = file["embedding"], file["indices"]
    results.unlink()
    print(f"| step of {len(X)} x {X.shape[1]} | seconds | of CPU | peak GB | beyond the start |")
    print("| --- | --: | --: | --: | --: |")
    before = busy = 0.0
    for name, seconds, cpu, peak in found["steps"]:
        beyond = (peak - found["before"]) / 1e9
        cells = f"{seconds - before:.1f} | {cpu - busy:.1f} | {peak / 1e9:.2f} | {beyond:.2f}"
        print(f"| {name} | {cells} |")
        before, busy = seconds, cpu
    checked = rows_checked(len(X))
    source = MappedRows(X)
    asked, metric = source.take(checked), plain_metric("euclidean")
    exact = query(source, asked, indices.shape[1], metric, checked)[0]
    hits = [len(set(a) & set(b)) for a, b in zip(exact.tolist(), indices.tolist(), strict=True)]
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"total {before:.0f} s, {busy:.0f} s of CPU, {load}")
    measured = "exact" if found["recall"] is None else f"the search measured {found['recall']:.4f}"
    print(f"recall {np.sum(hits) / exact.size:.4f} ({measured})")
    print(f"trustworthiness {trustworthiness(source, Y):.4f}, of {ASSESSED} sampled rows")
    print(f"accuracy {class_accuracy(Y, sheet_of_rows(len(Y))):.4f}")


def trustworthiness(source: Any, Y: Any) -> float:
    """Trustworthiness of 15 neighbours on the map, among the rows of a sample."""
    from sklearn.manifold import trustworthiness as measured

    random = np.random.default_rng(2)
    some = np.sort(random.choice(len(Y), min(len(Y), ASSESSED), replace=False))
    return float(measured(source.take(some), Y[some], n_neighbors=15))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
