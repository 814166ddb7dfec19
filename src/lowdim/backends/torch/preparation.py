"""Preparation of a GPU in the background, while a first fit imports its modules.

The first operations on a CUDA device create its context and load the libraries and kernels that
they need from files, which takes a second. Most of that time the interpreter's lock is free.
"""

from __future__ import annotations

import logging
from functools import cache
from threading import Thread

import numpy as np
import torch

from lowdim.backends.native.forces import StepSettings
from lowdim.backends.torch import affinities, forces, neighbors, scans

logger = logging.getLogger("lowdim")


@cache
def prepare(name: str) -> Thread:
    """Start to prepare a device, by its name; the thread ends when the device is ready."""
    thread = Thread(target=_prepare, args=(name,), name="lowdim-prepare")
    thread.start()
    return thread


def _prepare(name: str) -> None:
    if not name.startswith("cuda"):
        return
    try:
        with torch.cuda.device(torch.device(name)):
            first_operations(torch.device("cuda", torch.cuda.current_device()))
    except RuntimeError as error:  # a full device, for instance: the operation that needs it raises
        logger.debug("%s could not be prepared: %s", name, error)


def first_operations(device: torch.device) -> None:
    """Search the neighbours of a few rows, and take a step, which loads Triton."""
    n, k = 256, 15
    rows = np.sin(np.arange(16 * n, dtype=np.float32)).reshape(n, 16)
    scans.extremes(device, rows)
    distances = neighbors.nearest(device, rows, k, False)[1]
    affinities.memberships(device, np.arange(0, n * k + 1, k), distances.ravel(), 4.0, 1.0)
    gradient, at, velocity, gains = torch.zeros(4, 1, 1, device=device).unbind()
    forces.momentum_step(gradient, at, velocity, gains, StepSettings(1.0, 0.5, 0.01, 1.0))
