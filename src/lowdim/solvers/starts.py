"""Starts of iterative solvers: given, random, by classical scaling or principal components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.matrices.gram import gram_operator, squared_means
from lowdim.messages import argument
from lowdim.relations.geodesics import shortest_path_lengths
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.objects import Objects
from lowdim.relations.pairs import Pairs
from lowdim.solvers.spectral import top_eigenpairs
from lowdim.solvers.spectral_start import spectral_start
from lowdim.solvers.svd import principal_scores

FILL_IN_UP_TO = 1500  # objects up to which all unknown pairs are filled in by shortest paths
LANDMARKS = 200  # of `landmark_start`
SPREAD_STARTS = ("spectral", "pca", "random", "tswspectral")
SPREAD_SIZE = 10.0  # extent of a start of UMAP along every axis
SPREAD_NOISE = 1e-5  # noise on it, in units of its extent
START_SIZE = 1e-4  # standard deviation of the first coordinate of a start of t-SNE


def given_start(init: Any, shape: tuple[int, int], names: tuple[str, ...]) -> Array:
    """Check a start that the user gave as an array; `names` are the other values of init."""
    is_array = hasattr(init, "shape") or isinstance(init, list | tuple)
    found = np.shape(init) if is_array else repr(init)
    if found != shape:
        listed = ", ".join(map(repr, names))
        raise ValueError(
            f"{argument('init')} must "
            f"be one of {listed} or an array of shape {shape}, one row of n_components "
            f"coordinates for each object; got {found}."
        )
    return np.asarray(checks.vectors(init, name="init"))


def random_start(
    n: int, k: int, size: float, random: np.random.RandomState, dtype: np.dtype[np.generic]
) -> Array:
    """Uniform points in a centred cube, with root mean square distance `size`."""
    spread = (random.uniform(size=(n, k)) - 0.5) * size * np.sqrt(6 / k)
    return np.asarray(spread, dtype=dtype)


def classical_start(D: Array, k: int) -> Array:
    """Classical scaling of a matrix of dissimilarities, without the checks of `scaling`."""
    found = top_eigenpairs(gram_operator(D), k)
    return np.asarray(found.vectors * np.sqrt(np.maximum(found.values, 0)).astype(D.dtype))


def landmark_start(
    distances: Callable[[Array], Array],
    n: int,
    k: int,
    random: np.random.RandomState,
) -> Array:
    """Landmark scaling (de Silva and Tenenbaum 2004) of n objects.

    `distances` is a function from some objects to their distances to all objects.
    """
    chosen = np.sort(random.permutation(n)[: max(LANDMARKS, 2 * k)])
    rows = distances(chosen.astype(np.int32))
    D = np.ascontiguousarray(rows[:, chosen])
    D = np.maximum(D, D.T)
    found = top_eigenpairs(gram_operator(D), k)
    kept = found.values > 1e-12 * found.values.max()
    scale = np.where(kept, found.values, np.inf) ** -0.5
    offsets = 0.5 * (squared_means(D).astype(D.dtype)[:, None] - rows**2)
    return np.asarray(offsets.T @ (found.vectors * scale.astype(D.dtype)))


def start_from_pairs(pairs: Pairs, k: int, random: np.random.RandomState) -> Array:
    """Classical scaling of listed pairs; unknown pairs are filled in by shortest paths."""
    if pairs.complete:
        return classical_start(pairs.matrix(pairs.values), k)
    graph = pairs.graph(pairs.values)
    if pairs.n > FILL_IN_UP_TO:
        return landmark_start(
            lambda sources: shortest_path_lengths(graph, sources), pairs.n, k, random
        )
    D = shortest_path_lengths(graph)
    return classical_start(np.maximum(D, D.T), k)


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


def separated(Y: Array) -> Array:
    """Add small noise to coinciding points and to coordinates without extent, in place.

    The stress has no gradient there.
    """
    size = float(np.abs(Y).max(initial=0.0))
    nudge = 1e-4 * (size or 1.0) * np.random.RandomState(0).standard_normal(Y.shape)
    flat = np.ptp(Y, axis=0) <= 1e-9 * size
    Y[:, flat] += nudge[:, flat]
    _, kind, count = np.unique(
        np.round(Y / (1e-9 * (size or 1.0))), axis=0, return_inverse=True, return_counts=True
    )
    same = count[kind.ravel()] > 1
    Y[same] += nudge[same]
    return Y
