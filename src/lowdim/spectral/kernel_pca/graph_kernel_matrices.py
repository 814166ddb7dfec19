"""Kernel matrices that the training data define, and the test that a matrix is a kernel.

Kernel PCA of these matrices is Isomap, locally linear embedding and Laplacian eigenmaps, up to the
scale of each coordinate (Ham, Lee, Mika and Schoelkopf 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, dense
from lowdim.runtime import memory
from lowdim.spectral.scaling import double_center


def is_positive_semidefinite(K: Any, *, tol: float | None = None) -> bool:
    """Test whether a symmetric matrix is a kernel matrix.

    A matrix holds inner products k(x_i, x_j) of vectors in some space exactly if it is symmetric
    and has no negative eigenvalue.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix.
    tol : float, default=None
        Asymmetry and negative eigenvalues count as rounding errors up to this share of the largest
        eigenvalue in absolute value. None stands for 1e-9, or 1e-5 for float32.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If K is not square and symmetric.

    See Also
    --------
    is_euclidean : the same question about dissimilarities.

    Notes
    -----
    All eigenvalues are computed: time n^3.

    Examples
    --------
    >>> import lowdim
    >>> lowdim.is_positive_semidefinite([[2.0, 1.0], [1.0, 2.0]])
    True
    >>> lowdim.is_positive_semidefinite([[1.0, 2.0], [2.0, 1.0]])
    False
    """
    from scipy.linalg import eigvalsh

    if np.ndim(K) != 2 or len(set(np.shape(K))) != 1:
        raise ValueError(f"K: array must be 2-dimensional and square, got shape {np.shape(K)}.")
    K = np.asarray(checks.vectors(K, name="K"))
    slack = tol if tol is not None else (1e-5 if K.dtype == np.float32 else 1e-9)
    checks.real(slack, "tol", 0)
    values = eigvalsh((K.astype(np.float64) + K.T) / 2, check_finite=False)
    size = float(np.abs(values).max(initial=0.0))
    asymmetry = np.abs(K - K.T)
    if asymmetry.max(initial=0.0) > slack * size:
        i, j = np.unravel_index(int(asymmetry.argmax()), K.shape)
        raise ValueError(
            f"K must be symmetric, but [{i}, {j}] is {K[i, j]:g} and [{j}, {i}] is {K[j, i]:g}. "
            "Average the two if they should be equal."
        )
    return bool(values[0] >= -slack * size)


def isomap_kernel(geodesics: Array) -> Array:
    """-1/2 J (D o D) J of geodesic distances D, the kernel of Isomap.

    It has negative eigenvalues where the manifold is not flat.
    """
    return double_center(np.asarray(geodesics) ** 2)


def lle_kernel(M: Any) -> Array:
    """lambda_max I - M, with M = (I - W)'(I - W), the kernel of locally linear embedding; n^3."""
    matrix = _square_matrix(M)
    largest = np.linalg.eigvalsh(matrix)[-1]
    return np.asarray(largest * np.eye(len(matrix)) - matrix)


def commute_time_kernel(laplacian: Any) -> Array:
    """The pseudo-inverse of a graph Laplacian L; n^3.

    Squared distances in feature space, times the sum of all weights, are commute times of the
    random walk: the expected number of steps from i to j and back.
    """
    return np.asarray(np.linalg.pinv(_square_matrix(laplacian), hermitian=True))


def diffusion_kernel(laplacian: Any, time: float) -> Array:
    """exp(-time L), the flow of heat along a graph (Kondor and Lafferty 2002); n^3."""
    values, vectors = np.linalg.eigh(_square_matrix(laplacian))
    return np.asarray((vectors * np.exp(-checks.real(time, "time", 0) * values)) @ vectors.T)


def _square_matrix(matrix: Any) -> Array:
    """A sparse n x n matrix as an array of float64, its memory and that of K claimed first."""
    n = matrix.shape[0]
    memory.claim(
        3 * n * n * np.dtype(np.float64).itemsize,
        f"The kernel matrix of {n} objects",
        "Use a subset of the rows, or LaplacianEigenmaps or LocallyLinearEmbedding.",
    )
    return dense(matrix).astype(np.float64)
