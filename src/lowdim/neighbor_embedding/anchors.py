"""Springs that hold points near their places while a map is refined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowdim.checks import Array


@dataclass(frozen=True)
class Anchors:
    """Places to which points are drawn back.

    After each step of a solver a point returns by a share of its distance from its place. A force
    that moves a free point by s in each step therefore moves a held one by at most s / share.

    Parameters
    ----------
    places : array of shape (n, dim)
    shares : array of shape (n,)
        From 0, a free point, to 1, a point that does not move.
    """

    places: Array
    shares: Array

    def pull(self, Y: Array) -> None:
        """Move points towards their places, in place."""
        Y += self.shares[:, None] * (self.places - Y)

    def renumber(self, order: Array) -> Anchors:
        """The anchors of points in another order."""
        return Anchors(np.ascontiguousarray(self.places[order]), self.shares[order])


def hold(old: Array, placed: Array, share: float, dtype: np.dtype[np.floating]) -> Anchors:
    """Anchors for a map of old points, which are held, and of new ones after them, which are free.

    Points without coordinates (NaN) are free and begin at the centre of the map.

    Parameters
    ----------
    old : array of shape (n_old, dim)
        The map.
    placed : array of shape (n_new, dim)
        First coordinates of the new points.
    share : float
        See `Anchors`.
    dtype : dtype
        Of the solver.
    """
    places = np.concatenate([old, placed]).astype(dtype)
    known = np.isfinite(places).all(axis=1)
    places[~known] = places[known].mean(axis=0)
    held = known & (np.arange(len(places)) < len(old))
    return Anchors(places, np.where(held, share, 0).astype(dtype))
