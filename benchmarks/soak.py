"""Many small fits in one process, then fits on many threads: `python -m benchmarks soak`.

The first part fits all methods in turn, with transform and inverse_transform, and reports the slope
of the resident memory over the second half of the fits. The second part fits from several Python
threads at once for some minutes and compares every map with that of a single thread, bit by bit.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import itertools
import threading
import time
import warnings
from pathlib import Path
from typing import Any

FLAT = 200  # bytes a fit: a larger slope counts as a leak
SAMPLES = 100  # measurements of the memory
QUICK = {
    "max_iter": 20,
    "n_epochs": 20,
    "perplexity": 5.0,
    "n_neighbors": 6,
    "n_clusters": 3,
    "fit_inverse_transform": True,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000, help="in one process (%(default)s)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of threads (%(default)s)")
    parser.add_argument("--threads", type=int, default=8, help="that fit (%(default)s)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    slope = _memory_slope(options.fits)
    print(f"{options.fits} fits: resident memory grows by {slope:.0f} bytes a fit")
    count, wrong = _threads(options.threads, options.minutes)
    print(f"{options.threads} threads: {count} fits in {options.minutes:g} min, {wrong} differ")
    return int(slope > FLAT or wrong > 0)


def _methods() -> list[Any]:
    """Every method of vectors, with parameters that make a fit of a few objects quick."""
    from lowdim.catalog import CATALOG

    found = []
    for method in CATALOG:
        if method.objects == "vectors":
            known = inspect.signature(method.load()).parameters
            usual = {key: value for key, value in QUICK.items() if key in known}
            seeded = {"random_state": 0} if "random_state" in known else {}
            found.append((method.load(), {"n_components": 2, **usual, **seeded}))
    return found


def _data() -> tuple[Any, Any]:
    import numpy as np

    X = np.random.RandomState(0).standard_normal((60, 4))
    return X[:50], X[50:]


def _answers(method: Any, params: dict[str, Any]) -> Any:
    """The map, and places of new objects, of a fit."""
    import numpy as np

    X, new = _data()
    model = method(**params).fit(X)
    placed = model.transform(new)
    model.inverse_transform(placed)
    return np.concatenate([model.embedding_, placed])


def _memory_slope(fits: int) -> float:
    """Bytes a fit, by least squares over the second half of the fits."""
    import numpy as np

    methods = itertools.cycle(_methods())
    places, sizes = [], []
    for number in range(fits):
        _answers(*next(methods))
        if number % max(1, fits // SAMPLES) == 0 and number >= fits // 2:
            gc.collect()
            places.append(number)
            sizes.append(_resident())
    return float(np.polyfit(places, sizes, 1)[0]) if len(places) > 1 else 0.0


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def _threads(n_threads: int, minutes: float) -> tuple[int, int]:
    """Number of fits, and how many of them differ from those of one thread."""
    methods = _methods()
    expected = [_answers(*method).tobytes() for method in methods]
    end = time.monotonic() + 60 * minutes
    done: list[bool] = []

    def work(first: int) -> None:
        number = first
        while time.monotonic() < end:
            chosen = number % len(methods)
            done.append(_answers(*methods[chosen]).tobytes() == expected[chosen])
            number += 1

    workers = [threading.Thread(target=work, args=(k * 3,)) for k in range(n_threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(done), done.count(False)
