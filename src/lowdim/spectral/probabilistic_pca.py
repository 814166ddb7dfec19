"""The probabilistic model of principal components (Tipping and Bishop 1999; Minka 2000).

Rows are normally distributed with covariance V' diag(v - s) V + s I, where the rows of V are the k
leading principal axes, v their variances, and the noise s is the mean variance of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowdim.checks import Array

SMALLEST_VARIANCE = 1e-15  # below it a component has no variance: the model of its rank is rejected


@dataclass(frozen=True)
class Model:
    """A normal distribution; without noise it is that of the subspace spanned by the axes.

    Parameters
    ----------
    mean : array of shape (d,)
    axes : array of shape (k, d)
        Orthonormal rows.
    variances : array of shape (k,)
        Along the axes.
    noise : float
        Variance in all other directions.
    """

    mean: Array
    axes: Array
    variances: Array
    noise: float

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


def most_probable_dimension(variances: Array, n: int) -> int:
    """The number of components whose model has the largest evidence.

    Parameters
    ----------
    variances : array of shape (d,)
        All variances, descending.
    n : int
        Number of objects.

    Returns
    -------
    int
        Between 1 and d - 1.

    References
    ----------
    .. [1] T. P. Minka, "Automatic choice of dimensionality for PCA", NIPS, 2000, equation 30.
    """
    variances = np.asarray(variances, dtype=np.float64)
    evidence = [_log_evidence(variances, k, n) for k in range(1, len(variances))]
    return 1 + int(np.argmax(evidence)) if evidence else 1


def _log_evidence(variances: Array, k: int, n: int) -> float:
    """The logarithm of the evidence of k components, by Laplace's approximation."""
    from scipy.special import gammaln

    d = len(variances)
    if variances[k - 1] < SMALLEST_VARIANCE:
        return -np.inf
    sizes = (d - np.arange(k)) / 2
    prior = float((gammaln(sizes) - np.log(np.pi) * sizes).sum()) - k * np.log(2.0)
    noise = max(SMALLEST_VARIANCE, float(variances[k:].sum()) / (d - k))
    likelihood = -n / 2 * (float(np.log(variances[:k]).sum()) + np.log(noise) * (d - k))
    m = d * k - k * (k + 1) / 2  # degrees of freedom of k orthonormal axes
    shrunk = np.concatenate([variances[:k], np.full(d - k, noise)])
    curvature = 0.0
    for i in range(k):
        gaps = (variances[i] - variances[i + 1 :]) * (1 / shrunk[i + 1 :] - 1 / shrunk[i])
        if (gaps <= 0).any():  # equal variances: these axes are arbitrary
            gaps = gaps[gaps > 0]
        curvature += float(np.log(gaps).sum()) + len(gaps) * np.log(n)
    volume = np.log(2 * np.pi) * (m + k) / 2
    return float(likelihood + prior + volume - curvature / 2 - k * np.log(n) / 2)
