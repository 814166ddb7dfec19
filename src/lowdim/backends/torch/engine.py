"""The backend object of a PyTorch device, and the choice of a device."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import numpy as np
import torch

from lowdim.backends import native
from lowdim.backends.generic import to_numpy
from lowdim.backends.protocol import Backend
from lowdim.backends.torch import (
    affinities,
    algebra,
    distances,
    divergence,
    forces,
    graphs,
    index,
    layout,
    neighbors,
    scans,
    sparse,
    stochastic,
    stress,
)
from lowdim.backends.torch.arrays import Unsupported, free_bytes
from lowdim.backends.torch.preparation import prepare
from lowdim.backends.torch.resident import release
from lowdim.runtime.memory import readable

logger = logging.getLogger("lowdim")

OPERATIONS: dict[str, Callable[..., Any]] = {
    "on_device": algebra.on_device,
    "matmul": algebra.matmul,
    "spmm": algebra.spmm,
    "smooth_modes": algebra.smooth_modes,
    "scatter": algebra.scatter,
    "project": algebra.project,
    "distance_matrix": distances.distance_matrix,
    "squared_distances": distances.squared_distances,
    "compare_orders": distances.compare_orders,
    "extremes": scans.extremes,
    "asymmetry": scans.asymmetry,
    "stable_order": scans.stable_order,
    "group_sums": scans.group_sums,
    "nearest": neighbors.nearest,
    "nearest_to": neighbors.nearest_to,
    "build_index": index.build_index,
    "exact_search_seconds": index.exact_search_seconds,
    "symmetrize": graphs.symmetrize,
    "fuzzy_union": graphs.fuzzy_union,
    "components": graphs.components,
    "split": sparse.split,
    "shortest_paths": graphs.shortest_paths,
    "perplexity_affinities": affinities.perplexity_affinities,
    "joint_probabilities": affinities.joint_probabilities,
    "negative_entropy": affinities.negative_entropy,
    "memberships": affinities.memberships,
    "attraction": forces.Attraction,
    "repulsion": forces.repulsion,
    "frozen_field": forces.frozen_field,
    "descend": forces.descend,
    "layout_arcs": layout.layout_arcs,
    "layout_epochs": layout.layout_epochs,
    "layout_radii": layout.layout_radii,
    "inverse": algebra.inverse,
    "stress_gradient": stress.stress_gradient,
    "pair_stress": stress.pair_stress,
    "sammon_gradient": stress.sammon_gradient,
    "divergence_gradient": divergence.divergence_gradient,
    "stochastic_neighbor_errors": stochastic.stochastic_neighbor_errors,
}
"""Functions of the device and of the arguments of the operation, by the operation's name."""

QUIETLY_ON_CPU = {
    "digest",  # reads an array once, in less time than it takes to copy it
    "momentum_step",  # of arrays on the host; descents use `descend`
    "quasi_newton_direction",  # of arrays on the host
    "level_structure",
    "heaps",
    "smallest",
}
"""Operations that are not announced when they run on the CPU, where they belong."""


class TorchBackend:
    """A `Backend` on a device of PyTorch; what it lacks is done by the native backend."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._announced: set[str] = set()
        for name, function in OPERATIONS.items():
            setattr(self, name, self._operation(name, partial(function, device)))

    def description(self) -> str:
        """The name of the device, for `lowdim.show_versions`."""
        if self.device.type == "cuda":
            properties = torch.cuda.get_device_properties(self.device)
            return f"{properties.name}, {readable(properties.total_memory)}"
        return f"PyTorch on {self.device.type}"

    def __getattr__(self, name: str) -> Any:
        operation = getattr(native, name)  # AttributeError if there is no such operation
        if name not in QUIETLY_ON_CPU:
            self._announce(name, "")
        return operation

    def _operation(self, name: str, function: partial[Any]) -> Callable[..., Any]:
        """An operation that goes to the CPU if the device cannot do it or has too little memory."""

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                if self.device.type == "mps" and _has_doubles(args):
                    raise Unsupported  # Apple's GPUs have no double precision
                try:
                    return function(*args, **kwargs)
                except torch.OutOfMemoryError:
                    if not release():
                        raise
                return function(*args, **kwargs)
            except Unsupported:
                self._announce(name, " for these arguments")
            except torch.OutOfMemoryError:
                free = readable(free_bytes(self.device))
                self._announce(name, f": {self.device} has only {free} of free memory")
            if name in ("layout_epochs", "layout_radii"):  # their arcs are on the device
                raise MemoryError(
                    f"{name} needs more than the {readable(free_bytes(self.device))} that are free "
                    f"on {self.device}. Use device='cpu'."
                )
            args = tuple(to_numpy(arg) if isinstance(arg, torch.Tensor) else arg for arg in args)
            return getattr(native, name)(*args, **kwargs)

        call.__doc__ = function.func.__doc__
        call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return call

    def _announce(self, name: str, why: str) -> None:
        if name not in self._announced:
            self._announced.add(name)
            logger.info("%s runs on the CPU%s", name, why)


def _has_doubles(args: tuple[Any, ...]) -> bool:
    return any(getattr(arg, "dtype", None) == np.float64 for arg in args)


@cache
def backend_of(name: str) -> Backend:
    """The backend of a device, by the name that `lowdim.compute` takes."""
    prepare(name).join()  # a CUDA graph cannot be captured while another thread allocates memory
    device = torch.device(name.removeprefix("torch:"))
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    return cast(Backend, TorchBackend(device))


def gpu() -> str | None:
    """The name of a GPU of this machine."""
    return next((name for name in ("cuda", "mps") if not problem_with(name)), None)


def problem_with(name: str) -> str:
    """Why a device cannot be used; empty if it can."""
    kind, _, number = name.partition(":")
    if kind == "cuda":
        if not torch.cuda.is_available():
            return (
                "PyTorch finds no CUDA device. Use device 'cpu', or install a build of PyTorch for "
                "CUDA (https://pytorch.org) and check the driver with nvidia-smi."
            )
        count = torch.cuda.device_count()
        if number and int(number) >= count:
            return f"there are {count} CUDA devices, numbered from 0."
    if kind == "mps" and not torch.backends.mps.is_available():
        return "PyTorch finds no Apple GPU. Use device 'cpu'."
    return ""
