"""What the measures of a map mean, in words.

A warning is given where a measure supports it, and names its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lowdim.catalog import Method, find

if TYPE_CHECKING:
    from lowdim.quality.assessment import Assessment

POOR = 0.5  # correlations below this are too weak to interpret distances
FAIR = 0.75


def verdict(assessment: Assessment) -> str:
    """Say in a few sentences how far the map can be trusted."""
    structure = assessment.structure
    if structure is not None and structure.kind == "none":
        return (
            "No structure was found in these data: they cannot be distinguished from independent "
            "columns with one mode each. Groups, curves or gaps on this map come from chance or "
            "from the method, not from the data."
        )
    auc = float(assessment.rnx_auc)
    level = (
        "faithful at most scales"
        if auc >= 0.6
        else "fair: it preserves a large part of the data's neighbourhoods"
        if auc >= 0.35
        else "rough: it preserves some of the data's neighbourhoods, most are lost"
        if auc >= 0.1
        else "hardly better than a random map"
    )
    text = f"This map is {level} (R_NX AUC {assessment.rnx_auc}). {_scales(assessment)}"
    if structure is not None and structure.kind == "columns":
        text += (
            f" {' '.join(structure.findings)} No relation between columns was found: groups on "
            "the map are combinations of those in single columns."
        )
    return text


def _catalog_row(assessment: Assessment) -> Method | None:
    """The catalog's row of the method."""
    return None if assessment.method is None else find(assessment.method)


def _scales(assessment: Assessment) -> str:
    """Which scales the map preserves."""
    near, far = float(assessment.trustworthiness), assessment.spearman
    close = (
        "Most neighbours on it are real"
        if float(assessment.neighborhood_preservation) >= 0.5
        else "Neighbours on it are real or nearly so"
        if near >= 0.9 and assessment.false_rank <= 5 * assessment.n_neighbors
        else "Neighbours on it come from the same region of the data, but are seldom the nearest"
        if near >= 0.9
        else "Its neighbours are often false"
    )
    what, measure, along = "straight-line distances", "Spearman", assessment.geodesic_correlation
    if along is not None and along > far + 0.1:
        what, measure, far = "distances along the data", "geodesic", along
    wide = (
        f"{what} are kept in order"
        if far >= 0.8
        else f"{what} are kept in order only roughly"
        if far >= POOR
        else "large distances do not follow the data"
    )
    return f"{close} (trustworthiness {near:.3f}); {wide} ({measure} correlation {far:.2f})."


def advice(assessment: Assessment) -> Iterator[str]:
    """Say what must not be read from the map, the most serious first."""
    yield from _neighbours(assessment)
    yield from _densities(assessment)
    yield from _gaps(assessment)
    yield from _components(assessment)
    yield from _crowding(assessment)
    yield from _scale_of_axes(assessment)
    if assessment.n_left_out:
        yield (
            f"Missing objects: {assessment.n_left_out:,} objects have no coordinates and are left "
            "out of every measure."
        )


def _neighbours(assessment: Assessment) -> Iterator[str]:
    k = assessment.n_neighbors
    lost = 1 - float(assessment.neighborhood_preservation)
    if lost > 0.3:
        yield (
            f"Single neighbours: {lost:.0%} of an object's {k} nearest on the map are not among "
            f"its {k} nearest in the data; half of those are beyond its "
            "{assessment.false_rank:,.0f} nearest in the data."
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


def _densities(assessment: Assessment) -> Iterator[str]:
    value = assessment.density_correlation
    known = f"density correlation {value:.2f}"
    row = _catalog_row(assessment)
    if row is not None and row.local_only and value < FAIR:
        follow = "hardly follow" if value < POOR else "only partly follow"
        yield (
            f"Sizes and densities of clusters: {assessment.method} evens them out. On this map "
            f"they {follow} those in the data ({known})."
        )
    elif value < POOR:
        yield (
            "Sizes and densities of clusters: how dense the map is somewhere hardly follows how "
            f"dense the data are there ({known})."
        )


def _gaps(assessment: Assessment) -> Iterator[str]:
    far = assessment.spearman_far
    known = f"Spearman correlation of far pairs {far:.2f}"
    along = assessment.geodesic_correlation
    row = _catalog_row(assessment)
    if row is not None and row.local_only and far < FAIR:
        follows = "hardly follows" if far < POOR else "only partly follows"
        yield (
            f"Distances between clusters: {assessment.method} keeps neighbours; where it puts "
            f"clusters and how wide the gaps are {follows} the data ({known})."
        )
    elif far < POOR and along is not None and along >= FAIR:
        yield (
            f"Straight-line distances: large ones do not follow the data ({known}). The map shows "
            f"distances along the data, from neighbour to neighbour (geodesic correlation "
            f"{along:.2f})."
        )
    elif far < POOR:
        yield (
            "Which groups are far from which: large distances on the map do not follow those in "
            f"the data ({known}"
            + (f", geodesic correlation {along:.2f})." if along is not None else ").")
        )


def _components(assessment: Assessment) -> Iterator[str]:
    count = assessment.n_graph_components
    if count is not None and count > 1:
        yield (
            f"Positions of separate groups: the data's graph of {assessment.n_neighbors} "
            f"neighbours has {count} connected components. A method that uses the graph alone "
            "places them by a rule of its own."
        )


def _crowding(assessment: Assessment) -> Iterator[str]:
    dimension = assessment.dimension.consensus
    if (
        dimension > assessment.n_components + 1
        and float(assessment.neighborhood_preservation) < 0.7
    ):
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


def _scale_of_axes(assessment: Assessment) -> Iterator[str]:
    row = _catalog_row(assessment)
    if row is not None and row.scales_axes and assessment.stress_1 > 0.2:
        yield (
            f"Lengths: {assessment.method} scales every axis on its own, so its distances are not "
            f"the data's (stress-1 {assessment.stress_1:.2f})."
        )
