"""Sparse graphs."""

from __future__ import annotations

from typing import Any, Protocol

from lowdim.checks import Array


class Graphs(Protocol):
    """Symmetric graphs, their components, and the shortest paths on them."""

    def symmetrize(self, graph: Any, how: str) -> Any:
        """A CSR graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""

    def fuzzy_union(self, graph: Any, mix: float) -> Any:
        """mix (a + b - a b) + (1 - mix) a b of a CSR graph and its transpose."""

    def shortest_paths(self, graph: Any, sources: Array, *, symmetric: bool = False) -> Array:
        """Lengths of the shortest paths from each source to every node of a CSR graph.

        With `symmetric` the graph is undirected and the sources are all nodes. The result is then
        symmetric: of the two lengths of a path, which differ by rounding, the smaller is taken.
        """

    def components(self, graph: Any) -> tuple[int, Array]:
        """Number of connected components of an undirected CSR graph and each node's component.

        An edge may be stored in one direction only. Components are numbered in the order of their
        first nodes.
        """

    def split(self, graph: Any, groups: Array, count: int) -> list[Any]:
        """The graphs of groups of vertices of a CSR graph, between which there are no edges.

        `groups` has the number of the group of each vertex, or -1 if it is in none. The vertices of
        a group keep their order.
        """

    def floyd_warshall(self, lengths: Array) -> None:
        """Replace a dense matrix of arc lengths by the lengths of the shortest paths."""

    def level_structure(self, graph: Any, limit: int | None = None) -> tuple[int, int]:
        """Number of breadth-first levels from a peripheral node, and size of the largest level.

        With a `limit` the search may end at a level of more nodes; its size is then that of this
        level, and the number of levels that of those found.
        """
