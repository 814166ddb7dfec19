"""Networks that map rows to given coordinates, and from coordinates back to vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from lowdim.checks import Array
from lowdim.learned.networks import layers
from lowdim.learned.networks.autoencoding import split
from lowdim.learned.networks.device import torch_device
from lowdim.learned.networks.training import Problem, Settings, sum_shards, train
from lowdim.learned.networks.weights import (
    Rows,
    apply,
    arrays_of,
    load_arrays,
    on_device,
    seed_weights,
)
from lowdim.runtime.callbacks import Monitor

EPOCHS, PATIENCE, RATE = 200, 20, 1e-3  # of the training of a decoder
HELD_OUT = 0.1  # share of the objects that decide when to stop

Terms = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]
"""From the network, m rows and their targets to the m terms of the loss."""


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


def attraction_loss(attraction: Callable[[torch.Tensor], torch.Tensor]) -> Terms:
    """The loss of outputs that are attracted by their targets.

    It is divided by the unit of the map, so that its slope by the outputs of the encoder is
    about 1.
    """

    def terms(network: Any, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        gaps: torch.Tensor = network.encode(x) - wanted
        unit: torch.Tensor = network.unit  # as a number it would make every step wait for a GPU
        return attraction(gaps.square().sum(dim=1)) / unit

    return terms


class Regression(Problem):
    """The problem of mapping rows to given coordinates.

    `displaced`, of numbers of objects and the key of their random numbers, gives the rows that the
    network gets in training; by default they are the rows themselves. Without `trained` and
    `held_out`, numbers of rows, it is trained on all of them.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Array,
        displaced: Callable[[Array, tuple[int, ...]], torch.Tensor] | None = None,
        trained: Array | None = None,
        held_out: Array | None = None,
        terms: Terms = mean_square,
    ) -> None:
        self.rows = rows
        self.displaced = displaced or (lambda index, key: rows.take(index))
        self.trained = np.arange(len(rows)) if trained is None else trained
        self.held_out = np.arange(0) if held_out is None else held_out
        self.n, self.terms = len(self.trained), terms
        self.targets = torch.from_numpy(np.ascontiguousarray(targets)).to(torch_device())

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        def loss_of(part: slice, number: int) -> torch.Tensor:
            index = self.trained[items[part]]
            x = self.displaced(index, (*key, number))
            return self.terms(network, x, self.targets[index]).sum() / len(items)

        return sum_shards(loss_of, len(items), network)

    def validation(self, network: Any) -> float | None:
        if not len(self.held_out):
            return None
        with torch.no_grad():
            x = self.rows.take(self.held_out)
            return float(self.terms(network, x, self.targets[self.held_out]).mean())


def _decoder(n_inputs: int, n_outputs: int, dtype: np.dtype[Any]) -> MapNetwork:
    sizes = (n_inputs, *layers.default_sizes(n_outputs)[::-1], n_outputs)
    with seed_weights(0):
        return on_device(MapNetwork(layers.dense(sizes, "relu"), None), dtype)


def fit_network_decoder(embedding: Array, X: Array) -> dict[str, Any]:
    """Train a network from coordinates to vectors; returns its weights and scales."""
    inputs, outputs = Rows.of(embedding.astype(X.dtype)), Rows.of(X)
    network = _decoder(embedding.shape[1], X.shape[1], X.dtype)
    targets = (X - outputs.mean) / X.dtype.type(outputs.scale)
    trained, held_out = split(len(X), HELD_OUT, 0)
    size = int(np.clip(len(X) // 20, 32, 256))
    settings = Settings(EPOCHS, size, RATE, "plateau", PATIENCE, 0.0, 0)
    problem = Regression(inputs, targets, None, trained, held_out)
    train(network, problem, settings, Monitor(EPOCHS, "decoder"), lambda: embedding)
    return {
        "weights": arrays_of(network.state_dict()),
        "center": inputs.mean,
        "unit": inputs.scale,
        "mean": outputs.mean,
        "scale": outputs.scale,
    }


def decode_rows(decoder: dict[str, Any], Y: Array) -> Array:
    """Vectors of coordinates Y."""
    center, mean = decoder["center"], decoder["mean"]
    network = _decoder(len(center), len(mean), mean.dtype)
    load_arrays(network, decoder["weights"])
    rows = Rows(Y.astype(mean.dtype), center, decoder["unit"])
    outputs = apply(network.eval().encode, rows)
    return np.asarray(outputs * mean.dtype.type(decoder["scale"]) + mean)
