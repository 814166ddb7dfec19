"""What identifies a fit whose states are kept: class, data, parameters."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from lowdim import __version__
from lowdim.checks import is_sparse
from lowdim.distances.row_blocks import fingerprint
from lowdim.estimator.persist import GRAPH_PARTS
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import GivenGraph
from lowdim.runtime.checkpoint import States
from lowdim.runtime.context import current, override

# parameters that change no result
IGNORED = ("n_jobs", "verbose", "callback", "checkpoint", "warm_start")


@contextmanager
def keep_states(
    estimator: Any, objects: Any, arguments: dict[str, Any], before: States | None
) -> Iterator[None]:
    """Keep the states of the solvers of a fit, as `checkpoint` and `warm_start` ask for.

    The fit is that to `objects` with further `arguments`; `before` are the states of an earlier one
    with `warm_start`.
    """
    states = _states(estimator, objects, arguments, before)
    with override(states=states):
        yield
    if states is not None and not states.path:
        estimator._cached_states = states  # for a next fit


def _states(
    estimator: Any, objects: Any, arguments: dict[str, Any], before: States | None
) -> States | None:
    """New states, those of an earlier fit or of a file, or None if none are kept."""
    path, warm = getattr(estimator, "checkpoint", None), getattr(estimator, "warm_start", False)
    if not isinstance(warm, bool | np.bool_):
        raise TypeError(f"{argument('warm_start')} must be True or False, got {warm!r}.")
    if path is not None and not isinstance(path, str | PathLike):
        raise TypeError(f"{argument('checkpoint')} must be the name of a file, got {path!r}.")
    if path is not None and not os.fspath(path):
        raise ValueError(
            f"{argument('checkpoint')} must be the name of a file, got an empty string."
        )
    if path is None and not warm:
        return None
    data = objects.graph if isinstance(objects, GivenGraph) else objects
    key = {
        "estimator": type(estimator).__name__,
        "X": describe_parameter(data),
        **{
            f"the argument {name} of fit": describe_parameter(value)
            for name, value in arguments.items()
        },
        **{
            name: describe_parameter(value)
            for name, value in estimator.get_params(deep=False).items()
            if name not in IGNORED
        },
        "device": current().device,
        "lowdim": __version__,
    }
    if path is not None:
        return States(key, os.fspath(path))
    return States(key) if before is None else before.continue_with(key)


def describe_parameter(value: Any) -> str:
    """A parameter in words if it is a number or a string, else "#" and a digest of it."""
    if value is None or isinstance(value, bool | np.bool_ | str):
        return repr(value)
    if isinstance(value, int | float | np.number):
        plain = value.item() if isinstance(value, np.number) else value
        return repr(int(plain) if plain == plain // 1 and np.isfinite(plain) else plain)  # 30.0: 30
    if isinstance(value, list | tuple) and len(value) <= 4:
        parts = [describe_parameter(item) for item in value]
        if not any("#" in part for part in parts):
            return f"({', '.join(parts)})"
    return f"#{hashlib.blake2b(_content(value).encode(), digest_size=16).hexdigest()}"


def _content(value: Any) -> str:
    """A text that two values have in common only if they and all that they hold are equal."""
    if isinstance(value, NeighborGraph):
        value = {part: getattr(value, part) for part in GRAPH_PARTS}
    elif isinstance(value, np.random.RandomState):
        value = value.get_state(legacy=False)
    elif hasattr(value, "__array__") and not is_sparse(value):  # a DataFrame, a Series
        value = np.asarray(value)
    if isinstance(value, np.ndarray) or is_sparse(value):
        return fingerprint(value.tocsr() if is_sparse(value) else value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_content(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return f"{type(value).__name__}({', '.join(map(_content, items))})"
    if hasattr(value, "fingerprint"):
        return f"{type(value).__name__} {value.fingerprint()} {value.exponent}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__dict__"):
        held = {k: v for k, v in vars(value).items() if not k.startswith("_cached")}
        return type(value).__qualname__ + _content(held)
    return repr(value)
