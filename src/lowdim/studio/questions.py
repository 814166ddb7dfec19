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
from lowdim.explore.compare_maps import MapComparison, compare_maps
from lowdim.explore.explain import Explanation, explain
from lowdim.explore.outlines import doubted_name, outlines
from lowdim.explore.regions import Regions
from lowdim.explore.regions import regions as find_regions
from lowdim.quality.reliability import doubts
from lowdim.quality.rows import Rows, data_rows, placed_objects
from lowdim.runtime.scheduling import use_threads
from lowdim.studio.datasets import View, read_about, read_column, read_labels
from lowdim.tables import Recipe

MOST_ROWS = 5000  # of points whose errors are computed; the others are unknown
MOST_COMPARED = 20_000  # objects among which suspects are sought
MOST_PAIRS = 1500  # of a Shepard diagram
MOST_CURVE = 120  # points of the R_NX curve
MOST_REASONS = 60  # features that a map follows
MOST_REGIONS = 30  # that have colours
MOST_EFFECTS = 40  # columns that are listed for a selection
MOST_AROUND = 10  # neighbours whose own neighbours are measured
MOST_CONTRASTS = 6  # columns in which an object differs from its neighbours
MOST_KINDS = 5  # categories of a column that are listed
N_RUNS = 4  # with other seeds
LEAST_WORDS = 3  # of a text on average, whose words name regions
LOOKED_AT = 1000  # texts


@lru_cache(maxsize=2)
def _rows(data: View) -> Rows:
    """The objects of a map under its metric."""
    return data_rows(data.read_objects(), data.metric)


def _labels(view: View) -> Array | None:
    if view.label is None:
        return None
    return np.asarray(read_labels(Path(view.data), view.label)[view.read_rows()])


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
    known = assessment.measures
    measures: list[dict[str, Any]] = [
        {
            "name": one.name,
            "label": one.label,
            "value": float(known[one.name]),
            "margin": float(getattr(known[one.name], "margin", 0.0)),
            "better": one.better,
            "meaning": assessment.meaning(one),
        }
        for one in quality.MEASURES
        if np.isfinite(known.get(one.name, np.nan))
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
        "verdict": _with_names(assessment.verdict, assessment.dominant_column, view),
        "warnings": list(assessment.warnings),
        "n_neighbors": assessment.n_neighbors,
        "sample": assessment.n_rows if assessment.n_rows < assessment.n_objects else None,
    }


def _with_names(text: str, dominant: tuple[int, float] | None, view: View) -> str:
    """A text with the name of the column that outweighs the others in place of its number."""
    if dominant is None:
        return text
    name = read_about(Path(view.data))["features"][dominant[0]]
    return text.replace(f"column {dominant[0]} of the data", name)


def _objects_with_places(view: View, most: int | None = None) -> tuple[Array, Any, Array]:
    """Objects that have coordinates, or a sample of them: their numbers, data and coordinates."""
    Y = _map(view)
    return placed_objects(view.read_objects(), Y, view.metric, len(Y) if most is None else most)


