"""What curvilinear component analysis and curvilinear distance analysis share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers, any_number
from lowdim.objects.objects import Objects
from lowdim.stress.curvilinear.placement import NEIGHBORS, place_by_curvilinear_rule
from lowdim.stress.curvilinear.prototypes import choose_prototypes
from lowdim.stress.curvilinear.rule import Distances, curvilinear, initial

Nearest = Callable[[int], tuple[Array, Array]]
"""From a number k to the indices and distances of the k nearest mapped objects."""


class CurvilinearRule(Embedder):
    """An embedder that moves points by the rule of curvilinear component analysis."""

    _attributes: ClassVar = {
        "prototypes_": Numbers("m", "iu", 0, "n"),
        "stress_": any_number,
        "error_": any_number,
    }

    prototypes_: Array

    def _choose_prototypes(self, objects: Objects) -> Array | None:
        """The objects to map, or None for all."""
        if self.n_prototypes is None:
            return None
        least = self.n_components + 1
        self.prototypes_ = choose_prototypes(objects, self.n_prototypes, least, self.random_state)
        return self.prototypes_

    def _apply_rule(
        self, distances: Distances, n: int, dtype: Any, auto: Callable[[], Array]
    ) -> Array:
        """Coordinates of n mapped objects; `auto` gives the start for init="auto"."""
        shape = (n, self.n_components)
        start = initial(self.init, distances, shape, dtype, self.random_state, auto)
        found = curvilinear(
            distances,
            start,
            self._monitor(checks.integer(self.max_iter, "max_iter", 1)),
            alpha=self.alpha,
            lambda_range=self.lambda_range,
            neighborhood=self.neighborhood,
            random_state=self.random_state,
        )
        self.error_, self.stress_, self.history_ = found.error, found.stress, found.history
        self.n_iter_ = len(found.history)
        return found.embedding

    def _mapped(self) -> Array:
        """Coordinates of the mapped objects: the prototypes, or all."""
        return np.asarray(self.embedding_[getattr(self, "prototypes_", slice(None))])


def place_among(images: Array, nearest: Nearest) -> Array:
    """Objects placed by the rule among the images of the mapped ones."""
    return place_by_curvilinear_rule(images, *nearest(min(NEIGHBORS, len(images))))
