"""Results as short texts, HTML tables and values of JSON, for consoles and notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from html import escape
from typing import Any, TypeVar

Result = TypeVar("Result")


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


def summary(title: str) -> Callable[[type[Result]], type[Result]]:
    """Decorator of a class of results: `repr` and the table in notebooks, from its `_facts()`."""

    def add(cls: type[Result]) -> type[Result]:
        made: Any = cls
        made.__repr__ = lambda self: short_repr(self, self._facts())
        made._repr_html_ = lambda self: html_facts(title, self._facts())
        return cls

    return add


def json_value(value: Any) -> Any:
    """A value that JSON can hold: results as their attributes, what is not finite as None."""
    if hasattr(value, "to_dict"):
        return json_value(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return json_value(vars(value))
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return json_value(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [json_value(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


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


def text_table(rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Lines of columns side by side, the first `n_left` aligned at their left, the others right.

    >>> text_table([["a", "1"], ["bc", "10"]])
    ['a    1', 'bc  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{'<' if at < n_left else '>'}{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cell(text: str) -> str:
    """A cell of a table; words begin at its left, which notebooks do not do of themselves."""
    words = any(letter.isalpha() for letter in text)
    style = ' style="text-align: left"' if words else ""
    return f"<td{style}>{escape(text)}</td>"
