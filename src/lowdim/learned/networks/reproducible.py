"""Steps of a training that are the same in every run and for any number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from lowdim.learned.networks.device import torch_device
from lowdim.learned.networks.weights import process_generators
from lowdim.runtime.context import override


class _Deterministic:
    """On a GPU, chooses algorithms of convolution whose result is always the same.

    The choice is one of the process: it holds while any training is inside.
    """

    def __init__(self) -> None:
        self.lock, self.depth, self.before = threading.Lock(), 0, (False, False)
        if hasattr(os, "register_at_fork"):  # a child must not inherit a lock that is held
            hold, release = self.lock.acquire, self.lock.release
            os.register_at_fork(before=hold, after_in_parent=release, after_in_child=release)

    def __enter__(self) -> None:
        flags = torch.backends.cudnn
        with self.lock:
            if self.depth == 0:
                self.before = flags.deterministic, flags.benchmark
                flags.deterministic, flags.benchmark = True, False
            self.depth += 1

    def __exit__(self, *error: object) -> None:
        flags = torch.backends.cudnn
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                flags.deterministic, flags.benchmark = self.before


deterministic_convolutions = _Deterministic()


class Reproducible:
    """The contexts of the steps of a training.

    Threads compute the parts of a batch in any order. That changes nothing unless the network draws
    from the random generators of the process (dropout), or keeps sums over the rows that it has
    seen (batch normalisation). The first step shows whether it does: if so, all steps compute their
    parts in order, with random numbers that depend on the seed and on the step alone.

    Parameters
    ----------
    network : Module
    seed : int
    """

    def __init__(self, network: nn.Module, seed: int) -> None:
        self.network, self.seed = network, seed
        self.in_order: bool | None = None  # None: the first step is to come

    @contextmanager
    def step(self, key: tuple[int, int]) -> Iterator[None]:
        """The context of a step; `key` is (epoch, step)."""
        if self.in_order is False:
            yield
            return
        with process_generators(torch_device(), self.seed, *key), override(threads=1):
            before = self._state() if self.in_order is None else []
            yield
            if before:
                self.in_order = not all(map(torch.equal, before, self._state()))

    def _state(self) -> list[torch.Tensor]:
        """What a step may change beside the weights."""
        states = [torch.get_rng_state(), *(buffer.clone() for buffer in self.network.buffers())]
        if torch_device().type == "cuda":
            states.append(torch.cuda.get_rng_state(torch_device()))
        return states
