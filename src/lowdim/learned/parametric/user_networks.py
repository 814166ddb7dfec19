"""Networks that a user gives: a copy of them, and what can be known before they are trained."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from lowdim.learned.networks.weights import Rows

TRIED_ROWS = 32  # of X, to which a network is applied


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
