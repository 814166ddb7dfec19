"""Atomic writing: under its name a file is either the complete new one or the old one.

Every file that lowdim writes (models, graphs, tables, reports, pictures, animations) goes through
`replace_file`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from lowdim.messages import argument

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAME_CHARACTERS = 40  # of the target in a temporary name: file names are limited to 255 bytes
_SUFFIX_CHARACTERS = 16  # a longer "suffix" is no file format


class WouldOverwrite(FileExistsError):
    """The output file exists and the caller did not ask to replace it."""


def check_writable(path: str | PathLike[str], *, force: bool) -> None:
    """Raise OSError, before a long computation, if its result could not be written to `path`.

    It is `WouldOverwrite` if the file exists and `force` is false.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"The folder {path.parent} cannot be written to; choose another one.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file, so it cannot be replaced.")
    if not force and os.path.lexists(path):
        raise WouldOverwrite(
            f"{path} already exists and was not changed. Choose another name, or replace it "
            f"with {argument('force', True)}."
        )


@contextmanager
def replace_file(path: str | PathLike[str], *, force: bool) -> Iterator[Path]:
    """Write a file under a temporary name that becomes `path` when the block ends.

    The block gets the path of an empty file in the same folder, with the same suffix. The file is
    flushed to the disk before it is renamed. If the block raises, it is removed, and a file at
    `path` is unchanged. Symbolic links are followed. The new file has the permissions of the file
    that it replaces, or those that the umask gives to a new one. Without `force`, also a file that
    another process creates in the meantime is not replaced.
    """
    check_writable(path, force=force)
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} is a link into {target.parent}, which does not exist.")
    suffix = target.suffix if len(target.suffix) <= _SUFFIX_CHARACTERS else ""
    name = f".{target.name[:_NAME_CHARACTERS]}.lowdim-{secrets.token_hex(8)}{suffix}"
    temporary = target.with_name(name)
    try:
        # Created here: never another file by accident, and with the permissions of the umask.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        _flush(temporary)
        _publish(temporary, target, path, force)
    except Exception as error:
        explained = _in_terms_of(path, temporary, error)
        if explained is None:
            raise
        raise explained from error
    finally:
        temporary.unlink(missing_ok=True)


def _publish(temporary: Path, target: Path, path: str | PathLike[str], force: bool) -> None:
    """Give the complete file its name."""
    if force:
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    else:
        try:
            # Both fail if the target exists, which is tested and done in one step.
            os.rename(temporary, target) if os.name == "nt" else os.link(temporary, target)
        except FileExistsError:
            check_writable(path, force=False)
            raise
        except OSError:  # a file system without hard links
            check_writable(path, force=False)
            os.replace(temporary, target)
    if os.name != "nt":  # where a folder cannot be opened
        with suppress(OSError):  # nor does every file system flush folders
            _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _in_terms_of(path: str | PathLike[str], temporary: Path, error: Exception) -> OSError | None:
    """An error that names the file that the caller knows; None if the error need not be changed."""
    number = getattr(error, "errno", None)
    kept = "; the existing file is unchanged" if os.path.exists(path) else ""
    # HDF5 and Arrow have the reason in the text of the message only.
    full = next((c for c in _FULL if number == c or os.strerror(c) in str(error)), None)
    if full is not None:
        return OSError(full, f"{os.strerror(full)}, the file was not written{kept}", str(path))
    if type(error) is OSError and number is None:  # NumPy: "100 requested and 12 written"
        return OSError(f"{path} was not written: {error}{kept}.")
    if isinstance(error, OSError) and error.filename in (temporary, str(temporary)):
        return type(error)(number, error.strerror, str(path))
    return None
