"""Spectral initialisation: leading eigenvectors of the random walk on a graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, dense
from lowdim.matrices.laplacian import degrees, laplacian
from lowdim.relations.blocks import RowBlocks
from lowdim.relations.graph import components
from lowdim.solvers.spectral import bottom_eigenpairs, fix_signs
from lowdim.solvers.svd import principal_scores

EXACT_UP_TO = 2000  # vertices up to which eigenvectors are computed to high accuracy
FACTOR_FLOPS = 4e9  # the same for larger graphs whose factorisation takes fewer operations
MIN_COMPONENT = 50  # vertices; smaller components are placed at random


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
        return _modes(graph, k, random)
    sizes = np.bincount(labels)
    centers = _component_centers(labels, sizes, k, rows)
    gaps = np.asarray(cKDTree(centers).query(centers, k=2)[0])[:, 1]
    room = np.maximum(gaps, 0.1 * np.median(gaps)) / 2
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    out = centers[labels]
    for piece in range(count):
        own = order[ends[piece] - sizes[piece] : ends[piece]]
        if len(own) == 1:
            continue
        inside = np.asarray(random.uniform(-1, 1, (len(own), k)))
        if len(own) >= MIN_COMPONENT:
            inside = _modes(_component(graph, own), k, random)
        size = float(np.abs(inside).max())
        out[own] += inside * (room[piece] / size if size > 0 else 0.0)
    return out


def _component(graph: Any, own: Array) -> Any:
    """The graph of the vertices of one component, given in ascending order."""
    renamed = np.zeros(graph.shape[0], dtype=graph.indices.dtype)
    renamed[own] = np.arange(len(own))
    part = graph[own]
    parts = (part.data, renamed[part.indices], part.indptr)
    return type(part)(parts, shape=(len(own), len(own)))


def _modes(graph: Any, k: int, random: np.random.RandomState) -> Array:
    """The k leading non-constant eigenvectors of the random walk on a connected graph."""
    n = graph.shape[0]
    if n < k + 2:
        return np.asarray(random.uniform(-1, 1, (n, k)))
    seed = random.randint(2**31 - 1)
    limit = int(np.sqrt(FACTOR_FLOPS / n))
    try:
        if n > EXACT_UP_TO and backend().level_structure(graph, limit)[1] > limit:
            return smooth_modes(graph, k, seed)
        weights = graph.astype(np.float64)
        with warnings.catch_warnings():  # low accuracy is enough for a start
            warnings.simplefilter("ignore", UserWarning)
            return bottom_eigenpairs(
                laplacian(weights),
                k,
                B=degrees(weights),
                null=np.ones(n),
                tol=1e-6,
                seed=seed,
            ).vectors
    except (ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
        checks.warn(f"The spectral start failed ({error}); a random one is used instead.")
        return np.asarray(random.uniform(-1, 1, (n, k)))


def smooth_modes(graph: Any, k: int, seed: int) -> Array:
    """As `_modes` to a few digits, for large graphs."""
    n = graph.shape[0]
    mass = degrees(graph).astype(np.float64)
    scale = 1 / np.sqrt(mass)
    width = -(-(k + 4) // 8) * 8  # the kernel of sparse products handles eight columns at once
    start = np.random.RandomState(seed).uniform(-1, 1, (n, width)).astype(np.float32)
    V = backend().smooth_modes(graph, scale, start, k)
    return fix_signs(V * scale[:, None])


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
    from scipy.sparse import csr_array

    own = labels[first : first + rows.shape[0]]
    parts = (np.ones(len(own)), (own, np.arange(len(own))))
    return np.asarray(dense(csr_array(parts, shape=(count, len(own))) @ rows), np.float64)
