"""The contract of methods on a connected, undirected neighbour graph, such as Isomap.

One policy for disconnected graphs, and the neighbours of new objects in `transform`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator.checkpoints import kept_graph
from lowdim.estimator.fitted_state import graph
from lowdim.estimator.neighbor_embedder import NeighborEmbedder, check_given_graph
from lowdim.estimator.updating import Growth
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import merged
from lowdim.objects.growth import novelty
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import GivenGraph, Objects

DISCONNECTED = ("join", "largest", "separate", "raise")


class GraphEmbedder(NeighborEmbedder):
    """Base class of methods on a connected neighbour graph.

    The parameters `n_neighbors`, `radius` and `disconnected` have the same meaning in all of them.
    A method implements `_fit_graph(objects, graph)` and `_place(new)`.
    """

    _attributes: ClassVar = {"graph_": graph}
    _needed: ClassVar[tuple[str, ...]] = ("graph_",)

    graph_: NeighborGraph
    _search = "exact"  # eigenvectors and shortest paths change with single edges
    _default_neighbors = 10  # if neither n_neighbors nor radius is given

    def _neighbor_graph(self, objects: Objects, given: NeighborGraph | None) -> NeighborGraph:
        checks.choice(self.disconnected, "disconnected", DISCONNECTED)
        if self.radius is None:
            return super()._neighbor_graph(objects, given)
        if self.n_neighbors is not None:
            raise ValueError("Both n_neighbors and radius are provided: set one of them to None.")
        if isinstance(objects, GivenGraph):
            return objects.graph
        if given is not None:
            return check_given_graph(objects, given)
        return kept_graph(lambda: objects.neighbor_graph(None, self.radius))

    def _n_wanted(self, n: int) -> int:
        if self.n_neighbors is None:
            return min(self._default_neighbors, n - 1)
        return self.n_neighbors  # type: ignore[no-any-return]  # `check_k` checks it

    def _n_least(self, n: int) -> int:
        return 0  # components and paths need edges, not a number of them

    def _cut(self, graph: NeighborGraph) -> NeighborGraph:
        return graph if self.n_neighbors is None else super()._cut(graph)

    # --- disconnected graphs ---------------------------------------------

    @property
    def _symmetry(self) -> str:
        """How the directed graph of neighbours is made undirected; see `NeighborGraph`."""
        return str(getattr(self, "symmetry", "union"))

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None, **arguments: Any) -> None:
        found = self._neighbor_graph(objects, graph)
        count, labels = found.components(self._symmetry)
        if count == 1:
            self.graph_ = found
            self._fit_graph(objects, found, **arguments)
            return
        problem = f"the number of connected components of the neighbors graph is {count} > 1"
        if self.disconnected == "raise":
            raise ValueError(
                f"X: {problem}. Raise n_neighbors or radius, or set disconnected='join', 'largest' "
                "or 'separate'."
            )
        if self.disconnected == "join":
            self.graph_ = self._joined(objects, found, problem)
            self._fit_graph(objects, self.graph_, **arguments)
            return
        self.graph_ = found
        sizes = np.bincount(labels)
        kept = [int(sizes.argmax())] if self.disconnected == "largest" else range(count)
        members = [np.flatnonzero(labels == label) for label in kept]
        self._fit_parts(objects, found, members, problem)

    def _joined(self, objects: Objects, graph: NeighborGraph, problem: str) -> NeighborGraph:
        """The graph with the shortest edges added that connect its components."""
        if not objects.complete:
            raise RuntimeError(
                f"X: {problem}, and a precomputed sparse graph holds no distances to join them by. "
                "Raise the number of neighbours, or set disconnected='largest' or 'separate'."
            )
        checks.warn(
            f"{problem}: they were joined by their shortest bridges, so distances between "
            "components are a guess. Raise n_neighbors or radius=, or choose another disconnected=."
        )
        return graph.join(objects.nearest_outside(), self._symmetry)

    def _fit_parts(
        self, objects: Objects, graph: NeighborGraph, members: list[Array], problem: str
    ) -> None:
        """Embed each component separately, side by side; objects left out get NaN."""
        least = self.n_components + 2
        fitted = [own for own in members if len(own) >= least]
        left_out = graph.n_objects - sum(map(len, fitted))
        if not fitted:
            raise ValueError(
                f"X: {problem}, none of them large enough to embed (at least {least} objects). "
                "Raise n_neighbors or radius."
            )
        checks.warn(
            f"{problem}: {len(fitted)} embedded on their own, {left_out} objects left out (their "
            "coordinates are NaN)."
        )
        self.parts_, self.part_rows_ = [], fitted
        for own in fitted:
            part = clone(self).set_params(disconnected="raise")
            part._fit_objects(objects.subset(own), graph=graph.subset(own))
            self.parts_.append(part)
        pieces = _side_by_side([part.embedding_ for part in self.parts_])
        self.embedding_ = np.full((graph.n_objects, pieces[0].shape[1]), np.nan, pieces[0].dtype)
        for own, piece in zip(fitted, pieces, strict=True):
            self.embedding_[own] = piece

    def _lists(self) -> NeighborGraph:
        return self.graph_

    def _update(self, new: NewObjects) -> Growth:
        """Embed the graph that the new objects have joined."""
        old = self.embedding_
        objects, graph = self._join(new)
        if hasattr(self, "parts_"):
            del self.parts_, self.part_rows_
        self._fit(objects, graph)
        if not hasattr(self, "parts_"):
            self._register(old)
        chosen = hasattr(self, "landmarks_")  # among the old objects
        return Growth(novelty(graph, len(old)) if chosen else 0.0, refined=False)

    def _register(self, old: Array) -> None:
        """Move the map of an update as near to the old one as the method allows."""
        raise NotImplementedError

    def _transform(self, new: NewObjects) -> Array:
        return self._transform_parts(new) if hasattr(self, "parts_") else self._place(new)

    def _place(self, new: NewObjects) -> Array:
        """Coordinates of new objects in the embedding of one connected graph."""
        raise NotImplementedError

    def _transform_parts(self, new: NewObjects) -> Array:
        """Place each new object in the component of its nearest training object."""
        members = np.concatenate(self.part_rows_)
        owner = np.repeat(np.arange(len(self.parts_)), [len(own) for own in self.part_rows_])
        nearest = new.among(members).nearest(1)[0][:, 0]
        out = np.empty((new.n, self.embedding_.shape[1]), self.embedding_.dtype)
        for number, (own, part) in enumerate(zip(self.part_rows_, self.parts_, strict=True)):
            asked = np.flatnonzero(owner[nearest] == number)
            if len(asked):
                shift = self.embedding_[own[0]] - part.embedding_[0]
                out[asked] = part._place(new.subset(asked).among(own)) + shift
        return out

    # --- neighbours of new objects -----------------------------------------------

    def _new_neighbors(self, new: NewObjects) -> tuple[Array, Array]:
        """Indices and distances of each new object's neighbours among the training objects.

        In a k-neighbour graph these are the k nearest; in a radius graph those within the radius,
        or the nearest one if there is none. If the rule of a given graph is not known, they are
        the nearest training object and all training objects that are closer to the new object
        than to the farthest of their own neighbours. Shorter lists are padded with infinite
        distances.
        """
        k = self.graph_.n_neighbors
        if k is None and self.radius is None:
            return self._linked(new, 1)
        return new.within(self.radius) if k is None else new.nearest(k, self._search)

    def _new_links(self, new: NewObjects, *, itself: bool = False) -> tuple[Array, Array]:
        """Neighbours of new objects by the rule that linked the training objects.

        With "union" a training object is linked if it is among the k nearest, or if the new
        object is nearer to it than its own k-th neighbour; with "mutual" if both hold. Shorter
        lists are padded with infinite distances. With `itself`, for methods in which an object is
        its own neighbour, the k + 1 nearest are taken in place of k.
        """
        k = self.graph_.n_neighbors
        if k is None and self.radius is None and self._symmetry == "mutual":
            k = (
                self.n_neighbors or self._default_neighbors
            )  # of the graph that this component belongs to
        if k is None:
            return self._new_neighbors(new)
        return self._linked(new, min(k + itself, self.graph_.n_objects))

    def _link_shares(self, new: NewObjects, nearest: Array, distances: Array) -> Array:
        """The share of its weight that each link of `_new_links` has: with symmetry "mean" one half
        if only one of the two objects is a neighbour of the other, else 1."""
        k = self.graph_.n_neighbors
        if self._symmetry != "mean" or k is None:
            return np.ones_like(distances)
        theirs = distances <= self._reach()[nearest]
        own = distances <= new.nearest(k, self._search)[1][:, -1:]
        return ((theirs.astype(distances.dtype) + own) / 2).astype(distances.dtype, copy=False)

    def _reach(self) -> Array:
        """The distance of each training object to the farthest of its neighbours.

        It is slightly enlarged, so that rounding does not separate an object from its neighbours.
        """
        reach = self.graph_.reach()
        return np.asarray(reach * (1 + max(1e-8, 16 * float(np.finfo(reach.dtype).eps))))

    def _linked(self, new: NewObjects, k: int) -> tuple[Array, Array]:
        """The k nearest training objects, united with those that have the new object in reach.

        An object's reach is the distance to the farthest of its own neighbours. With symmetry
        "mutual" the result is the intersection instead, and the nearest object in any case.
        """
        reach = self._reach()
        nearest, distances = new.nearest(k, self._search)
        if self._symmetry == "mutual":
            far = distances > reach[nearest]
            far[:, 0] = False
            return nearest, np.where(far, np.asarray(np.inf, distances.dtype), distances)
        return merged(nearest, distances, new.within_reach(reach))


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
