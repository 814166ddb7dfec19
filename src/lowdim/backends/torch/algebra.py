"""Products of dense and sparse matrices with a few columns, and iterations made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends import subspace
from lowdim.backends.generic import like
from lowdim.backends.torch import kernels
from lowdim.backends.torch.arrays import get, put, resident, tile_rows, wide
from lowdim.backends.torch.segments import segment_sums
from lowdim.backends.torch.sparse import Csr, resident_csr
from lowdim.checks import Array

NARROW_COLUMNS = 32  # up to which the kernel keeps the sums of a row in registers
SUM_ROWS = 8192  # rows of a block of `scatter`; sums of blocks are added in double precision


def matmul(device: torch.device, A: Array, V: Array, *, squared: bool = False) -> Array:
    """A @ V, or (A * A) @ V without storing A * A."""
    transposed = A.flags.f_contiguous and not A.flags.c_contiguous
    left = resident(device, A.T).T if transposed else resident(device, A)
    right = put(device, V).to(left.dtype)
    if not squared:
        return get(left @ right)
    rows = tile_rows(device, left.shape[1] * left.element_size(), len(left))
    parts = [left[begin : begin + rows].square() @ right for begin in range(0, len(left), rows)]
    return get(torch.cat(parts))


def spmm(
    device: torch.device,
    A: Any,
    V: Array,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    before: Array | None = None,
) -> Array:
    """scale A V + shift V - before for a CSR matrix and a few dense columns."""
    matrix = resident_csr(device, A)
    less = None if before is None else put(device, before).to(matrix.values.dtype)
    return get(product(matrix, put(device, V).to(matrix.values.dtype), scale, shift, less))


def product(
    A: Csr, V: Tensor, scale: float = 1.0, shift: float = 0.0, before: Tensor | None = None
) -> Tensor:
    """scale A V + shift V - before."""
    if _narrow(V) and A.shape[0]:
        return kernels.matrices().product(A, V, scale, shift, before)  # type: ignore[no-any-return]
    found = _plain_product(A, V)
    if scale != 1.0 or shift != 0.0:
        found = scale * found + shift * V
    return found if before is None else found - before


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


def _narrow(V: Tensor) -> bool:
    """Whether a product with V is for the kernel."""
    return kernels.run_on(V.device, V.dtype) and V.shape[1] <= NARROW_COLUMNS


def smooth_modes(device: torch.device, graph: Any, scale: Array, start: Array, k: int) -> Array:
    """The k leading eigenvectors of a CSR matrix scaled on both sides, to a few digits.

    They belong to the smallest eigenvalues of the normalised Laplacian, which are in [0, 2].
    """
    A = resident_csr(device, graph)
    size = put(device, scale.astype(np.float64 if device.type != "mps" else np.float32))
    values = A.values * size[A.rows()] * size[A.columns.long()]
    walk = Csr(A.offsets, A.columns, values.float(), A.shape)
    constant = (1 / size)[:, None]
    constant = (constant / torch.linalg.vector_norm(constant)).float()

    def step(V: Tensor, a: float, b: float, W: Tensor | None) -> Tensor:
        return product(walk, V, -a, a + b, W)

    problem = subspace.Problem(step, 2.0, constant, _gram, _times, lambda V: torch.linalg.qr(V)[0])
    return get(subspace.smooth_modes(problem, put(device, start), k))


def _gram(V: Tensor, W: Tensor) -> Array:
    """V' W in double precision."""
    precise = wide(V.device)
    return get(V.to(precise).T @ W.to(precise)).astype(np.float64)


def _times(V: Tensor, S: Array) -> Tensor:
    """V S in double precision, rounded to the dtype of V."""
    wider = V.to(wide(V.device))
    product: Tensor = (wider @ like(S, wider)).to(V.dtype)
    return product


def scatter(device: torch.device, X: Array, center: Array) -> tuple[Array, Array]:
    """(X - center)' (X - center) and the sums of the columns of X - center, in float64."""
    rows, shift = resident(device, X), put(device, center.astype(X.dtype, copy=False))
    d = rows.shape[1]
    total = torch.zeros(d, d, dtype=wide(device), device=device)
    sums = torch.zeros(d, dtype=wide(device), device=device)
    for begin in range(0, len(rows), SUM_ROWS):
        block = rows[begin : begin + SUM_ROWS] - shift
        total += block.T @ block
        sums += block.sum(dim=0)
    return get(total).astype(np.float64), get(sums).astype(np.float64)
