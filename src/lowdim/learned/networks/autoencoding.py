"""The autoencoder's network and its loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from lowdim.checks import Array
from lowdim.learned.networks.layers import Architecture
from lowdim.learned.networks.training import Problem, sum_shards
from lowdim.learned.networks.weights import BLOCK_ROWS, Rows, apply, noisy, random_generator
from lowdim.runtime.scheduling import blocks

WARM_UP = 20  # epochs in which the divergence gets its weight: it would hide the data at first
JUDGED_ROWS = 16 * BLOCK_ROWS  # rows whose reconstructions are held in memory at once
SMALLEST_VARIANCE = 1e-6  # of the decoder's Gaussian, as a share of the variance of the data
LARGEST_LOG = 20.0  # absolute value of a log variance of the encoder; exp(20) is finite in float32


class AutoencoderNetwork(nn.Module):
    """An encoder and a decoder; a variational encoder has means and log variances as outputs."""

    def __init__(self, shape: Architecture, *, variational: bool) -> None:
        super().__init__()
        self.n_components = shape.n_outputs
        self.encoder = shape.encoder((2 if variational else 1) * shape.n_outputs)
        self.decoder = shape.decoder()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Coordinates: the means, if the encoder is variational."""
        codes: torch.Tensor = self.encoder(x)
        return codes[:, : self.n_components]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Reconstructions of rows."""
        outputs: torch.Tensor = self.decoder(self.encode(x))
        return outputs


@dataclass
class Reconstruction(Problem):
    """The problem of an autoencoder: reconstruct rows.

    For the five weights see the parameters of `lowdim.Autoencoder`.
    """

    changing = ("variance", "epochs")

    rows: Rows
    trained: Array  # numbers of the rows to train on
    held_out: Array  # and of those for validation
    seed: int
    noise: float = 0.0
    masking: float = 0.0
    sparsity: float = 0.0
    contraction: float = 0.0
    variational: float = 0.0
    # Of the decoder's Gaussian: the error of the last epoch.
    variance: float = field(default=1.0, init=False)
    epochs: int = field(default=0, init=False)  # that are finished

    def __post_init__(self) -> None:
        self.n = len(self.trained)

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        errors: dict[int, float] = {}

        def loss_of(part: slice, number: int) -> torch.Tensor:
            x = self.rows.take(self.trained[items[part]])
            error, penalty = self._losses(network, x, random_generator(self.seed, *key, number))
            errors[number] = float(error.detach())
            return (error + penalty) / len(items)

        _, gradients = sum_shards(loss_of, len(items), network)
        return sum(errors[i] for i in range(len(errors))) / len(items), gradients

    def _losses(
        self, network: Any, x: torch.Tensor, random: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The sums over rows of the mean squared errors and of the penalties."""
        seen = noisy(x, self.noise, random)
        if self.masking:
            kept = torch.rand(x.shape, generator=random).to(x.device) >= self.masking
            seen = seen * kept
        if self.contraction:
            seen = seen.detach().requires_grad_()
        outputs = network.encoder(seen)
        z = code = outputs[:, : network.n_components]
        penalty = torch.zeros((), dtype=x.dtype, device=x.device)
        if self.variational:
            z, divergences = _draw_codes(code, outputs[:, network.n_components :], random)
            # -log p(x | z) is d error / (2 variance); the bound is divided by d / (2 variance)
            weight = self.variational * min(1.0, (self.epochs + 1) / WARM_UP)
            penalty = penalty + weight * divergences.sum() * (2 * self.variance / x.shape[1])
        if self.sparsity:
            penalty = penalty + self.sparsity * code.abs().sum()
        if self.contraction:
            penalty = penalty + self.contraction * _squared_jacobian(code, seen)
        error = (network.decoder(z) - x).square().sum() / x.shape[1]
        return error, penalty

    def end_epoch(self, loss: float) -> bool:
        self.variance, self.epochs = max(loss, SMALLEST_VARIANCE), self.epochs + 1
        return bool(self.variational) and self.epochs < WARM_UP

    def validation(self, network: Any) -> float | None:
        """The mean squared error; of a variational autoencoder the negative bound per feature."""
        if not len(self.held_out):
            return None
        if not self.variational:
            return mean_squared_error(network, self.rows, self.held_out)
        x = self.rows.take(self.held_out)
        with torch.no_grad():
            code, logs = network.encoder(x).split(network.n_components, dim=1)
            z, divergences = _draw_codes(code, logs, random_generator(self.seed, 2**32))
            error = float((network.decoder(z) - x).square().mean())
            divergence = float(divergences.sum(dim=1).mean())
        fit = 0.5 * float(np.log(max(error, SMALLEST_VARIANCE)))
        return fit + self.variational * divergence / x.shape[1]


def _draw_codes(
    code: torch.Tensor, logs: torch.Tensor, random: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes drawn from Gaussians of these means and log variances, and their divergences."""
    logs = logs.clamp(-LARGEST_LOG, LARGEST_LOG)
    z = code + torch.exp(logs / 2) * noisy(torch.zeros_like(code), 1.0, random)
    return z, 0.5 * (code.square() + logs.exp() - logs - 1)


def _squared_jacobian(code: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The sum over rows of the squared Frobenius norms of the derivative of the code by the row."""
    total = torch.zeros((), dtype=x.dtype, device=x.device)
    for column in range(code.shape[1]):
        (slope,) = torch.autograd.grad(code[:, column].sum(), x, create_graph=True)
        total = total + slope.square().sum()
    return total


def mean_squared_error(network: nn.Module, rows: Rows, index: Array) -> float:
    """The mean squared error of reconstruction of some rows, in units of their variance."""
    total = 0.0
    for part in blocks(len(index), JUDGED_ROWS):
        chosen = Rows(rows.rows[index[part]], rows.mean, rows.scale)
        wanted = chosen.take(slice(None)).cpu().numpy()
        total += float(np.square(apply(network, chosen) - wanted).sum(dtype=np.float64))
    return total / (len(index) * len(rows.mean))


def split(n: int, share: float, seed: int) -> tuple[Array, Array]:
    """Rows to train on and rows held out, both in ascending order."""
    order = np.random.default_rng((seed, 2**32)).permutation(n)
    count = min(int(share * n), n - 1)
    return np.sort(order[count:]), np.sort(order[:count])
