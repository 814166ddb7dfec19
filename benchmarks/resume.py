"""Fits killed with SIGKILL at random moments and resumed: `python -m benchmarks resume`.

Each run is a fit with a checkpoint in a child process. It is killed at a random moment of the time
that the fit takes, called again, killed again with probability one half, and in the end its map is
compared with that of an uninterrupted fit without a checkpoint, bit by bit. Short fits may spend
more of their time on writing than usual here, so that there is something to resume from.

The second part fits a larger data set with and without a checkpoint, in turn, and reports the share
of the time that writing takes.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

SHARE = 0.3  # of the time of the short fits that writing may take
FITS: list[tuple[str, dict[str, Any], int]] = [  # class, parameters, number of objects
    ("TSNE", {"random_state": 0}, 1500),
    ("UMAP", {"n_epochs": 500}, 3000),
    ("MDS", {"n_init": 3, "init": "random", "random_state": 0, "eps": 0, "max_iter": 150}, 700),
    ("MDS", {"method": "sampled", "max_iter": 300, "random_state": 0}, 1500),
    ("Sammon", {"tol": 0, "max_iter": 200}, 600),
    ("NeRV", {"tol": 0, "max_iter": 150}, 400),
    ("CurvilinearComponentAnalysis", {"max_iter": 100}, 1000),
    ("MaximumVarianceUnfolding", {"solver": "interior-point", "n_neighbors": 4}, 150),
    ("SelfOrganizingMap", {"training": "online", "max_iter": 20}, 1000),
]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks resume", description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="killed fits (%(default)s)")
    parser.add_argument("--size", type=int, default=20_000, help="of the second part (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (%(default)s)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        equal, kills, resumed = _killed(options.runs, options.seed, Path(folder))
        print(
            f"{options.runs} runs, {kills} kills, {resumed} of the calls after them found a state: "
            f"{equal} maps equal the uninterrupted ones"
        )
        if options.size:
            _overhead(options.size, Path(folder))
    return int(equal != options.runs)


def _data(n: int) -> Any:
    from lowdim import data

    return data.swiss_roll(n, random_state=0)[0]


def _killed(runs: int, seed: int, folder: Path) -> tuple[int, int, int]:
    """Numbers of equal maps, of kills, and of states that a killed fit left behind."""
    import lowdim

    random = np.random.default_rng(seed)
    alone: dict[int, tuple[Any, float]] = {}
    equal = kills = resumed = 0
    for run in range(runs):
        which = run % len(FITS)
        name, params, n = FITS[which]
        X, file, out = _data(n), folder / f"{run}.lowdim", folder / "map.npy"
        if which not in alone:
            start = time.perf_counter()
            Y = getattr(lowdim, name)(**params).fit_transform(X)
            alone[which] = Y, time.perf_counter() - start
        Y, seconds = alone[which]
        while True:
            last = kills and random.uniform() < 0.5 and file.exists()
            wait = None if last else seconds * random.uniform()
            finished = _child(name, params, X, file, out, wait)
            kills += not finished
            resumed += not finished and file.exists()
            if finished:
                break
        equal += np.array_equal(np.load(out), Y)
        for left in folder.iterdir():
            left.unlink()
    return equal, kills, resumed


def _child(name: str, params: Any, X: Any, file: Path, out: Path, wait: float | None) -> bool:
    """Fit in a child process, which is killed after some seconds; whether it finished before."""
    import lowdim
    from lowdim.runtime import checkpoint

    child = os.fork()
    if child == 0:
        status = 1
        try:
            checkpoint.SHARE = SHARE
            Y = getattr(lowdim, name)(**params, checkpoint=file).fit_transform(X)
            np.save(out, Y)
            status = 0
        finally:
            os._exit(status)
    if wait is not None:
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"{name} failed in a child process")
    return os.WIFEXITED(status)


def _overhead(n: int, folder: Path) -> None:
    """The share of writing in a longer fit, and the ratio of the times with and without it."""
    import lowdim
    from lowdim.runtime.checkpoint import States

    X = _data(n)
    made: list[States] = []
    begin = States.__init__

    def noted(self: States, *arguments: Any) -> None:
        begin(self, *arguments)
        made.append(self)

    States.__init__ = noted  # type: ignore[method-assign, assignment]
    for name in ("TSNE", "UMAP"):
        cpu: dict[bool, float] = {}
        for kept in (False, True):
            file = folder / f"{name}.lowdim" if kept else None
            start, wall = time.process_time(), time.perf_counter()
            getattr(lowdim, name)(random_state=0, checkpoint=file).fit(X)
            cpu[kept], wall = time.process_time() - start, time.perf_counter() - wall
        print(
            f"{name} of {n} objects: {wall:.1f} s, of which writing {made[-1].spent / wall:.2%}; "
            f"CPU time with and without a checkpoint: {cpu[True]:.1f} and {cpu[False]:.1f} s"
        )
    States.__init__ = begin  # type: ignore[method-assign]
