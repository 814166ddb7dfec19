"""A folder of images, one object a file."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.messages import argument
from lowdim.runtime import memory
from lowdim.tables.errors import DataError, damaged, require
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options

IMAGE_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


def read(folder: Path, options: Options) -> Frame:
    """Grey values (or colours) of all images, in natural order; subfolders are labels."""
    paths = sorted(
        (p for p in folder.rglob("*") if p.suffix.lower() in IMAGE_ENDINGS and p.is_file()),
        key=_natural,
    )
    if not paths:
        raise DataError(f"{folder} holds no images ({', '.join(IMAGE_ENDINGS)}).")
    image = require("PIL.Image", "images", "Folders of images")
    first = _pixels(image, paths[0], options)
    memory.claim(
        first.nbytes * len(paths),
        f"Reading {len(paths)} images",
        f"Make them smaller with {argument('image_size', (32, 32))}, for instance.",
    )
    X = np.empty((len(paths), first.size), dtype=np.uint8)
    for row, path in enumerate(paths):
        pixels = _pixels(image, path, options)
        if pixels.shape != first.shape:
            raise DataError(
                f"{path} is {_size(pixels)}, but {paths[0].name} is {_size(first)}; bring all to "
                f"one size, with {argument('image_size', (32, 32))} for instance."
            )
        X[row] = pixels.ravel()
    kind = "in colour" if options.color else "in grey"
    frame = Frame(X, notes=[f"{len(paths)} images of {_size(first)} pixels, {kind}"])
    frame.image_shape, frame.photographs = first.shape, True
    frame.ids = np.array([p.relative_to(folder).as_posix() for p in paths], dtype=object)
    folders = np.array([p.parent.relative_to(folder).as_posix() for p in paths], dtype=object)
    if len(set(folders)) > 1:
        frame.beside["folder"] = folders
    return frame


def _natural(path: Path) -> list[Any]:
    """image2 before image10."""
    parts = re.split(r"(\d+)", path.as_posix().lower())
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def _size(pixels: Any) -> str:
    return f"{pixels.shape[1]} x {pixels.shape[0]}"


def _pixels(image: Any, path: Path, options: Options) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an image that unpacks to far more than it is
            with image.open(path) as opened:
                picture = opened.convert("RGB" if options.color else "L")
    except Exception as error:  # Pillow's plugins raise whatever their formats lead to
        raise damaged(path, "an image", error) from error
    if options.image_size is not None:
        picture = picture.resize(options.image_size, image.Resampling.BOX)
    return np.asarray(picture)
