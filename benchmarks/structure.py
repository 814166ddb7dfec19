"""Error rates and power of the tests for structure: `python -m benchmarks.structure [--seeds N]`.

Each case draws data with and without structure. The table gives how often each verdict was
reached, and the seconds for one data set.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lowdim.quality.rows import data_rows
from lowdim.quality.structure import structure_of

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Array]


@dataclass(frozen=True)
class StructureCase:
    """Data sets of one kind and the verdicts that are right for them."""

    name: str
    draw: Draw
    right: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]


def _bimodal_column(random: np.random.Generator, n: int, d: int) -> Array:
    """Two groups ten standard deviations apart in the first column."""
    X = random.normal(size=(n, d))
    X[:, 0] += 10.0 * random.integers(2, size=n)
    return X


def _bimodal_columns(random: np.random.Generator, n: int, d: int) -> Array:
    """Two groups six standard deviations apart in every column, independently."""
    return np.asarray(random.normal(size=(n, d)) + 6.0 * random.integers(2, size=(n, d)))


def _circle(random: np.random.Generator, n: int, d: int) -> Array:
    """A circle without noise in the first two columns, noise of its variance in the others."""
    X = random.normal(scale=np.sqrt(0.5), size=(n, d))
    angle = random.uniform(0, 2 * np.pi, n)
    X[:, 0], X[:, 1] = np.cos(angle), np.sin(angle)
    return X


def _tight_cluster(random: np.random.Generator, n: int, d: int) -> Array:
    """One object in a hundred within 0.05 standard deviations of a common place."""
    X = random.normal(size=(n, d))
    m = max(n // 100, 1)
    X[:m] = random.normal(size=d) + 0.05 * random.normal(size=(m, d))
    return X


def _rotated_ring(random: np.random.Generator, n: int, d: int) -> Array:
    """A ring in a plane that no column lies in, under noise of 0.3 of its radius."""
    angle = random.uniform(0, 2 * np.pi, n)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    axes = np.linalg.qr(random.normal(size=(d, 2)))[0]
    return np.asarray(ring @ axes.T + 0.3 * random.normal(size=(n, d)))


def _rotated_clusters(random: np.random.Generator, n: int, d: int) -> Array:
    """Three clusters at random centres, as wide as the centres are apart by a third."""
    centers = random.normal(size=(3, d)) * 6 / np.sqrt(2 * d)
    return np.asarray(centers[random.integers(3, size=n)] + random.normal(size=(n, d)))


def _swiss_roll(random: np.random.Generator, n: int, d: int) -> Array:
    """A rolled sheet in three columns, noise of a tenth of its variance in the others."""
    from lowdim.data import swiss_roll

    roll = np.asarray(swiss_roll(n, random_state=int(random.integers(2**31)))[0])
    X: Array = random.normal(size=(n, d)) * roll.std() * np.sqrt(0.1)
    X[:, :3] = roll
    return X


def _factor(random: np.random.Generator, n: int, d: int) -> Array:
    """One common factor that explains a tenth of the variance of each column."""
    common = random.normal(size=(n, 1))
    return np.asarray(np.sqrt(0.1) * common + np.sqrt(0.9) * random.normal(size=(n, d)))


NOISE = ((100, 3), (100, 50), (300, 10), (1000, 2), (1000, 3), (1000, 10), (1000, 50), (5000, 10))
ANY = ("columns", "relations")
CASES = (
    StructureCase("normal noise", lambda r, n, d: r.normal(size=(n, d)), ("none",), NOISE),
    StructureCase("uniform noise", lambda r, n, d: r.uniform(size=(n, d)), ("none",), NOISE),
    StructureCase(
        "Student t3 noise", lambda r, n, d: r.standard_t(3, size=(n, d)), ("none",), NOISE
    ),
    StructureCase("lognormal noise", lambda r, n, d: r.lognormal(size=(n, d)), ("none",), NOISE),
    StructureCase(
        "rounded noise", lambda r, n, d: np.round(r.normal(size=(n, d)), 1), ("none",), NOISE
    ),
    StructureCase("one bimodal column", _bimodal_column, ANY, ((300, 10), (1000, 10))),
    StructureCase("bimodal columns", _bimodal_columns, ANY, ((300, 10), (1000, 10))),
    StructureCase("circle in two columns", _circle, ANY, ((300, 10), (1000, 10))),
    StructureCase("tight cluster of 1 %", _tight_cluster, ANY, ((5000, 3), (5000, 10), (5000, 50))),
    StructureCase("rotated ring", _rotated_ring, ("relations",), ((300, 20), (1000, 20))),
    StructureCase("rotated clusters", _rotated_clusters, ANY, ((300, 20), (1000, 20))),
    StructureCase("Swiss roll and noise", _swiss_roll, ("relations",), ((300, 3), (1000, 10))),
    StructureCase("common factor", _factor, ("relations",), ((300, 20), (1000, 20))),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structure", description=__doc__)
    parser.add_argument("--seeds", type=int, default=30, help="data sets of each case and size")
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    print("| data | n | columns | right | none | columns | relations | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        if options.case not in case.name:
            continue
        for n, d in case.sizes:
            found: Counter[str] = Counter()
            began = time.perf_counter()
            for seed in range(options.seeds):
                X = case.draw(np.random.default_rng(seed), n, d)
                structure = structure_of(data_rows(X), seed)
                found[structure.kind if structure else "not tested"] += 1
            seconds = (time.perf_counter() - began) / options.seeds
            right = sum(found[kind] for kind in case.right)
            counts = " | ".join(str(found[kind]) for kind in ("none", "columns", "relations"))
            row = f"{case.name} | {n:,} | {d} | {right} of {options.seeds} | {counts}"
            print(f"| {row} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
