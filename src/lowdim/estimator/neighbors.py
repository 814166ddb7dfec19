"""What methods that start from each object's nearest neighbours share, such as t-SNE and Isomap.

Such a method implements `_n_wanted(n)`, the number of neighbours that it needs of n objects. Users
can pass a `NeighborGraph` that they have computed already: `fit(X, graph=graph)`. Methods on a
connected, undirected graph, such as Isomap, have the parameters `n_neighbors`, `radius` and
`disconnected`, with the same meaning in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.metrics import canonical_metric
from lowdim.distances.units import exponent_of
from lowdim.estimator.embedder import Embedder
from lowdim.estimator.footprint import claim_memory
from lowdim.estimator.footprint import search_method as search_method
from lowdim.estimator.growth import join_graph, join_objects
from lowdim.estimator.persist import GRAPH_PARTS
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import GivenGraph, MeasuredObjects, Objects
from lowdim.runtime.context import current

DISCONNECTED = ("join", "largest", "separate", "raise")

E = TypeVar("E", bound=Embedder)


def fit_with_graph(self: E, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> E:
    """Compute `embedding_` from the objects X.

    Parameters
    ----------
    $objects
    $given_graph

    Returns
    -------
    self
    """
    return self._check_and_fit(X, graph=graph)


def graph_of_fit(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, k: int, least: int
) -> NeighborGraph:
    """The graph of the k nearest neighbours: given as X, given as `graph`, or computed.

    Raises ValueError if an object has fewer neighbours than `least`.
    """
    neighbors = user_graph(objects, graph)
    if neighbors is None:
        neighbors = search_graph(estimator, objects, k)
    elif neighbors.n_neighbors is not None:
        neighbors = neighbors.take(k)
    counts = neighbors.counts()
    if len(counts) and counts.min() < least:
        raise ValueError(
            f"X: object {int(counts.argmin())} has {counts.min()} neighbours in the precomputed "
            f"graph, but {type(estimator).__name__} with these parameters needs {least}. Store "
            "more neighbours of each object, or lower "
            f"{argument('perplexity')} or {argument('n_neighbors')}."
        )
    return neighbors


def user_graph(objects: Objects, graph: NeighborGraph | None) -> NeighborGraph | None:
    """The graph given as X or as `graph`, checked; None if there is none."""
    if isinstance(objects, GivenGraph):
        return objects.graph
    return None if graph is None else check_user_graph(objects, graph)


def search_graph(estimator: Any, objects: Objects, k: int) -> NeighborGraph:
    """The graph of the k nearest neighbours, from the checkpoint of the fit if it has one."""
    k, method = checks.n_neighbors(k, objects.n), search_method(estimator)
    return kept_graph(lambda: objects.neighbor_graph(k, method=method))


def kept_graph(compute: Callable[[], NeighborGraph]) -> NeighborGraph:
    """The neighbour graph that the fit has remembered if it goes on, or else computed."""
    states = current().states
    if states is None:
        return compute()
    parts = states.recall("graph")
    if parts is not None:
        return NeighborGraph(**parts).check("checkpoint")
    graph = compute()
    states.remember("graph", {part: getattr(graph, part) for part in GRAPH_PARTS})
    return graph


def n_neighbors_or_default(estimator: Any, n: int) -> int:
    """The number of neighbours of an object: `n_neighbors`, or a default of the method."""
    if estimator.n_neighbors is None:
        return min(int(estimator._default_neighbors), n - 1)
    return estimator.n_neighbors  # type: ignore[no-any-return]  # checked by `search_graph`


def connect(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, least: int, keep: bool = False
) -> bool:
    """Set `graph_` to the graph of n_neighbors or radius, connected by the policy `disconnected`.

    Returns False if the policy is to embed components of at least `least` objects separately: that
    is then done. With `keep` the graph is not joined, but used as it is.
    """
    estimator.graph_, parts = _connected_graph(estimator, objects, graph, least, keep)
    if parts:
        _fit_parts(estimator, objects, parts)
    return not parts


def _connected_graph(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, least: int, keep: bool
) -> tuple[NeighborGraph, list[Array]]:
    """The graph, with the shortest edges that join its components if they are to be joined, and
    the members of each component if these are to be embedded separately."""
    checks.choice(estimator.disconnected, "disconnected", DISCONNECTED)
    graph, symmetry = _graph(estimator, objects, graph), symmetry_of(estimator)
    count, labels = graph.components(symmetry)
    if count == 1:
        return graph, []
    policy = "keep" if keep and estimator.disconnected == "join" else estimator.disconnected
    problem = f"the number of connected components of the neighbors graph is {count} > 1"
    if policy == "raise":
        raise ValueError(
            f"X: {problem}. Raise {argument('n_neighbors')} or {argument('radius')}, or set "
            f"{argument('disconnected', 'join')}, 'largest' or 'separate'."
        )
    if policy == "keep":
        checks.warn(f"{problem}: the first coordinates only tell the components apart.")
        return graph, []
    if policy == "join":
        if not objects.complete:
            raise RuntimeError(
                f"X: {problem}, and a precomputed sparse graph holds no distances to join them by. "
                f"Raise the number of neighbours, or set {argument('disconnected', 'largest')} or "
                "'separate'."
            )
        checks.warn(
            f"{problem}: they were joined by their shortest bridges, so distances between "
            f"components are a guess. Raise {argument('n_neighbors')} or "
            f"{argument('radius')}, or choose another {argument('disconnected')}."
        )
        return graph.join(objects.nearest_outside(), symmetry), []
    kept = [int(np.bincount(labels).argmax())] if policy == "largest" else range(count)
    members = [np.flatnonzero(labels == label) for label in kept]
    parts = [own for own in members if len(own) >= least]
    if not parts:
        raise ValueError(
            f"X: {problem}, none of them large enough to embed (at least {least} objects). Raise "
            f"{argument('n_neighbors')} or {argument('radius')}."
        )
    checks.warn(
        f"{problem}: {len(parts)} embedded on their own, {len(labels) - sum(map(len, parts))} "
        "objects left out (their coordinates are NaN)."
    )
    return graph, parts


def _graph(estimator: Any, objects: Objects, graph: NeighborGraph | None) -> NeighborGraph:
    """The graph: given as X, given as `graph`, or computed."""
    if estimator.radius is not None and estimator.n_neighbors is not None:
        raise ValueError(
            f"Both {argument('n_neighbors')} and {argument('radius')} are provided: set one of "
            "them to None."
        )
    neighbors = user_graph(objects, graph)
    if neighbors is not None:
        whole = estimator.n_neighbors is None or neighbors.n_neighbors is None
        return neighbors if whole else neighbors.take(estimator._n_wanted(objects.n))
    if estimator.radius is not None:
        return kept_graph(lambda: objects.neighbor_graph(None, estimator.radius))
    return search_graph(estimator, objects, estimator._n_wanted(objects.n))


def _fit_parts(estimator: Any, objects: Objects, parts: list[Array]) -> None:
    """Embed each component of `graph_` separately, side by side; objects left out get NaN."""
    estimator.parts_, estimator.part_rows_ = [], parts
    for own in parts:
        part = clone(estimator).set_params(disconnected="raise")
        part._claim_and_fit(objects.subset(own), graph=estimator.graph_.subset(own))
        estimator.parts_.append(part)
    first = estimator.parts_[0].embedding_
    Y = np.full((objects.n, first.shape[1]), np.nan, first.dtype)
    edge = 0.0
    for own, part in zip(parts, estimator.parts_, strict=True):
        Y[own] = piece = part.embedding_
        low, high = piece[:, 0].min(), piece[:, 0].max()
        Y[own, 0] += piece.dtype.type(edge - low)
        edge += float(high - low) * 1.1 + 1e-12
    estimator.embedding_ = Y


def refit(estimator: Any, new: NewObjects) -> NeighborGraph:
    """Fit to the graph that new objects have joined, and return it; see `update`."""
    objects, graph = join(estimator, new, estimator.graph_)
    for name in ("parts_", "part_rows_"):
        vars(estimator).pop(name, None)
    estimator._fit(objects, graph)
    return graph


def symmetry_of(estimator: Any) -> str:
    """How the directed graph of neighbours is made undirected; see `NeighborGraph`."""
    return str(getattr(estimator, "symmetry", "union"))


def join(
    estimator: Any, new: NewObjects, graph: NeighborGraph
) -> tuple[MeasuredObjects, NeighborGraph]:
    """The objects and the neighbour graph, with new objects added; see `update`.

    The neighbours of the old objects are searched again only if each needs more of them, which
    very few objects did not have.
    """
    assert isinstance(new, MeasuredNewObjects)  # `update` refuses other kinds
    objects = join_objects(new)
    if exponent_of(objects.rows):
        raise ValueError(
            "X: the numbers are of another magnitude than those of the training objects. Fit "
            "again to all objects."
        )
    claim_memory(estimator, objects, {})
    estimator._remember(objects)
    wanted, method = estimator._n_wanted(objects.n), search_method(estimator)
    if graph.n_neighbors is not None and graph.n_neighbors < checks.n_neighbors(wanted, objects.n):
        return objects, search_graph(estimator, objects, wanted)
    radius = getattr(estimator, "radius", None)
    return objects, join_graph(graph, new, objects, radius=radius, method=method)


def fitted_neighbors(estimator: Any) -> NeighborGraph:
    """The neighbour graph of the fit, which new objects can join."""
    if not hasattr(estimator, "_fitted_neighbors"):
        raise ValueError(
            f"{type(estimator).__name__}.update: this model has no neighbour graph that new "
            "objects could join, because it was fitted to targets, to given affinities, to "
            "distinct rows or to rows read in blocks, or combines two models. Fit again to all "
            "objects."
        )
    graph: NeighborGraph = estimator._fitted_neighbors
    return graph


def search_arguments(estimator: Any, n: int) -> tuple[int, str, str] | None:
    """What a fit to n vectors would search first, so that several fits can share a graph.

    These are the arguments k, metric and method of `lowdim.neighbors`; None if the fit does not
    begin with the k nearest neighbours under a metric without parameters.
    """
    if not hasattr(estimator, "_n_wanted"):
        return None
    other = getattr(estimator, "affinity", "nearest_neighbors") != "nearest_neighbors"
    if other or getattr(estimator, "radius", None) is not None or getattr(estimator, "unique", 0):
        return None
    metric, params = estimator._metric_choice()
    if not isinstance(metric, str) or metric in ("precomputed", "gower"):
        return None
    name, params = canonical_metric(metric, params)
    if params:
        return None
    return checks.n_neighbors(estimator._n_wanted(n), n), name, search_method(estimator)


def check_user_graph(objects: Objects, graph: NeighborGraph) -> NeighborGraph:
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
            f"graph was measured by {argument('metric', graph.metric)}, but this estimator's "
            f"metric is {objects.metric_name!r}. Use the same metric for both."
        )
    largest = float(graph.distances.max(initial=0))
    if largest > np.sqrt(np.finfo(graph.distances.dtype).max):
        raise ValueError(
            f"graph has distances up to {largest:g}, whose squares overflow, but those of X do "
            "not. Compute it again with lowdim.neighbors(X, ...)."
        )
    return graph
