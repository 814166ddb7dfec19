"""Networks that map rows to given coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from lowdim.checks import Array
from lowdim.learned.networks.device import torch_device
from lowdim.learned.networks.training import sum_shards
from lowdim.learned.networks.weights import Rows


class MapNetwork(nn.Module):
    """A network from rows to coordinates, and possibly one back."""

    unit: torch.Tensor

    def __init__(self, encoder: nn.Module, decoder: nn.Module | None) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.register_buffer("unit", torch.ones(()))  # of the map, in outputs of the encoder

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        codes: torch.Tensor = self.unit * self.encoder(x)
        return codes


def mean_square(network: Any, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The mean squared difference of the outputs for x and their targets."""
    gaps: torch.Tensor = network.encode(x) - wanted
    return gaps.square().mean(dim=1)


def attraction_loss(
    attraction: Callable[[torch.Tensor], torch.Tensor],
) -> Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]:
    """The loss of outputs that are attracted by their targets.

    It is divided by the unit of the map, so that its slope by the outputs of the encoder is
    about 1.
    """

    def terms(network: Any, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        gaps: torch.Tensor = network.encode(x) - wanted
        unit: torch.Tensor = network.unit  # as a number it would make every step wait for a GPU
        return attraction(gaps.square().sum(dim=1)) / unit

    return terms


class Regression:
    """The problem of mapping rows to given coordinates; implements `training.Problem`.

    Parameters
    ----------
    rows : Rows
    targets : array of shape (n, n_components)
    seen : callable, default=None
        From numbers of objects and the key of their random numbers to the rows that the network
        gets in training, such as `samples.Samples.displace`; None is the rows themselves.
    trained, held_out : arrays of int, default=None
        Rows to train on, and rows for validation; None is all of them, and none.
    terms : callable, default=mean_square
        From the network, m rows and their targets to the m terms of the loss.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Array,
        seen: Callable[[Array, tuple[int, ...]], torch.Tensor] | None = None,
        trained: Array | None = None,
        held_out: Array | None = None,
        terms: Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor] = mean_square,
    ) -> None:
        self.rows = rows
        self.seen = seen or (lambda index, key: rows.take(index))
        self.trained = np.arange(len(rows)) if trained is None else trained
        self.held_out = np.arange(0) if held_out is None else held_out
        self.n, self.terms = len(self.trained), terms
        self.targets = torch.from_numpy(np.ascontiguousarray(targets)).to(torch_device())

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        def loss_of(part: slice, number: int) -> torch.Tensor:
            index = self.trained[items[part]]
            x = self.seen(index, (*key, number))
            return self.terms(network, x, self.targets[index]).sum() / len(items)

        return sum_shards(loss_of, len(items), network)

    def validation(self, network: Any) -> float | None:
        if not len(self.held_out):
            return None
        with torch.no_grad():
            x = self.rows.take(self.held_out)
            return float(self.terms(network, x, self.targets[self.held_out]).mean())

    def end_epoch(self, loss: float) -> bool:
        return False

    def state(self) -> dict[str, float]:
        return {}

    def restore(self, saved: dict[str, float]) -> None:
        pass
