"""Edges whose lengths an unfolding keeps, and how far it can pull them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array
from lowdim.relations.geodesics import geodesics
from lowdim.relations.graph import components

SOURCES = 2000  # up to this many points all geodesics are used to bound the trace
COINCIDENT = 1e-7  # a length below this share of the root mean square one is zero


@dataclass(frozen=True)
class Lengths:
    """Squared lengths of the edges (heads[k], tails[k]) between n points with masses.

    The squares are in units of `unit`^2, where their mean is one.
    """

    n: int
    heads: Array
    tails: Array
    squares: Array
    mass: Array
    unit: float = 1.0

    def incidence(self) -> Any:
        """The sparse m x n matrix of rows (e_i / sqrt(mass_i) - e_j / sqrt(mass_j)) / d_k.

        Its product with sqrt(mass) is zero.
        """
        from scipy.sparse import csr_array

        m = len(self.squares)
        scale = 1 / np.sqrt(self.squares)
        root = 1 / np.sqrt(self.mass)
        data = np.stack([scale * root[self.heads], -scale * root[self.tails]], axis=1)
        ends = np.stack([self.heads, self.tails], axis=1)
        indptr = np.arange(m + 1, dtype=np.int32) * 2
        return csr_array((data.ravel(), ends.ravel(), indptr), shape=(m, self.n))

    def adjacency(self) -> Any:
        """The undirected graph of lengths."""
        from scipy.sparse import coo_array

        d = np.sqrt(self.squares)
        ends = (np.concatenate([self.heads, self.tails]), np.concatenate([self.tails, self.heads]))
        return coo_array((np.concatenate([d, d]), ends), shape=(self.n, self.n)).tocsr()


class Unfolded(NamedTuple):
    """A solution of the programme.

    gram: K of the points, in units of `Lengths.unit`^2; tensions: the dual y, whose sum is the
    trace; gap: the relative duality gap; error: how far the conditions on the lengths are from
    being met, relative to a squared length; history: the relative gap of each iteration.
    """

    gram: Array
    tensions: Array
    gap: float
    error: float
    history: Array


def lengths_of(graph: Any) -> tuple[Lengths, Array]:
    """The edges of an undirected CSR graph of distances, and the point that stands for each node.

    Nodes joined by edges of length zero are one point, whose mass is their number.
    """
    from scipy.sparse import csr_array

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


def trace_bound(lengths: Lengths) -> float:
    """An upper bound of the trace, from geodesics: no unfolding takes two points farther apart.

    Of more than `SOURCES` points only some are asked, spread evenly.
    """
    step = -(-lengths.n // SOURCES)
    asked = np.arange(0, lengths.n, step)
    D = geodesics(lengths.adjacency(), asked if step > 1 else None)
    mass = lengths.mass
    means = (D**2) @ mass / mass.sum()
    return float(np.average(means, weights=mass[asked]) * mass.sum() / 2)


def compliance(lengths: Lengths, slack: float) -> float:
    """The e of the programme for a mean relative error `slack` of the squared lengths."""
    if slack == 0:
        return 0.0
    return slack * len(lengths.squares) / trace_bound(lengths)


# --- all of K -------------------------------------------------------------------------------
