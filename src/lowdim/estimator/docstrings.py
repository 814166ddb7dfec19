"""A reader of numpydoc docstrings, for the options of the command line and for other interfaces."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_HEAD = re.compile(r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: ?: ?(?P<rest>.*))?")
_RULE = re.compile(r"-{3,}")
_SEE = re.compile(r"[Ss]ee (?::class:)?`?(?P<name>\w+)`?\.")
_CITED = re.compile(r" \[\d+\]_")
_QUOTED = re.compile(r'"([^"]+)"')
_LONG = 70  # characters of a first line that is prose rather than a type
_NEXT = re.compile(r"(?<=\.) (?=\w+(?:, \w+)* : )")


@dataclass(frozen=True)
class Entry:
    """An entry of a section such as Parameters: one or more names with a description.

    Attributes
    ----------
    names : tuple of str
        What is described.
    type : str
        What stands after the colon, such as "int, default=5"; may be empty.
    text : str
        The description in one line, without references to the literature.
    """

    names: tuple[str, ...]
    type: str
    text: str

    @property
    def choices(self) -> list[str]:
        """The values of a type such as {"auto", "dense"}; none for other types."""
        listed = self.type.partition("}")[0]
        return _QUOTED.findall(listed) if listed.startswith("{") else []


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section, by its title; those before the first have the title "".

    Examples
    --------
    >>> sections("Sum.\\n\\nReturns\\n-------\\nint\\n    The sum.")
    {'': ['Sum.', ''], 'Returns': ['int', '    The sum.']}
    """
    contents: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(text).splitlines()
    title, skip = "", False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if skip:
            skip = False
        elif line.strip() and _RULE.fullmatch(below.strip()):
            title, skip = line.strip(), True
            contents[title] = []
        else:
            contents[title].append(line)
    return contents


def entries(lines: Sequence[str]) -> list[Entry]:
    """The entries of a section: names at the margin, descriptions indented below them.

    Examples
    --------
    >>> entries(["k : int, default=5", "    Number of", "    neighbours."])
    [Entry(names=('k',), type='int, default=5', text='Number of neighbours.')]
    """
    blocks: list[list[str]] = []
    blank = False
    for line in lines:
        if not line.strip():
            blank = True
            continue
        if line.startswith(" ") and blocks:
            blocks[-1].append(line.strip())
        elif blocks and len(blocks[-1]) == 1 and blocks[-1][0].endswith(","):
            blocks[-1][0] += f" {line.strip()}"  # names on two lines
        elif blank and blocks and _HEAD.fullmatch(line) is None:
            break  # prose after the last entry
        else:
            blocks.append([line.strip()])
        blank = False
    return [entry for head, *body in blocks for entry in _entries(head, body)]


def _entries(head: str, body: list[str]) -> list[Entry]:
    match = _HEAD.fullmatch(head)
    if match is None:
        return []
    names = tuple(match["names"].split(", "))
    rest, text = match["rest"] or "", _CITED.sub("", " ".join(body))
    typed = "default=" in rest or not rest or len(head) < _LONG
    if typed and text and not text[0].islower():
        return [Entry(names, rest, text)]
    # Not quite numpydoc: the description begins beside the names, perhaps with more entries in it.
    first, *others = _NEXT.split(f"{rest} {text}".strip())
    further = [entry for other in others for entry in _entries(other, [])]
    return [Entry(names, "", first), *further]


def parameters(cls: Any) -> dict[str, Entry]:
    """The parameters in the docstring of a class or function, by name.

    What a class does not describe itself, or only with "see OtherClass.", is taken from the classes
    it derives from.

    Examples
    --------
    >>> def scale(x, by=2.0):
    ...     '''Multiply.
    ...
    ...     Parameters
    ...     ----------
    ...     x : array
    ...         What to multiply.
    ...     by : float, default=2.0
    ...         The factor.
    ...     '''
    >>> parameters(scale)["by"].text
    'The factor.'
    """
    by_name: dict[str, Entry] = {}
    for base in reversed(getattr(cls, "__mro__", (cls,))):
        listed = entries(sections(base.__doc__ or "").get("Parameters", []))
        for entry in listed:
            for name in entry.names:
                if name not in by_name or _SEE.fullmatch(entry.text) is None:
                    by_name[name] = entry
    return by_name
