"""A backend in plain NumPy: slow, and written to be checked by reading.

It implements `lowdim.backends.native.Backend` and is what other backends are tested against.
Sums are taken in float64 and rounded to the type of the input at the end. Where the description
leaves a choice, this backend takes the simplest one:

- `build_index` returns None, so that every search is exact.
- `repulsion` and `frozen_field` add up all pairs, whatever method is asked for.
- `place_by_divergence` minimises by SciPy's BFGS, so that it agrees with other backends in the
  minimum, not in the steps towards it.
- `layout_epochs` draws the same targets as the native backend: random numbers are a hash of
  (seed, epoch, draw, vertex), which is part of what makes a layout reproducible.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, softmax

from lowdim.backends.native.forces import StepSettings
from lowdim.backends.native.heaps import Neighbors
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array, dense, distances_in_range

FREE = np.iinfo(np.int32).max  # the column of a free place in a heap
CURVE_BITS = 21  # digits on each axis of the space-filling curve


def description() -> str:
    return "NumPy"


def _double(*arrays: Any) -> list[Array]:
    return [np.asarray(dense(array), dtype=np.float64) for array in arrays]


def _squares(A: Array, B: Array) -> Array:
    """Squared distances of all rows of A and B, by differences, in float64."""
    A, B = _double(A, B)
    return np.asarray(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


# --- products -------------------------------------------------------------------------------------


def on_device(V: Array) -> Any:
    return V


def matmul(A: Array, V: Any, *, squared: bool = False) -> Any:
    left, right = _double(A, V)
    return np.asarray(((left**2 if squared else left) @ right).astype(A.dtype))


def spmm(
    A: Any,
    V: Array,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    before: Array | None = None,
    out: Array | None = None,
) -> Array:
    left, right = _double(A, V)
    found = left @ right
    if scale != 1 or shift != 0:
        found = scale * found + shift * right
    found = np.asarray((found if before is None else found - before).astype(A.dtype))
    if out is None:
        return found
    out[...] = found
    return out


def scatter(X: Array, center: Array) -> tuple[Array, Array]:
    rows = _double(X)[0] - center
    return rows.T @ rows, rows.sum(axis=0)


def project(X: Array, center: Array, axes: Array) -> Array:
    rows, turn = _double(X, axes)
    return np.asarray(((rows - center) @ turn.T).astype(axes.dtype))


def smooth_modes(graphs: list[Any], k: int, seed: int) -> list[Array]:
    """All eigenvectors, of which those of the largest eigenvalues but the first are kept."""
    return [_modes(graph, k) for graph in graphs]


def _modes(graph: Any, k: int) -> Array:
    (A,) = _double(graph)
    scale = A.sum(axis=1) ** -0.5
    constant = (1 / scale)[:, None] / np.linalg.norm(1 / scale)
    _, vectors = np.linalg.eigh(scale[:, None] * A * scale - 3 * constant @ constant.T)
    return np.asarray(vectors[:, : -k - 1 : -1] * scale[:, None], dtype=np.float32)


def squared_distances(queries: Array, points: Array) -> Array:
    return np.asarray(_squares(queries, points).astype(points.dtype))


def distance_matrix(X: Array) -> Array:
    return np.asarray(np.sqrt(_squares(X, X)).astype(X.dtype))


# --- passes over arrays ---------------------------------------------------------------------------


def extremes(A: Array) -> tuple[float, float]:
    return float(A.min()), float(A.max())


def asymmetry(D: Array) -> float:
    return float(np.abs(D - D.T).max())


def stable_order(values: Array) -> Array:
    return np.lexsort((np.arange(len(values)), values))


def group_sums(X: Any, groups: Array, count: int) -> Array:
    (rows,) = _double(X)
    return np.array([rows[groups == group].sum(axis=0) for group in range(count)])


# --- nearest neighbours ---------------------------------------------------------------------------


def _distances(queries: Any, points: Any, cosine: bool, dtype: Any) -> Array:
    A, B = _double(queries, points)
    if not cosine:
        with np.errstate(over="ignore"):
            found = np.sqrt(_squares(A, B)).astype(dtype)
        distances_in_range(found)
        return np.asarray(found)
    lengths = [np.linalg.norm(rows, axis=1, keepdims=True) for rows in (A, B)]
    A, B = (
        rows / np.where(length > 0, length, 1) for rows, length in zip((A, B), lengths, strict=True)
    )
    found = np.maximum(0, 1 - A @ B.T)
    found[np.ix_(lengths[0][:, 0] == 0, lengths[1][:, 0] == 0)] = 0
    return np.asarray(found.astype(dtype))


def nearest(X: Any, k: int, cosine: bool) -> Neighbors:
    return smallest(_distances(X, X, cosine, X.dtype), k, own=True)


def nearest_to(points: Any, queries: Any, k: int, cosine: bool) -> Neighbors:
    return smallest(_distances(queries, points, cosine, points.dtype), k)


def rank_candidates(
    points: Array, queries: Array, candidates: Array, k: int, metric: str, power: float = 2.0
) -> Neighbors:
    from scipy.spatial.distance import cdist

    options = {"p": power} if metric == "minkowski" else {}
    queries = points[queries] if queries.ndim == 1 else queries
    found = cdist(queries, points, metric, **options).astype(queries.dtype)
    listed = np.take_along_axis(found, np.maximum(candidates, 0), axis=1)
    listed[candidates < 0] = np.inf
    order = np.lexsort((candidates, listed), axis=1)[:, :k]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(listed, order, axis=1)


def pairs_within(points: Array, queries: Array, reach: Array) -> tuple[Array, Array, Array]:
    found = _distances(queries, points, False, points.dtype)
    rows, columns = np.nonzero(found <= reach)
    return rows, columns, found[rows, columns]


def build_index(
    rows: Any,
    k: int,
    cosine: bool,
    recall: float,
    random: np.random.Generator,
    ranking: Any = None,
) -> None:
    return None


def exact_search_seconds(rows: Any) -> float:
    return float(rows.shape[0] ** 2 * rows.shape[1] * 1e-8)


class Heaps:
    """Lists of all that was offered; the k smallest are picked when they are asked for."""

    def __init__(self, n: int, k: int, dtype: Any) -> None:
        self.k, self.dtype = k, dtype
        self.offered: list[list[tuple[float, int]]] = [[] for _ in range(n)]

    def offer(
        self,
        tile: Array,
        first: tuple[int | None, int],
        *,
        rows: slice | Array | None = None,
        columns: bool = False,
    ) -> None:
        own = np.arange(len(self.offered))[slice(None) if rows is None else rows]
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                row = None if first[0] is None else first[0] + i
                column = first[1] + j
                if row == column or np.isnan(tile[i, j]):
                    continue
                if columns:
                    assert row is not None
                    self.offered[own[j]].append((tile[i, j], row))
                else:
                    self.offered[own[i]].append((tile[i, j], column))

    def clear(self, rows: Array) -> None:
        for row in rows:
            self.offered[row] = []

    def incomplete_rows(self) -> Array:
        return np.flatnonzero([len(scores) < self.k for scores in self.offered])

    def neighbors(self) -> Neighbors:
        ids = np.full((len(self.offered), self.k), FREE, dtype=np.int32)
        values = np.full(ids.shape, np.inf, dtype=self.dtype)
        for row, scores in enumerate(self.offered):
            for place, (value, column) in enumerate(sorted(scores)[: self.k]):
                ids[row, place], values[row, place] = column, value
        return ids, values


def build_heaps(n: int, k: int, dtype: Any) -> Heaps:
    return Heaps(n, k, dtype)


def smallest(values: Array, k: int, *, own: bool = False) -> Neighbors:
    found = Heaps(len(values), k, values.dtype)
    found.offer(values, (0 if own else None, 0))
    return found.neighbors()


TERMS = {
    "count": lambda a, b: 1.0,
    "equal": lambda a, b: float(a == b),
    "product": lambda a, b: a * b,
    "root": lambda a, b: np.sqrt(a * b),
    "overlap": lambda a, b: abs(a) + abs(b) - abs(a - b),
    "opposite": lambda a, b: abs(a) + abs(b) - abs(a + b),
    "ratio": lambda a, b: abs(a - b) / (abs(a) + abs(b)),
}


def sum_shared(A: Any, B: Any, term: str) -> Array:
    out = np.zeros((A.shape[0], B.shape[0]))
    rows = [
        [dict(zip(row.indices.tolist(), row.data.astype(float), strict=True)) for row in side]
        for side in ([M[[i]] for i in range(M.shape[0])] for M in (A, B))
    ]
    for i, a in enumerate(rows[0]):
        for j, b in enumerate(rows[1]):
            for column, value in a.items():
                if column in b:
                    out[i, j] += TERMS[term](value, b[column])
    return out


PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
WORD = 2**64 - 1


def _rotated(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & WORD


def _round(total: int, word: int) -> int:
    return _rotated((total + word * PRIMES[1]) & WORD, 31) * PRIMES[0] & WORD


def _xxh64(octets: bytes) -> int:
    """xxHash64 with seed 0, by its specification."""
    first, second, third, fourth, fifth = PRIMES
    rest, total = octets, fifth
    if len(octets) >= 32:
        lanes = [(first + second) & WORD, second, 0, -first & WORD]
        while len(rest) >= 32:
            words = [int.from_bytes(rest[8 * k : 8 * k + 8], "little") for k in range(4)]
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            rest = rest[32:]
        total = sum(_rotated(*pair) for pair in zip(lanes, (1, 7, 12, 18), strict=True)) & WORD
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * first + fourth) & WORD
    total = (total + len(octets)) & WORD
    while len(rest) >= 8:
        word = _round(0, int.from_bytes(rest[:8], "little"))
        total, rest = (_rotated(total ^ word, 27) * first + fourth) & WORD, rest[8:]
    if len(rest) >= 4:
        word = int.from_bytes(rest[:4], "little") * first & WORD
        total, rest = (_rotated(total ^ word, 23) * second + third) & WORD, rest[4:]
    for octet in rest:
        total = _rotated(total ^ (octet * fifth & WORD), 11) * first & WORD
    total = (total ^ total >> 33) * second & WORD
    total = (total ^ total >> 29) * third & WORD
    return total ^ total >> 32


def digest(values: Array) -> Array:
    octets = values.tobytes()
    starts = range(0, len(octets), 2**20)
    return np.array([_xxh64(octets[at : at + 2**20]) for at in starts], dtype=np.uint64)


def compare_orders(
    first: Array, second: Array, own: Array, k: int, grid: Array
) -> tuple[Array, Array, Array, Array, Array]:
    n = first.shape[1]
    near = [np.empty((len(own), k), dtype=np.int32) for _ in range(4)]
    shared = np.empty((len(own), len(grid)), dtype=np.int32)
    for r, self_ in enumerate(own):
        orders, ranks = [], []
        for distances in (first[r], second[r]):
            order = np.lexsort((np.arange(n), distances))
            orders.append(order[order != self_])
            rank = np.full(n, n)  # that of the object itself, which counts nowhere
            rank[orders[-1]] = np.arange(1, n)
            ranks.append(rank)
        near[0][r], near[1][r] = orders[0][:k], ranks[1][orders[0][:k]]
        near[2][r], near[3][r] = orders[1][:k], ranks[0][orders[1][:k]]
        shared[r] = [((ranks[0] <= g) & (ranks[1] <= g)).sum() for g in grid]
    return near[0], near[1], near[2], near[3], shared


# --- graphs ---------------------------------------------------------------------------------------


def _with_transpose(graph: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """combine(a_ij, a_ji) for all edges known from either side; None: not known, or dropped."""
    stored = graph.tocoo()
    known = dict(zip(zip(*map(list, stored.coords), strict=True), stored.data, strict=True))
    found = {}
    for i, j in sorted({*known, *((j, i) for i, j in known)}):
        value = combine(known.get((i, j)), known.get((j, i)))
        if value is not None:
            found[i, j] = value
    rows = np.array([i for i, _ in found], dtype=np.int32)
    columns = np.array([j for _, j in found], dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=graph.shape[0]))])
    data = np.array(list(found.values()), dtype=graph.dtype)
    return csr_array((data, columns, indptr.astype(np.int32)), shape=graph.shape)


def symmetrize(graph: Any, how: str) -> Any:
    if how not in ("union", "mutual", "mean", "half-sum"):
        raise ValueError(f"unknown symmetry {how!r}")

    def combine(a: Any, b: Any) -> Any:
        if a is not None and b is not None:
            return min(a, b) if how in ("union", "mutual") else (a + b) / 2
        one = a if a is not None else b
        return {"union": one, "mutual": None, "mean": one, "half-sum": one / 2}[how]

    return _with_transpose(graph, combine)


def fuzzy_union(graph: Any, mix: float) -> Any:
    def combine(a: Any, b: Any) -> Any:
        a, b = float(a or 0), float(b or 0)
        value = mix * (a + b - a * b) + (1 - mix) * a * b
        return value if value > 0 else None

    return _with_transpose(graph, combine)


def shortest_paths(graph: Any, sources: Array, *, symmetric: bool = False) -> Array:
    """The Bellman-Ford algorithm: all arcs are relaxed until nothing changes."""
    n = graph.shape[0]
    tails = np.repeat(np.arange(n), np.diff(graph.indptr))
    out = np.full((len(sources), n), np.inf, dtype=graph.dtype)
    out[np.arange(len(sources)), sources] = 0
    while True:
        before = out.copy()
        for tail, head, length in zip(tails, graph.indices, graph.data, strict=True):
            out[:, head] = np.minimum(out[:, head], out[:, tail] + length)
        if np.array_equal(before, out):
            return np.minimum(out, out.T) if symmetric else out


def components(graph: Any) -> tuple[int, Array]:
    labels = np.arange(graph.shape[0], dtype=np.int32)
    rows = np.repeat(labels, np.diff(graph.indptr))
    for i, j in zip(rows, graph.indices, strict=True):
        labels[labels == max(labels[i], labels[j])] = min(labels[i], labels[j])
    names, labels = np.unique(labels, return_inverse=True)
    return len(names), labels.astype(np.int32)


def split(graph: Any, groups: Array, count: int) -> list[Any]:
    return [graph[groups == group][:, groups == group] for group in range(count)]


def floyd_warshall(lengths: Array) -> None:
    for k in range(len(lengths)):
        np.minimum(lengths, lengths[:, k : k + 1] + lengths[k], out=lengths)


def level_structure(graph: Any, limit: int | None = None) -> tuple[int, int]:
    levels: list[list[int]] = []
    root = 0
    for _ in range(2 if graph.shape[0] else 0):  # the second time from the far end of the first
        levels, seen = [[root]], {root}
        while levels[-1]:
            levels.append([])
            for node in levels[-2]:
                for head in graph.indices[graph.indptr[node] : graph.indptr[node + 1]]:
                    if head not in seen:
                        seen.add(head)
                        levels[-1].append(head)
        levels.pop()
        root = levels[-1][-1]
    return len(levels), max(map(len, levels), default=0)


# --- rows of neighbours ---------------------------------------------------------------------------


def bregman_projections(
    gaps: Array, signs: Array, slack: float, multipliers: Array, targets: Array, matrix: Array
) -> None:
    for c, z in enumerate(gaps):
        v = matrix @ z
        length = z @ v
        if length <= 0:
            continue
        wanted = signs[c] * slack / (slack + 1) * (1 / length - 1 / targets[c])
        step = signs[c] * min(multipliers[c], wanted)
        multipliers[c] -= signs[c] * step
        targets[c] *= slack / (slack + step * targets[c])
        matrix += step / (1 - step * length) * np.outer(v, v)


def barycentric_weights(grams: Array, reg: float) -> Array:
    out = np.empty(grams.shape[:2], dtype=grams.dtype)
    for i, gram in enumerate(grams.astype(np.float64)):
        trace = np.trace(gram)
        ridge = reg * (trace if trace > 0 else 1.0) * np.eye(len(gram))
        weights = np.linalg.solve(gram + ridge, np.ones(len(gram)))
        out[i] = weights / weights.sum()
    return out


def _bisected(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where a decreasing function crosses zero, to the last digit."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def _perplexity_row(d: Array, perplexity: float) -> tuple[Array, float]:
    """p ~ exp(-beta d) of entropy log(perplexity), or of the nearest entropy there is; beta."""
    d = d - d.min()
    spread = d.mean()
    if len(d) <= perplexity or spread == 0:
        return np.full(len(d), 1 / len(d)), 0.0

    def probabilities(log_beta: float) -> Array:
        e = np.exp(-np.exp(log_beta) * d / spread)
        return np.asarray(e / e.sum())

    def gap(log_beta: float) -> float:
        p = probabilities(log_beta)
        p = p[p > 0]
        return float(-(p * np.log(p)).sum() - np.log(perplexity))

    at = _bisected(gap, -60.0, 60.0)
    return probabilities(at), float(np.exp(at) / spread)


def perplexity_affinities(
    indptr: Array, distances: Array, perplexity: float, *, squared: bool = False
) -> tuple[Array, Array]:
    p, betas = np.empty_like(distances), np.zeros(len(indptr) - 1)
    for i, (first, last) in enumerate(pairwise(indptr)):
        if last > first:
            row = distances[first:last].astype(np.float64) ** (1 if squared else 2)
            p[first:last], betas[i] = _perplexity_row(row, perplexity)
    return p, betas


def joint_probabilities(P: Any) -> Any:
    both = symmetrize(P, "half-sum")
    both.data /= both.data.sum(dtype=np.float64)
    return both


def negative_entropy(p: Array) -> float:
    used = p[p > 0].astype(np.float64)
    return float((used * np.log(used)).sum())


def _width(excess: Array, target: float) -> float:
    """sigma with sum_j exp(-excess_j / sigma) = target."""
    largest = np.log(excess.max())

    def gap(log_width: float) -> float:
        return target - float(np.exp(-excess / np.exp(log_width)).sum())

    return float(np.exp(_bisected(gap, largest - 50, largest + 50)))


def memberships(
    indptr: Array, distances: Array, target: float, connectivity: float
) -> tuple[Array, Array, Array]:
    rho, sigma = np.zeros((2, len(indptr) - 1), dtype=distances.dtype)
    out = np.zeros_like(distances)
    every = distances[np.isfinite(distances)].astype(np.float64)
    mean = every.sum() / (len(every) + len(rho))  # an object is at distance 0 from itself
    for i in range(len(rho)):
        row = slice(indptr[i], indptr[i + 1])
        d = distances[row].astype(np.float64)
        known = d[np.isfinite(d)]
        positive = known[known > 0]
        if len(positive) >= connectivity:
            whole = int(connectivity)
            below = positive[whole - 1] if whole > 0 else 0.0
            part = connectivity - whole
            above = positive[whole] if part > 1e-5 else below
            near = below + part * (above - below)
        else:
            near = positive[-1] if len(positive) else 0.0
        excess = np.maximum(known - near, 0)
        if (excess == 0).sum() >= target:
            width = 0.0
        elif len(excess) <= target:
            width = np.inf
        else:
            width = _width(excess, target)
        local = known.sum() / (len(known) + 1)
        width = max(width, 1e-3 * (local if near > 0 else mean))
        rho[i], sigma[i] = near, min(width, np.finfo(distances.dtype).max)
        beyond = np.maximum(d - near, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            out[row] = np.where(beyond > 0, np.exp(-beyond / width), 1)
        out[row][np.isinf(d)] = 0
    return out, rho, sigma


# --- forces and layouts ---------------------------------------------------------------------------


def _force_factor(similarity: Similarity, s: Array) -> Array:
    """u of `Similarity`: 1 for the Gaussian, 1 / (1 + s / dof) for Student's."""
    if similarity.name == "gaussian":
        return np.ones_like(s)
    return np.asarray(1 / (1 + s / similarity.dof))


