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
from lowdim.backends import backend
from lowdim.checks import Array, dense
from lowdim.distances.metrics import euclidean
from lowdim.estimator.barycentric import barycentric_lists, decode
from lowdim.estimator.fitted_state import Numbers, Rule, Sizes, named_arrays, number, table
from lowdim.neighbor_graphs.exact import query
from lowdim.numerics.kernels import gaussian
from lowdim.runtime.scheduling import blocks, run

KINDS = ("local", "kernel", "network")
HELD_OUT = 0.1  # share of the objects on which "auto" compares the kinds
MOST_HELD_OUT = 2000
MOST_CENTERS = 1500  # training objects with a kernel of their own; more are sampled
WIDTHS = tuple(2.0**e for e in range(-1, 7))  # in units of the median distance of neighbours
PENALTIES = tuple(10.0**e for e in range(-6, 1))  # ridge, in units of the kernel's value at 0
NEIGHBORS = 5  # whose distance is the unit of the width
BLOCK_ROWS = 1024

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


def decoder_of(model: Any, kind: str) -> Decoder:
    """A decoder that is fitted to the objects of a model with coordinates."""
    rows = getattr(model, "X_fit_", None)
    if rows is None or rows.ndim != 2:
        raise ValueError(
            f"{type(model).__name__} keeps no training vectors to fit a decoder to: it has an "
            "inverse of its own, or was fitted on dissimilarities or arbitrary objects."
        )
    placed = np.isfinite(model.embedding_).all(axis=1)
    return fit_decoder(kind, model.embedding_[placed], rows[placed])


def fit_decoder(kind: str, embedding: Array, X: Any) -> Decoder:
    """A decoder of a kind, or "auto", that is fitted to training objects.

    It has the entry "kind" and what `apply_decoder` needs; after "auto" also "errors", the mean
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
        return fit_kernel_decoder(embedding, X)
    with _torch():
        from lowdim.learned.networks.regression import fit_network_decoder

        return {"kind": kind, **fit_network_decoder(embedding, dense(X))}


def apply_decoder(decoder: Decoder, embedding: Array, X: Any, Y: Array) -> Array:
    """Vectors of coordinates Y, by a decoder that was fitted to `embedding` and X."""
    if decoder["kind"] == "local":
        return decode(embedding, X, Y)
    if decoder["kind"] == "kernel":
        return decode_by_kernel(decoder, Y)
    with _torch():
        from lowdim.learned.networks.regression import decode_rows

        return decode_rows(decoder, Y)


def _torch() -> Any:
    """The context of networks; ImportError without PyTorch."""
    from lowdim.learned.networks.device import require_torch, use_torch

    require_torch('decoder="network"')
    return use_torch()


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
        predictions = apply_decoder(decoder, embedding[kept], X[kept], embedding[held_out])
        errors[kind] = float(np.square(predictions - wanted).mean(dtype=np.float64))
    return errors


def decode_by_kernel(decoder: Decoder, Y: Array) -> Array:
    """sum_c k(y, c) coefficients_c + mean, with Gaussian kernels about the centers c."""
    centers, mean = decoder["centers"], decoder["mean"]
    out = np.empty((len(Y), len(mean)), mean.dtype)

    def fill(part: slice) -> None:
        K = gaussian(Y[part].astype(centers.dtype), centers, decoder["gamma"])
        out[part] = backend().matmul(K, decoder["coefficients"]) + mean

    run(fill, blocks(len(Y), BLOCK_ROWS))
    return out


def fit_kernel_decoder(embedding: Array, X: Any) -> Decoder:
    """Kernel ridge regression from coordinates to vectors.

    Width and ridge penalty are those of the least leave-one-out error of kernel ridge regression on
    the centres, which has a closed form. With more objects than centres, the coefficients are those
    of the least squared error of all objects (Nystroem's approximation).
    """
    n = len(embedding)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:MOST_CENTERS])
    centers = np.ascontiguousarray(embedding[chosen], dtype=np.float64)
    rows = dense(X[chosen]).astype(np.float64)
    mean = rows.mean(axis=0)
    gamma, penalty, coefficients = _least_error(centers, rows - mean)
    if n > len(chosen):
        coefficients = _of_all(embedding, X, centers, mean, gamma, penalty)
    numbers = {"coefficients": coefficients.astype(X.dtype), "mean": mean.astype(X.dtype)}
    return {"kind": "kernel", "centers": centers, "gamma": gamma, **numbers}


def _least_error(centers: Array, rows: Array) -> tuple[float, float, Array]:
    """Gamma, penalty and coefficients of the least leave-one-out error.

    With K = Q L Q' and r = penalty / (L + penalty), the error of object i, left out, is
    (Q r Q' x)_i / (Q r Q')_ii.
    """
    k = min(NEIGHBORS + 1, len(centers))
    gaps = query(centers, centers, k, euclidean())[1][:, -1]
    unit = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0

    def of_width(width: float) -> tuple[float, float, float, Array]:
        gamma = 1 / (2 * (width * unit) ** 2)
        values, Q = np.linalg.eigh(gaussian(centers, centers, gamma))
        values, turned = np.maximum(values, 0), Q.T @ rows
        best: tuple[float, float, float, Array] | None = None
        for penalty in PENALTIES:
            rest = penalty / (values + penalty)
            own = np.einsum("ij,j,ij->i", Q, rest, Q)
            error = float(np.square((Q @ (rest[:, None] * turned)) / own[:, None]).mean())
            if best is None or error < best[0]:
                best = error, gamma, penalty, rest
        assert best is not None
        return (*best[:3], Q @ ((best[3] / best[2])[:, None] * turned))

    results = run(of_width, WIDTHS)
    _, gamma, penalty, coefficients = min(results, key=lambda one: one[0])
    return gamma, penalty, coefficients


def _of_all(
    embedding: Array, X: Any, centers: Array, mean: Array, gamma: float, penalty: float
) -> Array:
    """Coefficients C of least |K C - X|^2 + penalty n / m tr(C' Kc C), with all objects."""

    def sums(part: slice) -> tuple[Array, Array]:
        K = gaussian(embedding[part].astype(np.float64), centers, gamma)
        return K.T @ K, K.T @ (dense(X[part]) - mean)

    m = len(centers)
    left, right = np.zeros((m, m)), np.zeros((m, len(mean)))
    for K, R in run(sums, blocks(len(embedding), BLOCK_ROWS)):
        left += K
        right += R
    left += penalty * gaussian(centers, centers, gamma) * (len(embedding) / m)
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])
