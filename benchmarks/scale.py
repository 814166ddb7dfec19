"""What changes with the number of objects: `python -m benchmarks scale [PART ...]`.

quality: UMAP, t-SNE and PaCMAP of n points of 60 curved sheets, and of n images of Fashion-MNIST,
each image with displaced copies; all measures are of the same objects among the same candidates,
those of the smallest n. steps: where the time of t-SNE and UMAP of 70,000 images goes (`scaling`).
cost: CPU seconds on one thread of every method at n, 2 n, 4 n and 8 n, with the exponent of each
doubling, and of all, beside the cost that the method states; `power` is the exponent with which
`lowdim.plan` would have been nearest. disk: UMAP of rows in a file, within 4 GB (`large`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gpu, large, scaling
from benchmarks.plan import ROOT, objects_for
from lowdim.catalog import CATALOG, find
from lowdim.estimator.plan import PATIENCE

METHODS = ("UMAP", "TSNE", "PaCMAP")
N = [100_000, 1_000_000]
TRIPLETS = 2  # of each object
SIZES = [100 * 2**power for power in range(11)]
LONG = 8.0  # seconds of a fit after which no larger one is made
ENOUGH = 0.2  # seconds; shorter fits are repeated
SHOWN = 4  # sizes in the table of costs
PARTS = ("quality", "steps", "cost", "disk")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--sizes", type=int, nargs="+", default=N, help="of quality (%(default)s)")
    parser.add_argument("--methods", nargs="+", help="of quality and cost; default: see above")
    parser.add_argument("--rows", type=int, default=1_000_000, help="in the file (%(default)s)")
    parser.add_argument("--data", type=Path, default=gpu.DATA, help=f"folder of {gpu.FASHION}")
    parser.add_argument("--device", default="cpu", help="of quality")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # part, job
    options = parser.parse_args(arguments)
    if options.one:
        part, job = options.one
        print(json.dumps(costs(job) if part == "cost" else measure(**json.loads(job))))
        return 0
    for part in options.parts or PARTS:
        if part not in PARTS:
            parser.error(f"no part is called {part!r}; there are {', '.join(PARTS)}")
        print(f"\n## {part}, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores\n")
        if part == "quality":
            _quality(options)
        elif part == "steps":
            scaling.main(["tsne", "umap", "--data", str(options.data)])
        elif part == "cost":
            _cost(options.methods or [method.name for method in CATALOG])
        else:
            large.main(["--rows", str(options.rows)])
    return 0


# --- quality ------------------------------------------------------------------------------------


def _quality(options: argparse.Namespace) -> None:
    measures = ("accuracy", "kept", "trustworthiness", "triplets")
    print(f"| data | method | n | {' | '.join(measures)} | CPU s | peak GB |")
    print("| --- | --- | --: |" + " --: |" * (len(measures) + 2), flush=True)
    sizes = sorted(options.sizes)
    for data in ("sheets", "images") if (options.data / gpu.FASHION).exists() else ("sheets",):
        for name in options.methods or METHODS:
            for n in sizes:
                job = {"data": data, "name": name, "n": n, "smallest": sizes[0]}
                job |= {"largest": sizes[-1], "folder": str(options.data)}
                found = _in_a_process("quality", json.dumps({**job, "device": options.device}))
                cells = [f"{found[measure]:.3f}" for measure in measures]
                cells += [f"{found['seconds']:.0f}", f"{found['peak']:.1f}"]
                print(f"| {data} | {name} | {n:,} | {' | '.join(cells)} |", flush=True)


def measure(
    data: str, name: str, n: int, smallest: int, largest: int, folder: str, device: str
) -> dict[str, float]:
    """A fit to n objects, and the measures of the `smallest` first of them."""
    import lowdim

    if data == "sheets":
        X, labels = (rows[:n] for rows in gpu.sheets(largest)(Path(folder)))
    else:
        X, labels = displaced(*gpu.fashion(Path(folder)), n, min(smallest, 70_000))
        smallest = min(smallest, 70_000)
    start = time.process_time()
    with lowdim.compute(device=device):
        fitted = getattr(lowdim, name)(random_state=0).fit(X)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    fitted.embedding_ = np.ascontiguousarray(fitted.embedding_[:smallest])
    X = np.ascontiguousarray(X[:smallest])
    found = gpu.of_map(X, labels[:smallest], fitted)
    found["triplets"] = triplets(X, fitted.embedding_)
    return {**found, "seconds": seconds, "peak": peak}


def displaced(X: Any, labels: Any, n: int, first: int) -> tuple[Any, Any]:
    """Images, and after the `first` of them others, then copies moved towards a random other one.

    A copy is a tenth to a half of the way from its image to another image of its class.
    """
    random = np.random.default_rng(0)
    order = random.permutation(len(X))[: max(first, min(n, len(X)))]
    if n <= len(X):
        return X[order[:n]], labels[order[:n]]
    by_class = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
    rows = np.empty((n, X.shape[1]), X.dtype)
    rows[: len(X)] = X[order]
    own = np.resize(order, n)
    for begin in range(len(X), n, 10_000):
        ids = own[begin : begin + 10_000]
        others = np.array([random.choice(by_class[label]) for label in labels[ids]])
        share = random.uniform(0.1, 0.5, (len(ids), 1)).astype(X.dtype)
        rows[begin : begin + 10_000] = X[ids] + share * (X[others] - X[ids])
    return rows, labels[own]


def triplets(X: Any, Y: Any) -> float:
    """The share of random triplets whose nearer one of two objects is the same on the map."""
    random = np.random.default_rng(2)
    one, two, three = random.integers(len(X), size=(3, TRIPLETS * len(X)))
    near = [
        np.square(rows[one] - rows[two]).sum(axis=1)
        < np.square(rows[one] - rows[three]).sum(axis=1)
        for rows in (X, Y)
    ]
    return float((near[0] == near[1]).mean())


# --- cost ---------------------------------------------------------------------------------------


def _cost(names: list[str]) -> None:
    print("| method | n | s at n, 2 n, 4 n, 8 n | exponents | mean | power | stated |")
    print("| --- | --: | --- | --- | --: | --- | --- |", flush=True)
    for name in names:
        times = [(int(n), float(seconds)) for n, seconds in _in_a_process("cost", name)]
        best, error = power(times)
        n, s = np.array(times[-SHOWN:]).T
        steps = np.diff(np.log(s)) / np.diff(np.log(n))
        mean = np.log(s[-1] / s[0]) / np.log(n[-1] / n[0])
        method = find(name)
        assert method is not None
        seconds, slopes = (", ".join(f"{x:.{d}f}" for x in xs) for xs, d in ((s, 2), (steps, 1)))
        declared = f"{method.power} (best {best:.1f}, error {error:.2f})"
        cells = [f"{n[0]:.0f}", seconds, slopes, f"{mean:.1f}", declared, method.cost]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def costs(name: str) -> list[tuple[int, float]]:
    """Sizes and CPU seconds of fits on one thread."""
    method = find(name)
    assert method is not None
    found: list[tuple[int, float]] = []
    _seconds(method.load(), *objects_for(name, SIZES[0]))  # loads what the method needs
    for n in SIZES:
        if found and found[-1][1] > LONG:
            break
        X, y = objects_for(name, n)
        seconds = [_seconds(method.load(), X, y)]
        while sum(seconds) < ENOUGH:
            seconds.append(_seconds(method.load(), X, y))
        found.append((n, float(f"{min(seconds):.4g}")))
    return found


def _seconds(cls: type, X: Any, y: Any) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls(n_jobs=1).fit(X, y)
    return time.process_time() - start


def power(times: list[tuple[int, float]]) -> tuple[float, float]:
    """The exponent of least error, and the factor by which the estimates err at most."""
    pairs = []
    for n, seconds in times:
        probes = [(size, spent) for size, spent in times if size <= n // 2]
        while sum(spent for _, spent in probes[:-1]) > PATIENCE:
            probes.pop()
        if probes and (seconds > 0.5 or times[-1][1] < 0.5):
            pairs.append((n / probes[-1][0], seconds / probes[-1][1]))
    size_ratios, time_ratios = np.log(pairs).T
    powers = np.arange(0, 3.6, 0.1)
    errors = np.abs(np.outer(powers, size_ratios) - time_ratios).max(axis=1)
    return float(powers[errors.argmin()]), float(np.exp(errors.min()))


def _in_a_process(part: str, job: str) -> Any:
    command = [sys.executable, "-m", "benchmarks", "scale", "--one", part, job]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])
