"""Docstrings as they are written here, turned into reStructuredText.

They are plain text: paragraphs, names in single backticks, indented formulas, and sections whose
entries are `name, name : what it is`. Characters that would be markup elsewhere are text.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?P<rest>.*)", re.DOTALL)
NEXT = re.compile(r"(?<=\.) (?=\w+(?:, \w+)* : )")  # a second entry on the same line
LISTED = re.compile(r"\w+(, \w+)* : ")
CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
PROSE = ("Notes", "References", "See Also")
TYPE_WIDTH = 60  # a first line shorter than this, before a capital letter, is a type of its own


def to_rst(text: str, defaults: dict[str, str] | None = None) -> list[str]:
    """The lines of a docstring; a parameter's default stands beside its name."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = block.splitlines()
        if len(lines) > 1 and re.fullmatch(r"-{3,}", lines[1].strip()):
            title = lines[0].strip()
            out += [f".. rubric:: {title}", ""]
            if title == "Examples":
                out += [*lines[2:], ""]
            elif title in PROSE:
                out += [*(escaped(line) for line in lines[2:]), ""]
            else:
                out += _entries(lines[2:], defaults or {} if title == "Parameters" else {})
        elif lines[0].startswith(">>> "):
            out += [*lines, ""]
        elif LISTED.match(lines[0]):
            out += _entries(lines, {})
        elif all(line.startswith("    ") for line in lines):
            out += ["::", "", *lines, ""]
        else:
            out += [*(escaped(line) for line in lines), ""]
    return out


def escaped(text: str) -> str:
    """Text in which only backticks are markup."""
    parts = CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"``{part.strip('`')}``"
        else:
            plain = re.sub(r"([\\*|])", r"\\\1", part)
            parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", plain)
    return "".join(parts)


def _entries(lines: list[str], defaults: dict[str, str]) -> list[str]:
    """A definition list of `names : text` and what is indented below each."""
    entries: list[list[str]] = []
    for line in lines:
        if entries and line.startswith(" "):
            entries[-1].append(line.strip())
        elif entries and entries[-1][0].endswith(",") and " : " not in entries[-1][0]:
            entries[-1][0] += f" {line}"
        else:
            entries.append([line.strip()])
    out: list[str] = []
    for head, *body in entries:
        names, colon, first = head.partition(" : ")
        typed = colon and body and len(first) < TYPE_WIDTH and body[0][:1].isupper()
        if typed and first[-1:] not in ".,;:":
            first += "."
        said, *further = NEXT.split(" ".join([first, *body] if colon else body))
        out += _entry(names, said, defaults)
        for names, _, said in (one.partition(" : ") for one in further):
            out += _entry(names, said, defaults)
    return out


def _entry(names: str, said: str, defaults: dict[str, str]) -> list[str]:
    found = ENTRY.fullmatch(names)
    shown = escaped(names)
    if found is not None:
        named = [_named(name, defaults) for name in found["names"].split(", ")]
        shown = ", ".join(named) + escaped(found["rest"])
    return [shown, f"    {escaped(said)}", ""] if said else [shown, ""]


def _named(name: str, defaults: dict[str, str]) -> str:
    return f"``{name}={defaults[name]}``" if name in defaults else f"``{name}``"


def defaults_of(what: str, obj: Any) -> dict[str, str]:
    """The defaults of a function's or class's arguments, as they would be typed."""
    if what not in ("class", "function", "method"):
        return {}
    try:
        parameters = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return {}
    empty = inspect.Parameter.empty
    return {name: repr(p.default) for name, p in parameters.items() if p.default is not empty}


def _process(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = to_rst("\n".join(lines), defaults_of(what, obj))


def _skip(_app: Any, _what: str, _name: str, obj: Any, skip: bool, _options: Any) -> bool:
    """Fields of named tuples are told in the class's own words."""
    return skip or str(getattr(obj, "__doc__", None)).startswith("Alias for field number")


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
