"""Answers to questions about data and maps; they run in the helper process.

Every function takes a `View`, the names of the folders of the data and of the map, and returns
plain values and arrays.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import quality
from lowdim.checks import Array
from lowdim.quality.rows import Rows, data_rows
from lowdim.runtime.scheduling import use_threads
from lowdim.studio.datasets import View, read_about, read_column, read_labels

MOST_ROWS = 5000  # of points whose errors are computed; the others are unknown
MOST_COMPARED = 20_000  # objects among which suspects are sought
MOST_PAIRS = 1500  # of a Shepard diagram
MOST_CURVE = 120  # points of the R_NX curve
MOST_EFFECTS = 40  # columns that are listed for a selection
MOST_KINDS = 5  # categories of a column that are listed
N_RUNS = 4  # with other seeds


@lru_cache(maxsize=2)
def _rows(data: View) -> Rows:
    """The objects of a map under its metric."""
    return data_rows(data.read_objects(), data.metric)


def _labels(view: View) -> Array | None:
    if view.label is None:
        return None
    values, rows = read_labels(Path(view.data), view.label), view.read_rows()
    return values if rows is None else values[rows]


def _map(view: View) -> Array:
    return np.asarray(np.load(view.coordinates), dtype=np.float64)


# --- quality ------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _assess(view: View, changed: float) -> quality.Assessment:
    labels = _labels(view)
    if labels is not None and len(set(labels.tolist())) < 2:
        labels = None
    return quality.assess(
        view.read_objects(), _map(view), method=view.method, labels=labels, metric=view.metric,
        random_state=0,
    )  # fmt: skip


def map_quality(view: View) -> dict[str, Any]:
    """Measures of a map, its curves, a verdict and warnings in words."""
    assessment = _assess(view, Path(view.coordinates).stat().st_mtime)
    measures: list[dict[str, Any]] = [
        {
            "name": one.name,
            "label": one.label,
            "value": float(assessment.measures[one.name]),
            "margin": float(getattr(assessment.measures[one.name], "margin", 0.0) or 0.0),
            "better": one.better,
            "meaning": assessment.meaning(one),
        }
        for one in quality.MEASURES
        if one.name in assessment.measures and np.isfinite(assessment.measures[one.name])
    ]
    K, values = np.asarray(assessment.rnx.K), np.asarray(assessment.rnx.values)
    at = np.unique(np.geomspace(1, max(1, len(K)), MOST_CURVE).astype(int) - 1)[: len(K)]
    pairs = np.column_stack([assessment.shepard.dissimilarities, assessment.shepard.distances])
    some = np.random.default_rng(0).permutation(len(pairs))[:MOST_PAIRS]
    return {
        **{one["name"]: one["value"] for one in measures},
        "measures": measures,
        "r_nx": [[int(K[i]), float(values[i])] for i in at],
        "shepard": pairs[some].astype(float).tolist(),
        "verdict": assessment.verdict,
        "warnings": list(assessment.warnings),
        "n_neighbors": assessment.n_neighbors,
        "sample": assessment.n_rows if assessment.n_rows < assessment.n_objects else None,
    }


def point_errors(view: View, kind: str) -> Array:
    """Torn or false neighbours of each point; NaN for points outside the sample of a large map."""
    X, Y = view.read_objects(), _map(view)
    shares = np.full(len(Y), np.nan, np.float32)
    placed = np.flatnonzero(np.isfinite(Y).all(axis=1))
    if len(placed) < len(Y):
        X = X[placed][:, placed] if view.metric == "precomputed" else X[placed]
    n = len(placed)
    errors = quality.point_errors(
        X, Y[placed], min(15, max(1, (n - 2) // 2)), metric=view.metric,
        n_rows=min(n, MOST_ROWS), random_state=0,
    )  # fmt: skip
    shares[placed[errors.rows]] = errors.torn if kind == "torn" else errors.false
    return shares


def regions(view: View) -> list[dict[str, Any]]:
    """The regions of a map as a tree: name, number of objects, place of the name and reach."""
    from lowdim.explore.regions import regions as find_regions

    Y, about = _map(view), read_about(Path(view.data))
    X = view.read_objects() if about["metric"] is None else None
    labels = _labels(view)
    if labels is not None and labels.dtype != object:
        labels = None  # numbers have no commonest value
    names = about["features"] if X is not None else None
    found = find_regions(Y, X, labels, feature_names=names, random_state=0)
    listed = []
    for one in found.tree:
        gaps = np.linalg.norm(Y[found.members(one.id)] - one.center, axis=1)
        listed.append(
            {
                "text": one.name if one.supported is not False else f"{one.name} ?",
                "parent": -1 if one.parent is None else one.parent,
                "size": one.size,
                "point": one.center.tolist(),
                "radius": float(np.quantile(gaps, 0.8)) if len(gaps) else 0.0,
            }
        )
    return listed


def stability(view: View, method: str, parameters: dict[str, Any], output: str) -> None:
    """Fit again with other seeds; writes the spread of each point and a summary to a file."""
    from lowdim.catalog import find
    from lowdim.runtime.atomic import replace_file

    row = find(method)
    assert row is not None
    estimator = row.load()(**parameters)
    known = estimator.get_params()
    if view.metric == "precomputed":
        estimator.set_params(metric="precomputed")
    if row.local_only and "init" in known:
        estimator.set_params(init="random")  # the seed would change little from a fixed start
    how = "seeds" if "random_state" in known and row.family != "spectral" else "bootstrap"
    result = quality.stability(
        estimator, view.read_objects(), n_runs=N_RUNS, how=how, null=False, random_state=0
    )
    with replace_file(output, force=True) as temporary, open(temporary, "wb") as file:
        np.savez(file, spread=result.spread.astype(np.float32), maps=result.maps.astype(np.float32),
                 score=result.score, text=str(result), how=how)  # fmt: skip


# --- points -------------------------------------------------------------------------------


def neighbors(view: View, point: int, k: int) -> dict[str, Any]:
    """The nearest objects of a point in the data, of those on the map."""
    with use_threads(None):
        rows = _rows(view._replace(coordinates="", label=None))
        distances = rows.distances(np.array([point], dtype=np.int32))[0].astype(np.float64)
    distances[point] = np.inf
    k = min(k, rows.n - 1)
    nearest = np.argsort(distances, kind="stable")[:k]
    return {"neighbors": nearest.tolist(), "distances": distances[nearest].tolist()}


def suspects(view: View, limit: int) -> list[dict[str, Any]]:
    """Objects that are probably mislabelled, and outliers; of many objects, among a sample."""
    labels = _labels(view)
    assert labels is not None
    known = labels != "" if labels.dtype == object else np.isfinite(labels)
    at = np.flatnonzero(known)
    if len(at) > MOST_COMPARED:  # the time grows with the square
        at = np.sort(np.random.default_rng(0).choice(at, MOST_COMPARED, replace=False))
    X = view.read_objects()
    if len(at) < len(labels):
        X = X[at][:, at] if view.metric == "precomputed" else X[at]
    result = quality.suspects(X, labels[at], metric=view.metric)
    listed = []
    for i in range(min(limit, len(result))):
        listed.append(
            {
                "row": int(at[result.objects[i]]),
                "score": float(result.scores[i]),
                "kind": str(result.reasons[i]),
                "label": str(result.labels[i]),
                "neighbours_label": str(result.suggested[i]),
                "why": result.why(i),
            }
        )
    return listed


def selection(view: View, n: int, points: Array) -> dict[str, Any]:
    """How the columns of some points differ from those of the others, the largest effect first.

    The effect of numbers is the difference of the means in standard deviations (Cohen's d); that of
    a category is the difference of its shares inside and outside, as Cohen's h.
    """
    data = Path(view.data)
    chosen = view.read_rows()
    inside = np.zeros(n, bool)
    inside[points] = True
    columns, categories = [], []
    for name in read_about(data)["places"]:
        values = read_column(data, name)
        if isinstance(values, dict):
            codes = values["codes"]
            codes = codes if chosen is None else codes[chosen]
            categories += _category_effects(name, values["categories"], codes, inside)
        elif values is not None:
            effect = _number_effect(values if chosen is None else values[chosen], inside)
            columns += [] if effect is None else [{"name": name, **effect}]
    columns.sort(key=lambda one: -abs(one["effect"]))
    categories.sort(key=lambda one: -abs(one["effect"]))
    return {
        "n": int(inside.sum()),
        "columns": columns[:MOST_EFFECTS],
        "categories": categories[:MOST_EFFECTS],
    }


def _number_effect(values: Array, inside: Array) -> dict[str, Any] | None:
    """The difference of the means in standard deviations; None if it is not defined."""
    known = np.isfinite(values)
    a, b = values[known & inside].astype(np.float64), values[known & ~inside].astype(np.float64)
    if not len(a) or not len(b):
        return None
    spread = np.sqrt((a.var() * len(a) + b.var() * len(b)) / (len(a) + len(b)))
    gap = float(a.mean() - b.mean())
    if spread == 0 and gap == 0:
        return None
    effect = gap / spread if spread > 0 else np.sign(gap) * 1e3
    return {
        "effect": float(effect),
        "inside": float(a.mean()),
        "outside": float(b.mean()),
        "direction": "higher" if gap > 0 else "lower",
    }


def _category_effects(
    name: str, kinds: list[str], codes: Array, inside: Array
) -> list[dict[str, Any]]:
    """The categories whose shares differ most."""
    known = codes >= 0
    a = np.bincount(codes[known & inside], minlength=len(kinds)).astype(np.float64)
    b = np.bincount(codes[known & ~inside], minlength=len(kinds)).astype(np.float64)
    if not a.sum() or not b.sum():
        return []
    a, b = a / a.sum(), b / b.sum()
    effects = 2 * np.arcsin(np.sqrt(a)) - 2 * np.arcsin(np.sqrt(b))
    return [
        {
            "name": name,
            "value": kinds[at],
            "effect": float(effects[at]),
            "inside": float(a[at]),
            "outside": float(b[at]),
        }
        for at in np.argsort(-np.abs(effects), kind="stable")[:MOST_KINDS]
        if effects[at]
    ]


@lru_cache(maxsize=2)
def _model(path: str, changed: float) -> Any:
    from lowdim.estimator.persist import load

    return load(path)


def decode(view: View, y: list[float]) -> Array:
    """The features of the object at some coordinates, in the units of the file."""
    path = Path(view.folder) / "model.lowdim"
    model = _model(str(path), path.stat().st_mtime)
    row = np.asarray(model.inverse_transform(np.array([y])), dtype=np.float64)[0]
    about = read_about(Path(view.data))
    if about["center"] is not None:
        scaled = len(about["center"])
        row[:scaled] = row[:scaled] * about["scale"] + about["center"]
    return np.asarray(row)
