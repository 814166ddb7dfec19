"""The division of a space into cells by k-means, and of the cells into shards of limited size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from lowdim.backends import backend
from lowdim.backends.numpy_blocks import unit_length
from lowdim.checks import Array
from lowdim.distances.row_blocks import RowBlocks
from lowdim.runtime.scheduling import blocks

CELLS_PER_SHARD = 32
MOST_CELLS = 2048  # every row is compared with the centres of all cells
SAMPLE_ROWS_PER_CELL = 40  # of the sample for k-means
ROUNDS = 8  # of k-means
PIECE_ROWS = 8192  # of the sample, in a task of k-means
FILL = 0.7  # expected size of a shard, as a share of the largest: sizes in a sample are estimates


@dataclass(frozen=True)
class Division:
    """Centres of cells, and the shard of each cell."""

    centers: Array
    shard_of: Array
    metric: str

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return int(self.shard_of.max()) + 1

    def shards_near(self, rows: Array, depth: int) -> Array:
        """The shards of the `depth` cells nearest to each row, nearest first."""
        return np.asarray(self.shard_of[_nearest(self.centers, rows, depth, self.metric)])


def divided(source: RowBlocks, capacity: int, metric: str, random: np.random.Generator) -> Division:
    """Divide the rows of a source into shards of at most about `capacity` rows."""
    n = source.shape[0]
    n_shards = -(-n // max(1, int(FILL * capacity)))
    count = max(1, min(CELLS_PER_SHARD * n_shards, MOST_CELLS, n // 4))
    sample = np.sort(random.choice(n, min(n, count * SAMPLE_ROWS_PER_CELL), replace=False))
    points = source.take(sample)
    if metric == "cosine":
        points = unit_length(points)
    centers = points[np.sort(random.choice(len(points), count, replace=False))]
    where = source.tasks
    pieces = where.held([points[part] for part in blocks(len(points), PIECE_ROWS)])
    for _ in range(ROUNDS):
        sums, sizes = _total(where.map(partial(_sums_of_cells, centers, metric), pieces))
        used = sizes > 0  # centres without points stay
        centers[used] = sums[used] / sizes[used, None]
    sizes = _total(where.map(partial(_sums_of_cells, centers, metric), pieces))[1]
    shard_of = np.zeros(count, dtype=np.int32)
    _split(centers, sizes, np.arange(count), n_shards, shard_of)
    return Division(centers, np.unique(shard_of, return_inverse=True)[1].astype(np.int32), metric)


def _nearest(centers: Array, rows: Array, count: int, metric: str) -> Array:
    return backend().nearest_to(centers, rows, min(count, len(centers)), metric == "cosine")[0]


def _sums_of_cells(centers: Array, metric: str, points: Array) -> tuple[Array, Array]:
    """The sum and the number of the points that are nearest to each centre."""
    from scipy.sparse import csr_array

    owner = _nearest(centers, points, 1, metric)[:, 0]
    parts = (np.ones(len(owner), points.dtype), (owner, np.arange(len(owner))))
    sums = csr_array(parts, shape=(len(centers), len(owner))) @ points
    return sums.astype(np.float64), np.bincount(owner, minlength=len(centers))


def _total(parts: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The sums of what `_sums_of_cells` returns, in the order of the pieces."""
    sums, sizes = zip(*parts, strict=True)
    return np.sum(sums, axis=0), np.sum(sizes, axis=0)


def _split(centers: Array, sizes: Array, cells: Array, pieces: int, shard_of: Array) -> None:
    """Divide cells into pieces of similar size, by cuts across their longest extent."""
    if pieces <= 1 or len(cells) == 1:
        return
    offsets = (centers[cells] - centers[cells].mean(axis=0)).astype(np.float64)
    axis = np.linalg.svd(offsets, full_matrices=False)[2][0]
    cells = cells[np.argsort(offsets @ axis, kind="stable")]
    filled = np.cumsum(sizes[cells])
    first = pieces // 2
    cut = int(np.searchsorted(filled, filled[-1] * first / pieces, side="right"))
    cut = min(max(cut, 1), len(cells) - 1)
    shard_of[cells[cut:]] += first  # numbers below are those of the other part
    _split(centers, sizes, cells[:cut], first, shard_of)
    _split(centers, sizes, cells[cut:], pieces - first, shard_of)
