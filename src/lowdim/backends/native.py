"""The compiled core, and BLAS in tiles over plain threads.

The only importer of the extension. Work is cut into chunks that depend on the data alone and
BLAS is held to one thread inside a chunk, so results are the same bits for any `n_jobs`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lowdim import _native
from lowdim.checks import Array, integer

Item = TypeVar("Item")

ROWS = 256  # rows of a dense block handled at once
SMALL = 500_000  # edges that are pulled at before another thread has begun
NARROW = 16  # columns up to which a product is bound by reading the matrix


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores (or LOWDIM_NUM_THREADS) for None, joblib's reading of the rest."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs is None:
        asked = os.environ.get("LOWDIM_NUM_THREADS") or str(cores or 1)
        if not asked.isdecimal():
            raise ValueError(f"LOWDIM_NUM_THREADS must be a whole number, got {asked!r}.")
        return max(1, int(asked))
    n_jobs = integer(n_jobs, "n_jobs", -(10**6))
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, or -1 or None for all.")
    return n_jobs if n_jobs > 0 else max(1, (cores or 1) + 1 + n_jobs)


class _BlasHold:
    """Holds BLAS to one thread while anyone inside needs it; nested and concurrent use is free."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth = 0
        self.libraries: list[Any] = []
        self.before: list[int] = []

    def __enter__(self) -> None:
        from threadpoolctl import ThreadpoolController

        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self.before = [library.num_threads for library in self.libraries]
                self._set([1] * len(self.libraries))

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self._set(self.before)

    def _set(self, counts: list[int]) -> None:
        for library, count in zip(self.libraries, counts, strict=True):
            # Newer versions of threadpoolctl give OpenBLAS to the thread that set it first, but
            # the last to leave may be another one.
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(count)
            release(force=True)


_hold = _BlasHold()


def blas_on_one_thread() -> _BlasHold:
    """A context in which the parallelism is ours alone, and sums keep their order."""
    return _hold


def run(work: Callable[[Item], Any], items: Iterable[Item], n_jobs: int | None) -> list[Any]:
    """Call `work` on every item, in threads; results in the order of the items."""
    items = list(items)
    threads = min(n_threads(n_jobs), len(items))
    with blas_on_one_thread():
        if threads <= 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, items))


def blocks(n: int, size: int = ROWS) -> list[slice]:
    """[0, n) in consecutive slices of the given size."""
    return [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]


def matmul(A: Array, V: Array, n_jobs: int | None, *, squared: bool = False) -> Array:
    """A @ V, or (A * A) @ V without the matrix of squares.

    A few columns are multiplied at the speed of reading A; more than that by BLAS, in blocks.
    """
    if squared or (V.shape[1] <= NARROW and A.flags.c_contiguous):
        out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
        columns = np.ascontiguousarray(V.T, dtype=A.dtype)
        _native.narrow_matmul(A, columns, out, squared, n_threads(n_jobs))
        return out
    out = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A, V))
    run(lambda rows: np.matmul(A[rows], V, out=out[rows]), blocks(A.shape[0], 512), n_jobs)
    return out


def spmm(A: Any, V: Array, n_jobs: int | None) -> Array:
    """A @ V for a CSR matrix and a few dense columns."""
    V = np.ascontiguousarray(V, dtype=A.dtype)
    out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
    indptr, indices = csr_indices(A)
    _native.spmm(indptr, indices, A.data, V, out, n_threads(n_jobs))
    return out


def csr_indices(A: Any) -> tuple[Array, Array]:
    """The index arrays of a CSR matrix in the types of the core: int64 and int32."""
    return A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)


def offer(
    tile: Array,
    offset: Array,
    first: tuple[int, int],
    scale: float,
    values: Array,
    ids: Array,
    *,
    columns: bool = False,
) -> None:
    """Offer scores `scale * tile + offset` to the heaps of the tile's rows, or of its columns."""
    kernel = _native.offer_to_columns if columns else _native.offer_to_rows
    kernel(tile, offset, first[0], first[1], scale, values, ids, 1)


def rerank(
    queries: Any, points: Any, candidates: Array, k: int, cosine: bool, n_jobs: int | None
) -> tuple[Array, Array]:
    """The k nearest of each row's candidates by exact distance, ordered by (distance, index).

    Rows are those of arrays or of CSR matrices; a candidate of -1 is none.
    """
    ids = np.empty((queries.shape[0], k), dtype=np.int32)
    distances = np.empty((queries.shape[0], k), dtype=queries.dtype)
    out = (candidates, cosine, ids, distances, n_threads(n_jobs))
    if hasattr(points, "tocsr"):
        parts = (*csr_indices(queries), queries.data, *csr_indices(points), points.data)
        _native.rerank_sparse(*parts, points.shape[1], *out)
    else:
        _native.rerank(queries, points, *out)
    return ids, distances


