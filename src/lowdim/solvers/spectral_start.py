"""Spectral layouts as starts: the smoothest modes of a graph, component by component."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, dense
from lowdim.matrices.laplacian import degrees, laplacian
from lowdim.relations.graph import components
from lowdim.solvers.spectral import bottom_eigenpairs, fix_signs
from lowdim.solvers.svd import principal_scores

EXACT_UP_TO = 2000  # vertices up to which modes are exact, as where a factorisation is cheap
FACTOR_FLOPS = 4e9  # floating-point operations of a factorisation that is cheap
DEGREE, ROUNDS = 20, 8  # of the polynomial that keeps the smooth modes, and how often it is applied
PIECE = 50  # components of at least this many vertices get a map of their own


def spectral_start(
    graph: Any,
    k: int,
    random: np.random.RandomState,
    *,
    rows: Any = None,
) -> Array:
    """The smoothest modes of a symmetric graph of weights, a few digits of them.

    The pieces of a graph in several are mapped on their own and laid out apart: around the
    principal coordinates of their means where the vectors (`rows`) are known, else around a
    spiral. What fails is replaced by chance, and that is announced; nothing here goes on for ever.
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
        if len(own) >= PIECE:
            inside = _modes(graph[own][:, own], k, random)
        size = float(np.abs(inside).max())
        out[own] += inside * (room[piece] / size if size > 0 else 0.0)
    return out


def _modes(graph: Any, k: int, random: np.random.RandomState) -> Array:
    """The k smoothest non-constant modes of the random walk on a connected graph."""
    n = graph.shape[0]
    if n < k + 2:
        return np.asarray(random.uniform(-1, 1, (n, k)))
    seed = random.randint(2**31 - 1)
    _, width = backend().level_structure(graph)
    try:
        if n > EXACT_UP_TO and n * float(width) ** 2 > FACTOR_FLOPS:
            return smooth_modes(graph, k, seed)
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
            ).vectors
    except (ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
        checks.warn(f"The spectral start failed ({error}); a random one is used instead.")
        return np.asarray(random.uniform(-1, 1, (n, k)))


def smooth_modes(graph: Any, k: int, seed: int) -> Array:
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
        return backend().spmm(walk, V)

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


def _component_centers(labels: Array, sizes: Array, k: int, rows: Any) -> Array:
    """Where to put the pieces of a graph, largest distance 1 from the middle."""
    count = len(sizes)
    if rows is not None and count > k:
        from scipy.sparse import csr_array

        parts = (np.ones(len(labels)), (labels, np.arange(len(labels))))
        means = csr_array(parts, shape=(count, len(labels))) @ rows
        means = np.asarray(dense(means), np.float64)
        means /= sizes[:, None]
        centers = principal_scores(means, k, np.random.RandomState(0))
        size = float(np.abs(centers).max())
        if size > 0:
            return np.asarray(centers / size)
    # Points of a spiral, evenly spread; in further dimensions the same with other angles.
    place = np.arange(count)[:, None] + 0.5
    golden = np.pi * (3 - np.sqrt(5))
    phases = np.arange(k) * np.pi / 2
    return np.asarray(np.sqrt(place / count) * np.cos(golden * place + phases))
