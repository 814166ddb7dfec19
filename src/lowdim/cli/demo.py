"""The classic pictures, from data that needs no download."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import lowdim
from lowdim import data, plot, tables
from lowdim.checks import Array
from lowdim.plot.canvas import new_figure, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture(NamedTuple):
    """How to make a picture, and what it shows."""

    make: Callable[[], Figure]
    sight: str


def draw(name: str, folder: Path) -> tuple[Path, float, str]:
    """Make a picture and save it: its path, the seconds it took, what to see in it."""
    require_matplotlib()  # before the computing, not after it
    start = perf_counter()
    picture = PICTURES[name]
    path = folder / f"{name}.png"
    plot.save(picture.make(), path)
    return path, perf_counter() - start, picture.sight


def _embed(estimators: dict[str, Any], X: Array) -> dict[str, Array]:
    """The embedding by each estimator, its title ending in the seconds it took."""
    maps = {}
    for name, estimator in estimators.items():
        start = perf_counter()
        Y = estimator.fit_transform(X)
        maps[f"{name}\n{perf_counter() - start:.2f} s"] = Y
    return maps


def swiss_roll() -> Figure:
    """The roll and its maps by eight methods."""
    X, t = data.swiss_roll(2000, random_state=0)
    lle = lowdim.LocallyLinearEmbedding
    estimators = {
        "PCA": lowdim.PCA(n_components=2),
        "Classical MDS": lowdim.ClassicalMDS(n_components=2),
        "Isomap": lowdim.Isomap(n_neighbors=10),
        "LLE": lle(n_neighbors=12),
        "Modified LLE": lle(n_neighbors=12, method="modified"),
        "LTSA": lle(n_neighbors=12, method="ltsa"),
        "Laplacian eigenmaps": lowdim.LaplacianEigenmaps(n_neighbors=10),
        "Diffusion map": lowdim.DiffusionMap(n_neighbors=10),
    }
    roll = {"Swiss roll\n2000 points": X}
    figure = plot.compare({**roll, **_embed(estimators, X)}, t, columns=3, align=False)
    view: Any = figure.axes[0]
    view.view_init(elev=10, azim=-75)
    return figure


def dimension() -> Figure:
    """Residual variance and eigenvalues of Isomap on the Swiss roll."""
    X, _ = data.swiss_roll(2000, random_state=0)
    isomap = lowdim.Isomap(n_neighbors=10, n_components=6).fit(X)
    figure = new_figure(7.0, 3.0, shown=False)
    left, right = figure.subplots(1, 2)
    plot.scree(
        isomap.residual_variance(6),
        left,
        label="residual variance",
        title="Isomap: what a map leaves out",
    )
    plot.scree(isomap.eigenvalues_, right, title="Isomap: eigenvalues")
    return figure


def digits() -> Figure:
    """Handwritten digits by six methods."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    estimators = {
        "PCA": lowdim.PCA(n_components=2),
        "Isomap": lowdim.Isomap(n_neighbors=10),
        "Modified LLE": lowdim.LocallyLinearEmbedding(n_neighbors=15, method="modified"),
        "Laplacian eigenmaps": lowdim.LaplacianEigenmaps(n_neighbors=10),
        "t-SNE": lowdim.TSNE(random_state=0),
        "UMAP": lowdim.UMAP(random_state=0),
    }
    images = X.reshape(-1, 8, 8)
    return plot.compare(_embed(estimators, X), y, images=images, columns=3)


def write_digits(folder: Path) -> Path:
    """The handwritten digits as a table, to try the commands on."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    kinds = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return tables.write(
        folder / "digits.csv",
        X.astype(int),
        names=names,
        labels={"digit": np.array(kinds)[y]},
        force=True,
    )


def write_wines(folder: Path) -> Path:
    """The wines of the quick start as a table, and every tenth of them as new objects."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    for name, step in (("new-wines.csv", 10), ("wines.csv", 1)):
        path = tables.write(
            folder / name,
            wine.data[::step],
            names=wine.feature_names,
            labels={"cultivar": np.array([f"cultivar {kind}" for kind in wine.target[::step]])},
            force=True,
        )
    return path


def bars() -> Figure:
    """Images of horizontal and vertical bars by a linear method and by a graph."""
    X, y = data.bars(1000, random_state=0)
    estimators = {
        "PCA": lowdim.PCA(n_components=2),
        "Laplacian eigenmaps": lowdim.LaplacianEigenmaps(n_neighbors=14, weights="binary"),
    }
    kinds = np.where(y == 0, "horizontal bar", "vertical bar")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the number of connected components")  # one for each kind
        maps = _embed(estimators, X)
    return plot.compare(maps, kinds)


def cities() -> Figure:
    """The world from a table of distances: its map from above a pole and from the side."""
    distances, names = data.cities()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The dissimilarities are not Euclidean")  # a globe is not
        Y = lowdim.ClassicalMDS(n_components=3, metric="precomputed").fit_transform(distances)
    west_to_east = Y[names.index("Tokyo")] - Y[names.index("New York")]
    south_to_north = Y[names.index("London")] - Y[names.index("Cape Town")]
    Y *= np.sign([west_to_east[0], south_to_north[1], south_to_north[2]])  # mirrored as on a map
    figure = new_figure(8.0, 4.2, shown=False)
    for ax, second in zip(figure.subplots(1, 2), (1, 2), strict=True):
        title = f"Classical MDS, dimensions 1 and {second + 1}"
        plot.scatter(Y[:, [0, second]], names=names, ax=ax, title=title)
    return figure


PICTURES = {
    "swiss-roll": Picture(
        swiss_roll, "PCA and MDS press the roll flat; Isomap, modified LLE and LTSA unroll it."
    ),
    "dimension": Picture(dimension, "The elbow at two: the roll is a surface."),
    "digits": Picture(
        digits, "t-SNE and UMAP part all ten; the eigenmaps spend both axes on what parts first."
    ),
    "bars": Picture(
        bars, "Variance mixes the two kinds of bars; the neighbour graph keeps them apart."
    ),
    "cities": Picture(
        cities,
        "The globe from distances alone: from above, then from the side, Pacific behind.",
    ),
}
