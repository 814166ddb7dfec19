"""Where iterations start: classical scaling of all distances, or of some."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim.checks import Array
from lowdim.matrices.gram import gram_operator, squared_means
from lowdim.relations.geodesics import geodesics
from lowdim.relations.pairs import Pairs
from lowdim.solvers.spectral import top_eigenpairs

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
