"""`compare`: several maps of the same data, assessed alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lowdim.quality.assess import AssessedData, assess_map, metric_of, neighbor_graph_of
from lowdim.quality.assessment import Assessment, format_value, to_json
from lowdim.quality.measures import MEASURES, find_measure
from lowdim.quality.rows import data_rows
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, short_repr


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
        sign = 1.0 if find_measure(name).better == "higher" else -1.0
        values = {
            key: sign * one.measures[name]
            for key, one in self.assessments.items()
            if name in one.measures and one.measures[name] == one.measures[name]
        }
        top = max(values.values(), default=0.0)
        return [key for key, value in values.items() if value == top]

    def __repr__(self) -> str:
        best = ", ".join(self.best("rnx_auc"))
        return short_repr(self, {"n_maps": len(self.assessments), "best": best or None})

    def _repr_html_(self) -> str:
        title = "↑ higher is better, ↓ lower is better, * best of the row"
        rows = [[f"{label} {arrow}", *cells] for label, arrow, *cells in self._rows()]
        rows += [[f"{name}: not assessed", reason] for name, reason in self.failures.items()]
        return html_table(title, ["", *self.assessments], rows)

    def _rows(self) -> list[list[str]]:
        """A row for each measure and a column for each map; the best of a row have a star."""
        names = list(self.assessments)
        rows: list[list[str]] = []
        for measure in MEASURES:
            values = [one.measures.get(measure.name) for one in self.assessments.values()]
            if not measure.compared or all(value is None for value in values):
                continue
            best = self.best(measure.name) if len(names) > 1 else []
            cells = [
                "-" if value is None else format_value(value) + ("*" if name in best else " ")
                for name, value in zip(names, values, strict=True)
            ]
            rows.append([measure.label, "↑" if measure.better == "higher" else "↓", *cells])
        return rows

    def __str__(self) -> str:
        rows = [["", "", *self.assessments], *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                [f"{row[0]:<{widths[0]}}", row[1] or " "]
                + [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
            ).rstrip()
            for row in rows
        ]
        lines += [f"{name}: not assessed: {reason}" for name, reason in self.failures.items()]
        return "\n".join([*lines, "", "↑ higher is better, ↓ lower is better, * best of the row."])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the arrays of single objects, ready for `json.dumps`."""
        assessments = {name: one.to_dict() for name, one in self.assessments.items()}
        result: dict[str, Any] = to_json({"assessments": assessments, "failures": self.failures})
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
        fitted = hasattr(embedding, "embedding_")
        try:
            assessments[name] = assess_map(
                data,
                embedding.embedding_ if fitted else embedding,
                method=type(embedding).__name__ if fitted else name,
                labels=labels,
                n_neighbors=n_neighbors,
                graph=neighbor_graph_of(embedding),
                n_rows=n_rows,
            )
        except (TypeError, ValueError, MemoryError) as error:
            failures[name] = " ".join(str(error).split()) or type(error).__name__
    return Comparison(assessments, failures)
