"""The classic data sets of the field: manifolds with known coordinates, images, clusters, a map.

Each generator returns the objects and what to colour them by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG)."""

_CITIES = {
    "Auckland": (-36.85, 174.76),
    "Beijing": (39.90, 116.41),
    "Berlin": (52.52, 13.40),
    "Buenos Aires": (-34.60, -58.38),
    "Cairo": (30.04, 31.24),
    "Cape Town": (-33.92, 18.42),
    "Chicago": (41.88, -87.63),
    "Istanbul": (41.01, 28.98),
    "Lagos": (6.52, 3.38),
    "Lima": (-12.05, -77.04),
    "London": (51.51, -0.13),
    "Los Angeles": (34.05, -118.24),
    "Madrid": (40.42, -3.70),
    "Mexico City": (19.43, -99.13),
    "Moscow": (55.76, 37.62),
    "Mumbai": (19.08, 72.88),
    "Nairobi": (-1.29, 36.82),
    "New York": (40.71, -74.01),
    "Paris": (48.86, 2.35),
    "Rio de Janeiro": (-22.91, -43.17),
    "Singapore": (1.35, 103.82),
    "Sydney": (-33.87, 151.21),
    "Tokyo": (35.68, 139.69),
}


def _start(n_samples: int, noise: float, random_state: Any) -> tuple[int, float, Any]:
    """The checked common arguments and the source of random numbers."""
    from sklearn.utils import check_random_state

    n_samples = checks.integer(n_samples, "n_samples", 1)
    return n_samples, checks.real(noise, "noise", 0.0), check_random_state(random_state)


