"""The contract of methods that start from each object's nearest neighbours, such as t-SNE."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lowdim.checks import Array
from lowdim.distances.metrics import canonical
from lowdim.distances.units import exponent_of
from lowdim.estimator.checkpoints import kept_graph
from lowdim.estimator.embedder import Embedder
from lowdim.estimator.fitted_state import graph
from lowdim.estimator.footprint import claim_memory
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.precomputed import check_k
from lowdim.objects.growth import joined_graph, joined_objects
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import GivenGraph, MeasuredObjects, Objects


class NeighborEmbedder(Embedder):
    """Base class of methods that start from each object's nearest neighbours.

    A method implements `_n_wanted(n)`, the number of neighbours that it needs of n objects, and
    `_fit_graph(objects, graph)`. Users can pass a `NeighborGraph` that they have computed already:
    `fit(X, graph=graph)`.
    """

    _attributes: ClassVar = {"_fitted_neighbors": graph}

    _search = "auto"  # "auto": an approximate search for many objects; or "exact"
    _fitted_neighbors: NeighborGraph  # that of the fit, which new objects can join

    def fit(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row; with metric="precomputed" a matrix of dissimilarities, a sparse
            graph of them, or a `NeighborGraph`.
        y : None
            Ignored.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least as many neighbours as
            the method needs. Computed if not given.

        Returns
        -------
        self
        """
        return self._fit_to(X, graph=graph)

    def fit_transform(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Array:
        """Fit to X and return `embedding_`; the parameters are those of `fit`."""
        return self.fit(X, y, graph=graph).embedding_

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None, **arguments: Any) -> None:
        self._fit_graph(objects, self._neighbor_graph(objects, graph), **arguments)

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        """Set `embedding_` from the objects and their neighbours."""
        raise NotImplementedError

    def _n_wanted(self, n: int) -> int:
        """The number of neighbours per object that the method needs, for n objects."""
        raise NotImplementedError

    def _neighbor_graph(self, objects: Objects, given: NeighborGraph | None) -> NeighborGraph:
        """The graph to fit to: given as X, given as `graph`, or computed."""
        if isinstance(objects, GivenGraph):
            return self._enough(self._cut(objects.graph))
        if given is not None:
            return self._enough(self._cut(check_given_graph(objects, given)))
        k = check_k(self._n_wanted(objects.n), objects.n)
        return self._enough(kept_graph(lambda: objects.neighbor_graph(k, method=self._search)))

    def _n_least(self, n: int) -> int:
        """The number of neighbours without which an object cannot be placed; 0: any will do."""
        return self._n_wanted(n)

    def _enough(self, graph: NeighborGraph) -> NeighborGraph:
        """Check that each object of a given graph has enough neighbours; returns the graph."""
        counts, least = graph.counts(), self._n_least(graph.n_objects)
        if len(counts) and counts.min() < least:
            raise ValueError(
                f"X: object {int(counts.argmin())} has {counts.min()} neighbours in the "
                f"precomputed graph, but {type(self).__name__} with these parameters needs "
                f"{least}. Store more neighbours of each object, or lower perplexity or "
                "n_neighbors."
            )
        return graph

    def _cut(self, graph: NeighborGraph) -> NeighborGraph:
        """The graph without neighbours that the method does not need."""
        return graph if graph.n_neighbors is None else graph.take(self._n_wanted(graph.n_objects))

    def _join(self, new: NewObjects) -> tuple[MeasuredObjects, NeighborGraph]:
        """The objects and the neighbour graph, with new objects added; see `update`.

        The neighbours of the old objects are searched again only if each needs more of them, which
        very few objects did not have.
        """
        graph = self._lists()
        assert isinstance(new, MeasuredNewObjects)  # `update` refuses other kinds
        objects = joined_objects(new)
        if exponent_of(objects.rows):
            raise ValueError(
                "X: the numbers are of another magnitude than those of the training objects. Fit "
                "again to all objects."
            )
        claim_memory(self, objects, {})
        self._remember(objects)
        k = graph.n_neighbors
        if k is not None and k < check_k(self._n_wanted(objects.n), objects.n):
            return objects, self._neighbor_graph(objects, None)
        radius = getattr(self, "radius", None)
        return objects, joined_graph(graph, new, objects, radius=radius, method=self._search)

    def _lists(self) -> NeighborGraph:
        """The neighbour graph of the fit."""
        if not hasattr(self, "_fitted_neighbors"):
            raise ValueError(
                f"{type(self).__name__}.update: this model has no neighbour graph that new objects "
                "could join, because it was fitted to targets, to given affinities, to distinct "
                "rows or to rows read in blocks, or combines two models. Fit again to all objects."
            )
        return self._fitted_neighbors

    def _keep_known(self, Y: Array, nearest: Array, distances: Array) -> Array:
        """Set the rows of Y whose object equals a training object to its coordinates, in place."""
        same = distances[:, 0] == 0
        Y[same] = self.embedding_[nearest[same, 0]]
        return Y


class NeighborSearch(NamedTuple):
    """The search for neighbours that a fit begins with: arguments of `lowdim.neighbors`."""

    k: int
    metric: str
    method: str


def neighbor_search(estimator: Any, n: int) -> NeighborSearch | None:
    """The search that `fit` would begin with for n vectors, so that several fits can share a graph.

    None if the fit does not begin with the k nearest neighbours under a metric without parameters.
    """
    if not isinstance(estimator, NeighborEmbedder):
        return None
    other = getattr(estimator, "affinity", "nearest_neighbors") != "nearest_neighbors"
    if other or getattr(estimator, "radius", None) is not None or getattr(estimator, "unique", 0):
        return None
    metric, params = estimator._metric_choice()
    if not isinstance(metric, str) or metric in ("precomputed", "gower"):
        return None
    name, params = canonical(metric, params)
    if params:
        return None
    return NeighborSearch(check_k(estimator._n_wanted(n), n), name, estimator._search)


def check_given_graph(objects: Objects, graph: NeighborGraph) -> NeighborGraph:
    """Check that a graph given by the user is a graph of these objects under their metric."""
    if not isinstance(graph, NeighborGraph):
        raise TypeError(
            f"graph must be a NeighborGraph from lowdim.neighbors, got {type(graph).__name__}."
        )
    graph.check("graph")
    if graph.n_objects != objects.n:
        raise ValueError(f"graph has {graph.n_objects} objects, but X has {objects.n}.")
    if graph.fingerprint and graph.fingerprint != objects.fingerprint():
        raise ValueError(
            "graph was computed from other data than X (their fingerprints differ). Compute "
            "it again with lowdim.neighbors(X, ...)."
        )
    if "precomputed" not in (objects.metric_name, graph.metric) and (
        graph.metric != objects.metric_name
    ):
        raise ValueError(
            f"graph was measured by metric={graph.metric!r}, but this estimator's metric is "
            f"{objects.metric_name!r}. Use the same metric for both."
        )
    largest = float(graph.distances.max(initial=0))
    if largest > np.sqrt(np.finfo(graph.distances.dtype).max):
        raise ValueError(
            f"graph has distances up to {largest:g}, whose squares overflow, but those of X do "
            "not. Compute it again with lowdim.neighbors(X, ...)."
        )
    return graph
