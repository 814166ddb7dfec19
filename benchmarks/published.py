"""The protocol of a published comparison: `python -m benchmarks published [--only muraro,4eq]`.

Five maps of each data set by each method are judged by the measures of Huang et al., beside the
values that they published for the method of the same name and, with `--peers`, beside the maps of
other libraries. A last part judges how UMAP keeps the shape of data whose shape is known.

The data are those of the repository hyhuang00/scRNA-DR2020 on GitHub (the files of its folder
`data`, and `mnist.npz` with the pixels `X` and the digits `y` of MNIST), in the folder `published`
of the folder of real data. A data set that is not there is left out.

References
----------
Huang, Wang, Rudin and Browne, "Towards a comprehensive evaluation of dimension reduction methods
for transcriptomic data visualization", Communications Biology 5:719, 2022.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.published_values import PUBLISHED
from benchmarks.quality import Array

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "https://github.com/hyhuang00/scRNA-DR2020/tree/main/data"
COLUMNS = 70  # first principal components of the data
NEIGHBORS = 30
TRIPLETS = 5  # of each object
SAMPLE, SAMPLE_SEED = 1_000, 100  # objects whose distances are compared, as published
LARGE = 20_000  # objects above which the SVM is approximated
ROUNDING = 1e-4  # of the published values
HEADER = """\
| data | method | measure | ours | peer | published | worse than |
| --- | --- | --- | --- | --- | --- | --- |"""
LOWER_IS_BETTER = ("branch jumps",)

MAPS = """
import sys, warnings
import numpy as np
from {module} import {name}
warnings.simplefilter("ignore")
X = np.load(sys.argv[1])
for seed in range({seeds}):
    model = {name}({arguments})
    np.save(f"{{sys.argv[2]}}/{{seed}}.npy", model.{call}(X))
