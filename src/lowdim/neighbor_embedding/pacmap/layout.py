"""The layout of PaCMAP: three kinds of pairs, three phases, Adam (Wang et al. 2021, section 5).

With d = 1 + |y_i - y_j|^2, the losses of near, mid-near and further pairs are d / (10 + d),
d / (10000 + d) and 1 / (1 + d), times weights that change from phase to phase.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.neighbor_embedding.pacmap.pairs import further_pairs

CONSTANTS = (10.0, 10_000.0, 1.0)  # of the losses of near, mid-near and further pairs
PHASES = (100, 200)  # epochs at which the second and the third phase begin
FIRST_MID_WEIGHT = 1000.0
MEAN_DECAY, SQUARE_DECAY = 0.9, 0.999  # of Adam
REDRAW_EVERY = 10  # epochs of LocalMAP


class PairLayout:
    """The state of a layout of pairs, which can be resumed: `run(n)` and `run(m)` are `run(n + m)`.

    Parameters
    ----------
    pairs : list of three arrays of shape (n_pairs, 2)
        Near, mid-near and further pairs.
    start : array of shape (n, dim)
    order : array of shape (n,)
        The vertices in the order in which they are stored.
    n_epochs : int
    rate : float
        Step size of Adam.
    reach : float
        LocalMAP: distance on the map within which further pairs are drawn in the third phase; 0 is
        PaCMAP.
    seed : int
        Of these draws.
    """

    scheduled = False  # whether the epochs depend on `n_epochs`

    def __init__(
        self,
        pairs: list[Array],
        start: Array,
        order: Array,
        *,
        n_epochs: int,
        rate: float,
        reach: float,
        seed: int,
    ) -> None:
        self.order, self.rank = order, np.empty(len(order), dtype=np.int32)
        self.rank[order] = np.arange(len(order), dtype=np.int32)
        self.near, self.further = pairs[0], pairs[2]
        self.Y = np.ascontiguousarray(start[order])
        self.arcs = [self._arcs(kind) for kind in pairs]
        self.mean, self.square = np.zeros_like(self.Y), np.zeros_like(self.Y)
        self.n_epochs, self.epoch, self.seed = n_epochs, 0, seed
        self.rate, self.reach = rate, reach

    @property
    def embedding(self) -> Array:
        """The coordinates, in the original order of the objects."""
        return self.Y.take(self.rank, axis=0)

    def run(self, epochs: int, *, loss: bool = False) -> float:
        """Run some epochs; returns the loss before the last one."""
        value, end = 0.0, min(self.epoch + epochs, self.n_epochs)
        while self.epoch < end:
            last = min(end, self.epoch - self.epoch % REDRAW_EVERY + REDRAW_EVERY)
            laws, rates = self._laws(self.epoch, last), self._rates(self.epoch, last)
            moments = self.mean, self.square
            value = backend().pair_epochs(self.arcs, self.Y, moments, laws=laws, rates=rates)
            value += laws[-1, 2, 1] * -len(self.further)  # 1 / (1 + d) = 1 - d / (1 + d)
            self.epoch = last
            if self.reach > 0 and last % REDRAW_EVERY == 0 and last > PHASES[1]:
                self._redraw()
        return value

    def state(self) -> dict[str, Any]:
        """Everything that changes from epoch to epoch."""
        return {
            "Y": self.Y,
            "mean": self.mean,
            "square": self.square,
            "further": self.further,
            "epoch": self.epoch,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same layout."""
        self.Y, self.mean, self.square = state["Y"], state["mean"], state["square"]
        self.further, self.epoch = state["further"], state["epoch"]
        self.arcs[2] = self._arcs(self.further)

    def _laws(self, first: int, last: int) -> Array:
        """Constant, weight and reach of each kind of pairs in the epochs first <= e < last."""
        epochs = np.arange(first, last)
        share = np.minimum(epochs / PHASES[0], 1)
        laws = np.zeros((len(epochs), 3, 3))
        laws[:, :, 0] = CONSTANTS
        laws[:, 0, 1] = np.select([epochs < PHASES[0], epochs < PHASES[1]], [2, 3], 1)
        laws[:, 1, 1] = np.where(epochs < PHASES[1], (1 - share) * FIRST_MID_WEIGHT + 3 * share, 0)
        laws[:, 2, 1] = -1
        laws[:, 0, 2] = np.where(epochs >= PHASES[1], self.reach / 2, 0)
        return laws

    def _rates(self, first: int, last: int) -> Array:
        """The step sizes, with Adam's correction of the bias of its means."""
        mean, square = (
            1 - np.cumprod(np.full(last, decay))[first:] for decay in (MEAN_DECAY, SQUARE_DECAY)
        )
        return np.asarray(self.rate * np.sqrt(square) / mean)

    def _redraw(self) -> None:
        """Replace further pairs by pairs that are near on the map (LocalMAP)."""
        seed = (self.seed + self.epoch) % 2**32
        count = max(1, round(len(self.further) / len(self.order)))
        self.further = further_pairs(
            self.near, self.Y, self.order, count, seed, self.reach, self.further
        )
        self.arcs[2] = self._arcs(self.further)

    def _arcs(self, pairs: Array) -> Any:
        n = len(self.order)
        ends = np.concatenate([pairs, pairs[:, ::-1]]).T
        ones = np.ones(ends.shape[1], dtype=self.Y.dtype)
        return backend().layout_arcs(coo_array((ones, ends), shape=(n, n)).tocsr(), self.rank)
