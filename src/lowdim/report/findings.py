"""What was found out about a map, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowdim.checks import Array


@dataclass(frozen=True)
class Measure:
    """A number that says how well a map shows the data.

    Attributes
    ----------
    value : float
        The number.
    margin : float
        Half of its 95 % confidence interval; 0 if it is no estimate.
    better : {"higher", "lower"}
        Which values are better.
    meaning : str
        A few words on what the number is.
    headline : str
        What the map with the best value is good for; empty for most measures.

    Examples
    --------
    >>> from lowdim.report import Measure
    >>> Measure(0.93, margin=0.01, meaning="are the 10 nearest real?").better
    'higher'
    """

    value: float
    margin: float = 0.0
    better: str = "higher"
    meaning: str = ""
    headline: str = ""


@dataclass(frozen=True)
class Findings:
    """What is known of how well a map shows the data; all of it may be left out.

    Attributes
    ----------
    verdict : str
        One or two sentences that come first.
    warnings : sequence of str
        What must not be read from the map.
    measures : mapping of str to Measure
        Measures by name, in the order of the table.
    rnx : tuple of two arrays, or None
        Sizes K and values R_NX(K).
    shepard : sequence of two or three arrays, or None
        Dissimilarities, distances on the map and perhaps disparities of the same pairs.
    torn : array of shape (n,), or None
        How far the neighbours of each object were torn away from it, 0 to 1; NaN if unknown.
    false : array of shape (n,), or None
        How far the neighbours of each object on the map are from it in the data.
    data : sequence of str
        Facts about the data, not the map.
    no_structure : bool
        Whether the data have no structure to show; then the verdict says so.

    Examples
    --------
    >>> from lowdim.report import Findings, Measure
    >>> found = Findings(measures={"trustworthiness": Measure(0.93)})
    >>> found.measures["trustworthiness"].value
    0.93
    """

    verdict: str = ""
    warnings: Sequence[str] = ()
    measures: Mapping[str, Measure] = field(default_factory=dict)
    rnx: tuple[Any, Any] | None = None
    shepard: Sequence[Any] | None = None
    torn: Any = None
    false: Any = None
    data: Sequence[str] = ()
    no_structure: bool = False


def findings_of(report: Any, placed: Array) -> Findings:
    """The findings of `lowdim.quality.assess`; `placed` tells which objects the map places."""
    torn, false = np.full((2, len(placed)), np.nan)
    rows = np.flatnonzero(placed)[report.errors.rows]
    torn[rows], false[rows] = report.errors.torn, report.errors.false
    return Findings(
        verdict=report.verdict,
        warnings=report.warnings,
        measures=_measures(report),
        rnx=(report.rnx.K, report.rnx.values),
        shepard=report.shepard,
        torn=torn,
        false=false,
        no_structure=report.structure is not None and report.structure.kind == "none",
        data=(f"Intrinsic dimension of the data: {report.dimension}.",),
    )


def _measures(report: Any) -> dict[str, Measure]:
    k = report.n_neighbors
    up, down = "higher", "lower"
    rows: list[tuple[str, float, str, str, str]] = [
        ("area under R_NX", report.auc, up, "0 by chance, 1 at best", "neighbours at all scales"),
        ("trustworthiness", report.trustworthiness, up, f"are the {k} nearest real?", ""),
        ("continuity", report.continuity, up, f"do the {k} nearest stay together?", ""),
        ("kept", report.preservation, up, f"share of the {k} nearest kept", "close neighbours"),
        ("local Q", report.q_local, up, f"neighbourhoods up to {report.K_max:,}", ""),
        ("global Q", report.q_global, up, f"neighbourhoods from {report.K_max:,} on", ""),
        (
            "rank correlation",
            report.spearman,
            up,
            "of the distances (Spearman)",
            "straight-line distances",
        ),
        ("stress-1", report.stress_1, down, "distances at the best scale; 0 at best", ""),
    ]
    if report.geodesic is not None:
        meaning = "of the distances with those along the data's neighbour graph (Spearman)"
        rows.insert(7, ("along the data", report.geodesic, up, meaning, "distances along the data"))
    if report.labels is not None:
        name = f"{k}-NN {'accuracy' if report.labels.kind == 'accuracy' else 'R²'}"
        meaning = f"labels from neighbours on the map; in the data {float(report.labels.data):.3f}"
        rows.append((name, report.labels.map, up, meaning, "the labels"))
        if report.labels.silhouette_map is not None:
            meaning = f"of the labels; in the data {report.labels.silhouette_data:.3f}"
            rows.append(("silhouette", report.labels.silhouette_map, up, meaning, ""))
    return {
        name: Measure(float(value), getattr(value, "margin", 0.0), better, meaning, headline)
        for name, value, better, meaning, headline in rows
    }
