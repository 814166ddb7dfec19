"""The columns of a file, and which are features, which labels, and which name the objects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from lowdim.checks import Array, dense, did_you_mean
from lowdim.messages import argument
from lowdim.tables.errors import DataError, join_names, shorten

_SENTENCE = 4  # words of a text, on average, from which its words are worth a map
CATEGORICAL = ("label", "ignore", "onehot", "gower")
MISSING_POLICIES = ("error", "drop", "mean", "keep")
_COUNTERS = ("", "idx", "row", "unnamed: 0", "sample")  # names of a first column that counts
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?")
_ID_NAME = re.compile(r"(.*[_ .-])?ids?|.*[a-z](Id|ID)|(?i:id|index)")  # tweet_id
_PART = 1024  # rows that are copied at a time, for the sake of the cache
_EXACT = 2**53  # integers below have a float64 of their own
_NUMBER_STARTS = frozenset("0123456789+-.,iInN")  # also of inf and nan
_TARGETS = ("label", "labels", "class", "target", "y", "species", "category", "digit", "cluster")


@dataclass
class Frame:
    """The content of a file, one object a row, before the roles of its columns are chosen.

    In a table, every column is an array of `columns`: of numbers, of strings with None where a
    value is missing, or of dates (datetime64). A file of arrays has a matrix `X`, whose columns
    are named by `names` if the file names them; its `columns` are all `beside` the data, such as
    the labels in an NPZ file. `ids` are the names of the objects if the file has them in a place
    of their own.
    """

    columns: dict[str, Array] = field(default_factory=dict)
    X: Any = None  # dense, a memory map or sparse
    names: list[str] | None = None
    beside: frozenset[str] = frozenset()  # columns that are not among the data
    ids: Array | None = None
    notes: list[str] = field(default_factory=list)
    line: Callable[[int], int] | None = None  # of a row, in a text file
    strings: Callable[[str], Array] | None = None  # a column of numbers as a text file writes it
    is_number: Callable[[str], bool] = lambda value: False  # whether a text file means a number
    image_shape: tuple[int, ...] | None = None  # of each row, if it is an image
    photographs: bool = False  # images whose values are light
    source: str = ""  # name of the file
    _values: dict[str, Array] = field(default_factory=dict)  # that `values` has returned

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()), ())) if self.X is None else self.X.shape[0]

    @property
    def has_names(self) -> bool:
        """Whether the file names the columns of numbers."""
        return self.X is None or self.names is not None

    @cached_property
    def number_names(self) -> list[str]:
        """Names of the columns of numbers; x0, x1, ... if they have none."""
        if self.X is not None:
            return self.names or [f"x{i}" for i in range(self.X.shape[1])]
        return [name for name in self.data_names if self.columns[name].dtype.kind not in "OM"]

    @cached_property
    def places(self) -> dict[str, int]:
        """The columns of numbers by name."""
        return {name: place for place, name in enumerate(self.number_names)}

    @cached_property
    def data_names(self) -> list[str]:
        """Names of all columns but those beside the data."""
        table = [name for name in self.columns if name not in self.beside]
        return table if self.X is None else [*self.number_names, *table]

    @cached_property
    def all_names(self) -> list[str]:
        """Names of all columns, those beside the data last."""
        return [*self.data_names, *(name for name in self.columns if name in self.beside)]

    def column(self, name: str) -> Array:
        """The values of a column."""
        if name in self.columns:
            return self.columns[name]
        return dense(self.X[:, [self.places[name]]]).ravel()

    def is_text(self, name: str) -> bool:
        """Whether a column of the data holds text or dates."""
        return name not in self.beside and name not in self.places and name in self.columns

    def is_date(self, name: str) -> bool:
        """Whether a column of the data holds dates."""
        return self.is_text(name) and self.columns[name].dtype.kind == "M"

    def text(self, name: str) -> Array:
        """A column of text or dates as strings."""
        values = self.columns[name]
        return date_strings(values) if values.dtype.kind == "M" else values

    def matrix(self, names: list[str] | None) -> Any:
        """Columns of numbers side by side; those of `X` as they are if all are chosen."""
        if self.X is not None and (names is None or names == self.number_names):
            return self.X
        names = self.number_names if names is None else names
        lacking = [name for name in names if name not in self.places and name not in self.beside]
        if lacking:
            texts = [name for name in lacking if name in self.columns]
            reason = f"column {texts[0]!r} is text" if texts else f"it lacks {join_names(lacking)}"
            raise DataError(
                f"{self.source} does not have the columns of numbers that are needed: {reason}."
            )
        if self.X is not None and not self.beside.intersection(names):
            return self.X[:, [self.places[name] for name in names]]
        columns = [self.column(name) for name in names]
        dtype = np.result_type(*columns) if columns else np.float64
        matrix = np.empty((self.n_rows, len(names)), dtype)
        for start in range(0, self.n_rows if names else 0, _PART):
            part = slice(start, start + _PART)
            np.stack([values[part] for values in columns], axis=1, out=matrix[part])
        self.columns |= {name: matrix[:, place] for place, name in enumerate(names)}  # held once
        return matrix

    def values(self, name: str) -> Array:
        """A column as ids or labels: every digit is kept, and 3.0 is 3."""
        if name not in self._values:
            values = _integers_if_whole(self.column(name))
            if self.strings is not None and name in self.places and _are_integers(values):
                values = _keep_digits(self.strings(name), values)
            self._values[name] = values
        return self._values[name]

    def first_text(self, name: str) -> tuple[int, str, int] | None:
        """The row and the value of the first text in a column of numbers, and how many numbers
        there are; None if most values are text, or all."""
        if not self.is_text(name) or self.is_date(name):
            return None
        values = self.columns[name].tolist()
        known = [v for v in values if v is not None]
        if 2 * sum(v[:1] in _NUMBER_STARTS for v in known) <= len(known):
            return None
        n_numbers = sum(map(self.is_number, known))
        if 2 * n_numbers <= len(known) or n_numbers == len(known):
            return None
        row = next(row for row, v in enumerate(values) if v is not None and not self.is_number(v))
        return row, values[row], n_numbers

    def check_name(self, name: str, option: str) -> str:
        """The name, if there is such a column."""
        if name in self.all_names:
            return name
        hint = did_you_mean(name, self.all_names) or f" It has {join_names(self.all_names)}."
        raise DataError(f"{argument(option)}: {self.source} has no column {name!r}.{hint}")

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


def column_of(values: Sequence[Any]) -> Array:
    """Python values as a column: numbers (True and False are 1 and 0, None is NaN), dates or text.

    Whole numbers too large for the digits of the column, ids in fact, become text.
    """
    known = [v for v in values if v is not None]
    if all(isinstance(v, int | float) for v in known):
        gaps = len(known) < len(values)
        most = _EXACT if gaps else 2**63
        if all(isinstance(v, float) or abs(v) < most for v in known) or not all(
            isinstance(v, int) for v in known
        ):
            column = np.array([np.nan if v is None else v for v in values])
            return column.astype(np.uint8) if column.dtype.kind == "b" else column
    return dates_of(np.array([None if v is None else str(v) for v in values], dtype=object))


def dates_of(values: Array) -> Array:
    """Strings as datetime64 if all that are known are dates of ISO 8601; else as they are."""
    distinct = {value for value in values.tolist() if value is not None}
    if not distinct:
        return np.full(len(values), np.nan)
    if not all(map(_DATE.fullmatch, distinct)):
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


def _integers_if_whole(values: Array) -> Array:
    """Whole numbers as integers: labels that a text file or Matlab holds as 3.0 are 3."""
    if values.dtype.kind == "f" and not np.isnan(values).any() and _are_integers(values):
        return values.astype(np.int64) if np.abs(values).max() < _EXACT else values
    return values


def _keep_digits(strings: Array, numbers: Array) -> Array:
    """Whole numbers as integers, or as their strings if that would change a digit."""
    known = strings.tolist()
    try:
        integers = [None if v is None else int(v) for v in known]
    except ValueError:  # 3.0, 1e3, True
        return numbers
    if [None if v is None else str(v) for v in integers] != known:
        return strings
    exact = column_of(integers)
    return strings if exact.dtype == object else exact


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
    text: str | None = None


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
    beside = [name for name in frame.columns if name in frame.beside and name not in taken]
    roles.labels |= {name: frame.values(name) for name in beside}
    if beside:
        roles.notes.append(f"kept as labels: {join_names(beside)}")
    features = chosen or [name for name in frame.data_names if name not in taken]
    if not chosen:  # customer_id, for instance
        note = "kept as labels because of their names, which are those of ids"
        features = _without_labels(frame, features, roles, _is_ids_name, note)
    called = {name.strip().lower() for name in features}
    coordinates = "y" in called and called & {"x", "z"}
    if not chosen and not wanted and not coordinates:
        note = "kept as labels because of their names"
        features = _without_labels(frame, features, roles, _is_target_name, note)
    _assign_features(frame, choices, features, roles)
    return roles


def _assign_ids(frame: Frame, choices: Choices, taken: set[str], roles: Roles) -> None:
    name = None if choices.id is None else frame.check_name(choices.id, "id")
    if name is None and frame.ids is None:
        name = find_ids(frame, taken)
        if name is None:
            return
        called = f"column {name!r}" if name else "the first column"
        roles.notes.append(
            f"{called} has a different value in each row: used as ids (change with "
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
        twice = Counter(ids).most_common(1)[0][0]
        first, second = np.flatnonzero(roles.ids == twice)[:2]
        raise DataError(
            f"{frame.source}: the ids are not distinct: {shorten(twice)!r} occurs in "
            f"{frame.where(int(first))} and {frame.where(int(second))}. Choose another "
            f"{argument('id', ...)}, or keep the column as a label ({argument('labels', ...)})."
        )


def find_ids(frame: Frame, taken: set[str]) -> str | None:
    """The first column that looks like ids, by its name or as a first column of text or a counter;
    None if the file has ids in a place of their own."""
    for name in frame.data_names if frame.ids is None else []:
        first = name == frame.data_names[0]
        named = _is_ids_name(name) or (first and name.strip().lower() in _COUNTERS)
        if name in taken or not (named or (first and frame.is_text(name))):
            continue
        values = frame.values(name)
        entries = values.tolist()
        distinct = None not in entries and len(set(entries)) == len(entries) > 1
        if distinct and values.dtype.kind in "iuO" and frame.first_text(name) is None:
            return name
    return None


def _is_target_name(name: str) -> bool:
    return name.strip().lower() in _TARGETS


def _is_ids_name(name: str) -> bool:
    return _ID_NAME.fullmatch(name.strip()) is not None


def may_describe_objects(name: str, first: bool) -> bool:
    """Whether a column of numbers may be taken as ids or labels because of its name."""
    counter = first and name.strip().lower() in _COUNTERS
    return _is_ids_name(name) or _is_target_name(name) or counter


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


def _holds_sentences(texts: Any) -> bool:
    """Whether most texts are different and of several words."""
    known = [text for text in texts if text is not None]
    words = sum(len(text.split()) for text in known)
    return len(set(known)) > len(known) / 2 and words >= _SENTENCE * len(known)


def _assign_features(frame: Frame, choices: Choices, features: list[str], roles: Roles) -> None:
    used = choices.categorical in ("onehot", "gower")
    dates = [name for name in features if frame.is_date(name)]
    texts = [name for name in features if name not in frame.places and name not in dates]
    roles.numeric = [name for name in features if name in frame.places]
    for name in [] if choices.features and used else texts:
        odd = frame.first_text(name)
        if odd is not None:
            row, value, count = odd
            known = sum(v is not None for v in frame.columns[name])
            raise DataError(
                f"{frame.source}: column {name!r} holds numbers ({count} of {known}), but "
                f"{frame.where(row)} has {shorten(value)!r}. Correct it, or read it as "
                f"missing ({argument('na', [shorten(value)])}), or leave the column out "
                f"({argument('drop', [name])})."
            )
    if dates and choices.features:
        raise DataError(
            f"{argument('features')}: column {dates[0]!r} holds dates, which have no unit as "
            "numbers. Add a column of days to the file, for instance."
        )
    if dates and choices.categorical != "ignore":
        roles.labels |= {name: frame.columns[name] for name in dates}
        roles.notes.append(f"dates are kept as labels: {join_names(map(repr, dates))}")
    options = [argument("categorical", how) for how in ("onehot", "gower")]
    ways = " or ".join(dict.fromkeys(options))
    if texts and used:
        roles.textual = texts
        use = "coded as zeros and ones" if choices.categorical == "onehot" else "compared by Gower"
        roles.notes.append(f"columns of text {use}: {join_names(map(repr, texts))}")
    elif texts and choices.features:
        raise DataError(
            f"{argument('features')}: column {texts[0]!r} is text. To use it, set {ways}."
        )
    elif texts:
        action = "ignored"
        if choices.categorical == "label":
            action = "kept as labels"
            roles.labels |= {name: frame.columns[name] for name in texts}
        kinds = [f"{n!r} ({len(set(frame.columns[n]) - {None})} kinds)" for n in texts[:6]]
        roles.notes.append(
            f"columns of text are {action}, not used as features: "
            f"{join_names(kinds + ['...'] * (len(texts) - len(kinds)))} (to use them: {ways})"
        )
        sentences = [name for name in texts if _holds_sentences(frame.columns[name])]
        if sentences and choices.text is None:
            roles.notes.append(
                f"column {sentences[0]!r} holds sentences (to make a map of their words: "
                f"{argument('text', sentences[0])})"
            )
    if not roles.numeric and not roles.textual:
        what = "no columns but ids, labels and dates"
        if texts:
            what = f"only text ({join_names(map(repr, texts))})"
            longest = max(texts, key=lambda name: sum(len(v or "") for v in frame.columns[name]))
            ways += f", or by its words with {argument('text', longest)}"
        raise DataError(
            f"{frame.source} has no column of numbers to make a map of: {what}. Check "
            f"{argument('delimiter', ...)} and {argument('decimal', ...)}, or use the text with "
            f"{ways}."
        )
