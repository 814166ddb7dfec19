"""Cross-entropy layouts."""

from __future__ import annotations

from typing import Any, Protocol

from lowdim.checks import Array


class Layouts(Protocol):
    """Epochs of a cross-entropy layout."""

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
