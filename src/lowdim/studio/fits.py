"""One fit in a worker process, whose callback sends frames and follows commands.

The server sends "pause", "continue", "step", "stop", ("change", parameters), ("pace", iterations
per second) and ("taken", processor seconds of the last frame). The worker sends "phase", "frame",
"paused", "running", "changed" and "refused".
"""

from __future__ import annotations

import time
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.catalog import find
from lowdim.estimator.neighbors import search_arguments
from lowdim.messages import collect_warnings
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.neighbors import neighbors
from lowdim.studio.datasets import read_about, read_labels, read_objects, read_rows
from lowdim.studio.locks import hold_lock
from lowdim.studio.processes import Channel, error_text
from lowdim.studio.snapshots import save_array

FRAMES_PER_SECOND = 30
BETWEEN_FRAMES = 60  # processor time of the fit between two frames, in units of that of a frame
BETWEEN_LOSSES = 100  # the same of losses that are computed for the page alone
LOSS_EVERY = 25  # iterations at least between two such losses


def fit(channel: Channel, spec: dict[str, Any]) -> dict[str, Any]:
    """Fit one map and write its coordinates and model; returns what the record of the map gets.

    The spec has `data` and `folder`, folders of the data and of the map; `method`, `parameters`;
    `rows`: whether the folder has a file of row numbers; `label`: column that a method learns from;
    `start`: file of the coordinates to start from; `pinned`: file of the places that hold objects;
    `pace`: iterations per second, or None.
    """
    data, folder = Path(spec["data"]), Path(spec["folder"])
    rows = read_rows(folder, spec["rows"])
    method = find(spec["method"])
    if method is None:
        raise ValueError(f"This version of lowdim has no method {spec['method']!r}.")
    X, about = read_objects(data, rows), read_about(data)
    estimator = method.load()(**spec["parameters"])
    known = estimator.get_params(deep=False)
    if about["metric"] is not None:
        if "metric" not in known:
            raise ValueError(
                f"{method.name} takes vectors, but these data are distances or mixed columns."
            )
        estimator.set_params(metric=about["metric"])
    if spec.get("start"):
        estimator.set_params(init=np.load(spec["start"]).astype(np.float64))
    control = Control(channel, spec["pace"])
    if "callback" in known:
        estimator.set_params(callback=control)
    arguments: dict[str, Any] = {}
    if method.objects == "labelled":
        arguments["y"] = read_labels(data, spec["label"])[rows]
    if spec.get("pinned"):
        arguments["pinned"] = np.load(spec["pinned"])
    with collect_warnings() as messages:
        if "graph" in signature(estimator.fit).parameters and not spec["rows"]:
            channel.send("phase", "neighbours")
            arguments["graph"] = shared_graph(estimator, X, data / "graphs")
        channel.send("phase", "fit")
        control.began = time.perf_counter()
        estimator.fit(X, **arguments)
        seconds = time.perf_counter() - control.began - control.pause_seconds
    if about["recipe"] is not None:  # None of distances
        estimator.preparation_ = about["recipe"]
    if "callback" in known:
        estimator.set_params(callback=None)
    Y = np.ascontiguousarray(estimator.embedding_, dtype=np.float32)
    save_array(folder / "coordinates.npy", Y)
    estimator.save(folder / "model.lowdim")
    return {
        "status": "stopped" if control.stopping else "done",
        "seconds": seconds,
        "iteration": int(getattr(estimator, "n_iter_", 0) or 0),
        "warnings": messages,
        "decodes": _has_inverse(estimator),
        "n": len(Y),
        "dim": Y.shape[1],
    }


def shared_graph(estimator: Any, X: Any, folder: Path) -> NeighborGraph | None:
    """The neighbour graph of a data set, computed once for each metric and number of neighbours.

    A graph of more neighbours serves a method that needs fewer. None if the method does not begin
    with the k nearest neighbours of vectors.
    """
    search = search_arguments(estimator, X.shape[0])
    if search is None:
        return None
    folder.mkdir(exist_ok=True)
    n_neighbors, metric, method = search
    stem = f"{metric}-{method}"
    with hold_lock(folder / "lock", wait=True):
        known = {int(path.stem.rpartition("-")[2]): path for path in folder.glob(f"{stem}-*.npz")}
        enough = [k for k in sorted(known) if k >= n_neighbors]
        if enough:
            graph = NeighborGraph.load(known[enough[0]])
        else:
            graph = neighbors(X, n_neighbors, metric=metric, method=method)
            graph.save(folder / f"{stem}-{n_neighbors}.npz")
    # Without n_neighbors, a method on a connected graph takes all neighbours of a given one.
    return graph.take(n_neighbors) if hasattr(estimator, "disconnected") else graph


