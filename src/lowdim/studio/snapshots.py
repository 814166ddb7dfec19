"""Snapshots of a fit, for rewinding: some of its frames, kept as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.atomic import replace_file

MOST = 120  # snapshots of a map
FEWEST = 16
MOST_BYTES = 200e6  # of the snapshots of a map


class Snapshots:
    """Keeps frames as files in a folder: of a long fit only every second, fourth, ..."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: list[int] = []
        self.step = 1  # iterations between two snapshots

    def take(self, iteration: int, n: int, dim: int, coordinates: bytes) -> None:
        """Keep a frame if it is due."""
        if self.kept and iteration < self.kept[-1]:  # a further start of the method
            self._drop(self.kept)
            self.kept, self.step = [], 1
        if self.kept and iteration < self.kept[-1] + self.step:
            return
        self.folder.mkdir(exist_ok=True)
        Y = np.frombuffer(coordinates, dtype="<f4").reshape(n, dim)
        save_array(self._path(iteration), Y)
        self.kept.append(iteration)
        most = int(np.clip(MOST_BYTES / max(1, len(coordinates)), FEWEST, MOST))
        while len(self.kept) > most:
            self._drop(self.kept[1::2])
            self.kept = self.kept[::2]
            self.step = max(2 * self.step, self.kept[-1] // most)

    def _drop(self, iterations: list[int]) -> None:
        for iteration in iterations:
            self._path(iteration).unlink(missing_ok=True)

    def _path(self, iteration: int) -> Path:
        return snapshot_path(self.folder.parent, iteration)


def save_array(path: Path, values: Array) -> None:
    """Write an array; the file is complete, old or new, whatever happens."""
    with replace_file(path, force=True) as temporary, open(temporary, "wb") as file:
        np.save(file, values)


def snapshot_path(folder: Path, iteration: int) -> Path:
    """The file of a snapshot in the folder of a map."""
    return folder / "frames" / f"{iteration}.npy"


def read_snapshot(folder: Path, iteration: int) -> Array:
    """The coordinates of a snapshot."""
    return np.asarray(np.load(snapshot_path(folder, iteration)))
