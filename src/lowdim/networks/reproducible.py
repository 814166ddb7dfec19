"""Steps of a training that are the same in every run and for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from lowdim.networks.device import torch_device
from lowdim.networks.weights import process_generators
from lowdim.runtime.context import using, with_threads


class Reproducible:
    """The context of a training, and of each of its steps.

    Threads compute the parts of a batch in any order. That changes nothing unless the network draws
    from the random generators of the process (dropout), or keeps sums over the rows that it has
    seen (batch normalisation). The first step shows whether it does: if so, all steps compute their
    parts in order, with random numbers that depend on the seed and on the step alone.

    On a GPU, algorithms of convolution are chosen whose result is always the same.

    Parameters
    ----------
    network : Module
    seed : int
    """

    def __init__(self, network: nn.Module, seed: int) -> None:
        self.network, self.seed = network, seed
        self.in_order: bool | None = None  # None: the first step is to come

    def __enter__(self) -> Reproducible:
        flags = torch.backends.cudnn
        self.before = flags.deterministic, flags.benchmark
        flags.deterministic, flags.benchmark = True, False
        return self

    def __exit__(self, *error: object) -> None:
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = self.before

    @contextmanager
    def step(self, key: tuple[int, int]) -> Iterator[None]:
        """The context of a step; `key` is (epoch, step)."""
        if self.in_order is False:
            yield
            return
        with process_generators(torch_device(), self.seed, *key), using(with_threads(1)):
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