def _has_inverse(estimator: Any) -> bool:
    """Whether coordinates can be taken back to the data."""
    try:
        estimator.inverse_transform(estimator.embedding_[:1])
    except (TypeError, ValueError, AttributeError):
        return False
    return True


class Control:
    """The callback of a fit: sends frames, pauses, steps, stops, changes parameters."""

    def __init__(self, channel: Channel, pace: float | None = None) -> None:
        self.channel = channel
        self.next = self.next_cost = 0.0  # when the next frame is due, in wall and processor time
        self.stepping = self.stopping = False
        self.since_loss = self.loss_every = LOSS_EVERY  # iterations
        self.has_loss, self.clock, self.plain = False, time.process_time(), 0.0
        self.pace, self.at = pace, 0.0  # iterations per second, and when the next one may begin
        self.began, self.pause_seconds = time.perf_counter(), 0.0
        self.last_sent: Any = None  # the state of the last frame

    def due(self) -> bool:
        """Whether a frame is due, a command waits, or the fit is slowed down."""
        self._measure_loss()
        self.since_loss += 1
        if self.pace or self.stepping or not self.channel.commands.empty():
            return True
        return self._frame_due()

    def _measure_loss(self) -> None:
        """Compare the processor time of an iteration with a loss to that of one without."""
        now = time.process_time()
        spent, self.clock = now - self.clock, now
        if not self.has_loss:
            self.plain = spent
        elif self.plain > 0:
            pause = BETWEEN_LOSSES * (spent - self.plain) / self.plain
            self.loss_every = max(LOSS_EVERY, int(pause))
        self.has_loss = False

    def _frame_due(self) -> bool:
        if not self.channel.frame_taken.is_set() or time.perf_counter() < self.next:
            return False
        return bool(self.pace) or time.process_time() >= self.next_cost

    @property
    def wants_loss(self) -> bool:
        """Whether the loss is to be computed, which takes a part of an iteration."""
        return bool(self.pace) or self.stepping or self.since_loss > self.loss_every

    def __call__(self, state: Any) -> bool:
        if state.loss == state.loss:  # not NaN
            self.since_loss, self.has_loss = 0, True
        if self.stepping or self._frame_due():
            self._send_frame(state)
        if self.stepping:
            self.stepping = False
            self._pause(state)
        if self.pace:
            self._slow_down(1 / self.pace)
        while not self.stopping and not self.channel.commands.empty():
            self._follow(self.channel.commands.get(), state)
        return self.stopping

    def _slow_down(self, period: float) -> None:
        """Wait for the time of the next iteration; commands end the wait."""
        now = time.perf_counter()
        self.at = max(now, self.at + period)
        while now < self.at and self.channel.commands.empty():
            time.sleep(min(self.at - now, 1 / FRAMES_PER_SECOND))
            now = time.perf_counter()

    def _send_frame(self, state: Any) -> None:
        began = time.thread_time()
        self.last_sent = state
        self.channel.frame_taken.clear()
        Y = state.embedding.astype("<f4")
        seconds = time.perf_counter() - self.began - self.pause_seconds
        about = (state.iteration, state.max_iter, float(state.loss), seconds)
        self.channel.send("frame", *about, *Y.shape, Y.tobytes())
        cost = time.thread_time() - began + self.channel.frame_cost + self.channel.server_cost
        self.next = time.perf_counter() + 1 / FRAMES_PER_SECOND
        self.next_cost = time.process_time() + BETWEEN_FRAMES * cost

    def _follow(self, command: tuple[Any, ...], state: Any) -> None:
        kind = command[0]
        if kind == "pause":
            self._pause(state)
        elif kind == "stop":
            self.stopping = True
            self.channel.send("phase", "stopping")
        elif kind == "pace":
            self.pace = command[1]
        elif kind == "change":
            try:
                state.change(**command[1])
            except (TypeError, ValueError) as error:
                self.channel.send("refused", error_text(error))
            else:
                self.channel.send("changed", state.iteration, command[1])

    def _pause(self, state: Any) -> None:
        """Wait for a command that ends the pause."""
        began = time.perf_counter()
        if self.last_sent is not state:  # the page shows the iteration that the pause holds
            self.channel.frame_taken.wait()
            self._send_frame(state)
        self.channel.send("paused")
        while not self.stopping:
            command = self.channel.commands.get()
            if command[0] in ("continue", "step"):
                self.stepping = command[0] == "step"
                break
            if command[0] != "pause":
                self._follow(command, state)
        self.pause_seconds += time.perf_counter() - began
        self.channel.send("running")
