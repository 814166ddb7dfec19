"""Which columns are features, which are labels, and which name the objects."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.tables.errors import DataError, listed, shortened
from lowdim.tables.frame import Frame

CATEGORICAL = ("label", "ignore", "onehot", "gower")
MISSING_POLICIES = ("error", "drop", "mean", "keep")
_COUNTERS = ("", "idx", "row", "unnamed: 0", "sample")  # names of a first column that counts
_ID_NAME = re.compile(r"(.*[_ .-])?ids?|index|.*[a-z](Id|ID)|Id|ID")  # tweet_id, customerId, index
_EXACT = 2**53  # integers below have a float64 of their own
_TARGETS = ("label", "labels", "class", "target", "y", "species", "category", "digit", "cluster")


@dataclass(frozen=True)
class Choices:
    """What the user chose for the columns.

    `features` and `drop` may hold patterns such as "pixel*". `categorical`: columns of text are
    carried through as labels, ignored, coded as one column of zeros and ones a value ("onehot"),
    or kept as they are for Gower's distance. `missing`: values are an error, or their rows are
    dropped, or they are filled with the column's mean, or kept for a metric that accepts them.
    """

    id: str | None = None
    labels: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categorical: str = "label"
    missing: str = "error"
    standardize: bool = False


@dataclass
class Roles:
    """The columns by what they are for."""

    numeric: list[str]
    textual: list[str]
    labels: dict[str, Array]
    ids: Array | None = None
    id_name: str = "id"
    notes: list[str] = field(default_factory=list)


class Columns:
    """The columns of a frame by name."""

    def __init__(self, frame: Frame, source: str) -> None:
        self.frame, self.source = frame, source
        self.numbers = frame.number_names
        self.places = {name: place for place, name in enumerate(self.numbers)}
        self.names = frame.order or [*self.numbers, *frame.texts]
        self.all = frame.all_names

    def values(self, name: str) -> Array:
        column = self.frame.column(name)
        if name not in self.places or name in self.frame.beside:
            return column
        if self.frame.as_stored is not None and _whole(column):
            return _digits(self.frame.as_stored(name), column)
        return _tidy(column)

    def known(self, name: str, option: str) -> str:
        if name in self.all:
            return name
        close = difflib.get_close_matches(name, self.all, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f": it has {listed(self.all)}."
        raise DataError(f"{argument(option)}: {self.source} has no column {name!r}{hint}")

    def matching(self, patterns: Iterable[str], option: str) -> list[str]:
        chosen: dict[str, None] = {}
        for pattern in patterns:
            if pattern in self.all:
                found = [pattern]
            else:
                found = [name for name in self.all if fnmatchcase(name, pattern)]
            if not found:
                self.known(pattern, option)
            chosen.update(dict.fromkeys(found))
        return list(chosen)


def _whole(values: Array) -> bool:
    """Whether all known values are whole numbers."""
    if values.dtype.kind != "f":
        return values.dtype.kind in "iu"
    known = values[~np.isnan(values)]
    return bool(len(known) and np.isfinite(known).all() and (known == np.rint(known)).all())


def _tidy(values: Array) -> Array:
    """Whole numbers as integers: labels that a text file or Matlab holds as 3.0 are 3."""
    if values.dtype.kind == "f" and not np.isnan(values).any() and _whole(values):
        return values.astype(np.int64) if np.abs(values).max() < _EXACT else values
    return values


def _digits(stored: Array, numbers: Array) -> Array:
    """Whole numbers as they are stored: integers, or strings if that would change a digit."""
    if stored.dtype != object:
        return stored
    known = [v for v in stored.tolist() if v is not None]
    if not all(re.fullmatch(r"[+-]?\d+", v) for v in known):  # 3.0, 1e3
        return _tidy(numbers)
    integers = [int(v) for v in known]
    same = all(str(i) == v for i, v in zip(integers, known, strict=True))
    if same and len(known) == len(stored) and all(-(2**63) <= i < 2**63 for i in integers):
        return np.array(integers, dtype=np.int64)
    if same and all(abs(i) < _EXACT for i in integers):
        return numbers  # NaN where a value is missing
    return stored


def assign(frame: Frame, choices: Choices, source: str) -> Roles:
    """The role of every column: as the user chose, otherwise guessed from name and content."""
    columns = Columns(frame, source)
    dropped = set(columns.matching(choices.drop, "drop"))
    chosen = columns.matching(choices.features, "features")
    wanted = [columns.known(name, "labels") for name in choices.labels]
    roles = Roles([], [], {})
    taken = {*dropped, *chosen, *wanted}
    _assign_ids(columns, choices, taken, roles)
    if roles.ids is not None:
        taken.add(roles.id_name)
    for name in wanted:
        if roles.ids is None or name != roles.id_name:
            roles.labels[name] = columns.values(name)
    _assign_beside(columns, taken, roles)
    features = chosen or [name for name in columns.names if name not in taken]
    if not chosen:
        features = _without_references(columns, features, roles)
    if not chosen and not wanted:
        features = _without_target(columns, features, roles)
    _assign_features(columns, choices, features, bool(chosen), roles)
    return roles


def _assign_ids(columns: Columns, choices: Choices, taken: set[str], roles: Roles) -> None:
    frame = columns.frame
    if choices.id is not None:
        name = columns.known(choices.id, "id")
        roles.ids, roles.id_name = _texts(columns.values(name)), name or "id"
        taken.add(name)
    elif frame.ids is not None:
        roles.ids = _texts(frame.ids)
    else:
        found = [name for name in columns.names if _are_ids(columns, name, taken)]
        if not found:
            return
        name = found[0]
        roles.ids, roles.id_name = _texts(columns.values(name)), name or "id"
        taken.add(name)
        called = f"column {name!r}" if name else "the first column"
        roles.notes.append(
            f"{called} tells the objects apart: taken as their ids (change with "
            f"{argument('id', ...)} or {argument('drop', ...)})"
        )
    if roles.ids is None:
        return
    distinct, counts = np.unique(roles.ids.astype(str), return_counts=True)
    if counts.max() > 1:
        twice = str(distinct[counts.argmax()])
        rows = np.flatnonzero(roles.ids.astype(str) == twice)
        raise DataError(
            f"{columns.source}: the ids are not distinct: {shortened(twice)!r} occurs in "
            f"{frame.place(rows[0])} and {frame.place(rows[1])}. Choose another "
            f"{argument('id', ...)}, or carry the column as one of {argument('labels', ...)}."
        )


def _are_ids(columns: Columns, name: str, taken: set[str]) -> bool:
    """Whether a column looks like ids: by its name, or as a first column of text or a counter."""
    frame = columns.frame
    if name in taken or name in frame.mixed:
        return False
    first = name == columns.names[0]
    named = _named_as_ids(name) or (first and name.strip().lower() in _COUNTERS)
    if not named and not (first and name in frame.texts):
        return False
    values = columns.values(name)
    if values.dtype.kind not in "iuO":
        return False
    listed_values = values.tolist()
    return None not in listed_values and len(set(listed_values)) == len(listed_values) > 1


def _named_as_ids(name: str) -> bool:
    return _ID_NAME.fullmatch(name.strip()) is not None or name.strip().lower() in ("id", "index")


def _texts(values: Array) -> Array:
    return np.array(["" if v is None else str(v) for v in values.tolist()], dtype=object)


def _assign_beside(columns: Columns, taken: set[str], roles: Roles) -> None:
    carried = [name for name in columns.frame.beside if name not in taken]
    for name in carried:
        roles.labels[name] = _tidy(columns.frame.beside[name])
    if carried:
        roles.notes.append(f"carried through as labels: {listed(carried)}")


def _without_references(columns: Columns, features: list[str], roles: Roles) -> list[str]:
    """Whole numbers in a column named as ids, such as customer_id, name things: they are labels."""
    found = [
        name
        for name in features
        if name in columns.places
        and _named_as_ids(name)
        and columns.values(name).dtype.kind in "iuO"
    ]
    if not found or len(found) == len(features):
        return features
    for name in found:
        roles.labels[name] = columns.values(name)
    roles.notes.append(
        f"named as ids, so carried through as labels: {listed(map(repr, found))} (change with "
        f"{argument('features', ...)})"
    )
    return [name for name in features if name not in found]


def _without_target(columns: Columns, features: list[str], roles: Roles) -> list[str]:
    """A column of whole numbers called "label" or the like describes the objects."""
    called = {name.strip().lower() for name in features}
    if "y" in called and called & {"x", "z"}:  # coordinates
        return features
    targets = [
        name
        for name in features
        if name.strip().lower() in _TARGETS
        and name in columns.places
        and columns.values(name).dtype.kind in "bi"
    ]
    if not targets or len(targets) == len(features):
        return features
    for name in targets:
        roles.labels[name] = columns.values(name)
        roles.notes.append(
            f"column {name!r} is taken as a label because of its name (change with "
            f"{argument('features', ...)})"
        )
    return [name for name in features if name not in targets]


def _assign_features(
    columns: Columns, choices: Choices, features: list[str], explicit: bool, roles: Roles
) -> None:
    frame = columns.frame
    for name in features:
        if name in frame.mixed and not (explicit and choices.categorical in ("onehot", "gower")):
            row, value, count = frame.mixed[name]
            known = sum(v is not None for v in frame.texts[name])
            raise DataError(
                f"{columns.source}: column {name!r} holds numbers ({count} of {known}), but "
                f"{frame.place(row)} has {shortened(value)!r}. Correct it, or read it as "
                f"missing ({argument('na', [shortened(value)])}), or leave the column out "
                f"({argument('drop', [name])})."
            )
    texts = [name for name in features if name not in columns.places]
    roles.numeric = [name for name in features if name in columns.places]
    if texts and choices.categorical in ("onehot", "gower"):
        roles.textual = texts
        use = "coded as zeros and ones" if choices.categorical == "onehot" else "compared by Gower"
        roles.notes.append(f"columns of text {use}: {listed(map(repr, texts))}")
    elif texts and explicit:
        raise DataError(
            f"{argument('features')}: column {texts[0]!r} is text. To use it, set {_use_text()}."
        )
    elif texts:
        _set_aside(columns, choices, texts, roles)
    if not roles.numeric and not roles.textual:
        what = f"only text ({listed(map(repr, texts))})" if texts else "no columns but ids, labels"
        raise DataError(
            f"{columns.source} has no column of numbers to make a map of: {what}. Check "
            f"{argument('delimiter', ...)} and {argument('decimal', ...)}, or use the text with "
            f"{_use_text()}."
        )


def _use_text() -> str:
    return f"{argument('categorical', 'onehot')} or {argument('categorical', 'gower')}"


def _set_aside(columns: Columns, choices: Choices, texts: list[str], roles: Roles) -> None:
    if choices.categorical == "label":
        for name in texts:
            roles.labels[name] = columns.values(name)
    fate = "carried through as labels" if choices.categorical == "label" else "ignored"
    kinds = [
        f"{name!r} ({len(set(columns.frame.texts[name]) - {None})} kinds)" for name in texts[:6]
    ]
    roles.notes.append(
        f"columns of text are {fate}, not used as features: "
        f"{listed(kinds + ['...'] * (len(texts) - len(kinds)))} "
        f"(to use them: {_use_text()})"
    )