def point_errors(view: View, kind: str) -> Array:
    """Torn or false neighbours, or doubt, of each point; NaN for those outside of a sample."""
    if kind == "doubt":
        return doubts(_map(view), view.read_objects(), view.metric)
    values = np.full(len(_map(view)), np.nan, np.float32)
    at, X, Y = _objects_with_places(view)
    n = len(at)
    errors = quality.point_errors(
        X, Y, min(15, max(1, (n - 2) // 2)), metric=view.metric,
        n_rows=min(n, MOST_ROWS), random_state=0,
    )  # fmt: skip
    values[at[errors.rows]] = errors.torn if kind == "torn" else errors.false
    return values


def reasons(view: View) -> list[dict[str, Any]]:
    """The features that a map follows, the best followed first, with their slopes on the map."""
    explanation, _ = _explain(view)
    order = np.argsort(-explanation.r2, kind="stable")[:MOST_REASONS]
    return [
        {
            "name": explanation.features[i],
            "r2": float(explanation.r2[i]),
            "linear": float(explanation.linear_r2[i]),
            "slope": explanation.directions[i].tolist(),
        }
        for i in order
    ]


def changes_at_points(view: View) -> dict[str, Any]:
    """The feature that changes most at each point, as a column of categories; -1 if unknown."""
    explanation, at = _explain(view)
    names = explanation.changing()
    categories = sorted(set(names.tolist()), key=lambda one: (one == "others", one))
    codes = np.full(len(_map(view)), -1)
    codes[at] = [categories.index(name) for name in names.tolist()]
    return {"categories": categories, "codes": codes.tolist()}


def _explain(view: View) -> tuple[Explanation, Array]:
    """The features that a map follows, by some of its points: these too."""
    about = read_about(Path(view.data))
    if about["metric"] is not None:
        raise ValueError("Distances have no features that a map could follow.")
    if about.get("text"):
        raise ValueError("A text has no columns that a map could follow; its words name regions.")
    at, X, Y = _objects_with_places(view, MOST_ROWS)
    return explain(Y, X, feature_names=about["features"]), at


def regions_of(view: View) -> Regions:
    """The regions of a map, which are found once."""
    return _regions(view, Path(view.coordinates).stat().st_mtime)


@lru_cache(maxsize=4)
def _regions(view: View, changed: float) -> Regions:
    about = read_about(Path(view.data))
    X = view.read_objects() if about["metric"] is None else None
    labels = _labels(view)
    if labels is not None and labels.dtype != object:
        labels = None  # numbers have no commonest value
    names = about["features"] if X is not None and not about.get("text") else None
    return find_regions(_map(view), X, labels, _texts(view), feature_names=names, random_state=0)


def _texts(view: View) -> list[str | None] | None:
    """The texts that the map was made of, else those of the first column of several words."""
    about = read_about(Path(view.data))
    chosen = about.get("text")
    texts: list[str | None] | None
    if chosen is not None and chosen in about["places"]:  # so few values that they are categories
        texts = read_labels(Path(view.data), chosen).tolist()
    elif chosen is not None:
        texts = about["texts"][chosen]
    else:
        columns = (column for name, column in about["texts"].items() if name != about["id_name"])
        texts = next(filter(_are_prose, columns), None)
    if texts is None or not view.rows:
        return texts
    return [texts[row] for row in view.read_rows().tolist()]


def _are_prose(texts: list[str | None]) -> bool:
    """Whether texts have several words, by the first ones."""
    known = [one for one in texts[:LOOKED_AT] if one]
    return bool(known) and sum(len(one.split()) for one in known) >= LEAST_WORDS * len(known)


def regions(view: View) -> list[dict[str, Any]]:
    """The regions of a map as a tree: name, number of objects, place of the name and reach."""
    return outlines(regions_of(view), _map(view))


def region_of_points(view: View) -> dict[str, Any]:
    """The region of each point as a column of categories; -1 for points in none."""
    level = regions_of(view).at(MOST_REGIONS)
    return {
        "categories": [doubted_name(one) for one in level.regions],
        "codes": level.membership.tolist(),
    }


@lru_cache(maxsize=2)
def _comparison(views: tuple[View, View], changed: tuple[float, ...]) -> MapComparison:
    """Two maps by the neighbours of objects that both show; objects are numbered by their rows."""
    maps = [_map(view) for view in views]
    rows = [view.row_numbers(len(Y)) for view, Y in zip(views, maps, strict=True)]
    n = max(int(own.max()) + 1 for own in rows)
    every = []
    for Y, own in zip(maps, rows, strict=True):
        every.append(np.full((n, Y.shape[1]), np.nan))
        every[-1][own] = Y
    return compare_maps(*every)


def _compare(view: View, other: View) -> MapComparison:
    views = (view, other)
    return _comparison(views, tuple(Path(one.coordinates).stat().st_mtime for one in views))


def changed_neighbors(view: View, other: View) -> Array:
    """The share of each point's nearest that are not among its nearest on the other map."""
    comparison, rows = _compare(view, other), view.row_numbers(len(_map(view)))
    shares = np.full(rows.max() + 1, np.nan, np.float32)  # objects of both maps are among these
    shares[comparison.objects] = 1 - comparison.kept
    return shares[rows]


def changes(view: View, other: View) -> dict[str, Any]:
    """What changes from a map to another: neighbours kept, in all and by region of the map."""
    comparison, by_region = _compare(view, other), []
    if not view.rows:
        hierarchy = regions_of(view)
        for one in comparison.by_region(hierarchy, MOST_REGIONS):
            beside = None if one["mixed_with"] is None else hierarchy.tree[one["mixed_with"]].name
            by_region.append({**one, "mixed_with": beside})
    return {
        "kept": comparison.score,
        "expected": comparison.expected,
        "n_neighbors": comparison.n_neighbors,
        "regions": sorted(by_region, key=lambda one: one["kept"] if one["size"] else 2.0),
    }


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
    """The nearest objects of a point in the data, of those on the map.

    `apart` is the distance to the last of them as a multiple of theirs to their own.
    """
    with use_threads(None):
        rows = _rows(view._replace(coordinates="", label=None))
        distances = rows.distances(np.array([point], dtype=np.int32))[0].astype(np.float64)
        distances[point] = np.inf
        k = min(k, rows.n - 1)
        nearest = np.argsort(distances, kind="stable")[:k]
        around = rows.distances(nearest[:MOST_AROUND].astype(np.int32))
    reaches = np.partition(around, k, axis=1)[:, k]  # the nearest object is the object itself
    reach, typical = float(distances[nearest[-1]]), float(np.median(reaches))
    return {
        "neighbors": nearest.tolist(),
        "distances": distances[nearest].tolist(),
        "apart": reach / typical if typical > 0 else None,
    }


def suspects(view: View, limit: int) -> dict[str, Any]:
    """Objects that are probably mislabelled, and outliers; of many objects, among a sample.

    Without labels only outliers are sought.
    """
    X, labels = view.read_objects(), _labels(view)
    if labels is None:
        labels = np.ones(X.shape[0])
    known = labels != "" if labels.dtype == object else np.isfinite(labels)
    at = np.flatnonzero(known)
    if len(at) > MOST_COMPARED:  # the time grows with the square
        at = np.sort(np.random.default_rng(0).choice(at, MOST_COMPARED, replace=False))
    if len(at) < len(labels):
        X = X[at][:, at] if view.metric == "precomputed" else X[at]
    result = quality.suspects(X, labels[at], metric=view.metric)
    listed = []
    for i, reason in enumerate(result.reasons[:limit].tolist()):
        listed.append(
            {
                "row": int(at[result.objects[i]]),
                "score": float(result.scores[i]),
                "kind": reason,
                "label": None if view.label is None else str(result.labels[i]),
                "neighbours_label": str(result.suggested[i]) if reason == "label" else None,
                "why": result.why(i),
            }
        )
    return {"objects": listed, "sample": len(at) if len(at) < known.sum() else None}


def _columns_to_compare(data: Path) -> list[str]:
    """The columns in which objects are compared: numbers and categories, but not the ids."""
    about = read_about(data)
    return [name for name in about["places"] if name != about.get("id_name")]


def contrast(view: View, point: int, near: list[int]) -> list[dict[str, Any]]:
    """The columns in which an object differs most from some others, in standard deviations."""
    data, chosen = Path(view.data), view.read_rows()
    contrasts: list[dict[str, Any]] = []
    for name in _columns_to_compare(data):
        values = read_column(data, name)
        if not isinstance(values, np.ndarray):
            continue
        values = values[chosen].astype(np.float64)
        spread, around = np.nanstd(values), values[near]
        if not (spread > 0 and np.isfinite(values[point]) and np.isfinite(around).any()):
            continue
        inside, outside = float(values[point]), float(np.nanmean(around))
        effect = float((inside - outside) / spread)
        contrasts.append({"name": name, "effect": effect, "inside": inside, "outside": outside})
    contrasts.sort(key=lambda one: -abs(one["effect"]))
    return contrasts[:MOST_CONTRASTS]


def selection(view: View, n: int, points: Array) -> dict[str, Any]:
    """How the columns of some points differ from those of the others, the largest effect first.

    The effect of numbers is the difference of the means in standard deviations (Cohen's d); that of
    a category is the difference of its shares inside and outside, as Cohen's h.
    """
    data, chosen = Path(view.data), view.read_rows()
    inside = np.zeros(n, bool)
    inside[points] = True
    columns, categories = [], []
    for name in _columns_to_compare(data):
        values = read_column(data, name)
        if isinstance(values, dict):
            codes = values["codes"][chosen]
            categories += _category_effects(name, values["categories"], codes, inside)
        elif values is not None:
            effect = _number_effect(values[chosen], inside)
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


def decode(view: View, places: list[list[float]]) -> Array:
    """The features of the objects at some places of a map, in the units of the file."""
    path = Path(view.folder) / "model.lowdim"
    model = _model(str(path), path.stat().st_mtime)
    rows = np.array(model.inverse_transform(np.array(places)), dtype=np.float64)
    recipe = read_about(Path(view.data))["recipe"]
    return rows if recipe is None else Recipe(**recipe).undo(rows)
