"""The neighbours of new objects in the graph of the training objects, for `transform`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.estimator.neighbors import symmetry_of
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import merge_lists
from lowdim.objects.new_objects import NewObjects


def keep_known(Y: Array, embedding: Array, nearest: Array, distances: Array) -> Array:
    """Set the rows of Y whose object equals a training object to its coordinates, in place."""
    same = distances[:, 0] == 0
    Y[same] = embedding[nearest[same, 0]]
    return Y


def new_neighbors(estimator: Any, new: NewObjects) -> tuple[Array, Array]:
    """Indices and distances of each new object's neighbours among the training objects.

    In a k-neighbour graph these are the k nearest; in a radius graph those within the radius,
    or the nearest one if there is none. If the rule of a given graph is not known, they are
    the nearest training object and all training objects that are closer to the new object
    than to the farthest of their own neighbours. Shorter lists are padded with infinite
    distances.
    """
    k = estimator.graph_.n_neighbors
    if k is not None:
        return new.nearest(k, "exact")
    if estimator.radius is not None:
        return new.within(estimator.radius)
    return _link_neighbors(estimator, new, 1)


def new_links(estimator: Any, new: NewObjects, *, itself: bool = False) -> tuple[Array, Array]:
    """Neighbours of new objects by the rule that linked the training objects.

    With "union" a training object is linked if it is among the k nearest, or if the new
    object is nearer to it than its own k-th neighbour; with "mutual" if both hold. Shorter
    lists are padded with infinite distances. With `itself`, for methods in which an object is
    its own neighbour, the k + 1 nearest are taken in place of k.
    """
    k = estimator.graph_.n_neighbors
    if k is None and estimator.radius is None and symmetry_of(estimator) == "mutual":
        # of the graph that this component belongs to
        k = estimator.n_neighbors or estimator._default_neighbors
    if k is None:
        return new_neighbors(estimator, new)
    return _link_neighbors(estimator, new, min(k + itself, estimator.graph_.n_objects))


def link_shares(estimator: Any, new: NewObjects, nearest: Array, distances: Array) -> Array:
    """The share of its weight that each link of `new_links` has: with symmetry "mean" one half
    if only one of the two objects is a neighbour of the other, else 1."""
    k = estimator.graph_.n_neighbors
    if symmetry_of(estimator) != "mean" or k is None:
        return np.ones_like(distances)
    theirs = distances <= _reach(estimator.graph_)[nearest]
    own = distances <= new.nearest(k, "exact")[1][:, -1:]
    return ((theirs.astype(distances.dtype) + own) / 2).astype(distances.dtype, copy=False)


def _reach(graph: NeighborGraph) -> Array:
    """The distance of each training object to the farthest of its neighbours.

    It is slightly enlarged, so that rounding does not separate an object from its neighbours.
    """
    reach = graph.reach()
    return np.asarray(reach * (1 + max(1e-8, 16 * float(np.finfo(reach.dtype).eps))))


def _link_neighbors(estimator: Any, new: NewObjects, k: int) -> tuple[Array, Array]:
    """The k nearest training objects, united with those that have the new object in reach.

    An object's reach is the distance to the farthest of its own neighbours. With symmetry
    "mutual" the result is the intersection instead, and the nearest object in any case.
    """
    reach = _reach(estimator.graph_)
    nearest, distances = new.nearest(k, "exact")
    if symmetry_of(estimator) == "mutual":
        far = distances > reach[nearest]
        far[:, 0] = False
        return nearest, np.where(far, np.asarray(np.inf, distances.dtype), distances)
    return merge_lists(nearest, distances, new.within_reach(reach))
