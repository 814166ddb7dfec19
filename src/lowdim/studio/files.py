"""Files that the page may open: those in the root folder, and uploads."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request

from lowdim.studio.errors import Refused
from lowdim.studio.session import new_id
from lowdim.tables.formats import ENDINGS

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
LONGEST_NAME = 120
MOST_ENTRIES = 2000  # of a folder that are listed


def resolve_inside(root: Path, name: Any) -> Path:
    """A path of the page, relative to the root; refused if it leads out of it.

    Links are followed before the check. Names that begin with a dot, such as that of the session's
    own folder, are refused too.
    """
    if not isinstance(name, str) or "\0" in name:
        raise Refused("path must be a string.")
    try:
        path = (root / name).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise Refused(f"There is no file {name[:200]!r} in this folder.", 404) from error
    if not path.is_relative_to(root):
        raise Refused("Only files in the folder that the studio was started in can be opened.", 403)
    if any(part.startswith(".") for part in path.relative_to(root).parts):
        raise Refused("Hidden files cannot be opened.", 403)
    return path


def find_file(root: Path, name: Any) -> Path:
    """A file, or a folder of images in which no link leads out of the root."""
    path = resolve_inside(root, name)
    if path.is_dir():
        for one in path.iterdir():
            if one.is_symlink():
                resolve_inside(root, str(one))
    return path


def list_folder(root: Path, name: str) -> dict[str, Any]:
    """The folders and the files of known formats in a folder."""
    folder = resolve_inside(root, name)
    if not folder.is_dir():
        raise Refused(f"{name[:200]!r} is not a folder.")
    entries = []
    for path in sorted(folder.iterdir(), key=lambda one: (one.is_file(), one.name.lower())):
        if path.name.startswith(".") or not (path.is_dir() or has_known_ending(path.name)):
            continue
        size = path.stat().st_size if path.is_file() else None
        entries.append({"name": path.name, "folder": path.is_dir(), "size": size})
    where = folder.relative_to(root).as_posix()
    return {"path": "" if where == "." else where, "entries": entries[:MOST_ENTRIES]}


def has_known_ending(name: str) -> bool:
    """Whether the ending of a file name is that of a format that the library reads."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in ENDINGS


async def store_upload(request: Request, folder: Path, most: int) -> Path:
    """Write the body of a request to a new folder, piece by piece, up to a size."""
    name = str(request.path_params["name"])
    odd = re.search(r"[/\\\0-\x1f]", name) is not None or name.startswith(".")
    if odd or not 0 < len(name) <= LONGEST_NAME:
        raise Refused("This file name cannot be used.")
    if not has_known_ending(name):
        known = ", ".join(ENDINGS)
        raise Refused(f"{name} has no ending of a known format; those known are {known}.", 415)
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > most:
        raise _too_large(name, most)
    place: Path = folder / new_id()
    place.mkdir()
    try:
        size = 0
        with open(place / name, "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise _too_large(name, most)
                file.write(chunk)
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, ClientDisconnect):
            raise Refused("The upload was interrupted.") from error
        raise
    return place / name


def _too_large(name: str, most: int) -> Refused:
    return Refused(
        f"{name} is larger than {most / 1e6:,.0f} MB. Put it into the folder of the studio and "
        "open it there.",
        413,
    )
