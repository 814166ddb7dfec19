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


def findings_of(assessment: Any, placed: Array) -> Findings:
    """The findings of `lowdim.quality.assess`; `placed` tells which objects the map places."""
    torn, false = np.full((2, len(placed)), np.nan)
    rows = np.flatnonzero(placed)[assessment.errors.rows]
    torn[rows], false[rows] = assessment.errors.torn, assessment.errors.false
    return Findings(
        verdict=assessment.verdict,
        warnings=assessment.warnings,
        measures=_measures(assessment),
        rnx=(assessment.rnx.K, assessment.rnx.values),
        shepard=assessment.shepard,
        torn=torn,
        false=false,
        no_structure=assessment.structure is not None and assessment.structure.kind == "none",
        data=(f"Intrinsic dimension of the data: {assessment.dimension}.",),
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
