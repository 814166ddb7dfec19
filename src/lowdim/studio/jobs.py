"""The queue of fits and the worker processes that run them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.studio import fits
from lowdim.studio.errors import Refused
from lowdim.studio.processes import CallError, Worker, WorkerDied
from lowdim.studio.records import Map
from lowdim.studio.snapshots import Snapshots

MOST_RUNNING = 2  # fits at a time: a short one need not wait for a long one
PUBLISH_EVERY = 0.1  # seconds between two messages on the progress of a map
PATIENCE = 5.0  # seconds in which a fit must begin to stop before its process is ended


def new_worker() -> Worker:
    """A process that has imported what takes most of the time of a start."""
    return Worker(
        "lowdim.studio.fits", "sklearn.utils.validation", "lowdim.neighbor_embedding.tsne"
    )


class Job:
    """A map that is being fitted."""

    def __init__(self, one: Map, spec: dict[str, Any]) -> None:
        self.map, self.spec = one, spec
        self.worker: Worker | None = None
        self.snapshots = Snapshots(Path(spec["folder"]))
        self.frame = 0
        self.newest: bytes | None = None
        self.published = 0.0
        self.clock = 0.0  # processor time of the thread that takes frames, after the last message


class Jobs:
    """The queue of fits and the processes that run them.

    `on_change` is called with a map when it changed, and whether its status did; `on_frame` with a
    map, the number of a frame and its coordinates. Of fits that are not paused, `most_running` run
    at a time.
    """

    def __init__(
        self,
        on_change: Callable[[Map, bool], None],
        on_frame: Callable[[Map, int, bytes], None],
        most_running: int = MOST_RUNNING,
    ) -> None:
        self.on_change, self.on_frame, self.most_running = on_change, on_frame, most_running
        self.jobs: dict[str, Job] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.spare: Worker | None = None

    def start(self) -> None:
        """Start a process in advance; called when the event loop runs."""
        if self.spare is None:
            self.spare = new_worker()

    def close(self) -> None:
        """End all processes."""
        workers = [self.spare, *(job.worker for job in self.jobs.values())]
        self.jobs.clear()
        for worker in workers:
            if worker is not None:
                worker.kill()

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
        if kind == "stop" and job.frame == 0:  # no callback will be called: nothing to keep
            self._finish(job, "stopped")
            return
        if job.worker is None:
            raise Refused("This map is still waiting for its turn.", 409)
        if kind in ("continue", "step") and one.status != "paused":
            raise Refused("This fit is not paused.", 409)
        job.worker.send(kind)
        if kind == "stop":
            asyncio.get_running_loop().call_later(PATIENCE, self._kill_unless_stopping, job)

    def change(self, one: Map, parameters: dict[str, Any]) -> None:
        """Change parameters of a running fit."""
        job = self.jobs.get(one.id)
        if job is None or job.worker is None or not one.active:
            raise Refused("This map is not being fitted; start a new one.", 409)
        job.worker.send("change", parameters)

    def set_pace(self, one: Map) -> None:
        """Tell a running fit how fast it may be."""
        job = self.jobs.get(one.id)
        if job is not None:
            job.spec["pace"] = one.pace
            if job.worker is not None:
                job.worker.send("pace", one.pace)

    def newest(self, one: Map) -> bytes | None:
        """The newest coordinates of a running fit."""
        job = self.jobs.get(one.id)
        return None if job is None else job.newest

    def remove(self, one: Map) -> None:
        """End the fit of a map that is deleted."""
        job = self.jobs.pop(one.id, None)
        if job is not None:
            if job.worker is not None:
                job.worker.kill()
            self._schedule()

    # --- fits -----------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Start waiting fits as long as there is room."""
        running = sum(job.map.status == "running" for job in self.jobs.values())
        for job in list(self.jobs.values()):
            if running < self.most_running and job.map.status == "queued":
                self._begin(job)
                running += 1

    def _begin(self, job: Job) -> None:
        spare, self.spare = self.spare, None
        worker = job.worker = spare if spare is not None and spare.alive else new_worker()
        worker.on_message = partial(self._receive, job, worker)
        task = asyncio.create_task(self._wait(job, worker.call(fits.fit, job.spec)))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        asyncio.get_running_loop().call_later(1.0, self.start)
        job.map.status, job.map.phase = "running", "start"
        self.on_change(job.map, True)

    async def _wait(self, job: Job, fit: asyncio.Future[Any]) -> None:
        """Wait for the end of a fit."""
        try:
            about = await fit
        except CallError as error:
            about = {"status": "failed", "error": str(error)}
        except WorkerDied as error:
            about = {"status": "failed", "error": f"{error} Other maps are not affected."}
        if self._is_current(job):
            self._finish(job, **about)

    def _receive(self, job: Job, worker: Worker, kind: str, *values: Any) -> None:
        """Keep a frame and pass a message on to the event loop; runs in a thread of the worker."""
        if kind == "frame":
            iteration, _, _, _, n, dim, coordinates = values
            try:
                job.snapshots.take(iteration, n, dim, coordinates)
            except OSError as error:
                problem = f"The frames of this fit cannot be kept: {error}"
                worker.post(self._on_message, job, "refused", problem)
            worker.send("taken", time.thread_time() - job.clock)
            values = (*values, list(job.snapshots.kept))
        job.clock = time.thread_time()
        worker.post(self._on_message, job, kind, *values)

    def _on_message(self, job: Job, kind: str, *values: Any) -> None:
        """Follow a message of a worker."""
        one = job.map
        if not self._is_current(job):
            return
        if kind == "frame":
            iteration, total, loss, seconds, n, dim, coordinates, kept = values
            one.progress(iteration, total, loss, seconds)
            one.n, one.dim, one.snapshots = n, dim, kept
            job.frame += 1
            job.newest = coordinates
            self.on_frame(one, job.frame, coordinates)
            now = time.monotonic()
            if now - job.published >= PUBLISH_EVERY:
                job.published = now
                self.on_change(one, False)
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
        self.on_change(one, True)
        self._schedule()

    def _is_current(self, job: Job) -> bool:
        return self.jobs.get(job.map.id) is job

    def _kill_unless_stopping(self, job: Job) -> None:
        if self._is_current(job) and job.map.phase != "stopping":
            self._finish(job, "stopped")

    def _finish(self, job: Job, status: str, **about: Any) -> None:
        """End the process of a fit, and keep what is known of its map."""
        del self.jobs[job.map.id]
        if job.worker is not None:
            job.worker.kill()
        for name, value in about.items():
            setattr(job.map, name, value)
        job.map.status, job.map.phase = status, ""
        self.on_change(job.map, True)
        path = Path(job.spec["folder"]) / "coordinates.npy"
        if path.exists():
            self.on_frame(job.map, job.frame + 1, np.load(path).tobytes())
        self._schedule()
