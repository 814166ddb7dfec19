"""Films from pictures: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array

_HOLD = 1.5  # seconds for which the last frame stays

Writer = Callable[[Iterator[Array], Path, float], None]
"""Writes RGB pictures to a file with so many frames a second."""


def writer_for(path: Path) -> Writer:
    """The function that writes the format; raises before the fit if there is none."""
    ending = path.suffix.lower()
    if ending == ".gif":
        return _gif
    if ending != ".mp4":
        raise ValueError(f"path must end in .gif or .mp4, got {path.name!r}.")
    if shutil.which("ffmpeg") is None:
        raise RuntimeError(
            f"path: {path.name!r} needs ffmpeg, which is not installed. Write a .gif."
        )
    return _mp4


def _gif(pictures: Iterator[Array], path: Path, fps: float) -> None:
    """All frames on the palette of the last one, so that colours do not flicker."""
    from PIL import Image

    frames = [Image.fromarray(picture) for picture in pictures]
    palette = frames[-1].quantize(255)
    colors = np.array(palette.getpalette(), dtype=np.uint8).reshape(-1, 3)
    colors[(colors >= 250).all(axis=1)] = 255  # the background must be exactly white
    palette.putpalette(colors.tobytes())
    indexed = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [round(1000 / fps)] * (len(indexed) - 1) + [round(1000 * _HOLD)]
    rest: dict[str, Any] = {"append_images": indexed[1:], "duration": times, "loop": 0}
    indexed[0].save(path, "GIF", save_all=True, optimize=False, disposal=1, **rest)


def _mp4(pictures: Iterator[Array], path: Path, fps: float) -> None:
    first = next(pictures)
    shape = f"{first.shape[1]}x{first.shape[0]}"
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", shape, "-r", str(fps), "-i", "-"]
    film = ["-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    command = ["ffmpeg", "-y", "-loglevel", "error", *raw, *film, str(path)]
    last = first
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(first.tobytes())
            for last in pictures:
                process.stdin.write(last.tobytes())
            for _ in range(round(_HOLD * fps)):
                process.stdin.write(last.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # its error output says why
        message = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise RuntimeError(f"ffmpeg could not write {path.name}: {message or process.returncode}")
