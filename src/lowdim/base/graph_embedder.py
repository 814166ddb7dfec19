"""The contract of the methods that see their data as a neighbour graph."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends import native
from lowdim.base.embedder import Embedder
from lowdim.checks import Array
from lowdim.relations.distances import Metric, cross_distances
from lowdim.relations.graph import NeighborGraph, fingerprint
from lowdim.relations.lists import merged, nearest_within, padded
from lowdim.relations.neighbors import neighbor_graph
from lowdim.relations.precomputed import check_k, precomputed_graph, sparse_rows
from lowdim.relations.search import nearest_outside, query, smallest, within_reach

DISCONNECTED = ("join", "largest", "separate", "raise")


class GraphEmbedder(Embedder):
    """An embedder that sees its data as a neighbour graph.

    The parameters `n_neighbors`, `radius` and `disconnected` mean the same in every such method,
    and a ready `NeighborGraph` saves computing one: `fit(X, graph=graph)`.
    """

    graph_: NeighborGraph
    _default_neighbors = 10  # where neither n_neighbors nor radius is given

    def fit(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features); with metric="precomputed"
            a matrix of dissimilarities, a sparse graph of them, or a `NeighborGraph`.
        y : ignored.
        graph : the neighbour graph of X from `lowdim.neighbors`, with at least `n_neighbors`
            neighbours, to be used instead of computing it.
        """
        for name in ("parts_", "part_rows_"):
            if hasattr(self, name):
                delattr(self, name)
        checks.choice(self.disconnected, "disconnected", DISCONNECTED)
        with native.blas_on_one_thread():
            rows = self._objects(X, fitting=True)
            self._fit_connected(rows, self._neighbor_graph(rows, graph))
        return self

    def fit_transform(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Array:
        """Fit to X and return `embedding_`."""
        return self.fit(X, y, graph=graph).embedding_

    def transform(self, X: Any) -> Array:
        """Coordinates of new objects; a row's answer does not depend on the other rows."""
        check_is_fitted(self)
        if not hasattr(self, "parts_"):
            return super().transform(X)
        with native.blas_on_one_thread():
            return self._transform_parts(self._objects(X, fitting=False))

    def _fit_graph(self, rows: Any, graph: NeighborGraph) -> None:
        """Set `embedding_` from a connected graph of the rows."""
        raise NotImplementedError

    def _neighbor_graph(self, rows: Any, given: NeighborGraph | None) -> NeighborGraph:
        k, radius = self.n_neighbors, self.radius
        if k is not None and radius is not None:
            raise ValueError("Both n_neighbors and radius are provided: set one of them to None.")
        if isinstance(rows, NeighborGraph):
            return rows if rows.n_neighbors is None or k is None else rows.take(k)
        if given is not None:
            return self._given_graph(rows, given)
        if k is None and radius is None:
            k = min(self._default_neighbors, rows.shape[0] - 1)
        if self._precomputed:
            return precomputed_graph(rows, k, radius)
        if k is not None:
            check_k(k, rows.shape[0])
        return neighbor_graph(rows, self._metric, k, radius, self._n_jobs)

    def _given_graph(self, rows: Any, graph: NeighborGraph) -> NeighborGraph:
        if not isinstance(graph, NeighborGraph):
            raise TypeError(
                f"graph must be a NeighborGraph from lowdim.neighbors, got {type(graph).__name__}."
            )
        if graph.n_objects != rows.shape[0]:
            raise ValueError(f"graph has {graph.n_objects} objects, but X has {rows.shape[0]}.")
        if graph.fingerprint and graph.fingerprint != fingerprint(rows):
            raise ValueError(
                "graph was computed from other data than X (their fingerprints differ). Compute "
                "it again with lowdim.neighbors(X, ...)."
            )
        if not self._precomputed and graph.metric not in (self._metric.name, "precomputed"):
            raise ValueError(
                f"graph was measured by metric={graph.metric!r}, but this estimator's metric is "
                f"{self._metric.name!r}. Give both the same."
            )
        if graph.n_neighbors is None or self.n_neighbors is None:
            return graph
        return graph.take(self.n_neighbors)

    # --- the one policy for disconnected graphs ---------------------------------------------

    @property
    def _symmetry(self) -> str:
        return str(getattr(self, "symmetry", "union"))

    def _fit_connected(self, rows: Any, graph: NeighborGraph) -> None:
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
        if self._precomputed and hasattr(rows, "tocsr"):
            return padded(*sparse_rows(rows, k, self.radius))
        if k is None:
            measured = rows
            if not self._precomputed:
                measured = cross_distances(rows, self.X_fit_, self._metric, self._n_jobs)
            return nearest_within(measured, self.radius)
        if self._precomputed:
            return smallest(rows, k)
        return query(self.X_fit_, rows, k, self._metric, self._n_jobs)

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
        if self._precomputed and hasattr(rows, "tocsr"):
            nearest, distances = padded(*sparse_rows(rows, k, None))
        elif self._precomputed:
            nearest, distances = smallest(rows, k)
        else:
            nearest, distances = query(self.X_fit_, rows, k, self._metric, self._n_jobs)
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
