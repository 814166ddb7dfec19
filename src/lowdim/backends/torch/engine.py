"""The backend object of a PyTorch device, and the choice of a device."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import numpy as np
import torch

from lowdim.backends.generic import to_numpy
from lowdim.backends.native import BACKEND, Backend
from lowdim.backends.torch import (
    affinities,
    algebra,
    distances,
    forces,
    graphs,
    index,
    layout,
    neighbors,
    samples,
    scans,
    sparse,
    stress,
)
from lowdim.backends.torch.arrays import Unsupported, free_bytes
from lowdim.backends.torch.preparation import prepare
from lowdim.backends.torch.resident import release
from lowdim.runtime.memory import readable

logger = logging.getLogger("lowdim")


class Operation:
    """An operation of `Backend` on a device, as an attribute of `TorchBackend`.

    It goes to the CPU if the device cannot do it or has too little memory.

    Parameters
    ----------
    function : callable
        Of the device and of the arguments of the operation.
    """

    name: str

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, backend: TorchBackend, owner: type | None = None) -> Callable[..., Any]:
        return partial(self, backend)

    def __call__(self, backend: TorchBackend, /, *args: Any, **kwargs: Any) -> Any:
        device = backend.device
        try:
            kinds = [getattr(arg, "dtype", None) for arg in args]
            if device.type == "mps" and np.float64 in kinds:
                raise Unsupported  # Apple's GPUs have no double precision
            try:
                return self.function(device, *args, **kwargs)
            except torch.OutOfMemoryError:
                if not release():
                    raise
            return self.function(device, *args, **kwargs)
        except Unsupported:
            backend.announce(self.name, " for these arguments")
        except torch.OutOfMemoryError:
            free = readable(free_bytes(device))
            backend.announce(self.name, f": {device} has only {free} of free memory")
        if self.name in ("layout_epochs", "layout_radii"):  # their arcs are on the device
            raise MemoryError(
                f"{self.name} needs more than the {readable(free_bytes(device))} that are free "
                f"on {device}. Use device='cpu'."
            )
        args = tuple(to_numpy(arg) if isinstance(arg, torch.Tensor) else arg for arg in args)
        return getattr(BACKEND, self.name)(*args, **kwargs)


class OnCPU:
    """An operation that the device lacks: that of the native backend, announced once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, backend: TorchBackend, owner: type | None = None) -> Callable[..., Any]:
        backend.announce(self.function.__name__, "")
        return self.function


class TorchBackend:
    """A `Backend` on a device of PyTorch; what is not listed here is done by the native backend."""

    on_device = Operation(algebra.on_device)
    matmul = Operation(algebra.matmul)
    spmm = Operation(algebra.spmm)
    smooth_modes = Operation(algebra.smooth_modes)
    scatter = Operation(algebra.scatter)
    project = Operation(algebra.project)
    quasi_newton_direction = Operation(algebra.quasi_newton_direction)
    distance_matrix = Operation(distances.distance_matrix)
    squared_distances = Operation(distances.squared_distances)
    compare_orders = Operation(distances.compare_orders)
    extremes = Operation(scans.extremes)
    asymmetry = Operation(scans.asymmetry)
    stable_order = Operation(scans.stable_order)
    group_sums = Operation(scans.group_sums)
    nearest = Operation(neighbors.nearest)
    nearest_to = Operation(neighbors.nearest_to)
    build_index = Operation(index.build_index)
    exact_search_seconds = Operation(index.exact_search_seconds)
    symmetrize = Operation(graphs.symmetrize)
    fuzzy_union = Operation(graphs.fuzzy_union)
    components = Operation(graphs.components)
    split = Operation(sparse.split)
    shortest_paths = Operation(graphs.shortest_paths)
    perplexity_affinities = Operation(affinities.perplexity_affinities)
    joint_probabilities = Operation(affinities.joint_probabilities)
    negative_entropy = Operation(affinities.negative_entropy)
    memberships = Operation(affinities.memberships)
    attraction = Operation(forces.Attraction)
    build_repulsion = Operation(forces.build_repulsion)
    frozen_field = Operation(forces.FrozenPoints)
    descend = Operation(forces.descend)
    layout_arcs = Operation(layout.layout_arcs)
    layout_epochs = Operation(layout.layout_epochs)
    layout_radii = Operation(layout.layout_radii)
    nearest_scaled = Operation(layout.nearest_scaled)
    pair_arcs = Operation(layout.pair_arcs)
    pair_epochs = Operation(layout.pair_epochs)
    triplet_epochs = Operation(layout.triplet_epochs)
    inverse = Operation(algebra.inverse)
    stress_gradient = Operation(stress.stress_gradient)
    pair_stress = Operation(stress.pair_stress)
    sammon_gradient = Operation(stress.sammon_gradient)
    divergence_gradient = Operation(affinities.divergence_gradient)
    stochastic_neighbor_errors = Operation(affinities.stochastic_neighbor_errors)
    rank_candidates = Operation(samples.rank_candidates)
    vector_sample = Operation(samples.vector_sample)

    # These belong on the CPU, and are not announced.
    digest = staticmethod(BACKEND.digest)  # reads an array once, faster than it is copied
    momentum_step = staticmethod(BACKEND.momentum_step)  # of arrays on the host: see `descend`
    level_structure = staticmethod(BACKEND.level_structure)
    build_heaps = staticmethod(BACKEND.build_heaps)
    smallest = staticmethod(BACKEND.smallest)

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._announced: set[str] = set()

    def description(self) -> str:
        """The name of the device, for `lowdim.show_versions`."""
        if self.device.type == "cuda":
            properties = torch.cuda.get_device_properties(self.device)
            return f"{properties.name}, {readable(properties.total_memory)}"
        return f"PyTorch on {self.device.type}"

    def announce(self, name: str, why: str) -> None:
        """Log, once, that an operation runs on the CPU."""
        if name not in self._announced:
            self._announced.add(name)
            logger.info("%s runs on the CPU%s", name, why)


for _name in [name for name in vars(Backend) if name not in vars(TorchBackend)]:
    setattr(TorchBackend, _name, OnCPU(getattr(BACKEND, _name)))


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
