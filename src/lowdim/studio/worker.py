"""The worker process: one fit, whose callback sends frames and obeys commands.

Messages are tuples whose first entry names them. The server sends the specification of a fit, then
"pause", "continue", "step", "stop", ("change", parameters), ("pace", iterations per second) and
"taken" (the last frame). The worker answers with "phase", "frame", "paused", "running", "changed",
"refused", "done" and "failed".
"""

from __future__ import annotations

import os
import queue
import threading
import time
import warnings
from contextlib import suppress
from inspect import signature
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lowdim.studio.processes import settle

FRAMES_PER_SECOND = 30
LEAST_SHARE = 100  # processor time of the fit between two frames, in units of that of a frame
LOSS_EVERY = 25  # iterations at least between two losses that are computed for the page alone
NICENESS = 5  # fits give way to the server and the browser


def main(connection: Connection) -> None:
    """Run the fit that the server asks for; started by `multiprocessing`."""
    settle(NICENESS)
    import sklearn.utils.validation  # noqa: F401  takes most of the time of a start

    import lowdim.methods.tsne  # noqa: F401

    try:
        spec = connection.recv()
    except EOFError:
        return
    channel = Channel(connection)
    try:
        run(spec, channel)
    except MemoryError as error:
        channel.send("failed", str(error) or "The fit needs more memory than there is.")
    except (TypeError, ValueError, RuntimeError, ArithmeticError, OSError) as error:
        channel.send("failed", " ".join(str(error).split()) or type(error).__name__)
    finally:
        channel.flush()


