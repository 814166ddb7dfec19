"""Real data sets from a local folder; nothing is downloaded.

Each set is one NPZ file. The folder is an argument, or named by the environment variable
LOWDIM_DATA.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

import numpy as np

from lowdim import checks
from lowdim.checks import Array

Folder = str | PathLike[str] | None


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
        Folder of `coil20.npz`, an NPZ file of X and y; None for that in the environment variable
        LOWDIM_DATA.

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
        Folder of `faces698.npz`, an NPZ file of X, pose_left_right, pose_up_down and lighting;
        None for that in the environment variable LOWDIM_DATA.

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