class Attraction:
    def __init__(self, P: Any, similarity: Similarity) -> None:
        self.P, self.similarity = _double(P)[0], similarity

    def __call__(self, Y: Array, *, loss: bool) -> tuple[float, Array]:
        s = _squares(Y, Y)
        strength = self.P * _force_factor(self.similarity, s)
        gaps = Y[:, None, :].astype(np.float64) - Y[None, :, :]
        force = np.einsum("ij,ijc->ic", strength, gaps).astype(Y.dtype)
        logs = -s if self.similarity.name == "gaussian" else np.log(self.similarity(s))
        return float((self.P * logs).sum()) if loss else 0.0, force

    def renumber(self, order: Array) -> None:
        self.P = self.P[np.ix_(order, order)]


def attraction(P: Any, similarity: Similarity) -> Attraction:
    return Attraction(P, similarity)


def _repelled(
    Y: Array, others: Array, w: Array, mass: Array | None, similarity: Similarity
) -> tuple[Array, Array]:
    w = w if mass is None else w * mass
    strength = w * _force_factor(similarity, _squares(Y, others))
    gaps = Y[:, None, :].astype(np.float64) - others[None, :, :]
    force = np.einsum("ij,ijc->ic", strength, gaps)
    return force.astype(Y.dtype), w.sum(axis=1).astype(Y.dtype)


