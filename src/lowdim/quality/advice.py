"""What the numbers of a report mean, in plain words.

A warning is given where a number supports it, and names that number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lowdim.quality.report import Report

NEIGHBOR_EMBEDDINGS = (
    "SNE",
    "SymmetricSNE",
    "TSNE",
    "WeightedTSNE",
    "MultiscaleSNE",
    "NeRV",
    "UMAP",
    "LargeVis",
    "PaCMAP",
    "TriMap",
)
GRAPH_SPECTRAL = (
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "DiffusionMap",
    "SpectralClustering",
    "SpectralEmbedding",
)
POOR = 0.5  # a correlation below this is no ground to read from
FAIR = 0.75


def verdict(report: Report) -> str:
    """One or two sentences that come first."""
    structure = report.structure
    if structure is not None and structure.kind == "none":
        return (
            "There is no structure to see in these data. Objects lie no nearer to their neighbours "
            "than if every column were shuffled on its own (distances x "
            f"{structure.nearness:.2f}, in the leading plane x {structure.plane:.2f}), and no "
            f"direction stands out (variance x {structure.leading:.2f}). Groups, curves or gaps on "
            "this map come from chance or from the method, not from the data."
        )
    auc = float(report.auc)
    level = (
        "faithful at most scales"
        if auc >= 0.6
        else "fair: much of the data's neighbourhoods is kept, and much is not"
        if auc >= 0.35
        else "rough: it keeps some of the data's neighbourhoods, most are lost"
        if auc >= 0.1
        else "hardly better than placing the objects at random"
    )
    text = f"This map is {level} (area under R_NX {report.auc})."
    text += f" {_scales(report)}"
    if structure is not None and structure.kind == "columns":
        text += (
            " No relation between the columns shows in these distances: what can be seen are "
            "single columns that are clumped or skewed."
        )
    return text


def _scales(report: Report) -> str:
    """Which scales the map keeps."""
    near, far = float(report.trustworthiness), report.spearman
    close = (
        "Most neighbours on it are real"
        if float(report.preservation) >= 0.5
        else "Neighbours on it are real or nearly so"
        if near >= 0.9 and report.false_rank <= 5 * report.n_neighbors
        else "Neighbours on it come from the same region of the data, but are seldom the nearest"
        if near >= 0.9
        else "Its neighbours are often false"
    )
    what = "straight-line distances"
    if report.geodesic is not None and report.geodesic > far + 0.1:
        what, far = "distances along the data", report.geodesic
    wide = (
        f"{what} are kept in order"
        if far >= 0.8
        else f"{what} are kept in order only roughly"
        if far >= POOR
        else "large distances do not follow the data"
    )
    return f"{close} (trustworthiness {near:.3f}); {wide} (rank correlation {far:.2f})."


def advice(report: Report) -> Iterator[str]:
    """What must not be read from the picture, the gravest first."""
    yield from _neighbours(report)
    yield from _densities(report)
    yield from _gaps(report)
    yield from _pieces(report)
    yield from _crowding(report)
    yield from _scale_of_axes(report)
    if report.n_left_out:
        yield (
            f"Who is missing: {report.n_left_out:,} objects have no coordinates and were left out "
            "of every number here."
        )


def _neighbours(report: Report) -> Iterator[str]:
    k = report.n_neighbors
    lost = 1 - float(report.preservation)
    if lost > 0.3:
        yield (
            f"Single neighbours: {lost:.0%} of an object's {k} nearest on the map are not among "
            f"its {k} nearest in the data; half of those are beyond its {report.false_rank:,.0f} "
            "nearest there."
        )
    trust, kept = float(report.trustworthiness), float(report.continuity)
    if kept - trust > 0.03:
        yield (
            "Overlaps: the map lays parts of the data on top of each other (trustworthiness "
            f"{trust:.3f} is below continuity {kept:.3f}), so that two objects are close here is "
            "weak evidence that they are alike."
        )
    elif trust - kept > 0.03:
        yield (
            f"Gaps as boundaries: the map tears neighbours apart (continuity {kept:.3f} is below "
            f"trustworthiness {trust:.3f}), so a gap may run through what is whole in the data."
        )


def _densities(report: Report) -> Iterator[str]:
    known = f"rank correlation {report.density:.2f} of local scale in the data and on the map"
    if report.method in NEIGHBOR_EMBEDDINGS and report.density < FAIR:
        yield (
            f"Sizes and densities of clusters: {report.method} evens them out. Here the map's say "
            f"{'little' if report.density < POOR else 'only part'} of the data's ({known})."
        )
    elif report.density < POOR:
        yield (
            "Sizes and densities of clusters: how closely objects lie on the map says little of "
            f"how closely they lie in the data ({known})."
        )


def _gaps(report: Report) -> Iterator[str]:
    far = report.spearman_far
    known = f"rank correlation {far:.2f} among the farther half of the pairs"
    along = report.geodesic
    if report.method in NEIGHBOR_EMBEDDINGS and far < FAIR:
        follows = "hardly follows" if far < POOR else "only partly follows"
        yield (
            f"Distances between clusters: {report.method} keeps neighbours; where it puts clusters "
            f"and how wide the gaps are {follows} the data ({known})."
        )
    elif far < POOR and along is not None and along >= FAIR:
        yield (
            f"Straight-line distances: large ones are not those of the data ({known}). The map "
            f"shows distances along the data, from neighbour to neighbour (rank correlation "
            f"{along:.2f})."
        )
    elif far < POOR:
        yield (
            "Which groups are far from which: large distances on the map do not follow those in "
            f"the data ({known}"
            + (f", {along:.2f} with distances along the data)." if along is not None else ").")
        )


def _pieces(report: Report) -> Iterator[str]:
    if report.pieces is not None and report.pieces > 1:
        yield (
            f"Where the pieces lie: the data's graph of {report.n_neighbors} neighbours falls into "
            f"{report.pieces} pieces. Nothing in it says how they lie to each other: their places "
            "on the map are the method's choice."
        )


def _crowding(report: Report) -> Iterator[str]:
    dimension = report.dimension.consensus
    if dimension > report.n_components + 1 and float(report.preservation) < 0.7:
        yield (
            f"Everything at once: from close by the data have about {dimension:.0f} dimensions, "
            f"the map {report.n_components}. There is no room for all neighbours around an object, "
            "so some of what is near had to go far (crowding)."
        )
    if report.concentration < 0.1:
        yield (
            "The crowded middle: half of the objects lie within "
            f"{report.concentration:.1%} of the map's radius. Look at them on their own, or at a "
            "map that keeps distances."
        )


def _scale_of_axes(report: Report) -> Iterator[str]:
    if report.method in GRAPH_SPECTRAL and report.stress_1 > 0.2:
        yield (
            f"Lengths: {report.method} scales every axis on its own, so its distances are not the "
            f"data's (stress-1 {report.stress_1:.2f})."
        )
