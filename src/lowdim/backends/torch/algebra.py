"""Products of dense and sparse matrices with a few columns, and iterations made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends import subspace
from lowdim.backends.generic import convert_like
from lowdim.backends.torch.arrays import (
    Unsupported,
    free_bytes,
    get,
    has_kernels,
    put,
    tensor_dtype,
    tile_rows,
    widest_float,
)
from lowdim.backends.torch.resident import RESIDENT_FROM, resident, resident_square
from lowdim.backends.torch.sparse import Csr, block_diagonal, resident_csr, segment_sums
from lowdim.checks import Array

NARROW_COLUMNS = 32  # up to which the kernel keeps the sums of a row in registers
SUM_ROWS = 8192  # rows of a block of `scatter`; sums of blocks are added in double precision


def on_device(device: torch.device, V: Array) -> Tensor:
    """A copy of an array on the device."""
    return put(device, V)


def matmul(device: torch.device, A: Array, V: Any, *, squared: bool = False) -> Any:
    right = (V if isinstance(V, Tensor) else put(device, V)).to(tensor_dtype(A))
    transposed = A.flags.f_contiguous and not A.flags.c_contiguous
    squares = resident_square(device, A) if squared and not transposed else None
    if squares is not None:
        result = squares @ right
    else:
        left = resident(device, A.T).T if transposed else resident(device, A)
        result = _squared_product(left, right) if squared else left @ right
    return result if isinstance(V, Tensor) else get(result)


def _squared_product(A: Tensor, V: Tensor) -> Tensor:
    """(A * A) @ V, by tiles."""
    rows = tile_rows(A.device, A.shape[1] * A.element_size(), len(A))
    parts = [A[begin : begin + rows].square() @ V for begin in range(0, len(A), rows)]
    return torch.cat(parts)


def spmm(
    device: torch.device,
    A: Any,
    V: Array,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    before: Array | None = None,
    out: Array | None = None,
) -> Array:
    matrix = resident_csr(device, A)
    less = None if before is None else put(device, before).to(matrix.values.dtype)
    result = get(product(matrix, put(device, V).to(matrix.values.dtype), scale, shift, less))
    if out is None:
        return result
    out[...] = result
    return out


def product(
    A: Csr, V: Tensor, scale: float = 1.0, shift: float = 0.0, before: Tensor | None = None
) -> Tensor:
    """scale A V + shift V - before."""
    if has_kernels(V.device, V.dtype) and V.shape[1] <= NARROW_COLUMNS and A.shape[0]:
        from lowdim.backends.torch import triton_matrices

        return triton_matrices.product(A, V, scale, shift, before)
    result = _plain_product(A, V)
    if scale != 1.0 or shift != 0.0:
        result = scale * result + shift * V
    return result if before is None else result - before


def _plain_product(A: Csr, V: Tensor) -> Tensor:
    """A V, summed in the order of the entries."""
    entry = len(A.values) // max(A.shape[0], 1) + 1
    rows = tile_rows(V.device, 3 * entry * V.shape[1] * V.element_size(), A.shape[0])
    if rows >= A.shape[0]:
        return segment_sums(A.values[:, None] * V[A.columns.long()], A.sizes)
    parts = []
    for begin in range(0, A.shape[0], rows):
        end = min(begin + rows, A.shape[0])
        first, last = int(A.offsets[begin]), int(A.offsets[end])
        terms = A.values[first:last, None] * V[A.columns[first:last].long()]
        parts.append(segment_sums(terms, A.sizes[begin:end]))
    return torch.cat(parts)


def smooth_modes(device: torch.device, graphs: list[Any], k: int, seed: int) -> list[Array]:
    """The k smoothest eigenvectors of the random walk on each graph, for all graphs at once."""
    A = block_diagonal(device, graphs)
    ends = np.cumsum([0, *(graph.shape[0] for graph in graphs)])
    blocks = Blocks([slice(*pair) for pair in pairwise(ends)], device)
    precise = widest_float(device)
    parts, sizes = A.parts(), A.sizes
    degrees = torch.cat(
        [segment_sums(A.values[entries].to(precise), sizes[rows]) for rows, entries in parts]
    )
    scale = degrees.rsqrt()
    walk = Csr(A.offsets, A.columns, torch.empty_like(A.values, dtype=torch.float32), A.shape)
    for rows, entries in parts:
        values = A.values[entries].to(precise) * scale[A.rows(rows)]
        walk.values[entries] = (values * scale[A.columns[entries].long()]).float()
    del A, values  # which are large
    roots = degrees.sqrt()
    constant = torch.cat([roots[part] / torch.linalg.vector_norm(roots[part]) for part in blocks])

    def step(V: Tensor, a: Any, b: Any, W: Tensor | None) -> Tensor:
        if np.size(a) == 1:
            return product(walk, V, -float(np.squeeze(a)), float(np.squeeze(a + b)), W)
        result = blocks.expand_to_rows(a + b, V) * V - blocks.expand_to_rows(a, V) * product(
            walk, V
        )
        return result if W is None else result - W

    problem = subspace.Problem(
        step, 2.0, constant[:, None].float(), blocks.gram, blocks.times, blocks.qr
    )
    random = torch.Generator(device).manual_seed(seed)
    start = torch.rand(walk.shape[0], subspace.width(k), generator=random, device=device)
    result = subspace.smooth_modes(problem, 2 * start - 1, k) * scale[:, None].float()
    modes = get(result)
    return [modes[part] for part in blocks]


class Blocks(list[slice]):
    """Consecutive rows that are blocks of a problem; small matrices are stacked, one per block."""

    def __init__(self, parts: list[slice], device: torch.device) -> None:
        super().__init__(parts)
        sizes = torch.tensor([part.stop - part.start for part in parts], device=device)
        self._block = torch.arange(len(parts), device=device).repeat_interleave(sizes)

    def expand_to_rows(self, values: Array, V: Tensor) -> Tensor:
        """The value of each row's block, as a column."""
        column: Tensor = convert_like(values, V)[self._block, None]
        return column

    def gram(self, V: Tensor, W: Tensor) -> Array:
        """V' W of each block, in double precision."""
        left = V.to(widest_float(V.device))
        right = left if W is V else W.to(left.dtype)
        products = [left[part].T @ right[part] for part in self]
        return get(torch.stack(products)).astype(np.float64)

    def times(self, V: Tensor, S: Array) -> Tensor:
        """V S with a matrix S for each block, in double precision, rounded to the dtype of V."""
        left = V.to(widest_float(V.device))
        right = put(V.device, S).to(left.dtype)
        products = [left[part] @ right[i] for i, part in enumerate(self)]
        return torch.cat(products).to(V.dtype)

    def qr(self, V: Tensor) -> Tensor:
        """An orthonormal basis of the columns in each block."""
        return torch.cat([torch.linalg.qr(V[part])[0] for part in self])


