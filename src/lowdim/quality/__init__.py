"""Measures of how faithful a map is, and of how much of it chance explains."""

from lowdim.quality.assess import assess
from lowdim.quality.assessment import Assessment
from lowdim.quality.compare import Comparison, compare
from lowdim.quality.dimension import (
    IntrinsicDimension,
    correlation_dimension,
    intrinsic_dimension,
    maximum_likelihood,
    two_nn,
)
from lowdim.quality.interval import IntervalEstimate
from lowdim.quality.labels import (
    LabelQuality,
    class_aware_continuity,
    class_aware_trustworthiness,
    knn_accuracy,
    knn_r2,
    silhouette,
)
from lowdim.quality.measures import MEASURES, QualityMeasure, find_measure
from lowdim.quality.rank_measures import (
    continuity,
    density_correlation,
    local_continuity,
    local_global,
    mean_relative_rank_errors,
    neighborhood_preservation,
    point_errors,
    qnx,
    rnx_auc,
    rnx_curve,
    topographic_product,
    trustworthiness,
)
from lowdim.quality.ranks import Curve, PointErrors, Ranks, Split, compare_ranks, coranking
from lowdim.quality.reliability import Reliability, reliability
from lowdim.quality.resampling import Jackknife, Permutations, jackknife, permutation_test
from lowdim.quality.stability import Stability, stability
from lowdim.quality.stress import (
    Distances,
    ShepardDiagram,
    compare_distances,
    distance_correlation,
    residual_variance,
    sammon_stress,
    shepard,
    spearman,
    spearman_far,
    stress_1,
)
from lowdim.quality.structure import Structure, StructureTest
from lowdim.quality.suggest import Candidate, Suggestion, suggest
from lowdim.quality.suspects import Suspects, suspects

__all__ = [
    "MEASURES",
    "Assessment",
    "Candidate",
    "Comparison",
    "Curve",
    "Distances",
    "IntervalEstimate",
    "IntrinsicDimension",
    "Jackknife",
    "LabelQuality",
    "Permutations",
    "PointErrors",
    "QualityMeasure",
    "Ranks",
    "Reliability",
    "ShepardDiagram",
    "Split",
    "Stability",
    "Structure",
    "StructureTest",
    "Suggestion",
    "Suspects",
    "assess",
    "class_aware_continuity",
    "class_aware_trustworthiness",
    "compare",
    "compare_distances",
    "compare_ranks",
    "continuity",
    "coranking",
    "correlation_dimension",
    "density_correlation",
    "distance_correlation",
    "find_measure",
    "intrinsic_dimension",
    "jackknife",
    "knn_accuracy",
    "knn_r2",
    "local_continuity",
    "local_global",
    "maximum_likelihood",
    "mean_relative_rank_errors",
    "neighborhood_preservation",
    "permutation_test",
    "point_errors",
    "qnx",
    "reliability",
    "residual_variance",
    "rnx_auc",
    "rnx_curve",
    "sammon_stress",
    "shepard",
    "silhouette",
    "spearman",
    "spearman_far",
    "stability",
    "stress_1",
    "suggest",
    "suspects",
    "topographic_product",
    "trustworthiness",
    "two_nn",
]
