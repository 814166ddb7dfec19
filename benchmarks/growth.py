"""`update` beside a fresh fit: `python -m benchmarks update [METHOD ...]`.

For each method, two processes: one fits the first objects and adds the others by `update`, one fits
all of them. The table has the seconds of the update and of the fresh fit, the least of three calls;
their ratio and that of the CPU times, which other programs disturb less; the accuracy of 10 nearest
neighbours on both maps; the median displacement of the old objects as a share of the width of the
map; and `drift_score_`. The data are Fashion-MNIST, in its own order.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality import label_accuracy

ROOT = Path(__file__).resolve().parents[1]
METHODS = {"UMAP": {}, "TSNE": {"random_state": 0}}
REPEAT = 3  # calls of which the fastest counts: the first one pays for new memory
TIMEOUT = 3600  # seconds for one process


def main(arguments: list[str]) -> int:
    default = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks update", description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--old", type=int, default=60_000, help="objects of the fit (%(default)s)")
    parser.add_argument("--new", type=int, default=10_000, help="objects added (%(default)s)")
    parser.add_argument("--data", type=Path, default=default, metavar="DIR", help="real data")
    options = parser.parse_args(arguments)
    print(
        "| method | update | fit | ratio | by CPU | accuracy | of a fit | drift / width | score |"
    )
    print("| --- " * 9 + "|")
    for name in options.methods or METHODS:
        grown, fresh = (
            _process(side, name, options.old, options.new, options.data)
            for side in ("update", "fit")
        )
        row = (
            f"{grown['seconds']:.2f} s",
            f"{fresh['seconds']:.2f} s",
            f"{grown['seconds'] / fresh['seconds']:.3f}",
            f"{grown['cpu'] / fresh['cpu']:.3f}",
            f"{grown['accuracy']:.4f}",
            f"{fresh['accuracy']:.4f}",
            f"{grown['drift']:.2%}",
            f"{grown['score']:.2f}",
        )
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    return 0


def _process(side: str, name: str, old: int, new: int, data: Path) -> dict[str, float]:
    """Run one side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.growth", side, name, str(old), str(new), str(data)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=TIMEOUT, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measure(side: str, name: str, old: int, new: int, data: Path) -> dict[str, Any]:
    import lowdim

    with np.load(data / "fashion-mnist.npz") as file:
        X, y = file["X"][: old + new], file["y"][: old + new]
    X = X.reshape(len(X), -1).astype(np.float32)
    model = getattr(lowdim, name)(**METHODS[name])
    if side == "fit":
        return {**_timed(model.fit, X), **label_accuracy(model, {"y": y})}
    before = model.fit_transform(X[:old])
    fitted = dict(vars(model))

    def update(new: Any) -> None:
        vars(model).clear()
        vars(model).update(fitted)
        model.update(new)

    return {
        **_timed(update, X[old:]),
        "drift": float(np.median(model.drift_)) / float(np.ptp(before, axis=0).max()),
        "score": model.drift_score_,
        **label_accuracy(model, {"y": y}),
    }


def _timed(call: Callable[[Any], Any], X: Any) -> dict[str, float]:
    """Seconds of a call, and of all its threads: the least of some calls."""
    seconds, cpu = [], []
    for _ in range(REPEAT):
        start, start_cpu = time.perf_counter(), time.process_time()
        call(X)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return {"seconds": min(seconds), "cpu": min(cpu)}


if __name__ == "__main__":
    task, method, first, more, folder = sys.argv[1:]
    print(json.dumps(_measure(task, method, int(first), int(more), Path(folder))))
