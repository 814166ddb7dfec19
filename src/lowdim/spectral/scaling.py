"""Classical scaling: Gram matrices of dissimilarities, and coordinates from them.

Torgerson 1952; Gower 1966; with tests and corrections of Euclidean distances.

Theorem (Schoenberg 1935; Young and Householder 1938; Gower 1966): a matrix of dissimilarities D
is the distance matrix of points in a Euclidean space if and only if B = -1/2 J (D o D) J is
positive semidefinite; the least dimension of such a space is the rank of B, and coordinates are
the rows of any factor F with B = F F'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvals, eigvalsh

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.matrices import check_dissimilarities
from lowdim.numerics.eigenpairs import spectrum_size, top_eigenpairs
from lowdim.numerics.eigensolvers import Operator, center
from lowdim.summaries import summary

CORRECTIONS = ("none", "lingoes", "cailliez")
FULL_SPECTRUM_UP_TO = 1000  # objects up to which the negative share is exact, not an estimate


def double_center(A: Array) -> Array:
    """-1/2 J A J of a matrix of squared dissimilarities A, as a new array."""
    B = A - A.mean(axis=0, dtype=np.float64).astype(A.dtype)
    B -= B.mean(axis=1, keepdims=True, dtype=np.float64).astype(A.dtype)
    B *= -0.5
    return np.asarray(B)


def gram_operator(D: Array) -> Operator:
    """B = -1/2 J (D o D) J as an operator: products read D, and neither B nor D o D is stored."""

    def product(V: Any) -> Any:
        out = backend().matmul(D, V, squared=True)
        out *= -0.5
        return out

    return center(Operator(len(D), D.dtype, product, dense=True))


def squared_means(D: Array) -> Array:
    """The mean squared dissimilarity of each row."""
    ones = np.ones((D.shape[1], 1), dtype=D.dtype)
    return backend().matmul(D, ones, squared=True)[:, 0] / np.float64(D.shape[1])


@summary("Are the dissimilarities Euclidean?")
@dataclass(frozen=True)
class EuclideanTest:
    """The result of `is_euclidean`; its truth value is `euclidean`.

    Attributes
    ----------
    euclidean : bool
        Whether the dissimilarities are Euclidean distances.
    dimension : int
        Number of positive eigenvalues of B: the dimension of a Euclidean configuration.
    negative_share : float
        Share of the negative eigenvalues in the sum of absolute eigenvalues.
    eigenvalues : array of shape (n,)
        All eigenvalues of B, in descending order.
    """

    euclidean: bool
    dimension: int
    negative_share: float
    eigenvalues: Array

    def __bool__(self) -> bool:
        return self.euclidean

    def _facts(self) -> dict[str, Any]:
        return {
            "euclidean": self.euclidean,
            "dimension": self.dimension,
            "negative_share": self.negative_share,
            "n_objects": len(self.eigenvalues),
        }


def is_euclidean(D: Any, *, tol: float | None = None) -> EuclideanTest:
    """Test whether dissimilarities are distances between points of a Euclidean space.

    They are if and only if their doubly centred matrix ``B = -1/2 J (D o D) J`` has no negative
    eigenvalue.

    Parameters
    ----------
    D : array of shape (n, n)
        Dissimilarities.
    tol : float, default=None
        An eigenvalue counts as zero up to this share of the largest absolute eigenvalue; None is
        1e-9, or 1e-5 for float32.

    Returns
    -------
    EuclideanTest
        The answer, which can be used as a bool, with the eigenvalues.

    Notes
    -----
    All eigenvalues are computed, which takes n^3 time and two n x n matrices.

    Examples
    --------
    >>> import lowdim
    >>> test = lowdim.is_euclidean([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> bool(test), test.dimension
    (True, 2)
    >>> bool(lowdim.is_euclidean([[0, 1, 1], [1, 0, 3], [1, 3, 0]]))  # no triangle
    False
    """
    D = check_dissimilarities(D, "D")
    slack = tol if tol is not None else (1e-5 if D.dtype == np.float32 else 1e-9)
    checks.real(slack, "tol", 0)
    values = gram_eigenvalues(D)
    size = np.abs(values).max(initial=0.0)
    positive, negative = values > slack * size, values < -slack * size
    share = negative_share(values)
    return EuclideanTest(not negative.any(), int(positive.sum()), share, values)


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


def gram_eigenvalues(D: Array) -> Array:
    """All eigenvalues of B, descending."""
    B = double_center(D.astype(np.float64) ** 2)
    return np.asarray(eigvalsh(B, overwrite_a=True, check_finite=False)[::-1])


def negative_share(values: Array) -> float:
    """The sum of the absolute values of the negative eigenvalues, as a share of that of all."""
    total = np.abs(values).sum()
    return float(-values[values < 0].sum() / total) if total > 0 else 0.0


def lingoes_constant(D: Array) -> float:
    """The smallest c for which sqrt(d_ij^2 + 2 c), i != j, is Euclidean (Lingoes 1971)."""
    return max(0.0, -float(gram_eigenvalues(D)[-1]))


def cailliez_constant(D: Array) -> float:
    """The smallest c for which d_ij + c, i != j, is Euclidean (Cailliez 1983).

    It is the largest real eigenvalue of the 2n x 2n matrix [[0, 2 B], [-I, -4 B_1]], with B and
    B_1 = -1/2 J D J the double-centred squared and plain dissimilarities.
    """
    n = len(D)
    exact = D.astype(np.float64)
    zero, identity = np.zeros((n, n)), np.eye(n)
    block = np.block([[zero, 2 * double_center(exact**2)], [-identity, -4 * double_center(exact)]])
    values = eigvals(block, overwrite_a=True, check_finite=False)
    real = values.real[np.abs(values.imag) <= 1e-8 * np.abs(values).max(initial=1e-300)]
    return max(0.0, float(real.max()))


def correct_dissimilarities(D: Array, correction: str) -> tuple[Array, float]:
    """Dissimilarities made Euclidean by an additive constant, and that constant."""
    checks.choice(correction, "correction", CORRECTIONS)
    if correction == "none" or is_euclidean(D):
        return D, 0.0
    if correction == "lingoes":
        constant = lingoes_constant(D)
        out = np.sqrt(D**2 + np.asarray(2 * constant, dtype=D.dtype))
    else:
        constant = cailliez_constant(D)
        out = D + np.asarray(constant, dtype=D.dtype)
    np.fill_diagonal(out, 0)
    return out, constant


class Scaling(NamedTuple):
    """Leading eigenpairs of B, negative eigenvalues set to 0, and the negative share of B."""

    values: Array
    vectors: Array
    negative_share: float

    @property
    def coordinates(self) -> Array:
        """Eigenvectors times the square roots of the eigenvalues."""
        return np.asarray(self.vectors * np.sqrt(self.values).astype(self.vectors.dtype))


def classical_scaling(
    D: Array, k: int, *, solver: str = "auto", tol: float = 0.0, max_iter: int | None = None
) -> Scaling:
    """Classical scaling of a matrix of distances to k dimensions."""
    B = gram_operator(D)
    eigenpairs = top_eigenpairs(B, k, solver=solver, tol=tol, max_iter=max_iter)
    if k >= B.n:
        share = negative_share(eigenpairs.values)
    else:  # from the trace of B, which is the sum of its eigenvalues
        trace = float(squared_means(D).mean()) / 2 * len(D)
        size = spectrum_size(B, eigenpairs, exact=B.n <= FULL_SPECTRUM_UP_TO)
        share = float(np.clip((size - trace) / 2 / size, 0, 1)) if size > 0 else 0.0
        share = 0.0 if share < 1e-9 else share
    return Scaling(np.maximum(eigenpairs.values, 0), eigenpairs.vectors, share)


def leading_count(values: Array, share: float, total: float) -> int:
    """The fewest leading values, none of them negative, that hold more than a share of a total."""
    part = np.cumsum(values / total) if total > 0 else np.ones(len(values))
    return min(len(values), int(np.searchsorted(part, share, side="right")) + 1)


def gower_projection(squares: Array, mean_squares: Array, values: Array, vectors: Array) -> Array:
    """Coordinates of new objects from their squared distances to the training objects.

    y = 1/2 Lambda^(-1/2) V' (mean_squares - squares), with Lambda and V the eigenpairs of the
    Gram matrix B of the training objects. For a training object this is its row of
    V Lambda^(1/2). `mean_squares` are the mean squared distances of the training objects.
    """
    return kernel_projection(0.5 * (mean_squares - squares), values, vectors)


def kernel_projection(K: Array, values: Array, vectors: Array) -> Array:
    """y = Lambda^(-1/2) V' k, with the centred kernel values k of the new and training objects."""
    size = np.abs(values).max(initial=0.0)
    used = values > 1e-12 * size
    scale = np.where(used, 1 / np.sqrt(np.where(used, values, 1)), 0)
    return backend().matmul(K, vectors * scale.astype(vectors.dtype))


def unit_axes(values: Array, vectors: Array) -> Array:
    """The rows of Lambda^(-1/2) V': principal axes of length 1, as coefficients of the objects."""
    used = values > 0
    lengths = np.sqrt(np.where(used, values, 1))
    return np.asarray((vectors * np.where(used, 1 / lengths, 0)).T)
