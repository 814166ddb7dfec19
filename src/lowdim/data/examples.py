"""Classic examples that are no manifolds: images, clusters, a table of distances."""

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
    from lowdim.checks import check_random_state

    n = checks.integer(n_samples, "n_samples", 1)
    rng = check_random_state(random_state)
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
    from lowdim.checks import check_random_state

    n = checks.integer(n_samples, "n_samples", 1)
    rng = check_random_state(random_state)
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
