"""Classic examples that are no manifolds: images, clusters, distances, sets in a local folder.

Nothing is downloaded: each real data set is one NPZ file in a folder, which is an argument or named
by the environment variable LOWDIM_DATA.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, check_random_state

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

# Percentages of people who did not put two terms into one group (the rows below the diagonal).
_KINSHIP = """
79
53 67
59 62 74
73 38 77 57
57 75 74 46 79
77 57 76 77 51 57
55 80 78 54 70 32 29
79 51 72 72 54 29 31 57
51 63 79 31 29 56 75 50 79
56 53 51 74 59 74 58 79 51 81
32 76 53 52 81 51 79 58 74 60 27
58 28 70 37 63 50 79 57 75 39 76 53
80 38 73 29 32 72 55 78 47 57 52 74 62
27 57 51 80 51 80 55 77 58 73 33 56 79 59
"""
# Gender (0 female, 1 male), generation (of oneself: 0) and degree of kinship of each term.
_KIN = {
    "aunt": (0, -1, 3),
    "brother": (1, 0, 2),
    "cousin": (np.nan, 0, 4),
    "daughter": (0, 1, 1),
    "father": (1, -1, 1),
    "granddaughter": (0, 2, 2),
    "grandfather": (1, -2, 2),
    "grandmother": (0, -2, 2),
    "grandson": (1, 2, 2),
    "mother": (0, -1, 1),
    "nephew": (1, 1, 3),
    "niece": (0, 1, 3),
    "sister": (0, 0, 2),
    "son": (1, 1, 1),
    "uncle": (1, -1, 3),
}
_COLORS = """
86
42 50
42 44 81
18 22 47 54
06 09 17 25 61
07 07 10 10 31 62
04 07 08 09 26 45 73
02 02 02 02 07 14 22 33
07 04 01 01 02 08 14 19 58
09 07 02 00 02 02 05 04 37 74
12 11 01 01 01 02 02 03 27 50 76
13 13 05 02 02 02 02 02 20 41 62 85
16 14 03 04 00 01 00 02 23 28 55 68 76
"""  # hundredths, below the diagonal (Ekman 1954)

Folder = str | PathLike[str] | None


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


def colors() -> tuple[Array, list[str]]:
    """Similarities of 14 colours of the spectrum, as 31 people judged them.

    Returns
    -------
    S : array of shape (14, 14)
        Mean similarities, from 0 to 1; 1 - S are dissimilarities.
    names : list of str
        The wavelengths in nanometres, ascending from violet to red.

    References
    ----------
    Ekman, "Dimensions of color vision", Journal of Psychology 38, 1954.

    Examples
    --------
    >>> import lowdim
    >>> S, names = lowdim.data.colors()
    >>> float(S[names.index("434"), names.index("445")])
    0.86
    """
    S = np.eye(14)
    S[np.tril_indices(14, -1)] = np.array(_COLORS.split(), dtype=np.float64) / 100
    wavelengths = 434, 445, 465, 472, 490, 504, 537, 555, 584, 600, 610, 628, 651, 674
    return np.maximum(S, S.T), [str(nanometres) for nanometres in wavelengths]


def kinship() -> tuple[Array, list[str], dict[str, Array]]:
    """Dissimilarities of 15 kinship terms, which students sorted into groups.

    Returns
    -------
    D : array of shape (15, 15)
        Percentage of students who did not put two terms into the same group.
    names : list of str
        The terms.
    scales : dict of arrays of shape (15,)
        What sets the terms apart: "male" (NaN for the cousin), "generation", from -2, that of the
        grandparents, to 2, and "degree" of kinship, from 1 to 4.

    References
    ----------
    Rosenberg and Kim, "The method of sorting as a data-gathering procedure in multivariate
    research", Multivariate Behavioral Research 10, 1975.

    Examples
    --------
    >>> import lowdim
    >>> D, names, scales = lowdim.data.kinship()
    >>> float(D[names.index("aunt"), names.index("uncle")])
    27.0
    """
    D = np.zeros((15, 15))
    D[np.tril_indices(15, -1)] = np.array(_KINSHIP.split(), dtype=np.float64)
    columns = np.array(list(_KIN.values()), dtype=np.float64).T
    scales = dict(zip(("male", "generation", "degree"), columns, strict=True))
    return D + D.T, list(_KIN), scales


def _arrays(name: str, folder: Folder, *keys: str) -> list[Array]:
    """Arrays of one NPZ file."""
    where = folder if folder is not None else os.environ.get("LOWDIM_DATA")
    if where is None:
        raise FileNotFoundError(
            f"{name} is read from a local folder: give folder=, or set the environment variable "
            "LOWDIM_DATA to it."
        )
    path = Path(where)
    path = path / name if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; folder= must be the folder of {name}.")
    with np.load(path, allow_pickle=False) as archive:
        absent = [key for key in keys if key not in archive]
        if absent:
            raise ValueError(f"{path} has no array {absent[0]!r}; it holds {archive.files}.")
        return [archive[key] for key in keys]


def fashion_mnist(n_samples: int | None = None, *, folder: Folder = None) -> tuple[Array, Array]:
    """Load Fashion-MNIST: 70,000 images of clothes of ten kinds.

    Parameters
    ----------
    n_samples : int, default=None
        Only the first images; None for all of them.
    folder : str or path-like, default=None
        Folder of `fashion-mnist.npz`, an NPZ file of X and y; None for that in the environment
        variable LOWDIM_DATA.

    Returns
    -------
    X : array of shape (n_samples, 784)
        28 x 28 grey values, one image a row.
    y : integer array of shape (n_samples,)
        The kind of clothes.

    References
    ----------
    Xiao, Rasul and Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine
    learning algorithms", 2017.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.fashion_mnist(1000)  # doctest: +SKIP
    """
    X, y = _arrays("fashion-mnist.npz", folder, "X", "y")
    n = checks.integer(len(X) if n_samples is None else n_samples, "n_samples", 1)
    return X[:n], y[:n]


def coil20(*, folder: Folder = None) -> tuple[Array, Array]:
    """Load COIL-20: twenty objects on a turntable, 72 views of each.

    Parameters
    ----------
    folder : str or path-like, default=None
        Folder of `coil20.npz`; see `fashion_mnist`.

    Returns
    -------
    X : array of shape (1440, 1024)
        32 x 32 grey values, one image a row.
    y : integer array of shape (1440,)
        The object in the image.

    References
    ----------
    Nene, Nayar and Murase, "Columbia object image library (COIL-20)", 1996.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.coil20()  # doctest: +SKIP
    """
    X, y = _arrays("coil20.npz", folder, "X", "y")
    return X, y


def faces(*, folder: Folder = None) -> tuple[Array, Array]:
    """Load 698 renderings of a face in different poses and lights.

    Parameters
    ----------
    folder : str or path-like, default=None
        Folder of `faces698.npz`, with X, pose_left_right, pose_up_down and lighting.

    Returns
    -------
    X : array of shape (698, n_pixels)
        Grey values, one image a row.
    poses : array of shape (698, 3)
        Left-right pose, up-down pose, and direction of the light.

    References
    ----------
    Tenenbaum, de Silva and Langford, "A global geometric framework for nonlinear dimensionality
    reduction", Science 290, 2000.

    Examples
    --------
    >>> import lowdim
    >>> X, poses = lowdim.data.faces()  # doctest: +SKIP
    """
    keys = ("X", "pose_left_right", "pose_up_down", "lighting")
    X, *poses = _arrays("faces698.npz", folder, *keys)
    return X, np.column_stack([pose.ravel() for pose in poses])
