"""Short texts and HTML tables of results, for consoles and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any


def format_value(value: Any) -> str:
    """A value in a few characters: numbers with four digits, arrays by their shape."""
    if isinstance(value, float):
        return f"{value:.4g}"
    shape = getattr(value, "shape", None)
    if shape:
        return f"array of shape ({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
    return str(value)


def short_repr(result: object, facts: Mapping[str, Any]) -> str:
    """`Name(fact=value, ...)` on one line.

    >>> short_repr(object(), {"stress": 0.123456, "n": 3})
    'object(stress=0.1235, n=3)'
    """
    inside = ", ".join(f"{name}={format_value(value)}" for name, value in facts.items())
    return f"{type(result).__name__}({inside})"


def html_facts(title: str, facts: Mapping[str, Any]) -> str:
    """A table with a row for each fact."""
    return html_table(title, [], [[name, format_value(value)] for name, value in facts.items()])


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a caption; every string is text, not markup."""
    parts = [f"<table><caption>{escape(title)}</caption>"]
    if head:
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for first, *others in rows:
        cells = "".join(_cell(cell) for cell in others)
        parts.append(f"<tr><th>{escape(first)}</th>{cells}</tr>")
    return "".join([*parts, "</tbody></table>"])


def _cell(text: str) -> str:
    """A cell of a table; words begin at its left, which notebooks do not do of themselves."""
    words = any(letter.isalpha() for letter in text)
    style = ' style="text-align: left"' if words else ""
    return f"<td{style}>{escape(text)}</td>"