def _finish(columns: list[Array], noise: float, rng: Any) -> Array:
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
    n, noise, rng = _start(n_samples, noise, random_state)
    along, across = rng.uniform(size=(2, n))
    if hole:
        cell = rng.choice([0, 1, 2, 3, 5, 6, 7, 8], size=n)  # cell 4 is the middle one
        along, across = (cell // 3 + along) / 3, (cell % 3 + across) / 3
    t = 1.5 * np.pi * (1 + 2 * along)
    return _finish([t * np.cos(t), 21 * across, t * np.sin(t)], noise, rng), t


def s_curve(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a strip bent into an S, the figure of locally linear embedding.

    A point is (sin t, h, sign(t) (cos t - 1)) with t uniform in [-1.5 pi, 1.5 pi] and h in [0, 2].

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to every coordinate.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

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
    n, noise, rng = _start(n_samples, noise, random_state)
    t = 3 * np.pi * rng.uniform(-0.5, 0.5, size=n)
    height = rng.uniform(0, 2, size=n)
    return _finish([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)], noise, rng), t


def open_box(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample the surface of the cube [-1, 1]^3 without its lid.

    No map into the plane keeps this surface without stretching or tearing it.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to every coordinate.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

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
    n, noise, rng = _start(n_samples, noise, random_state)
    face = rng.choice(5, size=n)  # the bottom, then the sides x = -1, x = 1, y = -1, y = 1
    u, v = rng.uniform(-1, 1, size=(2, n))
    x = np.choose(face, [u, -1.0, 1.0, u, u])
    y = np.choose(face, [v, u, u, -1.0, 1.0])
    z = np.where(face == 0, -1.0, v)
    return _finish([x, y, z], noise, rng), z + 1.0


def helix(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a closed coil of eight turns round a torus of radii 2 and 1.

    The intrinsic coordinate of this curve is its length, not its position in space.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to every coordinate.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

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
    n, noise, rng = _start(n_samples, noise, random_state)
    t = 2 * np.pi * rng.uniform(size=n)
    radius = 2 + np.cos(8 * t)
    return _finish([radius * np.cos(t), radius * np.sin(t), np.sin(8 * t)], noise, rng), t


def trefoil(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample the trefoil knot (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t).

    Intrinsically it is a circle, but no deformation of the space unties it.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to every coordinate.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

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
    n, noise, rng = _start(n_samples, noise, random_state)
    t = 2 * np.pi * rng.uniform(size=n)
    x, y = np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t)
    return _finish([x, y, -np.sin(3 * t)], noise, rng), t


def punctured_sphere(
    n_samples: int = 1000, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample a unit sphere without its north cap.

    A disc of radius 5 is put onto the sphere by stereographic projection. Points are dense near the
    missing cap and sparse at the south pole, so that only a conformal map shows a full disc.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to every coordinate.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

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
    n, noise, rng = _start(n_samples, noise, random_state)
    radius = 5 * np.sqrt(rng.uniform(size=n))
    angle = 2 * np.pi * rng.uniform(size=n)
    scale = 2 * radius / (1 + radius**2)
    z = (radius**2 - 1) / (radius**2 + 1)
    return _finish([scale * np.cos(angle), scale * np.sin(angle), z], noise, rng), z


def bars(
    n_samples: int = 1000,
    *,
    size: int = 40,
    length: int = 20,
    width: int = 2,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Draw square images of one bar: the first half horizontal, the others vertical.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images.
    size : int, default=40
        Pixels of a side of the image.
    length : int, default=20
        Length of the bar in pixels.
    width : int, default=2
        Width of the bar in pixels.
    random_state : int, RandomState or None, default=None
        Seed of the positions of the bars.

    Returns
    -------
    X : array of shape (n_samples, size * size)
        One image a row: 1 on the bar, 0 elsewhere.
    y : integer array of shape (n_samples,)
        0 for a horizontal bar, 1 for a vertical one.

    References
    ----------
    Belkin and Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation",
    Neural Computation 15, 2003.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.bars(10, random_state=0)
    >>> X.shape
    (10, 1600)
    """
    n, _, rng = _start(n_samples, 0.0, random_state)
    size = checks.integer(size, "size", 1)
    length = checks.integer(length, "length", 1, size, " (the size of the image)")
    width = checks.integer(width, "width", 1, size, " (the size of the image)")
    y = (np.arange(n) >= (n + 1) // 2).astype(np.int64)
    images = np.zeros((n, size, size))
    for image, vertical in zip(images, y, strict=True):
        height, breadth = (length, width) if vertical else (width, length)
        top, left = rng.randint(size - height + 1), rng.randint(size - breadth + 1)
        image[top : top + height, left : left + breadth] = 1.0
    return images.reshape(n, -1), y


def clusters(
    n_samples: int = 600, *, n_features: int = 10, random_state: Any = None
) -> tuple[Array, Array]:
    """Sample four Gaussian clusters of different sizes, spreads and gaps.

    Half of the points form cluster 0, a quarter cluster 1 close to it; clusters 2 (an eighth, half
    as wide) and 3 (an eighth, three times as wide) are far away.

    Parameters
    ----------
    n_samples : int, default=600
        Number of points.
    n_features : int, default=10
        Number of features; the centres lie in the plane of the first two.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The points.
    y : integer array of shape (n_samples,)
        The cluster of each point.

    References
    ----------
    Wattenberg, Viegas and Johnson, "How to use t-SNE effectively", Distill, 2016.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(16, random_state=0)
    >>> y.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3]
    """
    n, _, rng = _start(n_samples, 0.0, random_state)
    n_features = checks.integer(n_features, "n_features", 2)
    centers = np.zeros((4, n_features))
    centers[:, :2] = [(0, 0), (8, 0), (0, 30), (60, 30)]
    spreads = np.array([1.0, 1.0, 0.5, 3.0])
    y = np.searchsorted([0.5, 0.75, 0.875], (np.arange(n) + 0.5) / n, side="right")
    X = centers[y] + spreads[y, None] * rng.standard_normal((n, n_features))
    return X, y.astype(np.int64)


def cities() -> tuple[Array, list[str]]:
    """Great-circle distances between 23 cities.

    They are computed by the haversine formula on a sphere of radius 6371 km. As the Earth is round,
    no map in the plane keeps them all.

    Returns
    -------
    D : array of shape (23, 23)
        Distances in kilometres.
    names : list of str
        The names of the cities.

    Examples
    --------
    >>> import lowdim
    >>> D, names = lowdim.data.cities()
    >>> round(D[names.index("London"), names.index("Paris")])
    343
    """
    latitude, longitude = np.radians(np.array(list(_CITIES.values()))).T
    rise = np.sin((latitude[:, None] - latitude) / 2) ** 2
    turn = np.sin((longitude[:, None] - longitude) / 2) ** 2
    haversine = rise + np.cos(latitude[:, None]) * np.cos(latitude) * turn
    return 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine.clip(0, 1))), list(_CITIES)