class Channel:
    """The connection to the server; threads receive commands and send messages.

    A frame is larger than the buffer of a pipe: a fit that sent it would wait for the server.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.commands: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.taken = threading.Event()  # whether the server has the last frame
        self.taken.set()
        self.frame_cost = 0.0  # processor time of sending the last frame, in seconds
        self._messages: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._sender.start()
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        while True:
            try:
                command = self.connection.recv()
            except (EOFError, OSError):
                os._exit(1)  # the server is gone: nobody wants the result
            if command[0] == "taken":
                self.taken.set()
            else:
                self.commands.put(command)

    def send(self, *message: Any) -> None:
        """Send a message to the server, in the order of the calls."""
        self._messages.put(message)

    def flush(self) -> None:
        """Wait until everything is sent; nothing can be sent afterwards."""
        self._messages.put(None)
        self._sender.join()

    def _send(self) -> None:
        while (message := self._messages.get()) is not None:
            began = time.thread_time()
            with suppress(OSError):  # the server is gone: `_receive` ends the process
                self.connection.send(message)
            if message[0] == "frame":
                self.frame_cost = time.thread_time() - began


class Control:
    """The callback of a fit in a worker: sends frames, pauses, steps, stops, changes parameters."""

    def __init__(self, channel: Channel, pace: float | None = None) -> None:
        self.channel = channel
        self.next = self.next_cost = 0.0  # when the next frame is due, in wall and processor time
        self.stepping = self.stopping = False
        self.since_loss = LOSS_EVERY  # iterations
        self.pace, self.at = pace, 0.0  # iterations per second, and when the next one may begin
        self.began, self.paused = time.perf_counter(), 0.0

    def due(self) -> bool:
        """Whether a frame is due, a command waits, or the fit is slowed down."""
        self.since_loss += 1
        if self.pace or self.stepping or not self.channel.commands.empty():
            return True
        return self._frame_due()

    def _frame_due(self) -> bool:
        if not self.channel.taken.is_set() or time.perf_counter() < self.next:
            return False
        return bool(self.pace) or time.process_time() >= self.next_cost

    @property
    def wants_loss(self) -> bool:
        """Whether the loss is to be computed, which takes a part of an iteration."""
        return bool(self.pace) or self.stepping or self.since_loss > LOSS_EVERY

    def __call__(self, state: Any) -> bool:
        if state.loss == state.loss:  # not NaN
            self.since_loss = 0
        if self.stepping or self._frame_due():
            self._send(state)
        if self.stepping:
            self.stepping = False
            self._pause(state)
        if self.pace:
            self._slow_down(1 / self.pace)
        while not self.stopping and not self.channel.commands.empty():
            self._obey(self.channel.commands.get(), state)
        return self.stopping

    def _slow_down(self, period: float) -> None:
        """Wait for the time of the next iteration; commands end the wait."""
        now = time.perf_counter()
        self.at = max(now, self.at + period)
        while now < self.at and self.channel.commands.empty():
            time.sleep(min(self.at - now, 1 / FRAMES_PER_SECOND))
            now = time.perf_counter()

    def _send(self, state: Any) -> None:
        began = time.thread_time()
        self.channel.taken.clear()
        Y = state.embedding.astype("<f4")
        seconds = time.perf_counter() - self.began - self.paused
        about = (state.iteration, state.max_iter, float(state.loss), seconds)
        self.channel.send("frame", *about, *Y.shape, Y.tobytes())
        cost = time.thread_time() - began + self.channel.frame_cost
        self.next = time.perf_counter() + 1 / FRAMES_PER_SECOND
        self.next_cost = time.process_time() + LEAST_SHARE * cost

    def _obey(self, command: tuple[Any, ...], state: Any) -> None:
        kind = command[0]
        if kind == "pause":
            self._pause(state)
        elif kind == "stop":
            self.stopping = True
        elif kind == "pace":
            self.pace = command[1]
        elif kind == "change":
            try:
                state.change(**command[1])
            except (TypeError, ValueError) as error:
                self.channel.send("refused", " ".join(str(error).split()))
            else:
                self.channel.send("changed", state.iteration, command[1])

    def _pause(self, state: Any) -> None:
        """Wait for a command that ends the pause."""
        began = time.perf_counter()
        if self.channel.taken.is_set():
            self._send(state)
        self.channel.send("paused")
        while not self.stopping:
            command = self.channel.commands.get()
            self._obey(command, state) if command[0] != "pause" else None
            if command[0] in ("continue", "step"):
                self.stepping = command[0] == "step"
                break
        self.paused += time.perf_counter() - began
        self.channel.send("running")


def run(spec: dict[str, Any], channel: Channel) -> None:
    """Fit one map and write its coordinates and model.

    Parameters
    ----------
    spec : dict
        `data` and `folder`: folders of the data and of the map; `method`, `parameters`; `rows`:
        whether the folder has a file of row numbers; `label`: column that a method learns from;
        `start`: file of the coordinates to start from; `pace`: iterations per second, or None.
    channel : Channel
    """
    import numpy as np

    from lowdim.catalog import find
    from lowdim.studio.datasets import read_about, read_labels, read_objects

    data, folder = Path(spec["data"]), Path(spec["folder"])
    rows = np.load(folder / "rows.npy") if spec["rows"] else None
    method = find(spec["method"])
    if method is None:
        raise ValueError(f"This version of lowdim has no method {spec['method']!r}.")
    X = read_objects(data, rows)
    estimator = method.load()(**spec["parameters"])
    known = estimator.get_params(deep=False)
    if read_about(data)["metric"] is not None:
        if "metric" not in known:
            raise ValueError(
                f"{method.name} takes vectors, but these data are distances or mixed columns."
            )
        estimator.set_params(metric=read_about(data)["metric"])
    if spec.get("start"):
        estimator.set_params(init=np.load(spec["start"]).astype(np.float64))
    control = Control(channel, spec["pace"])
    if "callback" in known:
        estimator.set_params(callback=control)
    arguments: dict[str, Any] = {}
    if method.objects == "labelled":
        arguments["y"] = read_labels(data, spec["label"])[slice(None) if rows is None else rows]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "graph" in signature(estimator.fit).parameters and rows is None:
            channel.send("phase", "neighbours")
            arguments["graph"] = shared_graph(estimator, X, data / "graphs")
        channel.send("phase", "fit")
        control.began = time.perf_counter()
        estimator.fit(X, **arguments)
        seconds = time.perf_counter() - control.began - control.paused
    estimator.preparation_ = read_about(data)["recipe"]
    _finish(estimator, folder)
    messages = dict.fromkeys(" ".join(str(one.message).split()) for one in caught)
    Y = estimator.embedding_
    channel.send(
        "done",
        {
            "status": "stopped" if control.stopping else "done",
            "seconds": seconds,
            "iteration": int(getattr(estimator, "n_iter_", 0) or 0),
            "warnings": list(messages),
            "decodes": _decodes(estimator),
            "n": len(Y),
            "dim": int(Y.shape[1]),
        },
    )


def shared_graph(estimator: Any, X: Any, folder: Path) -> Any:
    """The neighbour graph of a data set, computed once for each metric and number of neighbours.

    A graph of more neighbours serves a method that needs fewer. None if the method does not begin
    with the k nearest neighbours of vectors.
    """
    from lowdim.base.graph_embedder import GraphEmbedder
    from lowdim.base.neighbor_embedder import neighbor_search
    from lowdim.relations.graph import NeighborGraph
    from lowdim.relations.neighbors import neighbors
    from lowdim.studio.locks import locked

    search = neighbor_search(estimator, X.shape[0])
    if search is None:
        return None
    folder.mkdir(exist_ok=True)
    stem = f"{search.metric}-{search.method}"
    with locked(folder / "lock", wait=True):
        known = {int(path.stem.rpartition("-")[2]): path for path in folder.glob(f"{stem}-*.npz")}
        enough = [k for k in sorted(known) if k >= search.k]
        if enough:
            graph = NeighborGraph.load(known[enough[0]])
        else:
            graph = neighbors(X, search.k, metric=search.metric, method=search.method)
            graph.save(folder / f"{stem}-{search.k}.npz")
    # Without n_neighbors, a graph embedder takes all neighbours of a given graph.
    return graph.take(search.k) if isinstance(estimator, GraphEmbedder) else graph


def _finish(estimator: Any, folder: Path) -> None:
    """Write the coordinates and the model of a map."""
    import numpy as np

    from lowdim.atomic import replacing

    with replacing(folder / "coordinates.npy", force=True) as temporary, open(temporary, "wb") as f:
        np.save(f, np.ascontiguousarray(estimator.embedding_, dtype=np.float32))
    if "callback" in estimator.get_params(deep=False):
        estimator.set_params(callback=None)
    estimator.save(folder / "model.lowdim")


def _decodes(estimator: Any) -> bool:
    """Whether coordinates can be taken back to the data."""
    try:
        estimator.inverse_transform(estimator.embedding_[:1])
    except (TypeError, ValueError, AttributeError):
        return False
    return True