"""


@dataclass(frozen=True)
class DataSet:
    """Vectors in a file with, in another, the classes."""

    file: str
    labels: str = ""

    def read(self, folder: Path) -> tuple[Array, Array | None]:
        path = folder / self.file
        if path.suffix == ".json":
            return np.array(json.loads(path.read_text(encoding="utf-8"))), None
        if path.suffix == ".npz":
            return _principal_components(path)
        y = np.load(folder / self.labels).astype(int) if self.labels else None
        return np.ascontiguousarray(np.load(path)[:, :COLUMNS]), y


@dataclass(frozen=True)
class Method:
    """Our class, and where there is one, the class of another library and its call."""

    ours: str
    peer: str = ""
    call: str = "fit_transform"
    arguments: str = "n_components=2, random_state=seed"  # of the other class


@dataclass
class Row:
    """The values of a measure on the maps of one data set by one method, one of each seed."""

    data: str
    method: str
    measure: str
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)

    @property
    def published(self) -> tuple[float, float] | None:
        return PUBLISHED.get((self.data, self.method), {}).get(self.measure)

    @property
    def worse_than(self) -> str:
        """The comparisons in which our mean is worse than theirs by more than their spread."""
        sign = -1.0 if self.measure in LOWER_IS_BETTER else 1.0
        others = {"peer": _mean_and_spread(self.peer), "published": self.published}
        mean = float(np.mean(self.ours))
        return ", ".join(
            name
            for name, other in others.items()
            if other is not None and sign * mean < sign * other[0] - other[1] - ROUNDING
        )


DATA_SETS = {
    "muraro": DataSet("muraro_log_pca.npy", "muraro_labels.npy"),
    "4eq": DataSet("4eq_log_pca.npy", "4eq_labels.npy"),
    "8eq": DataSet("8eq_log_pca.npy", "8eq_labels.npy"),
    "lineage": DataSet("lineage_dataset.npy", "lineage_label.npy"),
    "mammoth": DataSet("mammoth_3d.json"),
    "ercc": DataSet("zheng_ercc_log_pca.npy"),
    "monocyte": DataSet("zheng_monocyte_log_pca.npy"),
    "mnist": DataSet("mnist.npz"),
}
METHODS = {
    "UMAP": Method("lowdim.UMAP", "umap.UMAP"),
    "TSNE": Method("lowdim.TSNE", "openTSNE.TSNE", "fit"),
    "PaCMAP": Method("lowdim.PaCMAP", "pacmap.PaCMAP"),
    "TriMap": Method("lowdim.TriMap", "trimap.TRIMAP", arguments="verbose=False"),
    "LargeVis": Method("lowdim.LargeVis"),
    "PHATE": Method("lowdim.PHATE", "phate.PHATE", arguments="random_state=seed, verbose=0"),
    "MultiscaleSNE": Method("lowdim.MultiscaleSNE"),
    "NeRV": Method("lowdim.NeRV"),
    "PCA": Method("lowdim.PCA"),
}
ALL_PAIRS = {"NeRV": 5_000}  # most objects of methods whose time grows with their square


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    print(HEADER)
    for name in options.only:
        if name in SHAPES:
            print_rows(judge_shape(name, options.seeds, options.peers))
        elif not (options.data / DATA_SETS[name].file).exists():
            print(f"{name}: no {options.data / DATA_SETS[name].file}, skipped; see {SOURCE}")
        else:
            X, y = DATA_SETS[name].read(options.data)
            for method in options.methods:
                if len(X) <= ALL_PAIRS.get(method, len(X)):
                    print_rows(judge(name, method, X, y, options.seeds, options.peers))
    print("\nMean and standard deviation over seeds. Worse: by more than their spread.")
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    data = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data")) / "published"
    parser = argparse.ArgumentParser(prog="python -m benchmarks published", description=__doc__)
    known = [*DATA_SETS, *SHAPES]
    parser.add_argument("--only", default=",".join(known), metavar="DATA,...")
    parser.add_argument("--methods", default=",".join(METHODS), metavar="METHOD,...")
    parser.add_argument("--seeds", type=int, default=5, help="maps of each method")
    parser.add_argument("--data", type=Path, default=data, metavar="DIR", help="the data sets")
    parser.add_argument(
        "--peers",
        nargs="?",
        const=sys.executable,
        default="",
        metavar="PYTHON",
        help="measure other libraries too, of this Python or of another",
    )
    options = parser.parse_args(arguments)
    for name, choices in (("only", known), ("methods", list(METHODS))):
        setattr(options, name, getattr(options, name).split(","))
        for chosen in getattr(options, name):
            if chosen not in choices:
                parser.error(f"--{name}: there is no {chosen!r} in {', '.join(choices)}")
    return options


def judge(name: str, method: str, X: Array, y: Array | None, seeds: int, python: str) -> list[Row]:
    """The measures of the maps of a data set by a method."""
    return _judge(name, method, X, seeds, python, lambda Y, seed: measures(X, Y, y, seed))


def judge_shape(name: str, seeds: int, python: str) -> list[Row]:
    """The measures of maps by UMAP of data whose shape is known."""
    X, measure = SHAPES[name]()
    return _judge(name, "UMAP", X, seeds, python, lambda Y, seed: measure(X, Y))


def _judge(
    name: str,
    method: str,
    X: Array,
    seeds: int,
    python: str,
    measured: Callable[[Array, int], dict[str, float]],
) -> list[Row]:
    rows: dict[str, Row] = {}
    made = METHODS[method]
    ours = Method(made.ours)
    sides = [("ours", sys.executable, ours.ours, ours.call, ours.arguments)]
    if python and made.peer:
        sides.append(("peer", python, made.peer, made.call, made.arguments))
    for side, interpreter, path, call, arguments in sides:
        for seed, Y in enumerate(maps(X, path, call, arguments, seeds, interpreter)):
            for measure, value in measured(Y, seed).items():
                row = rows.setdefault(measure, Row(name, method, measure))
                getattr(row, side).append(value)
    return list(rows.values())


def maps(
    X: Array, path: str, call: str, arguments: str, seeds: int, python: str
) -> Iterator[Array]:
    """Maps by a class with its default parameters, made in a process of its own."""
    module, name = path.rsplit(".", 1)
    code = MAPS.format(module=module, name=name, call=call, arguments=arguments, seeds=seeds)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        subprocess.run([python, "-c", code, f"{folder}/X.npy", folder], check=True)
        for seed in range(seeds):
            yield np.load(f"{folder}/{seed}.npy").astype(np.float64)


def measures(X: Array, Y: Array, y: Array | None, seed: int) -> dict[str, float]:
    """The measures of the published protocol; those by classes only where they are known."""
    from lowdim.quality import neighborhood_preservation

    found: dict[str, float] = {}
    if y is not None:
        with warnings.catch_warnings():
            # a class of Muraro's cells has fewer members than there are folds
            warnings.filterwarnings("ignore", "The least populated class")
            found["SVM accuracy"] = svm_accuracy(Y, y, seed)
            found["5-NN accuracy"] = knn_accuracy(Y, y)
    n_rows = len(X) if len(X) <= LARGE else None
    n_sample = min(SAMPLE, len(X))
    sample = np.random.default_rng(SAMPLE_SEED).choice(len(X), n_sample, replace=False)
    found |= {
        "30 neighbors kept": float(
            neighborhood_preservation(X, Y, NEIGHBORS, n_rows=n_rows, random_state=seed)
        ),
        "random triplets": random_triplets(X, Y, seed),
        "spearman": distance_correlation(X[sample], Y[sample]),
    }
    if y is not None:
        found |= centroids_kept(X, Y, y)
    return found


def svm_accuracy(Y: Array, y: Array, seed: int) -> float:
    """Accuracy of a support vector machine with a Gaussian kernel on the scaled map, 10 folds."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import scale
    from sklearn.svm import SVC, LinearSVC

    model = SVC()
    if len(Y) > LARGE:
        kernel = Nystroem(gamma=1 / Y.shape[1], n_components=300, random_state=seed)
        model = make_pipeline(kernel, LinearSVC(tol=1e-5, random_state=seed))
    return float(cross_val_score(model, scale(Y), y, cv=10).mean())


def knn_accuracy(Y: Array, y: Array) -> float:
    """Accuracy of five nearest neighbours on the map, 10 folds."""
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    return float(cross_val_score(KNeighborsClassifier(5), Y, y, cv=10).mean())


