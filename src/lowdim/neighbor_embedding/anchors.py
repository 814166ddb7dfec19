"""Springs that draw the points of a map to places while a solver runs.

After each step of the solver a point returns by a share of its distance from its place. A force
that moves a free point by s in each step therefore moves a held one by at most s / share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.procrustes import procrustes


@dataclass(frozen=True)
class Anchors:
    """Places of single points; shares from 0, a free coordinate, to 1, one that is fixed."""

    places: Array
    shares: Array

    def pull(self, Y: Array) -> None:
        """Move points towards their places, in place."""
        Y += self.shares * (self.places - Y)
        np.copyto(Y, self.places, where=self.shares == 1)

    def renumber(self, order: Array) -> Anchors:
        """The anchors of points in another order."""
        return Anchors(*(np.ascontiguousarray(part[order]) for part in (self.places, self.shares)))


@dataclass(frozen=True)
class Reference:
    """A global map of all points, centred at 0, of which only the shape counts.

    Before each pull it is scaled to the map that is being computed, by least squares.
    """

    places: Array
    share: float

    def pull(self, Y: Array) -> None:
        """Move points towards their places, in place."""
        Y -= Y.mean(axis=0, dtype=np.float64).astype(Y.dtype)
        size = float((self.places**2).sum(dtype=np.float64))  # np.vdot depends on the processor
        scale = float((self.places * Y).sum(dtype=np.float64)) / size if size > 0 else 0.0
        Y += Y.dtype.type(self.share) * (Y.dtype.type(scale) * self.places - Y)

    def renumber(self, order: Array) -> Reference:
        """The reference of points in another order."""
        return Reference(np.ascontiguousarray(self.places[order]), self.share)


Spring = Anchors | Reference  # a pull on the points of a map after each step of a solver


def towards(start: Array, weight: float, balance: float) -> Reference:
    """The pull of `global_weight` towards the shape of a start.

    The odds of the share are those of the weight times those of `balance`, the share at 0.5.
    """
    pull, rest = weight * balance, (1 - weight) * (1 - balance)
    return Reference(start - start.mean(axis=0), pull / (pull + rest))


def hold(old: Array, placed: Array, share: float, dtype: np.dtype[np.floating]) -> Anchors:
    """Anchors for a map of old points, which are held, and of new ones after them, which are free.

    Points without coordinates (NaN) are free and begin at the centre of the map.
    """
    places = np.concatenate([old, placed]).astype(dtype)
    known = np.isfinite(places).all(axis=1)
    places[~known] = places[known].mean(axis=0)
    held = known & (np.arange(len(places)) < len(old))
    shares = np.where(held, share, 0).astype(dtype)
    return Anchors(places, np.repeat(shares[:, None], places.shape[1], axis=1))


def pins(pinned: Any, strength: Any, n: int, dim: int, dtype: Any) -> Anchors | None:
    """Anchors at places that the user has given, NaN for a free coordinate; None if all are free.

    `strength`, a number or one for each point, is the share by which a pinned point returns to its
    place in each step; 1: it stays there.
    """
    if pinned is None:
        return None
    places = np.array(checks.vectors(pinned, name="pinned", allow_nan=True), dtype=dtype)
    if places.shape != (n, dim):
        raise ValueError(
            f"{argument('pinned')} has shape {places.shape}, but the map has {n} objects and {dim} "
            "coordinates. Give a row for each object, NaN for a coordinate that is free."
        )
    shares = np.asarray(strength, dtype=np.float64)
    if shares.ndim > 0 and shares.shape != (n,):
        raise ValueError(
            f"{argument('pin_strength')} has shape {shares.shape}: give a number, or one for each "
            f"of the {n} objects."
        )
    if not ((shares > 0) & (shares <= 1)).all():
        raise ValueError(
            f"{argument('pin_strength')} must be above 0 and at most 1, which is fixed; found "
            f"{float(np.min(shares)):g} to {float(np.max(shares)):g}."
        )
    held = np.isfinite(places)
    if not held.any():
        return None
    shares = np.where(held, np.broadcast_to(shares.reshape(-1, 1), places.shape), 0).astype(dtype)
    return Anchors(np.where(held, places, 0), shares)


def start_at_pins(start: Array, anchors: Anchors | None, init: Any) -> Array:
    """A start moved as a whole so that it fits the pinned points, which begin at their places.

    It is turned and scaled if more points than dimensions are pinned in all coordinates; otherwise
    it is shifted. Coordinates that the user has given as `init` stay as they are.
    """
    if anchors is None:
        return start
    held = anchors.shares > 0
    whole = held.all(axis=1)
    if not isinstance(init, str):
        start = np.array(init, dtype=np.float64)
    elif whole.sum() > start.shape[1]:
        start = procrustes(anchors.places[whole], start[whole]).apply(start)
    else:
        counts = np.maximum(held.sum(axis=0), 1)
        start = start + (np.where(held, anchors.places - start, 0).sum(axis=0) / counts)
    return np.where(held, anchors.places, start).astype(anchors.places.dtype, order="C")


E = TypeVar("E", bound=Embedder)


def fit_with_pins(
    self: E,
    X: Any,
    y: Any = None,
    *,
    graph: NeighborGraph | None = None,
    pinned: Any = None,
    pin_strength: Any = 1.0,
) -> E:
    """Compute `embedding_` from the objects X.

    Parameters
    ----------
    $objects
    $given_graph
    $pins

    Returns
    -------
    self
    """
    return self._check_and_fit(X, graph=graph, pinned=pinned, pin_strength=pin_strength)


def pinned_start(
    start: Array, pinned: Any, strength: Any, init: Any, weight: float = 0.0, balance: float = 1.0
) -> tuple[list[Spring], Array]:
    """As `springs_and_start`, for places that the user has given."""
    n, dim = start.shape
    anchors = pins(pinned, strength, n, dim, start.dtype)
    return springs_and_start(start, anchors, init, weight, balance)


def springs_and_start(
    start: Array, anchors: Anchors | None, init: Any, weight: float, balance: float
) -> tuple[list[Spring], Array]:
    """The springs of `global_weight` towards a start and of pinned points, and where to begin."""
    springs: list[Spring] = [] if weight == 0 else [towards(start, weight, balance)]
    return springs if anchors is None else [*springs, anchors], start_at_pins(start, anchors, init)
