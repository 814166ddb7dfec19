"""Where iterations start: classical scaling of all distances, or of some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.matrices.gram import gram_operator, squared_means
from lowdim.relations.geodesics import geodesics
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.pairs import Pairs
from lowdim.solvers.spectral import top_eigenpairs
from lowdim.solvers.svd import principal_axes, scores

ALL = 1500  # up to this many objects incomplete pairs are filled in completely
LANDMARKS = 200


def classical_start(D: Array, k: int, n_jobs: int | None = None) -> Array:
    """Classical scaling of a full matrix; how Euclidean it is does not matter for a start."""
    found = top_eigenpairs(gram_operator(D, n_jobs), k, n_jobs=n_jobs)
    return np.asarray(found.vectors * np.sqrt(np.maximum(found.values, 0)).astype(D.dtype))


def landmark_start(
    distances: Callable[[Array], Array],
    n: int,
    k: int,
    random: np.random.RandomState,
    n_jobs: int | None = None,
) -> Array:
    """Landmark scaling (de Silva and Tenenbaum 2004): `distances` measures from some objects."""
    chosen = np.sort(random.permutation(n)[: max(LANDMARKS, 2 * k)])
    rows = distances(chosen.astype(np.int32))
    D = np.ascontiguousarray(rows[:, chosen])
    D = np.maximum(D, D.T)
    found = top_eigenpairs(gram_operator(D, n_jobs), k, n_jobs=n_jobs)
    kept = found.values > 1e-12 * found.values.max()
    scale = np.where(kept, found.values, np.inf) ** -0.5
    offsets = 0.5 * (squared_means(D, n_jobs).astype(D.dtype)[:, None] - rows**2)
    return np.asarray(offsets.T @ (found.vectors * scale.astype(D.dtype)))


def start_from_pairs(
    pairs: Pairs, k: int, random: np.random.RandomState, n_jobs: int | None = None
) -> Array:
    """Classical scaling of known pairs, the unknown ones filled in by shortest paths."""
    if pairs.complete:
        return classical_start(pairs.matrix(pairs.values), k, n_jobs)
    graph = pairs.graph(pairs.values)
    if pairs.n > ALL:
        return landmark_start(
            lambda sources: geodesics(graph, sources, n_jobs=n_jobs), pairs.n, k, random, n_jobs
        )
    D = geodesics(graph, n_jobs=n_jobs)
    return classical_start(np.maximum(D, D.T), k, n_jobs)


def random_start(
    n: int, k: int, size: float, random: np.random.RandomState, dtype: np.dtype[np.generic]
) -> Array:
    """Points spread evenly over a centred box whose distances have the root mean square `size`."""
    spread = (random.uniform(size=(n, k)) - 0.5) * size * np.sqrt(6 / k)
    return np.asarray(spread, dtype=dtype)


START = 1e-4  # standard deviation of the first coordinate where a map begins to unfold


def spectral_start(graph: Any, k: int, random: np.random.RandomState, n_jobs: int | None) -> Array:
    """TO BE REPLACED."""
    return random.standard_normal((graph.shape[0], k))


def layout_start(
    init: Any,
    shape: tuple[int, int],
    random: np.random.RandomState,
    *,
    vectors: Any = None,
    dissimilarities: Array | None = None,
    graph: NeighborGraph,
    n_jobs: int | None = None,
) -> Array:
    """Where a map of an attracting and repelling force begins: "pca", "spectral", "random" of a
    tiny size, or an array as it is.

    "pca" means principal components of vectors and, their equal, classical scaling of
    dissimilarities; where only a graph is known, its spectral layout.
    """
    if not isinstance(init, str):
        return given_start(init, shape, ("pca", "spectral", "random"))
    checks.choice(init, "init", ("pca", "spectral", "random"))
    n, k = shape
    if init == "random":
        return np.asarray(START * random.standard_normal(shape))
    if init == "pca" and vectors is not None:
        most = min(k, *vectors.shape)
        axes = principal_axes(vectors, most, seed=random, n_jobs=n_jobs)
        start = scores(vectors, axes.mean, axes.components, n_jobs)
    elif init == "pca" and dissimilarities is not None:
        given = dissimilarities
        start = landmark_start(lambda chosen: given[chosen], n, k, random, n_jobs)
    else:
        start = spectral_start(graph.adjacency(), k, random, n_jobs)
    start = np.asarray(start, dtype=np.float64)
    size = float(start[:, 0].std())
    out = START * random.standard_normal(shape)  # for axes that the start does not have
    if size > 0:
        out[:, : start.shape[1]] = start * (START / size)
    return np.asarray(out)


def given_start(init: Any, shape: tuple[int, int], names: tuple[str, ...]) -> Array:
    """A start given as an array."""
    found = np.shape(init) if isinstance(init, list | tuple | np.ndarray) else type(init).__name__
    if found != shape:
        listed = ", ".join(map(repr, names))
        raise ValueError(
            f"init must be one of {listed} or an array of shape {shape} (n_samples, "
            f"n_components); got {found}."
        )
    return np.asarray(checks.vectors(init, name="init"))


def apart(Y: Array) -> Array:
    """Coinciding points moved apart by very little, and flat dimensions opened: there the stress
    has no gradient to follow."""
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
