"""Rules for the fitted attributes of a model, and the check of a loaded file by those of its class.

A class has rules for its fitted attributes in `_attributes`, and in `_needed` the names of those
that `transform` and `inverse_transform` read; both are those of its bases too. What depends on
parameters is in `_variants` and `_needs`. A rule is called with the name, the value and the sizes
of the model, and raises ValueError.

Shapes are written with the names of sizes: n objects and c coordinates, d features, and what else a
class names. The first array with a name sets its size; "m|n" is m if that is set and n otherwise,
"*" is any size and "..." any shape.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim.checks import PLAIN_TYPES, Array, is_sparse, plain_parameters
from lowdim.distances.metrics import NAN_AWARE
from lowdim.neighbor_graphs.graph import NeighborGraph

Sizes = dict[str, int]
Rule = Callable[[str, Any, Sizes], None]
MAY_OVERFLOW = "may overflow"
"""Key in `Sizes` of a model of extreme data: squared lengths may be infinite in the user's unit.
`transform` reads another model, in a unit of its own."""


@dataclass(frozen=True)
class Numbers:
    """An array or a CSR matrix of numbers."""

    shape: str  # names of sizes, separated by spaces
    kinds: str = "f"  # of NumPy types: "f" for floats, "iu" for integers
    least: float = -np.inf  # smallest entry
    below: str | None = None  # name of the size that every entry is smaller than
    positive: bool = False  # whether entries must be larger than 0
    finite: bool = True  # whether NaN and infinity are errors
    missing: bool = False  # whether NaN, as a missing value, is accepted where infinity is not
    sparse: bool | None = False  # CSR matrices are required (True), accepted (None) or refused
    empty: bool = False  # whether a size that is set by this array may be 0

    def __call__(self, name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) and not is_sparse(value):
            raise ValueError(f"{name} is not an array.")
        if self.sparse is not None and is_sparse(value) is not self.sparse:
            raise ValueError(f"{name} must be {'sparse' if self.sparse else 'dense'}.")
        if self.shape != "..." and not self._fits(value.shape, sizes):
            wanted = ", ".join(self.shape.split())
            raise ValueError(f"{name} has shape {value.shape}; ({wanted}) expected.")
        entries = _csr_entries(name, value) if is_sparse(value) else value
        if entries.dtype.kind not in self.kinds or entries.dtype.itemsize not in (4, 8):
            raise ValueError(f"{name} has the type {entries.dtype}.")
        _check_range(name, entries, self, sizes)

    def _fits(self, shape: tuple[int, ...], sizes: Sizes) -> bool:
        names = self.shape.split()
        if len(names) != len(shape):
            return False
        for size, length in zip(names, shape, strict=True):
            first, _, other = size.partition("|")
            key = other if other and first not in sizes else first
            if key == "*":
                continue
            if key not in sizes and (length or self.empty):
                sizes[key] = length
            if sizes.get(key) != length:
                return False
        return True


def _check_range(name: str, entries: Array, rule: Numbers, sizes: Sizes) -> None:
    if entries.size == 0:
        return
    known = entries[~np.isnan(entries)] if rule.missing else entries
    if known.size == 0:
        raise ValueError(f"{name} contains NaN only.")
    wrong = np.isnan if MAY_OVERFLOW in sizes else _not_finite
    if rule.finite and entries.dtype.kind == "f" and wrong(known).any():
        raise ValueError(f"{name} contains NaN or infinity.")
    smallest = np.fmin.reduce(entries, axis=None)
    if smallest < rule.least or (rule.positive and smallest <= 0):
        raise ValueError(f"{name} contains {smallest}, which is too small.")
    if rule.below is not None and entries.max() >= sizes[rule.below]:
        raise ValueError(f"{name} contains {entries.max()}, but there are {sizes[rule.below]}.")


def _not_finite(values: Any) -> Any:
    return ~np.isfinite(values)


def _csr_entries(name: str, matrix: Any) -> Array:
    """The stored entries of a CSR matrix whose indices are in range."""
    rows, columns = matrix.shape
    Numbers("lists", "i")(f"indptr of {name}", matrix.indptr, {"lists": rows + 1})
    ends, count = matrix.indptr, len(matrix.indices)
    if ends[0] != 0 or ends[-1] != count or (np.diff(ends) < 0).any():
        raise ValueError(f"indptr of {name} does not ascend from 0 to {count}.")
    Numbers("...", "i", 0, "n")(f"indices of {name}", matrix.indices, {"n": columns})
    if matrix.data.shape != matrix.indices.shape:
        raise ValueError(f"{name} has {len(matrix.data)} values at {len(matrix.indices)} places.")
    return np.asarray(matrix.data)


def graph_rule(name: str, value: Any, sizes: Sizes) -> None:
    """A `NeighborGraph` of the model's objects."""
    if not isinstance(value, NeighborGraph) or not isinstance(value.metric, str):
        raise ValueError(f"{name} is not a neighbour graph.")
    if problem := value.problem(finite=MAY_OVERFLOW not in sizes):
        raise ValueError(f"{name}: {problem}")
    if value.indptr is None and 0 in value.indices.shape:
        raise ValueError(f"{name} has indices of shape {value.indices.shape}.")
    Numbers("...")(f"distances of {name}", value.distances, sizes)
    size_of("n")(f"number of objects of {name}", value.n_objects, sizes)
    if value.recall is not None:
        number(0)(f"recall of {name}", value.recall, sizes)


