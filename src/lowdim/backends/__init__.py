"""Implementations of the coarse operations on which all methods are built, one per device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from lowdim.checks import as_frame
from lowdim.runtime.context import compute, current, keep_uploads

if TYPE_CHECKING:
    from lowdim.backends.native import Backend

Method = TypeVar("Method", bound=Callable[..., Any])

CPU = 1  # the number of the CPU, kDLCPU, in the DLPack protocol


def backend() -> Backend:
    """The backend of the device of the running computation."""
    return current().backend


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
