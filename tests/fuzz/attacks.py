"""Random attacks on the library, by class; each try is repeated exactly by its seed.

An attack returns what happened ("fine" or "refused"), or raises `Failure`. Crashes and hangs of the
interpreter are noticed by `adversary`, which runs the attacks in another process.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import model_files
import numpy as np
import table_files
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info

import lowdim
from lowdim import data, tables
from lowdim.catalog import CATALOG
from lowdim.checks import is_sparse
from lowdim.learned.parametric import parametric
from lowdim.runtime import checkpoint
from lowdim.runtime.context import current

# Kinds of errors that an input may be answered with; RuntimeError, as in scikit-learn, if a sparse
# graph is not connected.
CLEAR = (ValueError, TypeError, MemoryError, RuntimeError)
QUICK = {"max_iter": 15, "n_epochs": 10, "perplexity": 3.0, "n_neighbors": 5, "n_clusters": 2}
QUICK_NETWORK = {"max_iter": 2, "layers": (8,)}
METHODS = [method.name for method in CATALOG if method.objects != "subjects"]
parametric.IMITATION_STEPS, parametric.IMITATION_EPOCHS = 20, 1  # most of the time otherwise
GROWING = [method.name for method in CATALOG if method.grows]
LABELLED = {method.name for method in CATALOG if method.objects == "labelled"}


class Failure(Exception):
    """A try that went wrong: the class of failure, then what happened."""


def make(name: str, **params: Any) -> Any:
    method = getattr(lowdim, name)
    known = inspect.signature(method).parameters
    quick = {**QUICK, **QUICK_NETWORK} if "layers" in known else QUICK
    usual = {key: value for key, value in quick.items() if key in known}
    return method(**{**usual, "n_components": 2, **params})


def fit(estimator: Any, X: Any) -> Any:
    """The fitted estimator; labels are 0 and 1 in turn where a method needs them."""
    if type(estimator).__name__ not in LABELLED:
        return estimator.fit(X)
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    return estimator.fit(X, np.arange(shape[0] if shape else 1) % 2)


def answered(call: Callable[[], Any], named: str = "") -> Any:
    """The result of a call, or None if it was refused by a clear error (that names `named`)."""
    try:
        return call()
    except CLEAR as error:
        text = str(error)
        if not text or (named and named not in text):
            raise Failure("unnamed error", f"{type(error).__name__}: {text[:200]}") from error
        return None
    except Exception as error:
        raise Failure("odd error", f"{type(error).__name__}: {str(error)[:200]}") from error


def finite(result: Any, what: str) -> None:
    for part in result if isinstance(result, tuple) else (result,):
        entries = np.asarray(part)
        if entries.dtype == object:  # a table of numbers and categories
            entries = np.array([v for v in entries.ravel() if isinstance(v, float)])
        if not np.isfinite(entries).all():
            raise Failure("silent NaN", what)


# --- inputs -----------------------------------------------------------------------------------


def rows(random: Any) -> Any:
    """A small table, more or less odd."""
    n, d = random.randint(4, 40), random.randint(1, 6)
    X = random.standard_normal((n, d))
    kind = random.randint(16)
    if kind == 0:
        return X * 10.0 ** random.randint(-160, 160)
    if kind == 1:
        return X.astype(np.float32) * np.float32(10.0 ** random.randint(-30, 30))
    if kind == 2:
        return X[random.randint(0, 3, n)]  # few different rows
    if kind == 3:
        return np.round(X)
    if kind == 4:
        X[random.randint(n), random.randint(d)] = random.choice([np.nan, np.inf, -np.inf, 1e308])
    elif kind == 5:
        X[:, random.randint(d)] = 1.0
    elif kind == 6:
        return X.astype(random.choice(["i1", "u1", "i8", "f2", "?", ">f4", ">f8", "c8", "O", "U8"]))
    elif kind == 7:
        return random.choice([csr_array, csr_matrix])(np.where(abs(X) > 0.7, X, 0))
    elif kind == 8:
        return X.tolist()
    elif kind == 9:
        return np.asfortranarray(X)[:, ::-1]
    elif kind == 10:
        shape = [(n,), (0, d), (n, 0), (1, d), (2, d), (n, d, 2), ()][random.randint(7)]
        return random.standard_normal(shape)
    elif kind == 11:
        X[n // 2 :] += 1e6  # two far clusters
    elif kind == 12:
        return np.zeros((n, d))
    elif kind == 13:
        return random.choice([None, "rows", 3, {}, b"x"])
    return X


def dissimilarities(random: Any) -> Any:
    X = random.standard_normal((random.randint(3, 30), 3))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    kind, (i, j) = random.randint(9), random.randint(0, len(D), 2)
    if kind == 0:
        D[i, j] = random.choice([np.nan, np.inf, -1.0, 1e300, 0.0])
    elif kind == 1:
        D[i, j] = D[j, i] = random.choice([np.nan, np.inf, -1.0, 1e300, 0.0])
    elif kind == 2:
        D = D * 10.0 ** random.randint(-150, 150)
    elif kind == 3:
        D = D[:-1]
    elif kind == 4:
        return csr_array(np.where(np.median(D) > D, D, 0))
    elif kind == 5:
        D = np.round(D)
    elif kind == 6:
        D[i, i] = 1.0
    elif kind == 7:
        D[...] = 0.0
    return D


def fit_and_ask(estimator: Any, X: Any) -> str:
    """Fit, then place and map back the training objects."""
    if answered(lambda: fit(estimator, X)) is None:
        return "refused"
    if not estimator._leaves_out:  # with a warning
        finite(estimator.embedding_, "embedding_")
    if getattr(estimator, "metric", "") == "precomputed" or "Clustering" in repr(estimator):
        return "fine"
    placed = answered(lambda: estimator.transform(X))
    if placed is not None:
        finite(placed, "transform")
        back = answered(lambda: estimator.inverse_transform(placed))
        if back is not None:
            finite(back, "inverse_transform")
    return "fine"


def attack_input(random: Any) -> str:
    return fit_and_ask(make(random.choice(METHODS)), rows(random))


def attack_dissimilarities(random: Any) -> str:
    name = random.choice([m for m in METHODS if hasattr(getattr(lowdim, m)(), "metric")])
    return fit_and_ask(make(name, metric="precomputed"), dissimilarities(random))


@functools.cache
def fitted_models() -> list[tuple[str, Any, Any, dict[str, bytes]]]:
    """Models with new objects and the contents of their files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        found = []
        for name, estimator, new in model_files.models():
            estimator.save(path)
            found.append((name, estimator, new, model_files.contents(path)))
        return found


