"""What the fitted attributes of every estimator look like; `persist` checks a file against it.

`ATTRIBUTES` describes each attribute: type, shape, range, finiteness. `NEEDED` lists what
`transform` and `inverse_transform` of a method read. A method that gets a new fitted attribute
declares it here, or its models cannot be loaded.

Shapes are written with the sizes of the model: n objects and c coordinates of `embedding_`, d
features, m landmarks or prototypes (n if there are none); "*" is any size.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.metrics import NAN_AWARE

Sizes = dict[str, int]
Check = Callable[[str, Any, Sizes], None]


@dataclass(frozen=True)
class Numbers:
    """An array or a CSR matrix of numbers.

    Parameters
    ----------
    *shape : str
        Names of sizes.
    kinds : str
        Kinds of NumPy types: "f" for floats, "iu" for integers.
    least, below : float or str
        Smallest entry, and what every entry is smaller than: a number or the name of a size.
    positive : bool
        Whether entries must be larger than 0.
    finite : bool
        Whether NaN and infinity are errors.
    sparse : bool or None
        Whether a CSR matrix is required (True), accepted (None) or refused (False).
    """

    shape: tuple[str, ...]
    kinds: str = "f"
    least: float = -np.inf
    below: str | None = None
    positive: bool = False
    finite: bool = True
    sparse: bool | None = False

    def __call__(self, name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) and not is_sparse(value):
            raise ValueError(f"{name} is not an array.")
        if self.sparse is not None and is_sparse(value) is not self.sparse:
            raise ValueError(f"{name} must be {'sparse' if self.sparse else 'dense'}.")
        wanted = tuple(sizes.get(size, -1) for size in self.shape)
        fits = len(wanted) == value.ndim and all(
            size in (-1, found) for size, found in zip(wanted, value.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"{name} has shape {value.shape}; ({', '.join(self.shape)}) expected.")
        entries = _csr_entries(name, value) if is_sparse(value) else value
        if entries.dtype.kind not in self.kinds or entries.dtype.itemsize not in (4, 8):
            raise ValueError(f"{name} has the type {entries.dtype}.")
        _check_range(name, entries, self, sizes)


def _check_range(name: str, entries: Array, rule: Numbers, sizes: Sizes) -> None:
    if entries.size == 0:
        return
    if rule.finite and entries.dtype.kind == "f" and not np.isfinite(entries).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    smallest = np.nanmin(entries) if entries.dtype.kind == "f" else entries.min()
    if smallest < rule.least or (rule.positive and smallest <= 0):
        raise ValueError(f"{name} contains {smallest}, which is too small.")
    if rule.below is not None and entries.max() >= sizes[rule.below]:
        raise ValueError(f"{name} contains {entries.max()}, but there are {sizes[rule.below]}.")


def _csr_entries(name: str, matrix: Any) -> Array:
    """The stored entries of a CSR matrix whose indices are in range."""
    rows, columns = matrix.shape
    _check_lists(name, matrix.indptr, len(matrix.indices), rows)
    _check_indices(name, matrix.indices, columns)
    if matrix.data.shape != matrix.indices.shape:
        raise ValueError(f"{name} has {len(matrix.data)} values at {len(matrix.indices)} places.")
    return np.asarray(matrix.data)


def _check_lists(name: str, indptr: Array, n_entries: int, n_lists: int) -> None:
    Numbers(("lists",), "i")(f"indptr of {name}", indptr, {"lists": n_lists + 1})
    if indptr[0] != 0 or indptr[-1] != n_entries or (np.diff(indptr) < 0).any():
        raise ValueError(f"indptr of {name} does not ascend from 0 to {n_entries}.")


def _check_indices(name: str, indices: Array, n: int) -> None:
    shape = ("*",) * indices.ndim
    Numbers(shape, "i", 0, "n")(f"indices of {name}", indices, {"n": n})


def graph(name: str, value: Any, sizes: Sizes) -> None:
    """A `NeighborGraph` of the model's objects."""
    if not isinstance(value, NeighborGraph):
        raise ValueError(f"{name} is not a neighbour graph.")
    if not isinstance(value.indices, np.ndarray) or not isinstance(value.metric, str):
        raise ValueError(f"{name} is damaged.")
    lengths = Numbers(("*",) * value.indices.ndim, least=0)
    lengths(f"distances of {name}", value.distances, sizes)
    if value.distances.shape != value.indices.shape:
        raise ValueError(f"{name} has distances of another shape than its indices.")
    if value.indptr is not None:
        _check_lists(name, value.indptr, len(value.indices), sizes["n"])
    elif value.indices.ndim != 2 or 0 in value.indices.shape:
        raise ValueError(f"{name} has indices of shape {value.indices.shape}.")
    if value.n_objects != sizes["n"]:
        raise ValueError(f"{name} has {value.n_objects} objects, but the model has {sizes['n']}.")
    _check_indices(name, value.indices, sizes["n"])
    if (value.bridges is None) is not (value.bridge_lengths is None):
        raise ValueError(f"{name} has bridges without lengths, or lengths without bridges.")
    if value.bridges is not None:
        own = {**sizes, "bridges": len(value.bridges), "2": 2}
        Numbers(("bridges", "2"), "i", 0, "n")(f"bridges of {name}", value.bridges, own)
        Numbers(("bridges",), least=0)(f"bridge lengths of {name}", value.bridge_lengths, own)
    if value.recall is not None:
        number(0)(f"recall of {name}", value.recall, sizes)


