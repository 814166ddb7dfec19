"""The columns of a data set as the page shows them, and their values as they are stored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.plot.colors import days

MOST_COLUMNS = 200  # that are listed
MOST_CATEGORIES = 1000  # of a column of text, beyond which it is text
FEW_VALUES = 50  # of a label of whole numbers, up to which it is a category
BINS = 24  # of a histogram
COMMONEST = 12  # values of a category that are listed


def describe_columns(table: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The description of the columns, and their values."""
    stored: dict[str, Any] = {
        "numbers": [],
        "codes": [],
        "texts": {},
        "categories": {},
        "places": {},
    }
    features = set(table.columns or table.file_columns)
    text = table.recipe.text.column if table.recipe and table.recipe.text else None
    made = features if text else set()  # of the text, not columns of the file
    names = [*table.labels, *(name for name in table.file_columns if name not in table.labels)]
    names = [name for name in names if name not in made]
    described = []
    for name in names[:MOST_COLUMNS]:
        values = np.asarray(table.labels.get(name, table.file_columns.get(name)))
        is_id = table.ids is not None and name == table.id_name
        role = "id" if is_id else "label" if name in table.labels else "feature"
        role = "text" if name == text else role
        if role == "feature" and name not in features:
            coded = any(one.startswith(f"{name}=") for one in features)
            role = "feature" if coded else "ignore"
        column = _describe(name, values, role, stored)
        described.append({"name": name, "role": role, **column})
    return described, stored


def _describe(name: str, values: Array, role: str, stored: dict[str, Any]) -> dict[str, Any]:
    if values.dtype.kind == "M":
        return _describe_dates(name, values, stored)
    numeric = values.dtype.kind in "biuf"
    few = numeric and role == "label" and _few_whole_numbers(values)
    if numeric and not few:
        stored["places"][name] = "number", len(stored["numbers"])
        stored["numbers"].append(values.astype(np.float32))
        return {"kind": "number", **_histogram(values.astype(np.float64))}
    texts = [None if _is_missing(one) else _text(one) for one in values.tolist()]
    kinds, counts = np.unique(
        np.array([one for one in texts if one is not None], dtype=object).astype(str),
        return_counts=True,
    )
    missing = sum(one is None for one in texts)
    facts: dict[str, Any] = {"missing": missing, "distinct": len(kinds)}
    if role == "id" or len(kinds) > min(MOST_CATEGORIES, max(20, len(texts) // 2)):
        stored["texts"][name] = texts
        return {"kind": "id" if role == "id" else "text", **facts}
    if few:
        order = np.argsort(kinds.astype(np.float64), kind="stable")
        kinds, counts = kinds[order], counts[order]
    codes = {kind: code for code, kind in enumerate(kinds.tolist())}
    stored["places"][name] = "category", len(stored["codes"])
    stored["categories"][name] = kinds.tolist()
    stored["codes"].append([-1 if one is None else codes[one] for one in texts])
    top = np.argsort(-counts, kind="stable")[:COMMONEST]
    facts["top"] = [[str(kinds[at]), int(counts[at])] for at in top]
    return {"kind": "category", **facts}


def _describe_dates(name: str, values: Array, stored: dict[str, Any]) -> dict[str, Any]:
    """Dates as days since the first day of the column: float32 then holds them to the minute."""
    since_1970 = days(values)
    known = since_1970[np.isfinite(since_1970)]
    origin = float(np.floor(known.min())) if len(known) else 0.0
    stored["places"][name] = "date", len(stored["numbers"])
    stored["numbers"].append((since_1970 - origin).astype(np.float32))
    stored["categories"][name] = origin
    return {"kind": "date", "origin": origin, **_histogram(since_1970 - origin)}


def _few_whole_numbers(values: Array) -> bool:
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    whole = values.dtype.kind in "biu" or bool((known == np.rint(known)).all())
    return whole and len(np.unique(known)) <= FEW_VALUES


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _histogram(values: Array) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    facts: dict[str, Any] = {"missing": len(values) - len(known), "distinct": len(np.unique(known))}
    if not len(known):
        return facts
    low, high = float(known.min()), float(known.max())
    counts = np.histogram(known, BINS, (low, high if high > low else low + 1))[0]
    return {**facts, "low": low, "high": high, "histogram": counts.tolist()}


def choose_label(chosen: str | None, columns: list[dict[str, Any]]) -> str | None:
    """The label that colours the map: as chosen, else the first category, else the first label."""
    labels = [one for one in columns if one["role"] == "label" and one["kind"] != "text"]
    names = [one["name"] for one in labels]
    if chosen in names:
        return chosen
    categories = [one["name"] for one in labels if one["kind"] == "category"]
    return next(iter([*categories, *names]), None)
