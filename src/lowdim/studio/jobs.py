"""Fits in worker processes: a queue, pause, step, stop, changes in flight, and crashes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.studio import worker
from lowdim.studio.errors import Refused
from lowdim.studio.processes import shielded
from lowdim.studio.records import Map
from lowdim.studio.snapshots import Snapshots

MOST_RUNNING = 2  # fits at a time: a short one need not wait for a long one
PUBLISH_EVERY = 0.1  # seconds between two messages on the progress of a map
PATIENCE = 5.0  # seconds in which a fit must begin to stop before its process is ended


class Worker:
    """A process that waits for a fit."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=worker.main, args=(theirs,), daemon=True)
        with shielded():
            self.process.start()
        theirs.close()

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()


class Job:
    """A map that is being fitted."""

    def __init__(self, one: Map, spec: dict[str, Any]) -> None:
        self.map, self.spec = one, spec
        self.worker: Worker | None = None
        self.frame = 0
        self.newest: bytes | None = None
        self.published = 0.0
        self.removed = False


class Jobs:
    """The queue of fits and the processes that run them.

    Parameters
    ----------
    changed : callable
        Called with a map when it changed; `urgent` tells whether its status did.
    framed : callable
        Called with a map, the number of a frame and its coordinates.
    most_running : int
        Number of fits that run at a time; those that are paused do not count.
    """

    def __init__(
        self,
        changed: Callable[[Map, bool], None],
        framed: Callable[[Map, int, bytes], None],
        most_running: int = MOST_RUNNING,
    ) -> None:
        self.changed, self.framed, self.most_running = changed, framed, most_running
        self.jobs: dict[str, Job] = {}
        self.spare: Worker | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start a process in advance; called when the event loop runs."""
        self.loop = asyncio.get_running_loop()
        self.spare = Worker()

    def close(self) -> None:
        """End all processes."""
        for job in self.jobs.values():
            if job.worker is not None:
                job.worker.end()
        if self.spare is not None:
            self.spare.end()

    # --- what the user does ---------------------------------------------------------------

    def submit(self, one: Map, spec: dict[str, Any]) -> None:
        """Queue a fit."""
        self.jobs[one.id] = Job(one, spec)
        self._schedule()

    def command(self, one: Map, kind: str) -> None:
        """Pause, continue, step or stop a fit."""
        job = self.jobs.get(one.id)
        if job is None:
            raise Refused("This map is not being fitted.", 409)
        if kind == "stop" and job.worker is None:
            self._end(job, "stopped")
            return
        if job.worker is None:
            raise Refused("This map is still waiting for its turn.", 409)
        if kind in ("continue", "step") and one.status != "paused":
            raise Refused("This fit is not paused.", 409)
        if kind == "stop" and job.frame == 0:
            job.worker.end()  # no callback will be called: nothing to keep
            self._end(job, "stopped")
            return
        self._send(job, (kind,))
        if kind == "stop" and self.loop is not None:
            self.loop.call_later(PATIENCE, self._insist, job)

    def change(self, one: Map, parameters: dict[str, Any]) -> None:
        """Change parameters of a running fit."""
        job = self.jobs.get(one.id)
        if job is None or job.worker is None or not one.active:
            raise Refused("This map is not being fitted; start a new one.", 409)
        self._send(job, ("change", parameters))

    def set_pace(self, one: Map) -> None:
        """Tell a running fit how fast it may be."""
        job = self.jobs.get(one.id)
        if job is not None:
            job.spec["pace"] = one.pace
            if job.worker is not None:
                self._send(job, ("pace", one.pace))

    def newest(self, one: Map) -> bytes | None:
        """The newest coordinates of a running fit."""
        job = self.jobs.get(one.id)
        return None if job is None else job.newest

    def remove(self, one: Map) -> None:
        """End the fit of a map that is deleted."""
        job = self.jobs.pop(one.id, None)
        if job is not None:
            job.removed = True
            if job.worker is not None:
                job.worker.end()
            self._schedule()

    # --- processes ------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Start waiting fits as long as there is room."""
        running = sum(job.map.status == "running" for job in self.jobs.values())
        for job in self.jobs.values():
            if running >= self.most_running:
                return
            if job.map.status == "queued":
                self._begin(job)
                running += 1

    def _begin(self, job: Job) -> None:
        spare, self.spare = self.spare, None
        if spare is None or not spare.process.is_alive():
            spare = Worker()
        job.worker = spare
        job.map.status, job.map.phase = "running", "start"
        self._send(job, job.spec)
        threading.Thread(target=self._listen, args=(job, spare), daemon=True).start()
        self.changed(job.map, True)
        assert self.loop is not None
        self.loop.call_later(1.0, self._prepare)

    def _prepare(self) -> None:
        if self.spare is None:
            self.spare = Worker()

    def _send(self, job: Job, message: Any) -> None:
        assert job.worker is not None
        with suppress(OSError):  # the process has ended: its listener reports it
            job.worker.connection.send(message)

    def _insist(self, job: Job) -> None:
        if job.worker is not None and job.map.id in self.jobs and job.map.phase != "stopping":
            job.worker.end()
            self._end(job, "stopped")

    def _listen(self, job: Job, of: Worker) -> None:
        """Receive the messages of a worker; runs in a thread of its own."""
        snapshots = Snapshots(Path(job.spec["folder"]) / "frames")
        assert self.loop is not None
        connection: Connection = of.connection
        while True:
            began = time.thread_time()
            try:
                kind, *values = connection.recv()
            except (EOFError, OSError):
                break
            if kind == "frame":
                iteration, _, _, _, n, dim, coordinates = values
                try:
                    snapshots.take(iteration, n, dim, coordinates)
                except OSError as error:
                    if job.removed:  # and its folder with it
                        continue
                    said = f"The frames of this fit cannot be kept: {error}"
                    self._post(self._heard, job, "refused", [said])
                with suppress(OSError):  # the process has ended: the next `recv` tells
                    connection.send(("taken", time.thread_time() - began))
                values.append(list(snapshots.kept))
            self._post(self._heard, job, kind, values)
        of.process.join()
        self._post(self._ended, job, of.process.exitcode)

    def _post(self, function: Callable[..., None], *arguments: Any) -> None:
        assert self.loop is not None
        with suppress(RuntimeError):  # the server has stopped
            self.loop.call_soon_threadsafe(function, *arguments)

    def _heard(self, job: Job, kind: str, values: list[Any]) -> None:
        """Follow a message of a worker."""
        one = job.map
        if job.removed or one.id not in self.jobs:
            return
        if kind == "frame":
            iteration, total, loss, seconds, n, dim, coordinates, kept = values
            one.progress(iteration, total, loss, seconds)
            one.n, one.dim, one.snapshots = n, dim, kept
            job.frame += 1
            job.newest = coordinates
            self.framed(one, job.frame, coordinates)
            now = time.monotonic()
            if now - job.published >= PUBLISH_EVERY:
                job.published = now
                self.changed(one, False)
            return
        if kind == "done":
            about = values[0]
            self._end(job, about.pop("status"), **about)
            return
        if kind == "failed":
            self._end(job, "failed", error=values[0])
            return
        if kind == "phase":
            one.phase = values[0]
        elif kind in ("paused", "running"):
            one.status = kind
        elif kind == "changed":
            iteration, parameters = values
            one.parameters = {**one.parameters, **parameters}
            one.changes.append([iteration, parameters])
            one.error = ""
        elif kind == "refused":
            one.error = values[0]
        self.changed(one, True)
        self._schedule()

    def _ended(self, job: Job, code: int | None) -> None:
        """A process has ended; if its fit has not, it crashed."""
        if job.removed or job.map.id not in self.jobs:
            return
        how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        hint = ", perhaps for lack of memory" if code == -9 and os.name == "posix" else ""
        self._end(
            job,
            "failed",
            error=f"The worker process ended unexpectedly ({how}{hint}). Other maps are not "
            "affected.",
        )

    def _end(self, job: Job, status: str, **about: Any) -> None:
        del self.jobs[job.map.id]
        for name, value in about.items():
            setattr(job.map, name, value)
        job.map.status, job.map.phase = status, ""
        self.changed(job.map, True)
        path = Path(job.spec["folder"]) / "coordinates.npy"
        if path.exists():
            self.framed(job.map, job.frame + 1, np.load(path).tobytes())
        self._schedule()
