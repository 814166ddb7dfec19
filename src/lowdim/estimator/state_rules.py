"""Rules for the fitted attributes of estimators: a rule raises ValueError if a value breaks it.

Shapes are written with the names of sizes, whose values come from the model that is checked; "*"
is any size.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.checks import PLAIN_TYPES, Array, is_sparse, plain_parameters
from lowdim.neighbor_graphs.graph import NeighborGraph

Sizes = dict[str, int]
MAY_OVERFLOW = "may overflow"
"""Key in `Sizes` of a model of extreme data: squared lengths may be infinite in the user's unit.
`transform` reads another model, in a unit of its own."""

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
    missing : bool
        Whether NaN, as a missing value, is accepted where infinity is not.
    sparse : bool or None
        Whether a CSR matrix is required (True), accepted (None) or refused (False).
    """

    shape: tuple[str, ...]
    kinds: str = "f"
    least: float = -np.inf
    below: str | None = None
    positive: bool = False
    finite: bool = True
    missing: bool = False
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
        found = float(value)
        wrong = np.isnan if MAY_OVERFLOW in sizes else _not_finite
        if found < least or (positive and found <= 0) or (finite and wrong(found)):
            raise ValueError(f"{name} is {value}.")

    return check


def size_of(size: str) -> Check:
    """The number that a size of the model is."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        number(0)(name, value, sizes)
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


def labels(name: str, value: Any, sizes: Sizes) -> None:
    """Classes: a list or an array of strings or of integers."""
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        raise ValueError(f"{name} is not an array of labels.")
    if value.dtype.kind not in "iubU" and not all(isinstance(label, str) for label in value):
        raise ValueError(f"{name} holds other things than integers and strings.")


def document(name: str, value: Any, sizes: Sizes) -> None:
    """A dictionary, whose reader checks its entries."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a table.")


def source(name: str, value: Any, sizes: Sizes) -> None:
    """Where rows that are read in blocks are; see `lowdim.objects.block_sources.reopened`."""
    document(name, value, sizes)
    texts = all(isinstance(value.get(key), str) for key in ("kind", "path", "fingerprint"))
    texts &= all(isinstance(value.get(key, ""), str) for key in ("name", "dtype"))
    shape, offset = value.get("shape"), value.get("offset", 0)
    whole = isinstance(shape, list) and len(shape) == 2 and isinstance(offset, int)
    if not texts or not whole or not all(isinstance(size, int) and size > 0 for size in shape):
        raise ValueError(f"{name} does not describe a file of rows.")
    if shape[0] != sizes["n"]:
        raise ValueError(f"{name} has {shape[0]} rows, but the model has {sizes['n']} objects.")


def numbers_of(count: int) -> Check:
    """A tuple of so many finite numbers."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, tuple) or len(value) != count:
            raise ValueError(f"{name} is not a tuple of {count} numbers.")
        for item in value:
            number()(name, item, sizes)

    return check


def shape_of_grid(name: str, value: Any, sizes: Sizes) -> None:
    """Numbers of rows and columns of the units of a grid."""
    whole = isinstance(value, tuple) and all(isinstance(item, int) for item in value)
    units = sizes.get("units", 0)
    if not whole or len(value) != 2 or min(value) < 1 or value[0] * value[1] != units:
        raise ValueError(f"{name} is not the shape of a grid of {units} units.")


def weights(name: str, value: Any, sizes: Sizes) -> None:
    """Weights of a network: a dictionary of names and arrays of finite numbers."""
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{name} is not a table of weights.")
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, np.ndarray):
            raise ValueError(f"{name} holds something else than named arrays.")
        Numbers(("*",) * item.ndim)(f"{name}[{key!r}]", item, sizes)


def decoder(name: str, value: Any, sizes: Sizes) -> None:
    """The general decoder: its kind, and the arrays and numbers of that kind."""
    if not isinstance(value, dict) or value.get("kind") not in DECODERS:
        raise ValueError(f"{name} is not a decoder.")
    rules = DECODERS[value["kind"]]
    given = {key: item for key, item in value.items() if key not in ("kind", "errors")}
    table(rules)(name, given, {**sizes, "m": -1})


def table(rules: dict[str, Check]) -> Check:
    """A dictionary with these keys."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, dict) or set(value) != set(rules):
            raise ValueError(f"{name} is not a table of {', '.join(rules)}.")
        for key, item in value.items():
            rules[key](f"{name}[{key!r}]", item, sizes)

    return check


def curve(name: str, value: Any, sizes: Sizes) -> None:
    """A piecewise linear function: ascending abscissae and their values."""
    Numbers(("2", "*"), least=0)(name, value, {**sizes, "2": 2})
    if value.shape[1] == 0 or (np.diff(value[0]) < 0).any():
        raise ValueError(f"{name} does not ascend.")


DECODERS: dict[str, dict[str, Check]] = {
    "local": {},
    "kernel": {
        "centers": Numbers(("*", "c")),
        "coefficients": Numbers(("*", "d")),
        "mean": Numbers(("d",)),
        "gamma": number(positive=True),
    },
    "network": {
        "weights": weights,
        "center": Numbers(("c",)),
        "unit": number(positive=True),
        "mean": Numbers(("d",)),
        "scale": number(positive=True),
    },
}
"""What each kind of decoder holds; see `lowdim.estimator.decoders`."""


def parameters(estimator: Any) -> None:
    """Check the types of the parameters whose annotations are made of plain types."""
    for name, types in plain_parameters(type(estimator)).items():
        value = getattr(estimator, name)
        if not any(isinstance(value, PLAIN_TYPES[one]) for one in types):
            raise ValueError(f"{name} is {value!r}, not of type {' | '.join(types)}.")
