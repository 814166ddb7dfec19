"""From columns to a matrix, recorded so that a model can do the same to new data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument, plural
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

    def undo(self, X: Array) -> Array:
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


def learn_recipe(frame: Frame, roles: Roles, choices: Choices) -> tuple[Recipe, Any, Array | None]:
    """The recipe, the matrix it makes of the frame, and the rows kept (None: all)."""
    whole = not roles.textual and roles.numeric == frame.number_names
    numbers = frame.matrix(roles.numeric)
    if not checks.is_sparse(numbers) and numbers.dtype.kind == "f":
        blank = [j for j in np.flatnonzero(np.isnan(numbers[0])) if np.isnan(numbers[:, j]).all()]
        if blank:
            empty = join_names(repr(roles.numeric[place]) for place in blank)
            roles.notes.append(f"left out, because no row has a value: {empty}")
            numbers, whole = np.delete(numbers, blank, axis=1), False
            roles.numeric = np.delete(np.array(roles.numeric, dtype=object), blank).tolist()
            if not roles.numeric and not roles.textual:
                raise DataError(
                    f"{frame.source}: no feature is left: no row has a value in {empty}."
                )
    recipe = Recipe(
        roles.numeric if frame.has_names or not whole else None,
        roles.textual,
        choices.categorical,
        choices.missing,
    )
    numbers, kept, incomplete = _complete_rows(frame, recipe, numbers, roles.notes)
    if choices.missing == "mean" and incomplete:
        recipe.fill = np.nanmean(numbers, axis=0).tolist()
        roles.notes.append(f"missing values in {incomplete} rows were filled with column means")
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
            recipe.categories[name] = sorted(set(_take_rows(frame.text(name), kept)) - {None})
    if choices.standardize:
        if checks.is_sparse(numbers):
            raise DataError(
                f"{frame.source}: {argument('standardize', True)} would make a sparse matrix "
                "dense; leave it out."
            )
        center, spread = moments(_fill(numbers, recipe))
        recipe.center, recipe.scale = center.tolist(), np.where(spread > 0, spread, 1.0).tolist()
        roles.notes.append("every column of numbers was scaled to mean 0 and standard deviation 1")
    named = None if choices.text else recipe.numeric  # features of a text are all of one kind
    if named is not None and not checks.is_sparse(numbers) and numbers.shape[1] <= 1000:
        plain = not choices.standardize and choices.categorical != "gower" and not choices.counts
        roles.notes += _advice(np.asarray(numbers), named, plain, bool(choices.features))
    return recipe, _matrix(frame, recipe, numbers, kept), kept


def apply_recipe(frame: Frame, recipe: Recipe) -> tuple[Any, Array | None, list[str]]:
    """The same for new data: the matrix, the rows kept (None: all), and notes."""
    notes: list[str] = []
    numbers = frame.matrix(recipe.numeric)
    numbers, kept, incomplete = _complete_rows(frame, recipe, numbers, notes)
    for name, kinds in recipe.categories.items():
        new = sorted(set(frame.text(name)) - {None, *kinds})
        if new:
            rows = int(np.isin(frame.text(name), new).sum())
            checks.warn(
                f"{frame.source}: column {name!r} has values that the data of the model did not "
                f"have: {join_names(map(repr, new))}. In {plural(rows, 'row')} all columns "
                f"made of {name!r} are 0."
            )
    fills = recipe.missing == "mean" and incomplete and numbers.dtype.kind == "f"
    if fills and recipe.fill is None and np.isnan(numbers).any():
        raise DataError(
            f"{frame.source} has missing values, but the data of the model had none, so there are "
            "no means to fill them with."
        )
    return _matrix(frame, recipe, numbers, kept), kept, notes


def _take_rows(values: Any, kept: Array | None) -> Any:
    return values if kept is None else values[kept]


def _complete_rows(
    frame: Frame, recipe: Recipe, numbers: Any, notes: list[str]
) -> tuple[Any, Array | None, int]:
    """The numbers of the rows kept, these rows (None: all), and how many rows lack a value."""
    absent = _nan_rows(frame, recipe, numbers)
    looked_at = [] if recipe.missing == "keep" else recipe.textual
    texts = {name: np.equal(frame.text(name), np.array(None)) for name in looked_at}
    for holes in texts.values():
        absent |= holes
    if not absent.any() or recipe.missing in ("mean", "keep"):
        return numbers, None, int(absent.sum())
    if recipe.missing == "drop":
        if absent.all():
            raise DataError(
                f"{frame.source}: every row has a missing value, so none would be left."
            )
        notes.append(f"{absent.sum()} of {len(absent)} rows have missing values: dropped")
        kept = np.flatnonzero(~absent)
        return numbers[kept], kept, int(absent.sum())
    row = int(absent.argmax())
    gaps = np.isnan(numbers[absent]) if numbers.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)
    first = [_name(recipe, int(column)) for column in np.flatnonzero(gaps[0])]
    first += [repr(name) for name, holes in texts.items() if holes[row]]
    total = int(gaps.sum() + sum(holes.sum() for holes in texts.values()))
    other = argument("missing", "mean")
    if recipe.categorical == "gower":
        keep = argument("missing", "keep")
        other = f"{keep}, because Gower's distance uses the values that are known"
    raise DataError(
        f"{frame.source}: {plural(total, 'value')} missing in {absent.sum()} of "
        f"{len(absent)} rows, the first in {frame.where(row)}, column {first[0]}. Set "
        f"{argument('missing', 'drop')} to leave out those rows, or {other}."
    )


def _nan_rows(frame: Frame, recipe: Recipe, numbers: Any) -> Array:
    """Which rows have NaN; infinity is an error."""
    absent = np.zeros(numbers.shape[0], dtype=bool)
    if checks.is_sparse(numbers) or numbers.dtype.kind != "f":
        return absent
    step = max(1, _BLOCK // max(numbers.shape[1], 1))
    for start in range(0, len(numbers), step):
        block = np.asarray(numbers[start : start + step])
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


def _learn_total(frame: Frame, numbers: Any) -> float:
    least = numbers.min()
    if not least >= 0:
        reason = "values are missing" if np.isnan(least) else f"the least value is {least:g}"
        raise DataError(
            f"{frame.source}: {argument('counts', True)} needs numbers of at least 0, but {reason}."
        )
    return common_total(np.asarray(numbers.sum(axis=1), dtype=np.float64).ravel())


def _fill(numbers: Any, recipe: Recipe) -> Any:
    """Missing values filled, counts normalised, as far as the recipe says."""
    if recipe.fill is not None:
        numbers = np.where(np.isnan(numbers), np.asarray(recipe.fill), numbers)
    return numbers if recipe.counts is None else normalize_counts(numbers, recipe.counts)


def _advice(numbers: Array, names: list[str], plain: bool, chosen: bool) -> list[str]:
    """Notes on a column that outweighs all others by its unit, and on columns that may be ids."""
    notes = []
    dominant = dominant_column(numbers) if plain and len(names) > 1 else None
    if dominant is not None:
        notes.append(
            f"column {shorten(names[dominant[0]])!r} has a standard deviation {dominant[1]:,.0f} "
            f"times that of a typical column: {argument('standardize', True)} gives every column "
            "the same weight"
        )
    counters = [
        repr(shorten(n)) for n, v in zip(names, numbers.T, strict=True) if _distinct_integers(v)
    ]
    if not chosen and 0 < len(counters) < len(names):
        notes.append(
            "used as features, although each row has a different whole number: "
            f"{join_names(counters)} (if they name the objects: {argument('id', ...)} or "
            f"{argument('drop', ...)})"
        )
    return notes


def _distinct_integers(values: Array) -> bool:
    """Whether a column holds a different whole number in each row."""
    head = values[:100]  # decides most columns without sorting all values
    return all(
        (part.dtype.kind in "iu" or bool((part == np.rint(part)).all()))
        and len(np.unique(part)) == len(part)
        for part in (head, values)
    )


def _matrix(frame: Frame, recipe: Recipe, numbers: Any, kept: Array | None) -> Any:
    numbers = _fill(numbers, recipe)
    if recipe.center is not None:
        numbers = (np.asarray(numbers, np.float64) - recipe.center) / np.asarray(recipe.scale)
    if not recipe.textual:
        return numbers
    texts = {name: _take_rows(frame.text(name), kept) for name in recipe.textual}
    if recipe.categorical == "gower":
        return np.column_stack([np.asarray(numbers, dtype=object), *texts.values()])
    coded = [
        (values == kind).astype(np.float64)
        for name, values in texts.items()
        for kind in recipe.categories[name]
    ]
    return np.column_stack([numbers, *coded])
