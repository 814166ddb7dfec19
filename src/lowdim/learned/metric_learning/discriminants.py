"""Fisher's linear discriminants."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, svd

from lowdim.checks import Array


def discriminant_axes(X: Array, codes: Array, k: int) -> Array:
    """At most k directions in which the classes are farthest apart, relative to their width.

    The vectors are scaled so that the covariance within classes is the identity; the axes are the
    principal axes of the class means there (Rao 1948, section 9). Directions in which no class has
    any width are left out, unless there is no other.

    Parameters
    ----------
    X : array of shape (n, d)
    codes : array of int of shape (n,)
        Classes, numbered from 0, each with at least one member.
    k : int

    Returns
    -------
    array of shape (at most min(k, d, n_classes - 1), d)
    """
    sizes = np.bincount(codes)
    X = X - X.mean(axis=0, dtype=np.float64)
    by_class = X[np.argsort(codes, kind="stable")]
    means = np.add.reduceat(by_class, np.cumsum(sizes) - sizes) / sizes[:, None]
    whiten = _whitening_matrix(X - means[codes])
    between = np.sqrt(sizes)[:, None] * means
    _, spread, axes = svd(between @ whiten, full_matrices=False)
    directions = axes[spread > len(sizes) * np.finfo(float).eps * spread[0]] @ whiten.T
    return np.asarray(directions[: min(k, len(sizes) - 1)])


def _whitening_matrix(deviations: Array) -> Array:
    """A matrix W such that deviations @ W have the identity as covariance."""
    widths = np.sqrt(np.mean(deviations**2, axis=0))
    if not widths.any():
        return np.eye(len(widths))
    widths[widths == 0] = 1
    deviations = deviations / widths  # columns of different units do not cost accuracy
    values, vectors = eigh(deviations.T @ deviations / len(deviations))
    keep = values > len(values) * np.finfo(float).eps * values[-1]
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]) / widths[:, None])
