"""What the fitted attributes of every estimator look like; `persist` checks a file against it.

`ATTRIBUTES` describes each attribute: type, shape, range, finiteness. `NEEDED` lists what
`transform` and `inverse_transform` of a method read. A method that gets a new fitted attribute
declares it here, or its models cannot be loaded.

Shapes are written with the sizes of the model: n objects and c coordinates of `embedding_`, d
features, m landmarks or prototypes (n if there are none); "*" is any size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowdim.distances.metrics import NAN_AWARE
from lowdim.estimator.state_rules import (
    MAY_OVERFLOW,
    Check,
    Numbers,
    Sizes,
    curve,
    decoder,
    document,
    graph,
    kinds_of_columns,
    labels,
    names_of_columns,
    number,
    numbers_of,
    parameters,
    shape_of_grid,
    size_of,
    source,
    table,
    weights,
)

_report = number(finite=False)  # reported to the user, not used by the model
_count = number(0)
_history = Numbers(("*",), finite=False)
_square = Numbers(("n", "n"), least=0, finite=False, sparse=None)  # NaN: an unknown pair
_laplacian = table({"laplacian": Numbers(("n", "n"), sparse=True), "t": number(0)})

ATTRIBUTES: dict[str, Check] = {
    "X_fit_": Numbers(("n", "d"), sparse=None),
    "source_": source,
    "embedding_": Numbers(("n", "c")),
    "n_features_in_": size_of("d"),
    "feature_names_in_": names_of_columns,
    "gower_kinds_": kinds_of_columns,
    "graph_": graph,
    "landmarks_": Numbers(("m",), "iu", 0, "n"),
    "prototypes_": Numbers(("m",), "iu", 0, "n"),
    # eigenvectors
    "eigenvalues_": Numbers(("c",)),
    "eigenvectors_": Numbers(("m", "c")),
    "mean_squares_": Numbers(("m",)),
    "negative_share_": _report,
    "reconstruction_error_": _report,
    "dist_matrix_": Numbers(("m", "n"), least=0),
    "_fitted_distances": Numbers(("m", "m"), least=0),
    "correction_constant_": number(0),
    "MaximumVarianceUnfolding.eigenvalues_": Numbers(("*",), finite=False),
    "kernel_": Numbers(("n", "n"), finite=False),
    "duality_gap_": _report,
    "length_error_": _report,
    "affinity_matrix_": Numbers(("n", "n"), least=0, sparse=None),
    "degrees_": Numbers(("n",), positive=True),
    "density_": Numbers(("n",), positive=True),
    "t_": number(0),
    "labels_": Numbers(("n",), "iu", 0, "clusters"),
    "cluster_centers_": Numbers(("clusters", "c")),
    # linear maps and kernels
    "mean_": Numbers(("d",)),
    "components_": Numbers(("c", "d")),
    "n_components_": size_of("c"),
    "n_samples_": size_of("n"),
    "explained_variance_": Numbers(("c",)),
    "explained_variance_ratio_": Numbers(("c",), finite=False),
    "singular_values_": Numbers(("c",)),
    "noise_variance_": _report,
    "kernel_means_": Numbers(("n",)),
    "kernel_mean_": number(),
    "gamma_": number(),
    "dual_coef_": Numbers(("n", "d")),
    "isomap._fitted_kernel_state": table({"geodesics": Numbers(("n", "n"), least=0)}),
    "lle._fitted_kernel_state": table({"vectors": Numbers(("n", "d"), sparse=None)}),
    "diffusion._fitted_kernel_state": _laplacian,
    "commute_time._fitted_kernel_state": _laplacian,
    # stress and divergences
    "history_": _history,
    "n_iter_": _count,
    **dict.fromkeys(
        ("stress_", "error_", "loss_", "kl_divergence_", "missed_", "false_", "learning_rate_"),
        _report,
    ),
    "stresses_": table(dict.fromkeys(("raw", "stress-1", "normalized"), _report)),
    "disparities_": _square,
    "dissimilarity_matrix_": _square,
    "transformation_": curve,
    "smallest_": number(positive=True),
    "_fitted_unit": number(positive=True),
    "_fitted_largest": number(positive=True),
    "perplexities_": Numbers(("scales",), positive=True),
    "precisions_": Numbers(("scales",), positive=True),
    "intrinsic_dim_": _report,
    "affinities_": Numbers(("n", "n"), least=0, sparse=True),
    "importance_": Numbers(("n",), least=0),
    **{f"{name}.history_": Numbers(("*", "*"), finite=False) for name in ("SNE", "SymmetricSNE")},
    **{f"{name}.history_": Numbers(("*", "*"), finite=False) for name in ("TSNE", "WeightedTSNE")},
    "weights_": Numbers(("subjects", "c")),
    "idioscal.weights_": Numbers(("subjects", "c", "c")),
    "scales_": Numbers(("subjects",)),
    "vaf_": Numbers(("subjects",), finite=False),
    # UMAP
    "UMAP.graph_": Numbers(("distinct", "distinct"), least=0, sparse=True),
    "unique_rows_": Numbers(("distinct",), "iu", 0, "n"),
    "rho_": Numbers(("distinct",), least=0),
    "sigma_": Numbers(("distinct",), least=0),
    "reach_": Numbers(("distinct",), least=0),
    "rad_orig_": Numbers(("*",), missing=True),
    "rad_emb_": Numbers(("*",), missing=True),
    "a_": number(positive=True),
    "b_": number(positive=True),
    # self-organizing maps
    "shape_": shape_of_grid,
    "grid_": Numbers(("units", "c")),
    "codebook_": Numbers(("units", "d")),
    "coefficients_": Numbers(("units", "n")),
    "medoids_": Numbers(("units",), "iu", 0, "n"),
    "units_": Numbers(("n",), "iu", 0, "units"),
    "hits_": Numbers(("units",), "iu", 0),
    "u_matrix_": Numbers(("*", "*"), finite=False),
    **dict.fromkeys(("quantization_error_", "topographic_error_"), _report),
    "_fitted_gaps": Numbers(("*",), finite=False),
    "_fitted_sums": Numbers(("units", "*")),
    "_fitted_counts": Numbers(("units", "*"), least=0),
    "_fitted_halves": Numbers(("units",)),
    "_fitted_scale": number(positive=True),
    # learned metrics
    "classes_": labels,
    "bounds_": numbers_of(2),
    "metric_": Numbers(("d", "d")),
    # networks
    "network_": weights,
    "n_places_": size_of("places"),
    "scale_": number(positive=True),
    "Autoencoder.history_": Numbers(("*", "*"), finite=False),
    "decoder_": decoder,
    # of any method
    "n_starts_": _count,
    "_fitted_exponent": number(),
    "_fitted_neighbors": graph,
    "_fitted_rotation": Numbers(("c", "c")),
    "drift_": Numbers(("*",), least=0, missing=True),
    "drift_score_": number(0),
    "preparation_": document,  # how the command line made X from a table
}

_GRAPH_STATE = {"graph_", "rho_", "sigma_", "reach_"}
_PROJECTION = {"eigenvalues_", "eigenvectors_", "mean_squares_"}
NEEDED: dict[str, list[set[str]]] = {
    "PCA": [{"mean_", "components_", "explained_variance_"}],
    "ClassicalMDS": [
        {"mean_", "components_"},
        {*_PROJECTION, "_fitted_distances", "correction_constant_"},
    ],
    "KernelPCA": [{"eigenvalues_", "eigenvectors_", "kernel_means_", "kernel_mean_", "gamma_"}],
    "Isomap": [{"graph_", "dist_matrix_", *_PROJECTION}],
    "LocallyLinearEmbedding": [{"graph_"}],
    "LaplacianEigenmaps": [{"affinity_matrix_", "degrees_", "eigenvalues_", "t_"}],
    "SpectralClustering": [{"affinity_matrix_", "degrees_", "eigenvalues_", "cluster_centers_"}],
    "nearest_neighbors": [{"graph_", "t_"}],
    "isomap": [{"graph_", "_fitted_kernel_state"}],
    "lle": [{"graph_", "_fitted_kernel_state"}],
    "diffusion": [{"graph_", "_fitted_kernel_state"}],
    "commute_time": [{"graph_", "_fitted_kernel_state"}],
    "DiffusionMap": [{"graph_", "affinity_matrix_", "density_", "eigenvalues_", "t_"}],
    "MaximumVarianceUnfolding": [{"graph_"}],
    "CurvilinearDistanceAnalysis": [{"graph_", "dist_matrix_"}],
    "Sammon": [{"_fitted_unit"}],
    "MultiscaleSNE": [{"_fitted_unit", "_fitted_largest", "perplexities_", "precisions_"}],
    "NeRV": [{"_fitted_unit", "_fitted_largest"}],
    "UMAP": [{"graph_", "rho_", "sigma_", "reach_", "a_", "b_"}],
    "INDSCAL": [{"weights_", "scales_"}],
    "SelfOrganizingMap": [
        {"grid_", "shape_", "_fitted_gaps", "codebook_", "_fitted_sums", "_fitted_counts"},
        {"grid_", "shape_", "_fitted_gaps", "coefficients_", "_fitted_scale", "_fitted_halves"},
    ],
    **{
        name: [{"mean_", "components_", "metric_"}]
        for name in (
            "NeighborhoodComponentsAnalysis",
            "LargeMarginNearestNeighbor",
            "InformationTheoreticMetricLearning",
        )
    },
    "Autoencoder": [{"network_", "mean_", "scale_"}],
    "ParametricTSNE": [{"network_", "mean_", "scale_", "n_places_"}],
    "ParametricUMAP": [{"network_", "mean_", "scale_", "n_places_"}],
}
"""Attributes that a fitted model must have beside `embedding_`, by method, kernel or affinity; one
of the sets is enough."""


def check_fitted_state(estimator: Any, state: dict[str, Any]) -> None:
    """Raise ValueError unless `state` can be the fitted state of the estimator.

    Parameters
    ----------
    estimator : estimator
        Has its parameters, but no fitted attributes yet.
    state : dict
        Values of the fitted attributes, by name; empty if the estimator was not fitted.
    """
    if not state:
        return
    parameters(estimator)
    kind = type(estimator).__name__
    if missing := sorted(_needed(estimator, state) - set(state)):
        raise ValueError(f"it lacks {', '.join(missing)} of a fitted {kind}.")
    sizes = _sizes(state, least=0 if kind in ("PCA", "KernelPCA") else 1)
    for name, value in state.items():
        if name in ("parts_", "part_rows_", "_fitted_in_unit"):
            continue
        variants = (kind, *(getattr(estimator, one, None) for one in ("kernel", "constraint")))
        keys = (*(f"{variant}.{name}" for variant in variants), name)
        rule = next((ATTRIBUTES[key] for key in keys if key in ATTRIBUTES), None)
        if rule is None:
            raise ValueError(f"{name} is no attribute of a fitted {kind}.")
        reported = "_fitted_in_unit" in state and name not in ("X_fit_", "embedding_")
        own_sizes = {**sizes, MAY_OVERFLOW: 1} if reported else sizes
        _relaxed(rule, name, estimator, state)(name, value, own_sizes)
    if "parts_" in state:
        _check_parts(estimator, state, sizes["n"])
    inner = state.get("_fitted_in_unit", estimator)
    if type(inner) is not type(estimator) or ("_fitted_in_unit" in state) != (
        "_fitted_exponent" in state
    ):
        raise ValueError("_fitted_in_unit is not a model of its own kind with a unit.")


def _needed(estimator: Any, state: dict[str, Any]) -> set[str]:
    """The attributes that the estimator must have."""
    given = [getattr(estimator, name, None) for name in ("metric", "kernel", "affinity")]
    measured = not any(isinstance(choice, str) and choice == "precomputed" for choice in given)
    keeps_rows = measured and (hasattr(estimator, "metric") or hasattr(estimator, "kernel"))
    keeps_rows = keeps_rows and "_fitted_sums" not in state
    kept = "source_" if "source_" in state else "X_fit_"
    needed = {"embedding_"} | ({kept} if keeps_rows else set())
    if getattr(estimator, "transform_mode", None) == "graph":  # of UMAP: no layout was made
        return needed - {"embedding_"} | _GRAPH_STATE
    if "parts_" in state:
        return needed | {"graph_", "part_rows_"}
    if "coefficients_" in state and keeps_rows and given[0] not in NAN_AWARE:  # has vectors
        needed.add("codebook_")
    for key in (type(estimator).__name__, *given[1:]):
        options = NEEDED.get(key, [set()]) if isinstance(key, str) else [set()]
        needed |= next((some for some in options if some <= set(state)), options[0])
    return needed


def _relaxed(rule: Any, name: str, estimator: Any, state: dict[str, Any]) -> Any:
    """The rule, without its demand of finite numbers where the model may hold others."""
    metric = getattr(estimator, "metric", None)
    missing = name == "X_fit_" and isinstance(metric, str) and metric in NAN_AWARE
    left_out = name == "embedding_" and (estimator._leaves_out or "parts_" in state)
    if name == "t_" and "graph_" not in state:  # of a given affinity matrix
        return _report
    return replace(rule, missing=True) if missing or left_out else rule


def _sizes(state: dict[str, Any], least: int) -> Sizes:
    """The sizes of a model, from the arrays that define them; `least` coordinates and more."""

    def shape(name: str, dimensions: int) -> tuple[int, ...]:
        found = getattr(state[name], "shape", ())
        others = {"embedding_": found[:1], "components_": found[1:]}.get(name, found)
        if len(found) != dimensions or 0 in others or (least and 0 in found):
            raise ValueError(f"{name} has shape {found}; {dimensions} dimensions are expected.")
        return tuple(found)

    if "embedding_" in state:
        sizes = dict(zip("nc", shape("embedding_", 2), strict=True))
    else:  # a graph of UMAP without a layout
        sizes = {"n": shape("rho_", 1)[0]}
    chosen = next((name for name in ("landmarks_", "prototypes_") if name in state), None)
    sizes["m"] = sizes["n"] if chosen is None else shape(chosen, 1)[0]
    if "X_fit_" in state:
        sizes["d"] = shape("X_fit_", 2)[1]
    elif "source_" in state:
        source("source_", state["source_"], sizes)
        sizes["d"] = state["source_"]["shape"][1]
    elif "components_" in state:
        sizes["d"] = shape("components_", 2)[1]
    elif "codebook_" in state:
        sizes["d"] = shape("codebook_", 2)[1]
    elif "network_" in state and "mean_" in state:
        sizes["d"] = shape("mean_", 1)[0]
    if isinstance(state.get("network_"), dict):
        sizes["places"] = (*np.shape(state["network_"].get("encoder.places", ())), 0)[0]
    sizes["distinct"] = sizes["n"]
    for name, size, dimensions in (
        ("cluster_centers_", "clusters", 2),
        ("grid_", "units", 2),
        ("unique_rows_", "distinct", 1),
        ("perplexities_", "scales", 1),
        ("scales_", "subjects", 1),
    ):
        if name in state:
            sizes[size] = shape(name, dimensions)[0]
    return sizes


def _check_parts(estimator: Any, state: dict[str, Any], n: int) -> None:
    """The models of the components of a disconnected graph, and the objects of each."""
    parts, rows = state["parts_"], state["part_rows_"]
    if not isinstance(parts, list) or not isinstance(rows, list) or not parts:
        raise ValueError("parts_ is not a list of models.")
    if len(parts) != len(rows):
        raise ValueError(f"parts_ has {len(parts)} models for {len(rows)} lists of objects.")
    for part, own in zip(parts, rows, strict=True):
        if type(part) is not type(estimator) or "embedding_" not in vars(part):
            raise ValueError("parts_ holds something else than models of its own kind.")
        Numbers(("own",), "i", 0, "n")("part_rows_", own, {"own": len(part.embedding_), "n": n})
        if part.embedding_.shape[1] != state["embedding_"].shape[1]:
            raise ValueError("parts_ has models of different dimensions.")
