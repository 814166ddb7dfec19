"""Checks of arguments. Error messages name the argument, the value found and what to do."""

from __future__ import annotations

import functools
import inspect
import math
import mmap
import numbers
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.messages import argument

Array = NDArray[Any]

_EXACT_IN_FLOAT32 = ("b1", "i1", "u1", "i2", "u2", "f2")  # NumPy type codes


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return hasattr(X, "tocsr")


def dense(X: Any) -> Array:
    """X as an array, whether it is sparse or not."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def as_columns(values: Any, dtype: Any = None) -> Array:
    """An array of rows and columns; a vector is one column."""
    rows: Array = np.asarray(values, dtype)
    return rows[:, None] if rows.ndim == 1 else rows


def stack_rows(rows: Any, more: Any) -> Any:
    """The rows of two tables, in the form of the first: dense or CSR."""
    if not is_sparse(rows):
        return np.concatenate([rows, dense(more)])
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([rows, csr_array(more)], format="csr", dtype=rows.dtype))


def as_frame(X: Any) -> Any:
    """A Polars LazyFrame collected, AnnData's `X` as a DataFrame; all else as it is."""
    if callable(getattr(X, "collect_schema", None)) and hasattr(X, "collect"):
        return X.collect()
    if not all(hasattr(X, name) for name in ("X", "obs_names", "var_names")):
        return X
    import pandas

    matrix = X.X.to_memory() if hasattr(X.X, "to_memory") else X.X  # of a file that is open
    if is_sparse(matrix):
        return pandas.DataFrame.sparse.from_spmatrix(matrix, X.obs_names, X.var_names)
    return pandas.DataFrame(np.asarray(matrix), X.obs_names, X.var_names)


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """float32 for float32 and for smaller types that it represents exactly, else float64."""
    dtype = np.dtype(dtype).newbyteorder("=")
    small = dtype == np.float32 or dtype.str[1:] in _EXACT_IN_FLOAT32
    return np.dtype(np.float32 if small else np.float64)


def float_kind(rows: Any) -> np.dtype[Any]:
    """The dtype of distances between rows: that of the rows if they are floats, else float64."""
    return rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)


def _name_argument(X: Any, argument: str, cause: Exception) -> Exception:
    """The error of `check_array` for X, with the argument and what in it is not a number."""
    advice = "which is not a number. Leave the column out, or encode it as numbers."
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for name in X.columns:
            if text := _first_text(np.asarray(X[name])):
                return ValueError(f"{argument}: column {name!r} holds {text[1]!r}, {advice}")
    elif not is_sparse(X):
        rows = X if isinstance(X, list | tuple) else ()
        lengths = [len(row) if isinstance(row, list | tuple) else np.size(row) for row in rows]
        for i, length in enumerate(lengths):
            if length != lengths[0]:
                return ValueError(
                    f"{argument}: rows must have the same length, but row 0 has {lengths[0]} "
                    f"entries and row {i} has {length}."
                )
        if text := _first_text(np.asarray(X, dtype=object)):
            place = ", ".join(map(str, text[0]))
            return ValueError(f"{argument} holds {text[1]!r} at [{place}], {advice}")
    if argument in str(cause):
        return cause
    return (ValueError if isinstance(cause, ValueError) else TypeError)(f"{argument}: {cause}")


def _first_text(values: Array) -> tuple[tuple[int, ...], str] | None:
    """Place and beginning of the first text in a table or column that is not a number."""
    if values.dtype.kind not in "OSUT" or not values.ndim:
        return None
    for place in np.ndindex(values.shape):
        if isinstance(values[place], str | bytes):
            try:
                float(values[place])
            except ValueError:
                return place, str(values[place])[:40]
    return None


def vectors(
    X: Any,
    *,
    name: str = "X",
    sparse: bool = False,
    allow_nan: bool = False,
    copy: bool = False,
    if_nan: str = "",
) -> Any:
    """Check a table of numbers with one object per row, and return it as a C-contiguous and aligned
    array, or a CSR matrix, of float32 or float64.

    `name` is that of the argument, for messages; `sparse` says whether a sparse matrix is accepted,
    `allow_nan` whether NaN is, as a missing value (infinity never is). With `copy` the result does
    not share memory with X. `if_nan` is what else the message says if X contains NaN.
    """
    from sklearn.utils.validation import check_array

    mapped_file(X, name)
    if copy or not _is_ready(X):
        X = _numbers(as_frame(X), name)
        kind = getattr(X, "dtype", None)
        dtype = float_dtype(kind) if isinstance(kind, np.dtype) else "numeric"
        try:
            X = check_array(
                X,
                accept_sparse="csr" if sparse else False,
                dtype=dtype,
                order="C",
                copy=copy,
                ensure_all_finite=False,
                input_name=name,
            )
            if X.dtype.kind == "O":
                X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise _name_argument(X, name, error) from error
    if X.dtype.kind != "f" or X.dtype.itemsize not in (4, 8):
        X = X.astype(float_dtype(X.dtype))
    if not is_sparse(X):
        X = np.require(X, requirements="A")  # a part of a buffer of bytes may begin anywhere
    values = X.data if is_sparse(X) else X
    if not allow_nan:
        finite(X, name, if_nan)
    elif np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"{name} contains infinity at [{row}, {column}]. Mark missing values as NaN."
        )
    return X


