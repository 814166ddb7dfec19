"""Messages of the library, in which Python arguments become options of the command line."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Mapping

import click

from lowdim.cli.parameters import argument_of
from lowdim.cli.types import Size

_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"{_STRING}|\[(?:{_STRING}|[^\]'\"])*\]|\([\d, ]*\)|True\b|False\b|None\b"
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"  # not in a note: columns may be called kind=3
_OUTSIDE = r"(?<![\w.'\"`/-])"  # not inside of a longer name, a quoted one or a path


def options_of(context: click.Context | None) -> dict[str, click.Option]:
    """The options of a command by the Python argument that each of them sets."""
    return (
        {}
        if context is None
        else {
            argument_of(parameter): parameter
            for parameter in context.command.get_params(context)
            if isinstance(parameter, click.Option)
        }
    )


def note_in_options(text: str, options: Mapping[str, click.Option]) -> str:
    """A note on a table, with `name=value` as an option; all other words may be column names.

    >>> import click
    >>> options = {"missing": click.Option(["--missing"])}
    >>> note_in_options('3 rows have gaps (change with missing="drop")', options)
    '3 rows have gaps (change with --missing drop)'
    """
    return _assigned(text, options, _VALUE)


def in_options(text: str, options: Mapping[str, click.Option]) -> str:
    """An error or a warning, with the names of arguments as options.

    A name that is also an English word, such as "metric", is replaced only where it begins the
    message.

    >>> import click
    >>> options = {"n_neighbors": click.Option(["-k", "--n-neighbors"])}
    >>> in_options("Isomap: n_neighbors must be at most 9, got 20.", options)
    'Isomap: --n-neighbors must be at most 9, got 20.'
    """
    if not options:
        return text
    text = _assigned(text, options, rf"{_VALUE}|{_NUMBER}")
    first = re.compile(rf"^((?:\w+: )?)({_any(options)})(?=:| must\b| is\b| has\b)")
    text = first.sub(lambda found: found[1] + _flag(options[found[2]]), text)
    joined = [name for name in options if "_" in name]
    if joined:
        alone = re.compile(rf"{_OUTSIDE}({_any(joined)})(?![\w('\"=]|\.\w)")
        text = alone.sub(lambda found: _flag(options[found[1]]), text)
    return text


def _assigned(text: str, options: Mapping[str, click.Option], value: str) -> str:
    if not options:
        return text
    assigned = re.compile(rf"{_OUTSIDE}({_any(options)})=({value}|(?!\w))")
    return assigned.sub(lambda found: _typed(options[found[1]], found[2]), text)


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


def _flag(option: click.Option) -> str:
    return max(option.opts, key=len)


def _typed(option: click.Option, written: str) -> str:
    """An option with a value, as one would type it; `written` is the Python value."""
    flag = _flag(option)
    if not written:
        return flag
    value = ast.literal_eval(written)
    if isinstance(value, bool) and (option.is_flag or option.secondary_opts):
        return flag if value or not option.secondary_opts else max(option.secondary_opts, key=len)
    if isinstance(value, list | tuple):
        value = ("x" if isinstance(option.type, Size) else ",").join(map(str, value))
    if value is None or isinstance(value, bool):
        value = str(value).lower()
    return f"{flag} {shlex.quote(str(value))}"
