"""Encoders and decoders: fully connected, and convolutional for images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from lowdim import checks

ACTIVATIONS = {"relu": nn.ReLU, "elu": nn.ELU, "silu": nn.SiLU, "tanh": nn.Tanh, "gelu": nn.GELU}
KERNEL = 4  # side of the filters: with stride 2 and padding 1 each layer halves the image exactly


@dataclass(frozen=True)
class Architecture:
    """The shape of a network between vectors and coordinates.

    The sizes of hidden layers are numbers of channels of convolutions if there is an image shape:
    height, width and channels of images that are rows.
    """

    n_inputs: int
    n_outputs: int
    layers: Sequence[int]
    decoder_layers: Sequence[int]
    activation: str = "elu"
    image_shape: tuple[int, int, int] | None = None

    def encoder(self, outputs: int | None = None) -> nn.Sequential:
        """From vectors to so many outputs; by default one for each coordinate."""
        outputs = self.n_outputs if outputs is None else outputs
        if self.image_shape is None:
            return dense((self.n_inputs, *self.layers, outputs), self.activation)
        return _image_encoder(self.image_shape, self.layers, outputs, self.activation)

    def decoder(self) -> nn.Sequential:
        """From coordinates to vectors."""
        if self.image_shape is None:
            return dense((self.n_outputs, *self.decoder_layers, self.n_inputs), self.activation)
        return _image_decoder(
            self.image_shape, self.decoder_layers, self.n_outputs, self.activation
        )


def dense(sizes: Sequence[int], activation: str) -> nn.Sequential:
    """Fully connected layers of these sizes, with an activation between them."""
    parts: list[nn.Module] = []
    for i, (a, b) in enumerate(pairwise(sizes)):
        parts += [ACTIVATIONS[activation]()] * (i > 0) + [nn.Linear(a, b)]
    return nn.Sequential(*parts)


def default_sizes(n_features: int) -> tuple[int, int, int]:
    """Sizes of hidden layers for so many features: up to (512, 256, 128) for 64 or more."""
    last = min(128, max(16, 2 ** math.ceil(math.log2(2 * n_features))))
    return 4 * last, 2 * last, last


def check_sizes(value: object, name: str) -> tuple[int, ...]:
    """Check a sequence of sizes of layers."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not len(value):
        raise TypeError(
            f"{name} must be one or more sizes of layers, such as (256, 128), got {value!r}."
        )
    return tuple(checks.integer(size, f"{name}[{i}]", 1) for i, size in enumerate(value))


class _ToImages(nn.Module):
    """Rows as images with the channels first, padded at the end to the given sides."""

    def __init__(self, shape: tuple[int, int, int], sides: tuple[int, int]) -> None:
        super().__init__()
        self.shape, self.sides = shape, sides

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        height, width, channels = self.shape
        images = x.reshape(-1, height, width, channels).permute(0, 3, 1, 2)
        padding = (0, self.sides[1] - width, 0, self.sides[0] - height)
        return nn.functional.pad(images, padding)


class _ToRows(nn.Module):
    """The inverse of `_ToImages`."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        height, width, _ = self.shape
        return images[:, :, :height, :width].permute(0, 2, 3, 1).flatten(1)


def _sides(shape: tuple[int, int, int], n_layers: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Sides of the padded image, and of the smallest one after so many halvings."""
    factor = 2**n_layers
    small = (-(-shape[0] // factor), -(-shape[1] // factor))
    return (small[0] * factor, small[1] * factor), small


def _image_encoder(
    shape: tuple[int, int, int], channels: Sequence[int], outputs: int, activation: str
) -> nn.Sequential:
    sides, small = _sides(shape, len(channels))
    parts: list[nn.Module] = [_ToImages(shape, sides)]
    for a, b in zip((shape[2], *channels[:-1]), channels, strict=True):
        parts += [nn.Conv2d(a, b, KERNEL, stride=2, padding=1), ACTIVATIONS[activation]()]
    last = channels[-1] if channels else shape[2]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(last * small[0] * small[1], outputs))


def _image_decoder(
    shape: tuple[int, int, int], channels: Sequence[int], inputs: int, activation: str
) -> nn.Sequential:
    _, small = _sides(shape, len(channels))
    first = channels[0] if channels else shape[2]
    parts: list[nn.Module] = [
        nn.Linear(inputs, first * small[0] * small[1]),
        nn.Unflatten(1, (first, *small)),
    ]
    for a, b in zip(channels, (*channels[1:], shape[2]), strict=True):
        parts += [ACTIVATIONS[activation](), nn.ConvTranspose2d(a, b, KERNEL, stride=2, padding=1)]
    return nn.Sequential(*parts, _ToRows(shape))
