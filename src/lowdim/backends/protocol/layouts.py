"""Layouts of graphs and of pairs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lowdim.checks import Array


class Layouts(Protocol):
    """Epochs of layouts, and random pairs."""

    def layout_arcs(self, graph: Any, rank: Array | None = None) -> Any:
        """The arcs of a CSR graph in the form that `layout_epochs` takes.

        Vertex i becomes vertex rank[i]. Without `rank`, rows are vertices and columns are fixed
        points.
        """

    def layout_epochs(
        self,
        arcs: Any,
        Y: Array,
        velocity: Array,
        *,
        curve: tuple[float, float],
        rate: float,
        momentum: float,
        repulsion: float,
        n_negatives: int,
        epochs: tuple[int, int, int],
        seed: int,
        fixed: Array | None = None,
        density: tuple[Array, Array] | None = None,
        loss: bool = False,
    ) -> float:
        """Run epochs of a cross-entropy layout (see `lowdim.neighbor_embedding.umap.layout`).

        Parameters
        ----------
        arcs : from `layout_arcs`
        Y, velocity : arrays of shape (n, dim)
            Coordinates and velocities, updated in place.
        curve : (a, b)
            Points at distance d have the membership 1 / (1 + a d^2b).
        rate, momentum : float
            Learning rate and momentum of the first epoch; both decrease linearly to 0.
        repulsion : float
            Weight of the repulsion.
        n_negatives : int
            Number of random points that repel a vertex in an epoch; 0: all points do.
        epochs : (first, last, total)
            Run the epochs first <= e < last of a layout of `total` epochs.
        seed : int
            Key of the random numbers, with the epoch and the vertex.
        fixed : array of shape (n_fixed, dim), default=None
            The targets of the arcs, if these are not the vertices themselves.
        density : pair of arrays of shape (n,), default=None
            densMAP's force on each vertex (see `Layout`).
        loss : bool
            Whether to compute the cross-entropy before the last epoch.

        Returns
        -------
        float
            The cross-entropy, 0 unless `loss`.
        """

    def layout_radii(self, arcs: Any, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
        """For each vertex, the sums of w and of w d^2 over its arcs, w = 1 / (1 + a d^2b)."""

    def pair_epochs(
        self,
        arcs: list[Any],
        Y: Array,
        moments: tuple[Array, Array],
        *,
        laws: Array,
        rates: Array,
    ) -> float:
        """Run epochs of Adam on pairs of several kinds.

        The loss of a pair at squared distance s is weight d / (constant + d), with d = 1 + s: an
        attraction, or a repulsion if the weight is negative. Each pair is an arc in both
        directions, whose weight multiplies it.

        Parameters
        ----------
        arcs : list, from `layout_arcs`
            One for each kind.
        Y : array of shape (n, dim)
            Coordinates, updated in place.
        moments : two arrays of shape (n, dim)
            Adam's running means of the gradient and of its square, updated in place.
        laws : float64 array of shape (n_epochs, n_kinds, 3)
            The constant, the weight and the reach r of each kind; if r is positive, the force is
            multiplied by r / sqrt(d).
        rates : float64 array of shape (n_epochs,)
            Step sizes, with Adam's correction of the bias.

        Returns
        -------
        float
            The loss before the last epoch.
        """

    def triplet_epochs(
        self,
        triplets: tuple[Array, Array, Array, Array],
        Y: Array,
        velocity: Array,
        gains: Array,
        *,
        rate: float,
        momenta: Array,
        min_gain: float,
        max_step: float,
    ) -> float:
        """Run epochs of gradient descent with gains on the loss of triplets.

        The loss of (i, j, k) is weight d_ij / (d_ij + d_ik), with d_ij = 1 + |y_i - y_j|^2.

        Parameters
        ----------
        triplets : starts, near, far, weights
            The triplets of i have j in near[starts[i]:starts[i + 1]] (int64, int32) and k in far.
        Y, velocity, gains : arrays of shape (n, dim)
            Updated in place.
        rate, min_gain, max_step : float
            As in `descend`.
        momenta : float64 array of shape (n_epochs,)
            The momentum of each epoch.

        Returns
        -------
        float
            The loss before the last epoch.
        """

    def draw_others(
        self, listed: Array, drawn: Array, *, seed: int, Y: Array, reach: float = np.inf
    ) -> None:
        """Replace the rows of `drawn` by random vertices, distinct and not in rows of `listed`.

        Parameters
        ----------
        listed : int32 array of shape (n, k)
            Vertices that a vertex does not get, beside itself; -1 is none.
        drawn : int32 array of shape (n, count)
            Updated in place. An entry for which no vertex was found in 100 draws stays.
        seed : int
            Key of the random numbers, with the vertex and the number of the draw.
        Y : array of shape (n, dim)
            Coordinates.
        reach : float
            The largest distance from the vertex on the map.
        """
