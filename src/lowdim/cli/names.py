"""Methods by the names that people type."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.types import ParamType

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from lowdim.catalog import Method


_SHORT_NAME = 7  # letters of a name that needs no short form


def normalize_name(name: str) -> str:
    """A name without case, hyphens, spaces and the like."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def alias(name: str) -> str:
    """The short form: lle of LocallyLinearEmbedding, kpca of KernelPCA, isomap of Isomap."""
    words = re.findall(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]*", name)
    if len(words) < 2 or len(name) <= _SHORT_NAME:
        return normalize_name(name)
    return "".join(word if word.isupper() else word[0] for word in words).lower()


def aliases() -> dict[str, Method]:
    """All normalized names of all methods; a short form that two share is left out.

    >>> aliases()["lle"].name
    'LocallyLinearEmbedding'
    """
    from lowdim.catalog import CATALOG

    short: dict[str, Method | None] = {}
    for method in CATALOG:
        key = alias(method.name)
        short[key] = None if key in short else method
    names = {key: method for key, method in short.items() if method is not None}
    return names | {normalize_name(method.name): method for method in CATALOG}


def find(name: str) -> Method:
    """The method of a name, of its short form, or of a beginning that no other method has."""
    names, key = aliases(), normalize_name(name)
    if key in names:
        return names[key]
    begun = {m.name: m for full, m in names.items() if key and full.startswith(key)}
    if len(begun) == 1:
        return next(iter(begun.values()))
    close = difflib.get_close_matches(key, names, n=1)
    known = ", ".join(sorted({alias(m.name) for m in names.values()}))
    hint = f"did you mean {close[0]!r}?" if close else f"choose one of {known}."
    raise click.BadParameter(f"there is no method {name!r}; {hint}")


class MethodName(ParamType):
    """A method, or several separated by commas."""

    name = "method"

    def __init__(self, several: bool = False) -> None:
        self.several = several

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if not isinstance(value, str):
            return value
        if not self.several:
            return find(value)
        return tuple(find(name) for name in value.split(",") if name.strip())

    def shell_complete(self, context: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from lowdim.catalog import CATALOG

        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        return [
            CompletionItem(f"{before}{comma}{alias(method.name)}", help=method.keeps)
            for method in CATALOG
            if alias(method.name).startswith(normalize_name(last))
        ]
