"""Training of a network: mini-batches, validation, early stopping, schedule and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from lowdim.checks import Array
from lowdim.learned.networks.device import torch_device
from lowdim.learned.networks.weights import (
    arrays_of,
    load_arrays,
    process_generators,
    process_settings,
)
from lowdim.messages import argument
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import Resumable
from lowdim.runtime.context import override
from lowdim.runtime.interrupts import defer_interrupts
from lowdim.runtime.scheduling import blocks, run

SHARD = 128  # objects of a batch whose gradient one thread computes
SMALLEST_RATE = 1e-3  # of the learning rate, as a share of the first one
PROGRESS = 1e-4  # relative decrease of the loss that counts as progress
EPSILON = 1e-7  # of Adam: gradients below it, such as rounding, hardly move a weight
LARGEST_NORM = 10.0  # of the gradient of a step; longer ones are shortened to it


class Problem(Resumable):
    """What a network is trained for."""

    n: int  # items that an epoch goes through: objects, or pairs of objects

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        """The mean loss of some items, and its gradient by the `trainable` parameters.

        `key` is (epoch, step), for random numbers.
        """
        raise NotImplementedError

    def validation(self, network: Any) -> float | None:
        """The loss of held-out objects; None if there are none."""
        return None

    def end_epoch(self, loss: float) -> bool:
        """Called after an epoch with its mean loss; returns whether the objective still changes.

        Epochs of a changing objective are not compared with others.
        """
        return False


@dataclass(frozen=True)
class Settings:
    """How a network is trained; see the parameters of `lowdim.Autoencoder`."""

    max_iter: int
    batch_size: int
    learning_rate: float
    schedule: str
    patience: int
    weight_decay: float
    seed: int


@dataclass
class Progress:
    """The state of a training beside weights and moments, as plain numbers."""

    epoch: int = 0  # number of finished epochs
    best: float = math.inf  # the lowest loss, of the held-out objects if there are any
    waited: int = 0  # epochs since then
    rate: float = 1.0  # learning rate, as a share of the first one
    history: list[tuple[float, float]] = field(default_factory=list)  # training, validation

    def add(self, loss: float, held_out: float | None, patience: int, *, changing: bool) -> bool:
        """Record an epoch; returns whether it was the best one so far."""
        judged = loss if held_out is None else held_out
        self.epoch += 1
        self.history.append((loss, math.nan if held_out is None else held_out))
        if not math.isfinite(self.best) or judged < self.best - PROGRESS * abs(self.best):
            self.best, self.waited = math.inf if changing else judged, 0
            return True
        self.waited += 1
        if self.waited % max(1, patience // 2) == 0:
            self.rate = max(self.rate / 2, SMALLEST_RATE)
        return False


def train(
    network: nn.Module,
    problem: Problem,
    settings: Settings,
    monitor: Monitor,
    show: Callable[[], Array],
) -> Array:
    """Train a network, which ends with the weights of its best epoch.

    Returns the training and the validation loss of each epoch, of shape (n_epochs, 2); the latter
    is NaN if nothing is held out. `show` returns the coordinates of all objects, for the callback.
    """
    parameters = trainable(network)
    with defer_interrupts():  # the first optimizer imports further parts of PyTorch
        optimizer = torch.optim.Adam(
            parameters, lr=settings.learning_rate, eps=EPSILON, weight_decay=settings.weight_decay
        )
    progress, best = Progress(), arrays_of(network.state_dict())

    def state() -> dict[str, Any]:
        return {
            "network": arrays_of(network.state_dict()),
            "best": best,
            "moments": [arrays_of(optimizer.state[one]) for one in parameters],
            "progress": asdict(progress),
            "problem": problem.state(),
        }

    reproducible = Reproducible(network, settings.seed)
    with deterministic_convolutions, monitor:
        saved = monitor.load_state({}, scheduled=settings.schedule == "cosine")
        if saved is not None:
            load_arrays(network, saved["network"])
            for one, moments in zip(parameters, saved["moments"], strict=True):
                optimizer.state[one] = {  # Adam counts its steps on the CPU
                    name: torch.as_tensor(moment).to("cpu" if name == "step" else one.device)
                    for name, moment in moments.items()
                }
            progress, best = Progress(**saved["progress"]), saved["best"]
            progress.history = [(loss, held_out) for loss, held_out in progress.history]
            problem.restore(saved["problem"])
        while progress.epoch < settings.max_iter and progress.waited < settings.patience:
            network.train()
            loss = _epoch(network, optimizer, problem, settings, progress, reproducible)
            if not math.isfinite(loss):
                decay = f" or weight_decay={settings.weight_decay:g}" * (settings.weight_decay > 0)
                raise ValueError(
                    f"The loss of the network is {loss} in epoch {progress.epoch + 1}. Lower "
                    f"{argument('learning_rate', settings.learning_rate)}{decay}."
                )
            network.eval()
            held_out, changing = problem.validation(network), problem.end_epoch(loss)
            if progress.add(loss, held_out, settings.patience, changing=changing):
                best = arrays_of(network.state_dict())
            judged = loss if held_out is None else held_out
            places = show() if monitor.wants_embedding else np.empty((0, 0))
            if monitor(progress.epoch, judged, places):
                break
            monitor.keep(state)
    load_arrays(network.eval(), best)
    return np.array(progress.history).reshape(-1, 2)


def _epoch(
    network: nn.Module,
    optimizer: Any,
    problem: Problem,
    settings: Settings,
    progress: Progress,
    reproducible: Reproducible,
) -> float:
    """One pass over all items in random order; returns the mean loss."""
    epoch = progress.epoch
    share = {
        "constant": 1.0,
        "plateau": progress.rate,
        "cosine": 0.5 * (1 + math.cos(math.pi * epoch / settings.max_iter)),
    }[settings.schedule]
    for group in optimizer.param_groups:
        group["lr"] = settings.learning_rate * max(share, SMALLEST_RATE)
    order = np.random.default_rng((settings.seed, epoch)).permutation(problem.n)
    total = 0.0
    for step, part in enumerate(batches(problem.n, settings.batch_size)):
        items = order[part]
        with reproducible.step((epoch, step)):
            loss, gradients = problem.gradient(network, items, (epoch, step))
        norm = float(torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients])))
        shrink = min(1.0, LARGEST_NORM / max(norm, 1e-300))
        for parameter, gradient in zip(trainable(network), gradients, strict=True):
            parameter.grad = gradient * shrink
        optimizer.step()
        total += loss * len(items)
    return total / problem.n


def batches(n: int, size: int) -> list[slice]:
    """Consecutive slices of the given size; a last one of a single item joins the one before.

    Batch normalisation has no variance of one object.
    """
    parts = blocks(n, size)
    if len(parts) > 1 and size > 1 and parts[-1].start == n - 1:
        parts[-2:] = [slice(parts[-2].start, n)]
    return parts


def trainable(network: nn.Module) -> list[nn.Parameter]:
    """The parameters of a network, without those that its author has frozen."""
    return [parameter for parameter in network.parameters() if parameter.requires_grad]


def sum_shards(
    loss_of: Callable[[slice, int], torch.Tensor], n: int, network: nn.Module
) -> tuple[float, list[torch.Tensor]]:
    """A sum of losses of parts of a batch of n items, and its gradient by the `trainable` ones.

    `loss_of` gets the items of a part, as a slice of range(n), and the number of the part. Each
    part is computed on a thread; parts have a fixed size and are added in their order, so that the
    result does not depend on the number of threads.
    """
    parameters = trainable(network)

    def one(numbered: tuple[int, slice]) -> tuple[float, tuple[torch.Tensor, ...]]:
        number, part = numbered
        torch.set_num_threads(1)  # a setting of the thread that calls it
        loss = loss_of(part, number)
        # A network may have parameters, such as those of another head, that the loss does not need.
        return float(loss.detach()), torch.autograd.grad(loss, parameters, materialize_grads=True)

    results = run(one, list(enumerate(batches(n, SHARD))))
    total = list(results[0][1])
    for _, gradients in results[1:]:
        total = [a + b for a, b in zip(total, gradients, strict=True)]
    return sum(loss for loss, _ in results), total


class _Deterministic:
    """On a GPU, chooses algorithms of convolution whose result is always the same.

    The choice is one of the process: it holds while any training is inside.
    """

    depth, before = 0, (False, False)

    def __enter__(self) -> None:
        flags = torch.backends.cudnn
        with process_settings:
            if self.depth == 0:
                self.before = flags.deterministic, flags.benchmark
                flags.deterministic, flags.benchmark = True, False
            self.depth += 1

    def __exit__(self, *error: object) -> None:
        flags = torch.backends.cudnn
        with process_settings:
            self.depth -= 1
            if self.depth == 0:
                flags.deterministic, flags.benchmark = self.before


deterministic_convolutions = _Deterministic()


class Reproducible:
    """The contexts of the steps of a training, which make them the same in every run.

    Threads compute the parts of a batch in any order. That changes nothing unless the network draws
    from the random generators of the process (dropout), or keeps sums over the rows that it has
    seen (batch normalisation). The first step shows whether it does: if so, all steps compute their
    parts in order, with random numbers that depend on the seed and on the step alone.
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
