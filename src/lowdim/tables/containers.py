"""Choice of the array of a file that is the data; the others are labels or names."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.tables.errors import DataError, listed
from lowdim.tables.frame import Frame

_DATA = ("x", "data", "features", "embedding", "coordinates", "d", "distances")
_IDS = ("id", "ids", "names", "obs_names", "index")


def choose(
    path: str | PathLike[str],
    arrays: Mapping[str, Any],
    key: str | None,
    names: list[str] | None = None,
) -> Frame:
    """The array called `key`, else the one with a telling name, else the only one that can be."""
    if not arrays:
        raise DataError(f"{fspath(path)} holds no arrays.")
    name = _pick(path, arrays, key)
    data, notes = matrix(arrays[name], f"{fspath(path)}: {name}"), []
    others = {other: value for other, value in arrays.items() if other != name}
    if len(arrays) > 1:
        notes.append(f"the data is {name!r}, of the arrays {listed(_described(arrays))}")
    if len(arrays[name].shape) > 2:
        shape = " x ".join(map(str, arrays[name].shape))
        notes.append(f"{name!r} is {shape}: each object was laid out as one row")
    frame = Frame(data, names, notes=notes, image_shape=_image_shape(arrays[name].shape))
    for other, value in others.items():
        values = flat(value, frame.n_rows)
        if values is None:
            continue
        if other.lower() in _IDS and frame.ids is None:
            frame.ids = values
        elif other.lower() != "coordinate_names":
            frame.beside[other] = values
    if frame.names is None and "coordinate_names" in arrays:
        named = flat(arrays["coordinate_names"], data.shape[1])
        frame.names = None if named is None else [str(v) for v in named]
    return frame


def _image_shape(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """What each row is an image of: height and width, perhaps with channels."""
    return shape[1:] if len(shape) == 3 or (len(shape) == 4 and shape[3] in (3, 4)) else None


def _described(arrays: Mapping[str, Any]) -> list[str]:
    return [f"{name} ({' x '.join(map(str, a.shape)) or 'scalar'})" for name, a in arrays.items()]


def _pick(path: str | PathLike[str], arrays: Mapping[str, Any], key: str | None) -> str:
    if key is not None:
        if key not in arrays:
            raise DataError(
                f"{fspath(path)} has no array {key!r}; it holds {listed(_described(arrays))}."
            )
        return key
    able = [
        name
        for name, a in arrays.items()
        if len(a.shape) >= 2 and np.dtype(a.dtype).kind in "biuf" and 0 not in a.shape
    ]
    for wanted in _DATA:
        for name in able:
            if name.lower() == wanted:
                return name
    if len(able) == 1:
        return able[0]
    if not able:
        raise DataError(
            f"{fspath(path)} holds no array of numbers with rows and columns, only "
            f"{listed(_described(arrays))}."
        )
    raise DataError(
        f"{fspath(path)} holds several arrays that may be the data: "
        f"{listed(_described({name: arrays[name] for name in able}))}. Choose one with "
        f"{argument('key', ...)}."
    )


def matrix(values: Any, what: str) -> Any:
    """Numbers with one object a row; further axes are laid out."""
    if is_sparse(values):
        return values
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"{what} holds {_kind(values.dtype)}, not numbers; only arrays of numbers can be read."
        )
    if values.ndim == 0 or values.size == 0:
        raise DataError(f"{what} is empty: its shape is {tuple(values.shape)}.")
    return values.reshape(len(values), -1) if values.ndim != 2 else values


def _kind(dtype: Any) -> str:
    kinds = {"O": "Python objects", "U": "strings", "S": "strings", "c": "complex numbers"}
    return kinds.get(dtype.kind, str(dtype))


def flat(values: Any, n_rows: int) -> Array | None:
    """One value an object, or None if the array is something else; bytes become strings."""
    long = [side for side in values.shape if side != 1]
    if (
        len(values.shape) > 2
        or not values.shape
        or (long or [1]) != ([n_rows] if n_rows > 1 else [1])
    ):
        return None
    values = np.asarray(values).ravel()
    if values.dtype.kind in "US" or (values.dtype == object and all(map(_textual, values))):
        return np.array([_decoded(v) for v in values.tolist()], dtype=object)
    return values if values.dtype.kind in "biuf" else None


def _textual(value: Any) -> bool:
    return value is None or isinstance(value, str | bytes)


def _decoded(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else str(value)
