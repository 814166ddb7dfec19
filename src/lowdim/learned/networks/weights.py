"""Weights of networks as arrays, and rows of data as tensors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from lowdim.checks import Array, dense, float_dtype
from lowdim.learned.networks.device import torch_device, use_torch
from lowdim.runtime.scheduling import blocks, run

Module = TypeVar("Module", bound=nn.Module)

DRAWN_BY_MODULES = 2**32 - 1  # last key of such numbers, where others have the number of a part
BLOCK_ROWS = 1024  # rows that a network is applied to at once; fixed, so that rounding is too


def random_generator(seed: int, *keys: int) -> torch.Generator:
    """A generator of random numbers for one purpose, such as the noise of one step."""
    return torch.Generator().manual_seed(_mix_keys(seed, *keys))


def _mix_keys(*keys: int) -> int:
    """A seed of PyTorch, which takes one number, from several."""
    return int(np.random.SeedSequence(keys).generate_state(1, np.uint64)[0] >> np.uint64(1))


process_settings = threading.RLock()  # of whoever changes generators or flags of the process
if hasattr(os, "register_at_fork"):  # a child must not inherit a lock that another thread holds
    os.register_at_fork(
        before=process_settings.acquire,
        after_in_parent=process_settings.release,
        after_in_child=process_settings.release,
    )


@contextmanager
def seed_weights(seed: int) -> Iterator[None]:
    """Networks that are made inside have weights that depend on the seed alone."""
    with process_settings, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def process_generators(device: torch.device, *keys: int) -> Iterator[None]:
    """What modules such as dropout draw inside, on the CPU or the device, depends on the keys."""
    gpus = [device] if device.type == "cuda" else []
    with process_settings, torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(_mix_keys(*keys, DRAWN_BY_MODULES))
        for gpu in gpus:
            with torch.cuda.device(gpu):
                torch.cuda.manual_seed(_mix_keys(*keys, DRAWN_BY_MODULES))
        yield


def noisy(x: torch.Tensor, size: float, random: torch.Generator) -> torch.Tensor:
    """Rows with Gaussian noise of this standard deviation."""
    if not size:
        return x
    # drawn in float32 whatever the type of x, so that the same seed means the same noise
    return x + size * torch.randn(x.shape, generator=random).to(x)


def arrays_of(tensors: dict[str, torch.Tensor]) -> dict[str, Array]:
    """Weights by name, or moments of an optimizer, as arrays."""
    return {k: v.detach().cpu().numpy().copy() for k, v in tensors.items()}


def load_arrays(network: nn.Module, arrays: dict[str, Array]) -> None:
    """Set the weights of a network; ValueError if the arrays belong to another one."""
    wanted = {k: tuple(v.shape) for k, v in network.state_dict().items()}
    shapes = {k: v.shape for k, v in arrays.items()}
    if wanted != shapes:
        odd = sorted(k for k in {*wanted, *shapes} if wanted.get(k) != shapes.get(k))
        raise ValueError(
            f"the weights belong to another network: {odd[0]} has shape {shapes.get(odd[0])}, but "
            f"the parameters of the estimator make it {wanted.get(odd[0])}."
        )
    network.load_state_dict({k: torch.as_tensor(v.copy()) for k, v in arrays.items()})


def on_device(network: Module, dtype: np.dtype[Any]) -> Module:
    """The network on the current device, with weights of a NumPy type."""
    return network.to(device=torch_device(), dtype=getattr(torch, dtype.name))


@dataclass(frozen=True)
class Rows:
    """Rows of data as a network takes them: centred, and divided by one number."""

    rows: Any  # array, memory map or CSR matrix; mini-batches are converted to the type of `mean`
    mean: Array
    scale: float

    @classmethod
    def of(cls, rows: Any) -> Rows:
        """With the mean and the root mean square deviation of all entries."""
        n, d = rows.shape
        parts = blocks(n, BLOCK_ROWS)
        sums = run(lambda part: dense(rows[part]).sum(axis=0, dtype=np.float64), parts)
        mean = np.sum(sums, axis=0) / n

        def squares(part: slice) -> float:
            return float(np.square(dense(rows[part]) - mean).sum(dtype=np.float64))

        with np.errstate(over="ignore", invalid="ignore"):
            scale = float(np.sqrt(sum(run(squares, parts)) / (n * d)))
        if not np.isfinite(scale):
            raise ValueError("X: squares of its entries overflow. Divide X by a large number.")
        return cls(rows, mean.astype(float_dtype(rows.dtype)), scale or 1.0)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, index: Any) -> torch.Tensor:
        """Some of the rows, on the current device."""
        part = dense(self.rows[index]).astype(self.mean.dtype, copy=False)
        part = (part - self.mean) / part.dtype.type(self.scale)
        return torch.from_numpy(np.ascontiguousarray(part)).to(torch_device())


def apply(network: Callable[[torch.Tensor], torch.Tensor], rows: Rows) -> Array:
    """The outputs of a network for all rows, in blocks of fixed size."""

    def one(part: slice) -> Array:
        x = rows.take(part)
        missing = BLOCK_ROWS - len(x)
        if missing:  # every product has the same shape, so a row does not depend on their number
            x = torch.cat([x, x.new_zeros(missing, x.shape[1])])
        with torch.no_grad(), use_torch():
            outputs = network(x)[: part.stop - part.start]
        return np.asarray(outputs.cpu().numpy())

    return np.concatenate(run(one, blocks(len(rows), BLOCK_ROWS)))