def random_triplets(X: Array, Y: Array, seed: int) -> float:
    """Share of random triplets whose nearer pair is the same in the data and on the map."""
    n = len(X)
    first = np.repeat(np.arange(n), TRIPLETS)
    second, third = np.random.default_rng(seed).integers(n, size=(2, n * TRIPLETS))
    nearer = [_lengths(Z, first, second) < _lengths(Z, first, third) for Z in (X, Y)]
    return float(np.mean(nearer[0] == nearer[1]))


def distance_correlation(X: Array, Y: Array) -> float:
    """Rank correlation of distances, a point's from itself too, which `lowdim.quality` omits."""
    from scipy.spatial.distance import cdist
    from scipy.stats import spearmanr

    return float(spearmanr(cdist(X, X).ravel(), cdist(Y, Y).ravel()).statistic)


def centroids_kept(X: Array, Y: Array, y: Array) -> dict[str, float]:
    """Neighbours among the centroids of the classes, and rank correlation of their distances."""
    from scipy.spatial.distance import cdist

    classes = np.unique(y)
    k = min((len(classes) + 2) // 4, 10)
    centers = [np.array([Z[y == c].mean(axis=0) for c in classes]) for Z in (X, Y)]
    near = [np.argsort(cdist(c, c), axis=1)[:, 1 : k + 1] for c in centers]
    kept = [len(np.intersect1d(a, b)) for a, b in zip(*near, strict=True)]
    return {
        "centroid neighbors": float(np.mean(kept)) / k,
        "centroid distances": distance_correlation(*centers),
    }


def geodesic_correlation(X: Array, Y: Array) -> dict[str, float]:
    """Rank correlation of distances on the map with those along the neighbour graph."""
    from lowdim.quality import assess

    value = assess(X, Y, random_state=0).geodesic_correlation
    return {"geodesic correlation": float("nan") if value is None else float(value)}


Shape = tuple[Array, Callable[[Array, Array], dict[str, float]]]


def _digits() -> Shape:
    from sklearn.datasets import load_digits

    return load_digits().data, geodesic_correlation


def _s_curve() -> Shape:
    from lowdim.data import s_curve

    return np.asarray(s_curve(2_000, random_state=0)[0]), geodesic_correlation


def _strip() -> Shape:
    """A flat rectangle, ten times as long as wide."""
    return np.random.default_rng(0).uniform(size=(2_000, 2)) * [10, 1], geodesic_correlation


BRANCHES, BRANCH_POINTS, TREE_COLUMNS = 10, 300, 50
JUMP_STEP, JUMP_FACTOR = 10, 5.0  # objects averaged in a step; a jump is this many median steps


def _tree(noise: float = 0.1) -> Shape:
    """Branches of unit length, each in a direction of its own from the end of an earlier one."""
    random = np.random.default_rng(0)
    ends = [np.zeros(TREE_COLUMNS)]
    branches = []
    for branch in range(BRANCHES):
        start = ends[random.integers(max(branch, 1))]
        direction = random.normal(size=TREE_COLUMNS)
        direction /= np.linalg.norm(direction)
        places = np.linspace(0, 1, BRANCH_POINTS)[:, None]
        branches.append(start + places * direction)
        ends.append(start + direction)
    X = np.concatenate(branches)
    X += noise / np.sqrt(TREE_COLUMNS) * random.normal(size=X.shape)

    return X, branch_jumps


def branch_jumps(X: Array, Y: Array) -> dict[str, float]:
    """Mean number of jumps along a branch: steps much longer on the map than the median one."""
    steps = Y.reshape(BRANCHES, -1, JUMP_STEP, Y.shape[1]).mean(axis=2)
    lengths = np.linalg.norm(np.diff(steps, axis=1), axis=2)
    jumps = lengths > JUMP_FACTOR * np.median(lengths, axis=1, keepdims=True)
    return {"branch jumps": float(jumps.sum(axis=1).mean())}


SHAPES: dict[str, Callable[[], Shape]] = {
    "digits": _digits,
    "s-curve": _s_curve,
    "strip": _strip,
    "tree": _tree,
}


def print_rows(rows: list[Row]) -> None:
    """Print the rows as they are known, in Markdown."""
    for row in rows:
        values = (_mean_and_spread(row.ours), _mean_and_spread(row.peer), row.published)
        cells = [f"{v[0]:.4f} ± {v[1]:.4f}" if v else "-" for v in values]
        named = [row.data, row.method, row.measure]
        print("| " + " | ".join([*named, *cells, row.worse_than]) + " |", flush=True)


def _mean_and_spread(values: list[float]) -> tuple[float, float] | None:
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=min(1, len(values) - 1)))


def _lengths(Z: Array, first: Array, second: Array) -> Array:
    return np.asarray(np.linalg.norm(Z[first] - Z[second], axis=1))


def _principal_components(path: Path) -> tuple[Array, Array]:
    from lowdim import PCA

    with np.load(path) as file:
        pixels = file["X"].reshape(len(file["X"]), -1).astype(np.float32)
        return PCA(n_components=COLUMNS).fit_transform(pixels), file["y"].astype(int)
