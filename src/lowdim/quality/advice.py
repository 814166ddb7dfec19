"""What the measures of a map mean, in words.

A warning is given where a measure supports it, and names its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lowdim.catalog import find

if TYPE_CHECKING:
    from lowdim.quality.assessment import Assessment

FAIR = 0.75  # correlations below this are warned of
LEVELS = (
    (0.75, "very faithful at nearly all scales"),
    (0.6, "faithful at most scales"),
    (0.45, "fairly faithful: it keeps about half of the data's neighbourhoods"),
    (0.3, "fair: it keeps a large part of the data's neighbourhoods"),
    (0.15, "rough: it keeps some of the data's neighbourhoods, most are lost"),
    (0.05, "very rough: it keeps few of the data's neighbourhoods"),
    (-1.0, "hardly better than a random map"),
)
DEGREES = (
    (0.9, "closely follow"),
    (0.75, "mostly follow"),
    (0.5, "only partly follow"),
    (0.25, "hardly follow"),
    (-1.0, "do not follow"),
)


def _grade(value: float, ladder: tuple[tuple[float, str], ...]) -> str:
    return next((words for least, words in ladder if value >= least), ladder[-1][1])


def verdict(assessment: Assessment) -> str:
    """Say in a few sentences how far the map can be trusted."""
    if assessment.no_structure:
        return (
            "No structure was found in these data: they cannot be distinguished from independent "
            "columns with one mode each. Groups, curves or gaps on this map come from chance or "
            "from the method, not from the data."
        )
    level = _grade(float(assessment.rnx_auc), LEVELS)
    text = f"This map is {level} (R_NX AUC {assessment.rnx_auc}). {_scales(assessment)}"
    if assessment.dominant_column is not None:
        column, ratio = assessment.dominant_column
        text += (
            f" But column {column} of the data varies {ratio:,.0f} times as much as a typical one, "
            "so the distances that the map was compared with are almost those of this column "
            "alone: standardize the columns first."
        )
    structure = assessment.structure
    if structure is not None and structure.kind == "columns":
        text += (
            f" {' '.join(structure.findings)} No relation between columns was found: groups on "
            "the map are combinations of those in single columns."
        )
    return text


def _scales(assessment: Assessment) -> str:
    """How well the map keeps neighbours and distances, in numbers and in words."""
    k, kept = assessment.n_neighbors, float(assessment.neighborhood_preservation)
    near = f"{kept:.0%} of an object's {k} nearest on the map are among its {k} nearest in the data"
    if kept < 1:
        near += (
            f", and half of the others are among its {assessment.false_rank:,.0f} nearest of "
            f"{assessment.n_objects:,}"
        )
    where, measure, far = "in", "Spearman", assessment.spearman
    along = assessment.geodesic_correlation
    if along is not None and along > far + 0.1:
        where, measure, far = "along", "geodesic", along
    return (
        f"{near} (trustworthiness {float(assessment.trustworthiness):.3f}). Distances on it "
        f"{_grade(far, DEGREES)} those {where} the data ({measure} correlation {far:.2f})."
    )


def advice(assessment: Assessment) -> Iterator[str]:
    """Say what must not be read from the map, the most serious first."""
    row = None if assessment.method is None else find(assessment.method)
    keeps_only_neighbors = row is not None and row.local_only
    yield from _about_neighbors(assessment)

    value = assessment.density_correlation
    if value < FAIR:
        start = f"{assessment.method} evens them out. On" if keeps_only_neighbors else "on"
        yield (
            f"Sizes and densities of clusters: {start} this map they {_grade(value, DEGREES)} "
            f"those in the data (density correlation {value:.2f})."
        )

    far, along = assessment.spearman_far, assessment.geodesic_correlation
    if far < FAIR:
        known = f"{_grade(far, DEGREES)} the data (Spearman correlation of far pairs {far:.2f}"
        if along is not None and along >= FAIR and along > far + 0.1:
            yield (
                f"Straight-line distances: large ones {known}). The map shows distances along the "
                f"data, from neighbour to neighbour (geodesic correlation {along:.2f})."
            )
        elif keeps_only_neighbors:
            yield (
                f"Distances between clusters: {assessment.method} keeps neighbours; the places of "
                f"clusters and the widths of gaps {known})."
            )
        else:
            also = "" if along is None else f", geodesic correlation {along:.2f}"
            yield f"Which groups are far from which: large distances on the map {known}{also})."

    count = assessment.n_graph_components
    if count is not None and count > 1:
        yield (
            f"Positions of separate groups: the data's graph of {assessment.n_neighbors} "
            f"neighbours has {count} connected components. A method that uses the graph alone "
            "places them by a rule of its own."
        )

    kept, dimension = float(assessment.neighborhood_preservation), assessment.dimension.consensus
    if dimension > assessment.n_components + 1 and kept < 0.7:
        yield (
            f"All neighbours at once: the data have about {dimension:.0f} dimensions locally, the "
            f"map {assessment.n_components}. There is no room for all neighbours around an object, "
            "so some of them are far from it on the map (crowding)."
        )
    if assessment.concentration < 0.1:
        yield (
            "The crowded middle: half of the objects lie within "
            f"{assessment.concentration:.1%} of the map's radius. Look at them on their own, or at "
            "a map that keeps distances."
        )
    if row is not None and row.scales_axes and assessment.stress_1 > 0.2:
        yield (
            f"Lengths: {assessment.method} scales every axis on its own, so its distances are not "
            f"the data's (stress-1 {assessment.stress_1:.2f})."
        )
    if assessment.n_left_out:
        yield (
            f"Missing objects: {assessment.n_left_out:,} objects have no coordinates and are left "
            "out of every measure."
        )


def _about_neighbors(assessment: Assessment) -> Iterator[str]:
    k = assessment.n_neighbors
    lost = 1 - float(assessment.neighborhood_preservation)
    if lost > 0.1:
        yield (
            f"Single neighbours: {lost:.0%} of an object's {k} nearest on the map are not among "
            f"its {k} nearest in the data; half of those are beyond its "
            f"{assessment.false_rank:,.0f} nearest in the data."
        )
    trust, continuity = float(assessment.trustworthiness), float(assessment.continuity)
    if continuity - trust > 0.03:
        yield (
            "Overlaps: the map lays parts of the data on top of each other (trustworthiness "
            f"{trust:.3f} is below continuity {continuity:.3f}), so two objects that are close on "
            "the map need not be close in the data."
        )
    elif trust - continuity > 0.03:
        yield (
            "Gaps as boundaries: the map tears neighbours apart (continuity "
            f"{continuity:.3f} is below trustworthiness {trust:.3f}), so a gap on the map need not "
            "be a gap in the data."
        )
