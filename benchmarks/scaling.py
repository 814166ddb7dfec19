"""Steps of a fit by number of threads: `python -m benchmarks scaling [JOB ...] [--threads 1,2,4]`.

Each job runs in a new process for each number of threads, after a small one that warms up. The
tables list the seconds of each step without the steps inside it, so that they add up to the total.
A step whose time does not fall with the number of threads is serial.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
N_FEATURES = 784
N_CLUSTERS = 10
WARM_UP_ROWS = 1_000
QUICK = 20  # --quick divides the sizes by this

NATIVE = "lowdim.backends.native"
STEPS = {
    "copying and checking": ["lowdim.objects.objects:objects_of", "lowdim.checks:vectors"],
    "units": ["lowdim.distances.units:exponent_of"],
    "fingerprint": ["lowdim.distances.row_blocks:fingerprint"],
    "centring": [f"{NATIVE}.products:_prepare"],
    "exact search": [f"{NATIVE}.products:nearest"],
    "neighbours of a sample": [f"{NATIVE}.products:nearest_of_sample"],
    "axes of the cells": [f"{NATIVE}.cells:leading_axes"],
    "projection": [f"{NATIVE}.cells:CoarseSpace.vectors"],
    "k-means of the cells": [f"{NATIVE}.cells:build_cells"],
    "plan of the search": [f"{NATIVE}.index:_plan"],
    "search in the cells": [f"{NATIVE}.index:CellIndex.neighbors"],
    "perplexity bisection": [f"{NATIVE}.affinities:perplexity_affinities"],
    "memberships": [f"{NATIVE}.affinities:memberships"],
    "joint probabilities": ["lowdim.neighbor_embedding.affinities:joint"],
    "symmetrising": [
        f"{NATIVE}.graphs:symmetrize",
        f"{NATIVE}.graphs:fuzzy_union",
    ],
    "shortest paths": [f"{NATIVE}.graphs:shortest_paths"],
    "components": [f"{NATIVE}.graphs:components"],
    "levels": [f"{NATIVE}.graphs:level_structure"],
    "covariance": [f"{NATIVE}.algebra:scatter"],
    "scores": ["lowdim.numerics.svd:scores"],
    "eigensolvers": [
        "lowdim.numerics.eigenpairs:top_eigenpairs",
        "lowdim.numerics.eigenpairs:bottom_eigenpairs",
    ],
    "modes of the graph": ["lowdim.backends.subspace:smooth_modes"],
    "share of negative eigenvalues": ["lowdim.numerics.eigenpairs:spectrum_size"],
    "dense products": [f"{NATIVE}.algebra:matmul"],
    "sparse products": [f"{NATIVE}.algebra:spmm"],
    "spectral start": ["lowdim.spectral.starts:spectral_start"],
    "start": ["lowdim.neighbor_embedding.starts:sne_start"],
    "copying the edges": [f"{NATIVE}.forces:Attraction.__init__", f"{NATIVE}.layout:layout_arcs"],
    "renumbering": [f"{NATIVE}.forces:curve_order", f"{NATIVE}.forces:Attraction.renumber"],
    "attraction": [f"{NATIVE}.forces:Attraction.__call__"],
    "all pairs": [f"{NATIVE}.repulsion:_of_all_pairs"],
    "tree": [f"{NATIVE}.repulsion:BarnesHut.__call__"],
    "grid: kernel": [f"{NATIVE}.repulsion:GridField._kernel"],
    "grid: spreading and FFT": [f"{NATIVE}.repulsion:GridField.freeze"],
    "grid: gathering": [f"{NATIVE}.repulsion:GridValues.__call__"],
    "step": [f"{NATIVE}.forces:momentum_step"],
    "epochs": [f"{NATIVE}.layout:layout_epochs"],
}
"""Functions whose time is counted under a name."""


def _neighbors(k: int, method: str) -> Callable[[Any], Any]:
    def job(X: Any) -> Any:
        import lowdim

        return lowdim.neighbors(X, k, method=method)

    return job


def _fit(name: str, **parameters: Any) -> Callable[[Any], Any]:
    def job(X: Any) -> Any:
        import lowdim

        return getattr(lowdim, name)(**parameters).fit(X)

    return job


JOBS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "tsne": (70_000, _fit("TSNE", max_iter=750, random_state=0)),
    "umap": (70_000, _fit("UMAP", random_state=0)),
    "knn-approximate": (70_000, _neighbors(15, "approximate")),
    "knn-exact": (70_000, _neighbors(15, "exact")),
    "isomap": (10_000, _fit("Isomap", n_neighbors=10)),
    "pca": (70_000, _fit("PCA", n_components=50)),
    "laplacian": (70_000, _fit("LaplacianEigenmaps", n_neighbors=10)),
    "tsne-5000": (5_000, _fit("TSNE", random_state=0)),
    "tsne-500": (500, _fit("TSNE", random_state=0)),
    "umap-500": (500, _fit("UMAP", random_state=0)),
}


class Clock:
    """Seconds of each step, without those of the steps inside it."""

    def __init__(self, *, cpu: bool = False) -> None:
        self.cpu = cpu  # whether the time of the processor is counted, that of all threads
        self.seconds: dict[str, float] = {}
        self.inside = [0.0]  # seconds of finished steps inside each step that is under way
        self.thread = threading.get_ident()

    def now(self) -> float:
        return time.process_time() if self.cpu else time.perf_counter()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed where the main thread calls it."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return function(*args, **kwargs)
            self.inside.append(0.0)
            start = self.now()
            try:
                return function(*args, **kwargs)
            finally:
                whole = self.now() - start
                own = whole - self.inside.pop()
                self.inside[-1] += whole
                self.seconds[name] = self.seconds.get(name, 0.0) + own

        return call

    def attach(self) -> None:
        """Time all steps: replaces the functions in every module and backend that has them."""
        from lowdim.backends.native import Backend

        for name, places in STEPS.items():
            for place in places:
                module, path = place.split(":")
                owner: Any = import_module(module)
                *classes, last = path.split(".")
                for part in classes:
                    owner = getattr(owner, part)
                function = getattr(owner, last)
                timed = self.timed(name, function)
                if not classes:
                    for key in [k for k, v in vars(Backend).items() if plain(v) is function]:
                        setattr(Backend, key, staticmethod(timed))
                owners = [owner] if classes else list(sys.modules.values())
                for other in owners:
                    if other is owner or getattr(other, "__name__", "").startswith("lowdim."):
                        for key in [k for k, v in vars(other).items() if v is function]:
                            setattr(other, key, timed)


def plain(member: Any) -> Any:
    """The function of a static method; anything else as it is."""
    return member.__func__ if isinstance(member, staticmethod) else member


def data(n: int, folder: Path) -> Any:
    """Fashion-MNIST as float32, or clusters on curved sheets of the same shape if it is absent."""
    if (folder / "fashion-mnist.npz").exists():
        with np.load(folder / "fashion-mnist.npz") as file:
            return file["X"][:n].astype(np.float32)
    random = np.random.default_rng(0)
    centers = 3 * random.normal(size=(N_CLUSTERS, 12))
    low = centers[random.integers(N_CLUSTERS, size=n)] + random.normal(size=(n, 12))
    curved = np.tanh(low @ random.normal(size=(12, N_FEATURES)) / 4)
    return (curved + 0.1 * random.normal(size=(n, N_FEATURES))).astype(np.float32)


def measure(job: str, n: int, threads: int, folder: Path, *, cpu: bool) -> dict[str, float]:
    """Seconds of the steps of one job, in this process."""
    import lowdim

    X = data(n, folder)
    run = JOBS[job][1]
    clock = Clock(cpu=cpu)
    with lowdim.compute(n_jobs=threads):
        run(X[: min(n, WARM_UP_ROWS)])
        clock.attach()
        start = clock.now()
        run(X)
    total = clock.now() - start
    return {**clock.seconds, "other": total - sum(clock.seconds.values()), "total": total}


def table(job: str, n: int, columns: dict[int, dict[str, float]]) -> str:
    """The steps of a job as a Markdown table, with the speed-up of the last column."""
    order = [*STEPS, "other", "total"]
    counts = list(columns)
    lines = [
        f"{job}, n = {n:,}: seconds by number of threads",
        "",
        "| step | " + " | ".join(map(str, counts)) + " | speed-up |",
        "| --- " * (len(counts) + 2) + "|",
    ]
    for step in order:
        seconds = [columns[count].get(step, 0.0) for count in counts]
        if max(seconds) < 0.002 * columns[counts[0]]["total"] and step != "total":
            continue  # not worth a line
        ratio = seconds[0] / seconds[-1] if seconds[-1] > 0 else float("nan")
        cells = " | ".join(f"{value:.3f}" for value in seconds)
        lines.append(f"| {step} | {cells} | {ratio:.1f} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Run the jobs and print their tables."""
    cores = os.cpu_count() or 1
    counts = [count for count in (1, 2, 4, 8, 16) if count <= cores]
    folder = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks scaling", description=__doc__)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=", ".join(JOBS))
    parser.add_argument("--threads", default=",".join(map(str, counts)), help="for instance 1,4,16")
    parser.add_argument("--cpu", action="store_true", help="CPU time of all threads, not seconds")
    parser.add_argument("--quick", action="store_true", help=f"sizes divided by {QUICK}")
    parser.add_argument("--data", type=Path, default=folder, metavar="DIR", help="real data")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # job, size, threads
    options = parser.parse_args(arguments)
    if options.one:
        job, n, threads = options.one
        print(json.dumps(measure(job, int(n), int(threads), options.data, cpu=options.cpu)))
        return 0
    for job in options.jobs:
        if job not in JOBS:
            parser.error(f"no job is called {job!r}; there are {', '.join(JOBS)}")
    if not (options.data / "fashion-mnist.npz").exists():
        print("fashion-mnist.npz not found (see --data): synthetic data of the same shape\n")
    for job in options.jobs or JOBS:
        n = JOBS[job][0] // QUICK if options.quick else JOBS[job][0]
        columns = {}
        for count in map(int, options.threads.split(",")):
            command = [sys.executable, "-m", "benchmarks", "scaling"]
            command += ["--cpu"] * options.cpu
            command += ["--data", str(options.data), "--one", job, str(n), str(count)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                return 1
            columns[count] = json.loads(done.stdout.strip().splitlines()[-1])
        print(table(job, n, columns), flush=True)
    return 0