def number(least: float = -np.inf, *, positive: bool = False, finite: bool = True) -> Check:
    """A real number."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError(f"{name} is not a number.")
        wrong = value < least or (positive and value <= 0) or (finite and not np.isfinite(value))
        if wrong:
            raise ValueError(f"{name} is {value}.")

    return check


def size_of(size: str) -> Check:
    """The number that a size of the model is."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        number(1)(name, value, sizes)
        if size in sizes and value != sizes[size]:
            raise ValueError(f"{name} is {value}, but other arrays say {sizes[size]}.")

    return check


def kinds_of_columns(name: str, value: Any, sizes: Sizes) -> None:
    """For each column of Gower's metric None, or the list of its categories."""
    plain = (str, numbers.Real)
    if not isinstance(value, list) or len(value) != sizes["d"]:
        raise ValueError(f"{name} does not describe {sizes['d']} columns.")
    for kind in value:
        listed = isinstance(kind, list) and all(isinstance(v, plain) for v in kind)
        if kind is not None and not listed:
            raise ValueError(f"{name} holds {kind!r}.")


def names_of_columns(name: str, value: Any, sizes: Sizes) -> None:
    """An array of strings."""
    if not isinstance(value, np.ndarray) or value.shape != (sizes["d"],):
        raise ValueError(f"{name} does not name {sizes['d']} columns.")
    if not all(isinstance(label, str) for label in value):
        raise ValueError(f"{name} holds other things than strings.")


