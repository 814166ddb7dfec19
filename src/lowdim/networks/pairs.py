"""Networks that keep neighbours: losses of t-SNE and UMAP on samples of the pairs of neighbours."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from lowdim.checks import Array
from lowdim.networks.device import torch_device
from lowdim.networks.training import SHARD, sharded
from lowdim.networks.weights import Rows, noisy, seeded
from lowdim.relations.lists import row_of_entries
from lowdim.runtime.scheduling import blocks, run

TINY = 1e-12  # smallest sum of weights and smallest mean repulsion
AVERAGED_STEPS = 10  # of the running mean of the repulsion; more lag behind a map that grows


@dataclass(frozen=True)
class PairLoss:
    """A loss of the squared distances of pairs on the map.

    It is the mean attraction of neighbours plus the mean repulsion of arbitrary pairs, or plus the
    logarithm of that mean, which normalises the kernel of the map as in t-SNE.

    Attributes
    ----------
    attraction, repulsion : callable
        From squared distances to the terms of the loss.
    logarithm : bool
    """

    attraction: Callable[[torch.Tensor], torch.Tensor]
    repulsion: Callable[[torch.Tensor], torch.Tensor]
    logarithm: bool = False


class MapNetwork(nn.Module):
    """A network from rows to coordinates, and possibly one back."""

    unit: torch.Tensor

    def __init__(self, encoder: nn.Module, decoder: nn.Module | None) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.register_buffer("unit", torch.ones(()))  # of the map, in outputs of the encoder

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.unit * self.encoder(x)
        return found


def copied(network: Any) -> nn.Module:
    """A copy of a module given by the user, which is left as it is."""
    if not isinstance(network, nn.Module):
        raise TypeError(
            f"network must be a torch.nn.Module from rows to coordinates, got {network!r}."
        )
    found: nn.Module = copy.deepcopy(network)
    return found


class Regression:
    """The first problem of a parametric embedding: to map rows to given coordinates.

    Parameters
    ----------
    rows : Rows
    targets : array of shape (n, n_components)
    noise : float
        Standard deviation of the noise on the rows, in units of that of the data.
    seed : int
    trained, held_out : arrays of int, default=None
        Rows to train on, and rows for validation; None is all of them, and none.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Array,
        noise: float,
        seed: int,
        trained: Array | None = None,
        held_out: Array | None = None,
    ) -> None:
        self.rows, self.noise, self.seed = rows, noise, seed
        self.trained = np.arange(len(rows)) if trained is None else trained
        self.held_out = np.arange(0) if held_out is None else held_out
        self.n = len(self.trained)
        self.targets = torch.from_numpy(np.ascontiguousarray(targets)).to(torch_device())

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        def loss_of(part: slice, number: int) -> torch.Tensor:
            index = self.trained[items[part]]
            x = noisy(self.rows.take(index), self.noise, seeded(self.seed, *key, number))
            gaps = (network.encode(x) - self.targets[index]) / network.unit
            loss: torch.Tensor = gaps.square().sum() / (len(items) * gaps.shape[1])
            return loss

        parameters = list(network.encoder.parameters())
        loss, gradients = sharded(loss_of, len(items), parameters)
        rest = network.decoder.parameters() if network.decoder is not None else ()
        return loss, gradients + [torch.zeros_like(p) for p in rest]

    def validation(self, network: Any) -> float | None:
        if not len(self.held_out):
            return None
        with torch.no_grad():
            found = network.encode(self.rows.take(self.held_out))
        return float((found - self.targets[self.held_out]).square().mean())

    def end_epoch(self, loss: float) -> bool:
        return False

    def state(self) -> dict[str, float]:
        return {}

    def restore(self, saved: dict[str, float]) -> None:
        pass


