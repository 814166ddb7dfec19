"""Encoders: networks that choose between places on a map, and those that a user gives.

A map of neighbours has islands, and its coordinates jump between them. A network with coordinates
as outputs must be very steep there, and what it learns of such a map is a blurred image. Choosing
one of many places is a classification, which jumps by nature.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.learned.networks.weights import Rows

OBJECTS_PER_PLACE = 5
FEWEST_PLACES, MOST_PLACES = 32, 2000
# Factors of the scores, in the imitation of a map and after it. The scores leave open to which of
# two islands a row between them belongs, more so for the displaced rows of the training; a factor
# above 1 puts it on the likelier one.
FIRST_SHARPNESS, SHARPNESS = 2.0, 4.0
ROUNDS = 20  # of k-means
TRIED_ROWS = 32  # of X, to which a network of the user is applied


def number_of_places(n: int) -> int:
    """The number of places for the map of n objects."""
    return min(max(n // OBJECTS_PER_PLACE, FEWEST_PLACES), MOST_PLACES, n)


class PlaceMixture(nn.Module):
    """The mean of places on a map, weighted by the softmax of the scores of a network."""

    sharpness: torch.Tensor  # factor of the scores

    def __init__(self, scores: nn.Module, count: int, n_components: int) -> None:
        super().__init__()
        self.scores = scores
        self.places = nn.Parameter(torch.zeros(count, n_components))
        self.register_buffer("sharpness", torch.tensor(FIRST_SHARPNESS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mean(self.scores(x))

    def mean(self, scores: torch.Tensor) -> torch.Tensor:
        """The coordinates of these scores."""
        return torch.softmax(self.sharpness * scores, dim=1) @ self.places

    def sharpen(self) -> None:
        """End the imitation: from now on an object between islands goes to the likelier one."""
        self.sharpness.fill_(SHARPNESS)

    def place_on(self, Y: Array, seed: int) -> None:
        """Set the places to centres of the coordinates Y."""
        centers = k_means(Y, len(self.places), seed)
        with torch.no_grad():
            self.places.copy_(torch.as_tensor(centers))

    def imitation(
        self, attraction: Callable[[torch.Tensor], torch.Tensor]
    ) -> Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]:
        """The loss of rows whose coordinates on the map are known, for `regression.Regression`.

        It is the cross-entropy of the softmax of the scores and a Gaussian kernel around the known
        coordinates, plus the attraction of the output by these. The kernel is as wide as the
        places are apart once the scores are sharpened.
        """
        places = self.places.detach().clone()
        gaps = torch.cdist(places, places).fill_diagonal_(torch.inf).amin(dim=1)
        gaps = gaps[torch.isfinite(gaps) & (gaps > 0)]
        spacing = float(gaps.median()) if len(gaps) else 1.0  # else there is only one place
        precision = 1 / (2 * FIRST_SHARPNESS * spacing**2)

        def terms(_: nn.Module, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
            scores = self.scores(x)
            kernel = torch.softmax(-precision * torch.cdist(wanted, places).square(), dim=1)
            entropy = -(kernel * torch.log_softmax(scores, dim=1)).sum(dim=1)
            return entropy + attraction((self.mean(scores) - wanted).square().sum(dim=1))

        return terms


def k_means(Y: Array, count: int, seed: int) -> Array:
    """Centres of groups of coordinates, from random ones (Lloyd 1982); empty groups keep theirs."""
    random = np.random.default_rng(seed)
    centers = Y[np.sort(random.choice(len(Y), count, replace=False))]
    for _ in range(ROUNDS):
        nearest = backend().nearest_to(centers, Y, 1, False)[0][:, 0]
        sizes = np.bincount(nearest, minlength=count)
        sums = backend().group_sums(Y, nearest, count)
        used = sizes > 0
        centers[used] = (sums[used] / sizes[used, None]).astype(Y.dtype)
    return centers


def copy_network(network: Any) -> nn.Module:
    """A copy of a module given by the user, which is left as it is."""
    if not isinstance(network, nn.Module):
        raise TypeError(
            f"network must be a torch.nn.Module from rows to coordinates, got {network!r}."
        )
    clone: nn.Module = copy.deepcopy(network)
    return clone


def check_network(network: nn.Module, rows: Rows, n_components: int) -> None:
    """Raise ValueError unless a network maps rows to coordinates and can be trained."""
    x = rows.take(slice(TRIED_ROWS))
    wanted = f"(n, {x.shape[1]}) to one of shape (n, {n_components})"
    expected = f"network must map a tensor of shape {wanted}, but"
    try:
        y = network.eval()(x)
    except Exception as error:  # code of the user, which may raise anything
        raise ValueError(f"{expected} raised {type(error).__name__}: {error}") from error
    if not isinstance(y, torch.Tensor):
        raise ValueError(f"{expected} returns an object of type {type(y).__name__}.")
    if y.shape != (len(x), n_components):
        raise ValueError(f"{expected} returns one of shape {tuple(y.shape)} for {len(x)} rows.")
    if not torch.isfinite(y).all():
        raise ValueError("network returns numbers that are not finite for the first rows of X.")
    if not y.requires_grad:
        raise ValueError(
            "network cannot be trained: its output does not depend on a parameter with "
            "requires_grad, or is detached from it."
        )
