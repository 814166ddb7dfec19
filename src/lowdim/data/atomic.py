"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from lowdim.data.errors import WouldOverwrite


def check_writable(path: str | PathLike[str], *, force: bool = False) -> Path:
    """Raise now rather than after the work if a file cannot be written there."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist; make it first.")
    if not force and os.path.lexists(path):
        raise WouldOverwrite(
            f"{path} exists and is left as it is; choose another name, or replace it with --force "
            "(force=True in Python)."
        )
    return path


@contextmanager
def replacing(path: str | PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """A temporary file beside `path` that becomes `path` when all went well, and else vanishes."""
    path = check_writable(path, force=force)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        check_writable(path, force=force)  # another process may have been faster
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
