"""Tries random attacks for a number of tries or minutes; ends in a table of tries and failures.

    python tests/fuzz/adversary.py --tries 1000 --minutes 10 --only model_file --seed 0

The attacks run in a second process, so that a crash or a hang is one more failure in the table. A
failure is printed with the class of attack and the seed that repeat it: --repeat model_file 4711.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

PATIENCE = 60  # seconds until a try counts as a hang
FINE = ("fine", "refused")  # outcomes that are no failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=300, help="of each class (%(default)s)")
    parser.add_argument("--minutes", type=float, default=None, help="stop after this time")
    parser.add_argument("--seed", type=int, default=0, help="of the first try")
    parser.add_argument("--only", action="append", help="a class of attacks; may be repeated")
    parser.add_argument("--repeat", nargs=2, metavar=("CLASS", "SEED"), help="one try, as it is")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return _work(json.loads(options.work))
    from attacks import ATTACKS, attempt

    if options.repeat:
        print(attempt(options.repeat[0], int(options.repeat[1])))
        return 0
    chosen = options.only or list(ATTACKS)
    seeds = range(options.seed, options.seed + options.tries)
    tries = [(attack, seed) for seed in seeds for attack in chosen]
    end = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    outcomes = _run(tries, end)
    return _report(outcomes, chosen)


def _work(tries: list[tuple[str, int]]) -> int:
    """The second process: one line before each try and one after it."""
    from attacks import Failure, attempt

    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job in the background
    for attack, seed in tries:
        print(json.dumps(["begin"]), flush=True)
        try:
            outcome, detail = attempt(attack, seed), ""
        except Failure as failure:
            outcome, detail = failure.args
        except Exception as error:  # the attack itself met what it did not expect
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcome = "odd error"
            detail = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        print(json.dumps(["end", outcome, detail]), flush=True)
    return 0


def _run(tries: list[tuple[str, int]], end: float | None) -> list[tuple[str, int, str, str]]:
    """(attack, seed, outcome, detail) of the tries, until the end."""
    done: list[tuple[str, int, str, str]] = []
    while len(done) < len(tries) and (end is None or time.monotonic() < end):
        part = tries[len(done) : len(done) + 500]
        command = [sys.executable, __file__, "--work", json.dumps(part)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines: queue.Queue[bytes | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(worker.stdout, lines), daemon=True)
        reader.start()
        for attack, seed in part:
            outcome, detail = _next(lines)
            done.append((attack, seed, outcome, detail))
            if outcome not in FINE and outcome != "crash":
                print(f"{outcome}: {attack} {seed}: {detail}", flush=True)
            if outcome in ("hang", "crash"):
                break
            if end is not None and time.monotonic() > end:
                break
        worker.kill()
        code = worker.wait()
        if done[-1][2] == "crash":
            print(f"crash: {attack} {seed}: exit status {code}", flush=True)
    return done


def _read(stream: object, lines: queue.Queue[bytes | None]) -> None:
    for line in stream:  # type: ignore[attr-defined]
        lines.put(line)
    lines.put(None)


def _next(lines: queue.Queue[bytes | None]) -> tuple[str, str]:
    """The outcome of the next try."""
    waited = 5 * PATIENCE  # the first begins after the imports and the making of models
    while True:
        try:
            line = lines.get(timeout=waited)
        except queue.Empty:
            return "hang", f"more than {waited} s"
        if line is None:
            return "crash", ""
        message = json.loads(line)
        if message[0] == "end":
            return message[1], message[2]
        waited = 2 * PATIENCE


def _report(outcomes: list[tuple[str, int, str, str]], chosen: list[str]) -> int:
    failures = [found for found in outcomes if found[2] not in FINE]
    kinds = sorted({found[2] for found in failures})
    header = ["attack", "tries", *FINE, *kinds]
    print(f"| {' | '.join(header)} |")
    print(f"| --- |{' --: |' * (len(header) - 1)}")
    for attack in chosen:
        count = Counter(found[2] for found in outcomes if found[0] == attack)
        cells = [
            attack,
            sum(count.values()),
            *(count[kind] for kind in (*FINE, *kinds)),
        ]
        print(f"| {' | '.join(map(str, cells))} |")
    print(f"{len(outcomes)} tries, {len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
