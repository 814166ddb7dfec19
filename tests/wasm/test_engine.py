"""Fits in WebAssembly, run by Node, have the same bits as those of Python.

Skipped without Emscripten and Node; `make wasm` compiles the engine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lowdim

ROOT = Path(__file__).parents[2]
NEEDED = ("em++", "node", "npm", "make")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)), reason=f"needs {', '.join(NEEDED)}"
)
DIGITS = load_digits().data
GRID = np.stack(np.meshgrid(np.arange(18.0), np.arange(18.0)), axis=-1).reshape(-1, 2)


def cloud(n: int, d: int, groups: int = 3) -> np.ndarray:
    """Uniform groups far from each other."""
    X = np.random.RandomState(1).uniform(size=(n, d))
    X[:, 0] += 50 * (np.arange(n) % groups)
    return X


def city_blocks(X: np.ndarray) -> np.ndarray:
    return np.abs(X[:, None] - X[None]).sum(axis=2)


Job = tuple[str, np.ndarray, list[Any], Callable[[np.ndarray], np.ndarray]]
"""Method and parameters of the engine, the data, and the same fit in Python."""


def tsne(X: np.ndarray, max_iter: int, **options: Any) -> Job:
    names = {"perplexity": "perplexity", "init": "init", "random_state": "seed"}
    given = {names[name]: value for name, value in options.items()}
    model = lowdim.TSNE(max_iter=max_iter, **{"random_state": 0, **options})
    return "tsne", X, [2, {"maxIter": max_iter, **given}], model.fit_transform


def umap(X: np.ndarray, epochs: int, dim: int = 2, **options: Any) -> Job:
    names = {"n_neighbors": "neighbors", "min_dist": "minDist", "random_state": "seed"}
    given = {names[name]: value for name, value in options.items()}
    model = lowdim.UMAP(n_components=dim, n_epochs=epochs, **{"random_state": 0, **options})
    return "umap", X, [dim, {"epochs": epochs, **given}], model.fit_transform


def mds(X: np.ndarray, max_iter: int, metric: str = "euclidean") -> Job:
    model = lowdim.MDS(max_iter=max_iter, metric=metric, random_state=0)
    options = {"maxIter": max_iter, "precomputed": metric == "precomputed"}
    return "mds", X, [2, options], model.fit_transform


EQUAL: dict[str, Job] = {
    "t-SNE": tsne(DIGITS[:600], 300),
    "t-SNE, perplexity": tsne(DIGITS[:200], 60, perplexity=7.5),
    "t-SNE, random start": tsne(DIGITS[:200], 60, init="random", random_state=3),
    "t-SNE, single precision": tsne(DIGITS, 40),
    "t-SNE, tree": tsne(cloud(4100, 12), 110),
    "t-SNE, few dimensions": tsne(cloud(400, 4), 60),
    "t-SNE, many dimensions": tsne(cloud(60, 300), 60),
    "t-SNE, one dimension": tsne(cloud(300, 1), 120),
    "t-SNE, equally far neighbours": tsne(GRID, 255),
    "UMAP": umap(DIGITS[:600], 120),
    "UMAP, seed": umap(DIGITS[:600], 50, random_state=5, n_neighbors=8, min_dist=0.4),
    "UMAP, all pairs": umap(DIGITS[:300], 100),
    "UMAP, smooth start": umap(DIGITS, 20),
    "UMAP, components": umap(cloud(900, 6), 60),
    "UMAP, many components": umap(cloud(600, 10, groups=24), 60),
    "UMAP, two components": umap(cloud(300, 10, groups=2), 60),
    "UMAP, equally far neighbours": umap(GRID, 60),
    "UMAP, three axes": umap(DIGITS[:300], 60, 3),
    "metric MDS": mds(DIGITS[:400], 60),
    "metric MDS, few columns": mds(cloud(150, 1), 60),
    "metric MDS, dissimilarities": mds(city_blocks(DIGITS[:100]), 60, "precomputed"),
}


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Job]], list[Path]]:
    subprocess.run(["make", "--silent", "wasm"], cwd=ROOT, check=True, capture_output=True)
    built = ROOT / "build" / "wasm"

    def run(jobs: list[Job]) -> list[Path]:
        folder, listed = tmp_path_factory.mktemp("fits"), []
        for number, (method, X, parameters, _) in enumerate(jobs):
            file, out = folder / f"{number}.bin", folder / f"{number}.out"
            np.ascontiguousarray(X, dtype="<f8").tofile(file)
            rows, columns = X.shape
            listed.append({"method": method, "file": str(file), "rows": rows, "columns": columns})
            listed[-1] |= {"parameters": parameters, "out": str(out)}
        (folder / "jobs.json").write_text(json.dumps(listed))
        script = Path(__file__).with_name("fits.mjs")
        files = (script, built / "engine.mjs", built / "lowdim.wasm", folder / "jobs.json")
        result = subprocess.run(["node", *map(str, files)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return [folder / f"{number}.out" for number in range(len(jobs))]

    return run


def read_map(file: Path, like: np.ndarray) -> np.ndarray:
    return np.fromfile(file, dtype="<f8").reshape(like.shape)


def test_iterative_methods_have_the_same_bits(fits: Any) -> None:
    different = []
    for (name, (*_, X, _, fit)), file in zip(EQUAL.items(), fits([*EQUAL.values()]), strict=True):
        expected = fit(X)
        if not np.array_equal(read_map(file, expected), expected):
            different.append(name)
    assert not different


def test_spectral_methods_agree_to_a_billionth_of_the_width(fits: Any) -> None:
    D = np.sqrt(city_blocks(DIGITS[:200]))  # Euclidean distances
    jobs = [
        ("pca", DIGITS, [2], lowdim.PCA(2).fit_transform),
        ("pca", cloud(30, 100), [3], lowdim.PCA(3).fit_transform),
        ("classicalMds", D, [2], lowdim.ClassicalMDS(2, metric="precomputed").fit_transform),
    ]
    for (*_, X, _, fit), file in zip(jobs, fits(jobs), strict=True):
        expected = fit(X)
        gap = np.abs(read_map(file, expected) - expected).max()
        assert gap <= 1e-9 * np.ptp(expected)


def test_neighbors_are_the_same_and_quality_agrees_to_rounding(fits: Any) -> None:
    X = DIGITS[:400]
    Y = lowdim.PCA(2).fit_transform(X)
    jobs = [("neighbors", X, [12], None), ("quality", X, [Y.ravel().tolist(), 15], None)]
    found, measured = (json.loads(file.read_text()) for file in fits(jobs))
    graph = lowdim.neighbors(X, 12)
    assert found["indices"] == graph.indices.ravel().tolist()
    assert found["distances"] == graph.distances.ravel().tolist()
    ranks = lowdim.quality.compare_ranks(X, Y, 15)
    expected = {
        "rnxAuc": float(ranks.rnx_auc),
        "trustworthiness": float(ranks.trustworthiness),
        "continuity": float(ranks.continuity),
    }
    assert measured == pytest.approx(expected, rel=1e-12)
