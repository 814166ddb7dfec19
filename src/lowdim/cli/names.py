"""Methods by the names that people type, and other types of the values of options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from lowdim.catalog import CATALOG, Method
from lowdim.checks import did_you_mean
from lowdim.cli.console import Command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    ParamType = click.ParamType[Any]
else:  # generic only in the newest click
    ParamType = click.ParamType

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
    known = ", ".join(sorted({alias(m.name) for m in names.values()}))
    hint = did_you_mean(key, names) or f" Choose one of {known}."
    raise click.BadParameter(f"there is no method {name!r}.{hint} `lowdim methods` lists all.")


class MethodName(ParamType):
    """A method, or several separated by commas."""

    name = "method"

    def __init__(self, several: bool = False) -> None:
        self.several = several

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if not isinstance(value, str):
            return value
        names = [name for name in value.split(",") if name.strip()]
        if not names:
            raise click.BadParameter("give the name of a method; `lowdim methods` lists them.")
        if self.several:
            return tuple(map(find, names))
        if len(names) > 1:
            raise click.BadParameter("give one method; `lowdim compare` takes several.")
        return find(value)

    def shell_complete(self, context: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        return [
            CompletionItem(f"{before}{comma}{alias(method.name)}", help=method.keeps)
            for method in CATALOG
            if alias(method.name).startswith(normalize_name(last))
        ]


def method_option(help: str, *, several: bool = False, multiple: bool = False) -> Command:
    """The option -m of a command."""
    flag = "--embedders" if several else "--embedder"
    return click.option(
        "-m", flag, "method", type=MethodName(several), multiple=multiple, help=help
    )


class Names(ParamType):
    """Column names, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        return [v.strip() for v in value.split(",")] if isinstance(value, str) else value


class Size(ParamType):
    """Width and height in pixels."""

    name = "width x height"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        match = re.fullmatch(r"([1-9]\d*)[x,]([1-9]\d*)", value) if isinstance(value, str) else None
        if match is None:
            raise click.BadParameter(f"{value!r} is not a size such as 32x32.")
        return int(match[1]), int(match[2])
