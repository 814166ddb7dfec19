"""Errors of files: one line that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from lowdim.messages import one_line


class DataError(ValueError):
    """The content of a file cannot be used as it is."""


def require(module: str, extra: str, what: str) -> Any:
    """An optional package, or an ImportError that says which extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{what} need {package}: pip install "lowdim[{extra}]"') from error


def damage_error(path: Path | str, kind: str, error: Exception) -> DataError:
    """The error for a file that its reader could not read."""
    return DataError(
        f"{path} cannot be read as {kind}; it may be cut short or damaged, or be a file of "
        f"another kind ({shorten(one_line(error), 160)})."
    )


@contextmanager
def damage_errors(path: Path | str, kind: str) -> Iterator[None]:
    """Turn every error of a library into a DataError of one line: damaged files lead to many."""
    try:
        yield
    except (DataError, MemoryError):
        raise
    except Exception as error:
        if "allow_pickle" in str(error) or "Python objects" in str(error):
            raise DataError(
                f"{path} holds pickled Python objects, which may run code when they are loaded "
                "and are never read; save plain arrays of numbers."
            ) from error
        raise damage_error(path, kind, error) from error


def shorten(text: str, most: int = 40) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def join_names(names: Iterable[Any], most: int = 6) -> str:
    """Names for a message: all of them, or the first few and how many there are."""
    names = [shorten(str(name)) for name in names]
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])}, ... ({len(names)} in all)"
