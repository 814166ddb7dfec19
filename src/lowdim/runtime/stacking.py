"""Rows below rows, copied by several threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array, dense, is_sparse
from lowdim.runtime.scheduling import blocks, run

BLOCK_ROWS = 4096  # rows that a thread copies at once


def stack_rows(rows: Any, more: Any) -> Any:
    """The rows of two tables, in the form of the first: dense or CSR."""
    if not is_sparse(rows):
        return _concatenate(rows, dense(more))
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([rows, csr_array(more)], format="csr", dtype=rows.dtype))


def _concatenate(rows: Array, more: Array) -> Array:
    """`numpy.concatenate` by several threads: most of its time is that of new pages of memory."""
    n = len(rows)
    out = np.empty((n + len(more), *rows.shape[1:]), dtype=np.result_type(rows, more))

    def fill(part: slice) -> None:
        old = slice(part.start, min(part.stop, n))
        new = slice(max(part.start, n), part.stop)
        if old.stop > old.start:
            out[old] = rows[old]
        if new.stop > new.start:
            out[new] = more[new.start - n : new.stop - n]

    run(fill, blocks(len(out), BLOCK_ROWS))
    return out
