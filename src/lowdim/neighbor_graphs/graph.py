"""Neighbour graphs: neighbours and distances, connected components, saving and loading."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.units import scale_by_power
from lowdim.messages import argument
from lowdim.runtime.atomic import replace_file

SYMMETRIES = ("union", "mutual", "mean")


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The neighbours of each object, nearest first, not counting the object itself.

    A k-nearest-neighbour graph has `indices` and `distances` of shape (n, k). A radius graph has
    flat arrays and `indptr`: the neighbours of i are `indices[indptr[i]:indptr[i + 1]]`. Graphs are
    made by `lowdim.neighbors` and accepted by `fit(X, graph=graph)`.

    Attributes
    ----------
    indices : array of int
        Neighbours.
    distances : array
        Their distances.
    metric : str
        Name of the metric.
    fingerprint : str
        Digest of the data that the graph was computed from; empty if it is not known.
    indptr : array of int or None
        Where the neighbours of each object begin in a radius graph.
    bridges : array of shape (n_bridges, 2) or None
        Pairs that `join` added between components.
    bridge_lengths : array of shape (n_bridges,) or None
        Their distances.
    recall : float or None
        Share of the true neighbours that an approximate graph holds, measured on a sample; None if
        the graph is exact.

    Examples
    --------
    >>> import lowdim
    >>> graph = lowdim.neighbors([[0.0], [1.0], [3.0], [7.0]], k=2)
    >>> graph.indices
    array([[1, 2],
           [0, 2],
           [1, 0],
           [2, 1]], dtype=int32)
    >>> graph.components()[0]
    1
    """

    indices: Array
    distances: Array
    metric: str
    fingerprint: str = ""
    indptr: Array | None = None
    bridges: Array | None = None
    bridge_lengths: Array | None = None
    recall: float | None = None

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.indices) if self.indptr is None else len(self.indptr) - 1

    @property
    def n_neighbors(self) -> int | None:
        """Number of neighbours of each object; None for a radius graph."""
        return int(self.indices.shape[1]) if self.indptr is None else None

    def __repr__(self) -> str:
        size = f"k={self.n_neighbors}" if self.indptr is None else f"{len(self.indices)} arcs"
        share = "" if self.recall is None else f", recall about {self.recall:.3f}"
        return f"NeighborGraph({self.n_objects} objects, {size}, metric={self.metric!r}{share})"

    def check(self, name: str) -> NeighborGraph:
        """Check the contents of a graph given by the user, and return it; `name` is that of the
        argument."""
        problem = self.problem()
        if problem:
            raise ValueError(f"{name}: {problem} Compute the graph with lowdim.neighbors.")
        return self

    def problem(self, *, finite: bool = True) -> str:
        """What is wrong with the contents of the graph; empty if nothing is.

        Without `finite`, distances may be infinite.
        """
        arrays = (self.indices, self.distances)
        if (
            not all(isinstance(a, np.ndarray) for a in arrays)
            or self.indices.dtype.kind not in "iu"
        ):
            return "indices must be an array of integers and distances one of floats."
        if self.indices.shape != self.distances.shape:
            return f"indices have shape {self.indices.shape}, distances {self.distances.shape}."
        if self.indptr is None and self.indices.ndim != 2:
            return f"indices have shape {self.indices.shape}, not (n, k), and there is no indptr."
        if self.indptr is not None:
            ends = np.asarray(self.indptr)
            listed = self.indices.ndim == ends.ndim == 1 and ends.dtype.kind in "iu" and len(ends)
            whole = listed and ends[0] == 0 and ends[-1] == self.indices.size
            if not whole or (ends[1:] < ends[:-1]).any():
                return "indptr must ascend from 0 to the number of neighbours."
        n, ends_of_bridges, lengths = self.n_objects, self.bridges, self.bridge_lengths
        if (ends_of_bridges is None) is not (lengths is None):
            return "bridges and bridge_lengths must be given together."
        if ends_of_bridges is not None and lengths is not None:
            pairs = np.asarray(ends_of_bridges)
            if pairs.dtype.kind not in "iu" or pairs.shape != (np.size(lengths), 2):
                return f"bridges have shape {pairs.shape} for {np.size(lengths)} lengths."
        for name, numbers in (("indices", self.indices), ("bridges", ends_of_bridges)):
            if numbers is not None and numbers.size and not 0 <= numbers.min() <= numbers.max() < n:
                return f"{name} must be in [0, {n}), found {numbers.min()} to {numbers.max()}."
        for distances in (self.distances, lengths):
            if distances is None:
                continue
            bad = ~(distances >= 0) | (finite & ~np.isfinite(distances))
            if bad.any():
                return f"distances must be finite and not negative, found {distances[bad][0]:g}."
        return ""

    def scale(self, exponent: int) -> NeighborGraph:
        """The graph with its distances times 2^exponent."""
        if exponent == 0:
            return self
        return replace(
            self,
            distances=scale_by_power(self.distances, exponent),
            bridge_lengths=scale_by_power(self.bridge_lengths, exponent),
        )

    def counts(self) -> Array:
        """The number of neighbours of each object."""
        if self.indptr is not None:
            return np.diff(self.indptr)
        return np.full(self.n_objects, self.indices.shape[1])

    def reach(self) -> Array:
        """Distance from each object to the farthest of its neighbours."""
        if self.indptr is None:
            return np.asarray(self.distances[:, -1])
        reach = np.zeros(self.n_objects, dtype=self.distances.dtype)
        np.maximum.at(reach, row_of_entries(self.indptr), self.distances)
        return reach

    def csr(self) -> Any:
        """The directed graph as a SciPy CSR matrix of distances; a stored zero is an edge."""
        from scipy.sparse import csr_array

        n = self.n_objects
        indptr = self.indptr
        if indptr is None:
            indptr = np.arange(n + 1, dtype=np.int64) * self.indices.shape[1]
        if indptr[-1] <= np.iinfo(np.int32).max:  # scikit-learn requires int32 where it is enough
            indptr = indptr.astype(np.int32, copy=False)
        parts = (self.distances.ravel(), self.indices.ravel(), indptr)
        return csr_array(parts, shape=(n, n))

    def adjacency(self, symmetry: str = "union") -> Any:
        """The undirected graph as a CSR matrix of distances, including bridges.

        Parameters
        ----------
        symmetry : {"union", "mutual", "mean"}, default="union"
            "union" keeps a pair if one is a neighbour of the other, "mutual" if both are; "mean"
            is "union" with the mean of the two distances where both are known.

        Returns
        -------
        CSR matrix of shape (n, n)
        """
        checks.choice(symmetry, "symmetry", SYMMETRIES)
        undirected = backend().symmetrize(self.csr(), symmetry)
        if self.bridges is None or self.bridge_lengths is None or not len(self.bridges):
            return undirected
        return add_edges(undirected, self.bridges, self.bridge_lengths)

    def components(self, symmetry: str = "union") -> tuple[int, Array]:
        """The number of connected components, and the component of each object."""
        return components(self.adjacency(symmetry))

    def take(self, k: int) -> NeighborGraph:
        """The graph of the k nearest of the neighbours in this graph."""
        if self.indptr is not None:
            raise ValueError("take(k): a radius graph has no fixed number of neighbours.")
        known = self.indices.shape[1]
        if checks.integer(k, "k", 1) > known:
            raise ValueError(
                f"graph has {known} neighbours of each object, but {k} are needed. Compute it with "
                f"lowdim.neighbors(X, k={k}), or lower {argument('n_neighbors')} or "
                f"{argument('perplexity')}."
            )
        if k == known:
            return self
        cut = np.ascontiguousarray
        return replace(self, indices=cut(self.indices[:, :k]), distances=cut(self.distances[:, :k]))

    def join(self, nearest_outside: NearestOutside, symmetry: str = "union") -> NeighborGraph:
        """Add the shortest edges between components that make the graph connected."""
        count, labels = self.components(symmetry)
        if count == 1:
            return self
        bridges, lengths = bridge(labels, nearest_outside)
        return replace(self, bridges=bridges, bridge_lengths=lengths.astype(self.distances.dtype))

    def neighbor_lists(self) -> Array:
        """Neighbours (n, k) in which a bridge replaces the farthest neighbour of its end points."""
        if self.indptr is not None:
            raise ValueError("neighbor_lists: a radius graph has lists of different lengths.")
        if self.bridges is None:
            return self.indices
        lists = self.indices.copy()
        place = np.full(self.n_objects, lists.shape[1] - 1)
        for a, b in np.concatenate([self.bridges, self.bridges[:, ::-1]]):
            lists[a, place[a]] = b
            place[a] = max(place[a] - 1, 0)
        return lists

    def subset(self, rows: Array) -> NeighborGraph:
        """The graph between some of the objects, without edges to others."""
        from scipy.sparse import csr_array

        if self.indptr is None:
            renamed = np.full(self.n_objects, -1, dtype=np.int32)
            renamed[rows] = np.arange(len(rows), dtype=np.int32)
            indices = renamed[self.indices[rows]]
            if (indices >= 0).all():  # a whole component: every list stays complete
                return NeighborGraph(indices, self.distances[rows], self.metric, recall=self.recall)
        part = csr_array(self.csr()[rows][:, rows])
        return NeighborGraph(
            part.indices.astype(np.int32, copy=False),
            part.data,
            self.metric,
            "",
            part.indptr.astype(np.int64, copy=False),
            recall=self.recall,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to an NPZ file of arrays and JSON; `load` reads it."""
        about = {"metric": self.metric, "data": self.fingerprint, "recall": self.recall}
        header = json.dumps({"lowdim_graph": 1, **about})
        arrays = {
            name: value
            for name in ("indices", "distances", "indptr", "bridges", "bridge_lengths")
            if (value := getattr(self, name)) is not None
        }
        with replace_file(path, force=True) as temporary, open(temporary, "wb") as file:
            np.savez(file, header=np.array(header), **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> NeighborGraph:
        """Read a graph that `save` has written."""
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is not a neighbour graph written by NeighborGraph.save.")
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        if "header" not in arrays:
            raise ValueError(f"{path} is not a neighbour graph written by NeighborGraph.save.")
        header = json.loads(str(arrays.pop("header")))
        if header.get("lowdim_graph") != 1:
            raise ValueError(
                f"{path} has graph format {header.get('lowdim_graph')}; this version reads 1."
            )
        about = {"fingerprint": header["data"], "recall": header.get("recall")}
        return cls(metric=header["metric"], **about, **arrays)


NearestOutside = Callable[[Array, Array], tuple[Array, Array, Array]]
"""From objects and the component labels of all objects to (objects, nearest object with another
label, distance)."""


def row_of_entries(indptr: Array) -> Array:
    """The row number of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def add_edges(graph: Any, pairs: Array, lengths: Array) -> Any:
    """An undirected CSR graph with undirected edges added."""
    from scipy.sparse import csr_array

    counts = np.diff(graph.indptr) + np.bincount(pairs[:, 0], minlength=graph.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    place = np.repeat(indptr[:-1] - graph.indptr[:-1], np.diff(graph.indptr))
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=graph.dtype)
    old = place + np.arange(len(graph.indices))
    indices[old], data[old] = graph.indices, graph.data
    new = np.ones(indptr[-1], dtype=bool)
    new[old] = False
    order = np.argsort(pairs[:, 0], kind="stable")
    indices[new], data[new] = pairs[order, 1], lengths[order]
    return backend().symmetrize(csr_array((data, indices, indptr), shape=graph.shape), "union")


def components(graph: Any) -> tuple[int, Array]:
    """Number of connected components of an undirected CSR graph and each node's component."""
    return backend().components(graph)


def bridge(labels: Array, nearest_outside: NearestOutside) -> tuple[Array, Array]:
    """The shortest edges that connect all components (Boruvka's minimum spanning tree), and their
    lengths.

    In each round every component but the largest is joined to its nearest other component.
    """
    labels = labels.copy()
    pairs: list[Array] = []
    lengths: list[Array] = []
    while (count := labels.max() + 1) > 1:
        largest = np.bincount(labels).argmax()
        rows, others, distances = nearest_outside(np.flatnonzero(labels != largest), labels)
        # Sorted, so that both ends break ties in the same way.
        ends = np.sort(np.stack([rows, others], axis=1), axis=1)
        order = np.lexsort((ends[:, 1], ends[:, 0], distances, labels[rows]))
        first = np.unique(labels[rows][order], return_index=True)[1]
        best = order[first]
        ends, index = np.unique(ends[best], axis=0, return_index=True)
        pairs.append(ends)
        lengths.append(distances[best][index])
        labels = _merge(labels, count, ends)
    return np.concatenate(pairs).astype(np.int64), np.concatenate(lengths)


def _merge(labels: Array, count: int, ends: Array) -> Array:
    """Component labels after adding the edges `ends`."""
    from scipy.sparse import coo_array

    links = coo_array(
        (np.ones(len(ends)), (labels[ends[:, 0]], labels[ends[:, 1]])), shape=(count, count)
    )
    return np.asarray(components(links.tocsr())[1][labels])