class Pairs:
    """The problem of a parametric embedding; implements `training.Problem`.

    Each step draws pairs of neighbours with probabilities proportional to their weights. All pairs
    of a first and a second member, other than those drawn, stand for the pairs of arbitrary
    objects. They are weighted so that every object counts alike.

    Parameters
    ----------
    rows : Rows
    matrix : CSR matrix
        Symmetric weights of pairs of neighbours.
    loss : PairLoss
    n_pairs : int
        Number of pairs in an epoch.
    noise : float
        Standard deviation of the noise on the rows, in units of that of the data.
    seed : int
    """

    def __init__(
        self, rows: Rows, matrix: Any, loss: PairLoss, n_pairs: int, noise: float, seed: int
    ) -> None:
        self.rows, self.loss, self.n, self.noise, self.seed = rows, loss, n_pairs, noise, seed
        weights = np.asarray(matrix.data, dtype=np.float64)
        self.heads, self.tails = row_of_entries(matrix.indptr), matrix.indices
        self.cumulated = np.cumsum(weights)
        degrees = np.bincount(self.heads, weights, minlength=len(rows))
        used = degrees > 0
        self.importance = np.where(used, degrees.mean() / np.where(used, degrees, 1), 0)
        self.mean_repulsion = math.nan  # over the last steps

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        random = np.random.default_rng((self.seed, *key))
        places = random.uniform(0, self.cumulated[-1], max(len(items), 2))
        drawn = np.minimum(np.searchsorted(self.cumulated, places), len(self.cumulated) - 1)
        both = np.concatenate([self.heads[drawn], self.tails[drawn]])
        parts = blocks(len(both), SHARD)

        def forward(numbered: tuple[int, slice]) -> tuple[torch.Tensor, torch.Tensor]:
            number, part = numbered
            torch.set_num_threads(1)  # a setting of the thread that calls it
            x = self.rows.take(both[part])
            return x, network.encode(noisy(x, self.noise, seeded(self.seed, *key, number)))

        found = run(forward, list(enumerate(parts)))
        Y = torch.cat([y.detach() for _, y in found]).requires_grad_()
        attraction, repulsion = self._forces(Y, both)
        loss = self._loss(float(attraction.detach()), float(repulsion.detach()))
        share = 1 / self.mean_repulsion if self.loss.logarithm else 1.0
        (slope,) = torch.autograd.grad(attraction + share * repulsion, Y)
        slope = slope - slope.mean(dim=0)  # which is 0 but for rounding: distances have no origin
        parameters = [p for p in network.parameters() if p.requires_grad]

        def loss_of(part: slice, number: int) -> torch.Tensor:
            x, y = found[number]
            total = (y * slope[part]).sum()
            if network.decoder is not None:  # which learns from the map, but does not change it
                back = network.decoder(y.detach())
                total = total + (back - x).square().sum() / (len(both) * x.shape[1])
            return total

        return loss, sharded(loss_of, len(both), parameters)[1]

    def _loss(self, attraction: float, repulsion: float) -> float:
        """The loss of a step; updates the running mean of the repulsion.

        The gradient of log E[r] is E[r'] / E[r]. With the mean of a step in place of E[r], which
        rare pairs of near objects dominate, the quotient would be biased towards larger maps.
        """
        if not self.loss.logarithm:
            return attraction + repulsion
        if math.isnan(self.mean_repulsion):
            self.mean_repulsion = repulsion
        self.mean_repulsion += (repulsion - self.mean_repulsion) / AVERAGED_STEPS
        return attraction + math.log(repulsion)

    def _forces(self, Y: torch.Tensor, both: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean attraction and mean repulsion; first and second members of pairs follow in turn."""
        m = len(Y) // 2
        Y = Y - Y.detach().mean(dim=0)  # far from the origin the products below lose digits
        first, second = Y[:m], Y[m:]
        weights = np.outer(self.importance[both[:m]], self.importance[both[m:]])
        weights[both[:m, None] == both[None, m:]] = 0
        np.fill_diagonal(weights, 0)
        near = (first - second).square().sum(dim=1)
        squares = first.square().sum(dim=1)[:, None] + second.square().sum(dim=1)[None, :]
        far = (squares - 2 * first @ second.T).clamp_min(0)
        weight = torch.as_tensor(weights, dtype=Y.dtype, device=Y.device)
        repulsion = (weight * self.loss.repulsion(far)).sum() / weight.sum().clamp_min(TINY)
        return self.loss.attraction(near).mean(), repulsion.clamp_min(TINY)

    def validation(self, network: nn.Module) -> float | None:
        return None

    def end_epoch(self, loss: float) -> bool:
        return False

    def state(self) -> dict[str, float]:
        return {"mean_repulsion": self.mean_repulsion}

    def restore(self, saved: dict[str, float]) -> None:
        self.mean_repulsion = saved["mean_repulsion"]


def student_divergence(dof: float) -> PairLoss:
    """The part of KL(P || Q) that depends on the map, Q being Student's kernel over its sum."""
    power = (dof + 1) / 2
    return PairLoss(
        attraction=lambda near: power * torch.log1p(near / dof),
        repulsion=lambda far: (1 + far / dof).pow(-power),
        logarithm=True,
    )


def fuzzy_cross_entropy(a: float, b: float, repulsion: float) -> PairLoss:
    """UMAP's cross-entropy, with `repulsion` other pairs for each pair of neighbours."""

    def kernel_parts(squares: torch.Tensor) -> torch.Tensor:
        return a * (squares + 1e-6).pow(b)  # the derivative at 0 is infinite if b < 1

    return PairLoss(
        attraction=lambda near: torch.log1p(kernel_parts(near)),
        # -log(1 - 1 / (1 + odds)), bounded
        repulsion=lambda far: repulsion * torch.log1p(1 / (kernel_parts(far) + 1e-3)),
    )
