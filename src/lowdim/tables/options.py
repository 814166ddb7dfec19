"""Options of reading a file that its content does not determine."""

from __future__ import annotations

from dataclasses import dataclass, field

MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", "-")
"""Texts that mean a missing value."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; None where it is to be guessed from the file."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = MISSING_TEXTS
    comments: bool = False  # whether lines that begin with # are comments


@dataclass(frozen=True)
class Options:
    """The options of all formats; each reader uses its own."""

    dialect: Dialect = field(default_factory=Dialect)
    ending: str = ""  # that names the format, whatever the file is called
    key: str | None = None  # which array of a file that holds several
    image_size: tuple[int, int] | None = None  # width and height that images are brought to
    color: bool = False  # images in three channels instead of one