def attack_new_objects(random: Any) -> str:
    models = fitted_models()
    estimator = models[random.randint(len(models))][1]
    X = rows(random)
    placed = answered(lambda: estimator.transform(X))
    if placed is None:
        return "refused"
    finite(placed, "transform")
    return "fine"


def attack_coordinates(random: Any) -> str:
    models = fitted_models()
    name, estimator, _, _ = models[random.randint(len(models))]
    back = answered(lambda: estimator.inverse_transform(rows(random)))
    if back is None:
        return "refused"
    if "missing" not in name and "gower" not in name:  # their training rows have gaps
        finite(back, "inverse_transform")
    return "fine"


# --- parameters -------------------------------------------------------------------------------

ODD = [
    None, True, -1, 0, 1, 2, 7, 10**6, 2**31, 2**63, 10**30, 0.5, -0.5, 1e-300, 1e300, np.nan,
    np.inf, "", "x", "auto", "random", b"x", [], [1, 2], (), {}, {"a": 1}, {1: 2}, np.zeros(3),
    np.zeros((20, 2)), np.float32(3), np.int8(3), object(), print, 3 + 4j, np.array(5), set(),
]  # fmt: skip
HEAVY = {"n_init", "max_iter", "n_epochs", "n_functions", "iterated_power", "n_jobs"}


def attack_parameter(random: Any) -> str:
    name = random.choice(METHODS)
    known = list(inspect.signature(getattr(lowdim, name)).parameters)
    parameter, value = random.choice(known), ODD[random.randint(len(ODD))]
    large = isinstance(value, int | float) and abs(value) > 100
    if parameter in HEAVY and large:
        value = 3
    X = np.random.RandomState(0).standard_normal((20, 3))
    with open(os.devnull, "w") as sink, _quiet(sink):
        estimator = answered(lambda: fit(make(name, **{parameter: value}), X), parameter)
    if estimator is None:
        return "refused"
    if not estimator._leaves_out:  # with a warning
        finite(estimator.embedding_, f"{name}({parameter}={value!r})")
    return "fine"


