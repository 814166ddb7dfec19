"""Graphs combined with their transposes, by sorting, and shortest paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.arrays import Outflow, Unsupported, free_bytes, get, has_kernels, put
from lowdim.backends.torch.resident import remember
from lowdim.backends.torch.sparse import Csr, counts_of, resident_csr, to_scipy
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, part_counter

SYMMETRIES = ("union", "mutual", "mean", "half-sum")
KEY_BYTES = 80  # of an arc and of its transpose each, while they are sorted
KEY_ROOM = 16 << 30  # bytes that they take at most; larger parts are not faster
LARGEST_DEGREE = 512  # of a node in `shortest_paths` without a compiled kernel, which pads rows
OVERLAPPED_FROM = 64 << 20  # bytes of lengths of paths that are found and copied in parts
PARTS = 10  # of them; of a symmetric matrix a fifth is left to be copied at the end
ALIGNED = 512  # sources of a part are a multiple of this: a program relaxes so many at once


def symmetrize(device: torch.device, graph: Any, how: str) -> Any:
    if how not in SYMMETRIES:
        raise ValueError(f"unknown symmetry {how!r}")

    def combine(a: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
        one = a + b  # a missing value is 0
        if how in ("union", "mutual"):
            value = torch.where(both, torch.minimum(a, b), one)
            return value, both if how == "mutual" else torch.ones_like(both)
        return torch.where(both, one / 2, one), torch.ones_like(both)

    return combine_with_transpose(
        resident_csr(device, graph), half_sum if how == "half-sum" else combine
    )


def half_sum(a: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of both values; see `combine_with_transpose`."""
    return (a + b) / 2, torch.ones_like(both)


