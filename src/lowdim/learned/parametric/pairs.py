"""Networks that keep neighbours: losses of t-SNE and UMAP on samples of the pairs of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lowdim.checks import Array
from lowdim.learned.networks.training import SHARD, Problem, batches, sum_shards
from lowdim.learned.networks.weights import Rows, noisy, random_generator
from lowdim.neighbor_graphs.graph import row_of_entries
from lowdim.runtime.scheduling import run

TINY = 1e-12  # smallest sum of weights and smallest mean repulsion
AVERAGED_STEPS = 10  # of the running mean of the repulsion; more lag behind a map that grows

SHARE = 0.05  # of the length of a difference: the Gaussian noise in each feature
# Last keys of random numbers. NumPy takes missing keys for zeros: without these, the neighbours of
# the first part of a step would be drawn by the same numbers as the pairs of the step.
OF_PAIRS, OF_NEIGHBORS = 2**32 - 1, 2**32 - 2


class Samples:
    """Rows of data with symmetric weights of pairs of neighbours, to draw from.

    Random numbers depend on the seed and on the key of each call.
    """

    def __init__(self, rows: Rows, matrix: Any, noise: float, seed: int) -> None:
        self.rows, self.noise, self.seed = rows, noise, seed
        weights = np.asarray(matrix.data, dtype=np.float64)
        self.indptr, self.tails = matrix.indptr, matrix.indices
        self.heads = row_of_entries(matrix.indptr)
        self.degrees = np.bincount(self.heads, weights, minlength=len(rows))
        self.cumulated = np.cumsum(weights)

    def pairs(self, count: int, key: tuple[int, ...]) -> tuple[Array, Array]:
        """First and second members of pairs, drawn in proportion to their weights."""
        random = np.random.default_rng((self.seed, *key, OF_PAIRS))
        drawn = np.searchsorted(self.cumulated, random.uniform(0, self.cumulated[-1], count))
        drawn = np.minimum(drawn, len(self.cumulated) - 1)
        return self.heads[drawn], self.tails[drawn]

    def displace(self, index: Array, key: tuple[int, ...]) -> torch.Tensor:
        """Rows, each displaced by `noise` times the difference of two of its neighbours.

        New objects lie between those of the training and beside them, in the directions in which
        neighbours differ. To this comes Gaussian noise in all directions, which in each feature is
        a small share of the difference: the sum is as long as the difference itself if there are
        hundreds of features, but does not take objects of few features to other parts of the data.
        """
        x = self.rows.take(index)
        if not self.noise:
            return x
        random = np.random.default_rng((self.seed, *key, OF_NEIGHBORS))
        one, other = (self.rows.take(self._neighbors(index, random)) for _ in range(2))
        gap = one - other
        size = SHARE * torch.linalg.vector_norm(gap, dim=1, keepdim=True)
        normal = noisy(torch.zeros_like(x), 1.0, random_generator(self.seed, *key))
        moved: torch.Tensor = x + self.noise * (gap + size * normal)
        return moved

    def _neighbors(self, index: Array, random: np.random.Generator) -> Array:
        """A neighbour of each object, in proportion to its weight; itself if it has none."""
        first, last = self.indptr[index], self.indptr[index + 1] - 1
        alone = last < first
        if alone.all():
            return index
        first = np.minimum(first, len(self.cumulated) - 1)
        high = self.cumulated[last]
        low = high - self.degrees[index]
        drawn = np.searchsorted(self.cumulated, random.uniform(low, high), side="right")
        return np.where(alone, index, self.tails[np.clip(drawn, first, np.maximum(first, last))])


@dataclass(frozen=True)
class PairLoss:
    """A loss of the squared distances of pairs on the map.

    It is the mean attraction of neighbours plus the mean repulsion of arbitrary pairs, or plus the
    logarithm of that mean, which normalises the kernel of the map as in t-SNE.
    """

    attraction: Callable[[torch.Tensor], torch.Tensor]
    repulsion: Callable[[torch.Tensor], torch.Tensor]
    logarithm: bool = False


class Pairs(Problem):
    """The problem of a parametric embedding; an epoch draws `n_pairs` pairs.

    Each step draws pairs of neighbours with probabilities proportional to their weights. All pairs
    of a first and a second member, other than those drawn, stand for the pairs of arbitrary
    objects. They are weighted so that every object counts alike.
    """

    changing = ("mean_repulsion",)

    def __init__(self, samples: Samples, loss: PairLoss, n_pairs: int) -> None:
        self.samples, self.loss, self.n = samples, loss, n_pairs
        degrees = samples.degrees
        used = degrees > 0
        self.importance = np.where(used, degrees.mean() / np.where(used, degrees, 1), 0)
        self.mean_repulsion = math.nan  # over the last steps

    def gradient(
        self, network: Any, items: Array, key: tuple[int, int]
    ) -> tuple[float, list[torch.Tensor]]:
        both = np.concatenate(self.samples.pairs(max(len(items), 2), key))
        parts = batches(len(both), SHARD)

        def forward(numbered: tuple[int, slice]) -> torch.Tensor:
            number, part = numbered
            torch.set_num_threads(1)  # a setting of the thread that calls it
            y: torch.Tensor = network.encode(self.samples.displace(both[part], (*key, number)))
            return y

        outputs = run(forward, list(enumerate(parts)))
        Y = torch.cat([y.detach() for y in outputs]).requires_grad_()
        attraction, repulsion = self._forces(Y, both)
        loss = self._loss(float(attraction.detach()), float(repulsion.detach()))
        share = 1 / self.mean_repulsion if self.loss.logarithm else 1.0
        (slope,) = torch.autograd.grad(attraction + share * repulsion, Y)
        slope = slope - slope.mean(dim=0)  # which is 0 but for rounding: distances have no origin

        def loss_of(part: slice, number: int) -> torch.Tensor:
            y = outputs[number]
            total = (y * slope[part]).sum()
            if network.decoder is not None:  # which learns from the map, but does not change it
                back, x = network.decoder(y.detach()), self.samples.rows.take(both[part])
                total = total + (back - x).square().sum() / (len(both) * x.shape[1])
            return total

        return loss, sum_shards(loss_of, len(both), network)[1]

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