class _quiet:
    """Sends what `verbose` prints elsewhere."""

    def __init__(self, sink: Any) -> None:
        self.sink = sink

    def __enter__(self) -> None:
        import sys

        self.before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self.sink

    def __exit__(self, *error: object) -> None:
        import sys

        sys.stdout, sys.stderr = self.before


# --- files ------------------------------------------------------------------------------------


def attack_model_file(random: Any) -> str:
    models = fitted_models()
    name, _, new, members = models[random.randint(len(models))]
    changed, how = model_files.damaged(members, random)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model_files.write(path, changed)
        if random.uniform() < 0.1:  # of the file as a whole
            content = bytearray(path.read_bytes())
            for _ in range(random.randint(1, 4)):
                content[random.randint(len(content))] = random.randint(256)
            path.write_bytes(bytes(content[: random.randint(1, len(content))]))
        estimator = answered(lambda: lowdim.load(path), "model")
    if estimator is None:
        return "refused"
    gaps = "missing" in name or "gower" in name  # training rows with missing values
    placed = answered(lambda: estimator.transform(new))
    if placed is not None and not gaps:
        finite(placed, f"{name}: {how}")
        back = answered(lambda: estimator.inverse_transform(placed))
        if back is not None:
            finite(back, f"{name}: {how}")
    return "fine"


