"""Starts of iterative methods: by classical scaling, and by eigenvectors of a random walk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from lowdim import checks
from lowdim.backends import backend, subspace
from lowdim.backends.native.algebra import gram, times
from lowdim.backends.native.dense import orthonormal, product, sparse_inverse
from lowdim.backends.numpy_blocks import scale_entries
from lowdim.checks import Array
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.graph import components
from lowdim.numerics.eigenpairs import fix_signs, start_eigenpairs
from lowdim.numerics.svd import principal_scores
from lowdim.runtime.elementary import cosine_of_turns
from lowdim.spectral.laplacian import degrees
from lowdim.spectral.scaling import gram_operator, squared_means

LANDMARKS = 200  # of `landmark_start`
FACTOR_FLOPS = 1e9  # operations of a factorisation up to which eigenvectors are more accurate
SHIFT = 1e-8  # of the spectrum [0, 2], so that the Laplacian has an inverse
MIN_COMPONENT = 50  # vertices; smaller components are placed at random
FAILURES = (ArithmeticError, np.linalg.LinAlgError, RuntimeError)  # of eigensolvers


def classical_start(D: Array, k: int) -> Array:
    """Classical scaling of a matrix of dissimilarities, without the checks of `scaling`."""
    values, vectors = start_eigenpairs(gram_operator(D), k)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)).astype(D.dtype))


def landmark_start(
    distances: Callable[[Array], Array], n: int, k: int, random: np.random.RandomState
) -> Array:
    """Landmark scaling (de Silva and Tenenbaum 2004) of n objects.

    `distances` is a function from some objects to their distances to all objects.
    """
    chosen = np.sort(random.permutation(n)[: max(LANDMARKS, 2 * k)])
    rows = distances(chosen.astype(np.int32))
    D = np.ascontiguousarray(rows[:, chosen])
    D = np.maximum(D, D.T)
    eigenpairs = start_eigenpairs(gram_operator(D), k)
    kept = eigenpairs.values > 1e-12 * eigenpairs.values.max()
    scale = 1 / np.sqrt(np.where(kept, eigenpairs.values, np.inf))
    offsets = 0.5 * (squared_means(D).astype(D.dtype)[:, None] - rows**2)
    return product(offsets.T, (eigenpairs.vectors * scale).T.astype(D.dtype))


def spectral_start(graph: Any, k: int, random: np.random.RandomState, *, rows: Any = None) -> Array:
    """Coordinates from the smoothest non-constant eigenvectors of a graph, to a few digits.

    The components of a disconnected graph are embedded separately. They are placed around the
    principal coordinates of their means if vectors are given, else on a spiral. If the eigensolver
    fails, random coordinates are used, with a warning. `rows` are the objects as an array, a CSR
    matrix or RowBlocks.
    """
    from scipy.spatial import cKDTree

    count, labels = components(graph)
    if count == 1:
        return _modes([graph], k, random)[0]
    sizes = np.bincount(labels)
    centers = _component_centers(labels, sizes, k, rows)
    nearest = np.asarray(cKDTree(centers).query(centers, k=2)[1])[:, 1]
    gaps = np.sqrt(np.square(centers - centers[nearest]).sum(axis=1))
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
            by_graph[i] = _accurate_modes(graphs[i], k, seed, random)
        except FAILURES as error:
            by_graph[i] = _random_modes(graphs[i], k, random, error)
    return [by_graph[i] for i in range(len(graphs))]


def _random_modes(graph: Any, k: int, random: np.random.RandomState, error: Exception) -> Array:
    checks.warn(f"The spectral start failed ({error}); a random one is used instead.")
    return np.asarray(random.uniform(-1, 1, (graph.shape[0], k)))


def _wide(graph: Any) -> bool:
    """Whether a graph is too large for accurate eigenvectors."""
    limit = int(np.sqrt(FACTOR_FLOPS / max(graph.shape[0], 1)))
    return bool(backend().level_structure(graph, limit)[1] > limit)


def _accurate_modes(graph: Any, k: int, seed: int, random: np.random.RandomState) -> Array:
    """Those of a small or narrow graph, to about seven digits; random ones of very few vertices."""
    n = graph.shape[0]
    if n < k + 2:
        return np.asarray(random.uniform(-1, 1, (n, k)))
    weights = graph.astype(np.float64)
    roots = np.sqrt(degrees(weights))
    weights.data = -scale_entries(weights, 1 / roots, np.float64)
    L = (weights + (1 + SHIFT) * eye_array(n, format="csr")).tocsr()
    null = (roots / np.sqrt(np.square(roots).sum()))[:, None]

    def step(V: Array, a: float, b: float, W: Array | None) -> Array:
        return backend().spmm(L, V, scale=a, shift=b, before=W)

    problem = subspace.Problem(step, 2.0, null, gram, times, lambda V: orthonormal(V)[0])
    start = np.random.RandomState(seed).uniform(-1, 1, (n, min(subspace.width(k), n - 1)))
    modes = subspace.inverse_modes(problem, sparse_inverse(L), start, k)
    return fix_signs(modes / roots[:, None])


def _component_centers(labels: Array, sizes: Array, k: int, rows: Any) -> Array:
    """Positions of the components of a graph, with coordinates of at most 1 in absolute value."""
    count = len(sizes)
    if rows is not None and count > k:
        if isinstance(rows, RowBlocks):
            sums = sum(rows.map(_sums_of_block, labels, count))
        else:
            sums = _sums_of_block(rows, 0, labels, count)
        means = np.asarray(sums) / sizes[:, None]
        centers = principal_scores(means, k)
        size = float(np.abs(centers).max())
        if size > 0:
            return np.asarray(centers / size)
    # Evenly spread points of a spiral; further dimensions repeat it with other phases.
    place = np.arange(count)[:, None] + 0.5
    golden = (3 - np.sqrt(5)) / 2
    phases = np.arange(k) / 4
    return np.asarray(np.sqrt(place / count) * cosine_of_turns(golden * place + phases))


def _sums_of_block(rows: Any, first: int, labels: Array, count: int) -> Array:
    """The sum of the rows of a block that have each label; `first` is the number of the first."""
    return backend().group_sums(rows, labels[first : first + rows.shape[0]], count)
