"""What was found out about a map, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.quality.measures import MEASURES


@dataclass(frozen=True)
class Measure:
    """A number that says how true a map is.

    margin : half of its 95 % confidence interval, 0 if it is no estimate.
    better : "higher" or "lower". meaning : a few words on what the number is.
    headline : what a map is good for that is best by it; only a few measures have one.
    """

    value: float
    margin: float = 0.0
    better: str = "higher"
    meaning: str = ""
    headline: str = ""


@dataclass(frozen=True)
class Findings:
    """What is known of how true a map is; all of it may be left out.

    verdict, warnings : in plain words; what to see, and what must not be read from the map.
    measures : by name, in the order of the table.
    rnx : sizes K and values R_NX(K).
    shepard : dissimilarities, distances on the map and perhaps disparities of the same pairs.
    torn, false : of each object, how far its neighbours were torn away, and how far its neighbours
        on the map are from it in the data, 0 to 1; NaN where that is not known.
    data : facts about the data, not the map.
    no_structure : whether the data have none to show; then the verdict says so.
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


def _measures(assessment: Any) -> dict[str, Measure]:
    """The measures that comparisons show, by label."""
    return {
        measure.label: Measure(
            float(value),
            getattr(value, "margin", 0.0),
            measure.better,
            assessment.meaning(measure),
            measure.good_for,
        )
        for measure in MEASURES
        if measure.compared and (value := assessment.measures.get(measure.name)) is not None
    }
