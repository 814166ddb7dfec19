"""One measured run in a process of its own; its result is the last line it prints, as JSON."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, WARM_UP, Where, prepare_graph

if sys.platform != "win32":
    import resource

MB = 1e6


def measure(name: str, side: str, n: int, where: Where) -> dict[str, Any]:
    """Seconds, memory and quality of one side of a case; its modules are imported already, unless
    the case is about the first call in a process."""
    case = next(case for case in CASES if case.name == name)
    job = case.ours if side == "ours" else case.peer
    if job is None:
        raise ValueError(f"{name} has no peer.")
    first = 0.0
    if not case.fresh:
        small = case.data(WARM_UP, where)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = _timed(job, small)[1]
        del small
    data = case.data(n, where)
    gc.collect()
    before = _reset_peak()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted, seconds, cpu_seconds = _timed(job, data)
    peak = _peak()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quality = case.quality(fitted, data)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,  # of all threads
        "first_seconds": first,  # of the small job, with the imports
        "added_mb": max(peak - before, 0) / MB,
        "peak_mb": peak / MB,
        "quality": quality,
        "warnings": sorted({f"{w.category.__name__}: {_first_line(w.message)}" for w in said}),
    }


def _timed(job: Any, data: Any) -> tuple[Any, float, float]:
    start, cpu_start = time.perf_counter(), time.process_time()
    fitted = job(data)
    return fitted, time.perf_counter() - start, time.process_time() - cpu_start


def _reset_peak() -> int:
    """Resident bytes now; where the system can (Linux), the peak starts anew from them."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """The largest number of resident bytes so far."""
    if sys.platform == "win32":
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _first_line(message: object) -> str:
    lines = str(message).strip().splitlines()
    return lines[0] if lines else ""


def main(arguments: list[str]) -> None:
    name, side, size, data, cache = arguments
    n, where = int(size), Where(Path(data), Path(cache))
    result: dict[str, Any] = {}
    try:
        if side == "graph":
            for rows in (WARM_UP, n):
                prepare_graph(rows, where)
        else:
            result = measure(name, side, n, where)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {_first_line(error)}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
