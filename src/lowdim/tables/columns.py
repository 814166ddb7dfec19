"""The columns of a file, and which are features, which labels, and which name the objects."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array, dense
from lowdim.messages import argument
from lowdim.tables.errors import DataError, join_names, shorten

CATEGORICAL = ("label", "ignore", "onehot", "gower")
MISSING_POLICIES = ("error", "drop", "mean", "keep")
_COUNTERS = ("", "idx", "row", "unnamed: 0", "sample")  # names of a first column that counts
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?")
_ID_NAME = re.compile(r"(.*[_ .-])?ids?|index|.*[a-z](Id|ID)|Id|ID")  # tweet_id, customerId, index
_PART = 1024  # rows that are copied at a time, for the sake of the cache
_EXACT = 2**53  # integers below have a float64 of their own
_TARGETS = ("label", "labels", "class", "target", "y", "species", "category", "digit", "cluster")


class Mixed(NamedTuple):
    """A column of numbers with something else among them: where, what, and how many numbers."""

    row: int
    value: str
    numbers: int


@dataclass
class Frame:
    """The content of a file, one object a row, before the roles of its columns are chosen.

    `numbers` is a dense array, a memory map or a sparse matrix, whose columns are named by
    `names` if the file names them; `texts` are columns of strings, with None where a value is
    missing, and of dates (datetime64); `beside` holds what the file keeps beside its data, such as
    the labels in an NPZ file. `ids` are the names of the objects if the file has them in a place
    of their own. `stored` returns a column of `numbers` as the file holds it, where `numbers` may
    have rounded it: integers, or strings with None where a value is missing.
    """

    numbers: Any
    names: list[str] | None = None
    texts: dict[str, Array] = field(default_factory=dict)
    beside: dict[str, Array] = field(default_factory=dict)
    ids: Array | None = None
    mixed: dict[str, Mixed] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    order: list[str] | None = None  # of all columns, as in the file
    line: Callable[[int], int] | None = None  # of a row, in a text file
    stored: Callable[[str], Array | None] = lambda name: None
    image_shape: tuple[int, ...] | None = None  # of each row, if it is an image
    photographs: bool = False  # images whose values are light
    source: str = ""  # name of the file
    _values: dict[str, Array] = field(default_factory=dict)  # that `values` has returned

    @property
    def n_rows(self) -> int:
        return int(self.numbers.shape[0])

    @cached_property
    def number_names(self) -> list[str]:
        """Names of the columns of numbers; x0, x1, ... if they have none."""
        return self.names or [f"x{i}" for i in range(self.numbers.shape[1])]

    @cached_property
    def places(self) -> dict[str, int]:
        """The columns of numbers by name."""
        return {name: place for place, name in enumerate(self.number_names)}

    @cached_property
    def data_names(self) -> list[str]:
        """Names of all columns but those beside the data."""
        return self.order or [*self.number_names, *self.texts]

    @cached_property
    def all_names(self) -> list[str]:
        """Names of all columns, those beside the data last."""
        return [*self.data_names, *self.beside]

    def column(self, name: str) -> Array:
        """The values of a column."""
        for columns in (self.beside, self.texts):
            if name in columns:
                return columns[name]
        return dense(self.numbers[:, [self.places[name]]]).ravel()

    def is_date(self, name: str) -> bool:
        """Whether a column holds dates."""
        return name in self.texts and self.texts[name].dtype.kind == "M"

    def text(self, name: str) -> Array:
        """A column of text or dates as strings."""
        return date_strings(self.texts[name]) if self.is_date(name) else self.texts[name]

    def matrix(self, names: list[str] | None) -> Any:
        """Columns of numbers; as they are, without a copy, if all are chosen."""
        if names is None or names == self.number_names:
            return self.numbers
        lacking = [n for n in names if n not in self.places and n not in self.beside]
        if lacking:
            texts = [name for name in lacking if name in self.texts]
            reason = f"column {texts[0]!r} is text" if texts else f"it lacks {join_names(lacking)}"
            raise DataError(
                f"{self.source} does not have the columns of numbers that are needed: {reason}."
            )
        chosen = self.numbers[:, [self.places[name] for name in names if name in self.places]]
        beside = [self.beside[name] for name in names if name not in self.places]
        return np.column_stack([chosen, *beside]) if beside else chosen

    def values(self, name: str) -> Array:
        """A column as ids or labels: every digit is kept, and 3.0 is 3."""
        if name not in self._values:
            column, stored = self.column(name), None
            if name not in self.beside and _are_integers(column):
                stored = self.stored(name)
            self._values[name] = _tidy(column) if stored is None else _digits(stored, column)
        return self._values[name]

    def check_name(self, name: str, option: str) -> str:
        """The name, if there is such a column."""
        if name in self.all_names:
            return name
        close = difflib.get_close_matches(name, self.all_names, n=1)
        hint = (
            f"; did you mean {close[0]!r}?" if close else f": it has {join_names(self.all_names)}."
        )
        raise DataError(f"{argument(option)}: {self.source} has no column {name!r}{hint}")

    def match_names(self, patterns: Iterable[str], option: str) -> list[str]:
        """Names of the columns that match at least one pattern."""
        chosen: dict[str, None] = {}
        for pattern in patterns:
            matches = [name for name in self.all_names if fnmatchcase(name, pattern)]
            if pattern in self.all_names or not matches:
                matches = [self.check_name(pattern, option)]
            chosen.update(dict.fromkeys(matches))
        return list(chosen)

    def where(self, row: int) -> str:
        """How to find a row: by its number, and by its line in a text file."""
        return f"row {row}" if self.line is None else f"row {row} (line {self.line(row)})"


def frame_of(columns: dict[str, Array], **others: Any) -> Frame:
    """A frame of named columns: those of objects are text or dates, all others numbers."""
    columns = {
        name: dates_of(values) if values.dtype == object else values
        for name, values in columns.items()
    }
    numbers = {name: values for name, values in columns.items() if values.dtype.kind not in "OM"}
    n_rows = len(next(iter(columns.values()), ()))
    dtypes = {values.dtype for values in numbers.values()} or {np.dtype(np.float64)}
    matrix = np.empty((n_rows, len(numbers)), dtype=np.result_type(*dtypes))
    for start in range(0, n_rows if numbers else 0, _PART):
        part = slice(start, start + _PART)
        np.stack([values[part] for values in numbers.values()], axis=1, out=matrix[part])
    texts = {name: values for name, values in columns.items() if name not in numbers}
    return Frame(matrix, list(numbers), texts, order=list(columns), **others)


def dates_of(values: Array) -> Array:
    """Strings as datetime64 if all that are known are dates of ISO 8601; else as they are."""
    distinct = {value for value in values.tolist() if value is not None}
    if not distinct or not all(map(_DATE.fullmatch, distinct)):
        return values
    try:
        moments = {value: datetime.fromisoformat(value) for value in distinct}
    except ValueError:  # no such day
        return values
    plain = {
        v: m.astimezone(UTC).replace(tzinfo=None) if m.tzinfo else m for v, m in moments.items()
    }
    return np.array([plain.get(value) for value in values.tolist()], dtype="datetime64[ms]")


def date_strings(dates: Array) -> Array:
    """Dates as strings, None where one is missing: days, or moments if not all are at midnight."""
    known = dates[~np.isnat(dates)]
    unit = "M8[D]" if (known.astype("M8[D]") == known).all() else "M8[s]"
    strings = dates.astype(unit).astype(str).astype(object)
    strings[np.isnat(dates)] = None
    return strings


def _are_integers(values: Array) -> bool:
    """Whether all known values are whole numbers."""
    if values.dtype.kind != "f":
        return values.dtype.kind in "iu"
    known = values[~np.isnan(values)]
    return bool(len(known) and np.isfinite(known).all() and (known == np.rint(known)).all())


def _tidy(values: Array) -> Array:
    """Whole numbers as integers: labels that a text file or Matlab holds as 3.0 are 3."""
    if values.dtype.kind == "f" and not np.isnan(values).any() and _are_integers(values):
        return values.astype(np.int64) if np.abs(values).max() < _EXACT else values
    return values


def _digits(stored: Array, numbers: Array) -> Array:
    """Whole numbers as they are stored: integers, or strings if that would change a digit."""
    if stored.dtype != object:
        return stored
    known = [v for v in stored.tolist() if v is not None]
    try:
        integers = [int(v) for v in known]
    except ValueError:  # 3.0, 1e3, True
        return _tidy(numbers)
    if list(map(str, integers)) != known:
        return stored
    low, high = min(integers), max(integers)
    if len(known) == len(stored) and low >= -(2**63) and high < 2**63:
        return np.array(integers, dtype=np.int64)
    return numbers if low > -_EXACT and high < _EXACT else stored  # NaN where a value is missing


# --- roles ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choices:
    """What the user chose for the columns: the arguments of `read` of the same names."""

    id: str | None = None
    labels: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categorical: str = "label"
    missing: str = "error"
    standardize: bool = False
    counts: bool = False


@dataclass
class Roles:
    """The columns by what they are for."""

    numeric: list[str] = field(default_factory=list)
    textual: list[str] = field(default_factory=list)
    labels: dict[str, Array] = field(default_factory=dict)
    ids: Array | None = None
    id_name: str = "id"
    notes: list[str] = field(default_factory=list)


def assign(frame: Frame, choices: Choices) -> Roles:
    """The role of every column: as the user chose, otherwise guessed from name and content."""
    chosen = frame.match_names(choices.features, "features")
    wanted = [frame.check_name(name, "labels") for name in choices.labels]
    taken = {*frame.match_names(choices.drop, "drop"), *chosen, *wanted}
    roles = Roles()
    _assign_ids(frame, choices, taken, roles)
    for name in wanted:
        if roles.ids is None or name != roles.id_name:
            roles.labels[name] = frame.values(name)
    beside = [name for name in frame.beside if name not in taken]
    roles.labels |= {name: frame.values(name) for name in beside}
    if beside:
        roles.notes.append(f"carried through as labels: {join_names(beside)}")
    features = chosen or [name for name in frame.data_names if name not in taken]
    if not chosen:  # customer_id, for instance
        note = "named as ids, so carried through as labels"
        features = _without_labels(frame, features, roles, _is_ids_name, note)
    called = {name.strip().lower() for name in features}
    coordinates = "y" in called and called & {"x", "z"}
    if not chosen and not wanted and not coordinates:
        note = "taken as labels because of their names"
        features = _without_labels(frame, features, roles, _is_target_name, note)
    _assign_features(frame, choices, features, roles)
    return roles


def _assign_ids(frame: Frame, choices: Choices, taken: set[str], roles: Roles) -> None:
    name = None
    if choices.id is not None:
        name = frame.check_name(choices.id, "id")
    elif frame.ids is None:
        name = find_ids(frame, taken)
        if name is None:
            return
        called = f"column {name!r}" if name else "the first column"
        roles.notes.append(
            f"{called} tells the objects apart: taken as their ids (change with "
            f"{argument('id', ...)} or {argument('drop', ...)})"
        )
    if name is not None:
        taken.add(name)
        roles.id_name = name or "id"
    values = np.asarray(frame.ids if name is None else frame.values(name))
    values = date_strings(values) if values.dtype.kind == "M" else values
    ids = ["" if v is None else str(v) for v in values.tolist()]
    roles.ids = np.array(ids, dtype=object)
    if len(set(ids)) < len(ids):
        distinct, counts = np.unique(ids, return_counts=True)
        twice = str(distinct[counts.argmax()])
        first, second = np.flatnonzero(roles.ids == twice)[:2]
        raise DataError(
            f"{frame.source}: the ids are not distinct: {shorten(twice)!r} occurs in "
            f"{frame.where(int(first))} and {frame.where(int(second))}. Choose another "
            f"{argument('id', ...)}, or carry the column as one of {argument('labels', ...)}."
        )


def find_ids(frame: Frame, taken: set[str]) -> str | None:
    """The first column that looks like ids, if the file has none in a place of their own."""
    names = frame.data_names if frame.ids is None else []
    return next((name for name in names if _are_ids(frame, name, taken)), None)


def _are_ids(frame: Frame, name: str, taken: set[str]) -> bool:
    """Whether a column looks like ids: by its name, or as a first column of text or a counter."""
    if name in taken or name in frame.mixed:
        return False
    first = name == frame.data_names[0]
    named = _is_ids_name(name) or (first and name.strip().lower() in _COUNTERS)
    if not named and not (first and name in frame.texts):
        return False
    values = frame.values(name)
    entries = values.tolist()
    distinct = None not in entries and len(set(entries)) == len(entries) > 1
    return distinct and values.dtype.kind in "iuO"


def _is_target_name(name: str) -> bool:
    return name.strip().lower() in _TARGETS


def may_describe_objects(name: str, first: bool) -> bool:
    """Whether a column of numbers may be taken as ids or labels because of its name."""
    counter = first and name.strip().lower() in _COUNTERS
    return _is_ids_name(name) or _is_target_name(name) or counter


def _is_ids_name(name: str) -> bool:
    return _ID_NAME.fullmatch(name.strip()) is not None or name.strip().lower() in ("id", "index")


def _without_labels(
    frame: Frame, features: list[str], roles: Roles, named: Callable[[str], bool], note: str
) -> list[str]:
    """The features without columns of whole numbers that are labels because of their names."""
    columns = {n: frame.values(n) for n in features if n in frame.places and named(n)}
    labels = {name: values for name, values in columns.items() if values.dtype.kind in "biuO"}
    if not labels or len(labels) == len(features):
        return features
    roles.labels |= labels
    change = f"change with {argument('features', ...)}"
    roles.notes.append(f"{note}: {join_names(map(repr, labels))} ({change})")
    return [name for name in features if name not in labels]


def _assign_features(frame: Frame, choices: Choices, features: list[str], roles: Roles) -> None:
    used = choices.categorical in ("onehot", "gower")
    for name in features:
        if name in frame.mixed and not (choices.features and used):
            row, value, count = frame.mixed[name]
            known = sum(v is not None for v in frame.texts[name])
            raise DataError(
                f"{frame.source}: column {name!r} holds numbers ({count} of {known}), but "
                f"{frame.where(row)} has {shorten(value)!r}. Correct it, or read it as "
                f"missing ({argument('na', [shorten(value)])}), or leave the column out "
                f"({argument('drop', [name])})."
            )
    dates = [name for name in features if frame.is_date(name)]
    texts = [name for name in features if name not in frame.places and name not in dates]
    roles.numeric = [name for name in features if name in frame.places]
    if dates and choices.features:
        raise DataError(
            f"{argument('features')}: column {dates[0]!r} holds dates, which have no unit as "
            "numbers. Add a column of days to the file, for instance."
        )
    if dates and choices.categorical != "ignore":
        roles.labels |= {name: frame.texts[name] for name in dates}
        roles.notes.append(f"dates are carried through as labels: {join_names(map(repr, dates))}")
    if texts and used:
        roles.textual = texts
        use = "coded as zeros and ones" if choices.categorical == "onehot" else "compared by Gower"
        roles.notes.append(f"columns of text {use}: {join_names(map(repr, texts))}")
    elif texts and choices.features:
        raise DataError(
            f"{argument('features')}: column {texts[0]!r} is text. To use it, set {_use_text()}."
        )
    elif texts:
        _set_aside(frame, choices, texts, roles)
    if not roles.numeric and not roles.textual:
        what = (
            f"only text ({join_names(map(repr, texts))})"
            if texts
            else "no columns but ids, labels and dates"
        )
        raise DataError(
            f"{frame.source} has no column of numbers to make a map of: {what}. Check "
            f"{argument('delimiter', ...)} and {argument('decimal', ...)}, or use the text with "
            f"{_use_text(frame, texts)}."
        )


def _use_text(frame: Frame | None = None, texts: Sequence[str] = ()) -> str:
    ways = f"{argument('categorical', 'onehot')} or {argument('categorical', 'gower')}"
    if frame is None or not texts:
        return ways
    longest = max(texts, key=lambda name: sum(len(v or "") for v in frame.texts[name]))
    return f"{ways}, or by its words with {argument('text', longest)}"


def _set_aside(frame: Frame, choices: Choices, texts: list[str], roles: Roles) -> None:
    action = "ignored"
    if choices.categorical == "label":
        action = "carried through as labels"
        roles.labels |= {name: frame.texts[name] for name in texts}
    kinds = [f"{name!r} ({len(set(frame.texts[name]) - {None})} kinds)" for name in texts[:6]]
    roles.notes.append(
        f"columns of text are {action}, not used as features: "
        f"{join_names(kinds + ['...'] * (len(texts) - len(kinds)))} "
        f"(to use them: {_use_text()})"
    )