def mapped_file(X: Any, name: str = "X") -> None:
    """Raise ValueError if X is a memory map, or a part of one, beyond the end of its file.

    To read there would end the process (SIGBUS).
    """
    array, mapped = X, None
    while isinstance(array, np.ndarray):
        mapped = array if isinstance(array, np.memmap) else mapped
        array = array.base
    if mapped is None or not isinstance(array, mmap.mmap) or not X.size:
        return
    steps = zip(X.shape, X.strides, strict=True)
    last = sum((size - 1) * step for size, step in steps if step > 0) + X.itemsize
    begin = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    needed = begin + X.ctypes.data + last - np.frombuffer(array, np.uint8).ctypes.data
    if array.size() < needed:
        raise ValueError(
            f"{name} is a memory map of {mapped.filename or 'a file'}, which has {array.size()} "
            f"bytes, but {needed} are needed: the file was cut short. Write it again."
        )


def _is_ready(X: Any) -> bool:
    """Whether X is such an array as `check_array`, which takes 0.1 ms, would return."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
        and X.flags.aligned
        and min(X.shape) >= 1
    )


def _numbers(X: Any, name: str) -> Any:
    """X with masked entries as NaN; TypeError if it holds dates or time spans.

    Tensors on the CPU are detached, and in float32 if NumPy does not know their type.
    """
    if callable(getattr(X, "detach", None)):
        X = X.detach()
        return X.float() if str(X.dtype) == "torch.bfloat16" else X
    if isinstance(X, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(X)
        return (
            np.where(masked, np.nan, X.data).astype(float_dtype(X.dtype))
            if masked.any()
            else X.data
        )
    columns = getattr(X, "dtypes", None)  # of a DataFrame
    types = [getattr(X, "dtype", None)] if columns is None else list(columns)
    if any(getattr(one, "kind", "") in ("m", "M") for one in types):
        raise TypeError(
            f"{name} holds dates or time spans, which have no unit as numbers. Convert them first, "
            "for instance to days: (dates - dates.min()) / numpy.timedelta64(1, 'D')."
        )
    return X


def all_finite(entries: Array) -> bool:
    """Whether all entries of an array are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = entries.sum()  # finite unless an entry is not, or the sum overflows
    return bool(np.isfinite(total) or np.isfinite(entries).all())


_scan: Callable[[Array], bool] = all_finite


def scan_by(scan: Callable[[Array], bool]) -> None:
    """Let checks use another `all_finite`: `runtime`, a higher layer, has one for many threads."""
    global _scan
    _scan = scan


def finite(values: Any, name: str, if_nan: str = "") -> None:
    """Raise ValueError unless all entries are finite; the message names the first that is not."""
    entries = values.data if is_sparse(values) else values
    if _scan(entries):
        return
    if is_sparse(values):
        places = np.stack(values.tocoo().coords, axis=1)
        where = places[~np.isfinite(entries)]
    else:
        where = np.argwhere(~np.isfinite(values))
    place = ", ".join(map(str, where[0]))
    kind = "NaN" if np.isnan(values[tuple(where[0])]) else "infinity"
    raise ValueError(
        f"Input {name} contains {kind} at [{place}] ({len(where)} non-finite entries in all). "
        f"Remove or impute them{if_nan if kind == 'NaN' else ''}."
    )


class WrongTypeError(TypeError, ValueError):
    """A parameter of a wrong type; also a ValueError, as scikit-learn's error of this kind is."""


