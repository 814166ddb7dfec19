"""How a file is to be read, where the file itself does not say."""

from __future__ import annotations

from dataclasses import dataclass, field

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", "-")
"""What stands for a missing value in text."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; None where it is to be told from the file."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = MISSING


@dataclass(frozen=True)
class Options:
    """Of all formats: each takes what concerns it."""

    dialect: Dialect = field(default_factory=Dialect)
    key: str | None = None  # which array of a file that holds several
    image_size: tuple[int, int] | None = None  # width and height that images are brought to
    color: bool = False  # images in three channels instead of one
