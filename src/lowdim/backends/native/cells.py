"""Candidates for nearest neighbours: low-dimensional projections of the rows, in k-means cells.

Rows x are projected on their leading principal axes. Of the residual of the projection only the
length is kept. If two residuals have the lengths r and s and an angle of cosine c, then

    |x - y|^2 = |z_x - z_y|^2 + r^2 + s^2 - 2 c r s,

with z the projections. With the same c for all pairs (0: orthogonal residuals, 1: parallel ones),
this distance follows from the squared norms of the rows and from the coarse vectors (z, sqrt(c) r).
The coarse vectors are divided into cells by k-means, and a row is compared with the rows of the
cells nearest to it. All of this is in float32 and only finds candidates, which `index` then ranks
by their true distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.algebra import matmul, scatter, spmm
from lowdim.backends.native.dense import orthonormal, product, symmetric_eigen
from lowdim.backends.native.products import squared_norms
from lowdim.checks import Array, is_sparse
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks

WIDTHS = (32, 64, 96, 128)  # numbers of dimensions of the coarse space to choose from
VARIANCE_SHARE = 0.9  # the smallest width that keeps this share of the variance is tried first
AXES_SAMPLE_ROWS = 8192  # rows from which the principal axes are computed
SAMPLE_BLOCK_ROWS = 256  # of them that are added up at once
OVERSAMPLING = 8  # additional columns of the randomized singular value decomposition
SAMPLE_ROWS_PER_CELL = 40  # of the k-means sample
COVARIANCE_COLUMNS = 1500  # up to which the axes are computed from the covariance matrix
KMEANS_ROUNDS = 5
RESIDUAL_COSINE = 0.4  # c; on images it needs a fifth fewer candidates than c = 0
LARGEST_CELL = 4  # in units of the mean size; a larger cell is divided

PANEL = int(_native.PANEL_POINTS)  # number of points whose coordinates a panel interleaves

Panels = tuple[Array, Array, Array, Array]
"""Points stored for `search_cells`; see `fill_panels`."""


@dataclass(frozen=True, eq=False)
class CoarseSpace:
    """The map from rows to coarse vectors, `scale * (row - center)` projected on `axes`."""

    center: Array  # zero for the cosine distance and for sparse rows
    scale: float  # so that the mean squared norm is 1
    axes: Array | None  # in panels for dense rows, as columns for sparse rows; None: no projection
    width: int
    cosine: bool

    def vectors(self, rows: Any) -> tuple[Array, Array]:
        """Coarse vectors z of the rows, and the terms that scores add to -2 z.z': squared norms.

        The last column is that of the residuals.
        """
        if self.axes is None:
            Z = np.asarray((rows - self.center) * self.scale, dtype=np.float32)
            squares = np.square(Z).sum(axis=1)
        else:
            if not is_sparse(rows):
                Z = np.empty((len(rows), self.width + 1), dtype=np.float32)
                squares = np.empty(len(rows), dtype=np.float32)
                space = self.center, self.scale, self.axes, RESIDUAL_COSINE
                _native.project_rows(rows, *space, Z, squares, current().threads)
            else:
                Z = (spmm(rows, self.axes) * self.scale).astype(np.float32)
                squares = (squared_norms(rows) * self.scale**2).astype(np.float32)
                rest = np.maximum(squares - np.square(Z).sum(axis=1), 0)
                rest = np.sqrt(RESIDUAL_COSINE * rest)
                Z = np.concatenate([Z, rest[:, None]], axis=1, dtype=np.float32)
        if self.cosine:  # the distance 1 - x.y also holds if y is zero
            squares = np.ones_like(squares)
        return Z, squares


def coarse_spaces(points: Any, cosine: bool, random: np.random.Generator) -> Iterator[CoarseSpace]:
    """Coarse spaces to try, in ascending order of their width."""
    n, d = points.shape
    sparse = is_sparse(points)
    chosen = np.sort(random.choice(n, min(n, AXES_SAMPLE_ROWS), replace=False))
    center = np.zeros(d, dtype=points.dtype)
    if sparse:
        some = points[chosen]
        largest = float(abs(some).max()) or 1.0
        some = (some / largest).astype(np.float32)
    else:
        some, center, largest = _scaled_sample(points, chosen, cosine)
    total = float(squared_norms(some).sum(dtype=np.float64))
    scale = 1 / (largest * (np.sqrt(total / some.shape[0]) or 1.0))
    if d <= WIDTHS[-1] and not sparse:
        yield CoarseSpace(center, scale, None, d, cosine)
        return
    tried = 0
    for most in (WIDTHS[-1], 2 * WIDTHS[-1]):
        axes, energies = leading_axes(some, most, random)
        enough = [
            w
            for w in WIDTHS
            if np.cumsum(energies)[: len(axes)][w - 1 : w] >= VARIANCE_SHARE * total
        ]
        for width in sorted({*enough[:1], len(axes)}):
            if width > tried:
                chosen = axes[:width]
                stored = np.ascontiguousarray(chosen.T) if sparse else axis_panels(chosen)
                yield CoarseSpace(center, scale, stored, width, cosine)
                tried = width


def _scaled_sample(points: Array, chosen: Array, cosine: bool) -> tuple[Array, Array, float]:
    """Chosen rows, minus their mean unless `cosine`, divided by their largest absolute entry.

    Returns the rows in float32, their mean (zero if `cosine`) and the largest entry.
    """
    rows = points[chosen]
    center = np.zeros(points.shape[1], dtype=points.dtype)
    if not cosine:
        parts = blocks(len(rows), SAMPLE_BLOCK_ROWS)
        sums = [rows[part].sum(axis=0, dtype=np.float64) for part in parts]
        center = (np.sum(sums, axis=0) / len(rows)).astype(points.dtype)
        rows -= center
    largest = float(np.abs(rows).max()) or 1.0
    return (rows / largest).astype(np.float32), center, largest


def leading_axes(A: Any, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Approximate leading right singular vectors of A, as rows, and squared singular values."""
    count = min(count, *A.shape)
    wide = min(count + OVERSAMPLING, *A.shape)
    multiply = spmm if is_sparse(A) else matmul
    if is_sparse(A) or A.shape[1] > COVARIANCE_COLUMNS:
        transposed = A.T.tocsr() if is_sparse(A) else np.ascontiguousarray(A.T)
    else:  # A' A once takes less time than the products of both factors
        A = scatter(A, np.zeros(A.shape[1], A.dtype))[0].astype(A.dtype)
        transposed = None

    def apply(V: Array) -> Array:
        return multiply(A, V) if transposed is None else multiply(transposed, multiply(A, V))

    Q = random.uniform(-1, 1, (A.shape[1], wide)).astype(A.dtype)
    for _ in range(3):
        Q = orthonormal(apply(Q))[0]
    squares, vectors = symmetric_eigen(product(Q.T, apply(Q).T, precise=True))
    axes = product(vectors[:, : -count - 1 : -1].T.astype(A.dtype), Q)
    return axes, squares[: -count - 1 : -1]


