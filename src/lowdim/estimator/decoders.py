"""The general decoder: from coordinates back to vectors, for methods without an inverse.

There are three kinds: "local", barycentric interpolation between training vectors; "kernel", kernel
ridge regression; "network", a network of PyTorch. "auto" is the one of least error on held-out
objects. What a decoder has learned is a dictionary of arrays and plain values, which a model file
can hold.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.checks import Array, dense
from lowdim.estimator.barycentric import barycentric_lists, decode
from lowdim.estimator.fitted_state import Numbers, Rule, Sizes, named_arrays, number, table
from lowdim.estimator.kernel_decoder import KernelDecoder, fit_kernel_decoder

KINDS = ("local", "kernel", "network")
HELD_OUT = 0.1  # share of the objects on which "auto" compares the kinds
MOST_HELD_OUT = 2000

Decoder = dict[str, Any]


STATE: dict[str, dict[str, Rule]] = {
    "local": {},
    "kernel": {
        "centers": Numbers("* c"),
        "coefficients": Numbers("* d"),
        "mean": Numbers("d"),
        "gamma": number(positive=True),
    },
    "network": {
        "weights": named_arrays,
        "center": Numbers("c"),
        "unit": number(positive=True),
        "mean": Numbers("d"),
        "scale": number(positive=True),
    },
}
"""What each kind of decoder holds, as rules of `fitted_state`."""


def decoder_rule(name: str, value: Any, sizes: Sizes) -> None:
    """A decoder in a model file: its kind, and the arrays and numbers of that kind."""
    if not isinstance(value, dict) or value.get("kind") not in STATE:
        raise ValueError(f"{name} is not a decoder.")
    content = {key: item for key, item in value.items() if key not in ("kind", "errors")}
    table(STATE[value["kind"]])(name, content, sizes)


class NearestObjects(NamedTuple):
    """Coordinates as mixtures of training objects, where there are no vectors to decode to.

    Attributes
    ----------
    objects : array of int of shape (n, k)
        Numbers of the training objects that are nearest on the map, nearest first.
    weights : array of shape (n, k)
        Their weights: not negative, of sum 1.
    """

    objects: Array
    weights: Array


def nearest_objects(embedding: Array, Y: Array) -> NearestObjects:
    """The training objects nearest to coordinates Y, with the weights that reproduce Y best."""
    nearest, weights = barycentric_lists(embedding, Y.astype(embedding.dtype))
    weights = np.maximum(weights, 0)
    return NearestObjects(nearest, weights / weights.sum(axis=1, keepdims=True))


def fit_decoder(kind: str, embedding: Array, X: Any) -> Decoder:
    """Fit a decoder to training objects.

    Parameters
    ----------
    kind : {"local", "kernel", "network", "auto"}
    embedding : array of shape (n, dim)
    X : array or CSR matrix of shape (n, d)

    Returns
    -------
    dict
        With the entry "kind" and what `apply_decoder` needs; after "auto" also "errors", the mean
        squared error of each kind on the held-out objects.
    """
    checks.choice(kind, "decoder", (*KINDS, "auto"))
    if kind == "auto":
        errors = held_out_errors(embedding, X)
        best = min(errors, key=lambda name: errors[name])
        return {**fit_decoder(best, embedding, X), "errors": errors}
    if kind == "local":
        return {"kind": kind}
    if kind == "kernel":
        found = fit_kernel_decoder(embedding, X)
        return {"kind": kind, **vars(found)}
    from lowdim.learned.networks.device import load_torch, require_torch

    require_torch('decoder="network"')
    load_torch()
    from lowdim.learned.networks.decoding import fit_network_decoder

    return {"kind": kind, **fit_network_decoder(embedding, dense(X))}


def apply_decoder(decoder: Decoder, embedding: Array, X: Any, Y: Array) -> Array:
    """Vectors of coordinates Y, by a decoder that was fitted to `embedding` and X."""
    if decoder["kind"] == "local":
        return decode(embedding, X, Y)
    if decoder["kind"] == "kernel":
        names = ("centers", "coefficients", "mean", "gamma")
        return KernelDecoder(**{name: decoder[name] for name in names})(Y)
    from lowdim.learned.networks.device import load_torch, require_torch

    require_torch('decoder="network"')
    load_torch()
    from lowdim.learned.networks.decoding import decoded

    return decoded(decoder, Y)


def held_out_errors(embedding: Array, X: Any) -> dict[str, float]:
    """The mean squared error of each kind of decoder on objects that it was not fitted to.

    "network" is left out if PyTorch is not installed.
    """
    n = len(embedding)
    order = np.random.default_rng(0).permutation(n)
    count = min(max(1, int(HELD_OUT * n)), MOST_HELD_OUT)
    held_out, kept = np.sort(order[:count]), np.sort(order[count:])
    wanted = dense(X[held_out])
    kinds = KINDS if find_spec("torch") is not None else KINDS[:2]
    errors = {}
    for kind in kinds:
        decoder = fit_decoder(kind, embedding[kept], X[kept])
        found = apply_decoder(decoder, embedding[kept], X[kept], embedding[held_out])
        errors[kind] = float(np.square(found - wanted).mean(dtype=np.float64))
    return errors
