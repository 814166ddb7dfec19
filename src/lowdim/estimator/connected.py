"""What methods on a connected, undirected neighbour graph share, such as Isomap.

The parameters `n_neighbors`, `radius` and `disconnected` have the same meaning in all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator.checkpoints import kept_graph
from lowdim.estimator.neighbors import given_graph, join, search_graph
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import merged
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects

DISCONNECTED = ("join", "largest", "separate", "raise")

# --- fit ---------------------------------------------------------------------------------


def n_neighbors_or_default(estimator: Any, n: int) -> int:
    """The number of neighbours of an object: `n_neighbors`, or a default of the method."""
    if estimator.n_neighbors is None:
        return min(int(estimator._default_neighbors), n - 1)
    return estimator.n_neighbors  # type: ignore[no-any-return]  # `check_k` checks it


def connected_graph(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, least: int, policy: str = ""
) -> tuple[NeighborGraph, list[Array]]:
    """The graph of n_neighbors or radius, to which the policy `disconnected` is applied.

    Returns the graph, with the shortest edges added that connect its components if they are to be
    joined, and a list of the members of each component of at least `least` objects if these are to
    be embedded separately. With policy="keep" the graph is not joined, but used as it is.
    """
    graph, symmetry = _graph(estimator, objects, graph), _symmetry(estimator)
    count, labels = graph.components(symmetry)
    if count == 1:
        return graph, []
    policy = policy if policy and estimator.disconnected == "join" else estimator.disconnected
    problem = f"the number of connected components of the neighbors graph is {count} > 1"
    if policy == "raise":
        raise ValueError(
            f"X: {problem}. Raise n_neighbors or radius, or set disconnected='join', 'largest' "
            "or 'separate'."
        )
    if policy == "keep":
        checks.warn(f"{problem}: the first coordinates only tell the components apart.")
        return graph, []
    if policy == "join":
        if not objects.complete:
            raise RuntimeError(
                f"X: {problem}, and a precomputed sparse graph holds no distances to join them by. "
                "Raise the number of neighbours, or set disconnected='largest' or 'separate'."
            )
        checks.warn(
            f"{problem}: they were joined by their shortest bridges, so distances between "
            "components are a guess. Raise n_neighbors or radius=, or choose another disconnected=."
        )
        return graph.join(objects.nearest_outside(), symmetry), []
    kept = [int(np.bincount(labels).argmax())] if policy == "largest" else range(count)
    members = [np.flatnonzero(labels == label) for label in kept]
    parts = [own for own in members if len(own) >= least]
    if not parts:
        raise ValueError(
            f"X: {problem}, none of them large enough to embed (at least {least} objects). "
            "Raise n_neighbors or radius."
        )
    checks.warn(
        f"{problem}: {len(parts)} embedded on their own, {len(labels) - sum(map(len, parts))} "
        "objects left out (their coordinates are NaN)."
    )
    return graph, parts


def _graph(estimator: Any, objects: Objects, graph: NeighborGraph | None) -> NeighborGraph:
    """The graph: given as X, given as `graph`, or computed."""
    checks.choice(estimator.disconnected, "disconnected", DISCONNECTED)
    if estimator.radius is not None and estimator.n_neighbors is not None:
        raise ValueError("Both n_neighbors and radius are provided: set one of them to None.")
    found = given_graph(objects, graph)
    if found is not None:
        whole = estimator.n_neighbors is None or found.n_neighbors is None
        return found if whole else found.take(estimator._n_wanted(objects.n))
    if estimator.radius is not None:
        return kept_graph(lambda: objects.neighbor_graph(None, estimator.radius))
    return search_graph(estimator, objects, estimator._n_wanted(objects.n))


def fit_parts(estimator: Any, objects: Objects, parts: list[Array]) -> None:
    """Embed each component of `graph_` separately, side by side; objects left out get NaN."""
    estimator.parts_, estimator.part_rows_ = [], parts
    for own in parts:
        part = clone(estimator).set_params(disconnected="raise")
        part._fit_objects(objects.subset(own), graph=estimator.graph_.subset(own))
        estimator.parts_.append(part)
    pieces = _side_by_side([part.embedding_ for part in estimator.parts_])
    Y = np.full((objects.n, pieces[0].shape[1]), np.nan, pieces[0].dtype)
    for own, piece in zip(parts, pieces, strict=True):
        Y[own] = piece
    estimator.embedding_ = Y


def _side_by_side(pieces: list[Array]) -> list[Array]:
    """Embeddings shifted along the first axis so that they do not overlap."""
    moved, edge = [], 0.0
    for piece in pieces:
        low, high = piece[:, 0].min(), piece[:, 0].max()
        shift = np.zeros(piece.shape[1], piece.dtype)
        shift[0] = edge - low
        moved.append(piece + shift)
        edge += float(high - low) * 1.1 + 1e-12
    return moved


def refit(estimator: Any, new: NewObjects) -> NeighborGraph:
    """Fit to the graph that new objects have joined, and return it; see `update`."""
    objects, graph = join(estimator, new, estimator.graph_)
    for name in ("parts_", "part_rows_"):
        vars(estimator).pop(name, None)
    estimator._fit(objects, graph)
    return graph


# --- transform ---------------------------------------------------------------------------


def transform_parts(estimator: Any, new: NewObjects) -> Array:
    """Place each new object in the component of its nearest training object."""
    members = np.concatenate(estimator.part_rows_)
    sizes = [len(own) for own in estimator.part_rows_]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    nearest = new.among(members).nearest(1)[0][:, 0]
    Y: Array = estimator.embedding_
    out = np.empty((new.n, Y.shape[1]), Y.dtype)
    for number, (own, part) in enumerate(zip(estimator.part_rows_, estimator.parts_, strict=True)):
        asked = np.flatnonzero(owner[nearest] == number)
        if len(asked):
            shift = Y[own[0]] - part.embedding_[0]
            out[asked] = part._transform(new.subset(asked).among(own)) + shift
    return out


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
    return _linked(estimator, new, 1)


def new_links(estimator: Any, new: NewObjects, *, itself: bool = False) -> tuple[Array, Array]:
    """Neighbours of new objects by the rule that linked the training objects.

    With "union" a training object is linked if it is among the k nearest, or if the new
    object is nearer to it than its own k-th neighbour; with "mutual" if both hold. Shorter
    lists are padded with infinite distances. With `itself`, for methods in which an object is
    its own neighbour, the k + 1 nearest are taken in place of k.
    """
    k = estimator.graph_.n_neighbors
    if k is None and estimator.radius is None and _symmetry(estimator) == "mutual":
        # of the graph that this component belongs to
        k = estimator.n_neighbors or estimator._default_neighbors
    if k is None:
        return new_neighbors(estimator, new)
    return _linked(estimator, new, min(k + itself, estimator.graph_.n_objects))


def link_shares(estimator: Any, new: NewObjects, nearest: Array, distances: Array) -> Array:
    """The share of its weight that each link of `new_links` has: with symmetry "mean" one half
    if only one of the two objects is a neighbour of the other, else 1."""
    k = estimator.graph_.n_neighbors
    if _symmetry(estimator) != "mean" or k is None:
        return np.ones_like(distances)
    theirs = distances <= _reach(estimator.graph_)[nearest]
    own = distances <= new.nearest(k, "exact")[1][:, -1:]
    return ((theirs.astype(distances.dtype) + own) / 2).astype(distances.dtype, copy=False)


def _symmetry(estimator: Any) -> str:
    return str(getattr(estimator, "symmetry", "union"))


def _reach(graph: NeighborGraph) -> Array:
    """The distance of each training object to the farthest of its neighbours.

    It is slightly enlarged, so that rounding does not separate an object from its neighbours.
    """
    reach = graph.reach()
    return np.asarray(reach * (1 + max(1e-8, 16 * float(np.finfo(reach.dtype).eps))))


def _linked(estimator: Any, new: NewObjects, k: int) -> tuple[Array, Array]:
    """The k nearest training objects, united with those that have the new object in reach.

    An object's reach is the distance to the farthest of its own neighbours. With symmetry
    "mutual" the result is the intersection instead, and the nearest object in any case.
    """
    reach = _reach(estimator.graph_)
    nearest, distances = new.nearest(k, "exact")
    if _symmetry(estimator) == "mutual":
        far = distances > reach[nearest]
        far[:, 0] = False
        return nearest, np.where(far, np.asarray(np.inf, distances.dtype), distances)
    return merged(nearest, distances, new.within_reach(reach))
