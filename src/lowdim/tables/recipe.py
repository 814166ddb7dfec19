"""From columns to a matrix, recorded so that a model can do the same to new data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.objects.scales import dominant_column, moments
from lowdim.tables.columns import Choices, Frame, Roles
from lowdim.tables.errors import DataError, join_names, shorten
from lowdim.tables.features import TextModel, common_total, look_like_counts, normalize_counts

_BLOCK = 1 << 22  # values that are checked at a time


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
    counts : float or None
        The total of every row of counts before the logarithm is taken.
    text : TextModel or None
        How a column of text was made into features.
    transpose : bool
        Whether the objects are the columns of the file.

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
    counts: float | None = None
    text: TextModel | None = None
    transpose: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.text, dict):  # from a model file
            self.text = TextModel(**self.text)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        return asdict(self)

    @classmethod
    def of_model(cls, estimator: Any) -> Recipe | None:
        """The recipe that a saved model remembers; None if it was not made by a command."""
        remembered = getattr(estimator, "preparation_", None)
        return None if remembered is None else cls(**remembered)

    def undone(self, X: Array) -> Array:
        """Rows of the matrix with the columns of numbers in their own units again."""
        out = np.array(X)
        numbers = out[:, : out.shape[1] - sum(map(len, self.categories.values()))]
        if self.scale is not None and self.center is not None:
            numbers *= np.array(self.scale, X.dtype)
            numbers += np.array(self.center, X.dtype)
        if self.counts is not None:
            np.expm1(numbers, out=numbers)
        return out

    @property
    def names(self) -> list[str] | None:
        """Names of the matrix's columns."""
        if self.numeric is None:
            return None
        coded = [f"{name}={kind}" for name, kinds in self.categories.items() for kind in kinds]
        return [*self.numeric, *(coded or self.textual)]


def learn(frame: Frame, roles: Roles, choices: Choices) -> tuple[Recipe, Any, Array | None]:
    """The recipe, the matrix it makes of the frame, and the rows kept (None: all)."""
    _leave_out_empty(frame, roles)
    named = frame.names is not None
    everything = not roles.textual and roles.numeric == frame.number_names
    recipe = Recipe(
        roles.numeric if named or not everything else None,
        roles.textual,
        choices.categorical,
        choices.missing,
    )
    numbers, kept, absent = _rows(frame, recipe, roles.notes)
    if choices.missing == "mean" and absent is not None:
        recipe.fill = np.nanmean(numbers, axis=0).tolist()
        roles.notes.append(f"missing values in {absent.sum()} rows were filled with column means")
    if choices.counts:
        recipe.counts = _learn_total(frame, _fill(numbers, recipe))
        roles.notes.append(
            f"counts: every row was scaled to the total {recipe.counts:g}, then log(1 + x)"
        )
    elif look_like_counts(numbers):
        roles.notes.append(
            f"the features look like counts: {argument('counts', True)} compares shares of each "
            "row's total on a logarithmic scale"
        )
    if choices.categorical == "onehot":
        for name in recipe.textual:
            recipe.categories[name] = sorted(set(_cut(frame.text(name), kept)) - {None})
    if choices.standardize:
        if checks.is_sparse(numbers):
            raise DataError(
                f"{frame.source}: {argument('standardize', True)} would make a sparse matrix "
                "dense; leave it out."
            )
        center, spread = moments(_complete(numbers, recipe))
        recipe.center, recipe.scale = center.tolist(), np.where(spread > 0, spread, 1.0).tolist()
        roles.notes.append("every column of numbers was brought to mean 0 and spread 1")
    elif choices.categorical != "gower" and not choices.counts:
        roles.notes += _scale_notes(numbers, recipe)
    if not choices.features:
        roles.notes += _counters(numbers, recipe)
    return recipe, _matrix(frame, recipe, numbers, kept), kept


def follow(frame: Frame, recipe: Recipe) -> tuple[Any, Array | None, list[str]]:
    """The same for new data: the matrix, the rows kept (None: all), and notes."""
    notes: list[str] = []
    numbers, kept, absent = _rows(frame, recipe, notes)
    for name, kinds in recipe.categories.items():
        new = sorted(set(frame.text(name)) - {None, *kinds})
        if new:
            rows = int(np.isin(frame.text(name), new).sum())
            checks.warn(
                f"{frame.source}: column {name!r} has values that the data of the model did not "
                f"have: {join_names(map(repr, new))}. In {rows} row{'s'[: rows != 1]} all columns "
                f"made of {name!r} are 0."
            )
    fills = recipe.missing == "mean" and absent is not None and numbers.dtype.kind == "f"
    if fills and recipe.fill is None and np.isnan(numbers).any():
        raise DataError(
            f"{frame.source} has missing values, but the data of the model had none, so there are "
            "no means to fill them with."
        )
    return _matrix(frame, recipe, numbers, kept), kept, notes


def _cut(values: Any, kept: Array | None) -> Any:
    return values if kept is None else values[kept]


# --- missing values -------------------------------------------------------------------------------


def _leave_out_empty(frame: Frame, roles: Roles) -> None:
    """Take columns that have no value at all from the features, with a note."""
    if checks.is_sparse(frame.numbers) or frame.numbers.dtype.kind != "f":
        return
    blank = np.isnan(frame.numbers[0])
    empty = [
        name
        for name in roles.numeric
        if blank[frame.places[name]] and np.isnan(frame.column(name)).all()
    ]
    if not empty:
        return
    roles.numeric = [name for name in roles.numeric if name not in empty]
    roles.notes.append(f"left out, because no row has a value: {join_names(map(repr, empty))}")
    if not roles.numeric and not roles.textual:
        raise DataError(
            f"{frame.source}: no feature is left: no row has a value in "
            f"{join_names(map(repr, empty))}."
        )


