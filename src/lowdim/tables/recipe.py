"""From columns to a matrix, recorded so that a model can do the same to new data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.tables.errors import DataError, listed, shortened
from lowdim.tables.frame import Frame
from lowdim.tables.roles import Choices, Columns, Roles

_BLOCK = 1 << 22  # values that are checked at a time
_UNEVEN = 30.0  # times the median spread, from which on one column outweighs the others


@dataclass
class Recipe:
    """How the columns of a file were made into a matrix.

    Attributes
    ----------
    numeric : list of str or None
        Columns of numbers; None if the columns have no names.
    textual : list of str
        Columns of text that are used.
    categorical, missing : str
        As given to `read`.
    categories : dict of str to list of str
        The values of each column of text, with categorical="onehot".
    fill : list of float or None
        What replaces missing values, by column.
    center, scale : list of float or None
        What is subtracted from each column and what it is divided by.

    Examples
    --------
    >>> from lowdim.tables import Recipe
    >>> Recipe(["petal"], ["kind"], "onehot", categories={"kind": ["rose", "tulip"]}).names
    ['petal', 'kind=rose', 'kind=tulip']
    """

    numeric: list[str] | None
    textual: list[str] = field(default_factory=list)
    categorical: str = "label"
    missing: str = "error"
    categories: dict[str, list[str]] = field(default_factory=dict)
    fill: list[float] | None = None
    center: list[float] | None = None
    scale: list[float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        return asdict(self)

    def undone(self, X: Array) -> Array:
        """Rows of the matrix with the columns of numbers in their own units again."""
        if self.scale is None or self.center is None:
            return X
        out = np.array(X)
        k = len(self.scale)
        out[:, :k] = out[:, :k] * np.array(self.scale, X.dtype) + np.array(self.center, X.dtype)
        return out

    @property
    def names(self) -> list[str] | None:
        """Names of the matrix's columns."""
        if self.numeric is None:
            return None
        coded = [f"{name}={kind}" for name, kinds in self.categories.items() for kind in kinds]
        return [*self.numeric, *(coded or self.textual)]


def learn(
    frame: Frame, roles: Roles, choices: Choices, source: str
) -> tuple[Recipe, Any, Array | None]:
    """The recipe, the matrix it makes of the frame, and the rows kept (None: all)."""
    named = frame.names is not None
    everything = not roles.textual and roles.numeric == Columns(frame, source).numbers
    recipe = Recipe(
        roles.numeric if named or not everything else None,
        roles.textual,
        choices.categorical,
        choices.missing,
    )
    numbers, kept = _numbers(frame, recipe, source), None
    absent = _missing(frame, recipe, numbers, source)
    if choices.missing == "drop" and absent is not None:
        kept = np.flatnonzero(~absent)
        roles.notes.append(_dropped(absent))
        numbers = numbers[kept]
    if choices.missing == "mean" and absent is not None:
        recipe.fill = _means(numbers, recipe, source)
        roles.notes.append(f"missing values in {absent.sum()} rows were filled with column means")
    if choices.categorical == "onehot":
        for name in recipe.textual:
            values = frame.texts[name] if kept is None else frame.texts[name][kept]
            recipe.categories[name] = sorted(set(values) - {None})
    if choices.standardize:
        _learn_scale(_filled(numbers, recipe), recipe, source)
        roles.notes.append("every column of numbers was brought to mean 0 and spread 1")
    elif named and choices.categorical != "gower":
        roles.notes += _uneven(numbers, recipe)
    if named and not choices.features:
        roles.notes += _counters(numbers, recipe)
    return recipe, _matrix(frame, recipe, numbers, kept), kept


def follow(frame: Frame, recipe: Recipe, source: str) -> tuple[Any, Array | None, list[str]]:
    """The same for new data: the matrix, the rows kept (None: all), and notes."""
    numbers, kept = _numbers(frame, recipe, source), None
    absent = _missing(frame, recipe, numbers, source)
    notes = []
    if recipe.missing == "drop" and absent is not None:
        kept = np.flatnonzero(~absent)
        numbers = numbers[kept]
        notes.append(_dropped(absent))
    _warn_of_new_categories(frame, recipe, source)
    fills = recipe.missing == "mean" and absent is not None and numbers.dtype.kind == "f"
    if fills and recipe.fill is None and np.isnan(numbers).any():
        raise DataError(
            f"{source} has missing values, but the data of the model had none, so there are no "
            "means to fill them with."
        )
    return _matrix(frame, recipe, numbers, kept), kept, notes


