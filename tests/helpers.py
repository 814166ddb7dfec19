"""Helpers that several test folders share."""

from __future__ import annotations

import numpy as np

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
