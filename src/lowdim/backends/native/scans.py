"""One pass over all entries of arrays: facts about them, digests, copies."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from lowdim import _native
from lowdim.checks import Array, dense
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

ENTRIES = 1 << 18  # that a thread reads at once


def extremes(A: Array) -> tuple[float, float]:
    """The smallest and the largest entry of an array; both are NaN if an entry is."""
    if A.dtype in (np.float32, np.float64) and (A.flags.c_contiguous or A.flags.f_contiguous):
        both = np.empty(2)
        _native.extremes(A.ravel(order="K"), both, current().threads)
        return float(both[0]), float(both[1])

    def extremes_of_block(rows: slice) -> tuple[float, float]:
        with np.errstate(invalid="ignore"):
            return float(A[rows].min()), float(A[rows].max())

    bounds = run(extremes_of_block, blocks(len(A), max(1, ENTRIES * len(A) // A.size)))
    low, high = np.array(bounds).T
    return float(low.min()), float(high.max())


def asymmetry(D: Array) -> float:
    """The largest difference between a square matrix and its transpose."""

    def asymmetry_of_tile(pair: tuple[slice, slice]) -> float:
        left, right = pair
        return float(np.abs(D[left, right] - D[right, left].T).max())

    return max(
        run(asymmetry_of_tile, combinations_with_replacement(blocks(len(D)), 2)), default=0.0
    )


def stable_order(values: Array) -> Array:
    """The indices that sort a vector; those of equal entries ascend."""
    return np.argsort(values, kind="stable")


def group_sums(X: Array, groups: Array, count: int) -> Array:
    """The sum of the rows of each of `count` groups, in float64; X may be sparse.

    `groups` has the number of the group of each row.
    """
    from scipy.sparse import csr_array

    n = X.shape[0]
    parts = (np.ones(n), (groups, np.arange(n)))
    return np.asarray(dense(csr_array(parts, shape=(count, n)) @ X), np.float64)


def digest(values: Array) -> Array:
    """The xxHash64 of each MiB of an array in C order, as uint64, to recognise data."""
    octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    out = np.empty(_native.digest_chunks(len(octets)), dtype=np.uint64)
    _native.digest(octets, out, current().threads)
    return out


def copy_rows(source: Array, target: Array) -> None:
    """Copy a vector or matrix to another one of the same type; its rows are contiguous in both."""
    _native.copy_rows(_octets(source), _octets(target), current().threads)


def _octets(array: Array) -> Array:
    return np.atleast_2d(array).view(np.uint8)
