"""Graphs combined with their transposes, by sorting, and shortest paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch import kernels
from lowdim.backends.torch.arrays import Unsupported, free_bytes, get, put
from lowdim.backends.torch.resident import returned
from lowdim.backends.torch.sparse import Csr, from_keys, resident_csr
from lowdim.checks import Array
from lowdim.runtime.progress import counted

SYMMETRIES = ("union", "mutual", "mean", "half-sum")
LARGEST_DEGREE = 512  # of a node in `shortest_paths` without a compiled kernel, which pads rows


def symmetrize(device: torch.device, graph: Any, how: str) -> Any:
    """A CSR graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""
    if how not in SYMMETRIES:
        raise ValueError(f"unknown symmetry {how!r}")

    def combine(a: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
        one = a + b  # a missing value is 0
        if how in ("union", "mutual"):
            value = torch.where(both, torch.minimum(a, b), one)
            return value, both if how == "mutual" else torch.ones_like(both)
        half = one / 2
        value = half if how == "half-sum" else torch.where(both, half, one)
        return value, torch.ones_like(both)

    return _with_transpose(resident_csr(device, graph), combine)


def fuzzy_union(device: torch.device, graph: Any, mix: float) -> Any:
    """mix (a + b - a b) + (1 - mix) a b of a CSR graph and its transpose."""

    def combine(a: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
        value = mix * (a + b - a * b) + (1 - mix) * a * b
        return value, value > 0

    return _with_transpose(resident_csr(device, graph), combine)


def _with_transpose(
    graph: Csr, combine: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
) -> Any:
    """The values and whether to keep them, of combine(a_ij, a_ji, whether both are known)."""
    n = graph.shape[0]
    rows, columns = graph.rows(), graph.columns.long()
    keys = torch.cat([rows * n + columns, columns * n + rows])
    keys, order = keys.sort(stable=True)
    values = torch.cat([graph.values, graph.values])[order]
    if not len(keys):
        return from_keys(keys, values, graph.shape)
    direct = order < len(rows)
    same = keys[1:] == keys[:-1]
    no = same.new_zeros(1)
    first, both = ~torch.cat([no, same]), torch.cat([same, no])
    following = torch.cat([values[1:], values[:1]])
    none = torch.zeros_like(values)
    # Of two entries of the same edge the stable sort has put that of the graph itself first.
    a = torch.where(direct, values, none)
    b = torch.where(both, following, torch.where(direct, none, values))
    value, keep = combine(a, b, both)
    keep = keep & first
    return from_keys(keys[keep], value[keep].to(values.dtype), graph.shape)


def components(device: torch.device, graph: Any) -> tuple[int, Array]:
    """Number of connected components of an undirected CSR graph and each node's component.

    Every node has the label of a node with a smaller or the same number, and at first its own. Of
    the two labels of an edge the larger node takes the smaller one as its label, and labels are
    followed to their ends, until all edges have equal labels. Minima do not depend on the order of
    the edges.
    """
    edges = resident_csr(device, graph)
    rows, columns = edges.rows(), edges.columns.long()
    labels = torch.arange(graph.shape[0], device=device)
    while True:
        left, right = labels[rows], labels[columns]
        apart = left != right
        rows, columns, left, right = (ends[apart] for ends in (rows, columns, left, right))
        if not len(rows):
            break
        larger, smaller = torch.maximum(left, right), torch.minimum(left, right)
        labels = _followed(labels.scatter_reduce(0, larger, smaller, "amin"))
    names, numbers = torch.unique(labels, return_inverse=True)
    return len(names), get(numbers.int())


def _followed(labels: Tensor) -> Tensor:
    """The last node on the way from each node to the node that its label names, and so on."""
    while True:
        further = labels[labels]
        if torch.equal(further, labels):
            return labels
        labels = further


def shortest_paths(
    device: torch.device, graph: Any, sources: Array, *, symmetric: bool = False
) -> Array:
    """Lengths of the shortest paths from each source to every node, by Bellman and Ford.

    All arcs into a node are relaxed for many sources at once, until no length decreases.
    """
    arcs = resident_csr(device, graph if symmetric else graph.T.tocsr())  # arcs into each node
    n = graph.shape[0]
    fast = kernels.run_on(device, arcs.values.dtype)
    if not fast and int(np.diff(graph.indptr).max(initial=0)) > LARGEST_DEGREE:
        raise Unsupported
    row_bytes = max(n, 1) * graph.dtype.itemsize
    columns = min(len(sources), max(1, free_bytes(device) // (4 * row_bytes)))
    if symmetric and columns < len(sources):
        raise Unsupported
    out = np.empty((0 if columns >= len(sources) else len(sources), n), dtype=graph.dtype)
    finish = counted(len(sources))
    for begin in range(0, len(sources), columns):
        chosen = put(device, sources[begin : begin + columns].astype(np.int64))
        lengths = arcs.values.new_full((n, len(chosen)), torch.inf)
        lengths[chosen, torch.arange(len(chosen), device=device)] = 0
        if fast:
            kernels.matrices().relax_until_settled(arcs, lengths)
        else:
            lengths = _relaxed(arcs, lengths)
        finish(len(chosen))
        if symmetric:
            return returned(torch.minimum(lengths, lengths.T))
        if columns >= len(sources):
            return returned(lengths.T.contiguous())
        out[begin : begin + columns] = get(lengths.T.contiguous())
    return out


def _relaxed(arcs: Csr, lengths: Tensor) -> Tensor:
    """Lengths after relaxing all arcs until nothing changes; nodes are rows, sources columns."""
    width = int(arcs.sizes.max()) if len(arcs.values) else 0
    places = arcs.offsets[:-1, None] + torch.arange(width, device=lengths.device)
    known = places < arcs.offsets[1:, None]
    places = places.clamp(max=max(len(arcs.values) - 1, 0))
    while True:
        before = lengths.clone()
        for slot in range(width):
            at = places[:, slot]
            reached = before[arcs.columns[at].long()] + arcs.values[at, None]
            reached.masked_fill_(~known[:, slot, None], torch.inf)
            lengths = torch.minimum(lengths, reached)
        if torch.equal(before, lengths):
            return lengths