PANEL = int(_native.PANEL_POINTS)  # points side by side in a panel


def fill_panels(
    points: Array, norms: Array, order: Array, starts: Array, n_jobs: int | None
) -> tuple[Array, Array, Array, Array]:
    """Points stored cell by cell in panels, for `search_cells`; float32.

    The point at place i is row order[i]; cell c holds the places [starts[c], starts[c + 1]).
    """
    first = np.concatenate([[0], np.cumsum(-(-np.diff(starts) // PANEL))]).astype(np.int64)
    panels = np.empty((first[-1], points.shape[1], PANEL), dtype=np.float32)
    sums = np.empty((first[-1], PANEL), dtype=np.float32)
    _native.fill_panels(points, norms, order, starts, first, panels, sums, n_threads(n_jobs))
    return starts, first, panels, sums


def search_cells(
    cells: tuple[Array, Array, Array, Array],
    queries: Array,
    selves: Array,
    probes: Array,
    m: int,
    n_jobs: int | None,
    *,
    ordered: bool = False,
) -> tuple[Array, Array]:
    """Places and scores |y|^2 - 2 x.y of the m best points in the cells that each query asks for.

    The nearest cell comes first in a row of `probes`, which -1 fills up, as it does the places.
    selves[q] is the place of query q itself, or -1. A query's answer depends on it alone.
    """
    values = np.empty((len(queries), m), dtype=np.float32)
    places = np.empty((len(queries), m), dtype=np.int32)
    _native.search_cells(
        *cells, queries, selves, probes, ordered, values, places, n_threads(n_jobs)
    )
    return places, values


def project(
    X: Array, center: Array, scale: float, axes: Array, width: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """scale (X - center) axes' in float32, and the squared norms of scale (X - center).

    The axes come in panels (see `axis_panels`); each row is computed on its own.
    """
    out = np.empty((len(X), width), dtype=np.float32)
    squares = np.empty(len(X), dtype=np.float32)
    _native.project_rows(X, center, scale, axes, out, squares, n_threads(n_jobs))
    return out, squares


def axis_panels(axes: Array) -> Array:
    """Axes, one a row, in the panels that `project` takes."""
    count, d = axes.shape
    padded = np.zeros((-(-count // PANEL) * PANEL, d), dtype=np.float32)
    padded[:count] = axes
    return np.ascontiguousarray(padded.reshape(-1, PANEL, d).transpose(0, 2, 1))


def squared_distances(queries: Array, points: Array, n_jobs: int | None) -> Array:
    """|q - p|^2 of all queries and points, by differences: equal pairs get equal values."""
    out = np.empty((len(queries), len(points)), dtype=points.dtype)
    _native.squared_distances(queries, points, out, n_threads(n_jobs))
    return out


def compare_orders(
    first: Array, second: Array, own: Array, k: int, grid: Array, n_jobs: int | None
) -> tuple[Array, Array, Array, Array, Array]:
    """How the order of all objects, seen from object own[r], differs between two distances.

    Row r of `first` and `second` holds the distances from own[r]; ties are ordered by number. The
    answer: the k nearest by the first distances and their ranks (from 1) by the second; the k
    nearest by the second and their ranks by the first; and how many objects are among the grid[g]
    nearest by both.
    """
    near = [np.empty((len(own), k), dtype=np.int32) for _ in range(4)]
    shared = np.empty((len(own), len(grid)), dtype=np.int32)
    _native.compare_orders(first, second, own, grid, *near, shared, n_threads(n_jobs))
    return near[0], near[1], near[2], near[3], shared


def symmetrize(
    indptr: Array, indices: Array, data: Array, how: str, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    """A graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""
    parts: tuple[Array, Array, Array] = _native.symmetrize(
        indptr, indices, data, how, n_threads(n_jobs)
    )
    return parts


def shortest_paths(
    indptr: Array, indices: Array, weights: Array, sources: Array, n_jobs: int | None
) -> Array:
    """Lengths of shortest paths from each source to every node."""
    out = np.empty((len(sources), len(indptr) - 1), dtype=weights.dtype)
    _native.shortest_paths(indptr, indices, weights, sources, out, n_threads(n_jobs))
    return out


def floyd_warshall(lengths: Array, n_jobs: int | None) -> None:
    """All shortest paths of a dense matrix of arc lengths, in place."""
    _native.floyd_warshall(lengths, n_threads(n_jobs))


def level_structure(indptr: Array, indices: Array) -> tuple[int, int]:
    """Number of breadth-first levels from a peripheral node, and the width of the widest."""
    depth, widest = _native.level_structure(indptr, indices)
    return int(depth), int(widest)


def barycentric_weights(grams: Array, reg: float, n_jobs: int | None) -> Array:
    """Affine weights w with (G + reg tr(G) I) w proportional to 1, for each Gram matrix."""
    weights = np.empty(grams.shape[:2], dtype=grams.dtype)
    _native.barycentric_weights(grams, reg, weights, n_threads(n_jobs))
    return weights


def stress_gradient(dissimilarities: Array, X: Array, n_jobs: int | None) -> tuple[Array, float]:
    """The gradient V X - B(X) X and the raw stress at X, in one pass over half of the matrix.

    The Guttman transform of X is X - gradient / n.
    """
    gradient = np.empty_like(X)
    stress = _native.stress_gradient(dissimilarities, X, gradient, n_threads(n_jobs))
    return gradient, float(stress)


def sammon_gradient(
    dissimilarities: Array,
    X: Array,
    mass: Array,
    *,
    floor: float,
    epsilon: float,
    n_jobs: int | None,
) -> tuple[Array, float]:
    """Half the gradient of sum_{i<j} w_ij (delta_ij - d_ij)^2 and that sum, coordinates in float64.

    The weights are mass_i mass_j / max(delta_ij, epsilon); pairs up to `floor` are left out unless
    epsilon > 0.
    """
    gradient = np.empty(X.shape)
    stress = _native.sammon_gradient(
        dissimilarities,
        np.ascontiguousarray(X.T),
        mass,
        gradient,
        floor,
        epsilon,
        n_threads(n_jobs),
    )
    return gradient, float(stress) / 2


def pair_distances(first: Array, second: Array, X: Array, n_jobs: int | None) -> Array:
    """|x_i - x_j| of the listed pairs."""
    distances = np.empty(len(first), dtype=X.dtype)
    _native.pair_distances(first, second, X, distances, n_threads(n_jobs))
    return distances


def pair_gradient(
    first: Array,
    second: Array,
    distances: Array,
    targets: Array,
    weights: Array | None,
    X: Array,
    n_jobs: int | None,
) -> tuple[Array, float]:
    """V X - B(X) X and the weighted raw stress of listed pairs at given distances."""
    gradient = np.empty_like(X)
    own = np.empty(0, X.dtype) if weights is None else weights
    stress = _native.pair_gradient(
        first, second, distances, targets, own, X, gradient, n_threads(n_jobs)
    )
    return gradient, float(stress)


def meet_in_tiles(
    order: Array, targets: Array, weights: Array | None, rate: float, X: Array, n_jobs: int | None
) -> float:
    """Move the points X, in place, pair by pair in tiles of `order`; returns the stress met."""
    own = np.empty((0, 0, 0), X.dtype) if weights is None else weights
    return float(_native.meet_in_tiles(order, targets, own, rate, X, n_threads(n_jobs)))


def place_points(
    targets: Array,
    weights: Array,
    X: Array,
    start: Array,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
) -> Array:
    """Points with the target distances to the points X, by majorization, each on its own."""
    Y = np.array(start, dtype=X.dtype, order="C")
    fixed = np.ascontiguousarray(X.T)
    _native.place_points(targets, weights, fixed, Y, max_iter, tol, n_threads(n_jobs))
    return Y


def isotonic(
    values: Array,
    weights: Array | None,
    ties: Array | None,
    primary: bool,
    n_jobs: int | None,
) -> Array:
    """The non-decreasing sequence nearest to the values, in weighted least squares.

    `ties` holds the starts of runs of tied items, and the number of items at the end; tied items
    may part in the order of their values (primary) or stay equal.
    """
    out = np.empty_like(values)
    own = np.empty(0, values.dtype) if weights is None else weights
    starts = np.empty(0, np.int64) if ties is None else ties
    _native.isotonic(values, own, starts, primary, out, n_threads(n_jobs))
    return out


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
    n_jobs: int | None,
) -> float:
    """Let points pin one after the other: all others move, in place, and the error is returned.

    Y holds the points dimension by dimension; row r of `distances`, times `unit`, belongs to the
    pin that stands at the same place of `pins` as r does of `rows`.
    """
    found = _native.curvilinear_sweep(
        distances, rows, pins, Y, unit, alpha, reach, step, n_threads(n_jobs)
    )
    return float(found)


def perplexity_affinities(
    indptr: Array, squared: Array, perplexity: float, n_jobs: int | None
) -> tuple[Array, Array]:
    """Rows p ~ exp(-beta d) of sum one and entropy log(perplexity), and their betas."""
    p, beta = np.empty_like(squared), np.empty(len(indptr) - 1)
    _native.perplexity_affinities(indptr, squared, perplexity, p, beta, n_threads(n_jobs))
    return p, beta


class Edges:
    """The edges of a CSR matrix, checked once, along which points attract each other."""

    def __init__(self, P: Any) -> None:
        indptr, indices = csr_indices(P)
        kind = _native.Edges32 if P.dtype == np.float32 else _native.Edges64
        self.n_edges = len(P.data)
        self.edges = kind(indptr, indices, np.ascontiguousarray(P.data))

    def attraction(
        self, Y: Array, similarity: str, dof: float, *, loss: bool, n_jobs: int | None
    ) -> tuple[Array, float]:
        """sum_j p_ij u_ij (y_i - y_j), and sum_ij p_ij log w_ij if `loss`, else 0."""
        force = np.empty_like(Y)
        threads = n_threads(n_jobs) if self.n_edges > SMALL else 1
        logs = self.edges.attraction(Y, similarity, dof, loss, force, threads)
        return force, float(logs)

    def renumber(self, order: Array, n_jobs: int | None) -> None:
        """Call vertex order[i] by the number i."""
        self.edges.renumber(order, n_threads(n_jobs))


def bounds(Y: Array) -> tuple[Array, Array]:
    """The least and the largest entry of each of a few columns."""
    low, high = np.empty(Y.shape[1]), np.empty(Y.shape[1])
    _native.bounds(Y, low, high)
    return low, high


def curve_order(Y: Array) -> Array:
    """Points in the order of a curve that fills the map: those near in it are near each other."""
    return np.asarray(_native.curve_order(Y))


def repulsion(
    Y: Array,
    others: Array,
    mass: Array | None,
    similarity: str,
    dof: float,
    n_jobs: int | None,
) -> tuple[Array, Array]:
    """sum_j m_j w_ij u_ij (y_i - x_j) and sum_j m_j w_ij over all others x, itself included."""
    force, z = np.empty_like(Y), np.empty(len(Y), Y.dtype)
    own = np.empty(0, Y.dtype) if mass is None else mass
    transposed = np.ascontiguousarray(others.T)
    _native.repulsion(Y, transposed, own, similarity, dof, force, z, n_threads(n_jobs))
    return force, z


def tree_repulsion(
    Y: Array, mass: Array | None, similarity: str, dof: float, angle: float, n_jobs: int | None
) -> tuple[Array, Array]:
    """As `repulsion` among the points Y, itself excluded, far cells acting as wholes."""
    force, z = np.empty_like(Y), np.empty(len(Y), Y.dtype)
    own = np.empty(0, Y.dtype) if mass is None else mass
    _native.tree_repulsion(Y, own, similarity, dof, angle, force, z, n_threads(n_jobs))
    return force, z


def spread(
    Y: Array,
    charge: Array | None,
    origin: Array,
    step: float,
    columns: int,
    field: Array,
    n_jobs: int | None,
) -> None:
    """Points to the nodes of a grid, by splines: the field is overwritten."""
    own = np.empty(0, Y.dtype) if charge is None else charge
    _native.spread(Y, own, origin, step, columns, field, n_threads(n_jobs))


def gather(
    field: Array, origin: Array, step: float, columns: int, Y: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """The values of a spline field at points, and the gradients there."""
    value, gradient = np.empty(len(Y), Y.dtype), np.empty_like(Y)
    _native.gather(field, origin, step, columns, Y, value, gradient, n_threads(n_jobs))
    return value, gradient


def divergence_gradient(
    costs: Array, precisions: Array, trade_off: float, Y: Array, n_jobs: int | None
) -> tuple[Array, float, float]:
    """The gradient of sum_i trade_off KL(p_i || q_i) + (1 - trade_off) KL(q_i || p_i), and the two
    sums of divergences.

    Row i of `costs` (n, n - 1) holds -log p of all other objects, q is the mean over the scales of
    softmax(-precision |y_i - y_j|^2), and `precisions` (n, scales) ascend. Coordinates are float64.
    """
    gradient = np.empty(Y.shape)
    transposed = np.ascontiguousarray(Y.T)
    missed, wrong = _native.divergence_gradient(
        costs, precisions, trade_off, transposed, gradient, n_threads(n_jobs)
    )
    return gradient, float(missed), float(wrong)


def place_by_divergence(
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    starts: Array,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
) -> Array:
    """Points whose own row has the least divergence from a map that stands still, each on its own,
    from the best of its starts (new, starts, dim)."""
    Y = np.empty((len(costs), embedding.shape[1]))
    fixed = np.ascontiguousarray(embedding.T)
    _native.place_by_divergence(
        costs, precisions, trade_off, fixed, starts, Y, max_iter, tol, n_threads(n_jobs)
    )
    return Y


class Convolution:
    """Convolution of fields with one even kernel, given by its real transform (`rfft2`)."""

    def __init__(self, transform: Array, columns: int) -> None:
        kind = _native.Convolution32 if transform.dtype == np.float32 else _native.Convolution64
        self.convolution = kind(np.ascontiguousarray(transform), columns)

    def apply(self, field: Array, n_jobs: int | None) -> None:
        """Convolve a field of at most half of the padded lengths, in place."""
        self.convolution.apply(field, n_threads(n_jobs))


def momentum_step(
    gradient: Array,
    Y: Array,
    velocity: Array,
    gains: Array,
    *,
    rate: float,
    momentum: float,
    least_gain: float,
    longest: float,
    n_jobs: int | None,
) -> float:
    """One step of descent, in place of Y, velocity and gains; returns the gradient's norm."""
    square = _native.momentum_step(
        gradient, Y, velocity, gains, rate, momentum, least_gain, longest, n_threads(n_jobs)
    )
    return float(np.sqrt(square))


def memberships(
    indptr: Array, distances: Array, target: float, connectivity: float, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    """Fuzzy memberships of rows of neighbours, nearest first; their rho and sigma."""
    rho = np.empty(len(indptr) - 1, dtype=distances.dtype)
    sigma, out = np.empty_like(rho), np.empty_like(distances)
    _native.memberships(indptr, distances, target, connectivity, rho, sigma, out, n_threads(n_jobs))
    return out, rho, sigma


def fuzzy_union(
    indptr: Array, indices: Array, data: Array, mix: float, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    """A fuzzy graph combined with its transpose, `mix` of the union and the rest intersection."""
    parts: tuple[Array, Array, Array] = _native.fuzzy_union(
        indptr, indices, data, mix, n_threads(n_jobs)
    )
    return parts


class Abreast(NamedTuple):
    """The arcs of a graph in the order in which a layout works on them."""

    members: Array
    starts: Array
    targets: Array
    weights: Array


def abreast(
    indptr: Array, indices: Array, data: Array, rank: Array, n_targets: int | None = None
) -> Abreast:
    """Vertices by rank, side by side; targets are ranks too, or numbers below n_targets."""
    others = -1 if n_targets is None else n_targets
    return Abreast(*_native.abreast(indptr, indices, data, rank, others))


def layout_epochs(
    graph: Abreast,
    Y: Array,
    velocity: Array,
    *,
    curve: tuple[float, float],
    rate: float,
    momentum: float,
    repulsion: float,
    draws: int,
    epochs: tuple[int, int, int],
    seed: int,
    fixed: Array | None = None,
    density: tuple[Array, Array] | None = None,
    loss: bool = False,
    n_jobs: int | None = None,
) -> float:
    """Epochs [first, last) of a layout that ends at the third number; Y, velocity in place.

    `fixed` are the targets of the arcs, if they are not the vertices themselves; `draws` of them
    repel a vertex in an epoch, or all if 0. The cross-entropy before the last epoch is returned
    if asked for.
    """
    none = np.empty((0, Y.shape[1]), Y.dtype)
    found = _native.layout_epochs(
        *graph,
        Y,
        velocity,
        none if fixed is None else fixed,
        curve,
        (rate, momentum, repulsion),
        draws,
        epochs,
        seed,
        *(density or (none[:, 0], none[:, 0])),
        loss,
        n_threads(n_jobs),
    )
    return float(found)


def layout_radii(
    graph: Abreast, Y: Array, curve: tuple[float, float], n_jobs: int | None
) -> tuple[Array, Array]:
    """Each vertex's sum of nearness to its targets, and of nearness times squared distance."""
    mass, spread = np.empty((2, len(Y)), dtype=Y.dtype)
    _native.layout_radii(*graph, Y, *curve, mass, spread, n_threads(n_jobs))
    return mass, spread


def isa() -> str:
    """The instruction set in use."""
    return str(_native.isa())
