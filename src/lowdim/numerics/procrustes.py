"""Procrustes alignment of two configurations by translation, rotation and scaling.

The rotation is Schönemann's (1966), the scale that of Schönemann and Carroll (1970), and
rotations without reflection are Kabsch's (1976) and Umeyama's (1991).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.dense import product, singular_vectors
from lowdim.checks import Array
from lowdim.summaries import summary


@summary("Procrustes")
@dataclass(frozen=True)
class Procrustes:
    """The result of `procrustes`.

    Attributes
    ----------
    aligned : array of shape (n, p)
        Y moved onto the target: `scale * Y @ rotation + shift`.
    rotation : array of shape (p, p)
        Orthogonal matrix; its determinant is 1 if reflections are not allowed.
    scale : float
        Factor of Y.
    shift : array of shape (p,)
        Translation.
    correlation : float
        Procrustes correlation of the two configurations, from 0 to 1. It depends neither on which
        of them is the target nor on `scaling`.
    disparity : float
        Sum of squared distances between target and aligned points, as a share of the sum of squares
        of the target about its centroid. With scaling it is 1 - correlation^2.
    """

    aligned: Array
    rotation: Array
    scale: float
    shift: Array
    correlation: float
    disparity: float

    def _facts(self) -> dict[str, Any]:
        return {
            "correlation": self.correlation,
            "disparity": self.disparity,
            "scale": self.scale,
            "n_objects": len(self.aligned),
        }

    def apply(self, new: Any) -> Array:
        """Move other points of the space of Y in the same way."""
        new = checks.vectors(new, name="new")
        if new.shape[1] != len(self.shift):
            raise ValueError(
                f"new has {new.shape[1]} columns, but the alignment is of {len(self.shift)}."
            )
        moved = self.scale * product(new.astype(np.float64), self.rotation.T) + self.shift
        return np.asarray(moved, dtype=new.dtype)


def procrustes(
    target: Any, Y: Any, *, scaling: bool = True, reflection: bool = True, weights: Any = None
) -> Procrustes:
    """Align a configuration with a target by translation, rotation and scaling.

    Minimises ``sum_i w_i |target_i - (scale * Y_i rotation + shift)|^2``. Embeddings that depend
    only on distances are determined up to such motions: align them before comparing coordinates.

    Parameters
    ----------
    target : array of shape (n, p)
        The configuration to align with.
    Y : array of shape (n, p)
        The configuration to move: the same objects in the same order. Add columns of zeros to
        compare configurations of different dimension.
    scaling : bool, default=True
        Whether Y may be scaled.
    reflection : bool, default=True
        Whether Y may be reflected.
    weights : array of shape (n,), default=None
        Weight of each object, not negative; None gives all the same.

    Returns
    -------
    Procrustes
        The aligned configuration, the motion, and how well both agree.

    Notes
    -----
    If the solution is not unique, because a configuration lies in a point or on a line, one of the
    solutions is returned. A configuration in a single point has correlation 0 with any other.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = 3 * square @ [[0.0, 1.0], [-1.0, 0.0]] + 5
    >>> result = lowdim.procrustes(square, turned)
    >>> np.allclose(result.aligned, square), round(result.scale, 3)
    (True, 0.333)
    """
    target, Y = checks.vectors(target, name="target"), checks.vectors(Y, name="Y")
    if target.shape != Y.shape:
        raise ValueError(
            f"target has shape {target.shape} and Y {Y.shape}: they must hold the same objects in "
            "the same number of coordinates. Add columns of zeros to the one with fewer."
        )
    w = _weights(weights, len(Y))
    (A, a, size_a), (B, b, size_b) = _standardize(target, w), _standardize(Y, w)
    left, singular, right = singular_vectors(product((B * w[:, None]).T, A.T))
    signs = np.ones(len(singular))
    if not reflection and np.linalg.det(left @ right) < 0:
        signs[-1] = -1
    rotation = product(left * signs, right.T)
    agreement = float(np.clip((signs * singular).sum(), 0.0, 1.0))
    scale = 1.0
    if scaling and size_b > 0:
        scale = agreement * (size_a / size_b)
    shift = a - scale * product(b[None, :], rotation.T)[0]
    moved = (scale * size_b) * product(B, rotation.T)
    aligned = moved + a
    gap = _norm(size_a * A - moved, w)
    with np.errstate(over="ignore"):  # possible for a large Y, a small target and scaling=False
        share = np.float64(gap) / size_a if size_a > 0 else np.float64(np.inf if gap else 0.0)
        disparity = float(share**2)
    return Procrustes(
        aligned.astype(np.result_type(target, Y)),
        rotation.astype(Y.dtype),
        float(scale),
        shift.astype(Y.dtype),
        agreement,
        disparity,
    )


def align_to_old(old: Array, Y: Array) -> Array:
    """A map moved, without scaling, so that its first points fit those of an old map best.

    Points without coordinates (NaN) are left out of the fit.
    """
    both = np.isfinite(old).all(axis=1) & np.isfinite(Y[: len(old)]).all(axis=1)
    if not both.any():
        return Y
    motion = procrustes(old[both], Y[: len(old)][both], scaling=False)
    moved = product(Y.astype(np.float64), motion.rotation.T) + motion.shift
    return np.asarray(moved, dtype=Y.dtype)


def rotation_to(old: Array, Y: Array) -> Array:
    """The rotation or reflection about 0 of points that fits them best to those of an old map."""
    both = np.isfinite(old).all(axis=1) & np.isfinite(Y).all(axis=1)
    inner = product(Y[both].astype(np.float64).T, old[both].astype(np.float64).T)
    left, _, right = singular_vectors(inner)
    return np.asarray(product(left, right.T), dtype=Y.dtype)


def axis_signs(old: Array, Y: Array) -> Array:
    """The sign of each axis of a map that makes it point as that of an old map of its points."""
    return np.where(np.nansum(old * Y, axis=0) < 0, -1, 1).astype(Y.dtype)


def _weights(weights: Any, n: int) -> Array:
    """Check the weights and scale them to sum 1."""
    if weights is None:
        return np.full(n, 1.0 / n)
    values = checks.vectors(np.reshape(np.asarray(weights), (-1, 1)), name="weights")[:, 0]
    if len(values) != n:
        raise ValueError(f"weights has {len(values)} entries for {n} objects: give one for each.")
    if values.min() < 0:
        i = int(values.argmin())
        raise ValueError(f"weights must not be negative, but weights[{i}] is {values[i]:g}.")
    largest = float(values.max())
    if largest == 0:
        raise ValueError("weights are all zero: at least one must be positive.")
    values = values.astype(np.float64) / largest
    return np.asarray(values / values.sum())


def _standardize(X: Array, w: Array) -> tuple[Array, Array, float]:
    """X centred and scaled to weighted sum of squares 1, its centroid, and the scale.

    A scale below the rounding error of the coordinates counts as 0.
    """
    X = X.astype(np.float64) if X.dtype != np.float64 else X
    center = (w[:, None] * X).sum(axis=0)
    centered = X - center
    size = _norm(centered, w)
    if size <= 4 * np.finfo(np.float64).eps * float(np.abs(X).max(initial=0.0)):
        return np.zeros_like(centered), center, 0.0
    return centered / size, center, size


def _norm(X: Array, w: Array) -> float:
    """The square root of the weighted sum of squares, without overflow or underflow."""
    largest = float(np.abs(X).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * float(np.sqrt((w * ((X / largest) ** 2).sum(axis=1)).sum()))