def integer(value: Any, name: str, low: int, high: int | None = None, why_high: str = "") -> int:
    """Check an integer in [low, high]; `why_high` explains the upper limit in the message."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        kind = type(value).__name__
        raise WrongTypeError(f"{argument(name)} must be an integer, got {value!r} of type {kind}.")
    number = int(value)
    if number < low:
        raise ValueError(f"{argument(name)} must be at least {low}, got {value}.")
    if high is not None and number > high:
        raise ValueError(f"{argument(name)} must be at most {high}{why_high}, got {value}.")
    return number


def real(
    value: Any, name: str, low: float = -np.inf, high: float = np.inf, *, open_low: bool = False
) -> float:
    """Check a real number in [low, high], or in (low, high] if `open_low`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        kind = type(value).__name__
        raise WrongTypeError(f"{argument(name)} must be a number, got {value!r} of type {kind}.")
    number = float(value)
    if not low <= number <= high or (open_low and number == low):
        bracket = "(" if open_low else "["
        interval = f"{bracket}{low:g}, {high:g}]"
        raise ValueError(f"{argument(name)} must lie in {interval}, got {value!r}.")
    return number


def k_or_radius(k: int | None, radius: float | None) -> None:
    """Check that one of them is given."""
    if (k is None) == (radius is None):
        raise ValueError(
            f"Both {argument('n_neighbors')} and {argument('radius')} are provided: set one of "
            "them to None."
            if k is not None
            else "Give either a number of neighbours or a radius."
        )


def n_neighbors(k: Any, n: int, name: str = "n_neighbors") -> int:
    """Check a number of neighbours, which must be less than the number n of objects."""
    count = integer(k, name, 1)
    if count > n - 1:
        raise ValueError(
            f"{argument(name)} must be smaller than the number of objects: got "
            f"{argument(name, k)} for n_samples={n}. "
            f"Use at most {max(n - 1, 0)}."
        )
    return count


def too_many_neighbors(name: str, value: float, n: int) -> ValueError:
    """The error of a number of neighbours that is not below the number of objects."""
    return ValueError(
        f"{argument(name)} ({value:g}) must be less than n_samples ({n}): it is a number of "
        f"neighbours. Try {argument(name, max(1, n // 4))}."
    )


def image_shape(value: Any, n_features: int) -> tuple[int, int, int]:
    """Check the shape (height, width) or (height, width, channels) of images that are rows."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) not in (2, 3):
        raise ValueError(
            f"{argument('image_shape')} must be (height, width) or (height, width, channels), got "
            f"{value!r}."
        )
    height, width, *rest = (integer(side, f"image_shape[{i}]", 1) for i, side in enumerate(value))
    shape = (height, width, rest[0] if rest else 1)
    if math.prod(shape) != n_features:
        raise ValueError(
            f"{argument('image_shape', tuple(value))} has {math.prod(shape)} values, but X has "
            f"{n_features} features."
        )
    return shape


@functools.cache
def plain_parameters(kind: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Parameters of a class that are one number, string or truth value, with the names of types.

    These are the parameters with annotations such as ``int | None``.
    """
    declared = inspect.signature(kind).parameters.items()
    hints = {name: str(parameter.annotation).split(" | ") for name, parameter in declared}
    return {name: tuple(types) for name, types in hints.items() if PLAIN_TYPES.keys() >= {*types}}


PLAIN_TYPES: dict[str, Any] = {
    "int": numbers.Integral,
    "float": numbers.Real,
    "bool": (bool, np.bool_),
    "str": str,
    "None": type(None),
}


def single_values(estimator: Any) -> None:
    """Raise an error if a parameter that is one value was given as an array, list or dict.

    And if one that is true or false was given as something else, such as "no", which is true.
    """
    kind: Any = type(estimator)
    for name, types in plain_parameters(kind).items():
        value = getattr(estimator, name)
        if hasattr(value, "__len__") and not isinstance(value, str):
            kind = type(value).__name__
            raise WrongTypeError(
                f"{argument(name)} must be of type {' or '.join(types)}, got {value!r} of type "
                f"{kind}."
            )
        if types == ("bool",) and value not in (True, False):
            raise WrongTypeError(f"{argument(name)} must be True or False, got {value!r}.")


def constructor_arguments(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError for arguments that a class does not take.

    The message names the class, where that of Python may name a parent, which defines `__init__`.
    """
    signature = _signature(cls.__init__)  # type: ignore[misc]
    unknown = next((name for name in kwargs if name not in signature.parameters), "")
    if args or unknown:
        try:
            signature.bind_partial(None, *args, **kwargs)
        except TypeError as error:
            hint = did_you_mean(unknown, signature.parameters)
            raise TypeError(f"{cls.__name__}: {error}.{hint}") from None


@functools.cache
def _signature(constructor: Callable[..., None]) -> inspect.Signature:
    """The signature of a constructor; it is asked for each time that an estimator is made."""
    return inspect.signature(constructor)


def keywords(value: Any, name: str) -> dict[str, Any]:
    """Check a dictionary of keyword arguments, or None for an empty one; returns a copy."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise TypeError(
            f"{argument(name)} must be a dict with names as keys, or None; got {value!r}."
        )
    return dict(value)