class AllPairs:
    def __init__(self, similarity: Similarity) -> None:
        self.similarity = similarity

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        w = self.similarity(_squares(Y, Y))
        np.fill_diagonal(w, 0)
        return _repelled(Y, Y, w, mass, self.similarity)


def build_repulsion(
    method: str, similarity: Similarity, n: int, dim: int, angle: float
) -> AllPairs:
    return AllPairs(similarity)


class FrozenField:
    def __init__(self, embedding: Array, similarity: Similarity) -> None:
        self.embedding, self.similarity = embedding, similarity

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        w = self.similarity(_squares(Y, self.embedding))
        return _repelled(Y, self.embedding, w, None, self.similarity)


def frozen_field(embedding: Array, similarity: Similarity, margin: float) -> FrozenField:
    return FrozenField(embedding, similarity)


def momentum_step(
    gradient: Array, Y: Array, velocity: Array, gains: Array, settings: StepSettings
) -> float:
    rate, momentum, min_gain, max_step = settings
    g, v = _double(gradient, velocity)
    gains[...] = np.maximum(np.where(v * g < 0, gains + 0.2, gains * 0.8), min_gain)
    v = momentum * v - rate * gains * g
    length = np.linalg.norm(v, axis=1, keepdims=True)
    v *= np.where(length > max_step, max_step / np.maximum(length, max_step), 1)
    velocity[...] = v
    Y += velocity
    return float(np.linalg.norm(g))


