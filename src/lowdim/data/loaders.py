"""Real data sets from a local folder; nothing is downloaded.

The folder is given, or named by the environment variable LOWDIM_DATA. Each set is one NPZ file.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.data.tables import Table, read

Folder = str | PathLike[str] | None


def _found(name: str, folder: Folder) -> Table:
    where = folder if folder is not None else os.environ.get("LOWDIM_DATA")
    if where is None:
        raise FileNotFoundError(
            f"{name} is read from a folder of yours: give folder=, or set LOWDIM_DATA to it."
        )
    path = Path(where)
    path = path / name if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; folder= is where {name} lies.")
    return read(path, kind="vectors")


def fashion_mnist(n_samples: int | None = None, *, folder: Folder = None) -> tuple[Array, Array]:
    """Fashion-MNIST: images of clothes, (70000, 784), and their ten kinds; or the first of them.

    From `fashion-mnist.npz` with X and y. Xiao, Rasul and Vollgraf, "Fashion-MNIST: a novel image
    dataset for benchmarking machine learning algorithms", 2017.
    """
    table = _found("fashion-mnist.npz", folder)
    n = checks.integer(table.n_rows if n_samples is None else n_samples, "n_samples", 1)
    return table.X[:n], table.labels["y"][:n]


def coil20(*, folder: Folder = None) -> tuple[Array, Array]:
    """COIL-20: twenty objects on a turntable, 72 views each, (1440, 1024), and the object shown.

    From `coil20.npz` with X and y. Nene, Nayar and Murase, "Columbia object image library
    (COIL-20)", 1996.
    """
    table = _found("coil20.npz", folder)
    return table.X, table.labels["y"]


def faces(*, folder: Folder = None) -> tuple[Array, Array]:
    """698 renderings of a face, and their pose (left-right, up-down) and lighting, (698, 3).

    From `faces698.npz`. Tenenbaum, de Silva and Langford, "A global geometric framework for
    nonlinear dimensionality reduction", Science 290, 2000.
    """
    table = _found("faces698.npz", folder)
    poses = ("pose_left_right", "pose_up_down", "lighting")
    return table.X, np.column_stack([table.labels[name] for name in poses])