def fuzzy_union(device: torch.device, graph: Any, mix: float) -> Any:
    def combine(a: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
        value = mix * (a + b - a * b) + (1 - mix) * a * b
        return value, value > 0

    return combine_with_transpose(resident_csr(device, graph), combine)


def combine_with_transpose(
    graph: Csr,
    combine: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
    scaled: Callable[[Tensor], Tensor] = lambda values: values,
) -> Any:
    """The values and whether to keep them, of combine(a_ij, a_ji, whether both are known).

    A missing value is 0. `scaled` is applied to the values that are kept.
    """
    n, room = graph.shape[0], min(free_bytes(graph.values.device) // 2, KEY_ROOM)
    count = 1 + 2 * len(graph.values) * KEY_BYTES // max(room, 1)
    parts = [_combine_rows(graph, part, combine) for part in blocks(n, max(1, -(-n // count)))] or [
        (graph.sizes, graph.columns, graph.values)
    ]
    sizes, columns, values = (torch.cat(arrays) for arrays in zip(*parts, strict=True))
    del parts
    return to_scipy(sizes, columns, scaled(values), graph.shape)


def _combine_rows(
    graph: Csr, part: slice, combine: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Some rows of what `combine_with_transpose` returns: their sizes, columns and values."""
    n, begin, end = graph.shape[0], part.start, min(part.stop, graph.shape[0])
    first, last = int(graph.offsets[begin]), int(graph.offsets[end])
    back = torch.nonzero((graph.columns >= begin) & (graph.columns < end))[:, 0]
    tails = torch.searchsorted(graph.offsets, back, right=True) - 1
    keys = torch.cat(
        [
            (graph.rows(part) - begin) * n + graph.columns[first:last],
            (graph.columns[back].long() - begin) * n + tails,
        ]
    )
    del tails
    keys, order = keys.sort(stable=True)
    values = torch.cat([graph.values[first:last], graph.values[back]])[order]
    del back
    if not len(keys):
        return graph.sizes[part], keys.int(), values
    direct = order < last - first
    del order
    same = keys[1:] == keys[:-1]
    no = same.new_zeros(1)
    is_first, both = ~torch.cat([no, same]), torch.cat([same, no])
    following = torch.cat([values[1:], values[:1]])
    none = torch.zeros_like(values)
    # Of two entries of the same edge the stable sort has put that of the graph itself first.
    a = torch.where(direct, values, none)
    b = torch.where(both, following, torch.where(direct, none, values))
    value, keep = combine(a, b, both)
    keep = keep & is_first
    rows = torch.div(keys[keep], n, rounding_mode="floor")
    columns = (keys[keep] - rows * n).int()
    return counts_of(rows, end - begin), columns, value[keep].to(values.dtype)


def components(device: torch.device, graph: Any) -> tuple[int, Array]:
    """Number of connected components of an undirected CSR graph and each node's component.

    Every node has the label of a node with a smaller or the same number, and at first its own. Of
    the two labels of an edge the larger node takes the smaller one as its label, and labels are
    followed to their ends, until all edges have equal labels. Minima do not depend on the order of
    the edges.
    """
    edges = resident_csr(device, graph)
    labels = torch.arange(graph.shape[0], device=device)
    parts = edges.parts()
    while True:
        before = labels
        for rows, entries in parts:
            left, right = before[edges.rows(rows)], before[edges.columns[entries].long()]
            apart = left != right
            larger, smaller = torch.maximum(left, right)[apart], torch.minimum(left, right)[apart]
            labels = labels.scatter_reduce(0, larger, smaller, "amin")
        if torch.equal(labels, before):
            break
        labels = _follow_labels(labels)
    names, numbers = torch.unique(labels, return_inverse=True)
    return len(names), get(numbers.int())


def _follow_labels(labels: Tensor) -> Tensor:
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

    All arcs into a node are relaxed for many sources at once, until no length decreases. Lengths
    from the sources before are copied to the host at the same time.
    """
    arcs = resident_csr(device, graph if symmetric else graph.T.tocsr())  # arcs into each node
    n = graph.shape[0]
    fast = has_kernels(device, arcs.values.dtype)
    if not fast and int(np.diff(graph.indptr).max(initial=0)) > LARGEST_DEGREE:
        raise Unsupported
    row_bytes = max(n, 1) * graph.dtype.itemsize
    copies = 4 if fast else 6  # of the lengths, at most, that exist at the same time
    columns = max(1, free_bytes(device) // (copies * row_bytes))
    whole = columns >= len(sources)  # fits on the device
    if symmetric and not whole:
        raise Unsupported
    out = np.empty((len(sources), n), dtype=graph.dtype)
    kept = arcs.values.new_empty(out.shape if whole else (0, n))
    path_lengths = _SymmetricLengths(kept) if symmetric else _Lengths(kept)
    relaxation: Any = _Relaxation(arcs)
    if fast:
        from lowdim.backends.torch import triton_matrices

        relaxation = triton_matrices.Relaxation(arcs)
    finish = part_counter(len(sources))
    outflow = Outflow(device, out)
    for part in blocks(len(sources), min(columns, _sources_at_once(out))):
        chosen = put(device, sources[part].astype(np.int64))
        lengths = arcs.values.new_full((n, len(chosen)), torch.inf)
        lengths[chosen, torch.arange(len(chosen), device=device)] = 0
        relaxation.begin(lengths)
        outflow.copy()  # lengths of the part before, while this one is relaxed
        path_lengths.add(part, relaxation.end(), outflow)
        finish(len(chosen))
    outflow.copy()
    if whole:
        remember(out, kept)
    return out


def _sources_at_once(out: Array) -> int:
    """Sources whose paths are found together; several parts if copying the lengths takes time."""
    if out.nbytes < OVERLAPPED_FROM:
        return max(1, len(out))
    return -(-len(out) // (PARTS * ALIGNED)) * ALIGNED


class _Lengths:
    """The lengths of paths that have been found, of which `kept` stays on the device."""

    def __init__(self, kept: Tensor) -> None:
        self.kept = kept

    def add(self, part: slice, lengths: Tensor, outflow: Outflow) -> None:
        """Take the lengths from some sources (columns) to all nodes (rows)."""
        rows = lengths.T.contiguous()
        if len(self.kept):
            self.kept[part] = rows
        outflow.add_part((part, slice(None)), rows)


class _SymmetricLengths:
    """As `_Lengths`, in an undirected graph: from all nodes, in parts.

    The length of a path depends on the end from which it is summed, by rounding. The smaller one is
    taken, so an entry is known when paths from both of its nodes are.
    """

    def __init__(self, kept: Tensor) -> None:
        self.kept = kept
        self.before: list[tuple[slice, Tensor]] = []

    def add(self, part: slice, lengths: Tensor, outflow: Outflow) -> None:
        """Take the lengths from some sources (columns) to all nodes (rows)."""
        self.before.append((part, lengths))
        for other, those in self.before:
            smaller = torch.minimum(lengths[other], those[part].T)
            self.kept[other, part] = smaller
            self.kept[part, other] = smaller.T
        for place in ((part, slice(part.stop)), (slice(part.start), part)):
            outflow.add_part(place, self.kept[place].contiguous())


class _Relaxation:
    """The relaxation of arcs without a compiled kernel."""

    def __init__(self, arcs: Csr) -> None:
        self.arcs = arcs

    def begin(self, lengths: Tensor) -> None:
        """Take the lengths of paths to all nodes (rows)."""
        self.lengths = lengths

    def end(self) -> Tensor:
        """The lengths, when none of them decreases any more."""
        arcs, lengths = self.arcs, self.lengths
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