def attack_table(random: Any) -> str:
    """A damaged table: numbers without NaN, or an error that names the file."""
    name, content = table_files.table(random)
    options = {
        "missing": random.choice(["error", "drop", "mean"]),
        "standardize": bool(random.randint(2)),
        "categorical": random.choice(["label", "onehot", "ignore"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(table_files.damaged(content, random))
        read = answered(lambda: tables.read(path, **options), name)
    if read is None:
        return "refused"
    finite(read.X.data if is_sparse(read.X) else read.X, f"{name} {options}")
    return "fine"


def attack_graph(random: Any) -> str:
    """A graph with damaged contents, given to a method."""
    X = random.standard_normal((30, 3))
    graph = lowdim.neighbors(X, k=12)
    part = random.choice(["indices", "distances"])
    array, how = model_files.damaged_array(getattr(graph, part), random)
    graph = replace(graph, **{part: array, "fingerprint": ""})
    name = random.choice(["Isomap", "LaplacianEigenmaps", "TSNE", "UMAP", "DiffusionMap", "SNE"])
    estimator = make(name)
    if answered(lambda: estimator.fit(X, graph=graph)) is None:
        return "refused"
    if not estimator._leaves_out:  # with a warning
        finite(estimator.embedding_, f"{name}: {part} {how}")
    return "fine"


# --- against brute force ----------------------------------------------------------------------

METRICS = [
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "canberra", "braycurtis",
    "cosine", "correlation", "hamming", "jensenshannon",
]  # fmt: skip


def attack_search(random: Any) -> str:
    """Exact neighbours of rows with duplicates, ties and far groups are those of all pairs."""
    metric, n = random.choice(METRICS), random.randint(5, 300)
    X = random.uniform(size=(n, random.randint(2, 12))) + 1e-3
    kind = random.randint(5)
    if kind == 0:
        X = X[random.randint(0, n, n)]  # with duplicates
    elif kind == 1:
        X = np.round(3 * X) + 1  # with ties
        X = X[X.std(axis=1) > 0]  # correlation is not defined for the others
    elif kind == 2:
        X[n // 2 :] *= 1e3
    elif kind == 3:
        X = X.astype(np.float32)
    n = len(X)
    if n < 2:
        return "refused"
    k = random.randint(1, min(n - 1, 20) + 1)
    graph = lowdim.neighbors(X, k, metric=metric, method="exact")
    wanted = cdist(X.astype(float), X.astype(float), metric)
    own = np.take_along_axis(wanted, graph.indices.reshape(n, k), axis=1)
    np.fill_diagonal(wanted, np.inf)
    nearest = np.sort(wanted, axis=1)[:, :k]
    # Cosine and correlation are differences from 1; float32 rows have 24 bits.
    rounding = 1e-6 * np.abs(X).max() if X.dtype == np.float32 else 1e-12 * np.abs(X).max()
    if not np.allclose(own, nearest, rtol=1e-5 if kind == 3 else 1e-9, atol=rounding + 1e-12):
        raise Failure("other neighbours", f"{metric} {X.shape} k={k} kind {kind}")
    given = graph.distances.reshape(n, k)
    if not np.allclose(given, own, rtol=1e-4 if kind == 3 else 1e-7, atol=max(rounding, 3e-8)):
        raise Failure("other distances", f"{metric} {X.shape} k={k} kind {kind}")
    return "fine"


def attack_geodesics(random: Any) -> str:
    """Shortest paths through random graphs, also of several components, are SciPy's."""
    n = random.randint(2, 200)
    weights = random.uniform(size=(n, n)) * 10.0 ** random.randint(-8, 8)
    weights[random.uniform(size=(n, n)) > random.uniform(0.005, 0.2)] = 0
    if random.randint(2):
        weights = weights + weights.T
    graph = csr_array(weights)
    found = lowdim.geodesics(graph, path_method=random.choice(["auto", "D", "FW"]))
    wanted = shortest_path(graph, directed=True)
    if not np.allclose(found, wanted, rtol=1e-10, atol=0):
        raise Failure("other paths", f"n={n}, {graph.nnz} edges")
    return "fine"


# --- kept states ------------------------------------------------------------------------------

ITERATIVE = [
    name
    for name in METHODS
    if {"checkpoint", "callback"} <= set(inspect.signature(getattr(lowdim, name)).parameters)
    and "layers"
    not in inspect.signature(getattr(lowdim, name)).parameters  # forked without PyTorch
]
TABLE = data.s_curve(90, random_state=0)[0]


def killed(estimator: Any, iteration: int) -> None:
    """Fit in a child process, which is killed at an iteration."""
    child = os.fork()
    if child == 0:
        try:
            estimator.set_params(callback=functools.partial(_kill_at, iteration))
            fit(estimator, TABLE)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _kill_at(iteration: int, state: Any) -> bool:
    if state.iteration >= iteration:
        os.kill(os.getpid(), signal.SIGKILL)
    return False


@functools.cache
def whole_fit(name: str) -> Any:
    return fit(make(name), TABLE).embedding_


def attack_kill(random: Any) -> str:
    """A fit that was killed goes on, from whatever it left, to the bits of one that was not."""
    name = random.choice(ITERATIVE)
    with tempfile.TemporaryDirectory() as folder, _every_state():
        path = Path(folder) / "states"
        for _ in range(random.randint(1, 3)):
            killed(make(name, checkpoint=path), random.randint(1, 15))
        if not np.array_equal(fit(make(name, checkpoint=path), TABLE).embedding_, whole_fit(name)):
            raise Failure("other bits", f"{name} after it was killed")
    return "fine"


def attack_checkpoint(random: Any) -> str:
    """A damaged state of a fit is refused, or makes no difference."""
    name = random.choice(ITERATIVE)
    with tempfile.TemporaryDirectory() as folder, _every_state():
        path = Path(folder) / "states"
        killed(make(name, checkpoint=path), random.randint(1, 12))
        files = [file for file in Path(folder).rglob("*") if file.is_file() and file.stat().st_size]
        if not files:
            return "fine"
        file = files[random.randint(len(files))]
        content = bytearray(file.read_bytes())
        if random.randint(2):
            del content[random.randint(len(content)) :]
        else:
            for _ in range(random.randint(1, 4)):
                content[random.randint(len(content))] = random.randint(256)
        file.write_bytes(bytes(content))
        fitted = answered(lambda: fit(make(name, checkpoint=path), TABLE), "checkpoint")
    if fitted is None:
        return "refused"
    if not np.array_equal(fitted.embedding_, whole_fit(name)):
        raise Failure("other bits", f"{name} from a damaged state")
    return "fine"


class _every_state:
    """Keeps the state of every iteration, as a long fit would keep that of some."""

    def __enter__(self) -> None:
        self.before = checkpoint.SHARE
        checkpoint.SHARE = np.inf

    def __exit__(self, *error: object) -> None:
        checkpoint.SHARE = self.before


def attack_save(random: Any) -> str:
    """A model that is saved comes back as it was; what cannot come back is not saved."""
    name, X = random.choice(METHODS), rows(random)
    kinds = [np.array(["a", "b"]), np.array([0.0, 1.0]), np.array([True, False]),
             np.array(["x", 1], dtype=object), np.array(["2020", "2021"], "M8[Y]")]  # fmt: skip
    labels = kinds[random.randint(len(kinds))][np.arange(np.size(X, 0) if np.ndim(X) else 1) % 2]
    estimator = make(name)
    arguments = (X, labels) if name in LABELLED else (X,)
    if answered(lambda: estimator.fit(*arguments)) is None:
        return "refused"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            estimator.save(path)
        except ValueError as error:
            raise Failure("not saved", f"{name}: {error}") from error
        again = lowdim.load(path)
    if not np.array_equal(again.embedding_, estimator.embedding_, equal_nan=True):
        raise Failure("other bits", f"{name} after load")
    return "fine"


# --- signals, threads, refits ------------------------------------------------------------------


def attack_signal(random: Any) -> str:
    """Ctrl-C in the middle of a fit: a fitted estimator, or one that is not fitted."""
    name = random.choice(METHODS)
    X, _ = data.s_curve(200, random_state=0)
    estimator = make(name)
    if hasattr(estimator, "max_iter"):
        estimator.set_params(max_iter=5 if hasattr(estimator, "layers") else 500)
    delay = float(random.uniform(0.0005, 0.15))
    timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = limits()
    try:  # the signal may also come before the fit, or after it while the timer is joined
        timer.start()
        try:
            fit(estimator, X)
        finally:
            timer.cancel()
            timer.join()
    except KeyboardInterrupt:
        pass
    after = limits()
    if (after[0], {key: after[1][key] for key in before[1]}) != before:  # a fit may load libraries
        raise Failure("other limits", f"{name} after Ctrl-C: {before}, then {after}")
    if hasattr(estimator, "embedding_"):
        finite(estimator.embedding_, f"{name} after Ctrl-C")
        finite(estimator.transform(X[:3]), f"transform of {name} after Ctrl-C")
        return "fine"
    left = [key for key in vars(estimator) if key.endswith("_")]
    if left:
        raise Failure("mixed state", f"{name} after Ctrl-C: {left}")
    return "refused"


def limits() -> tuple[Any, dict[str, int]]:
    """The context of a computation, and the threads of BLAS by library."""
    return current(), {part["filepath"]: part["num_threads"] for part in threadpool_info()}


def attack_threads(random: Any) -> str:
    name = random.choice(METHODS)
    X = random.standard_normal((random.randint(20, 400), random.randint(2, 6)))
    maps = [fit(make(name, random_state=0, n_jobs=jobs), X).embedding_ for jobs in (1, 3)] if (
        "random_state" in inspect.signature(getattr(lowdim, name)).parameters
        and "n_jobs" in inspect.signature(getattr(lowdim, name)).parameters
    ) else [np.zeros(1)] * 2  # fmt: skip
    if not np.array_equal(*maps, equal_nan=True):
        raise Failure("other bits", name)
    return "fine"


def attack_refit(random: Any) -> str:
    """After a failed fit an estimator is not fitted."""
    name = random.choice(METHODS)
    estimator = fit(make(name), random.standard_normal((30, 3)))
    fitted = answered(lambda: fit(estimator, rows(random)))
    if fitted is None and any(key.endswith("_") for key in vars(estimator)):
        raise Failure("mixed state", name)
    return "refused" if fitted is None else "fine"


def attack_update(random: Any) -> str:
    """New objects join a map; if they are refused, the map is as it was."""
    new = rows(random)
    n_features = new.shape[1] if getattr(new, "ndim", 0) == 2 else 3
    estimator = make(random.choice(GROWING))
    if answered(lambda: estimator.fit(random.standard_normal((30, max(n_features, 1))))) is None:
        return "refused"  # two components of one feature
    before = estimator.embedding_.copy()
    if answered(lambda: estimator.update(new)) is None:
        if not np.array_equal(estimator.embedding_, before):
            raise Failure("mixed state", repr(estimator))
        return "refused"
    if not estimator._leaves_out:  # with a warning
        finite(estimator.embedding_, f"{estimator!r} after update")
    finite(estimator.drift_[np.isfinite(before).all(axis=1)], f"drift_ of {estimator!r}")
    return "fine"


ATTACKS: dict[str, Callable[[Any], str]] = {
    name.removeprefix("attack_"): function
    for name, function in list(globals().items())
    if name.startswith("attack_")
}


def attempt(attack: str, seed: int) -> str:
    """One try."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ATTACKS[attack](np.random.RandomState(seed))
