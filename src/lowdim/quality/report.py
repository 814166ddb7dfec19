"""`assess`: the measures of a map in one report, with what must not be read from the picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.quality.advice import advice, verdict
from lowdim.quality.dimension import IntrinsicDimension, from_neighbors, from_pairs
from lowdim.quality.dimension import from_two_neighbors as from_two
from lowdim.quality.estimate import Estimate
from lowdim.quality.labels import LabelQuality, label_quality
from lowdim.quality.null import Structure, structure_of
from lowdim.quality.ranks import Curve, PointErrors, Ranks, ranks_between
from lowdim.quality.rows import Rows, chosen_rows, data_rows, map_rows, metric_rows
from lowdim.quality.stress import (
    MOST,
    Distances,
    Shepard,
    distances_of,
    rank_correlation,
    some_objects,
)
from lowdim.relations.geodesics import geodesics
from lowdim.relations.graph import NeighborGraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_GEODESIC = 100_000  # objects up to which geodesics are searched
SOURCES = 100  # of them
NEAR = 8  # neighbours that geodesics go through: more would cut corners
MOST_PAIRS = 500_000


@dataclass(frozen=True, eq=False)
class Report:
    """How true a map is; `str(report)` is the text, `to_dict()` for machines, `plot()` pictures.

    method : name of the method, if known. n_objects, n_components : size of the map.
    n_left_out : objects that the map does not place.
    n_neighbors : size k of the neighbourhoods of trustworthiness, continuity and preservation.
    n_rows : objects whose neighbourhoods were compared; with fewer than all, numbers have margins.
    trustworthiness, continuity, preservation, rank_errors_map, rank_errors_data : by ranks.
    auc : area under R_NX in log K; K_max, q_local, q_global : its split; rnx, qnx : the curves.
    stress_1, sammon_stress, spearman, spearman_far, distance_correlation, residual_variance : by
        the distances between `n_compared` objects.
    geodesic : rank correlation of distances on the map with those along the data's neighbour
        graph; None where that graph is not known.
    density : rank correlation of local scale (distance to the k-th neighbour) in data and map.
    concentration : median distance from the map's middle, as a share of the 99th percentile.
    pieces : connected pieces of the data's neighbour graph; None where it is not known.
    dimension, structure, labels : see `IntrinsicDimension`, `Structure` and `LabelQuality`.
    errors : per object, see `PointErrors`. shepard : the Shepard diagram.
    verdict, warnings : in words.
    """

    method: str | None
    n_objects: int
    n_components: int
    n_left_out: int
    n_neighbors: int
    n_rows: int
    trustworthiness: Estimate
    continuity: Estimate
    preservation: Estimate
    rank_errors_map: Estimate
    rank_errors_data: Estimate
    auc: Estimate
    K_max: int
    q_local: Estimate
    q_global: Estimate
    n_compared: int
    stress_1: float
    sammon_stress: float
    spearman: float
    spearman_far: float
    distance_correlation: float
    residual_variance: float
    geodesic: float | None
    density: float
    concentration: float
    false_rank: float
    pieces: int | None
    dimension: IntrinsicDimension
    structure: Structure | None
    labels: LabelQuality | None
    qnx: Curve
    rnx: Curve
    errors: PointErrors
    shepard: Shepard
    embedding: Array
    verdict: str = field(default="")
    warnings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        name = self.method or "map"
        return f"Report({name} of {self.n_objects} objects, auc={float(self.auc):.3f})"

    def _lines(self) -> list[str]:
        k = self.n_neighbors
        title = (
            f"{self.method or 'Map'}: {self.n_objects:,} objects in {self.n_components} dimensions"
        )
        lines = [title, "", *_wrapped(self.verdict, ""), "", f"Neighbourhoods of {k}"]
        lines += [
            _line("trustworthiness", self.trustworthiness, "1 if neighbours on the map are real"),
            _line("continuity", self.continuity, "1 if real neighbours stay together"),
            _line("preserved", self.preservation, f"share of the {k} nearest that are the same"),
            _line("rank errors, map", self.rank_errors_map, "0 at best"),
            _line("rank errors, data", self.rank_errors_data, "0 at best"),
            "All scales",
            _line("area under R_NX", self.auc, "0 by chance, 1 at best"),
            _line("local Q", self.q_local, f"neighbourhoods up to {self.K_max:,}"),
            _line("global Q", self.q_global, "larger ones"),
            f"Distances between {self.n_compared:,} objects",
            _line("stress-1", self.stress_1, "0 at best"),
            _line("Sammon stress", self.sammon_stress, "0 at best"),
            _line("rank correlation", self.spearman, "Spearman"),
            _line("  of far pairs", self.spearman_far, "the farther half"),
            *self._geodesic_lines(),
            _line("distance corr.", self.distance_correlation, "Székely"),
            _line("residual variance", self.residual_variance, "0 at best"),
            "The data",
            f"  intrinsic dimension  {self.dimension}",
        ]
        if self.structure is not None:
            near, plane = self.structure.nearness, self.structure.plane
            lines.append(
                f"  against shuffled columns: distance to neighbours x {near:.2f} (in the leading "
                f"plane x {plane:.2f}), leading variance x {self.structure.leading:.2f}"
            )
        if self.pieces is not None:
            lines.append(f"  pieces of the {k}-neighbour graph: {self.pieces}")
        if self.labels is not None:
            lines += ["Labels", *self._label_lines(self.labels)]
        if self.n_rows < self.n_objects:
            lines += [
                "",
                f"Ranks seen from {self.n_rows:,} objects drawn at random, each against all; "
                "± is the 95 % interval.",
            ]
        if self.warnings:
            lines += ["", "Do not read from this picture"]
            for text in self.warnings:
                lines += _wrapped(text, "- ")
        return lines

    def _geodesic_lines(self) -> list[str]:
        if self.geodesic is None:
            return []
        return [_line("  along the data", self.geodesic, "geodesics of the neighbour graph")]

    def _label_lines(self, labels: LabelQuality) -> list[str]:
        k = self.n_neighbors
        kind = "accuracy" if labels.kind == "accuracy" else "R^2"
        lines = [
            _line(f"{k}-NN {kind}", labels.map, f"in the data {labels.data}"),
        ]
        if labels.silhouette_map is not None and labels.silhouette_data is not None:
            note = f"in the data {labels.silhouette_data:.3f}"
            lines.append(_line("silhouette", labels.silhouette_map, note))
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays of single objects, ready for `json.dumps`."""
        shown = _log_spaced(len(self.rnx.K))
        out: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name in ("embedding", "errors", "shepard", "qnx"):
                continue
            if isinstance(value, Estimate):
                out[name] = {"value": float(value), "margin": value.margin}
            elif isinstance(value, Curve):
                parts = value._asdict().items()
                out[name] = {key: array[shown].tolist() for key, array in parts}
            elif isinstance(value, (IntrinsicDimension, Structure, LabelQuality)):
                out[name] = dict(vars(value))
                for key, inner in out[name].items():
                    if isinstance(inner, Estimate):
                        out[name][key] = {"value": float(inner), "margin": inner.margin}
            else:
                out[name] = list(value) if isinstance(value, tuple) else value
        plain: dict[str, Any] = _plain(out)
        return plain

    def plot(self) -> Figure:
        """The R_NX curve, the Shepard diagram and, up to three dimensions, where it is wrong."""
        from lowdim import plot
        from lowdim.plot.canvas import new_figure

        drawable = self.n_components <= 3
        figure = new_figure(4.2 * (2 + drawable), 3.8)
        axes = figure.add_subplot(1, 2 + drawable, 1)
        plot.rnx({self.method or "map": (self.rnx.K, self.rnx.values)}, ax=axes)
        plot.shepard(self.shepard, ax=figure.add_subplot(1, 2 + drawable, 2))
        if drawable:
            flat = self.n_components < 3
            last = figure.add_subplot(1, 3, 3, projection=None if flat else "3d")
            place = self.embedding[self.errors.rows]
            plot.errors(place, self.errors.torn, self.errors.false, ax=last)
        return figure


