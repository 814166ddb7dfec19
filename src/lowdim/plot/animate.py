"""An iterative fit as a film: recorded by its callback, written by Pillow or ffmpeg."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot.canvas import INK, TEXT, new_figure, plot_points
from lowdim.plot.compare import turn_onto
from lowdim.plot.scatter import drawing_order, scatter
from lowdim.runtime.atomic import check_writable, replace_file
from lowdim.runtime.callbacks import Callback, State

_DPI = 120
_WINDOW = 5  # snapshots over which the zoom is smoothed
_HOLD = 1.5  # seconds for which the last frame stays


class Snapshot(NamedTuple):
    """A map during a fit, and the caption written above it."""

    embedding: Array
    caption: str = ""


class Recorder:
    """A callback that records the maps of an iterative fit, for `animate`.

    Of a long fit only every second, fourth, ... map is kept. If a fit starts anew (`n_init`), only
    the last start is recorded.

    Parameters
    ----------
    most : int, default=120
        Largest number of maps that are kept at any time.
    callback : callable, default=None
        Another callback, which is called too and whose answer is returned.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.clusters(60, random_state=0)
    >>> recorder = lowdim.plot.Recorder(most=10)
    >>> Y = lowdim.Sammon(callback=recorder, max_iter=20).fit_transform(X)
    >>> recorder.frames[-1].embedding.shape
    (60, 2)
    """

    def __init__(self, most: int = 120, callback: Callback | None = None) -> None:
        self.most = checks.integer(most, "most", 2)
        self.callback = callback
        self._kept: list[Snapshot] = []
        self._last: Snapshot | None = None
        self._seen, self._step, self._iteration = 0, 1, 0

    def __call__(self, state: State) -> object:
        if state.iteration <= self._iteration:
            self._kept, self._seen, self._step = [], 0, 1
        self._iteration = state.iteration
        caption = f"iteration {state.iteration}    loss {state.loss:.4g}"
        self._last = Snapshot(np.array(state.embedding, dtype=np.float32), caption)
        if self._seen % self._step == 0:
            self._kept.append(self._last)
        self._seen += 1
        if len(self._kept) >= self.most:
            self._kept, self._step = self._kept[::2], 2 * self._step
        return self.callback(state) if self.callback is not None else None

    @property
    def frames(self) -> list[Snapshot]:
        """The maps that were kept, and the last one (list of Snapshot)."""
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
    """Write a film of a fit: a GIF, or, if ffmpeg is installed, an MP4.

    Parameters
    ----------
    source : Recorder, sequence or mapping of arrays, or estimator
        A `Recorder` after a fit; maps of the same objects, by name if the names are to be written
        above them (NaN for objects that are not on a map); or, together with `X`, an estimator
        that has a parameter `callback`: it is fitted to X and recorded.
    path : str or path-like
        The film, ending in .gif or .mp4. An existing file is replaced when the film is complete.
    labels : array of shape (n,), default=None
        As in `scatter`.
    X : array, default=None
        What to fit, if `source` is an estimator.
    fps : float, default=15
        Frames a second.
    align : bool, default=True
        Rotate each map onto the next one, so that only real motion is seen.
    title, size
        As in `scatter`.

    Returns
    -------
    Path
        The film.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> path = os.path.join(tempfile.mkdtemp(), "film.gif")
    >>> maps = [[[0, 0], [1, 0], [0, 1]], [[0, 0], [2, 0], [0, 2]]]
    >>> lowdim.plot.animate(maps, path).name
    'film.gif'
    """
    path = Path(path)
    checks.real(fps, "fps", 0, 100, open_low=True)
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise ValueError(f"path must end in .gif or .mp4, got {path.name!r}.")
    write = _gif if path.suffix.lower() == ".gif" else _mp4
    if write is _mp4 and shutil.which("ffmpeg") is None:
        raise RuntimeError(
            f"path: {path.name!r} needs ffmpeg, which is not installed. Write a .gif."
        )
    check_writable(path, force=True)
    frames = _frames(_record(source, X) if X is not None else source)
    if align:
        frames = _align_frames(frames)
    with replace_file(path, force=True) as temporary:
        write(_pictures(frames, labels, title, size), temporary, float(fps))
    return path


def _record(estimator: Any, X: Any) -> Recorder:
    """Fit the estimator with a recorder in front of the callback it has."""
    if "callback" not in getattr(estimator, "get_params", dict)():
        raise ValueError(
            f"source: {type(estimator).__name__} does not iterate and has no callback. Give "
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


def _frames(source: Any) -> list[Snapshot]:
    if isinstance(source, Mapping):
        source = [Snapshot(Y, str(name)) for name, Y in source.items()]
    maps = source.frames if isinstance(source, Recorder) else source
    if not isinstance(maps, Sequence | np.ndarray) or not len(maps):
        raise ValueError(
            "source holds no frames: give a Recorder that a fit has called, a sequence of maps, "
            "or an estimator together with X."
        )
    frames = []
    for entry in maps:
        Y, caption = entry if isinstance(entry, Snapshot) else (entry, "")
        frames.append(Snapshot(checks.as_columns(Y, np.float64), caption))
    shapes = {frame.embedding.shape for frame in frames}
    if len(shapes) > 1:
        raise ValueError(f"source: the maps differ in shape: {', '.join(map(str, shapes))}.")
    return frames


def _align_frames(frames: list[Snapshot]) -> list[Snapshot]:
    """Each map turned onto the one after it; the last stays as it is."""
    turned = frames[-1:]
    for frame in reversed(frames[:-1]):
        turned.append(frame._replace(embedding=turn_onto(turned[-1].embedding, frame.embedding)))
    return turned[::-1]


def _pictures(
    frames: list[Snapshot], labels: Any, title: str | None, size: float | None
) -> Iterator[Array]:
    """One RGB picture a frame, sides even in pixels."""
    figure = new_figure(4.8, 4.8 if frames[0].embedding.shape[1] > 1 else 2.0, shown=False)
    figure.set_dpi(_DPI)
    middles, radii = _views(frames)
    three = frames[0].embedding.shape[1] == 3
    axes: Any = figure.add_subplot(projection="3d" if three else None)
    drawn = _anywhere(frames)
    scatter(drawn, labels, ax=axes, size=size, density=False)
    if frames[0].embedding.shape[1] == 2:
        axes.set_aspect("auto")
        axes.set_box_aspect(1)  # the views are squares
    dots = axes.collections[0]
    order = drawing_order(plot_points(drawn).drawn)
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


def _anywhere(frames: list[Snapshot]) -> Array:
    """The last map, where objects that it does not place are where another map places them."""
    Y = frames[-1].embedding.copy()
    for frame in reversed(frames[:-1]):
        missing = ~np.isfinite(Y).all(axis=1)
        Y[missing] = frame.embedding[missing]
    return Y


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


def _views(frames: list[Snapshot]) -> tuple[list[Array], Array]:
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


def _gif(pictures: Iterable[Array], path: Path, fps: float) -> None:
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


def _mp4(pictures: Iterable[Array], path: Path, fps: float) -> None:
    frames = list(pictures)
    frames += frames[-1:] * round(_HOLD * fps)
    shape = f"{frames[0].shape[1]}x{frames[0].shape[0]}"
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", shape, "-r", str(fps), "-i", "-"]
    film = ["-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    command = ["ffmpeg", "-y", "-loglevel", "error", *raw, *film, str(path)]
    written = subprocess.run(
        command, input=b"".join(map(np.ndarray.tobytes, frames)), capture_output=True
    )
    if written.returncode:
        message = written.stderr.decode(errors="replace").strip() or written.returncode
        raise RuntimeError(f"ffmpeg could not write {path.name}: {message}")