def number(least: float = -np.inf, *, positive: bool = False, finite: bool = True) -> Rule:
    """A real number."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError(f"{name} is not a number.")
        number = float(value)
        wrong = np.isnan if MAY_OVERFLOW in sizes else _not_finite
        if number < least or (positive and number <= 0) or (finite and wrong(number)):
            raise ValueError(f"{name} is {value}.")

    return check


def exponent(name: str, value: Any, sizes: Sizes) -> None:
    """A power of two between the least and the largest float64."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or abs(int(value)) > 2100:
        raise ValueError(f"{name} is {value!r}.")


any_number = number(finite=False)
"""A number for the user, which the model does not read."""


def size_of(size: str) -> Rule:
    """The number that a size of the model is."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        number(0)(name, value, sizes)
        if value != sizes.setdefault(size, value):
            raise ValueError(f"{name} is {value}, but other arrays say {sizes[size]}.")

    return check


def table(rules: dict[str, Rule]) -> Rule:
    """A dictionary with these keys."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, dict) or set(value) != set(rules):
            raise ValueError(f"{name} is not a table of {', '.join(rules)}.")
        for key, item in value.items():
            rules[key](f"{name}[{key!r}]", item, sizes)

    return check


def named_arrays(name: str, value: Any, sizes: Sizes) -> None:
    """A dictionary of names and arrays of finite numbers, such as the weights of a network."""
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{name} is not a table of weights.")
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, np.ndarray):
            raise ValueError(f"{name} holds something else than named arrays.")
        Numbers("...")(f"{name}[{key!r}]", item, sizes)


def document(name: str, value: Any, sizes: Sizes) -> None:
    """A dictionary, whose reader checks its entries."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a table.")


def source(name: str, value: Any, sizes: Sizes) -> None:
    """Where rows that are read in blocks are; see `lowdim.objects.block_sources.reopen_source`."""
    document(name, value, sizes)
    texts = all(isinstance(value.get(key), str) for key in ("kind", "path", "fingerprint"))
    texts &= all(isinstance(value.get(key, ""), str) for key in ("name", "dtype"))
    shape, offset = value.get("shape"), value.get("offset", 0)
    whole = isinstance(shape, list) and len(shape) == 2 and isinstance(offset, int)
    if not texts or not whole or not all(isinstance(size, int) and size > 0 for size in shape):
        raise ValueError(f"{name} does not describe a file of rows.")
    size_of("n")(f"number of rows of {name}", shape[0], sizes)
    size_of("d")(f"number of columns of {name}", shape[1], sizes)


def names_of_columns(name: str, value: Any, sizes: Sizes) -> None:
    """An array of strings."""
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        raise ValueError(f"{name} is not an array of names.")
    size_of("d")(f"number of {name}", len(value), sizes)
    if not all(isinstance(label, str) for label in value):
        raise ValueError(f"{name} holds other things than strings.")


def kinds_of_columns(name: str, value: Any, sizes: Sizes) -> None:
    """For each column of Gower's metric None, or the list of its categories."""
    plain = (str, numbers.Real)
    if not isinstance(value, list):
        raise ValueError(f"{name} does not describe columns.")
    size_of("d")(f"number of {name}", len(value), sizes)
    for kind in value:
        listed = isinstance(kind, list) and all(isinstance(v, plain) for v in kind)
        if kind is not None and not listed:
            raise ValueError(f"{name} holds {kind!r}.")


