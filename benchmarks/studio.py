"""The studio, the report and the scatter view, measured: `python -m benchmarks studio [PART ...]`.

streaming
    Time of a t-SNE fit whose frames are sent to a server, relative to the same fit without. The
    receiving process keeps snapshots as the server of the studio does.
report
    Time in which the script of a report draws two maps of a million points each.
frames
    Time of a picture of a million points while the view zooms and when it is at rest, and the
    memory of the page, beside regl-scatterplot (needs npm and the packages of `web/`).
questions
    Processor time of filters, searches and names of regions on a map of a million objects (needs
    pandas and pyarrow).

The last three need Chromium and pytest-playwright.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages

PARTS = ("streaming", "report", "frames", "questions")
MANY = 1_000_000
LARGE_ITERATIONS = 250  # of the fit of 70,000 points


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks studio",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--repeat", type=int, default=11, help="pairs of fits (%(default)s)")
    parser.add_argument("--points", type=int, default=MANY, help="of a map (%(default)s)")
    options = parser.parse_args(arguments)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    parts = options.parts or PARTS
    if "streaming" in parts:
        streaming(options.repeat)
    if "report" in parts:
        pages.report(options.points)
    if "frames" in parts:
        pages.frames(options.points)
    if "questions" in parts:
        pages.questions(options.points)
    return 0


def streaming(repeat: int) -> None:
    """Print the cost of streaming digits and 70,000 points."""
    from sklearn.datasets import load_digits

    clusters = np.random.default_rng(0).normal(size=(70_000, 10)).astype(np.float32)
    clusters += 8 * np.random.default_rng(1).normal(size=(10, 10))[np.arange(70_000) % 10]
    print("streaming: a fit that is watched, relative to one that is not (medians)")
    for name, X, iterations, goal in (
        ("digits, 1,797 points", load_digits().data, 1000, 10),
        ("70,000 points", clusters.astype(np.float32), LARGE_ITERATIONS, 3),
    ):
        wall, cpu, sent = _cost(X, iterations, repeat)
        print(
            f"  {name}: {100 * (wall - 1):+.1f} % of the time, {100 * (cpu - 1):+.1f} % of the "
            f"processor time, {sent} frames in {iterations} iterations (goal: at most {goal} %)"
        )


def _cost(X: Any, iterations: int, repeat: int) -> tuple[float, float, int]:
    """Ratios of wall and processor time, with and without frames, and the number of frames."""
    import lowdim
    from lowdim.studio.fits import Control
    from lowdim.studio.processes import Channel

    class Counting(Control):
        sent = 0

        def _send_frame(self, state: Any) -> None:
            self.sent += 1
            super()._send_frame(state)

    class Ending(Channel):
        def _receive_all(self) -> None:
            """Take that frames have arrived; unlike a worker, go on when the receiver ends."""
            with suppress(EOFError, OSError):
                while True:
                    _, self.server_cost = self.connection.recv()
                    self.frame_taken.set()

    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=_receive, args=(theirs, folder), daemon=True)
        process.start()
        theirs.close()
        channel = Ending(ours)
        graph = lowdim.neighbors(X, 90)
        ratios, sent = [], 0
        for turn in range(repeat):
            found = {}
            for watched in (turn % 2 == 0, turn % 2 == 1):
                control = Counting(channel) if watched else None
                model = lowdim.TSNE(max_iter=iterations, random_state=0, callback=control)
                began = time.perf_counter(), time.process_time()
                model.fit(X, graph=graph)
                ended = time.perf_counter(), time.process_time()
                found[watched] = [b - a for a, b in zip(began, ended, strict=True)]
                sent = control.sent if control is not None else sent
            ratios.append(np.divide(found[True], found[False]))
        process.kill()
        process.join()
    wall, cpu = np.median(ratios, axis=0)
    return float(wall), float(cpu), sent


def _receive(connection: Any, folder: str) -> None:
    """What the server does with frames, apart from sending them on."""
    from lowdim.studio.snapshots import Snapshots

    snapshots = Snapshots(Path(folder))
    while True:
        began = time.thread_time()
        try:
            kind, *values = connection.recv()
        except (EOFError, OSError):
            return
        if kind == "frame":
            iteration, _, _, _, n, dim, coordinates = values
            snapshots.take(iteration, n, dim, coordinates)
            connection.send(("taken", time.thread_time() - began))
