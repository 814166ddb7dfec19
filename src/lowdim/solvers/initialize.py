"""Where iterations start: classical scaling, principal axes, smooth modes of a graph, chance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.matrices.gram import gram_operator, squared_means
from lowdim.matrices.laplacian import degrees, laplacian
from lowdim.relations.geodesics import geodesics
from lowdim.relations.graph import NeighborGraph, components
from lowdim.relations.pairs import Pairs
from lowdim.solvers.spectral import bottom_eigenpairs, fix_signs, top_eigenpairs
from lowdim.solvers.svd import principal_axes, scores

ALL = 1500  # up to this many objects incomplete pairs are filled in completely
LANDMARKS = 200
EXACT = 2000  # up to this many vertices, or where a factorisation is cheap, modes are exact
FACTOR_FLOPS = 4e9
DEGREE, ROUNDS = 20, 8  # of the polynomial that keeps the smooth modes, and how often it is used
PIECE = 50  # components of at least this many vertices get a map of their own


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


def spectral_start(
    graph: Any,
    k: int,
    random: np.random.RandomState,
    *,
    rows: Any = None,
    n_jobs: int | None = None,
) -> Array:
    """The smoothest modes of a symmetric graph of weights, a few digits of them.

    The pieces of a graph in several are mapped on their own and laid out apart: around the
    principal coordinates of their means where the vectors (`rows`) are known, else around a
    spiral. What fails is replaced by chance, and that is announced; nothing here goes on for ever.
    """
    from scipy.spatial import cKDTree

    count, labels = components(graph)
    if count == 1:
        return _modes(graph, k, random, n_jobs)
    sizes = np.bincount(labels)
    centers = _component_centers(labels, sizes, k, rows, n_jobs)
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
        if len(own) >= PIECE:
            inside = _modes(graph[own][:, own], k, random, n_jobs)
        size = float(np.abs(inside).max())
        out[own] += inside * (room[piece] / size if size > 0 else 0.0)
    return out


def pca_start(rows: Any, k: int, random: np.random.RandomState, n_jobs: int | None = None) -> Array:
    """Scores on the leading principal axes; further coordinates, if there are none, are 0."""
    found = min(k, min(rows.shape))
    axes = principal_axes(rows, found, seed=random, n_jobs=n_jobs)
    Y = fix_signs(scores(rows, axes.mean, axes.components, n_jobs))
    return np.hstack([Y, np.zeros((rows.shape[0], k - found), Y.dtype)])


def spread_out(Y: Array, random: np.random.RandomState, size: float, noise: float) -> Array:
    """A start stretched to the given size along every axis, about 0, with a little noise on it.

    The noise goes by the order of the objects along the first axis, so that the order of the rows
    does not matter.
    """
    low, high = Y.min(axis=0), Y.max(axis=0)
    width = np.where(high > low, high - low, 1)
    out = np.asarray(size * ((Y - (low + high) / 2) / width), dtype=np.float64)
    out[np.argsort(Y[:, 0], kind="stable")] += random.normal(scale=noise * size, size=Y.shape)
    return out


def _modes(graph: Any, k: int, random: np.random.RandomState, n_jobs: int | None) -> Array:
    """The k smoothest non-constant modes of the random walk on a connected graph."""
    n = graph.shape[0]
    if n < k + 2:
        return np.asarray(random.uniform(-1, 1, (n, k)))
    seed = random.randint(2**31 - 1)
    _, width = native.level_structure(*native.csr_indices(graph))
    try:
        if n > EXACT and n * float(width) ** 2 > FACTOR_FLOPS:
            return smooth_modes(graph, k, seed, n_jobs)
        weights = graph.astype(np.float64)
        with warnings.catch_warnings():  # a start need not be accurate
            warnings.simplefilter("ignore", UserWarning)
            return bottom_eigenpairs(
                laplacian(weights),
                k,
                B=degrees(weights),
                null=np.ones(n),
                tol=1e-6,
                seed=seed,
                n_jobs=n_jobs,
            ).vectors
    except (ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
        checks.warn(f"The spectral start failed ({error}); a random one is used instead.")
        return np.asarray(random.uniform(-1, 1, (n, k)))


def smooth_modes(graph: Any, k: int, seed: int, n_jobs: int | None = None) -> Array:
    """The k smoothest modes to a few digits, by subspace iteration with Chebyshev's polynomials.

    A polynomial of the normalised weights, small on all but the top of their spectrum, is applied
    to a few random columns; the bound of what it keeps follows the modes found (Zhou, Saad, Tiago
    and Chelikowsky 2006). Ends when the eigenvalues settle, after eight rounds at the latest.
    """
    from scipy.sparse import csr_array

    n = graph.shape[0]
    mass = degrees(graph).astype(np.float64)
    scale = 1 / np.sqrt(mass)
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    data = (graph.data * scale[rows] * scale[graph.indices]).astype(np.float32)
    walk = csr_array((data, graph.indices, graph.indptr), shape=graph.shape)
    constant = (np.sqrt(mass / mass.sum()))[:, None].astype(np.float32)

    def product(V: Array) -> Array:
        return native.spmm(walk, V, n_jobs)

    def basis(V: Array) -> Array:
        V = V - constant @ (constant.T @ V)
        return np.asarray(np.linalg.qr(V)[0])

    width = -(-(k + 4) // 8) * 8  # the products' panels are eight columns wide
    V = np.random.RandomState(seed).uniform(-1, 1, (n, width)).astype(np.float32)
    cut, before = 0.05, np.full(k, np.inf)
    for _ in range(ROUNDS):
        V = basis(_filtered(product, basis(V), cut))
        AV = product(V)
        values, S = np.linalg.eigh((V.T @ AV + AV.T @ V) / 2)
        V = V @ S[:, ::-1]
        found = np.maximum(1 - values[::-1].astype(np.float64), 1e-7)
        if (np.abs(found[:k] - before) <= 0.2 * found[:k]).all():
            break
        cut, before = float(np.clip(found[-1], 1e-4, 0.5)), found[:k]
    return fix_signs(V[:, :k] * scale[:, None])


def _filtered(product: Callable[[Array], Array], V: Array, cut: float) -> Array:
    """Chebyshev's polynomial of a matrix with spectrum in [-1, 1], at most 1 below 1 - cut."""
    half, middle = np.float32(1 - cut / 2), np.float32(-cut / 2)
    before, now = V, (product(V) - middle * V) / half
    for _ in range(DEGREE - 1):
        step = product(now)
        step -= middle * now
        step *= 2 / half
        step -= before
        before, now = now, step
    return np.asarray(now / np.maximum(np.abs(now).max(axis=0), np.float32(1e-30)))