def quasi_newton_direction(gradient: Array, steps: Array, changes: Array) -> Array:
    """By the update of the whole inverse Hessian (Nocedal and Wright 2006, equation 6.17)."""
    one = np.eye(len(gradient))
    inverse = one
    if len(steps):
        inverse = (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1]) * one
    for step, change in zip(steps, changes, strict=True):
        rate = 1 / (step @ change)
        left = one - rate * np.outer(step, change)
        inverse = left @ inverse @ left.T + rate * np.outer(step, step)
    return np.asarray(-inverse @ gradient)


def descend(
    field: Any,
    Y: Array,
    velocity: Array,
    gains: Array,
    settings: StepSettings,
    *,
    steps: int,
    value: bool,
) -> tuple[float, float]:
    loss, norm = np.nan, 0.0
    for step in range(steps):
        loss, gradient = field(Y, value=value and step + 1 == steps)
        norm = momentum_step(gradient, Y, velocity, gains, settings)
    return loss, norm


def curve_order(Y: Array) -> Array:
    """Morton's curve: points sorted by the interleaved digits of their coordinates."""
    (places,) = _double(Y)
    places = places - places.min(axis=0, initial=np.inf)
    side = places.max(initial=0)
    places *= (2**CURVE_BITS - 1) / side if side > 0 else 0

    def key(place: Array) -> str:
        digits = [format(int(x), f"0{CURVE_BITS}b") for x in place]
        return "".join("".join(level) for level in zip(*digits, strict=True))

    return np.array(sorted(range(len(Y)), key=lambda i: (key(places[i]), i)), dtype=np.int32)


