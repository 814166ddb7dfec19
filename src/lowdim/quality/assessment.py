"""The result of `assess`: the measures of one map, as numbers, text and pictures."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from lowdim.checks import Array
from lowdim.quality.dimension import IntrinsicDimension
from lowdim.quality.interval import IntervalEstimate
from lowdim.quality.labels import LabelQuality
from lowdim.quality.measures import MEASURES, QualityMeasure
from lowdim.quality.ranks import Curve, PointErrors
from lowdim.quality.stress import ShepardDiagram
from lowdim.quality.structure import Structure
from lowdim.summaries import html_table, json_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT_WIDTH = 88
_HEADINGS = {
    "ranks": "Ranks of neighbours, k = {k}",
    "distances": "Distances between {n_compared:,} objects",
    "geodesics": "Distances along the neighbour graph",
    "labels": "Labels",
}
_ARRAYS = ("embedding", "errors", "shepard", "qnx")  # not in `to_dict`


@dataclass(frozen=True, eq=False)
class Assessment:
    """The quality of one map.

    `str(assessment)` is a text, `assessment.to_dict()` is ready for JSON, `assessment.plot()` draws
    diagrams, and `assessment.measures` holds the measures by name. Each measure is an attribute
    too; `lowdim.quality.MEASURES` lists their meaning, range and direction.

    Attributes
    ----------
    method : str or None
        Name of the method, if known.
    n_objects, n_components : int
        Size of the map.
    n_left_out : int
        Number of objects without coordinates, which are in no measure.
    n_neighbors : int
        Size k of the neighbourhoods of the measures that have one.
    n_rows : int
        Number of objects whose neighbourhoods were compared; if these are not all, the measures by
        ranks have confidence intervals.
    n_compared : int
        Number of objects between which distances were compared.
    K_max : int
        Size of neighbourhoods that separates `q_local` from `q_global`.
    concentration : float
        Median distance from the middle of the map, as a share of the 99th percentile.
    false_rank : float
        Median rank in the data of false neighbours, those among the k nearest on the map only.
    n_graph_components : int or None
        Number of connected components of the data's neighbour graph; None if it is not known.
    dominant_column : tuple of int and float, or None
        A column of the data whose standard deviation is at least 30 times that of a typical one,
        and how many times; None if there is none, or the distances are not Euclidean.
    dimension : IntrinsicDimension
        Estimates of the intrinsic dimension of the data.
    structure : Structure or None
        Whether the data have structure; None if they are not vectors.
    labels : LabelQuality or None
        Measures by labels, on the map and in the data.
    qnx, rnx : Curve
        Q_NX(K) and R_NX(K).
    errors : PointErrors
        Lost and false neighbours of each object.
    shepard : ShepardDiagram
        Pairs of the Shepard diagram.
    embedding : ndarray of shape (n_objects, n_components)
        Coordinates of the objects that the map places.
    verdict : str
        One or two sentences on how far the map can be trusted.
    warnings : tuple of str
        What must not be read from the map.
    """

    method: str | None
    n_objects: int
    n_components: int
    n_left_out: int
    n_neighbors: int
    n_rows: int
    rnx_auc: IntervalEstimate
    rnx_auc_local: IntervalEstimate
    rnx_auc_global: IntervalEstimate
    trustworthiness: IntervalEstimate
    continuity: IntervalEstimate
    neighborhood_preservation: IntervalEstimate
    mrre_map: IntervalEstimate
    mrre_data: IntervalEstimate
    K_max: int
    q_local: IntervalEstimate
    q_global: IntervalEstimate
    density_correlation: float
    n_compared: int
    stress_1: float
    sammon_stress: float
    spearman: float
    spearman_far: float
    distance_correlation: float
    residual_variance: float
    geodesic_correlation: float | None
    concentration: float
    false_rank: float
    n_graph_components: int | None
    dominant_column: tuple[int, float] | None
    dimension: IntrinsicDimension
    structure: Structure | None
    labels: LabelQuality | None
    qnx: Curve
    rnx: Curve
    errors: PointErrors
    shepard: ShepardDiagram
    embedding: Array
    verdict: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def knn_accuracy(self) -> IntervalEstimate | None:
        """Accuracy of the nearest neighbours on the map; None without classes."""
        return self.labels.knn_map if self.labels and self.labels.kind == "classes" else None

    @property
    def knn_r2(self) -> IntervalEstimate | None:
        """R² of the nearest neighbours on the map; None without labels on a scale."""
        return self.labels.knn_map if self.labels and self.labels.kind == "scale" else None

    @property
    def silhouette(self) -> float | None:
        """Mean silhouette of the classes on the map; None without classes."""
        return None if self.labels is None else self.labels.silhouette_map

    @property
    def no_structure(self) -> bool:
        """Whether the data were tested, and no structure was found."""
        return self.structure is not None and self.structure.kind == "none"

    @property
    def measures(self) -> dict[str, float]:
        """The measures that are known, by name, in the order of `lowdim.quality.MEASURES`."""
        values = {measure.name: getattr(self, measure.name) for measure in MEASURES}
        return {name: value for name, value in values.items() if value is not None}

    def meaning(self, measure: QualityMeasure) -> str:
        """What a measure means for this map, and its value in the data where that is known."""
        text = measure.meaning.format(k=self.n_neighbors, K_max=f"{self.K_max:,}")
        if measure.needs_labels and self.labels is not None:
            silhouette = self.labels.silhouette_data
            data = silhouette if measure.name == "silhouette" else self.labels.knn_data
            text += "" if data is None else f"; in the data {format_value(data)}"
        return text

    def __str__(self) -> str:
        name = self.method or "Map"
        lines = [f"{name}: {self.n_objects:,} objects in {self.n_components} dimensions", ""]
        lines += [*_wrap(self.verdict), "", *self._measure_lines(), *self._data_lines()]
        if self.n_rows < self.n_objects:
            note = f"Ranks are those seen from {self.n_rows:,} objects drawn at random, each "
            lines += ["", note + "against all; ± is half of the 95 % confidence interval."]
        if self.warnings:
            lines += ["", "Do not read from this map"]
            lines += [line for text in self.warnings for line in _wrap(text, "- ")]
        return "\n".join(lines)

    def __repr__(self) -> str:
        name = self.method or "map"
        return f"Assessment({name} of {self.n_objects} objects, rnx_auc={self.rnx_auc:.3f})"

    def _repr_html_(self) -> str:
        name = self.method or "Map"
        rows = [
            [f"{measure.label} {measure.arrow}", format_value(value), self.meaning(measure)]
            for measure, value in self._known_measures()
        ]
        rows.append(["intrinsic dimension", f"{self.dimension.consensus:.1f}", ""])
        rows += [["do not read from it", "", text] for text in self.warnings]
        title = f"{name}: {self.n_objects:,} objects. {self.verdict}"
        return html_table(title, ["", "", ""], rows)

    def _known_measures(self) -> list[tuple[QualityMeasure, float]]:
        """The measures that are known, with their values."""
        values = self.measures
        return [(one, values[one.name]) for one in MEASURES if one.name in values]

    def _measure_lines(self) -> list[str]:
        lines, source = [], ""
        for measure, value in self._known_measures():
            if measure.source != source:
                source = measure.source
                heading = _HEADINGS[source]
                lines.append(heading.format(k=self.n_neighbors, n_compared=self.n_compared))
            start = f"  {measure.label:<26} {measure.arrow} {format_value(value):<14}"
            lines.append(f"{start} {self.meaning(measure)}".rstrip())
        return lines

    def _data_lines(self) -> list[str]:
        lines = ["The data", f"  intrinsic dimension {self.dimension}"]
        if self.structure is not None:
            lines += _wrap(f"structure: {self.structure}", "  ", "    ")
        if self.n_graph_components is not None:
            what = f"connected components of the {self.n_neighbors}-neighbour graph"
            lines.append(f"  {what}: {self.n_graph_components}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the arrays of single objects, ready for `json.dumps`.

        Returns
        -------
        dict
            Estimates are `{"value": ..., "margin": ...}`; the measures by labels stand beside the
            others. Numbers that are not finite become None.
        """
        kept = {field.name for field in fields(self)} - set(_ARRAYS)
        values = {name: value for name, value in vars(self).items() if name in kept}
        result: dict[str, Any] = json_value({**values, **self.measures})
        return result

    def plot(self) -> Figure:
        """Draw the R_NX curve, the Shepard diagram and, in up to three dimensions, the errors.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from lowdim import plot
        from lowdim.plot.canvas import new_figure

        count = 3 if self.n_components <= 3 else 2
        figure = new_figure(4.2 * count, 3.8)
        curve = {self.method or "map": (self.rnx.K, self.rnx.values)}
        plot.rnx(curve, ax=figure.add_subplot(1, count, 1))
        plot.shepard(self.shepard, ax=figure.add_subplot(1, count, 2))
        if count == 3:
            last = figure.add_subplot(1, 3, 3, projection="3d" if self.n_components == 3 else None)
            place = self.embedding[self.errors.rows]
            plot.errors(place, self.errors.torn, self.errors.false, ax=last)
        return figure


def format_value(value: float) -> str:
    """A measure with three decimals, and its margin where it has one."""
    return str(value) if isinstance(value, IntervalEstimate) else f"{value:.3f}"


def _wrap(text: str, first: str = "", further: str | None = None) -> list[str]:
    further = " " * len(first) if further is None else further
    return textwrap.wrap(text, TEXT_WIDTH, initial_indent=first, subsequent_indent=further)
