"""HTML from strings that may hold anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def clean(value: Any) -> str:
    """Any value as a string, with � for control characters and halves of surrogate pairs."""
    return _CONTROL.sub("\ufffd", str(value))


def text(value: Any) -> str:
    """Any value as HTML text or attribute: nothing in it is markup."""
    return escape(clean(value), quote=True)


def tag(name: str, *content: str, **attributes: Any) -> str:
    """An element; the content is HTML, the attributes are text.

    Attributes are written with `_` for `-`, `class_` for `class`; True stands for an attribute
    without a value, and those that are None or False are left out.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{text(value)}"')
    return f"<{' '.join(parts)}>{''.join(content)}</{name}>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells of HTML."""
    names = tag("tr", *(tag("th", name, scope="col") for name in head))
    body = (tag("tr", *(tag("td", cell) for cell in cells)) for cells in rows)
    return tag("table", tag("thead", names), tag("tbody", *body))


def user_name(value: Any) -> str:
    """A name given by the user; its direction of writing does not leak into the text around it."""
    return tag("bdi", text(value))
