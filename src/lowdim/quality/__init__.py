"""Is the picture true? Measures of a map, and how far chance alone explains them."""

from lowdim.quality.dimension import (
    IntrinsicDimension,
    correlation_dimension,
    intrinsic_dimension,
    maximum_likelihood,
    two_nn,
)
from lowdim.quality.estimate import Estimate
from lowdim.quality.labels import LabelQuality, knn_accuracy, silhouette
from lowdim.quality.null import Structure
from lowdim.quality.ranks import (
    Curve,
    PointErrors,
    Ranks,
    Split,
    compare_ranks,
    continuity,
    coranking,
    local_global,
    mean_relative_rank_errors,
    neighborhood_preservation,
    point_errors,
    qnx,
    rnx_auc,
    rnx_curve,
    trustworthiness,
)
from lowdim.quality.report import Report, assess
from lowdim.quality.resampling import Jackknife, Permutations, jackknife, permutation_test
from lowdim.quality.stability import Stability, stability
from lowdim.quality.stress import (
    Distances,
    Shepard,
    compare_distances,
    distance_correlation,
    residual_variance,
    sammon_stress,
    shepard,
    spearman,
    stress_1,
)
from lowdim.quality.suggest import Suggestion, Trial, suggest

__all__ = [
    "Curve",
    "Distances",
    "Estimate",
    "IntrinsicDimension",
    "Jackknife",
    "LabelQuality",
    "Permutations",
    "PointErrors",
    "Ranks",
    "Report",
    "Shepard",
    "Split",
    "Stability",
    "Structure",
    "Suggestion",
    "Trial",
    "assess",
    "compare_distances",
    "compare_ranks",
    "continuity",
    "coranking",
    "correlation_dimension",
    "distance_correlation",
    "intrinsic_dimension",
    "jackknife",
    "knn_accuracy",
    "local_global",
    "maximum_likelihood",
    "mean_relative_rank_errors",
    "neighborhood_preservation",
    "permutation_test",
    "point_errors",
    "qnx",
    "residual_variance",
    "rnx_auc",
    "rnx_curve",
    "sammon_stress",
    "shepard",
    "silhouette",
    "spearman",
    "stability",
    "stress_1",
    "suggest",
    "trustworthiness",
    "two_nn",
]