def assess(
    X: Any,
    embedding: Any,
    *,
    method: str | None = None,
    labels: Any = None,
    n_neighbors: int | None = None,
    metric: Any = None,
    metric_params: dict[str, Any] | None = None,
    graph: NeighborGraph | None = None,
    n_rows: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Report:
    """Measure a map against its data, and say what must not be read from it.

    Parameters
    ----------
    X : the data as every estimator takes it, or with metric="precomputed" all dissimilarities.
    embedding : array (n, p), or a fitted estimator with `embedding_`. Objects with NaN
        coordinates are left out.
    method : name of the method; that of the estimator's class by default.
    labels : classes of the objects, or numbers on a scale; never needed.
    n_neighbors : neighbourhoods that are looked at object by object; 15, or fewer for few objects.
    metric, metric_params : how distances in the data are measured; None: as the estimator does,
        else by "euclidean".
    graph : the data's neighbour graph, to count its pieces where the data are many.
    n_rows : objects whose neighbourhoods are compared; None: all of up to 5,000 objects, 1,000 of
        more (fewer above 300,000), and the numbers carry their 95 % intervals.
    random_state : seed of the samples. n_jobs : threads; the result does not depend on it.
    """
    if hasattr(embedding, "embedding_"):
        method = method or type(embedding).__name__
        graph = graph or getattr(embedding, "graph_", None)
        if metric is None:
            metric, metric_params = _metric_of(embedding, metric_params)
        embedding = embedding.embedding_
    metric = "euclidean" if metric is None else metric
    data = data_rows(X, metric, metric_params, n_jobs)
    Y = np.asarray(embedding)
    Y = Y[:, None] if Y.ndim == 1 else Y
    left_out = 0
    if Y.dtype.kind == "f" and Y.ndim == 2 and np.isnan(Y).any():
        kept = np.flatnonzero(~np.isnan(Y).any(axis=1))
        left_out, graph = len(Y) - len(kept), None
        map_rows(np.nan_to_num(Y), data.n)  # as many rows as X
        labels = None if labels is None else np.asarray(labels)[kept]
        Y, D = Y[kept], None
        if data.vectors is None:
            D = data.distances(kept)[:, kept]
            data = data_rows(D, "precomputed")
        elif data.metric is not None:
            data = metric_rows(data.vectors[kept], data.metric, n_jobs)
    placed = map_rows(Y, data.n, n_jobs)
    if data.n < 5:
        raise ValueError(f"X: {data.n} objects are placed, but a map of fewer than 5 says nothing.")
    k = n_neighbors if n_neighbors is not None else max(1, min(15, (data.n - 1) // 3))
    k = checks.integer(k, "n_neighbors", 1, (data.n - 1) // 2, " (less than half of the objects)")
    ranks = ranks_between(data, placed, chosen_rows(data.n, n_rows, random_state), k, n_jobs)
    distances = distances_of(data, placed, some_objects(data.n, MOST, random_state))
    split, errors = ranks.split, ranks.mean_relative_rank_errors
    false = ranks.data_ranks[ranks.data_ranks > k]
    known = _known_graph(ranks, graph)
    found: dict[str, Any] = {
        "method": method,
        "n_objects": data.n,
        "n_components": int(Y.shape[1]),
        "n_left_out": left_out,
        "n_neighbors": k,
        "n_rows": len(ranks.rows),
        "trustworthiness": ranks.trustworthiness,
        "continuity": ranks.continuity,
        "preservation": ranks.preservation,
        "rank_errors_map": errors[0],
        "rank_errors_data": errors[1],
        "auc": ranks.auc,
        "K_max": split.K_max,
        "q_local": split.local,
        "q_global": split.global_,
        "n_compared": len(distances.objects),
        "density": _density(ranks),
        "concentration": _concentration(Y),
        "false_rank": float(np.median(false)) if len(false) else float(k),
        "geodesic": _geodesic(known, placed, random_state, n_jobs),
        "pieces": None if known is None else known.components()[0],
        "dimension": _dimension(ranks, distances),
        "structure": structure_of(data, random_state, n_jobs),
        "labels": None if labels is None else label_quality(labels, ranks, distances),
        "qnx": ranks.qnx,
        "rnx": ranks.rnx,
        "errors": ranks.point_errors,
        "shepard": distances.shepard(),
        "embedding": Y,
    }
    for name in _BY_DISTANCES:
        found[name] = getattr(distances, name)
    bare = Report(**found)
    return Report(**found, verdict=verdict(bare), warnings=tuple(advice(bare)))


def _metric_of(model: Any, params: dict[str, Any] | None) -> tuple[Any, dict[str, Any] | None]:
    """How an estimator measures its data."""
    metric = getattr(model, "metric", None)
    if not isinstance(metric, str) and not callable(metric):
        return None, params
    params = params or getattr(model, "metric_params", None)
    if isinstance(metric, str) and metric == "minkowski" and hasattr(model, "p"):
        params = {"p": model.p, **(params or {})}
    return metric, params


_BY_DISTANCES = (
    "stress_1",
    "sammon_stress",
    "spearman",
    "spearman_far",
    "distance_correlation",
    "residual_variance",
)


def _density(ranks: Ranks) -> float:
    """Rank correlation of the distance to the k-th neighbour, in the data and on the map."""
    return rank_correlation(ranks.data_distances[:, -1], ranks.map_distances[:, -1])


def _concentration(Y: Array) -> float:
    """How far out the middle one of the objects lies, as a share of the outermost but 1 %."""
    away = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    outer = float(np.quantile(away, 0.99))
    return float(np.median(away)) / outer if outer > 0 else 1.0


def _known_graph(ranks: Ranks, graph: NeighborGraph | None) -> NeighborGraph | None:
    """The data's neighbour graph: that of the ranks if all are known, else the given one."""
    if ranks.exact:
        lengths = np.ascontiguousarray(ranks.data_distances)
        return NeighborGraph(ranks.data_ids, lengths, "given")
    given = graph is not None and graph.n_objects == ranks.n and graph.bridges is None
    return graph if given else None


def _geodesic(
    graph: NeighborGraph | None, placed: Rows, random_state: Any, n_jobs: int | None
) -> float | None:
    """Rank correlation of distances on the map with those along the neighbour graph."""
    if graph is None or graph.n_objects > MOST_GEODESIC:
        return None
    if graph.n_neighbors is not None and graph.bridges is None:
        graph = graph.take(min(graph.n_neighbors, NEAR))
    sources = some_objects(graph.n_objects, SOURCES, random_state)
    along = geodesics(graph.adjacency(n_jobs=n_jobs), sources, n_jobs=n_jobs)
    across = placed.distances(sources)
    known = np.isfinite(along)
    known[np.arange(len(sources)), sources] = False
    chosen = np.flatnonzero(known)
    chosen = chosen[:: max(1, len(chosen) // MOST_PAIRS)]
    return rank_correlation(along.ravel()[chosen], across.ravel()[chosen])


def _dimension(ranks: Ranks, distances: Distances) -> IntrinsicDimension:
    """From what the passes have found already."""
    near = ranks.data_distances.astype(np.float64)
    values = (from_neighbors(near), from_two(near), from_pairs(distances.pairs[0]))
    known = [value for value in values if np.isfinite(value)]
    return IntrinsicDimension(*values, None, float(np.median(known)) if known else float("nan"))


def _line(name: str, value: float, note: str) -> str:
    shown = str(value) if isinstance(value, Estimate) else f"{value:.3f}"
    return f"  {name:<18} {shown:<14} {note}"


def _wrapped(text: str, mark: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 88, initial_indent=mark, subsequent_indent=" " * len(mark))


def _log_spaced(count: int) -> Array:
    """Up to 120 of the entries, evenly spread over the logarithm of their number."""
    if count <= 120:
        return np.arange(count)
    return np.unique(np.geomspace(1, count, 120).round().astype(np.int64)) - 1


def _plain(value: Any) -> Any:
    """Python's own types; numbers that JSON does not know become None."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, (np.generic, float)):
        number = value.item() if isinstance(value, np.generic) else float(value)
        return number if not isinstance(number, float) or np.isfinite(number) else None
    return value
