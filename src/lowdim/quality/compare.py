"""`compare`: several maps of the same data, assessed in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.messages import one_line
from lowdim.quality.assess import AssessedData, assess_map, metric_of
from lowdim.quality.assessment import Assessment, format_value
from lowdim.quality.measures import MEASURES, QualityMeasure, find_measure
from lowdim.quality.rows import data_rows
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, json_value, short_repr, text_table

LEGEND = "↑ higher is better, ↓ lower is better, * best of the row."


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several maps of the same data.

    Attributes
    ----------
    assessments : dict of str to Assessment
        The assessments by the names of the maps, in the order given.
    failures : dict of str to str
        Why a map could not be assessed, by its name.
    """

    assessments: dict[str, Assessment]
    failures: dict[str, str]

    def best(self, name: str) -> list[str]:
        """Return the names of the maps that are best by a measure.

        Parameters
        ----------
        name : str
            Name of a measure in `lowdim.quality.MEASURES`.

        Returns
        -------
        list of str
            Several where maps are equal; none where the measure is not known.
        """
        ranked = self.ranking(name)
        top = self.assessments[ranked[0]].measures[name] if ranked else 0.0
        return [
            key
            for key, one in self.assessments.items()
            if key in ranked and one.measures[name] == top
        ]

    def ranking(self, name: str) -> list[str]:
        """Return the names of the maps that have a measure, the best first."""
        sign = -1.0 if find_measure(name).better == "higher" else 1.0
        known = {key: one.measures.get(name, np.nan) for key, one in self.assessments.items()}
        return sorted(
            (key for key in known if known[key] == known[key]), key=lambda key: sign * known[key]
        )

    def leaders(self, name: str) -> tuple[list[str], list[str]]:
        """Return the best maps by a measure, and those that cannot be distinguished from them.

        The confidence intervals of the latter overlap that of the best one. Both are empty if there
        is nothing to compare: a single map, or several of the same value.
        """
        first, ranked = self.best(name), self.ranking(name)
        if len(first) == len(ranked):
            return [], []
        values = {key: self.assessments[key].measures[name] for key in ranked}
        margins = {key: getattr(value, "margin", 0.0) for key, value in values.items()}
        near = []
        for key in ranked[len(first) :]:
            reach = margins[key] + margins[first[0]]
            if reach > 0 and abs(values[key] - values[first[0]]) <= reach:
                near.append(key)
        return first, near

    @property
    def measures(self) -> list[QualityMeasure]:
        """The measures that tables of several maps show, if they are known of one of the maps."""
        known = {name for one in self.assessments.values() for name in one.measures}
        return [measure for measure in MEASURES if measure.compared and measure.name in known]

    def __repr__(self) -> str:
        best = ", ".join(self.best("rnx_auc"))
        return short_repr(self, {"n_maps": len(self.assessments), "best": best or None})

    def _repr_html_(self) -> str:
        rows = [[f"{label} {arrow}", *cells] for label, arrow, *cells in self._rows()]
        rows += [[f"{name}: not assessed", reason] for name, reason in self.failures.items()]
        return html_table(LEGEND[:-1], ["", *self.assessments], rows)

    def _rows(self) -> list[list[str]]:
        """A row for each measure and a column for each map; the best of a row have a star."""
        rows = []
        for measure in self.measures:
            best = self.best(measure.name) if len(self.assessments) > 1 else []
            values = {
                name: one.measures.get(measure.name) for name, one in self.assessments.items()
            }
            cells = [
                "-" if value is None else format_value(value) + ("*" if name in best else " ")
                for name, value in values.items()
            ]
            rows.append([measure.label, measure.arrow, *cells])
        return rows

    def __str__(self) -> str:
        head, *lines = text_table([["", "", *self.assessments], *self._rows()], 2)
        lines += [f"{name}: not assessed: {reason}" for name, reason in self.failures.items()]
        return "\n".join([head, *lines, "", LEGEND])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the arrays of single objects, ready for `json.dumps`."""
        assessments = {name: one.to_dict() for name, one in self.assessments.items()}
        result: dict[str, Any] = json_value({"assessments": assessments, "failures": self.failures})
        return result


@uses_threads
def compare(
    X: Any,
    embeddings: Mapping[str, Any],
    *,
    labels: Any = None,
    n_neighbors: int | None = None,
    metric: Any = None,
    metric_params: dict[str, Any] | None = None,
    n_rows: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Assess several maps of the same data by the same objects, pairs and neighbourhoods.

    A map that cannot be assessed is reported in `failures` and does not affect the others. What
    depends on the data alone is computed once.

    Parameters
    ----------
    X : array-like
        The data as every estimator takes them, or all dissimilarities with
        `metric="precomputed"`.
    embeddings : mapping of str to array-like of shape (n, p) or fitted estimator
        The maps by name.
    labels, n_neighbors, n_rows, random_state, n_jobs
        As in `assess`.
    metric : str or callable, optional
        How distances in the data are measured; by default as the first estimator among the
        embeddings does, else "euclidean". All maps are compared with the same distances.
    metric_params : dict, optional
        Further arguments of the metric.

    Returns
    -------
    Comparison
        The assessments and the failures by name.

    Raises
    ------
    ValueError
        If there are no embeddings, or X does not suit the metric.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(800, random_state=0)
    >>> models = {"PCA": lowdim.PCA(2).fit(X), "Isomap": lowdim.Isomap(n_neighbors=8).fit(X)}
    >>> result = lowdim.quality.compare(X, models)
    >>> result.best("rnx_auc")
    ['Isomap']
    """
    if not embeddings:
        raise ValueError("embeddings is empty: give at least one map.")
    if metric is None:
        models = [one for one in embeddings.values() if hasattr(one, "embedding_")]
        metric, metric_params = metric_of(models[0] if models else None, metric_params)
    data = AssessedData(data_rows(X, metric, metric_params), random_state)
    assessments: dict[str, Assessment] = {}
    failures: dict[str, str] = {}
    for name, embedding in embeddings.items():
        method = None if hasattr(embedding, "embedding_") else name
        try:
            assessments[name] = assess_map(data, embedding, method, labels, n_neighbors, n_rows)
        except (TypeError, ValueError, MemoryError) as error:
            failures[name] = one_line(error)
    return Comparison(assessments, failures)
