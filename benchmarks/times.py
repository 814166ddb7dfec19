"""How the time of a fit grows, for `lowdim.plan`: `python -m benchmarks times [METHOD ...]`.

Each method is fitted with its default parameters to more and more vectors in 50 dimensions (ten
overlapping groups on a curved surface), until a fit takes more than eight seconds. Printed are the
CPU seconds on one thread, the exponent (`power` of the method's traits) with which `lowdim.plan`
would have been nearest to those of half a second and more, and the factor by which it would err.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from lowdim.catalog import CATALOG, find
from lowdim.estimator.plan import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
SIZES = [100 * 2**power for power in range(11)]
FEATURES, LATENT, GROUPS = 50, 8, 10
LONG = 8.0  # seconds of a fit after which no larger one is made
ENOUGH = 0.2  # seconds; shorter fits are repeated
METHODS = [method.name for method in CATALOG if method.objects in ("vectors", "labelled")]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks times", description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", default=[], help="default: all")
    options = parser.parse_args(arguments)
    for name in options.methods or METHODS:
        command = [sys.executable, "-m", "benchmarks.times", name]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        times = json.loads(done.stdout.splitlines()[-1])
        print(name, " ".join(f"{n}: {s:.3g}" for n, s in times))
        print(f"    power {power(times)[0]:.1f}, error {power(times)[1]:.2f}", flush=True)
    return 0


def power(times: list[tuple[int, float]]) -> tuple[float, float]:
    """The exponent of least error, and the factor by which the estimates err at most."""
    pairs = []
    for n, seconds in times:
        probes = [(size, spent) for size, spent in times if size <= n // 2]
        while sum(spent for _, spent in probes[:-1]) > PATIENCE:
            probes.pop()
        if probes and (seconds > 0.5 or times[-1][1] < 0.5):
            pairs.append((n / probes[-1][0], seconds / probes[-1][1]))
    size_ratios, time_ratios = np.log(pairs).T
    powers = np.arange(0, 3.6, 0.1)
    errors = np.abs(np.outer(powers, size_ratios) - time_ratios).max(axis=1)
    return float(powers[errors.argmin()]), float(np.exp(errors.min()))


def measured(name: str) -> list[tuple[int, float]]:
    """Sizes and CPU seconds of fits on one thread."""
    method = find(name)
    assert method is not None
    X, labels = _groups(SIZES[-1])
    found: list[tuple[int, float]] = []
    _seconds(method.load(), X[: SIZES[0]], labels)  # loads what the method needs
    for n in SIZES:
        if found and found[-1][1] > LONG:
            break
        seconds = [_seconds(method.load(), X[:n], labels)]
        while sum(seconds) < ENOUGH:
            seconds.append(_seconds(method.load(), X[:n], labels))
        found.append((n, float(f"{min(seconds):.4g}")))
    return found


def _groups(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and the numbers of their groups."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(GROUPS, LATENT))
    labels = random.integers(GROUPS, size=n)
    latent = centers[labels] + 0.6 * random.normal(size=(n, LATENT))
    surface = np.tanh(latent @ random.normal(size=(LATENT, FEATURES)) / np.sqrt(LATENT))
    return (surface + 0.05 * random.normal(size=surface.shape)).astype(np.float32), labels


def _seconds(cls: type, X: np.ndarray, labels: np.ndarray) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls(n_jobs=1).fit(X, labels[: len(X)])
    return time.process_time() - start


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1])))