@dataclass(frozen=True, eq=False)
class Cells:
    """Coarse vectors divided into cells. The place of a row is its position in `order`."""

    order: Array  # row numbers, cell by cell
    starts: Array  # first place of each cell, and the number of rows
    centers: Panels
    members: Panels

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def nearest(self, Z: Array, p: int) -> Array:
        """The p cells nearest to each vector, nearest first."""
        return _nearest(self.centers, Z, p)

    def refill(self, Z: Array, squares: Array) -> Cells:
        """The same cells with other vectors in them; some may be empty."""
        order, starts = order_by_cell(self.nearest(Z, 1)[:, 0], self.count)
        return Cells(order, starts, self.centers, fill_panels(Z, squares, order, starts))


def build_cells(Z: Array, squares: Array, count: int, random: np.random.Generator) -> Cells:
    """Divide the vectors into about `count` cells by k-means on a sample of them."""
    n = len(Z)
    sample = np.sort(random.choice(n, min(n, count * SAMPLE_ROWS_PER_CELL), replace=False))
    points = np.ascontiguousarray(Z[sample])
    centers = points[np.sort(random.choice(len(points), count, replace=False))]
    for _ in range(KMEANS_ROUNDS):
        owner = _nearest(_pack(centers), points, 1)[:, 0]
        _native.cell_means(points, *order_by_cell(owner, count), centers, current().threads)
    owner = _nearest(_pack(centers), Z, 1)[:, 0]
    owner = _divide_large(Z, owner, LARGEST_CELL * -(-n // count))
    order, starts = order_by_cell(owner, int(owner.max()) + 1)
    starts = np.unique(starts)  # removes empty cells
    means = np.empty((len(starts) - 1, Z.shape[1]), dtype=np.float32)
    _native.cell_means(Z, order, starts, means, current().threads)
    members = fill_panels(Z, squares, order, starts)
    return Cells(order, starts, _pack(means), members)


def _pack(centers: Array) -> Panels:
    """The centres as panels of a single cell."""
    count = len(centers)
    in_order = np.arange(count, dtype=np.int32)
    squares = np.square(centers).sum(axis=1)
    return fill_panels(centers, squares, in_order, np.array([0, count]))


def _nearest(centers: Panels, Z: Array, p: int) -> Array:
    """The p centres nearest to each vector, nearest first."""
    no_place = np.full(len(Z), -1, dtype=np.int32)
    first_cell = np.zeros((len(Z), 1), dtype=np.int32)
    return search_cells(centers, Z, no_place, first_cell, p, ordered=True)[0]


def _divide_large(Z: Array, owner: Array, largest: int) -> Array:
    """Divide cells above the largest size along their axis of largest variance."""
    owner = owner.copy()
    following = int(owner.max()) + 1
    for cell in np.flatnonzero(np.bincount(owner) > largest):
        rows = np.flatnonzero(owner == cell)
        inside = Z[rows]
        rows = rows[np.argsort(inside[:, inside.var(axis=0).argmax()], kind="stable")]
        pieces = -(-len(rows) // largest)
        owner[rows] = following + np.arange(len(rows)) * pieces // len(rows)
        following += pieces
    return owner


# --- kernels: points stored cell by cell in panels ------------------------------------------------


def order_by_cell(owner: Array, n_cells: int) -> tuple[Array, Array]:
    """The points in the order of their cells, and the first place of each cell in that order.

    Point i is in cell owner[i]; the points of a cell are in ascending order.
    """
    owner = np.ascontiguousarray(owner, dtype=np.int32)
    order, starts = _native.order_by_cell(owner, n_cells, current().threads)
    return np.asarray(order), np.asarray(starts)


def fill_panels(points: Array, norms: Array, order: Array, starts: Array) -> Panels:
    """Store points cell by cell in panels, in float32, for `search_cells`.

    The point at place i is row order[i]; cell c holds the places starts[c] <= i < starts[c + 1].
    Returns starts, the first panel of each cell, the panels, and the squared norms in panels.
    """
    first = np.concatenate([[0], np.cumsum(-(-np.diff(starts) // PANEL))]).astype(np.int64)
    panels = np.empty((first[-1], points.shape[1], PANEL), dtype=np.float32)
    sums = np.empty((first[-1], PANEL), dtype=np.float32)
    _native.fill_panels(points, norms, order, starts, first, panels, sums, current().threads)
    return starts, first, panels, sums


def search_cells(
    cells: Panels,
    queries: Array,
    self_places: Array,
    probes: Array,
    m: int,
    *,
    ordered: bool = False,
) -> tuple[Array, Array]:
    """The m points of least score |y|^2 - 2 x.y for each query x, from some of the `cells` that
    `fill_panels` made.

    `self_places` are the places of the queries, which are left out; -1 if a query has none.
    `probes` of shape (n, p) are the cells to search, nearest first. Returns places, padded with -1,
    and scores, both of shape (n, m), sorted by score if `ordered`. They do not depend on the other
    queries.
    """
    values = np.empty((len(queries), m), dtype=np.float32)
    places = np.empty((len(queries), m), dtype=np.int32)
    _native.search_cells(
        *cells, queries, self_places, probes, ordered, values, places, current().threads
    )
    return places, values


def axis_panels(axes: Array) -> Array:
    """Axes (rows) in the panels that `project_rows` takes."""
    count, d = axes.shape
    padded = np.zeros((-(-count // PANEL) * PANEL, d), dtype=np.float32)
    padded[:count] = axes
    return np.ascontiguousarray(padded.reshape(-1, PANEL, d).transpose(0, 2, 1))