def layout_arcs(graph: Any, rank: Array | None = None) -> Any:
    if rank is None:
        return graph
    order = np.argsort(rank)
    return graph[order][:, order]


def _hashed(h: Array) -> Array:
    """Wellons's hash "lowbias32" of 32-bit numbers."""
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x7FEB352D)
    h = h ^ (h >> np.uint32(15))
    h = h * np.uint32(0x846CA68B)
    return np.asarray(h ^ (h >> np.uint32(16)))


def drawn_targets(vertices: Array, n_targets: int, draw: int, key: int, own: bool) -> Array:
    """The target that repels each vertex; without `own` n_negatives, the same for all vertices."""
    stride = 0x9E3779B1 if own else 0
    number = (vertices * stride + key + draw * 0x85EBCA77) % 2**32
    return np.asarray(_hashed(number.astype(np.uint32)).astype(np.uint64) * n_targets >> 32, int)


def layout_epochs(
    arcs: Any,
    Y: Array,
    velocity: Array,
    *,
    curve: tuple[float, ...],
    rate: float,
    momentum: float,
    repulsion: float,
    n_negatives: int,
    epochs: tuple[int, int, int],
    seed: int,
    fixed: Array | None = None,
    density: tuple[Array, Array] | None = None,
    masses: Array | None = None,
    loss: bool = False,
) -> float:
    """Each vertex is moved from where all were before the epoch.

    An arc of weight p pulls by 2 p times the slope of log(1 + a s^b); a target pushes by its share
    of `repulsion` times the vertex's total weight, at most 4 along a coordinate. The step is
    divided by one plus the sum of the pulls.
    """
    a, b, largest = (*curve, 1.0)[:3]
    excess = (1 - largest) / a
    first, last, total = epochs
    found = 0.0
    for epoch in range(first, last):
        targets = Y if fixed is None else fixed
        left = 1 - epoch / total
        step, found = np.empty(Y.shape), 0.0
        key = seed + epoch * 0x9E3779B9
        for i in range(len(Y)):
            arc = slice(arcs.indptr[i], arcs.indptr[i + 1])
            heads, weights = arcs.indices[arc], arcs.data[arc].astype(np.float64)
            gaps = targets[heads].astype(np.float64) - Y[i]
            s = np.maximum((gaps**2).sum(axis=1), 1e-6)
            near = 1 / (1 + a * s**b)
            pull = 2 * weights * 2 * a * b * s ** (b - 1) * near
            found -= (weights * np.log(near)).sum()
            stiffness = 1 + pull.sum()
            if density is not None:
                gradient_over_spread, gradient_over_mass = (
                    array[i] + array[heads] for array in density
                )
                bend = a * b * s ** (b - 1) * near
                worth = near * (
                    bend * gradient_over_mass + (1 - b * (1 - near)) * gradient_over_spread
                )
                worth[weights == 0] = 0
                pull, stiffness = pull - worth, stiffness + np.abs(worth).sum()
            force = pull @ gaps

            met = np.arange(len(targets))
            if n_negatives:
                met = np.array(
                    [
                        drawn_targets(np.array([i]), len(targets), draw, key, fixed is None)[0]
                        for draw in range(n_negatives)
                    ]
                )
            gaps = targets[met].astype(np.float64) - Y[i]
            s = (gaps**2).sum(axis=1)
            power = np.maximum(s, 1e-6) ** b
            push = 2 * b * largest / ((s + 1e-3 + excess) * (1 + a * power))
            share = repulsion * weights.sum() / len(met)
            share = share * (np.ones(len(met)) if masses is None else masses[met])
            force -= share @ np.clip(push[:, None] * gaps, -4, 4)
            found += share @ (np.log1p(a * power) - np.log(a * (power + excess)))
            step[i] = rate * left / stiffness * force
        velocity[...] = np.clip(momentum * left * velocity + step, -4, 4)
        Y += velocity
    return float(found) if loss else 0.0


