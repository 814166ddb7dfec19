"""Spectral initialisation: leading eigenvectors of the random walk on a graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.graph import components
from lowdim.numerics.eigenpairs import bottom_eigenpairs, fix_signs
from lowdim.numerics.svd import principal_scores
from lowdim.spectral.laplacian import degrees, laplacian

EXACT_UP_TO = 2000  # vertices up to which eigenvectors are computed to high accuracy
FACTOR_FLOPS = 4e9  # the same for larger graphs whose factorisation takes fewer operations
MIN_COMPONENT = 50  # vertices; smaller components are placed at random
FAILURES = (ArithmeticError, np.linalg.LinAlgError, RuntimeError)  # of eigensolvers


def spectral_start(
    graph: Any,
    k: int,
    random: np.random.RandomState,
    *,
    rows: Any = None,
) -> Array:
    """Coordinates from the smoothest non-constant eigenvectors of a graph, to a few digits.

    The components of a disconnected graph are embedded separately. They are placed around the
    principal coordinates of their means if vectors are given, else on a spiral. If the eigensolver
    fails, random coordinates are used, with a warning.

    Parameters
    ----------
    graph : symmetric CSR matrix
        Edge weights.
    k : int
        Number of coordinates.
    random : RandomState
    rows : array, CSR matrix or RowBlocks, default=None
        The objects as vectors.

    Returns
    -------
    array of shape (n, k)
    """
    from scipy.spatial import cKDTree

    count, labels = components(graph)
    if count == 1:
        return _modes([graph], k, random)[0]
    sizes = np.bincount(labels)
    centers = _component_centers(labels, sizes, k, rows)
    gaps = np.asarray(cKDTree(centers).query(centers, k=2)[0])[:, 1]
    room = np.maximum(gaps, 0.1 * np.median(gaps)) / 2
    large = sizes >= MIN_COMPONENT
    number = np.where(large, np.cumsum(large) - 1, -1).astype(np.int32)
    parts = backend().split(graph, number[labels], int(large.sum())) if large.any() else []
    modes = iter(_modes(parts, k, random))
    ends = np.cumsum(sizes)
    placed = np.empty((len(labels), k))  # one component after the other
    for piece in range(count):
        own = placed[ends[piece] - sizes[piece] : ends[piece]]
        own[:] = centers[piece]
        if len(own) == 1:
            continue
        inside = next(modes) if large[piece] else random.uniform(-1, 1, own.shape)
        size = float(np.abs(inside).max())
        own += inside * (room[piece] / size if size > 0 else 0.0)
    out = np.empty_like(placed)
    out[backend().stable_order(labels)] = placed
    return out


def _modes(graphs: list[Any], k: int, random: np.random.RandomState) -> list[Array]:
    """The k leading non-constant eigenvectors of the random walk on each of connected graphs."""
    seed = random.randint(2**31 - 1)
    rough = [number for number, graph in enumerate(graphs) if _wide(graph)]
    by_graph: dict[int, Array] = {}
    try:
        modes = backend().smooth_modes([graphs[i] for i in rough], k, seed) if rough else []
        by_graph = dict(zip(rough, map(fix_signs, modes), strict=True))
    except FAILURES as error:
        by_graph = {i: _random_modes(graphs[i], k, random, error) for i in rough}
    for i in sorted({*range(len(graphs))} - {*rough}):
        try:
            by_graph[i] = _exact_modes(graphs[i], k, seed, random)
        except FAILURES as error:
            by_graph[i] = _random_modes(graphs[i], k, random, error)
    return [by_graph[i] for i in range(len(graphs))]


def _random_modes(graph: Any, k: int, random: np.random.RandomState, error: Exception) -> Array:
    checks.warn(f"The spectral start failed ({error}); a random one is used instead.")
    return np.asarray(random.uniform(-1, 1, (graph.shape[0], k)))


def _wide(graph: Any) -> bool:
    """Whether a graph is too large for accurate eigenvectors."""
    n = graph.shape[0]
    limit = int(np.sqrt(FACTOR_FLOPS / max(n, 1)))
    return bool(n > EXACT_UP_TO and backend().level_structure(graph, limit)[1] > limit)


def _exact_modes(graph: Any, k: int, seed: int, random: np.random.RandomState) -> Array:
    """Those of a small or narrow graph, to high accuracy; random ones of very few vertices."""
    n = graph.shape[0]
    if n < k + 2:
        return np.asarray(random.uniform(-1, 1, (n, k)))
    weights = graph.astype(np.float64)
    with warnings.catch_warnings():  # low accuracy is enough for a start
        warnings.simplefilter("ignore", UserWarning)
        return bottom_eigenpairs(
            laplacian(weights), k, B=degrees(weights), null=np.ones(n), tol=1e-6, seed=seed
        ).vectors


def _component_centers(labels: Array, sizes: Array, k: int, rows: Any) -> Array:
    """Positions of the components of a graph, with coordinates of at most 1 in absolute value."""
    count = len(sizes)
    if rows is not None and count > k:
        if isinstance(rows, RowBlocks):
            sums = sum(rows.map(_sums_of_block, labels, count))
        else:
            sums = _sums_of_block(rows, 0, labels, count)
        means = np.asarray(sums) / sizes[:, None]
        centers = principal_scores(means, k, np.random.RandomState(0))
        size = float(np.abs(centers).max())
        if size > 0:
            return np.asarray(centers / size)
    # Evenly spread points of a spiral; further dimensions repeat it with other phases.
    place = np.arange(count)[:, None] + 0.5
    golden = np.pi * (3 - np.sqrt(5))
    phases = np.arange(k) * np.pi / 2
    return np.asarray(np.sqrt(place / count) * np.cos(golden * place + phases))


def _sums_of_block(rows: Any, first: int, labels: Array, count: int) -> Array:
    """The sum of the rows of a block that have each label; `first` is the number of the first."""
    return backend().group_sums(rows, labels[first : first + rows.shape[0]], count)
