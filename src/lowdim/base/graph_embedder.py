"""The contract of the methods that see their data as a neighbour graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends import native
from lowdim.base.neighbor_embedder import NeighborEmbedder
from lowdim.checks import Array
from lowdim.relations.distances import Metric, cross_distances
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.lists import merged, nearest_within, padded
from lowdim.relations.neighbors import neighbor_graph
from lowdim.relations.precomputed import precomputed_graph, sparse_rows
from lowdim.relations.search import nearest_outside, query, within_reach

DISCONNECTED = ("join", "largest", "separate", "raise")


class GraphEmbedder(NeighborEmbedder):
    """An embedder that sees its data as a neighbour graph.

    The parameters `n_neighbors`, `radius` and `disconnected` mean the same in every such method,
    and a ready `NeighborGraph` saves computing one: `fit(X, graph=graph)`.
    """

    graph_: NeighborGraph
    _default_neighbors = 10  # where neither n_neighbors nor radius is given

    def transform(self, X: Any) -> Array:
        """Coordinates of new objects; a row's answer does not depend on the other rows."""
        check_is_fitted(self)
        if not hasattr(self, "parts_"):
            return super().transform(X)
        with native.blas_on_one_thread():
            return self._transform_parts(self._objects(X, fitting=False))

    def _neighbor_graph(self, rows: Any, given: NeighborGraph | None) -> NeighborGraph:
        checks.choice(self.disconnected, "disconnected", DISCONNECTED)
        if self.radius is None:
            return super()._neighbor_graph(rows, given)
        if self.n_neighbors is not None:
            raise ValueError("Both n_neighbors and radius are provided: set one of them to None.")
        if isinstance(rows, NeighborGraph):
            return rows
        if given is not None:
            return self._same_data(rows, given)
        if self._precomputed:
            return precomputed_graph(rows, None, self.radius)
        return neighbor_graph(rows, self._metric, None, self.radius, self._n_jobs)

    def _n_wanted(self, n: int) -> int:
        if self.n_neighbors is None:
            return min(self._default_neighbors, n - 1)
        return self.n_neighbors  # type: ignore[no-any-return]  # checked where it is used

    def _cut(self, graph: NeighborGraph) -> NeighborGraph:
        return graph if self.n_neighbors is None else super()._cut(graph)

    # --- the one policy for disconnected graphs ---------------------------------------------

    @property
    def _symmetry(self) -> str:
        return str(getattr(self, "symmetry", "union"))

    def _fit_neighbors(self, rows: Any, graph: NeighborGraph) -> None:
        for name in ("parts_", "part_rows_"):
            if hasattr(self, name):
                delattr(self, name)
        count, labels = graph.components(self._symmetry)
        if count == 1:
            self.graph_ = graph
            self._fit_graph(rows, graph)
            return
        found = f"the number of connected components of the neighbors graph is {count} > 1"
        if self.disconnected == "raise":
            raise ValueError(
                f"X: {found}. Raise n_neighbors or radius, or set disconnected='join', 'largest' "
                "or 'separate'."
            )
        if self.disconnected == "join":
            self.graph_ = self._joined(rows, graph, found)
            self._fit_graph(rows, self.graph_)
            return
        self.graph_ = graph
        sizes = np.bincount(labels)
        kept = [int(sizes.argmax())] if self.disconnected == "largest" else range(count)
        self._fit_parts(rows, graph, [np.flatnonzero(labels == label) for label in kept], found)

    def _joined(self, rows: Any, graph: NeighborGraph, found: str) -> NeighborGraph:
        if isinstance(rows, NeighborGraph) or (self._precomputed and hasattr(rows, "tocsr")):
            raise RuntimeError(
                f"X: {found}, and a precomputed sparse graph holds no distances to join them by. "
                "Raise the number of neighbours, or set disconnected='largest' or 'separate'."
            )
        checks.warn(
            f"{found}: they were joined by their shortest bridges, so distances between components "
            "are a guess. Raise n_neighbors or radius, or see the parameter disconnected."
        )
        if self._precomputed:
            measure = Metric("precomputed", lambda A, B: A, lambda X: X)
            return graph.join(nearest_outside(rows, measure, self._n_jobs), self._symmetry)
        return graph.join(nearest_outside(rows, self._metric, self._n_jobs), self._symmetry)

    def _fit_parts(self, rows: Any, graph: NeighborGraph, members: list[Array], found: str) -> None:
        """Embed components on their own, side by side; objects left out get NaN."""
        least = self.n_components + 2
        fitted = [own for own in members if len(own) >= least]
        left = graph.n_objects - sum(map(len, fitted))
        if not fitted:
            raise ValueError(
                f"X: {found}, none of them large enough to embed (at least {least} objects). "
                "Raise n_neighbors or radius."
            )
        checks.warn(
            f"{found}: {len(fitted)} embedded on their own, {left} objects left out (their "
            "coordinates are NaN)."
        )
        self.parts_, self.part_rows_ = [], fitted
        for own in fitted:
            part = clone(self).set_params(disconnected="raise")
            inside = graph.subset(own)
            if self._precomputed:
                dense = isinstance(rows, np.ndarray)
                part.fit(rows[np.ix_(own, own)] if dense else inside, graph=None)
            else:
                part.fit(rows[own], graph=inside)
            self.parts_.append(part)
        pieces = _side_by_side([part.embedding_ for part in self.parts_])
        self.embedding_ = np.full((graph.n_objects, pieces[0].shape[1]), np.nan, pieces[0].dtype)
        for own, piece in zip(fitted, pieces, strict=True):
            self.embedding_[own] = piece

    def _transform_parts(self, rows: Any) -> Array:
        """Each new object goes to the component of its nearest training object."""
        members = np.concatenate(self.part_rows_)
        owner = np.repeat(np.arange(len(self.parts_)), [len(own) for own in self.part_rows_])
        if self._precomputed:
            nearest = np.asarray(rows[:, members]).argmin(axis=1)
        else:
            nearest = query(self.X_fit_[members], rows, 1, self._metric, self._n_jobs)[0][:, 0]
        out = np.empty((rows.shape[0], self.embedding_.shape[1]), self.embedding_.dtype)
        for number, (own, part) in enumerate(zip(self.part_rows_, self.parts_, strict=True)):
            asked = np.flatnonzero(owner[nearest] == number)
            if len(asked):
                given = rows[asked][:, own] if self._precomputed else rows[asked]
                shift = self.embedding_[own[0]] - part.embedding_[0]
                out[asked] = part._transform(given) + shift
        return out

    # --- what graph methods use for new objects -----------------------------------------------

    def _new_neighbors(self, rows: Any) -> tuple[Array, Array]:
        """Indices and distances of each new object's neighbours among the training objects.

        On a radius graph those within the radius, or else the nearest one; the lists are filled
        up with infinite distances. Where the graph was given and its rule is not known, those
        that have the new object in the reach of their own neighbours.
        """
        k = self.graph_.n_neighbors
        if k is None and self.radius is None:
            return self._linked(rows, 1)
        if k is not None:
            return self._nearest_known(rows, k)
        if hasattr(rows, "tocsr") and self._precomputed:
            return padded(*sparse_rows(rows, None, self.radius))
        measured = rows
        if not self._precomputed:
            measured = cross_distances(rows, self.X_fit_, self._metric, self._n_jobs)
        return nearest_within(measured, self.radius)

    def _new_links(self, rows: Any, *, itself: bool = False) -> tuple[Array, Array]:
        """Neighbours of new objects by the rule that linked the training objects.

        With "union" a training object is linked if it is among the k nearest, or if the new
        object is nearer to it than its own k-th neighbour; with "mutual" if both hold. The lists
        are filled up with infinite distances. Where an object is its own neighbour (`itself`),
        the nearest stands for that and k more follow.
        """
        k = self.graph_.n_neighbors
        if k is None and self.radius is None and self._symmetry == "mutual":
            k = self.n_neighbors or self._default_neighbors  # of the graph this is a piece of
        if k is None:
            return self._new_neighbors(rows)
        return self._linked(rows, min(k + itself, self.graph_.n_objects))

    def _linked(self, rows: Any, k: int) -> tuple[Array, Array]:
        """The k nearest training objects and (or, if mutual) those with the new one in reach."""
        reach = self.graph_.reach()
        reach = reach * (
            1 + max(1e-8, 16 * float(np.finfo(reach.dtype).eps))
        )  # rounding parts none
        nearest, distances = self._nearest_known(rows, k)
        if self._symmetry == "mutual":
            far = distances > reach[nearest]
            far[:, 0] = False
            return nearest, np.where(far, np.asarray(np.inf, distances.dtype), distances)
        return merged(nearest, distances, self._welcoming(rows, reach))

    def _welcoming(self, rows: Any, reach: Array) -> tuple[Array, Array, Array]:
        """Row, column and distance of the training objects that have a new object in reach."""
        if not self._precomputed:
            return within_reach(self.X_fit_, rows, reach, self._metric, self._n_jobs)
        if hasattr(rows, "tocsr"):
            stored = rows.tocoo()
            near = stored.data <= reach[stored.coords[1]]
            return stored.coords[0][near], stored.coords[1][near], stored.data[near]
        new, known = np.nonzero(rows <= reach)
        return new, known, rows[new, known]

    def _keep_known(self, Y: Array, nearest: Array, distances: Array) -> Array:
        """Coordinates of new objects, those at distance zero from a training object its own."""
        same = distances[:, 0] == 0
        Y[same] = self.embedding_[nearest[same, 0]]
        return Y


def _side_by_side(pieces: list[Array]) -> list[Array]:
    """Maps moved along the first axis so that they do not overlap."""
    moved, edge = [], 0.0
    for piece in pieces:
        low, high = piece[:, 0].min(), piece[:, 0].max()
        shift = np.zeros(piece.shape[1], piece.dtype)
        shift[0] = edge - low
        moved.append(piece + shift)
        edge += float(high - low) * 1.1 + 1e-12
    return moved
