"""The states that a fit keeps: what identifies the fit, and its neighbour graph."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from lowdim import __version__
from lowdim.checks import is_sparse
from lowdim.distances.fingerprint import fingerprint
from lowdim.estimator.persist import GRAPH_PARTS
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import GivenGraph
from lowdim.runtime.checkpoint import Checkpoint, States
from lowdim.runtime.context import current

# parameters that change no result
IGNORED = ("n_jobs", "verbose", "callback", "checkpoint", "warm_start")


def states_of(
    estimator: Any, objects: Any, arguments: dict[str, Any], before: States | None
) -> States | None:
    """The states that the parameters `checkpoint` and `warm_start` of an estimator ask for.

    Parameters
    ----------
    estimator : estimator
    objects : Objects
        What it is fitted to.
    arguments : dict
        Further arguments of `fit`.
    before : States or None
        Those of an earlier fit with `warm_start`.
    """
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
        return Checkpoint(path, key)
    return States(key) if before is None else before.continue_with(key)


def restore_or_compute_graph(compute: Callable[[], NeighborGraph]) -> NeighborGraph:
    """The neighbour graph that the fit has remembered if it goes on, or else computed."""
    states = current().states
    if states is None:
        return compute()
    parts = states.recall("graph")
    if parts is not None:
        return NeighborGraph(**parts).check("checkpoint")
    graph = compute()
    states.remember("graph", {part: getattr(graph, part) for part in GRAPH_PARTS})
    return graph


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
    digest = hashlib.blake2b(digest_size=16)
    _add(value, digest.update)
    return f"#{digest.hexdigest()}"


def _add(value: Any, add: Callable[[bytes], None]) -> None:
    """Add a value to a digest, with all that it holds."""
    if isinstance(value, np.ndarray) or is_sparse(value):
        add(fingerprint(value.tocsr() if is_sparse(value) else value).encode())
    elif isinstance(value, dict):
        for name, item in value.items():
            add(repr(name).encode())
            _add(item, add)
    elif isinstance(value, list | tuple | set | frozenset):
        add(f"{type(value).__name__} {len(value)}".encode())
        for item in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            _add(item, add)
    elif isinstance(value, np.random.RandomState):
        _add(value.get_state(legacy=False), add)
    elif isinstance(value, NeighborGraph):
        _add({part: getattr(value, part) for part in GRAPH_PARTS}, add)
    elif hasattr(value, "fingerprint"):
        add(f"{type(value).__name__} {value.fingerprint()} {value.exponent}".encode())
    elif hasattr(value, "__array__"):  # a DataFrame, a Series
        _add(np.asarray(value), add)
    elif callable(value) and hasattr(value, "__qualname__"):
        add(f"{value.__module__}.{value.__qualname__}".encode())
    elif hasattr(value, "__dict__"):
        add(type(value).__qualname__.encode())
        _add({k: v for k, v in vars(value).items() if not k.startswith("_cached")}, add)
    else:
        add(repr(value).encode())