def _rows(frame: Frame, recipe: Recipe, notes: list[str]) -> tuple[Any, Array | None, Array | None]:
    """The columns of numbers, the rows kept of them, and which rows lack a value (None: none)."""
    numbers = frame.matrix(recipe.numeric)
    absent = _nan_rows(frame, recipe, numbers)
    if recipe.missing != "keep":
        for name in recipe.textual:
            absent |= frame.text(name) == None  # noqa: E711
    if not absent.any():
        return numbers, None, None
    if recipe.missing == "error":
        raise DataError(_missing_message(frame, recipe, numbers, absent))
    if recipe.missing != "drop":
        return numbers, None, absent
    if absent.all():
        raise DataError(f"{frame.source}: every row has a missing value, so none would be left.")
    notes.append(f"{absent.sum()} of {len(absent)} rows have missing values: dropped")
    kept = np.flatnonzero(~absent)
    return numbers[kept], kept, absent


def _nan_rows(frame: Frame, recipe: Recipe, numbers: Any) -> Array:
    """Which rows have NaN; infinity is an error."""
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
                f"{frame.source}: {frame.where(start + int(row))}, column {_name(recipe, column)} "
                "is infinite. Correct it, or leave it empty."
            )
        absent[start : start + step] = np.isnan(block).any(axis=1)
    return absent


def _name(recipe: Recipe, column: int) -> str:
    return str(column) if recipe.numeric is None else repr(shorten(recipe.numeric[column]))


def _missing_message(frame: Frame, recipe: Recipe, numbers: Any, absent: Array) -> str:
    row = int(np.flatnonzero(absent)[0])
    holes = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(numbers.shape, dtype=bool)
    first = [_name(recipe, int(column)) for column in np.flatnonzero(holes[row])]
    first += [repr(name) for name in recipe.textual if frame.text(name)[row] is None]
    total = int(holes.sum())
    total += sum(int((frame.text(name) == None).sum()) for name in recipe.textual)  # noqa: E711
    other = argument("missing", "mean")
    if recipe.categorical == "gower":
        keep = argument("missing", "keep")
        other = f"{keep}, because Gower's distance uses the values that are known"
    return (
        f"{frame.source}: {total} value{'s'[: total != 1]} missing in {absent.sum()} of "
        f"{len(absent)} rows, the first in {frame.where(row)}, column {first[0]}. Set "
        f"{argument('missing', 'drop')} to leave out those rows, or {other}."
    )


def _fill(numbers: Any, recipe: Recipe) -> Any:
    if recipe.fill is None:
        return numbers
    return np.where(np.isnan(numbers), np.asarray(recipe.fill), numbers)


# --- counts ---------------------------------------------------------------------------------------


def _learn_total(frame: Frame, numbers: Any) -> float:
    least = numbers.min()
    if not least >= 0:
        found = "values are missing" if np.isnan(least) else f"the least value is {least:g}"
        raise DataError(
            f"{frame.source}: {argument('counts', True)} needs numbers of at least 0, but {found}."
        )
    return common_total(np.asarray(numbers.sum(axis=1), dtype=np.float64).ravel())


def _complete(numbers: Any, recipe: Recipe) -> Any:
    """Missing values filled, counts normalised."""
    numbers = _fill(numbers, recipe)
    return numbers if recipe.counts is None else normalize_counts(numbers, recipe.counts)


# --- scale ----------------------------------------------------------------------------------------


def _is_dense_table(numbers: Any, recipe: Recipe) -> bool:
    """Whether single columns are looked at: a dense table of 2 to 1000 columns with names."""
    named = recipe.numeric is not None and not checks.is_sparse(numbers)
    return named and 1 < numbers.shape[1] <= 1000


def _scale_notes(numbers: Any, recipe: Recipe) -> list[str]:
    """A note if one column outweighs all others because of its unit."""
    if not _is_dense_table(numbers, recipe):
        return []
    dominant = dominant_column(np.asarray(numbers))
    if dominant is None:
        return []
    wide, ratio = dominant
    return [
        f"column {_name(recipe, wide)} has a standard deviation {ratio:,.0f} times "
        f"that of a typical column: {argument('standardize', True)} gives every column "
        "the same weight"
    ]


def _counters(numbers: Any, recipe: Recipe) -> list[str]:
    """A note on columns that may be ids: a different whole number in each row."""
    if not _is_dense_table(numbers, recipe):
        return []
    counters = [
        _name(recipe, column)
        for column in range(numbers.shape[1])
        if _distinct_integers(np.asarray(numbers[:, column]))
    ]
    if not counters or len(counters) == numbers.shape[1]:
        return []
    return [
        "used as features, but different whole numbers in all rows: "
        f"{join_names(counters)} (if they name the objects: {argument('id', ...)} or "
        f"{argument('drop', ...)})"
    ]


def _distinct_integers(values: Array) -> bool:
    head = values[:100]  # decides most columns without sorting all values
    if not (head == np.rint(head)).all() or len(np.unique(head)) < len(head):
        return False
    return bool((values == np.rint(values)).all()) and len(np.unique(values)) == len(values)


# --- the matrix -----------------------------------------------------------------------------------


def _matrix(frame: Frame, recipe: Recipe, numbers: Any, kept: Array | None) -> Any:
    numbers = _complete(numbers, recipe)
    if recipe.center is not None:
        numbers = (np.asarray(numbers, np.float64) - recipe.center) / np.asarray(recipe.scale)
    if not recipe.textual:
        return numbers
    texts = {name: _cut(frame.text(name), kept) for name in recipe.textual}
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
