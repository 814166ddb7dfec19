"""Fuzzy graphs intersected with the objects' targets, for supervised embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.neighbor_embedding.umap.fuzzy_graph import (
    connect_locally,
    directed_graph,
    intersect,
    with_data,
)
from lowdim.neighbor_graphs.graph import row_of_entries
from lowdim.objects.objects import objects_of
from lowdim.runtime.elementary import exp

DISCRETE = ("categorical", "ordinal", "count", "string")
UNKNOWN_LABEL_DISTANCE = 1.0  # between two labels of which at least one is unknown
WEIGHT = 2.5  # distance between different labels, for equal weights of graph and labels over 2


def intersect_targets(
    matrix: Any,
    targets: Any,
    weight: float,
    *,
    metric: Any = "categorical",
    metric_params: dict[str, Any] | None = None,
    n_neighbors: int = 15,
) -> Any:
    """A fuzzy graph intersected with that of the objects' targets.

    Targets are labels, of which the number -1, None and NaN are unknown ones, if the metric is in
    `DISCRETE`; else numbers. `weight` is from 0, where only the graph counts, to 1, where only the
    targets count. `n_neighbors` is the size of a neighbourhood of numbers, including the object
    itself.
    """
    n = matrix.shape[0]
    if isinstance(metric, str) and metric in DISCRETE:
        labels = of_length(column_or_1d(targets, warn=True), n)
        far = WEIGHT / (1 - weight) if weight < 1 else 1e12
        if metric == "categorical":
            return intersect_labels(matrix, label_codes(labels), far)
        return intersect_distances(matrix, far * relative_distances(labels, matrix, metric))
    numbers = checks.vectors(of_length(np.asarray(targets), n).reshape(n, -1), name="y")
    size = min(n_neighbors, n)
    graph = objects_of(numbers, metric, metric_params).neighbor_graph(size - 1)
    return intersect(matrix, directed_graph(graph, size), weight)


def of_length(targets: Array, n: int) -> Array:
    """Targets, one for each of n objects."""
    if len(targets) != n:
        raise ValueError(f"y has {len(targets)} targets, but X has {n} objects.")
    return targets


def label_codes(labels: Array) -> Array:
    """Labels as numbers: equal for equal labels, -1 for unknown ones."""
    if labels.dtype.kind in "iuf":
        codes = np.unique(labels, return_inverse=True)[1]
        return np.where((labels == -1) | np.isnan(labels), -1, codes)
    number: dict[Any, int] = {}
    unknown = [label is None or label != label or label == -1 for label in labels]
    return np.array(
        [
            -1 if missing else number.setdefault(label, len(number))
            for label, missing in zip(labels, unknown, strict=True)
        ]
    )


def relative_distances(labels: Array, matrix: Any, metric: str) -> Array:
    """Distances of the labels of each edge's ends, divided by the largest distance.

    "ordinal" compares numbers by their difference; "count" by the difference of their square
    roots, whose variance does not depend on the count; "string" by the edit distance.
    """
    rows, columns = row_of_entries(matrix.indptr), matrix.indices
    if metric == "string":
        return _edit_distances(labels, rows, columns)
    numbers = checks.vectors(labels.reshape(-1, 1), name="y")[:, 0].astype(np.float64)
    if metric == "count":
        if numbers.min() < 0:
            raise ValueError(
                f"y: {argument('target_metric', 'count')} needs numbers of events, found "
                f"{numbers.min():g}."
            )
        numbers = np.sqrt(numbers)
    return np.asarray(np.abs(numbers[rows] - numbers[columns]) / (np.ptp(numbers) or 1.0))


def _edit_distances(labels: Array, rows: Array, columns: Array) -> Array:
    """Edit distances of the labels of edges, relative to the longest label."""
    texts, codes = np.unique([str(label) for label in labels], return_inverse=True)
    ends = np.sort(np.stack([codes[rows], codes[columns]], axis=1), axis=1)
    pairs, which = np.unique(ends, axis=0, return_inverse=True)
    edits = np.array([edit_distance(str(texts[i]), str(texts[j])) for i, j in pairs], dtype=float)
    return np.asarray(edits[which.ravel()] / max(map(len, texts)))


def edit_distance(one: str, other: str) -> int:
    """The least number of insertions, deletions and replacements of letters (Levenshtein 1966).

    Examples
    --------
    >>> edit_distance("kitten", "sitting")
    3
    """
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def intersect_distances(matrix: Any, distances: Array) -> Any:
    """A fuzzy graph whose memberships are multiplied by exp(-distance) of each edge."""
    data = matrix.data * exp(-distances).astype(matrix.dtype)
    return connect_locally(with_data(matrix, data))


def intersect_labels(matrix: Any, labels: Array, far: float) -> Any:
    """A fuzzy graph intersected with labels, of which -1 is unknown.

    Memberships are multiplied by exp(-far) between different labels, and by exp(-1) if one of the
    labels is unknown.
    """
    rows = row_of_entries(matrix.indptr)
    one, other = labels[rows], labels[matrix.indices]
    unknown = (one == -1) | (other == -1)
    distances = np.where(unknown, UNKNOWN_LABEL_DISTANCE, np.where(one != other, far, 0.0))
    return intersect_distances(matrix, distances)
