"""The probabilistic model of principal components (Tipping and Bishop 1999).

Rows are normally distributed with covariance V' diag(v - s) V + s I, where the rows of V are the k
leading principal axes, v their variances, and the noise s is the mean variance of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowdim.checks import Array


@dataclass(frozen=True)
class Model:
    """A normal distribution; without noise it is that of the subspace spanned by the axes."""

    mean: Array
    axes: Array  # orthonormal rows
    variances: Array  # along the axes
    noise: float  # variance in all other directions

    def covariance(self) -> Array:
        """The covariance matrix, of shape (d, d)."""
        return self._spectral(*self._eigenvalues())

    def precision(self) -> Array:
        """The inverse of the covariance matrix; its pseudo-inverse if it is singular."""
        along, noise = self._eigenvalues()
        return self._spectral(_inverse(along), float(_inverse(np.asarray(noise))))

    def log_likelihood(self, X: Array) -> Array:
        """The logarithm of the density at each row of X.

        A singular covariance has a density in its subspace alone, so that of other rows is zero.
        If the model has all d axes, it is to be a density of d dimensions: then all are zero.
        """
        k, d = self.axes.shape
        along, noise = self._eigenvalues()
        variances = np.concatenate([along, np.full(d - k, noise)])
        used = variances[variances > 0]
        centered = X - self.mean
        squares = np.einsum("ij,ij->i", centered, centered @ self.precision())
        logs = -0.5 * (squares + len(used) * np.log(2 * np.pi) + np.log(used).sum())
        if len(used) < d:
            inside = self.axes[along > 0]
            beside = np.abs(centered - (centered @ inside.T) @ inside).max(axis=1, initial=0)
            rounding = 1e3 * np.finfo(self.axes.dtype).eps * np.abs(X).max(axis=1, initial=1e-300)
            logs[(beside > rounding) | (k == d)] = -np.inf
        return np.asarray(logs)

    def _eigenvalues(self) -> tuple[Array, float]:
        """Variances along the axes and in other directions; 0 for those that are rounding."""
        along = np.maximum(self.variances, self.noise).astype(np.float64)
        floor = len(self.mean) * float(np.finfo(self.axes.dtype).eps) * along.max(initial=0)
        return np.where(along > floor, along, 0), self.noise if self.noise > floor else 0.0

    def _spectral(self, along: Array, across: float) -> Array:
        """The matrix with one eigenvalue for each axis, and one for all other directions."""
        d, kind = self.axes.shape[1], self.axes.dtype
        matrix = (self.axes.T * (along - across)) @ self.axes + across * np.eye(d)
        return np.asarray(matrix, dtype=kind)


def _inverse(values: Array) -> Array:
    values = np.asarray(values, dtype=np.float64)
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
