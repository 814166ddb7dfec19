"""The list of quality measures: every table, page and text takes its names from here."""

from __future__ import annotations

from dataclasses import dataclass

from lowdim.quality.ranks import LOCAL_NEIGHBORS
from lowdim.quality.rows import MAX_OBJECTS_EXACT
from lowdim.quality.stress import MAX_OBJECTS_PAIRED

EXACT_UP_TO = {
    "ranks": MAX_OBJECTS_EXACT,
    "distances": MAX_OBJECTS_PAIRED,
    "geodesics": 0,
    "labels": MAX_OBJECTS_EXACT,
}
"""Number of objects up to which a measure is exact, by what it is computed from."""


@dataclass(frozen=True)
class QualityMeasure:
    """One quality measure of a map.

    Attributes
    ----------
    name : str
        Name of the value in an `Assessment` and in its `to_dict`.
    label : str
        Name in tables and texts.
    meaning : str
        What the value is, in a few words; `{k}` stands for the size of the neighbourhoods and
        `{K_max}` for the size that separates local from global ones.
    low, high : float
        Range of the values.
    better : {"higher", "lower"}
        Which direction is better.
    function : str
        The function of `lowdim.quality` that computes it.
    source : {"ranks", "distances", "geodesics", "labels"}
        What it is computed from.
    compared : bool
        Whether tables that compare maps show it.
    good_for : str
        What a map that is best by this measure is best for; only leading measures have one.
    """

    name: str
    label: str
    meaning: str
    low: float
    high: float
    better: str
    function: str
    source: str
    compared: bool = False
    good_for: str = ""

    @property
    def needs_labels(self) -> bool:
        """Whether it needs labels of the objects."""
        return self.source == "labels"

    @property
    def exact_up_to(self) -> int:
        """Number of objects up to which all of them are compared; a sample is used beyond."""
        return EXACT_UP_TO[self.source]


MEASURES: tuple[QualityMeasure, ...] = (
    QualityMeasure(
        name="rnx_auc",
        label="R_NX AUC",
        meaning="area under R_NX(K) over log K, all sizes of neighbourhoods; 0 for a random map",
        low=-1,
        high=1,
        better="higher",
        function="rnx_auc",
        source="ranks",
        compared=True,
        good_for="neighbours at all scales",
    ),
    QualityMeasure(
        name="rnx_auc_local",
        label="R_NX AUC, local",
        meaning=f"area under R_NX(K) for neighbourhoods of up to {LOCAL_NEIGHBORS} objects",
        low=-1,
        high=1,
        better="higher",
        function="compare_ranks",
        source="ranks",
    ),
    QualityMeasure(
        name="rnx_auc_global",
        label="R_NX AUC, global",
        meaning=f"area under R_NX(K) for neighbourhoods of more than {LOCAL_NEIGHBORS} objects",
        low=-1,
        high=1,
        better="higher",
        function="compare_ranks",
        source="ranks",
    ),
    QualityMeasure(
        name="trustworthiness",
        label="trustworthiness",
        meaning="1 if the {k} nearest on the map are near in the data",
        low=0,
        high=1,
        better="higher",
        function="trustworthiness",
        source="ranks",
        compared=True,
    ),
    QualityMeasure(
        name="continuity",
        label="continuity",
        meaning="1 if the {k} nearest in the data are near on the map",
        low=0,
        high=1,
        better="higher",
        function="continuity",
        source="ranks",
        compared=True,
    ),
    QualityMeasure(
        name="neighborhood_preservation",
        label="neighbourhood preservation",
        meaning="share of the {k} nearest in the data that are the {k} nearest on the map",
        low=0,
        high=1,
        better="higher",
        function="neighborhood_preservation",
        source="ranks",
        compared=True,
        good_for="close neighbours",
    ),
    QualityMeasure(
        name="mrre_map",
        label="MRRE, map",
        meaning="mean relative rank error of the {k} nearest on the map",
        low=0,
        high=1,
        better="lower",
        function="mean_relative_rank_errors",
        source="ranks",
    ),
    QualityMeasure(
        name="mrre_data",
        label="MRRE, data",
        meaning="mean relative rank error of the {k} nearest in the data",
        low=0,
        high=1,
        better="lower",
        function="mean_relative_rank_errors",
        source="ranks",
    ),
    QualityMeasure(
        name="q_local",
        label="Q_local",
        meaning="mean Q_NX(K) for K up to {K_max}",
        low=0,
        high=1,
        better="higher",
        function="local_global",
        source="ranks",
        compared=True,
    ),
    QualityMeasure(
        name="q_global",
        label="Q_global",
        meaning="mean Q_NX(K) for K from {K_max} on",
        low=0,
        high=1,
        better="higher",
        function="local_global",
        source="ranks",
        compared=True,
    ),
    QualityMeasure(
        name="density_correlation",
        label="density correlation",
        meaning="rank correlation of the distances to the {k}-th neighbour in data and map",
        low=-1,
        high=1,
        better="higher",
        function="density_correlation",
        source="ranks",
    ),
    QualityMeasure(
        name="stress_1",
        label="stress-1",
        meaning="Kruskal's stress of the map at its best scale",
        low=0,
        high=1,
        better="lower",
        function="stress_1",
        source="distances",
        compared=True,
    ),
    QualityMeasure(
        name="sammon_stress",
        label="Sammon stress",
        meaning="Sammon's stress of the map at its best scale",
        low=0,
        high=1,
        better="lower",
        function="sammon_stress",
        source="distances",
    ),
    QualityMeasure(
        name="spearman",
        label="Spearman correlation",
        meaning="rank correlation of the distances in data and map",
        low=-1,
        high=1,
        better="higher",
        function="spearman",
        source="distances",
        compared=True,
        good_for="straight-line distances",
    ),
    QualityMeasure(
        name="spearman_far",
        label="Spearman correlation, far",
        meaning="the same among the half of the pairs that are farther apart in the data",
        low=-1,
        high=1,
        better="higher",
        function="spearman_far",
        source="distances",
    ),
    QualityMeasure(
        name="distance_correlation",
        label="distance correlation",
        meaning="Székely's distance correlation of data and map",
        low=0,
        high=1,
        better="higher",
        function="distance_correlation",
        source="distances",
    ),
    QualityMeasure(
        name="residual_variance",
        label="residual variance",
        meaning="1 - R² of the distances in data and map",
        low=0,
        high=1,
        better="lower",
        function="residual_variance",
        source="distances",
    ),
    QualityMeasure(
        name="geodesic_correlation",
        label="geodesic correlation",
        meaning="rank correlation of the map's distances with those along the neighbour graph",
        low=-1,
        high=1,
        better="higher",
        function="assess",
        source="geodesics",
        compared=True,
        good_for="distances along the data",
    ),
    QualityMeasure(
        name="knn_accuracy",
        label="k-NN accuracy",
        meaning="share of objects whose class is the commonest of their {k} nearest on the map",
        low=0,
        high=1,
        better="higher",
        function="knn_accuracy",
        source="labels",
        compared=True,
        good_for="the labels",
    ),
    QualityMeasure(
        name="knn_r2",
        label="k-NN R²",
        meaning="share of the labels' variance that the mean of the {k} nearest explains",
        low=float("-inf"),
        high=1,
        better="higher",
        function="knn_r2",
        source="labels",
        compared=True,
        good_for="the labels",
    ),
    QualityMeasure(
        name="silhouette",
        label="silhouette",
        meaning="mean silhouette of the classes on the map",
        low=-1,
        high=1,
        better="higher",
        function="silhouette",
        source="labels",
        compared=True,
    ),
)


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
