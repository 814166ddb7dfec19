"""Does the map keep what is known of the objects?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.quality.estimate import Estimate, mean_of
from lowdim.quality.ranks import Ranks, compare_ranks
from lowdim.quality.stress import Distances, compare_distances

MOST_CLASSES = 1000


@dataclass(frozen=True)
class LabelQuality:
    """Labels predicted from the nearest neighbours, each object left out in its turn.

    kind : "accuracy" for classes, "R2" for numbers on a scale.
    map, data : the same on the map and in the data.
    silhouette_map, silhouette_data : Rousseeuw's (1987) mean silhouette of the classes, -1 to 1;
        None for numbers on a scale.
    """

    kind: str
    map: Estimate
    data: Estimate
    silhouette_map: float | None
    silhouette_data: float | None


def label_quality(labels: Any, ranks: Ranks, distances: Distances) -> LabelQuality:
    """How well the labels agree with neighbourhoods on the map and in the data."""
    values = np.asarray(labels).ravel()
    if len(values) != ranks.n:
        raise ValueError(f"labels has {len(values)} entries for {ranks.n} objects.")
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        return _scale(values.astype(np.float64), ranks)
    kinds, codes = np.unique(values.astype(str) if values.dtype == object else values, False, True)
    if len(kinds) > MOST_CLASSES:
        raise ValueError(f"labels has {len(kinds)} classes; at most {MOST_CLASSES} are compared.")
    some = codes[distances.objects]
    return LabelQuality(
        "accuracy",
        mean_of(_hits(codes, ranks.rows, ranks.map_ids, len(kinds)), ranks.n),
        mean_of(_hits(codes, ranks.rows, ranks.data_ids, len(kinds)), ranks.n),
        _silhouette(distances.map, some),
        _silhouette(distances.data, some),
    )


def knn_accuracy(Y: Any, labels: Any, n_neighbors: int = 10, **options: Any) -> Estimate:
    """Share of objects whose class is the commonest of their k nearest on the map.

    Each object is left out in its turn. `options` are those of `compare_ranks`.
    """
    ranks = compare_ranks(Y, Y, n_neighbors, **options)
    kinds, codes = np.unique(np.asarray(labels).ravel(), return_inverse=True)
    if len(codes) != ranks.n:
        raise ValueError(f"labels has {len(codes)} entries for {ranks.n} objects.")
    return mean_of(_hits(codes, ranks.rows, ranks.map_ids, len(kinds)), ranks.n)


def silhouette(Y: Any, labels: Any, **options: Any) -> float:
    """Rousseeuw's (1987) mean silhouette of the classes on the map, -1 to 1.

    `options` are those of `compare_distances`.
    """
    distances = compare_distances(Y, Y, **options)
    codes = np.unique(np.asarray(labels).ravel(), return_inverse=True)[1]
    found = _silhouette(distances.map, codes[distances.objects])
    if found is None:
        raise ValueError("labels: a silhouette needs at least two classes, and not one an object.")
    return found


def _hits(codes: Array, rows: Array, ids: Array, kinds: int) -> Array:
    """Whether the commonest class of the neighbours is the own; ties to the first class."""
    votes = np.zeros((len(rows), kinds), dtype=np.int32)
    np.add.at(votes, (np.arange(len(rows))[:, None], codes[ids]), 1)
    return np.asarray((votes.argmax(axis=1) == codes[rows]).astype(np.float64))


def _scale(values: Array, ranks: Ranks) -> LabelQuality:
    """The share of the labels' variance that the neighbours' mean explains."""
    own = values[ranks.rows]
    spread = float(own.var()) or 1.0

    def explained(ids: Array) -> Estimate:
        return mean_of(1 - (values[ids].mean(axis=1) - own) ** 2 / spread, ranks.n)

    return LabelQuality("R2", explained(ranks.map_ids), explained(ranks.data_ids), None, None)


def _silhouette(D: Array, codes: Array) -> float | None:
    from sklearn.metrics import silhouette_score

    if not 2 <= len(np.unique(codes)) < len(codes):
        return None
    return float(silhouette_score(D, codes, metric="precomputed"))