def check_fitted_state(estimator: Any, state: dict[str, Any]) -> None:
    """Raise ValueError unless `state`, the fitted attributes by name, can be that of the estimator,
    which has its parameters already; it is empty if the estimator was not fitted."""
    if not state:
        return
    _check_parameters(estimator)
    kind, sizes = type(estimator).__name__, Sizes()
    needed = estimator._needs(state)
    if "parts_" in state:
        needed = {"embedding_", "graph_", "part_rows_", *row_attributes(estimator, state)}
    if missing := sorted(needed - set(state)):
        raise ValueError(f"it lacks {', '.join(missing)} of a fitted {kind}.")
    rules = _rules(estimator, state)
    for name in state:
        if name not in (*rules, "parts_", "part_rows_", "_fitted_in_unit"):
            raise ValueError(f"{name} is no attribute of a fitted {kind}.")
    for name, rule in rules.items():
        if name in state:
            rule(name, state[name], sizes)
        if "_fitted_in_unit" in state and name == "X_fit_":
            sizes[MAY_OVERFLOW] = 1  # what follows is only reported
    if "parts_" in state:
        _check_parts(estimator, state, sizes["n"])
    inner = state.get("_fitted_in_unit")
    fitted = type(inner) is type(estimator) and hasattr(inner, "embedding_")
    if fitted != ("_fitted_in_unit" in state) or fitted != ("_fitted_exponent" in state):
        raise ValueError("_fitted_in_unit is not a fitted model of its own kind with a unit.")


def row_attributes(estimator: Any, state: dict[str, Any]) -> set[str]:
    """The attribute with the training objects; none if these were dissimilarities."""
    if not hasattr(estimator, "metric") and not hasattr(estimator, "kernel"):
        return set()
    choices = [getattr(estimator, name, None) for name in ("metric", "kernel", "affinity")]
    if any(isinstance(choice, str) and choice.startswith("precomputed") for choice in choices):
        return set()
    return {"source_" if "source_" in state else "X_fit_"}


def _rules(estimator: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The rules of a class and its bases, as far as they hold for these parameters."""
    rules: dict[str, Any] = {}
    for base in reversed(type(estimator).__mro__):
        rules |= vars(base).get("_attributes", {})
    rules |= estimator._variants(state)
    metric = getattr(estimator, "metric", None)
    if isinstance(metric, str) and metric in NAN_AWARE:
        rules["X_fit_"] = replace(rules["X_fit_"], missing=True)
    if "parts_" in state:
        rules["embedding_"] = replace(rules["embedding_"], missing=True)
    return rules


def _check_parameters(estimator: Any) -> None:
    """Check the types of the parameters whose annotations are made of plain types."""
    kind: Any = type(estimator)
    for name, types in plain_parameters(kind).items():
        value = getattr(estimator, name)
        if not any(isinstance(value, PLAIN_TYPES[one]) for one in types):
            raise ValueError(f"{name} is {value!r}, not of type {' | '.join(types)}.")


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
        Numbers("own", "i", 0, "n")("part_rows_", own, {"own": len(part.embedding_), "n": n})
        if part.embedding_.shape[1] != state["embedding_"].shape[1]:
            raise ValueError("parts_ has models of different dimensions.")
