"""A network from coordinates to vectors, for methods that have no decoder of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.learned.networks.autoencoding import split
from lowdim.learned.networks.layers import default_sizes, dense
from lowdim.learned.networks.regression import MapNetwork, Regression
from lowdim.learned.networks.training import Settings, train
from lowdim.learned.networks.weights import (
    Rows,
    apply,
    arrays_of,
    load_arrays,
    on_device,
    seed_weights,
)
from lowdim.runtime.callbacks import Monitor

EPOCHS, PATIENCE, RATE = 200, 20, 1e-3
HELD_OUT = 0.1  # share of the objects that decide when to stop


def _network(n_inputs: int, n_outputs: int, dtype: np.dtype[Any]) -> MapNetwork:
    sizes = (n_inputs, *default_sizes(n_outputs)[::-1], n_outputs)
    with seed_weights(0):
        return on_device(MapNetwork(dense(sizes, "relu"), None), dtype)


def fit_network_decoder(embedding: Array, X: Array) -> dict[str, Any]:
    """Train the network; returns weights and scales as arrays and numbers."""
    inputs, outputs = Rows.of(embedding.astype(X.dtype)), Rows.of(X)
    network = _network(embedding.shape[1], X.shape[1], X.dtype)
    targets = (X - outputs.mean) / X.dtype.type(outputs.scale)
    trained, held_out = split(len(X), HELD_OUT, 0)
    size = int(np.clip(len(X) // 20, 32, 256))
    settings = Settings(EPOCHS, size, RATE, "plateau", PATIENCE, 0.0, 0)
    problem = Regression(inputs, targets, None, trained, held_out)
    train(network, problem, settings, Monitor(EPOCHS, "decoder"), lambda: embedding)
    return {
        "weights": arrays_of(network),
        "center": inputs.mean,
        "unit": inputs.scale,
        "mean": outputs.mean,
        "scale": outputs.scale,
    }


def decode_rows(decoder: dict[str, Any], Y: Array) -> Array:
    """Vectors of coordinates Y."""
    center, mean = decoder["center"], decoder["mean"]
    network = _network(len(center), len(mean), mean.dtype)
    load_arrays(network, decoder["weights"])
    rows = Rows(Y.astype(mean.dtype), center, decoder["unit"])
    outputs = apply(network.eval().encode, rows)
    return np.asarray(outputs * mean.dtype.type(decoder["scale"]) + mean)
