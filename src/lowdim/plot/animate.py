"""An iterative fit as a film."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.callbacks import Callback, State
from lowdim.checks import Array
from lowdim.plot.canvas import INK, TEXT, layout, new_figure
from lowdim.plot.compare import turn_onto
from lowdim.plot.scatter import drawing_order, scatter

_DPI = 120
_HOLD = 1.5
"""Seconds for which the last frame stays."""

_WINDOW = 5
"""Frames over which the zoom is smoothed."""


class Frame(NamedTuple):
    """A map on the way; `caption` stands above it."""

    embedding: Array
    caption: str = ""


class Recorder:
    """A callback that keeps the maps of an iterative fit: `MDS(callback=Recorder()).fit(X)`.

    Of a long fit every second, fourth, ... map is kept, so that there are at most `most` at any
    time. A fit that starts anew (`n_init`) is recorded from its last start on. `callback` is
    called as well, and its answer returned.
    """

    def __init__(self, most: int = 120, callback: Callback | None = None) -> None:
        self.most = checks.integer(most, "most", 2)
        self.callback = callback
        self._kept: list[Frame] = []
        self._last: Frame | None = None
        self._seen, self._step, self._iteration = 0, 1, 0

    def __call__(self, state: State) -> object:
        if state.iteration <= self._iteration:
            self._kept, self._seen, self._step = [], 0, 1
        self._iteration = state.iteration
        caption = f"iteration {state.iteration}    loss {state.loss:.4g}"
        self._last = Frame(np.array(state.embedding, dtype=np.float32), caption)
        if self._seen % self._step == 0:
            self._kept.append(self._last)
        self._seen += 1
        if len(self._kept) >= self.most:
            self._kept, self._step = self._kept[::2], 2 * self._step
        return self.callback(state) if self.callback is not None else None

    @property
    def frames(self) -> list[Frame]:
        """The maps that were kept, and the last one."""
        if self._last is None or self._kept[-1] is self._last:
            return list(self._kept)
        return [*self._kept, self._last]


def animate(
    source: Any,
    path: str | os.PathLike[str],
    labels: Any = None,
    *,
    X: Any = None,
    fps: float = 15,
    align: bool = True,
    title: str | None = None,
    size: float | None = None,
) -> Path:
    """Write a film of a fit: a GIF, or, where ffmpeg is installed, an MP4.

    Parameters
    ----------
    source : a `Recorder` after a fit; a sequence of maps of the same objects; or, together with
        `X`, an estimator with a `callback`, which is fitted to X and recorded on the way.
    path : ends in .gif or .mp4. The file is replaced at once, when the film is complete.
    labels, title, size : as in `scatter`.
    fps : frames a second.
    align : turn each map onto the next one, so that only real motion is seen.

    Returns
    -------
    the path
    """
    path = Path(path)
    checks.real(fps, "fps", 0, 100, open_low=True)
    write = _writer(path)
    frames = _frames(_record(source, X) if X is not None else source)
    if align:
        frames = _aligned(frames)
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        write(_pictures(frames, labels, title, size), temporary, float(fps))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _record(estimator: Any, X: Any) -> Recorder:
    """Fit the estimator with a recorder in front of the callback it has."""
    if "callback" not in getattr(estimator, "get_params", dict)():
        raise ValueError(
            f"source: {type(estimator).__name__} has no callback, for it does not iterate. Give "
            "maps to animate instead."
        )
    own = estimator.callback
    recorder = Recorder(callback=own)
    estimator.set_params(callback=recorder)
    try:
        estimator.fit(X)
    finally:
        estimator.set_params(callback=own)
    return recorder


def _frames(source: Any) -> list[Frame]:
    maps = source.frames if isinstance(source, Recorder) else source
    if not isinstance(maps, Sequence | np.ndarray) or not len(maps):
        raise ValueError(
            "source holds no frames: give a Recorder that a fit has called, a sequence of maps, "
            "or an estimator together with X."
        )
    frames = []
    for entry in maps:
        Y, caption = entry if isinstance(entry, Frame) else (entry, "")
        Y = np.asarray(Y, dtype=np.float64)
        frames.append(Frame(Y[:, None] if Y.ndim == 1 else Y, caption))
    shapes = {frame.embedding.shape for frame in frames}
    if len(shapes) > 1:
        raise ValueError(f"source: the maps differ in shape: {', '.join(map(str, shapes))}.")
    return frames


def _aligned(frames: list[Frame]) -> list[Frame]:
    """Each map turned onto the one after it; the last stays as it is."""
    turned = frames[-1:]
    for frame in reversed(frames[:-1]):
        turned.append(frame._replace(embedding=turn_onto(turned[-1].embedding, frame.embedding)))
    return turned[::-1]


def _pictures(
    frames: list[Frame], labels: Any, title: str | None, size: float | None
) -> Iterator[Array]:
    """One RGB picture a frame, sides even in pixels."""
    figure = new_figure(4.8, 4.8 if frames[0].embedding.shape[1] > 1 else 2.0)
    figure.set_dpi(_DPI)
    middles, radii = _views(frames)
    three = frames[0].embedding.shape[1] == 3
    axes: Any = figure.add_subplot(projection="3d" if three else None)
    scatter(frames[-1].embedding, labels, ax=axes, size=size, density=False)
    if frames[0].embedding.shape[1] == 2:
        axes.set_aspect("auto")
        axes.set_box_aspect(1)  # the views are squares
    dots = axes.collections[0]
    order = drawing_order(layout(frames[-1].embedding).drawn)
    if title is not None:
        figure.suptitle(title, fontsize=TEXT + 3, color=INK)
    text = axes.set_title(frames[-1].caption or " ", fontsize=TEXT, color=INK)
    figure.canvas.draw()
    figure.set_layout_engine("none")  # placed once; letters of another width must not move it
    for frame, middle, radius in zip(frames, middles, radii, strict=True):
        text.set_text(frame.caption)
        _move(axes, dots, frame.embedding[order], middle, radius)
        figure.canvas.draw()
        canvas: Any = figure.canvas
        picture = np.asarray(canvas.buffer_rgba())[..., :3]
        yield picture[: len(picture) // 2 * 2, : picture.shape[1] // 2 * 2].copy()


def _move(axes: Any, dots: Any, Y: Array, middle: Array, radius: float) -> None:
    """Put the points of another frame into the picture."""
    if Y.shape[1] == 1:
        offsets = dots.get_offsets()
        offsets[:, 0] = Y[:, 0]
        dots.set_offsets(offsets)
    elif Y.shape[1] == 2:
        dots.set_offsets(Y)
        axes.set_ylim(middle[1] - radius, middle[1] + radius)
    else:
        dots._offsets3d = tuple(Y.T)  # matplotlib has no public setter in three dimensions
        axes.set_ylim(middle[1] - radius, middle[1] + radius)
        axes.set_zlim(middle[2] - radius, middle[2] + radius)
        axes.set_box_aspect((1, 1, 1), zoom=1.15)
    axes.set_xlim(middle[0] - radius, middle[0] + radius)


def _views(frames: list[Frame]) -> tuple[list[Array], Array]:
    """Middle and half width of every frame's view: all of its points, and no sudden zoom."""
    maps = [frame.embedding[np.isfinite(frame.embedding).all(axis=1)] for frame in frames]
    maps = [Y if len(Y) else np.zeros((1, Y.shape[1])) for Y in maps]
    middles = [(Y.min(axis=0) + Y.max(axis=0)) / 2 for Y in maps]
    radii = np.array([np.ptp(Y, axis=0).max() / 2 for Y in maps])
    padded = np.pad(radii, 2 * _WINDOW, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _WINDOW + 1)
    smooth = np.convolve(
        windows.max(axis=1), np.full(2 * _WINDOW + 1, 1 / (2 * _WINDOW + 1)), "valid"
    )
    return middles, np.maximum(1.06 * smooth, 1e-12)


def _writer(path: Path) -> Any:
    """What writes the film, found before the fit and not after it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path: the folder {path.parent} does not exist; make it first.")
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
    colors[(colors >= 250).all(axis=1)] = 255  # the paper, which is white and not nearly so
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
            pass  # what went wrong is in its error output
        message = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise RuntimeError(f"ffmpeg could not write {path.name}: {message or process.returncode}")
