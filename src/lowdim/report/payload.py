"""What the page's script reads: the maps and all that colours them, small and safe."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.explore.outlines import outlines
from lowdim.plot.colors import COLORS, OTHER, check_column
from lowdim.report.answers import Answers
from lowdim.report.markup import clean
from lowdim.report.runs import Run

NOWHERE = 65535
"""The place of an object that a map does not place."""

UNKNOWN = 255
"""The error of an object for which it was not computed."""

_MOST_PIXELS = 8_000_000
_MOST_VALUES = 1_500_000  # of features; about 4 MB of the page


def encode(
    runs: Sequence[Run],
    maps: Mapping[str, Array],
    answered: Mapping[str, Answers],
    *,
    labels: Any = None,
    features: Mapping[str, Any] | None = None,
    color_by: str | None = None,
    ids: Sequence[Any] | None = None,
    images: Any = None,
) -> str:
    """The data as JSON for a script element; `maps` are the coordinates by name."""
    n = len(runs[0].points)
    if ids is not None and len(ids) != n:
        raise ValueError(f"ids has {len(ids)} entries, but there are {n} objects.")
    shown_features = list((features or {}).items())[: max(_MOST_VALUES // max(n, 1), 1)]
    known = [*_by_name(labels), *(name for name, _ in shown_features)]
    if color_by is not None and color_by not in known:
        raise ValueError(f"color_by must be one of labels or features, got {color_by!r}.")
    document = {
        "n": n,
        "first": 0 if color_by is None else known.index(color_by),
        "ids": None if ids is None else [clean(entry) for entry in ids],
        "colors": [
            *(_color(name, values, n) for name, values in _by_name(labels).items()),
            *(_color(name, values, n) | {"feature": True} for name, values in shown_features),
        ],
        "maps": [
            {**_map(run, maps[run.name]), **_answers(answered[run.name], maps[run.name])}
            for run in runs
        ],
        "images": None if images is None else picture_sheet(images, n),
    }
    # Inside a script element only "<" can begin an end of it, or a comment.
    return json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def quantize(Y: Array) -> dict[str, Any]:
    """Coordinates as 16-bit integers: low + step * q, the same step on every axis."""
    placed = np.isfinite(Y).all(axis=1)
    known = Y[placed] if placed.any() else np.zeros((1, Y.shape[1]))
    low = known.min(axis=0)
    step = float((known.max(axis=0) - low).max()) / (NOWHERE - 1) or 1.0
    q = np.full(Y.shape, NOWHERE, dtype="<u2")
    q[placed] = np.rint((Y[placed] - low) / step).astype("<u2")
    return {"dims": Y.shape[1], "low": low.tolist(), "step": step, "points": _base64(q)}


def _map(run: Run, points: Array) -> dict[str, Any]:
    document = {"name": clean(run.name), **quantize(points)}
    if run.assessment is not None:
        errors, placed = run.assessment.errors, np.flatnonzero(~np.isnan(run.points).any(axis=1))
        for name, shares in (("torn", errors.torn), ("false", errors.false)):
            known = np.full(len(points), np.nan)
            known[placed[errors.rows]] = shares
            document[name] = _base64(_bytes(known))
    return document


def _answers(known: Answers, Y: Array) -> dict[str, Any]:
    """The named regions of a map, and the doubt about each object."""
    document: dict[str, Any] = {}
    if known.regions is not None:
        listed = outlines(known.regions, Y)
        document["regions"] = [one | {"text": clean(one["text"])} for one in listed]
    if known.doubts is not None:
        document["doubts"] = _base64(_bytes(known.doubts))
    return document


def _bytes(shares: Array) -> Array:
    """Shares of one as bytes; UNKNOWN for NaN."""
    unknown = np.isnan(shares)
    stored = np.rint((UNKNOWN - 1) * np.clip(np.where(unknown, 0, shares), 0, 1)).astype(np.uint8)
    return np.where(unknown, np.uint8(UNKNOWN), stored)


def _by_name(labels: Any) -> dict[str, Any]:
    if labels is None:
        return {}
    return dict(labels) if isinstance(labels, Mapping) else {"label": labels}


def _color(name: str, labels: Any, n: int) -> dict[str, Any]:
    """Kinds with a colour each, or values on a scale."""
    kinds, numbers, dates = check_column(labels, f"labels {name!r}", n)
    if kinds is not None:
        return {
            "name": clean(name),
            "kinds": [clean(kind) for kind in kinds.names],
            "shades": [[*COLORS, OTHER][place] for place in kinds.places],
            "grey": kinds.n_grey,
            "listed": [int(code) for code in np.flatnonzero(kinds.places >= 0)],
            "codes": _base64(kinds.codes.astype("<u4" if len(kinds.names) > 65536 else "<u2")),
        }
    finite = np.isfinite(numbers)
    known = numbers[finite]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    q = np.full(n, NOWHERE, dtype="<u2")
    q[finite] = np.rint((known - low) / ((high - low) or 1.0) * (NOWHERE - 1))
    scale = {"name": clean(name), "low": low, "high": high, "values": _base64(q)}
    if dates:
        scale["dates"] = "days" if (known == np.rint(known)).all() else "moments"
    return scale


def picture_sheet(images: Any, n: int) -> dict[str, Any] | None:
    """All pictures side by side in one PNG, coarser if they are many; None if far too many."""
    pictures = np.asarray(images)
    if pictures.ndim not in (3, 4) or len(pictures) != n or pictures.shape[3:] not in ((), (3,)):
        raise ValueError(f"images must have shape ({n}, height, width[, 3]), got {pictures.shape}.")
    while n * pictures.shape[1] * pictures.shape[2] > _MOST_PIXELS:
        pictures = pictures[:, ::2, ::2]
        if min(pictures.shape[1:3]) < 8:
            return None
    if pictures.dtype != np.uint8:
        low, high = float(pictures.min(initial=0)), float(pictures.max(initial=0))
        pictures = np.rint((pictures - low) * (255 / ((high - low) or 1.0))).astype(np.uint8)
    height, width = pictures.shape[1:3]
    columns = int(np.ceil(np.sqrt(n * height / width)))
    rows = -(-n // columns)
    sheet = np.zeros((rows * columns, *pictures.shape[1:]), dtype=np.uint8)
    sheet[:n] = pictures
    sheet = sheet.reshape(rows, columns, *pictures.shape[1:]).swapaxes(1, 2)
    sheet = sheet.reshape(rows * height, columns * width, *pictures.shape[3:])
    return {"width": width, "height": height, "columns": columns, "sheet": _base64(png(sheet))}


def png(pixels: Array) -> bytes:
    """A PNG of grey, (height, width), or RGB, (height, width, 3), bytes."""
    height, width = pixels.shape[:2]
    lines = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)  # each line: no filter, then it
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 9)
    parts = [(b"IHDR", header), (b"IDAT", data), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _base64(data: Array | bytes) -> str:
    return b64encode(data if isinstance(data, bytes) else data.tobytes()).decode("ascii")
