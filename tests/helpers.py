"""Helpers that several test folders share."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

import lowdim


def axis_signs(Y, reference):
    """The sign of each axis of Y that makes it point the way the reference's axis does."""
    return np.where((Y * reference).sum(axis=0) < 0, -1, 1)


def aligned(Y, reference):
    """Y with each axis pointing the way the reference's axis does: eigenvectors have no sign."""
    return Y * axis_signs(Y, reference)


def with_threads(n_jobs, function, *arguments, **options):
    """The result of a function that runs on the given number of threads."""
    with lowdim.compute(n_jobs=n_jobs):
        return function(*arguments, **options)


def differences(one, other, name="estimator"):
    """Where two values differ, by the names of their parts; functions are equal by name."""
    if type(one) is not type(other):
        return [f"{name}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind in "fc"
        )
        return [] if same else [name]
    if issparse(one):
        return differences(one.toarray(), other.toarray(), name)
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return [f"{name}: {sorted(map(str, one.keys() ^ other.keys()))} in one alone"]
        parts = [(one[key], other[key], f"{name}.{key}") for key in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return [f"{name}: {len(one)} and {len(other)} entries"]
        parts = [(a, b, f"{name}[{i}]") for i, (a, b) in enumerate(zip(one, other, strict=True))]
    elif callable(one) and hasattr(one, "__qualname__"):
        return [] if one.__qualname__ == other.__qualname__ else [name]
    elif hasattr(one, "__dict__"):
        parts = [(vars(one), vars(other), name)]
    else:
        equal = one == other or (one != one and other != other)
        return [] if equal else [f"{name}: {one!r} and {other!r}"]
    return [found for a, b, part in parts for found in differences(a, b, part)]