def pair_epochs(
    arcs: list[Any], Y: Array, moments: tuple[Array, Array], *, laws: Array, rates: Array
) -> float:
    loss, (mean, square) = 0.0, moments
    for epoch, rate in zip(laws, rates, strict=True):
        gradient, loss = np.zeros(Y.shape), 0.0
        gaps = Y[:, None].astype(np.float64) - Y[None]
        d = 1 + (gaps**2).sum(axis=2)
        for kind, (constant, weight, reach) in zip(arcs, epoch, strict=True):
            pairs = weight * kind.toarray()
            loss += (pairs * d / (constant + d)).sum() / 2
            force = 2 * pairs * constant / (constant + d) ** 2
            force *= reach / np.sqrt(d) if reach > 0 else 1
            gradient += (force[:, :, None] * gaps).sum(axis=1)
        mean[...] = 0.9 * mean + 0.1 * gradient
        square[...] = 0.999 * square + 0.001 * gradient**2
        Y -= rate * mean / (np.sqrt(square) + 1e-7)
    return float(loss)


def triplet_epochs(
    triplets: Any,
    Y: Array,
    velocity: Array,
    gains: Array,
    *,
    rate: float,
    momenta: Array,
    min_gain: float,
    max_step: float,
) -> float:
    own = np.arange(len(Y))
    kinds = [
        np.broadcast_arrays(own, near[:, None], (own + shifts[..., own // 16]) % len(Y), weights)
        for near, shifts, weights in triplets
    ]
    parts = zip(*kinds, strict=True)
    own, near, far, weights = (np.concatenate([a.ravel() for a in part]) for part in parts)
    loss = 0.0
    for momentum in momenta:
        at, gradient = Y.astype(np.float64), np.zeros(Y.shape)
        to_near, to_far = at[own] - at[near], at[own] - at[far]
        a, b = 1 + (to_near**2).sum(axis=1), 1 + (to_far**2).sum(axis=1)
        loss = float((weights * a / (a + b)).sum())
        pull = (2 * weights * b / (a + b) ** 2)[:, None] * to_near
        push = (2 * weights * a / (a + b) ** 2)[:, None] * to_far
        np.add.at(gradient, own, pull - push)
        np.add.at(gradient, near, -pull)
        np.add.at(gradient, far, push)
        settings = StepSettings(rate, momentum, min_gain, max_step)
        momentum_step(gradient, Y, velocity, gains, settings)
    return loss


def draw_others(
    listed: Array,
    drawn: Array,
    *,
    seed: int,
    Y: Array,
    reach: float = np.inf,
) -> None:
    n, count = drawn.shape
    for i in range(n):
        own = _hashed(np.array([(i * 0x9E3779B1 + seed) % 2**32], np.uint32))[0]
        for k in range(count):
            for t in range(100):
                number = (int(own) + (100 * k + t) * 0x85EBCA77) % 2**32
                h = int(_hashed(np.array([number], np.uint32))[0])
                j = h * n >> 32
                near = np.linalg.norm(Y[i].astype(float) - Y[j].astype(float)) <= reach
                if j != i and j not in drawn[i, :k] and j not in listed[i] and near:
                    drawn[i, k] = j
                    break


def layout_radii(arcs: Any, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
    a, b = curve
    s = _squares(Y, Y)
    near = 1 / (1 + a * np.maximum(s, 1e-6) ** b)
    linked = _double(arcs)[0] > 0
    mass, spread = (np.where(linked, terms, 0).sum(axis=1) for terms in (near, near * s))
    return mass.astype(Y.dtype), spread.astype(Y.dtype)


# --- stress and divergence ------------------------------------------------------------------------


def stress_gradient(dissimilarities: Array, X: Array) -> tuple[float, Array]:
    first, second = np.triu_indices(len(X), 1)
    d = pair_distances(first, second, X.astype(np.float64))
    return pair_gradient(first, second, d, dissimilarities[first, second], None, X)


def sammon_gradient(
    dissimilarities: Array, X: Array, mass: Array, *, floor: float, epsilon: float
) -> tuple[float, Array]:
    first, second = np.triu_indices(len(X), 1)
    (delta,) = _double(dissimilarities[first, second])
    kept = (delta > floor) | (epsilon > 0)
    first, second, delta = first[kept], second[kept], delta[kept]
    weights = mass[first] * mass[second] / np.maximum(delta, max(epsilon, floor))
    d = pair_distances(first, second, X)
    return pair_gradient(first, second, d, delta, weights, X)


def pair_distances(first: Array, second: Array, X: Array) -> Array:
    (x,) = _double(X)
    return np.asarray(np.linalg.norm(x[first] - x[second], axis=1).astype(X.dtype))


def pair_stress(n: int, first: Array, second: Array, targets: Array, weights: Array | None) -> Any:
    return lambda X: pair_gradient(
        first, second, pair_distances(first, second, X), targets, weights, X
    )


def inverse(V: Array) -> Any:
    return lambda g: np.linalg.solve(V, g.astype(np.float64))


def pair_gradient(
    first: Array,
    second: Array,
    distances: Array,
    targets: Array,
    weights: Array | None,
    X: Array,
) -> tuple[float, Array]:
    x, d, target = _double(X, distances, targets)
    w = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=np.float64)
    apart = d > 0  # two points in one place have no direction to move in
    factor = np.where(apart, w * (1 - target / np.where(apart, d, 1)), 0)
    pull = factor[:, None] * (x[first] - x[second])
    gradient = np.zeros(X.shape)
    np.add.at(gradient, first, pull)
    np.add.at(gradient, second, -pull)
    return float((w * (target - d) ** 2).sum()), gradient.astype(X.dtype)


def stress_sgd_round(
    order: Array, targets: Array, weights: Array | None, rate: float, X: Array
) -> float:
    stress = 0.0
    side = targets.shape[1]
    for tile, wanted in enumerate(targets):
        members = order[2 * side * tile : 2 * side * (tile + 1)]
        for a, i in enumerate(members[:side]):
            for b, j in enumerate(members[side:]):
                gap = X[i].astype(np.float64) - X[j]
                d = float(np.linalg.norm(gap))
                w = 1.0 if weights is None else float(weights[tile, a, b])
                residual = float(wanted[a, b]) - d
                stress += w * residual**2
                if d > 0:
                    move = min(1.0, w * rate) / 2 * residual / d * gap
                    X[i] += move
                    X[j] -= move
    return stress


def _pooled(values: Array, weights: Array) -> Array:
    """Adjacent violators are pooled into their weighted mean until none are left."""
    pools: list[tuple[float, float, int]] = []  # sum, weight, number of items
    for value, weight in zip(values, weights, strict=True):
        total, mass, count = weight * value, weight, 1
        while pools and pools[-1][0] * mass >= total * pools[-1][1]:
            before = pools.pop()
            total, mass, count = total + before[0], mass + before[1], count + before[2]
        pools.append((total, mass, count))
    means = [total / weight if weight > 0 else 0.0 for total, weight, _ in pools]
    return np.repeat(means, [count for *_, count in pools])


def isotonic(values: Array, weights: Array | None, ties: Array | None, primary: bool) -> Array:
    (x,) = _double(values)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    if ties is None:
        return np.asarray(_pooled(x, w).astype(values.dtype))
    run = np.repeat(np.arange(len(ties) - 1), np.diff(ties))
    if primary:
        order = np.lexsort((x, run))
        out = np.empty(len(x))
        out[order] = _pooled(x[order], w[order])
    else:
        mass = np.bincount(run, w)
        sums, plain = np.bincount(run, w * x), np.bincount(run, x) / np.diff(ties)
        means = np.where(mass > 0, sums / np.where(mass > 0, mass, 1), plain)
        out = _pooled(means, mass)[run]
    return np.asarray(out.astype(values.dtype))


def curvilinear_sweep(
    distances: Array,
    rows: Array,
    pins: Array,
    Y: Array,
    *,
    unit: float,
    alpha: float,
    reach: float,
    step: bool,
) -> float:
    error = 0.0
    for row, pin in zip(rows, pins, strict=True):
        gaps = Y - Y[:, pin : pin + 1]
        d = np.linalg.norm(gaps, axis=0)
        wanted = unit * distances[row].astype(np.float64)
        weight = (d <= reach).astype(float) if step else np.exp(-d / reach)
        error += float((weight * (wanted - d) ** 2).sum())
        apart = d > 0
        Y += np.where(apart, alpha * weight * (wanted / np.where(apart, d, 1) - 1), 0) * gaps
    return error


def _row_divergence(
    cost: Array, precision: Array, trade_off: float, s: Array, weight: Array | float = 1.0
) -> tuple[float, float, Array]:
    """Both divergences of one row, and the slope of their mixture by the squared distances s.

    With q = mean_h q_h the chain rule gives, for C = C(q) and g = dC / dq,
    dC / ds_k = -mean_h b_h q_hk (g_k - sum_j g_j q_hj). p and q of an entry are those of as many
    objects as its weight.
    """
    logits = -precision[:, None] * s[None, :] + np.log(weight)
    log_scales = logits - logsumexp(logits, axis=1, keepdims=True)
    log_q = logsumexp(log_scales, axis=0) - np.log(len(precision))
    p, q, q_h = weight * np.exp(-cost), np.exp(log_q), np.exp(log_scales)
    ratio = log_q - np.log(weight) + cost  # log q / p
    # g q_h without a division by a q that underflowed
    first = -trade_off * p * np.exp(log_scales - log_q)
    gq = first + (1 - trade_off) * ratio * q_h
    slope = -(precision[:, None] * (gq - q_h * gq.sum(axis=1, keepdims=True))).mean(axis=0)
    return -float((p * ratio).sum()), float((q * ratio).sum()), slope


def divergence_gradient(
    costs: Array, precisions: Array, trade_off: float, Y: Array
) -> tuple[float, float, Array]:
    missed, false, gradient = 0.0, 0.0, np.zeros(Y.shape)
    for i, cost in enumerate(costs.astype(np.float64)):
        others = np.delete(np.arange(len(Y)), i)
        gaps = Y[i] - Y[others]
        own = _row_divergence(cost, precisions[i], trade_off, (gaps**2).sum(axis=1))
        missed, false = missed + own[0], false + own[1]
        pull = 2 * own[2][:, None] * gaps
        gradient[i] += pull.sum(axis=0)
        gradient[others] -= pull
    return missed, false, gradient


def listed_precisions(indptr: Array, squared: Array, weights: Array, perplexities: Array) -> Array:
    betas = np.zeros((len(indptr) - 1, len(perplexities)))
    for i, (first, last) in enumerate(pairwise(indptr)):
        row = np.repeat(squared[first:last].astype(np.float64), weights[first:last].astype(int))
        betas[i] = [_perplexity_row(row, float(value))[1] for value in perplexities]
    return betas


def mixture_costs(indptr: Array, squared: Array, weights: Array, precisions: Array) -> Array:
    costs = np.empty_like(squared)
    for i, (first, last) in enumerate(pairwise(indptr)):
        s, weight = squared[first:last].astype(np.float64), weights[first:last]
        logits = -precisions[i][:, None] * s
        logits -= logsumexp(logits, axis=1, b=weight, keepdims=True)
        costs[first:last] = np.log(precisions.shape[1]) - logsumexp(logits, axis=0)
    return costs


def listed_divergence_gradient(
    indptr: Array,
    indices: Array,
    costs: Array,
    weights: Array,
    precisions: Array,
    trade_off: float,
    Y: Array,
) -> tuple[float, float, Array]:
    missed, false, gradient = 0.0, 0.0, np.zeros(Y.shape)
    for i, (first, last) in enumerate(pairwise(indptr)):
        others, cost = indices[first:last], costs[first:last].astype(np.float64)
        gaps = Y[i] - Y[others]
        s = (gaps**2).sum(axis=1)
        own = _row_divergence(
            cost, precisions[i].astype(np.float64), trade_off, s, weights[first:last]
        )
        missed, false = missed + own[0], false + own[1]
        pull = 2 * own[2][:, None] * gaps
        gradient[i] += pull.sum(axis=0)
        np.subtract.at(gradient, others, pull)
    return missed, false, gradient


def nearest_in_groups(Y: Array, groups: Array, k: int) -> tuple[Array, Array, Array]:
    n = len(Y)
    D = cdist(Y, Y)
    D[np.eye(n, dtype=bool) | (groups[:, None] != groups)] = np.inf
    D = np.pad(D, ((0, 0), (0, k)), constant_values=np.inf)
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    distances = np.take_along_axis(D, ids, axis=1)
    ids[np.isinf(distances)] = -1
    return ids.astype(np.int32), distances, np.argsort(groups, kind="stable").astype(np.int32)


def drop_listed(listed: Array, ids: Array) -> None:
    for own, row in zip(listed, ids, strict=True):
        row[np.isin(row, own)] = -1


def join_samples(
    near: tuple[Array, Array],
    more: tuple[Array, Array],
    radii: Array,
    map_radii: Array,
    Y: Array,
    labels: Array,
    ratio: int,
    largest: float,
    weights: Array,
) -> tuple[Array, Array, Array, Array]:
    rows: list[list[tuple[int, float, float]]] = []
    for i in range(len(Y)):
        ids, distances = (np.concatenate([near[k][i], more[k][i]]) for k in (0, 1))
        entries = []
        for j, d in zip(ids, distances, strict=True):
            on_map = int((np.linalg.norm(Y[i] - Y[j]) > map_radii[i]).sum())
            level = min(on_map, int((d > radii[i]).sum()))
            if j >= 0 and (int(labels[i]) - int(labels[j])) % ratio**level == 0:
                entries.append((on_map, j, (d / largest) ** 2, weights[level]))
        rows.append([entry[1:] for entry in sorted(entries, key=lambda entry: entry[0])])
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    parts = np.array([entry for row in rows for entry in row]).reshape(-1, 3).T
    kinds = (np.int32, np.float32, np.float32)
    return indptr, *(part.astype(kind) for part, kind in zip(parts, kinds, strict=True))


def stochastic_neighbor_errors(Z: Array, classes: Array, accuracy: float) -> tuple[float, Array]:
    squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    p = softmax(-squares, axis=1)
    same = classes[:, None] == classes
    errors = (p * ~same).sum(axis=1)
    W = p * (1 - errors[:, None] - same)
    gaps = Z[:, None] - Z
    gradient = -2 * np.einsum("ij,ijc->ic", W + W.T, gaps)
    return float(errors.sum()), gradient


def _placed(
    cost: Array,
    precision: Array,
    trade_off: float,
    embedding: Array,
    starts: Array,
    max_iter: int,
    weight: Array | float,
) -> Array:
    def objective(y: Array) -> tuple[float, Array]:
        gaps = y - embedding
        s = (gaps**2).sum(axis=1)
        missed, false, slope = _row_divergence(cost, precision, trade_off, s, weight)
        return trade_off * missed + (1 - trade_off) * false, 2 * slope @ gaps

    best = min(starts, key=lambda y: objective(y)[0])
    if max_iter == 0:
        return np.asarray(best)
    minimized: Any = minimize  # whose types do not know jac=True
    options = {"maxiter": max_iter, "gtol": 1e-10}
    return np.asarray(minimized(objective, best, jac=True, method="BFGS", options=options).x)


def place_by_divergence(
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    starts: Array,
    max_iter: int,
    tol: float,
    lists: tuple[Array, Array] | None = None,
) -> Array:
    return np.array(
        [
            _placed(
                cost.astype(np.float64),
                precisions[r],
                trade_off,
                embedding if lists is None else embedding[lists[0][r]],
                starts[r],
                max_iter,
                1.0 if lists is None else lists[1][r],
            )
            for r, cost in enumerate(costs)
        ]
    )


def vector_sample(
    rows: Array, labels: Array, ratio: int, nearest: tuple[Array, Array], n_levels: int
) -> None:
    """There is no device: the lists are those of `lowdim.neighbor_embedding.samples`."""


def pair_arcs(partners: Array, rank: Array, dtype: Any) -> Any:
    A = np.zeros((len(rank), len(rank)), dtype)
    for i, row in enumerate(partners):
        for j in row[row >= 0]:
            A[i, j] += 1
            A[j, i] += 1
    return layout_arcs(csr_array(A), rank)


def nearest_scaled(
    indices: Array, distances: Array, own: Array, scales: Array, k: int, other: Array | None = None
) -> Array:
    rows = []
    for i, (ids, lengths) in enumerate(zip(indices, distances, strict=True)):
        keys = [(d / own[i]) * (d / scales[j]) for j, d in zip(ids, lengths, strict=True)]
        if other is not None:
            keys = np.where(other[i], np.inf, keys)
        rows.append([ids[place] for place in np.argsort(keys, kind="stable")[:k]])
    return np.array(rows, dtype=indices.dtype)
