"""Input on a GPU is worked on where it is, and results are returned there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from lowdim.checks import as_frame
from lowdim.runtime.context import compute, keep_uploads

Method = TypeVar("Method", bound=Callable[..., Any])

METHODS = ("fit", "fit_transform", "transform", "inverse_transform", "update")
CPU = 1  # the number of the CPU, kDLCPU, in the DLPack protocol


def on_gpu(X: Any) -> bool:
    """Whether X is an array on a GPU: a tensor, or anything else with the DLPack protocol."""
    place = getattr(X, "__dlpack_device__", None)
    return place is not None and not isinstance(X, np.ndarray) and int(place()[0]) != CPU


def where_x_is(method: Method) -> Method:
    """A method of an estimator that computes on the device of its first argument.

    If that is on a GPU, arrays are returned as tensors of the same device. Fitted attributes are
    NumPy arrays all the same, so that a model does not depend on the device.
    """

    @wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        X = as_frame(X)
        if not on_gpu(X):
            return method(self, X, *args, **kwargs)
        from lowdim.backends.torch import inputs

        tensor = inputs.tensor_of(X)
        with compute(inputs.name_of(tensor)), keep_uploads():
            result = method(self, inputs.on_host(tensor), *args, **kwargs)
        return inputs.to_device_of(result, tensor) if isinstance(result, np.ndarray) else result

    return cast(Method, call)
