"""Vectors in a smaller space, cut into cells: where to look for a vector's neighbours.

Rows are projected on their leading principal axes. What the projection drops is kept as one
number, the length of the residual: with residuals of lengths r and s at an angle of cosine c,

    |x - y|^2 = |z_x - z_y|^2 + r^2 + s^2 - 2 c r s,

so the squared norms of the full vectors and one more coordinate, sqrt(c) r, estimate the full
distance with one c for all (0: the residuals are unrelated, 1: they are parallel). The cells are
those of k-means, and a row is compared with the rows of the cells nearest to it. Everything here
is float32 and finds candidates only: who is nearest of them is decided on the rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends.native.algebra import matmul, spmm
from lowdim.backends.native.panels import axis_panels, fill_panels, project, search_cells
from lowdim.backends.native.products import squared_norms
from lowdim.checks import Array, is_sparse
from lowdim.runtime.scheduling import blas_on_one_thread

WIDTHS = (32, 64, 96, 128)  # of the coarse space
KEPT = 0.9  # share of the variance that it should hold, where one of these widths does
AXES_FROM = 8192  # rows that tell the principal axes
OVERSAMPLED = 8
ROWS_PER_CENTER = 40  # rows of the sample that k-means sees for each cell
ROUNDS = 5  # of k-means
SLANT = 0.4  # c: on images this needs a fifth fewer candidates than leaving the residual out
LARGEST = 4  # times the mean size: a larger cell is cut


@dataclass(frozen=True, eq=False)
class CoarseSpace:
    """The map from rows to coarse vectors."""

    center: Array  # zero for the cosine and for sparse rows
    scale: float
    axes: Array | None  # panels of them for arrays, columns for sparse rows; None: the rows' own
    width: int
    cosine: bool

    def vectors(self, rows: Any) -> tuple[Array, Array]:
        """Coarse vectors of the rows, and the squares that their scores add."""
        if self.axes is None:
            Z = np.asarray((rows - self.center) * self.scale, dtype=np.float32)
            squares = np.einsum("ij,ij->i", Z, Z)
        else:
            if is_sparse(rows):
                Z = (spmm(rows, self.axes) * self.scale).astype(np.float32)
                squares = (squared_norms(rows) * self.scale**2).astype(np.float32)
            else:
                Z, squares = project(rows, self.center, self.scale, self.axes, self.width)
            rest = np.sqrt(SLANT * np.maximum(squares - np.einsum("ij,ij->i", Z, Z), 0))
            Z = np.concatenate([Z, rest[:, None]], axis=1, dtype=np.float32)
        if self.cosine:  # 1 - x.y whether or not y is zero
            squares = np.ones_like(squares)
        return Z, squares


def coarse_spaces(points: Any, cosine: bool, random: np.random.Generator) -> Iterator[CoarseSpace]:
    """Coarse spaces worth trying, the smallest first."""
    n, d = points.shape
    sparse = is_sparse(points)
    some = points[np.sort(random.choice(n, min(n, AXES_FROM), replace=False))]
    center = np.zeros(d, dtype=points.dtype)
    if not cosine and not sparse:
        center = some.mean(axis=0, dtype=np.float64).astype(points.dtype)
        some = some - center
    largest = float(abs(some).max()) or 1.0
    some = (some / largest).astype(np.float32)
    total = float(squared_norms(some).sum(dtype=np.float64))
    scale = 1 / (largest * (np.sqrt(total / some.shape[0]) or 1.0))
    if d <= WIDTHS[-1] and not sparse:
        yield CoarseSpace(center, scale, None, d, cosine)
        return
    tried = 0
    for most in (WIDTHS[-1], 2 * WIDTHS[-1]):
        axes, energies = leading_axes(some, most, random)
        enough = [w for w in WIDTHS if np.cumsum(energies)[: len(axes)][w - 1 : w] >= KEPT * total]
        for width in sorted({*enough[:1], len(axes)}):
            if width > tried:
                chosen = axes[:width]
                stored = np.ascontiguousarray(chosen.T) if sparse else axis_panels(chosen)
                yield CoarseSpace(center, scale, stored, width, cosine)
                tried = width


def leading_axes(A: Any, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    """About the leading right singular vectors of A, one a row, and the squared singular values."""
    count = min(count, *A.shape)
    wide = min(count + OVERSAMPLED, *A.shape)
    multiply = spmm if is_sparse(A) else matmul
    turned = A.T.tocsr() if is_sparse(A) else np.ascontiguousarray(A.T)
    Q = random.standard_normal((A.shape[1], wide)).astype(A.dtype)
    with blas_on_one_thread():
        for _ in range(3):
            Q = np.linalg.qr(multiply(turned, multiply(A, Q)))[0]
        B = multiply(A, Q)
        squares, vectors = np.linalg.eigh((B.T @ B).astype(np.float64))
        axes = Q @ vectors[:, : -count - 1 : -1].astype(A.dtype)
        return np.ascontiguousarray(axes.T), squares[: -count - 1 : -1]


@dataclass(frozen=True, eq=False)
class Cells:
    """Coarse vectors in cells: the place of each, and what the searches need."""

    order: Array  # rows, cell by cell
    starts: Array
    centers: tuple[Array, Array, Array, Array]
    members: tuple[Array, Array, Array, Array]

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def nearest(self, Z: Array, p: int) -> Array:
        """The p cells nearest to each vector, nearest first."""
        return _nearest(self.centers, Z, p)

    def search(
        self,
        Z: Array,
        selves: Array,
        probes: Array,
        m: int,
        *,
        ordered: bool = False,
    ) -> Array:
        """Places of m candidates for each vector, from the given cells."""
        return search_cells(self.members, Z, selves, probes, m, ordered=ordered)[0]


def build_cells(Z: Array, squares: Array, count: int, random: np.random.Generator) -> Cells:
    """Cut the vectors into about `count` cells by k-means on a sample."""
    n = len(Z)
    sample = np.sort(random.choice(n, min(n, count * ROWS_PER_CENTER), replace=False))
    points = np.ascontiguousarray(Z[sample])
    centers = points[np.sort(random.choice(len(points), count, replace=False))]
    for _ in range(ROUNDS):
        owner = _nearest(_packed(centers), points, 1)[:, 0]
        centers = _means(points, owner, centers)
    owner = _nearest(_packed(centers), Z, 1)[:, 0]
    owner = _cut_large(Z, owner, LARGEST * -(-n // count))
    order = np.argsort(owner, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner))]).astype(np.int64)
    starts = np.unique(starts)  # no empty cells
    means = np.add.reduceat(Z[order], starts[:-1], axis=0) / np.diff(starts)[:, None]
    members = fill_panels(Z, squares, order, starts)
    return Cells(order, starts, _packed(means.astype(np.float32)), members)


def _packed(centers: Array) -> tuple[Array, Array, Array, Array]:
    count = len(centers)
    everyone = np.arange(count, dtype=np.int32)
    squares = np.einsum("ij,ij->i", centers, centers)
    return fill_panels(centers, squares, everyone, np.array([0, count]))


def _nearest(centers: tuple[Array, Array, Array, Array], Z: Array, p: int) -> Array:
    nobody = np.full(len(Z), -1, dtype=np.int32)
    whole = np.zeros((len(Z), 1), dtype=np.int32)
    return search_cells(centers, Z, nobody, whole, p, ordered=True)[0]


def _means(points: Array, owner: Array, centers: Array) -> Array:
    """The mean of each cell's points; a cell without any keeps its centre."""
    order = np.argsort(owner, kind="stable")
    held, first, sizes = np.unique(owner[order], return_index=True, return_counts=True)
    means = centers.copy()
    means[held] = np.add.reduceat(points[order], first, axis=0) / sizes[:, None]
    return means


def _cut_large(Z: Array, owner: Array, largest: int) -> Array:
    """Cells above the largest size cut across their widest axis, duplicates anyhow."""
    owner = owner.astype(np.int64)
    following = int(owner.max()) + 1
    for cell in np.flatnonzero(np.bincount(owner) > largest):
        rows = np.flatnonzero(owner == cell)
        inside = Z[rows]
        rows = rows[np.argsort(inside[:, inside.var(axis=0).argmax()], kind="stable")]
        pieces = -(-len(rows) // largest)
        owner[rows] = following + np.arange(len(rows)) * pieces // len(rows)
        following += pieces
    return owner
