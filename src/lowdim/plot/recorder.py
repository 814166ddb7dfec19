"""The maps of an iterative fit, recorded by its callback."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.runtime.callbacks import Callback, State


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