def _dropped(absent: Array) -> str:
    return f"{absent.sum()} of {len(absent)} rows have missing values: dropped"


def _warn_of_new_categories(frame: Frame, recipe: Recipe, source: str) -> None:
    for name, kinds in recipe.categories.items():
        values = frame.texts[name]
        new = sorted(set(values) - {None, *kinds})
        if new:
            rows = int(np.isin(values, new).sum())
            checks.warn(
                f"{source}: column {name!r} has values that the data of the model did not have: "
                f"{listed(map(repr, new))}. In {rows} row{'s'[: rows != 1]} all columns made of "
                f"{name!r} are 0."
            )


# --- numbers ------------------------------------------------------------------------------------


def _numbers(frame: Frame, recipe: Recipe, source: str) -> Any:
    """The chosen columns of numbers; as they are, without a copy, if all are chosen."""
    columns = Columns(frame, source)
    if recipe.numeric is None:
        return frame.numbers
    lacking = [n for n in recipe.numeric if n not in columns.places and n not in frame.beside]
    if lacking:
        texts = [name for name in lacking if name in frame.texts]
        reason = f"column {texts[0]!r} is text" if texts else f"it lacks {listed(lacking)}"
        raise DataError(f"{source} does not have the columns of numbers that are needed: {reason}.")
    if recipe.numeric == columns.numbers:
        return frame.numbers
    inside = [columns.places[name] for name in recipe.numeric if name in columns.places]
    beside = [frame.beside[name] for name in recipe.numeric if name not in columns.places]
    chosen = frame.numbers[:, inside]
    return np.column_stack([chosen, *beside]) if beside else chosen


def _missing(frame: Frame, recipe: Recipe, numbers: Any, source: str) -> Array | None:
    """Which rows lack a value; None if no row does. Infinity is always an error."""
    absent = _check_finite(frame, recipe, numbers, source)
    if recipe.missing != "keep":
        for name in recipe.textual:
            absent |= frame.texts[name] == None  # noqa: E711
    if not absent.any():
        return None
    if absent.all() and recipe.missing == "drop":
        raise DataError(f"{source}: every row has a missing value, so none would be left.")
    if recipe.missing == "error":
        raise DataError(_missing_message(frame, recipe, numbers, absent, source))
    return absent


