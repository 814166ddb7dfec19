"""An iterative fit as a film."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot.canvas import INK, TEXT, new_figure, plot_points
from lowdim.plot.compare import turn_onto
from lowdim.plot.film import writer_for
from lowdim.plot.recorder import Recorder, Snapshot
from lowdim.plot.scatter import drawing_order, scatter
from lowdim.runtime.atomic import check_writable, replace_file

_DPI = 120
_WINDOW = 5
"""Snapshots over which the zoom is smoothed."""


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
    source : Recorder, sequence of arrays, or estimator
        A `Recorder` after a fit; maps of the same objects; or, together with `X`, an estimator that
        has a parameter `callback`: it is fitted to X and recorded.
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
    write = writer_for(path)
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


def _frames(source: Any) -> list[Snapshot]:
    maps = source.frames if isinstance(source, Recorder) else source
    if not isinstance(maps, Sequence | np.ndarray) or not len(maps):
        raise ValueError(
            "source holds no frames: give a Recorder that a fit has called, a sequence of maps, "
            "or an estimator together with X."
        )
    frames = []
    for entry in maps:
        Y, caption = entry if isinstance(entry, Snapshot) else (entry, "")
        Y = np.asarray(Y, dtype=np.float64)
        frames.append(Snapshot(Y[:, None] if Y.ndim == 1 else Y, caption))
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
    scatter(frames[-1].embedding, labels, ax=axes, size=size, density=False)
    if frames[0].embedding.shape[1] == 2:
        axes.set_aspect("auto")
        axes.set_box_aspect(1)  # the views are squares
    dots = axes.collections[0]
    order = drawing_order(plot_points(frames[-1].embedding).drawn)
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
