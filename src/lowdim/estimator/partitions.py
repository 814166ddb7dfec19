"""`transform` of new objects that are read in blocks, or are partitions of a Dask array."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.distances.row_blocks import RowBlocks
from lowdim.objects.dask_rows import DaskRows


def transform_blocks(estimator: Any, X: RowBlocks) -> Any:
    """Coordinates of the rows of a source; those of a block are a task of their own.

    If the training objects are in blocks too, a block is compared with them by a pass over those,
    so the blocks are then placed one after the other.
    """
    if hasattr(estimator, "source_"):
        return concatenate_rows([estimator.transform(X.read(part)) for part in X.blocks()])
    return concatenate_rows(list(X.map(_transform_block, estimator)))


def transform_lazily(estimator: Any, X: DaskRows) -> Any:
    """The same as a Dask array with the partitions of X, which are placed when it is computed."""
    from dask import array
    from dask.delayed import delayed

    from lowdim.backends.dask.calls import Call

    width = estimator._n_features_out
    if hasattr(estimator, "source_"):
        sizes = tuple(part.stop - part.start for part in X.blocks())
        return array.from_array(transform_blocks(estimator, X), chunks=(sizes, width))
    place = delayed(Call(partial(_transform_item, estimator, X)), pure=False, traverse=False)
    parts = [
        array.from_delayed(place(item), (item[2] - item[1], width), X.dtype) for item in X.items()
    ]
    return array.concatenate(parts)


def _transform_item(estimator: Any, X: DaskRows, item: Any) -> Array:
    rows, first = X.load(item)
    return np.asarray(_transform_block(rows, first, estimator), dtype=X.dtype)


def _transform_block(rows: Array, first: int, estimator: Any) -> Any:
    return estimator.transform(rows)


def concatenate_rows(parts: list[Any]) -> Any:
    """Rows of arrays or of sparse matrices, one part after the other."""
    if is_sparse(parts[0]):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)