def _check_finite(frame: Frame, recipe: Recipe, numbers: Any, source: str) -> Array:
    absent = np.zeros(numbers.shape[0], dtype=bool)
    if checks.is_sparse(numbers) or numbers.dtype.kind != "f":
        return absent
    step = max(1, _BLOCK // max(numbers.shape[1], 1))
    for start in range(0, len(numbers), step):
        block = np.asarray(numbers[start : start + step])
        if np.isfinite(block).all():
            continue
        if np.isinf(block).any():
            row, column = np.argwhere(np.isinf(block))[0]
            raise DataError(
                f"{source}: {frame.place(start + int(row))}, column {_name(recipe, column)} is "
                "infinite. Correct it, or leave it empty."
            )
        absent[start : start + step] = np.isnan(block).any(axis=1)
    return absent


def _name(recipe: Recipe, column: int) -> str:
    return str(column) if recipe.numeric is None else repr(shortened(recipe.numeric[column]))


def _missing_message(frame: Frame, recipe: Recipe, numbers: Any, absent: Array, source: str) -> str:
    row = int(np.flatnonzero(absent)[0])
    holes = [
        (_name(recipe, int(c)))
        for c in (np.flatnonzero(np.isnan(numbers[row])) if numbers.dtype.kind == "f" else [])
    ]
    holes += [repr(name) for name in recipe.textual if frame.texts[name][row] is None]
    total = int(np.isnan(numbers).sum()) if numbers.dtype.kind == "f" else 0
    total += sum(int((frame.texts[name] == None).sum()) for name in recipe.textual)  # noqa: E711
    places = f"the first in {frame.place(row)}, column {holes[0]}"
    other = argument("missing", "mean")
    if recipe.categorical == "gower":
        keep = argument("missing", "keep")
        other = f"{keep}, because Gower's distance uses the values that are known"
    return (
        f"{source}: {total} value{'s'[: total != 1]} missing in {absent.sum()} of {len(absent)} "
        f"rows, {places}. Set {argument('missing', 'drop')} to leave out those rows, or {other}."
    )


def _means(numbers: Any, recipe: Recipe, source: str) -> list[float]:
    known = ~np.isnan(numbers)
    empty = np.flatnonzero(~known.any(axis=0))
    if len(empty):
        name = _name(recipe, int(empty[0]))
        leave_out = argument("drop", [recipe.numeric[empty[0]] if recipe.numeric else name])
        raise DataError(f"{source}: column {name} has no value at all; leave it out: {leave_out}.")
    return [float(v) for v in np.atleast_1d(np.nanmean(numbers, axis=0))]


def _filled(numbers: Any, recipe: Recipe) -> Any:
    if recipe.fill is None:
        return numbers
    return np.where(np.isnan(numbers), np.asarray(recipe.fill), numbers)


def _learn_scale(numbers: Any, recipe: Recipe, source: str) -> None:
    if checks.is_sparse(numbers):
        raise DataError(
            f"{source}: {argument('standardize', True)} would make a sparse matrix dense; leave it "
            "out."
        )
    center, spread = _moments(numbers)
    recipe.center = center.tolist()
    recipe.scale = [float(v) if v > 0 else 1.0 for v in spread]


def _moments(numbers: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, without overflow: in units of a power of two."""
    exponent = np.frexp(np.nanmax(np.abs(numbers), axis=0).astype(np.float64))[1]
    scaled = np.ldexp(np.asarray(numbers, dtype=np.float64), -exponent)
    mean, spread = np.nanmean(scaled, axis=0), np.nanstd(scaled, axis=0)
    return np.ldexp(mean, exponent), np.ldexp(spread, exponent)


def _is_dense_table(numbers: Any) -> bool:
    """Whether single columns are looked at: a dense table of 2 to 1000 columns."""
    return not checks.is_sparse(numbers) and 1 < numbers.shape[1] <= 1000


def _uneven(numbers: Any, recipe: Recipe) -> list[str]:
    """A note if one column outweighs all others because of its unit."""
    if recipe.numeric is None or not _is_dense_table(numbers):
        return []
    spread = _moments(numbers[:10_000])[1]
    if not (spread > 0).any():
        return []
    wide = int(spread.argmax())
    relative = spread / spread[wide]
    ratio = 1 / float(np.median(relative[relative > 0]))
    if ratio < _UNEVEN:
        return []
    return [
        f"column {recipe.numeric[wide]!r} spreads {ratio:,.0f} times as wide as the others "
        f"do: {argument('standardize', True)} gives every column the same weight"
    ]


def _counters(numbers: Any, recipe: Recipe) -> list[str]:
    """A note on columns that may be ids: a different whole number in each row."""
    if recipe.numeric is None or not _is_dense_table(numbers):
        return []
    found = [
        name
        for place, name in enumerate(recipe.numeric)
        if _distinct_integers(np.asarray(numbers[:, place]))
    ]
    if not found or len(found) == len(recipe.numeric):
        return []
    return [
        "used as features, but different whole numbers in all rows: "
        f"{listed(map(repr, found))} (if they name the objects: {argument('id', ...)} or "
        f"{argument('drop', ...)})"
    ]


def _distinct_integers(values: Array) -> bool:
    head = values[:100]  # decides most columns without sorting all values
    if not (head == np.rint(head)).all() or len(np.unique(head)) < len(head):
        return False
    return bool((values == np.rint(values)).all()) and len(np.unique(values)) == len(values)


# --- the matrix -----------------------------------------------------------------------------------


def _matrix(frame: Frame, recipe: Recipe, numbers: Any, kept: Array | None) -> Any:
    numbers = _filled(numbers, recipe)
    if recipe.center is not None:
        numbers = (np.asarray(numbers, np.float64) - recipe.center) / np.asarray(recipe.scale)
    if not recipe.textual:
        return numbers
    texts = {
        name: frame.texts[name] if kept is None else frame.texts[name][kept]
        for name in recipe.textual
    }
    if recipe.categorical == "gower":
        mixed = np.empty((numbers.shape[0], numbers.shape[1] + len(texts)), dtype=object)
        mixed[:, : numbers.shape[1]] = numbers
        for place, values in enumerate(texts.values(), start=numbers.shape[1]):
            mixed[:, place] = values
        return mixed
    coded = [
        (values == kind).astype(np.float64)
        for name, values in texts.items()
        for kind in recipe.categories[name]
    ]
    return np.column_stack([numbers, *coded])
