"""Starts of t-SNE and its relatives, and of UMAP."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.starts import given_start
from lowdim.numerics.svd import principal_scores
from lowdim.objects.objects import Objects
from lowdim.spectral.spectral_start import spectral_start
from lowdim.spectral.starts import landmark_start

SPREAD_STARTS = ("spectral", "pca", "random", "tswspectral")
SPREAD_SIZE = 10.0  # extent of a start of UMAP along every axis
SPREAD_NOISE = 1e-5  # noise on it, in units of its extent
START_SIZE = 1e-4  # standard deviation of the first coordinate of a start of t-SNE


def layout_start(
    init: Any,
    dim: int,
    objects: Objects,
    graph: Any,
    random: np.random.RandomState,
) -> Array:
    """The start of t-SNE and its relatives: very small coordinates.

    `graph` is a NeighborGraph or a symmetric CSR matrix, of which only the links are used.

    init="pca" uses the principal components of vectors, or landmark scaling of given
    dissimilarities, or, if only a graph is known, spectral initialisation. An array is used as it
    is.
    """
    names = ("pca", "spectral", "random")
    n, shape = objects.n, (objects.n, dim)
    if not isinstance(init, str):
        return given_start(init, shape, names)
    checks.choice(init, "init", names)
    if init == "random":
        return np.asarray(START_SIZE * random.standard_normal(shape))
    vectors = objects.rows_for("init='pca'") if objects.has_vectors else None
    if init == "pca" and vectors is not None:
        start = principal_scores(vectors, dim, random)
    elif init == "pca" and objects.complete and not objects.measured:
        given = objects.all_pairs()
        start = landmark_start(lambda chosen: given[chosen], n, dim, random)
    else:
        given_links = graph.adjacency() if isinstance(graph, NeighborGraph) else graph
        links = given_links.astype(np.float32)
        links.data[:] = 1
        start = spectral_start(links, dim, random, rows=vectors)
    start = np.asarray(start, dtype=np.float64)
    size = float(start[:, 0].std())
    start = start * (START_SIZE / size if size > 0 else 0.0)
    flat = np.ptp(start, axis=0) == 0  # a coordinate without extent would never get a gradient
    start[:, flat] = START_SIZE * random.standard_normal((n, int(flat.sum())))
    return np.asarray(start)


def spread_start(
    init: Any, dim: int, graph: Any, random: np.random.RandomState, rows: Any = None
) -> Array:
    """The start of UMAP: the same extent along every axis.

    Parameters
    ----------
    init : {"spectral", "pca", "random", "tswspectral"} or array of shape (n, dim)
    dim : int
        Number of coordinates.
    graph : symmetric CSR matrix of shape (n, n)
        The fuzzy graph.
    random : RandomState
    rows : array, CSR matrix or RowBlocks, default=None
        The objects as vectors, if they are vectors.
    """
    shape = (graph.shape[0], dim)
    if not isinstance(init, str):
        start = given_start(init, shape, SPREAD_STARTS).astype(np.float64)
    elif init in ("spectral", "tswspectral"):
        start = spectral_start(graph, dim, random, rows=rows)
    elif init == "random":
        start = random.uniform(-1, 1, shape)
    elif rows is None:
        raise ValueError("init='pca' needs vectors; use 'spectral' for dissimilarities.")
    else:
        start = principal_scores(rows, dim, random)
    return spread_out(start, random, SPREAD_SIZE, SPREAD_NOISE)


def spread_out(Y: Array, random: np.random.RandomState, size: float, noise: float) -> Array:
    """A start scaled to the range `size` along every axis, centred at 0, with a little noise.

    Noise is drawn for the objects in their order along the first axis, so that it does not depend
    on the order of the rows.
    """
    columns = np.ascontiguousarray(Y.T, dtype=np.float64)  # NumPy is slow along short axes
    low, high = columns.min(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    width = np.where(high > low, high - low, 1)
    columns = size * ((columns - (low + high) / 2) / width)
    added = np.empty(Y.shape)
    added[backend().stable_order(Y[:, 0])] = random.normal(scale=noise * size, size=Y.shape)
    return np.asarray(columns.T + added, order="C")
