"""Geodesics of new points: through the best of their neighbours to the mapped objects."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

ROWS = 64  # new points whose geodesics are held at once


def place_by_geodesics(
    nearest: Array, steps: Array, lengths: Array, place: Callable[[Array], Array], out: Array
) -> Array:
    """Fill `out` with the places of new points, from their geodesics to the mapped objects.

    Parameters
    ----------
    nearest, steps : arrays (m, k)
        Each new point's neighbours and the distances to them; infinite where there are fewer.
    lengths : array (n, mapped)
        Geodesics from the training objects to the mapped ones.
    place : callable
        From geodesics (rows, mapped) to coordinates (rows, dim).
    out : array (m, dim)
    """

    def fill(part: slice) -> None:
        through = np.full((part.stop - part.start, lengths.shape[1]), np.inf, dtype=lengths.dtype)
        for j in range(nearest.shape[1]):
            step = steps[part, j, None].astype(lengths.dtype)
            np.minimum(through, lengths[nearest[part, j]] + step, out=through)
        out[part] = place(through)

    run(fill, blocks(len(nearest), ROWS))
    return out
