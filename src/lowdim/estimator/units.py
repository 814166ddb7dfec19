"""Fits to objects of extreme magnitude, in a unit of their own; see `lowdim.distances.units`.

A copy of the estimator is fitted to numbers of ordinary magnitude, and its result is converted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from lowdim.distances.units import scale_by_power
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, State


def fit_in_unit(estimator: Any, objects: Objects, arguments: dict[str, Any]) -> None:
    """Fit a copy to objects of extreme magnitude in their unit, and convert what it found."""
    inner, exponent = clone(estimator), objects.exponent
    for name, value in estimator.get_params(deep=False).items():
        setattr(inner, name, convert_units(estimator, name, value, -exponent))
    if callable(getattr(estimator, "callback", None)):
        inner.callback = _in_own_unit(estimator, estimator.callback, exponent)
    keywords = {k: convert_units(estimator, k, v, -exponent) for k, v in arguments.items()}
    inner._claim_and_fit(objects, **keywords)
    if hasattr(inner, "callback"):
        inner.callback = None  # the function made above cannot be pickled
    copy_fitted_state(estimator, inner, exponent)
    if hasattr(estimator, "X_fit_"):
        estimator.X_fit_ = scale_by_power(inner.X_fit_, objects.rows_exponent)
    if np.isinf(estimator.embedding_).any():
        raise ValueError("X: coordinates of the map overflow. Divide X by a large number.")
    estimator._fitted_in_unit, estimator._fitted_exponent = inner, exponent


def copy_fitted_state(estimator: Any, inner: Any, exponent: int) -> None:
    """Set the fitted attributes to those of a model in units of 2^exponent."""
    for name, value in inner._fitted_state().items():
        if not name.startswith("_cached"):
            setattr(estimator, name, convert_units(estimator, name, value, exponent))


def convert_units(estimator: Any, name: str, value: Any, exponent: int) -> Any:
    """An attribute, parameter or argument times the power of 2^exponent that its unit has."""
    if isinstance(value, NeighborGraph):
        return value.scale(exponent)
    if isinstance(value, dict):
        return {k: convert_units(estimator, f"{name}.{k}", v, exponent) for k, v in value.items()}
    power = estimator._unit_of(name)
    if not power or value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return tuple(convert_units(estimator, name, one, exponent) for one in value)
    if abs(power) != 1 and isinstance(value, np.ndarray):
        value = value.astype(np.float64)  # the range of float32 holds distances, not squares
    if power != int(power):  # of weights d^-power
        return value * 2.0 ** (exponent * power)
    return scale_by_power(
        np.asarray(value) if isinstance(value, list) else value, exponent * int(power)
    )


def _in_own_unit(estimator: Any, callback: Callback, exponent: int) -> Callback:
    """The callback for a solver whose unit is 2^exponent."""

    def call(state: State) -> object:
        Y = convert_units(estimator, "embedding_", state.embedding, exponent)
        Y.flags.writeable = False
        loss = convert_units(estimator, "history_", float(state.loss), exponent)
        return callback(replace(state, embedding=Y, loss=loss))

    return call
