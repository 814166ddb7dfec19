"""Starts of t-SNE and its relatives, and of UMAP."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.starts import check_start
from lowdim.numerics.svd import principal_scores
from lowdim.objects.objects import Objects
from lowdim.runtime.elementary import exp, log, normal_numbers
from lowdim.spectral.starts import landmark_start, spectral_start

UMAP_STARTS = ("spectral", "pca", "random", "tswspectral")
# Extents of the axes of a start of UMAP, in units of the distance at which its kernel is one half.
SPREAD_EXTENT = 13.0  # least extent; 10 for the default kernel, as in umap-learn for all axes
SPREAD_LONG = 26.0  # least extent of an axis along which edges are short
SPREAD_SPACING = 0.25  # distance between points that fill the extent of such an axis evenly
SPREAD_SHORT = 0.5  # a median length of edges that is short, in units of that distance
SPREAD_MANY = 1_000_000  # objects from which edges that are short need not become shorter
SPREAD_EDGES = 200_000  # edges whose median length is computed
SPREAD_NOISE = 1e-5  # noise on a start, in units of its extent
START_SIZE = 1e-4  # standard deviation of the first coordinate of a start of t-SNE


def sne_start(
    init: Any, dim: int, objects: Objects, graph: Any, random: np.random.RandomState
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
        return check_start(init, shape, names)
    checks.choice(init, "init", names)
    if init == "random":
        return np.asarray(START_SIZE * normal_numbers(random, shape))
    vectors = objects.rows_for("init='pca'") if objects.has_vectors else None
    if init == "pca" and vectors is not None:
        start = principal_scores(vectors, dim)
    elif init == "pca" and objects.complete and not objects.measured:
        D = objects.all_pairs()
        start = landmark_start(lambda chosen: D[chosen], n, dim, random)
    else:
        given_links = graph.adjacency() if isinstance(graph, NeighborGraph) else graph
        links = given_links.astype(np.float32)
        links.data[:] = 1
        start = spectral_start(links, dim, random, rows=vectors)
    start = np.asarray(start, dtype=np.float64)
    size = float(start[:, 0].std())
    start = start * (START_SIZE / size if size > 0 else 0.0)
    flat = np.ptp(start, axis=0) == 0  # a coordinate without extent would never get a gradient
    start[:, flat] = START_SIZE * normal_numbers(random, (n, int(flat.sum())))
    return np.asarray(start)


def umap_start(
    init: Any,
    dim: int,
    graph: Any,
    curve: tuple[float, float],
    random: np.random.RandomState,
    rows: Any = None,
) -> Array:
    """The start of UMAP; see `spread_extents` for its extent.

    `graph` is the fuzzy graph, `rows` are the objects if they are vectors without missing values.
    """
    shape = (graph.shape[0], dim)
    if not isinstance(init, str):
        start = check_start(init, shape, UMAP_STARTS).astype(np.float64)
    elif init in ("spectral", "tswspectral"):
        start = spectral_start(graph, dim, random, rows=rows)
    elif init == "random":
        start = random.uniform(-1, 1, shape)
    elif rows is None:
        raise ValueError(
            f"{argument('init', 'pca')} needs vectors without missing values; use 'spectral' for "
            "other data."
        )
    else:
        start = principal_scores(rows, dim)
    a, b = curve
    half = exp(np.clip(-log(a) / (2 * b), -5, 5))  # where the kernel is one half
    return spread_out(start, random, half * spread_extents(start, graph), SPREAD_NOISE)


def spread_extents(start: Array, graph: Any) -> Array:
    """The extent of a start of UMAP along each of its axes, in units of the width of the kernel.

    Repulsion is short-ranged, and all forces act at once, without the noise of sampled edges: the
    layout does not unfold a curve, a branch or a long sheet that starts crowded. So an axis along
    which the edges of the graph are short, as they are in such shapes, gets an extent in which n
    points have room. If edges are longer than that, by a factor f, the start has not much of the
    shape of the graph: the extent is smaller by f^3, down to one in which all points repel each
    other and can still change places. Much larger extents would tear long shapes. Edges shorten
    less with n than that distance if the data have more than two dimensions, which says nothing
    about the start; so from a million objects on, edges are compared with that of a million.
    """
    n, dim = start.shape
    spacing = 1 / np.sqrt(n)  # between n points that fill a unit square evenly
    at = np.unique(np.linspace(0, graph.nnz - 1, min(graph.nnz, SPREAD_EDGES)).astype(np.int64))
    if not len(at):
        return np.full(dim, SPREAD_EXTENT)
    heads = np.searchsorted(graph.indptr, at, side="right") - 1
    lengths = np.abs(start[heads] - start[graph.indices[at]])
    ranges = np.ptp(start, axis=0)
    edges = np.median(lengths, axis=0) / np.where(ranges > 0, ranges, 1)
    excess = np.maximum(edges * np.sqrt(min(n, SPREAD_MANY)) / SPREAD_SHORT, 1)
    largest = max(SPREAD_SPACING / spacing, SPREAD_LONG)
    return np.asarray(np.maximum(largest / (excess * excess * excess), SPREAD_EXTENT))


def spread_out(Y: Array, random: np.random.RandomState, extents: Array, noise: float) -> Array:
    """A start scaled to given extents along its axes, centred at 0, with a little noise.

    Noise, in units of the extents, is drawn for the objects in their order along the first axis, so
    that it does not depend on the order of the rows.
    """
    columns = np.ascontiguousarray(Y.T, dtype=np.float64)  # NumPy is slow along short axes
    low, high = columns.min(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    width = np.where(high > low, high - low, 1)
    columns = (columns - (low + high) / 2) / width
    added = np.empty(Y.shape)
    added[backend().stable_order(Y[:, 0])] = noise * normal_numbers(random, Y.shape)
    return np.asarray((columns.T + added) * extents, order="C")
