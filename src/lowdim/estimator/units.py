"""Fits to objects of extreme magnitude, in a unit of their own; see `lowdim.distances.units`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from lowdim.checks import Array
from lowdim.distances.units import scaled
from lowdim.estimator.inputs import TakesObjects
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime.callbacks import Callback, State


class FitsInUnit(TakesObjects):
    """Fits a copy of the estimator to numbers of ordinary magnitude, and converts the result."""

    embedding_: Array
    _fitted_in_unit: Self
    _fitted_exponent: int

    # Fitted attributes, parameters and arguments of `fit` that have the unit of the
    # dissimilarities, each with the power of the unit.
    _units: ClassVar[dict[str, float]] = {}

    def _fit_objects(self, objects: Objects, **arguments: Any) -> None:
        """Fit to objects that have been checked."""
        raise NotImplementedError

    def _fit_in_unit(self, objects: Objects, arguments: dict[str, Any]) -> None:
        """Fit a copy to objects of extreme magnitude in their unit, and convert what it found."""
        inner = clone(self)
        for name, value in self.get_params(deep=False).items():
            setattr(inner, name, self._converted(name, value, -objects.exponent))
        if callable(getattr(self, "callback", None)):
            inner.callback = self._in_own_unit(self.callback, objects.exponent)
        inner._fit_objects(
            objects,
            **{k: self._converted(k, v, -objects.exponent) for k, v in arguments.items()},
        )
        if hasattr(inner, "callback"):
            inner.callback = None  # the function made above cannot be pickled
        self._take_over(inner, objects.exponent)
        if hasattr(self, "X_fit_"):
            self.X_fit_ = scaled(inner.X_fit_, exponent_of_rows(objects))
        if np.isinf(self.embedding_).any():
            raise ValueError("X: coordinates of the map overflow. Divide X by a large number.")
        self._fitted_in_unit, self._fitted_exponent = inner, objects.exponent

    @property
    def _in_unit(self) -> Self:
        """The model in the unit of the data, which `transform` reads; self for ordinary data."""
        return self._fitted_in_unit if hasattr(self, "_fitted_in_unit") else self

    def _take_over(self, inner: Self, exponent: int) -> None:
        """Set the fitted attributes to those of a model in units of 2^exponent."""
        for name, value in vars(inner).items():
            if is_fitted_state(name) and not name.startswith("_cached"):
                setattr(self, name, self._converted(name, value, exponent))

    def _in_own_unit(self, callback: Callback, exponent: int) -> Callback:
        """The callback for a solver whose unit is 2^exponent."""

        def call(state: State) -> object:
            Y = self._converted("embedding_", state.embedding, exponent)
            Y.flags.writeable = False
            loss = self._converted("history_", float(state.loss), exponent)
            return callback(replace(state, embedding=Y, loss=loss))

        return call

    def _unit_of(self, name: str) -> float:
        """The power of the unit that an attribute, parameter or argument has; see `_units`."""
        return self._units.get(name, 0)

    def _converted(self, name: str, value: Any, exponent: int) -> Any:
        """An attribute, parameter or argument times the power of 2^exponent that its unit has."""
        if isinstance(value, NeighborGraph):
            return scaled(value, exponent)
        if isinstance(value, dict):
            return {k: self._converted(f"{name}.{k}", v, exponent) for k, v in value.items()}
        power = self._unit_of(name)
        if not power or value is None or isinstance(value, str):
            return value
        if isinstance(value, tuple):
            return tuple(self._converted(name, one, exponent) for one in value)
        if abs(power) != 1 and isinstance(value, np.ndarray):
            value = value.astype(np.float64)  # the range of float32 holds distances, not squares
        if power != int(power):  # of weights d^-power
            return value * 2.0 ** (exponent * power)
        return scaled(
            np.asarray(value) if isinstance(value, list) else value, exponent * int(power)
        )


def is_fitted_state(name: str) -> bool:
    """Whether an attribute is fitted state, by its name."""
    return name.endswith("_") or name.startswith(("_fitted", "_cached"))


def exponent_of_rows(objects: Objects) -> int:
    """Rows are in units of two to this power."""
    return objects.metric.exponent if isinstance(objects, MeasuredObjects) else 0
