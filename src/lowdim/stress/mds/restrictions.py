"""Restrictions of the map of multidimensional scaling: pinned objects, and axes from covariates.

A restriction moves the start into the admissible set, adds its springs to the stress, and solves
with V (see `majorization`) in that set, so that majorization stays there (de Leeuw and Heiser
1980).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import orthonormal, product, symmetric_eigen
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.neighbor_embedding.anchors import Anchors, start_at_pins
from lowdim.numerics.objective import Objective
from lowdim.objects.pairs import Pairs
from lowdim.stress.majorization import Solve, conjugate_gradients

CG_STEPS, CG_TOLERANCE = 300, 1e-8  # of a step with pinned objects; of squared norms


class Pinned:
    """Coordinates that stay at their places, or are drawn to them by springs."""

    scales = False

    def __init__(self, anchors: Anchors, init: Any) -> None:
        self.anchors, self.init = anchors, init
        self.free = anchors.shares < 1

    def begin(self, X: Array) -> Array:
        return start_at_pins(X, self.anchors, self.init).astype(X.dtype)

    def objective(self, stress: Objective, pairs: Pairs) -> Objective:
        stiffness = self._stiffness(pairs)

        def with_springs(X: Array) -> tuple[float, Array]:
            value, g = stress(X)
            gap = np.where(stiffness > 0, X - self.anchors.places, 0)
            value += float((stiffness * gap**2).sum())
            return value, np.where(self.free, g + stiffness * gap, 0).astype(g.dtype)

        return with_springs

    def solve(self, pairs: Pairs) -> Solve:
        """Conjugate gradients for V plus the springs, among the free coordinates."""
        own = np.ones(len(pairs.first)) if pairs.weights is None else pairs.weights
        W = None if pairs.complete and pairs.weights is None else pairs.graph(own.astype(float))
        degrees = self._degrees(pairs)[:, None]
        diagonal = degrees + self._stiffness(pairs)

        def product_with(p: Array) -> Array:
            linked = p.sum(axis=0) - p if W is None else backend().spmm(W, p)
            return np.where(self.free, diagonal * p - linked, 0)

        def step(g: Array) -> Array:
            free = np.where(self.free, g, 0)
            s = conjugate_gradients(
                product_with, diagonal, free, steps=CG_STEPS, tolerance=CG_TOLERANCE
            )
            return s.astype(g.dtype)

        return step

    def _degrees(self, pairs: Pairs) -> Array:
        """The sum of the weights of the pairs of each object."""
        weights = pairs.weights
        ends = (np.bincount(e, weights, pairs.n) for e in (pairs.first, pairs.second))
        return np.asarray(sum(ends), dtype=np.float64)

    def _stiffness(self, pairs: Pairs) -> Array:
        """Springs for which a Guttman step ends a share of the way to the place; 0 if fixed."""
        shares = np.where(self.free, self.anchors.shares, 0).astype(np.float64)
        return self._degrees(pairs)[:, None] * shares / (1 - shares)


class Covariates:
    """Axes that are linear combinations of centred covariates Z: X = Z C."""

    scales = True

    def __init__(self, Z: Any, n: int, k: int) -> None:
        Z = checks.vectors(Z, name="covariates").astype(np.float64)
        if len(Z) != n:
            raise ValueError(
                f"{argument('covariates')} has {len(Z)} rows, but there are {n} objects: give one "
                "row for each."
            )
        self.Z = Z - Z.mean(axis=0)
        sizes = np.linalg.svd(self.Z, compute_uv=False)
        rank = int((sizes > 1e-10 * sizes.max(initial=0)).sum())
        if rank < max(Z.shape[1], k):
            raise ValueError(
                f"{argument('covariates')} has {Z.shape[1]} columns, of which {rank} are "
                "independent after centring: a map needs independent columns, at least as many as "
                f"{argument('n_components', k)}."
            )
        self.basis = orthonormal(self.Z)[0]

    def coefficients(self, X: Array) -> Array:
        """C of a map."""
        return np.asarray(np.linalg.lstsq(self.Z, X.astype(np.float64), rcond=None)[0])

    def begin(self, X: Array) -> Array:
        return self._combine(product(self.basis.T, X.T.astype(np.float64)), X.dtype)

    def objective(self, stress: Objective, pairs: Pairs) -> Objective:
        return stress

    def solve(self, pairs: Pairs) -> Solve:
        """Q (Q'VQ)^-1 Q' g for an orthonormal basis Q of the covariates: the Guttman step of C."""
        gaps = self.basis[pairs.first] - self.basis[pairs.second]
        weighted = gaps if pairs.weights is None else gaps * pairs.weights[:, None]
        values, vectors = symmetric_eigen(product(gaps.T, weighted.T))
        inverse = product(vectors / values, vectors)

        def step(g: Array) -> Array:
            inside = product(self.basis.T, g.T.astype(np.float64))
            return self._combine(product(inverse, inside.T), g.dtype)

        return step

    def _combine(self, C: Array, dtype: Any) -> Array:
        return product(self.basis, C.T).astype(dtype)