_seed_of_none: Callable[[], int | None] = lambda: None  # noqa: E731


def seed_none_by(function: Callable[[], int | None]) -> None:
    """Let random_state=None stand for the seed that a function returns, if it returns one."""
    global _seed_of_none
    _seed_of_none = function


def check_random_state(seed: Any) -> np.random.RandomState:
    """scikit-learn's function of this name, with an error that names the argument."""
    from sklearn import utils

    seed = _seed_of_none() if seed is None else seed
    try:
        return utils.check_random_state(seed)  # type: ignore[no-any-return]
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{argument('random_state')} must be None, an integer from 0 to 2**32 - 1 or a "
            f"RandomState, got {seed!r}."
        ) from error


def fixed_random_state(seed: Any) -> np.random.RandomState:
    """The same, where None stands for 0."""
    return check_random_state(0 if seed is None else seed)


def fixed_seed(seed: Any) -> int:
    """An integer that a random_state stands for, where None stands for 0."""
    return int(fixed_random_state(seed).randint(2**31 - 1))


def random_state(seed: Any) -> None:
    """Raise ValueError unless `check_random_state` takes the value.

    For integers no generator is made, which would take a tenth of the time of a small fit.
    """
    if type(seed) is not int or not 0 <= seed < 2**32:
        check_random_state(seed)


def decreasing(value: Any, name: str, most: float, otherwise: str = "") -> tuple[float, float]:
    """A first and a last number in (0, most], of which the second is not larger.

    `otherwise` says which other values the parameter may have.
    """
    wanted = f"{name} must be a pair (first, last) of decreasing positive numbers{otherwise}"
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise WrongTypeError(f"{wanted}, got {value!r}.")
    first, last = (real(v, name, 0, most, open_low=True) for v in value)
    if first < last or not np.isfinite(first):
        raise ValueError(f"{wanted}, got {value!r}.")
    return first, last


def pairs(value: Any, name: str, n: float) -> Array:
    """Pairs of numbers of n objects, an array of shape (n_pairs, 2)."""
    given = np.asarray(value)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be an array of integers of shape (n_pairs, 2), got shape {given.shape} "
            f"and type {given.dtype}."
        )
    if len(given) and not (given.min() >= 0 and given.max() < n):
        raise ValueError(f"{name} must be in [0, {n}), found {given.min()} to {given.max()}.")
    return given


def sample_weight(given: Any, n: int, *, zero: bool = False) -> Array:
    """The weights of n objects in float64: positive, or with `zero` some of them 0."""
    weights = vectors(np.asarray(given).reshape(-1, 1), name="sample_weight")[:, 0]
    if len(weights) != n:
        raise ValueError(f"sample_weight has {len(weights)} entries, but X has {n} objects.")
    row = int(weights.argmin())
    if weights[row] < 0 or (weights[row] == 0 and not zero):
        wanted = "not be negative" if zero else "be positive"
        raise ValueError(
            f"sample_weight must {wanted}, found {weights[row]:g} at [{row}]. Leave out objects of "
            "zero weight."
        )
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.asarray(weights, dtype=np.float64)


def choice(value: Any, name: str, options: Iterable[Any]) -> Any:
    """Check that a value is one of the options."""
    options = list(options)
    plain = np.ndim(value) == 0  # arrays and lists compare entry by entry
    if not any(value is option or (plain and value == option) for option in options):
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{argument(name)} must be one of {listed}; got {value!r}.")
    return value


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A question to end an error message with: the known name that is most like an unknown one."""
    near = get_close_matches(name, list(known), 1) if isinstance(name, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning whose location is the line of user code that called lowdim."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _ours(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _ours(filename: str) -> bool:
    """Whether a source file belongs to lowdim or to scikit-learn, which may call lowdim."""
    folders = (os.path.dirname(__file__), os.path.join("site-packages", "sklearn", ""))
    return filename.startswith(folders[0]) or folders[1] in filename


def distances_in_range(distances: Array) -> None:
    """Raise ValueError if a distance between rows of X overflowed."""
    if not _scan(distances):
        raise ValueError(f"X: distances overflow {distances.dtype}. Divide X by a large number.")
