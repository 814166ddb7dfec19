"""How a map changes densities, and the empty regions between objects."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lowdim import checks
from lowdim.checks import Array
from lowdim.objects.neighbors import neighbors
from lowdim.quality.rows import Rows, blocks_of, data_rows, map_rows
from lowdim.runtime.scheduling import uses_threads


class DensityChange(NamedTuple):
    """Two differences of densities, 0 if they are alike.

    Attributes
    ----------
    difference : float
        Sum over the objects of the absolute differences of the densities.
    divergence : float
        Kullback-Leibler divergence of the densities on the map from those in the data.
    """

    difference: float
    divergence: float


@uses_threads
def density_change(
    X: Any,
    Y: Any,
    sigma: float = 0.1,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> DensityChange:
    """Compare the density of the objects around each of them, in the data and on the map.

    Parameters
    ----------
    X, Y, metric, metric_params, n_jobs
        As in `compare_ranks`; all pairs are compared.
    sigma : float, default=0.1
        Squared width of the Gaussian kernel, where the largest distance is 1.

    Returns
    -------
    DensityChange
        The two differences.

    References
    ----------
    Moor, Horn, Rieck and Borgwardt, "Topological autoencoders", ICML 2020.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(120, random_state=0)
    >>> lowdim.quality.density_change(X, 2 * X).difference < 1e-12
    True
    """
    checks.real(sigma, "sigma", 0, open_low=True)
    data = data_rows(X, metric, metric_params)
    before, after = (_densities(space, sigma) for space in (data, map_rows(Y, data.n)))
    divergence = float(np.sum(before * np.log(before / after)))
    return DensityChange(float(np.abs(before - after).sum()), divergence)


def _densities(space: Rows, sigma: float) -> Array:
    """The sum of a Gaussian of the distances from each object, as shares of one."""
    parts = blocks_of(np.arange(space.n, dtype=np.int32), space.n)
    largest = max(float(space.distances(part).max()) for part in parts)
    if largest == 0:
        raise ValueError(
            "X, Y: all objects are in the same place, so that densities are not defined."
        )
    sums = [
        np.exp((space.distances(part).astype(np.float64) / largest) ** 2 / -sigma).sum(axis=1)
        for part in parts
    ]
    density = np.concatenate(sums)
    return np.asarray(density / density.sum())


@uses_threads
def neighbor_dissimilarity(
    X: Any,
    Y: Any,
    n_neighbors: int = 20,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> float:
    """Measure by how much the map changes how many neighbours two objects share.

    Parameters
    ----------
    X, Y, metric, metric_params, n_jobs
        As in `compare_ranks`.
    n_neighbors : int, default=20
        Number of neighbours; objects are linked if one is among the nearest of the other.

    Returns
    -------
    float
        0 if nothing changes. It is the larger of two roots of sums over all pairs, of the squared
        gains and of the squared losses of shared neighbours, in units of n_neighbors. It grows with
        the number of objects.

    References
    ----------
    Fu, Zhang, Cai and Ren, "AtSNE: efficient and robust visualization on GPU through hierarchical
    optimization", KDD 2019.
    """
    n = data_rows(X, metric, metric_params).n
    k = checks.integer(n_neighbors, "n_neighbors", 1, n - 1, " (the number of other objects)")
    placed = map_rows(Y, n).objects.vectors("the map")
    graphs = (
        neighbors(X, k, metric=metric, metric_params=metric_params, method="exact"),
        neighbors(placed, k, method="exact"),
    )
    before, after = (_common_neighbors(np.asarray(graph.indices)) for graph in graphs)
    change = (before - after).tocoo().data / k
    return float(max(np.sqrt(np.sum(part**2)) for part in (change[change > 0], change[change < 0])))


def _common_neighbors(indices: Array) -> csr_array:
    """How many neighbours each pair of objects has in common."""
    n, k = indices.shape
    rows = np.repeat(np.arange(n), k)
    links = csr_array((np.ones(n * k), (rows, indices.ravel())), shape=(n, n))
    both = ((links + links.T) > 0).astype(np.float64)
    shared = (both @ both).tocoo()
    off = shared.row != shared.col
    return csr_array((shared.data[off], (shared.row[off], shared.col[off])), shape=(n, n))


@uses_threads
def gap_index(
    X: Any,
    Y: Any,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> float:
    """Measure how far the empty regions of a map are empty in the data.

    The objects on the map are the corners of Delaunay triangles. Their areas, as shares of all, are
    compared with those of the triangles of the same objects in the data.

    Parameters
    ----------
    X, metric, metric_params, n_jobs
        As in `compare_ranks`.
    Y : array-like of shape (n, 2)
        The map.

    Returns
    -------
    float
        Between 0 and 1: the sum of the differences of the two shares over that of the larger ones;
        lower is better.

    References
    ----------
    Ros, Arleo and Paulovich, "Measuring distortion in the empty regions of dimensionality reduction
    scatterplots with the gap index", arXiv 2607.28324, 2026.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(120, random_state=0)
    >>> lowdim.quality.gap_index(X[:, :2], 3 * X[:, :2]) < 1e-6
    True
    """
    from scipy.spatial import Delaunay, QhullError

    data = data_rows(X, metric, metric_params)
    placed = map_rows(Y, data.n)
    points = np.asarray(placed.objects.vectors("the map"), dtype=np.float64)
    if points.shape[1] != 2:
        raise ValueError(f"Y must have two columns to be triangulated, got {points.shape[1]}.")
    try:
        triangles = Delaunay(points).simplices
    except (QhullError, ValueError) as error:
        raise ValueError(
            "Y: all objects are on one line, so that there are no triangles."
        ) from error
    before, after = (_areas(space, triangles) for space in (data, placed))
    larger = np.maximum(before, after)
    return float(np.abs(after - before).sum() / larger.sum())


def _areas(space: Rows, triangles: Array) -> Array:
    """The areas of triangles by the lengths of their sides (Heron), as shares of all."""
    sides = np.sort([_lengths(space, triangles[:, pair]) for pair in combinations(range(3), 2)], 0)
    c, b, a = sides
    # Kahan's order of the terms, which keeps the digits of thin triangles
    squares = (a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c))
    areas = np.sqrt(np.maximum(squares, 0)) / 4
    if areas.sum() == 0:
        raise ValueError("X, Y: all triangles have the area 0, so that shares are not defined.")
    return np.asarray(areas / areas.sum())


def _lengths(space: Rows, pairs: Array) -> Array:
    """The distance of each pair of objects."""
    lengths = np.empty(len(pairs))
    order = np.argsort(pairs[:, 0], kind="stable")
    starts, firsts = pairs[order, 0], np.unique(pairs[:, 0])
    for part in blocks_of(firsts, space.n):
        at = order[slice(*np.searchsorted(starts, [part[0], part[-1] + 1]))]
        rows = space.distances(part)
        lengths[at] = rows[np.searchsorted(part, pairs[at, 0]), pairs[at, 1]]
    return lengths