def _component_centers(labels: Array, sizes: Array, k: int, rows: Any, n_jobs: int | None) -> Array:
    """Where to put the pieces of a graph, largest distance 1 from the middle."""
    count = len(sizes)
    if rows is not None and count > k:
        from scipy.sparse import csr_array

        parts = (np.ones(len(labels)), (labels, np.arange(len(labels))))
        means = csr_array(parts, shape=(count, len(labels))) @ rows
        means = np.asarray(means.toarray() if hasattr(means, "toarray") else means, np.float64)
        means /= sizes[:, None]
        centers = pca_start(means, k, np.random.RandomState(0), n_jobs)
        size = float(np.abs(centers).max())
        if size > 0:
            return np.asarray(centers / size)
    # Points of a spiral, evenly spread; in further dimensions the same with other angles.
    place = np.arange(count)[:, None] + 0.5
    golden = np.pi * (3 - np.sqrt(5))
    phases = np.arange(k) * np.pi / 2
    return np.asarray(np.sqrt(place / count) * np.cos(golden * place + phases))


START = 1e-4  # standard deviation of the first coordinate where a map begins to unfold


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
        start = pca_start(vectors, k, random, n_jobs)
    elif init == "pca" and dissimilarities is not None:
        given = dissimilarities
        start = landmark_start(lambda chosen: given[chosen], n, k, random, n_jobs)
    else:
        links = graph.adjacency().astype(np.float32)
        links.data[:] = 1
        start = spectral_start(links, k, random, rows=vectors, n_jobs=n_jobs)
    start = np.asarray(start, dtype=np.float64)
    size = float(start[:, 0].std())
    start = start * (START / size if size > 0 else 0.0)
    flat = np.ptp(start, axis=0) == 0  # what has no extent yet could never get any
    start[:, flat] = START * random.standard_normal((n, int(flat.sum())))
    return np.asarray(start)


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
