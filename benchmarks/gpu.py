"""A GPU beside our own CPU engine: `python -m benchmarks gpu [CASE ...] [--data DIR] [--no-cpu]`.

Each case runs in a new process for each device: a first call, then warm ones, from a NumPy array to
the result. The table lists the seconds of the first call (in a process that has imported lowdim and
made the data, so that importing PyTorch and compiling kernels count), of the fastest warm one, the
peak memory of the device, and the quality of both engines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
FASHION = "fashion-mnist.npz"
SAMPLE = 2000  # objects on which neighbours kept, trustworthiness and recall are measured
TEST_ROWS = 10_000  # of the classifier that measures accuracy


class Case(NamedTuple):
    """What is fitted to which data, the goal in seconds, and how the result is judged."""

    data: str
    fit: Callable[[Any, Any], Any]
    judge: Callable[[Any, Any, Any], dict[str, float]]
    goal: float | None = None  # seconds on one H200
    times: float | None = None  # the goal as a multiple of the speed of the CPU
    repeat: int = 3  # warm calls on the device


def fashion(folder: Path) -> tuple[Any, Any]:
    """Fashion-MNIST, 70,000 x 784, and its labels."""
    with np.load(folder / FASHION) as file:
        return file["X"].reshape(len(file["X"]), -1).astype(np.float32), file["y"].astype(int)


def sheets(n: int) -> Callable[[Path], tuple[Any, Any]]:
    """n points of 60 curved three-dimensional sheets in 50 dimensions, with noise."""

    def make(_: Path) -> tuple[Any, Any]:
        random = np.random.default_rng(0)
        axes = random.normal(size=(60, 3, 50)).astype(np.float32)
        centers = 3 * random.normal(size=(60, 50)).astype(np.float32)
        labels = random.integers(60, size=n)
        X = np.empty((n, 50), dtype=np.float32)
        for begin in range(0, n, 100_000):
            own = labels[begin : begin + 100_000]
            u = 4 * random.random((len(own), 3), dtype=np.float32) - 2
            u[:, 0] = np.sin(2 * u[:, 0])
            noise = 0.2 * random.standard_normal((len(own), 50), dtype=np.float32)
            X[begin : begin + 100_000] = (
                centers[own] + np.einsum("nk,nkd->nd", u, axes[own]) + noise
            )
        return X, labels

    return make


def fashion_distances(folder: Path) -> tuple[Any, Any]:
    """The distances of 20,000 images."""
    from lowdim.backends.native import BACKEND

    X, y = fashion(folder)
    return BACKEND.distance_matrix(X[:20_000]), y[:20_000]


def first_rows(count: int) -> Callable[[Path], tuple[Any, Any]]:
    """The first images of Fashion-MNIST."""

    def load(folder: Path) -> tuple[Any, Any]:
        X, y = fashion(folder)
        return X[:count], y[:count]

    return load


DATA_SETS: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "Fashion-MNIST 70,000 x 784": fashion,
    "Fashion-MNIST 20,000 x 784": first_rows(20_000),
    "distances of 20,000": fashion_distances,
    "sheets 1,000,000 x 50": sheets(1_000_000),
    "sheets 10,000,000 x 50": sheets(10_000_000),
}


def of_map(X: Any, labels: Any, fitted: Any) -> dict[str, float]:
    """Accuracy of a classifier, neighbours kept, trustworthiness and divergence of a map."""
    import lowdim

    Y = fitted.embedding_
    random = np.random.default_rng(0)
    found = {"accuracy": class_accuracy(Y, labels)}
    if X.shape[0] != X.shape[1]:
        some = np.sort(random.choice(len(Y), min(SAMPLE * 5, len(Y)), replace=False))
        found["trustworthiness"] = float(lowdim.trustworthiness(X[some], Y[some], n_neighbors=15))
        found["kept"] = _kept(X, Y)
    for name in ("kl_divergence_", "stress_"):
        if hasattr(fitted, name):
            found[name.rstrip("_").split("_")[0]] = float(getattr(fitted, name))
    return found


def class_accuracy(Y: Any, labels: Any) -> float:
    """The share of a sample of the points whose class ten neighbours in another sample tell."""
    from sklearn.neighbors import KNeighborsClassifier

    order = np.random.default_rng(0).permutation(len(Y))[: 7 * TEST_ROWS]
    test, train = order[: len(order) // 7], order[len(order) // 7 :]
    classifier = KNeighborsClassifier(10).fit(Y[train], labels[train])
    return float(classifier.score(Y[test], labels[test]))


def _kept(X: Any, Y: Any) -> float:
    """The share of the 15 nearest neighbours of a sample that are neighbours on the map."""
    some = np.sort(np.random.default_rng(1).choice(len(X), SAMPLE, replace=False))
    near = [_nearest(rows, some) for rows in (X, Y)]
    return float(np.mean([len(np.intersect1d(a, b)) / 15 for a, b in zip(*near, strict=True)]))


def _nearest(rows: Any, some: Any) -> Any:
    from lowdim.backends.native import BACKEND

    found = BACKEND.nearest_to(
        np.ascontiguousarray(rows), np.ascontiguousarray(rows[some]), 16, False
    )
    return found[0][:, 1:]


def of_graph(X: Any, labels: Any, graph: Any) -> dict[str, float]:
    """The share of the true neighbours of a sample that a graph holds."""
    some = np.sort(np.random.default_rng(1).choice(len(X), SAMPLE, replace=False))
    true = _nearest(X, some)[:, :15]
    pairs = zip(true, graph.indices[some], strict=True)
    return {"recall": float(np.mean([len(np.intersect1d(a, b)) / 15 for a, b in pairs]))}


def method(name: str, **params: Any) -> Callable[[Any, Any], Any]:
    """A function that fits an estimator."""

    def fit(X: Any, _: Any) -> Any:
        import lowdim

        return getattr(lowdim, name)(**params).fit(X)

    return fit


def neighbors(how: str) -> Callable[[Any, Any], Any]:
    """A function that computes the graph of 15 neighbours."""

    def search(X: Any, _: Any) -> Any:
        import lowdim

        return lowdim.neighbors(X, 15, method=how)

    return search


def assess(X: Any, _: Any) -> Any:
    """The trustworthiness of a map that is two of the columns, on a sample of the objects."""
    import lowdim

    return lowdim.trustworthiness(X, np.ascontiguousarray(X[:, 300:302]), n_neighbors=15)


def of_number(X: Any, labels: Any, found: Any) -> dict[str, float]:
    """A result that is a number."""
    return {"trustworthiness": float(found)}


IMAGES, MILLION = "Fashion-MNIST 70,000 x 784", "sheets 1,000,000 x 50"
TSNE = {"max_iter": 750, "random_state": 0}
CASES = {
    "knn": Case(IMAGES, neighbors("exact"), of_graph, 0.1),
    "umap": Case(IMAGES, method("UMAP", random_state=0), of_map, 0.25),
    "tsne": Case(IMAGES, method("TSNE", **TSNE), of_map, 0.6),
    "pca": Case(IMAGES, method("PCA", n_components=50), of_map),
    "knn-1m": Case(MILLION, neighbors("approximate"), of_graph, 0.35),
    "umap-1m": Case(MILLION, method("UMAP", random_state=0), of_map, 1.5),
    "tsne-1m": Case(MILLION, method("TSNE", **TSNE), of_map, 5.0),
    "umap-10m": Case(
        "sheets 10,000,000 x 50", method("UMAP", random_state=0), of_map, 20.0, repeat=1
    ),
    "isomap-20k": Case(
        "Fashion-MNIST 20,000 x 784", method("Isomap", n_neighbors=10), of_map, times=10.0
    ),
    "cmds-20k": Case(
        "distances of 20,000", method("ClassicalMDS", metric="precomputed"), of_map, times=10.0
    ),
    "quality": Case(IMAGES, assess, of_number),
    "smacof-20k": Case(
        "Fashion-MNIST 20,000 x 784",
        method("MDS", method="smacof", n_init=1, max_iter=100, random_state=0),
        of_map,
        times=10.0,
    ),
}


def work(name: str, device: str, folder: Path) -> dict[str, Any]:
    """Run a case on a device, in this process."""
    import lowdim

    case = CASES[name]
    X, labels = DATA_SETS[case.data](folder)
    seconds = []
    result = None
    for _ in range(1 + (1 if device == "cpu" else case.repeat)):
        started = time.perf_counter()
        with lowdim.compute(device=device):
            result = case.fit(X, labels)
        seconds.append(time.perf_counter() - started)
    found: dict[str, Any] = {"first": seconds[0], "warm": min(seconds[1:])}
    if device != "cpu":
        import torch

        found["gigabytes"] = torch.cuda.max_memory_allocated() / 1e9 if "cuda" in device else 0.0
    found["quality"] = case.judge(X, labels, result)
    return found


def main(arguments: list[str]) -> int:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--device", default="cuda", help="default: cuda")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of {FASHION}")
    parser.add_argument("--no-cpu", action="store_true", help="leave out the CPU engine")
    parser.add_argument("--save", type=Path, help="file for the figures, as JSON")
    parser.add_argument("--work", nargs=2, metavar=("CASE", "DEVICE"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        case, device = options.work
        print(json.dumps(work(case, device, options.data)))
        return 0
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"no case is called {', '.join(unknown)}; there are {', '.join(CASES)}")
    rows: dict[str, dict[str, Any]] = {}
    for name in options.cases:
        devices = [options.device] if options.no_cpu else [options.device, "cpu"]
        rows[name] = {device: _in_a_process(name, device, options.data) for device in devices}
        print(_line(name, rows[name], options.device), flush=True)
    if options.save:
        options.save.write_text(json.dumps(rows, indent=1))
    return 0


def _in_a_process(name: str, device: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", "gpu", "--work", name, device]
    done = subprocess.run(
        [*command, "--data", str(folder)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        return {"error": done.returncode}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _line(name: str, row: dict[str, Any], device: str) -> str:
    """One row of the table."""
    case = CASES[name]
    goal = f"{case.goal:g} s" if case.goal else f"{case.times:g} x" if case.times else "-"
    there, cpu = row[device], row.get("cpu")
    if "error" in there:
        return f"| {name} | {case.data} | failed |"
    parts = [
        name,
        case.data,
        f"{there['warm']:.2f} s (goal {goal})",
        f"first {there['first']:.1f} s",
        f"{there['gigabytes']:.1f} GB",
        _quality(there["quality"]),
    ]
    if cpu is not None and "error" not in cpu:
        ratio = cpu["warm"] / there["warm"]
        parts += [f"CPU {cpu['warm']:.2f} s, {ratio:.1f} x", _quality(cpu["quality"])]
    return "| " + " | ".join(parts) + " |"


def _quality(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in found.items())
