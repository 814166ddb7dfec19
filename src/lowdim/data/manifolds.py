"""Manifolds in space whose intrinsic coordinates are known.

Each generator returns the points and what to colour them by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, check_random_state


def _check_arguments(n_samples: int, noise: float, random_state: Any) -> tuple[int, float, Any]:
    """The checked common arguments and the source of random numbers."""
    n_samples = checks.integer(n_samples, "n_samples", 1)
    return n_samples, checks.real(noise, "noise", 0.0), check_random_state(random_state)


def _add_noise(columns: list[Array], noise: float, rng: Any) -> Array:
    X = np.stack(columns, axis=1)
    return np.asarray(X + noise * rng.standard_normal(X.shape), dtype=np.float64)


def swiss_roll(
    n_samples: int = 1000, *, hole: bool = False, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a strip rolled up in space, the figure of Isomap.

    A point is (t cos t, h, t sin t) with t uniform in [1.5 pi, 4.5 pi] and h in [0, 21], as in
    scikit-learn's `make_swiss_roll`.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    hole : bool, default=False
        Whether the middle ninth of the strip is empty.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to every coordinate.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : array of shape (n_samples, 3)
        The points.
    t : array of shape (n_samples,)
        The angle, which is the position along the strip.

    References
    ----------
    Tenenbaum, de Silva and Langford, "A global geometric framework for nonlinear dimensionality
    reduction", Science 290, 2000.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(100, random_state=0)
    >>> X.shape
    (100, 3)
    """
    n, noise, rng = _check_arguments(n_samples, noise, random_state)
    along, across = rng.uniform(size=(2, n))
    if hole:
        cell = rng.choice([0, 1, 2, 3, 5, 6, 7, 8], size=n)  # cell 4 is the middle one
        along, across = (cell // 3 + along) / 3, (cell % 3 + across) / 3
    t = 1.5 * np.pi * (1 + 2 * along)
    return _add_noise([t * np.cos(t), 21 * across, t * np.sin(t)], noise, rng), t


def s_curve(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a strip bent into an S, the figure of locally linear embedding.

    A point is (sin t, h, sign(t) (cos t - 1)) with t uniform in [-1.5 pi, 1.5 pi] and h in [0, 2].

    Parameters are those of `swiss_roll`, without `hole`.

    Returns
    -------
    X : array of shape (n_samples, 3)
        The points.
    t : array of shape (n_samples,)
        The arc length along the S.

    References
    ----------
    Roweis and Saul, "Nonlinear dimensionality reduction by locally linear embedding", Science 290,
    2000.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.s_curve(100, random_state=0)
    >>> X.shape
    (100, 3)
    """
    n, noise, rng = _check_arguments(n_samples, noise, random_state)
    t = 3 * np.pi * rng.uniform(-0.5, 0.5, size=n)
    height = rng.uniform(0, 2, size=n)
    return _add_noise([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)], noise, rng), t


def open_box(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample the surface of the cube [-1, 1]^3 without its lid.

    No map into the plane keeps this surface without stretching or tearing it.

    Parameters are those of `swiss_roll`, without `hole`.

    Returns
    -------
    X : array of shape (n_samples, 3)
        The points.
    height : array of shape (n_samples,)
        The height of each point above the bottom.

    References
    ----------
    Lee and Verleysen, "Nonlinear Dimensionality Reduction", Springer, 2007.

    Examples
    --------
    >>> import lowdim
    >>> X, height = lowdim.data.open_box(100, random_state=0)
    >>> X.shape
    (100, 3)
    """
    n, noise, rng = _check_arguments(n_samples, noise, random_state)
    face = rng.choice(5, size=n)  # the bottom, then the sides x = -1, x = 1, y = -1, y = 1
    u, v = rng.uniform(-1, 1, size=(2, n))
    x = np.choose(face, [u, -1.0, 1.0, u, u])
    y = np.choose(face, [v, u, u, -1.0, 1.0])
    z = np.where(face == 0, -1.0, v)
    return _add_noise([x, y, z], noise, rng), z + 1.0


def helix(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a closed coil of eight turns round a torus of radii 2 and 1.

    The intrinsic coordinate of this curve is its length, not its position in space.

    Parameters are those of `swiss_roll`, without `hole`.

    Returns
    -------
    X : array of shape (n_samples, 3)
        The points.
    t : array of shape (n_samples,)
        The angle in [0, 2 pi).

    References
    ----------
    Coifman and Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21,
    2006.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.helix(100, random_state=0)
    >>> X.shape
    (100, 3)
    """
    n, noise, rng = _check_arguments(n_samples, noise, random_state)
    t = 2 * np.pi * rng.uniform(size=n)
    radius = 2 + np.cos(8 * t)
    return _add_noise([radius * np.cos(t), radius * np.sin(t), np.sin(8 * t)], noise, rng), t


def trefoil(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample the trefoil knot (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t).

    Intrinsically it is a circle, but no deformation of the space unties it.

    Parameters are those of `swiss_roll`, without `hole`.

    Returns
    -------
    X : array of shape (n_samples, 3)
        The points.
    t : array of shape (n_samples,)
        The angle in [0, 2 pi).

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.trefoil(100, random_state=0)
    >>> X.shape
    (100, 3)
    """
    n, noise, rng = _check_arguments(n_samples, noise, random_state)
    t = 2 * np.pi * rng.uniform(size=n)
    x, y = np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t)
    return _add_noise([x, y, -np.sin(3 * t)], noise, rng), t


def punctured_sphere(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a unit sphere without its north cap.

    A disc of radius 5 is put onto the sphere by stereographic projection. Points are dense near the
    missing cap and sparse at the south pole, so that only a conformal map shows a full disc.

    Parameters are those of `swiss_roll`, without `hole`.

    Returns
    -------
    X : array of shape (n_samples, 3)
        The points.
    z : array of shape (n_samples,)
        The height in [-1, 12/13].

    References
    ----------
    Saul and Roweis, "Think globally, fit locally: unsupervised learning of low dimensional
    manifolds", Journal of Machine Learning Research 4, 2003.

    Examples
    --------
    >>> import lowdim
    >>> X, z = lowdim.data.punctured_sphere(100, random_state=0)
    >>> X.shape
    (100, 3)
    """
    n, noise, rng = _check_arguments(n_samples, noise, random_state)
    radius = 5 * np.sqrt(rng.uniform(size=n))
    angle = 2 * np.pi * rng.uniform(size=n)
    scale = 2 * radius / (1 + radius**2)
    z = (radius**2 - 1) / (radius**2 + 1)
    return _add_noise([scale * np.cos(angle), scale * np.sin(angle), z], noise, rng), z
