"""Search for objects by id, text, category or value."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array
from lowdim.studio.datasets import read_about, read_column, read_letters, read_value

MOST_HITS = 20  # objects that are listed
_CONDITION = re.compile(r"(.+?)\s*(<=|>=|!=|=|<|>)\s*(.+)")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": lambda a, b: _equal(a, b),
    "!=": lambda a, b: ~_equal(a, b),
}
_END = ord("\n")  # between the texts of two objects
_MANY = 0.02  # of the letters: so many places are kept as one byte a letter, not as a list

_SAMPLE = 100_000  # letters by which the rarest one of a query is found


class Hits(NamedTuple):
    """Rows that match in a column; None stands for the ids."""

    column: str | None
    rows: Array


def search(folder: Path, query: str) -> list[Hits]:
    """The objects that match a query, by column.

    A query is a condition on a column (`alcohol > 14`, `cultivar = class_1`), or a text that is
    sought in the ids, in the columns of text and in the names of categories; a number is also
    compared with the values of all columns of numbers.
    """
    about = read_about(folder)
    query = query.strip().lower().replace("\n", " ")
    if not query:
        return []
    condition = _CONDITION.fullmatch(query)
    names = {name.lower(): name for name in [*about["places"], *about["texts"]]}
    if condition is not None and condition[1] in names:
        name, how, value = names[condition[1]], condition[2], condition[3]
        return [Hits(name, _find_condition(folder, name, how, value))]
    hits = [Hits(None, _find_text(folder, None, query))] if about["ids"] is not None else []
    hits += [Hits(name, _find_text(folder, name, query)) for name in about["texts"]]
    number = _as_number(query)
    for name, (kind, _) in about["places"].items():
        if kind == "category":
            hits.append(Hits(name, _find_kinds(folder, name, lambda kind: query in kind)))
        elif kind == "number" and number is not None:
            values = np.asarray(read_column(folder, name))
            hits.append(Hits(name, np.flatnonzero(_equal(values, number))))
    return [one for one in hits if len(one.rows)]


def read_ahead(folder: Path) -> None:
    """Read what searches need, so that the first one is as quick as the others."""
    about = read_about(folder)
    for name in [*([] if about["ids"] is None else [None]), *about["texts"]]:
        _texts(folder, name)


def describe_hits(folder: Path, hits: list[Hits]) -> dict[str, Any]:
    """How many objects match, and the first of them with what matches."""
    ids = read_about(folder)["ids"]
    listed: dict[int, str | None] = {}
    for column, rows in hits:
        for row in rows[: MOST_HITS - len(listed)].tolist():
            listed.setdefault(row, column)
    described = [
        {
            "row": row,
            "name": f"row {row}" if ids is None else ids[row],
            "column": column,
            "value": "" if column is None else _text(read_value(folder, column, row)),
        }
        for row, column in listed.items()
    ]
    return {"total": len(all_rows(hits)), "hits": described}


def all_rows(hits: list[Hits]) -> Array:
    """The rows of all hits, in order."""
    is_hit = np.zeros(1 + max((int(one.rows.max(initial=-1)) for one in hits), default=-1), bool)
    for one in hits:
        is_hit[one.rows] = True
    return np.flatnonzero(is_hit)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _equal(values: Array, number: float) -> Array:
    """Whether values, which are float32, are a number as people write it."""
    return np.asarray(np.abs(values - number) <= 1e-5 * abs(number))


def _find_condition(folder: Path, name: str, how: str, value: str) -> Array:
    about = read_about(folder)
    if name in about["texts"]:
        return _find_text(folder, name, value)
    kind, _ = about["places"][name]
    if kind == "category":
        differs = how == "!="
        return _find_kinds(folder, name, lambda kind: (kind == value) != differs)
    number = _as_number(value)
    if kind == "date":
        number = _days(value, about["categories"][name])
    if number is None:
        return np.empty(0, np.int64)
    return np.flatnonzero(_COMPARE[how](np.asarray(read_column(folder, name)), number))


def _days(text: str, origin: float) -> float | None:
    """A date as the values of a column are: days since its first one."""
    try:
        return float(np.datetime64(text.replace(" ", "T"), "m").astype(float)) / 1440 - origin
    except ValueError:
        return None


def _find_kinds(folder: Path, name: str, matches: Callable[[str], bool]) -> Array:
    values = read_column(folder, name)
    assert isinstance(values, dict)
    passing = np.array([*(matches(kind.lower()) for kind in values["categories"]), False])
    return np.flatnonzero(passing[values["codes"]]) if passing.any() else np.empty(0, np.int64)


class _Texts(NamedTuple):
    """All texts of a column as bytes, the start of each, and the counts of bytes in a sample."""

    letters: Array
    starts: Array
    counts: Array


@lru_cache(maxsize=8)
def _texts(folder: Path, name: str | None) -> _Texts:
    letters = read_letters(folder, name)
    starts = np.concatenate([[0], np.flatnonzero(letters == _END)[:-1] + 1])
    sample = letters[:: 1 + len(letters) // _SAMPLE]
    return _Texts(letters, starts, np.bincount(sample, minlength=256))


def _find_text(folder: Path, name: str | None, query: str) -> Array:
    """The rows whose text holds the query; those equal to it come first, then those it begins."""
    letters, starts, counts = _texts(folder, name)
    wanted = np.frombuffer(query.encode(), np.uint8)
    rarest, *others = np.argsort(counts[wanted], kind="stable").tolist()
    n = max(len(letters) - len(wanted), 0)
    begins = np.zeros(len(letters), bool)  # whether the query begins at a letter
    begins[:n] = letters[rarest : n + rarest] == wanted[rarest]
    while others and np.count_nonzero(begins) > _MANY * n:
        k = others.pop(0)
        begins[:n] &= letters[k : n + k] == wanted[k]
    if others or np.count_nonzero(begins) <= _MANY * n:
        at = np.flatnonzero(begins)
        for k in others:
            at = at[letters[at + k] == wanted[k]]
        row, place = np.unique(np.searchsorted(starts, at, side="right") - 1, return_index=True)
        first = at[place] == starts[row]
    else:
        row = np.flatnonzero(np.logical_or.reduceat(begins, starts))
        first = begins[starts[row]]
    whole = first & (letters[np.minimum(starts[row] + len(wanted), len(letters) - 1)] == _END)
    return np.concatenate([row[whole], row[first & ~whole], row[~first]])
