"""What the report answers about each map: its regions, its reasons, and how far to believe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.explore.explain import Explanation, explain
from lowdim.explore.naming import FeatureTable, feature_table
from lowdim.explore.regions import Regions, regions
from lowdim.objects.objects import is_precomputed
from lowdim.plot.colors import kinds_of
from lowdim.quality.reliability import doubts
from lowdim.quality.rows import placed_objects

MOST_VALUES = 5_000_000  # of features that are fitted by the position on a map
MOST_OBJECTS = 5000  # the same
LEAST_OBJECTS = 20  # on a map that features are fitted by


@dataclass(frozen=True, eq=False)
class Answers:
    """Of one map; None for what needs data or labels that were not given."""

    regions: Regions | None  # of a map of two dimensions
    reasons: Explanation | None  # the features that the map follows
    doubts: Array | None  # one minus the reliability of each object; NaN where it is not known


def answers(
    maps: Mapping[str, Array],
    X: Any,
    labels: Any,
    metric: Any,
    feature_names: Sequence[str] | None,
) -> dict[str, Answers]:
    """The answers about each of the maps, by its name."""
    n = len(next(iter(maps.values())))
    label = first_of(labels)
    if np.shape(label) != (n,) or kinds_of(np.asarray(label)) is None:
        label = None  # values on a scale have no commonest one
    X = np.asarray(X) if isinstance(X, list) else X
    known = hasattr(X, "iloc") or hasattr(X, "tocsr") or np.ndim(X) == 2  # not data in files
    numbers = getattr(getattr(X, "dtype", None), "kind", "f") in "fiub"
    vectors = known and numbers and not is_precomputed(metric)
    table = feature_table(X, n, feature_names) if vectors else None
    return {
        name: Answers(
            _regions(Y, table, label),
            None if table is None else _reasons(Y, table),
            doubts(Y, X, metric) if known else None,
        )
        for name, Y in maps.items()
    }


def first_of(labels: Any) -> Any:
    """The first of several labels, or the only one."""
    return next(iter(labels.values()), None) if isinstance(labels, Mapping) else labels


def _regions(Y: Array, table: FeatureTable | None, label: Any) -> Regions | None:
    if Y.shape[1] != 2 or _count_places(Y) < 3 or (label is None and table is None):
        return None
    if table is None:
        return regions(Y, labels=label)
    return regions(Y, table.values, label, feature_names=table.names, random_state=0)


def _reasons(Y: Array, table: FeatureTable) -> Explanation | None:
    most = max(MOST_VALUES // len(table.names), 500) if table.names else 0
    if min(_count_places(Y), most) < LEAST_OBJECTS:
        return None
    _, values, places = placed_objects(table.values, Y, "euclidean", min(most, MOST_OBJECTS))
    return explain(places, values, feature_names=table.names)


def _count_places(Y: Array) -> int:
    return int(np.isfinite(Y).all(axis=1).sum())
