"""The constraints of maximum variance unfolding: edges whose lengths must be kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from lowdim.checks import Array
from lowdim.neighbor_graphs.geodesics import geodesics
from lowdim.neighbor_graphs.graph import NeighborGraph, add_edges, components
from lowdim.objects.objects import Objects

MAX_SOURCES = 2000  # evenly spaced points from which geodesics bound the trace
COINCIDENT = 1e-7  # an edge shorter than this share of the root mean square length has length 0


@dataclass(frozen=True)
class Lengths:
    """Squared lengths of the edges (heads[k], tails[k]) between n points."""

    n: int
    heads: Array
    tails: Array
    squares: Array  # in units of `unit`^2; their mean is 1
    mass: Array  # number of objects that each point represents
    unit: float

    def incidence(self) -> Any:
        """The sparse m x n matrix of rows (e_i / sqrt(mass_i) - e_j / sqrt(mass_j)) / d_k.

        Its product with sqrt(mass) is zero.
        """
        m = len(self.squares)
        scale = 1 / np.sqrt(self.squares)
        root = 1 / np.sqrt(self.mass)
        data = np.stack([scale * root[self.heads], -scale * root[self.tails]], axis=1)
        ends = np.stack([self.heads, self.tails], axis=1)
        indptr = np.arange(m + 1, dtype=np.int32) * 2
        return csr_array((data.ravel(), ends.ravel(), indptr), shape=(m, self.n))

    def adjacency(self) -> Any:
        """The undirected graph of lengths, as a CSR matrix."""
        d = np.sqrt(self.squares)
        ends = (np.concatenate([self.heads, self.tails]), np.concatenate([self.tails, self.heads]))
        return coo_array((np.concatenate([d, d]), ends), shape=(self.n, self.n)).tocsr()

    @cached_property
    def trace_bound(self) -> float:
        """An upper bound of the trace: points are at most their geodesic distance apart."""
        step = -(-self.n // MAX_SOURCES)
        asked = np.arange(0, self.n, step)
        D = geodesics(self.adjacency(), asked if step > 1 else None)
        means = np.square(D, out=D) @ self.mass / self.mass.sum()
        return float(np.average(means, weights=self.mass[asked]) * self.mass.sum() / 2)


def lengths_of(graph: Any) -> tuple[Lengths, Array]:
    """The edges of an undirected CSR graph of distances, and the point of each node.

    Nodes connected by edges of length zero become one point, whose mass is their number.
    """
    edges = graph.tocoo()
    upper = edges.row < edges.col
    heads, tails = edges.row[upper].astype(np.int64), edges.col[upper].astype(np.int64)
    d = edges.data[upper].astype(np.float64)
    size = float(d.max(initial=0.0)) or 1.0
    d = d / size
    same = d <= COINCIDENT * np.sqrt(np.mean(d**2)) if len(d) else np.zeros(0, dtype=bool)
    links = csr_array((np.ones(same.sum()), (heads[same], tails[same])), shape=graph.shape)
    n, labels = components(links)
    heads, tails, d = labels[heads[~same]], labels[tails[~same]], d[~same]
    heads, tails = np.minimum(heads, tails), np.maximum(heads, tails)
    first = np.unique(heads.astype(np.int64) * n + tails, return_index=True)[1]
    kept = first[heads[first] != tails[first]]
    mass = np.bincount(labels, minlength=n).astype(np.float64)
    mean = float(np.mean(d[kept] ** 2)) if len(kept) else 1.0
    unit = size * float(np.sqrt(mean))
    return Lengths(n, heads[kept], tails[kept], d[kept] ** 2 / mean, mass, unit), labels


def compliance(lengths: Lengths, slack: float) -> float:
    """The constant e of the programme (see `semidefinite`) for which the mean relative error of the
    squared lengths is `slack`."""
    if slack == 0:
        return 0.0
    return slack * len(lengths.squares) / lengths.trace_bound


def with_common_neighbors(objects: Objects, graph: NeighborGraph, edges: Any) -> Any:
    """The CSR graph `edges` with an edge between any two neighbours of an object."""
    lists = graph.csr()
    pairs, distances = [], []
    for i in range(graph.n_objects):
        own = lists.indices[lists.indptr[i] : lists.indptr[i + 1]]
        a, b = np.triu_indices(len(own), 1)
        pairs.append(np.stack([own[a], own[b]], axis=1))
        distances.append(objects.between(own, "common_neighbors=True")[a, b])
    new = np.concatenate(distances).astype(edges.dtype)
    return add_edges(edges, np.concatenate(pairs).astype(np.int64), new)
