"""Input that is not an array in memory: on a GPU, read in blocks, or partitions of a Dask array."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np

from lowdim.checks import Array, as_frame, is_sparse
from lowdim.distances.row_blocks import RowBlocks
from lowdim.objects.dask_rows import DaskRows
from lowdim.runtime.context import compute, keep_uploads

Method = TypeVar("Method", bound=Callable[..., Any])

METHODS = ("fit", "fit_transform", "transform", "inverse_transform", "update")
CPU = 1  # the number of the CPU, kDLCPU, in the DLPack protocol


def on_gpu(X: Any) -> bool:
    """Whether X is an array on a GPU: a tensor, or anything else with the DLPack protocol."""
    place = getattr(X, "__dlpack_device__", None)
    return place is not None and not isinstance(X, np.ndarray) and int(place()[0]) != CPU


def on_device_of_x(method: Method) -> Method:
    """A method of an estimator that computes on the device of its first argument.

    If that is on a GPU, arrays are returned as tensors of the same device. Fitted attributes are
    NumPy arrays all the same, so that a model does not depend on the device.
    """

    @wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        X = as_frame(X)
        if not on_gpu(X):
            return method(self, X, *args, **kwargs)
        from lowdim.backends.torch import resident

        tensor = resident.tensor_of(X)
        with compute(resident.name_of(tensor)), keep_uploads():
            result = method(self, resident.get_and_remember(tensor), *args, **kwargs)
        return resident.to_device_of(result, tensor) if isinstance(result, np.ndarray) else result

    return cast(Method, call)


def transform_blocks(estimator: Any, X: RowBlocks) -> Any:
    """Coordinates of the rows of a source, a Dask array if it is of Dask.

    Those of a block are a task of their own. If the training objects are in blocks too, a block is
    compared with them by a pass over those, so the blocks are then placed one after the other.
    """
    if isinstance(X, DaskRows):
        return _transform_lazily(estimator, X)
    return _transform_now(estimator, X)


def _transform_now(estimator: Any, X: RowBlocks) -> Any:
    if hasattr(estimator, "source_"):
        return concatenate_rows([estimator.transform(X.read(part)) for part in X.blocks()])
    return concatenate_rows(list(X.map(_transform_block, estimator)))


def _transform_lazily(estimator: Any, X: DaskRows) -> Any:
    """A Dask array with the partitions of X, which are placed when it is computed."""
    from dask import array
    from dask.delayed import delayed

    from lowdim.backends.dask.calls import Call

    width = estimator._n_features_out
    if hasattr(estimator, "source_"):
        sizes = tuple(part.stop - part.start for part in X.blocks())
        return array.from_array(_transform_now(estimator, X), chunks=(sizes, width))
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