def inverse(device: torch.device, V: Array) -> Callable[[Array], Array]:
    """The function from g to V^-1 g, by a Cholesky factor of V."""
    if device.type == "mps" or 3 * V.nbytes > free_bytes(device):
        raise Unsupported
    factor = torch.linalg.cholesky(put(device, V))
    return lambda g: get(torch.cholesky_solve(put(device, g).double(), factor))


def quasi_newton_direction(
    device: torch.device, gradient: Array, steps: Sequence[Array], changes: Sequence[Array]
) -> Array:
    """The direction of descent of the limited-memory BFGS method; past steps stay on the device."""
    if device.type != "cuda" or gradient.nbytes < RESIDENT_FROM:
        raise Unsupported
    direction = -put(device, gradient)
    past = [[resident(device, row) for row in rows] for rows in (steps, changes)]
    curvatures = [torch.dot(step, change) for step, change in zip(*past, strict=True)]
    shares = []
    for step, change, curvature in reversed(list(zip(*past, curvatures, strict=True))):
        shares.append(torch.dot(step, direction) / curvature)
        direction -= shares[-1] * change
    if curvatures:
        direction *= curvatures[-1] / torch.dot(past[1][-1], past[1][-1])
    for step, change, curvature in zip(*past, curvatures, strict=True):
        direction += (shares.pop() - torch.dot(change, direction) / curvature) * step
    return get(direction)


def project(device: torch.device, X: Array, center: Array, axes: Array) -> Array:
    rows, dtype = resident(device, X), tensor_dtype(axes)
    shift, turn = (put(device, side.astype(axes.dtype)) for side in (center, axes))
    size = tile_rows(device, 2 * rows.shape[1] * axes.itemsize, len(rows))
    parts = [
        (rows[begin : begin + size].to(dtype) - shift) @ turn.T
        for begin in range(0, len(rows), size)
    ]
    return get(torch.cat(parts)) if parts else np.empty((0, len(axes)), axes.dtype)


def scatter(device: torch.device, X: Array, center: Array) -> tuple[Array, Array]:
    rows, shift = resident(device, X), put(device, center.astype(X.dtype, copy=False))
    d = rows.shape[1]
    total = torch.zeros(d, d, dtype=widest_float(device), device=device)
    sums = torch.zeros(d, dtype=widest_float(device), device=device)
    for begin in range(0, len(rows), SUM_ROWS):
        block = rows[begin : begin + SUM_ROWS] - shift
        total += block.T @ block
        sums += block.sum(dim=0)
    return get(total).astype(np.float64), get(sums).astype(np.float64)
