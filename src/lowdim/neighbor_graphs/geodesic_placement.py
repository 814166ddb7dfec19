"""Out-of-sample extension by geodesic distances, each through the best of the neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

BLOCK_ROWS = 64  # new objects whose geodesic distances are in memory at once


def place_by_geodesics(
    nearest: Array, steps: Array, lengths: Array, place: Callable[[Array], Array], out: Array
) -> Array:
    """Place new objects by their geodesic distances to the training objects or landmarks.

    Parameters
    ----------
    nearest, steps : arrays of shape (m, k)
        The neighbours of each new object and the distances to them; padded with infinity.
    lengths : array of shape (n, n_targets)
        Geodesic distances from the training objects to the targets: all objects or landmarks.
    place : callable
        From geodesic distances (rows, n_targets) to coordinates (rows, dim).
    out : array of shape (m, dim)
        Is filled with the coordinates.

    Returns
    -------
    out
    """

    def fill(part: slice) -> None:
        through = np.full((part.stop - part.start, lengths.shape[1]), np.inf, dtype=lengths.dtype)
        for j in range(nearest.shape[1]):
            step = steps[part, j, None].astype(lengths.dtype)
            np.minimum(through, lengths[nearest[part, j]] + step, out=through)
        out[part] = place(through)

    run(fill, blocks(len(nearest), BLOCK_ROWS))
    return out
