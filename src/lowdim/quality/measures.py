"""The list of quality measures: every table, page and text takes its names from here."""

from __future__ import annotations

from dataclasses import dataclass

from lowdim.quality.ranks import LOCAL_NEIGHBORS


@dataclass(frozen=True)
class QualityMeasure:
    """One quality measure of a map.

    Attributes
    ----------
    name : str
        Name of the value in an `Assessment` and in its `to_dict`.
    label : str
        Name in tables and texts.
    source : {"ranks", "distances", "geodesics", "labels"}
        What it is computed from.
    meaning : str
        What the value is, in a few words; `{k}` stands for the size of the neighbourhoods and
        `{K_max}` for the size that separates local from global ones.
    low, high : float
        Range of the values.
    better : {"higher", "lower"}
        Which direction is better.
    function : str
        The function of `lowdim.quality` that computes it; by default the one of the same name.
    compared : bool
        Whether tables that compare maps show it.
    good_for : str
        What a map that is best by this measure is best for; only leading measures have one.
    """

    name: str
    label: str
    source: str
    meaning: str
    low: float = 0
    high: float = 1
    better: str = "higher"
    function: str = ""
    compared: bool = False
    good_for: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", self.function or self.name)

    @property
    def needs_labels(self) -> bool:
        """Whether it needs labels of the objects."""
        return self.source == "labels"

    @property
    def arrow(self) -> str:
        """The direction that is better, as an arrow."""
        return "↑" if self.better == "higher" else "↓"


# fmt: off
MEASURES: tuple[QualityMeasure, ...] = (
    QualityMeasure("rnx_auc", "R_NX AUC", "ranks",
                   "area under R_NX(K) over log K, all sizes of neighbourhoods; 0 for a random map",
                   low=-1, compared=True, good_for="neighbours at all scales"),
    QualityMeasure("rnx_auc_local", "R_NX AUC, local", "ranks",
                   f"area under R_NX(K) for neighbourhoods of up to {LOCAL_NEIGHBORS} objects",
                   low=-1, function="compare_ranks"),
    QualityMeasure("rnx_auc_global", "R_NX AUC, global", "ranks",
                   f"area under R_NX(K) for neighbourhoods of more than {LOCAL_NEIGHBORS} objects",
                   low=-1, function="compare_ranks"),
    QualityMeasure("trustworthiness", "trustworthiness", "ranks",
                   "1 if the {k} nearest on the map are near in the data", compared=True),
    QualityMeasure("continuity", "continuity", "ranks",
                   "1 if the {k} nearest in the data are near on the map", compared=True),
    QualityMeasure("neighborhood_preservation", "neighbourhood preservation", "ranks",
                   "share of the {k} nearest in the data that are the {k} nearest on the map",
                   compared=True, good_for="close neighbours"),
    QualityMeasure("mrre_map", "MRRE, map", "ranks",
                   "mean relative rank error of the {k} nearest on the map",
                   better="lower", function="mean_relative_rank_errors"),
    QualityMeasure("mrre_data", "MRRE, data", "ranks",
                   "mean relative rank error of the {k} nearest in the data",
                   better="lower", function="mean_relative_rank_errors"),
    QualityMeasure("q_local", "Q_local", "ranks", "mean Q_NX(K) for K up to {K_max}",
                   function="local_global", compared=True),
    QualityMeasure("q_global", "Q_global", "ranks", "mean Q_NX(K) for K from {K_max} on",
                   function="local_global", compared=True),
    QualityMeasure("density_correlation", "density correlation", "ranks",
                   "rank correlation of the distances to the {k}-th neighbour in data and map",
                   low=-1),
    QualityMeasure("stress_1", "stress-1", "distances",
                   "Kruskal's stress of the map at its best scale", better="lower", compared=True),
    QualityMeasure("sammon_stress", "Sammon stress", "distances",
                   "Sammon's stress of the map at its best scale", better="lower"),
    QualityMeasure("spearman", "Spearman correlation", "distances",
                   "rank correlation of the distances in data and map",
                   low=-1, compared=True, good_for="straight-line distances"),
    QualityMeasure("spearman_far", "Spearman correlation, far", "distances",
                   "the same among the half of the pairs that are farther apart in the data",
                   low=-1),
    QualityMeasure("distance_correlation", "distance correlation", "distances",
                   "Székely's distance correlation of data and map"),
    QualityMeasure("residual_variance", "residual variance", "distances",
                   "1 - R² of the distances in data and map", better="lower"),
    QualityMeasure("geodesic_correlation", "geodesic correlation", "geodesics",
                   "rank correlation of the map's distances with those along the neighbour graph",
                   low=-1, function="assess", compared=True,
                   good_for="distances along the data"),
    QualityMeasure("knn_accuracy", "k-NN accuracy", "labels",
                   "share of objects whose class is the commonest of their {k} nearest on the map",
                   compared=True, good_for="the labels"),
    QualityMeasure("knn_r2", "k-NN R²", "labels",
                   "share of the labels' variance that the mean of the {k} nearest explains",
                   low=float("-inf"), compared=True, good_for="the labels"),
    QualityMeasure("silhouette", "silhouette", "labels",
                   "mean silhouette of the classes on the map", low=-1, compared=True),
)
# fmt: on


def find_measure(name: str) -> QualityMeasure:
    """Look up a measure by its name.

    Raises
    ------
    ValueError
        If there is no measure of that name.

    Examples
    --------
    >>> from lowdim import quality
    >>> quality.find_measure("stress_1").better
    'lower'
    """
    for measure in MEASURES:
        if measure.name == name:
            return measure
    known = ", ".join(measure.name for measure in MEASURES)
    raise ValueError(f"name: there is no quality measure {name!r}; the measures are {known}.")