def table(rules: dict[str, Check]) -> Check:
    """A dictionary with some of these keys."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, dict) or not set(value) <= set(rules):
            raise ValueError(f"{name} is not a table of {', '.join(rules)}.")
        for key, item in value.items():
            rules[key](f"{name}[{key!r}]", item, sizes)

    return check


def curve(name: str, value: Any, sizes: Sizes) -> None:
    """A piecewise linear function: ascending abscissae and their values."""
    Numbers(("2", "*"), least=0)(name, value, {**sizes, "2": 2})
    if value.shape[1] == 0 or (np.diff(value[0]) < 0).any():
        raise ValueError(f"{name} does not ascend.")


_report = number(finite=False)  # told to the user, not used again
_count = number(0)
_history = Numbers(("*",), finite=False)
_square = Numbers(("n", "n"), least=0, finite=False, sparse=None)  # NaN: an unknown pair

ATTRIBUTES: dict[str, Check] = {
    "X_fit_": Numbers(("n", "d"), sparse=None),
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
    "affinity_matrix_": Numbers(("n", "n"), least=0, sparse=True),
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
    "_fitted_kernel_state": table(
        {
            "geodesics": Numbers(("n", "n"), least=0),
            "vectors": Numbers(("n", "d"), sparse=None),
            "laplacian": Numbers(("n", "n"), sparse=True),
            "t": number(0),
        }
    ),
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
    "scales_": Numbers(("subjects",)),
    "vaf_": Numbers(("subjects",), finite=False),
    # UMAP
    "UMAP.graph_": Numbers(("n", "n"), least=0, sparse=True),
    "rho_": Numbers(("n",), least=0),
    "sigma_": Numbers(("n",), least=0),
    "reach_": Numbers(("n",), least=0),
    "rad_orig_": Numbers(("n",)),
    "rad_emb_": Numbers(("n",)),
    "a_": number(positive=True),
    "b_": number(positive=True),
}

_PROJECTION = {"eigenvalues_", "eigenvectors_", "mean_squares_"}
NEEDED: dict[str, list[set[str]]] = {
    "PCA": [{"mean_", "components_", "explained_variance_"}],
    "ClassicalMDS": [{"mean_", "components_"}, {*_PROJECTION, "_fitted_distances"}],
    "KernelPCA": [{"eigenvalues_", "eigenvectors_", "kernel_means_", "kernel_mean_"}],
    "Isomap": [{"graph_", "dist_matrix_", *_PROJECTION}],
    "LocallyLinearEmbedding": [{"graph_"}],
    "LaplacianEigenmaps": [{"graph_", "affinity_matrix_", "degrees_", "eigenvalues_", "t_"}],
    "SpectralClustering": [{"affinity_matrix_", "degrees_", "eigenvalues_", "cluster_centers_"}],
    "DiffusionMap": [{"graph_", "affinity_matrix_", "density_", "eigenvalues_", "t_"}],
    "MaximumVarianceUnfolding": [{"graph_"}],
    "CurvilinearDistanceAnalysis": [{"graph_", "dist_matrix_"}],
    "Sammon": [{"_fitted_unit"}],
    "MultiscaleSNE": [{"_fitted_unit", "_fitted_largest", "perplexities_", "precisions_"}],
    "NeRV": [{"_fitted_unit", "_fitted_largest"}],
    "UMAP": [{"graph_", "rho_", "sigma_", "reach_", "a_", "b_"}],
    "INDSCAL": [{"weights_", "scales_"}],
}
"""Attributes that a fitted model must have beside `embedding_`; one of the sets is enough."""


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
    kind = type(estimator).__name__
    parts = "parts_" in state
    needed = {"embedding_"} | ({"graph_", "part_rows_"} if parts else set())
    options = NEEDED.get(kind, [set()])
    if not parts and not any(option <= set(state) for option in options):
        needed |= options[-1]
    metric = getattr(estimator, "metric", "precomputed")
    needed |= set() if isinstance(metric, str) and metric == "precomputed" else {"X_fit_"}
    if getattr(estimator, "affinity", "") == "precomputed":
        needed -= {"X_fit_"}
    if missing := sorted(needed - set(state)):
        raise ValueError(f"it lacks {', '.join(missing)} of a fitted {kind}.")
    sizes = _sizes(state)
    for name, value in state.items():
        if name in ("parts_", "part_rows_"):
            continue
        rule = ATTRIBUTES.get(f"{kind}.{name}") or ATTRIBUTES.get(name)
        if rule is None:
            raise ValueError(f"{name} is no attribute of a fitted {kind}.")
        _relaxed(rule, name, estimator, state)(name, value, sizes)
    if parts:
        _check_parts(estimator, state, sizes["n"])


def _relaxed(rule: Any, name: str, estimator: Any, state: dict[str, Any]) -> Check:
    """The rule, without its demand of finite numbers where the model may hold others."""
    metric = getattr(estimator, "metric", None)
    missing = name == "X_fit_" and isinstance(metric, str) and metric in NAN_AWARE
    left_out = name == "embedding_" and "parts_" in state
    if name == "t_" and "graph_" not in state:  # of a given affinity matrix
        return _report
    if missing or left_out:
        return Numbers(rule.shape, rule.kinds, finite=False, sparse=rule.sparse)
    return rule  # type: ignore[no-any-return]


def _sizes(state: dict[str, Any]) -> Sizes:
    """The sizes of a model, from the arrays that define them."""

    def shape(name: str, dimensions: int) -> tuple[int, ...]:
        found = getattr(state[name], "shape", ())
        if len(found) != dimensions or 0 in found:
            raise ValueError(f"{name} has shape {found}; {dimensions} dimensions are expected.")
        return tuple(found)

    sizes = dict(zip("nc", shape("embedding_", 2), strict=True))
    chosen = next((name for name in ("landmarks_", "prototypes_") if name in state), None)
    sizes["m"] = sizes["n"] if chosen is None else shape(chosen, 1)[0]
    if "X_fit_" in state:
        sizes["d"] = shape("X_fit_", 2)[1]
    elif "components_" in state:
        sizes["d"] = shape("components_", 2)[1]
    for name, size, dimensions in (
        ("cluster_centers_", "clusters", 2),
        ("perplexities_", "scales", 1),
        ("weights_", "subjects", 2),
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
