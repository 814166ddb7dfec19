"""Is there structure in the data at all? A comparison with data that have none.

Shuffling every column on its own keeps what each column looks like and destroys all relations
between columns. If objects lie no nearer to their neighbours than in such data, neither in all
dimensions nor in the plane of the leading principal components, and no direction carries more of
the variance, then there are no clusters, curves or sheets for a map to show.
Structure that stands in one column alone survives the shuffling, so the data are also compared
with independent normal columns of the same spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import check_random_state

from lowdim.backends import native
from lowdim.checks import Array
from lowdim.quality.rows import Rows, data_rows, metric_rows

N_NULL = 19
NEIGHBOR = 5
LEAST_OBJECTS = 20
MANY_DEVIATIONS = 4.0
LEAST_EFFECT = 0.01


@dataclass(frozen=True)
class Structure:
    """How the data differ from data without structure.

    kind : "relations" between columns; "columns" where single columns are uneven (clumped or
        skewed) but unrelated; "none".
    nearness : distance to near neighbours, as a share of that in column-shuffled data.
    plane : the same in the plane of the two leading principal components, each of unit variance.
    leading : largest variance along a direction, over that in column-shuffled data.
    unevenness : distance to near neighbours, as a share of that in normal columns; None where
        the columns are related.
    """

    kind: str
    nearness: float
    plane: float
    leading: float
    unevenness: float | None = None


def structure_of(
    data: Rows, random_state: object = None, n_jobs: int | None = None
) -> Structure | None:
    """Compare vectors with their nulls; None where the objects are no numeric vectors."""
    X = data.vectors
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2:
        return None
    if data.metric is None or data.metric.name == "gower" or np.isnan(X).any():
        return None
    if X.shape[1] < 2 or X.shape[0] < LEAST_OBJECTS:
        return None
    random = check_random_state(0 if random_state is None else random_state)
    most = int(np.clip(np.sqrt(1e8 / X.shape[1]), 200, 700))
    rows = random.choice(len(X), min(len(X), most), replace=False)
    sample = X[np.sort(rows)].astype(np.float64)
    seeds = random.randint(2**31 - 1, size=N_NULL + 1)
    shuffles = [np.random.default_rng(seed) for seed in seeds]
    metric = data.metric

    def look(values: Array) -> tuple[float, float, float]:
        """What each null is compared by: logarithms, smaller where there is more structure."""
        plane, variance = _plane(values)
        near = _nearness(metric_rows(values, metric, 1))
        return near, _nearness(data_rows(plane, n_jobs=1)), -variance

    def null(random: np.random.Generator) -> tuple[float, float, float]:
        return look(random.permuted(sample, axis=0))

    def normal(random: np.random.Generator) -> float:
        drawn = random.normal(sample.mean(axis=0), sample.std(axis=0), sample.shape)
        return _nearness(metric_rows(drawn, metric, 1))

    own = np.array(look(sample))
    shuffled = np.array(native.run(null, shuffles[:N_NULL], n_jobs))
    near, plane, leading = np.exp(own - shuffled.mean(axis=0))
    found = Structure("relations", float(near), float(plane), float(1 / leading))
    if any(_beyond(shuffled[:, i], own[i]) for i in range(len(own))):
        return found
    drawn = np.array(native.run(normal, shuffles[-1].spawn(N_NULL), n_jobs))
    kind = "columns" if _beyond(drawn, own[0]) else "none"
    return replace(found, kind=kind, unevenness=float(np.exp(own[0] - drawn.mean())))


def _nearness(rows: Rows) -> float:
    """Mean logarithm of the distance to a near neighbour."""
    keys = rows.distances(np.arange(rows.n, dtype=np.int32)).astype(np.float64)
    np.fill_diagonal(keys, np.inf)
    reach = np.partition(keys, NEIGHBOR - 1, axis=1)[:, NEIGHBOR - 1]
    floor = np.finfo(np.float64).tiny
    return float(np.log(np.maximum(reach, floor)).mean())


def _plane(X: Array) -> tuple[Array, float]:
    """The two leading principal components, scaled to unit variance, and the log of the largest
    variance."""
    centered = X - X.mean(axis=0)
    tall = X.shape[0] >= X.shape[1]
    values, vectors = np.linalg.eigh(centered.T @ centered if tall else centered @ centered.T)
    plane = centered @ vectors[:, -2:] if tall else vectors[:, -2:]
    size = np.sqrt(np.square(plane).mean(axis=0))
    floor = np.finfo(np.float64).tiny
    return plane / np.maximum(size, floor), float(np.log(max(values[-1], floor)))


def _beyond(null: Array, own: float) -> bool:
    """Whether a value lies far below those of the null, by chance and by size."""
    gap = float(null.mean()) - own
    return gap > MANY_DEVIATIONS * float(null.std(ddof=1)) and gap > LEAST_EFFECT
