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
    """Keeps frames as files in the folder of a map: of a long fit every second, fourth, ..."""

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
        path = snapshot_path(self.folder, iteration)
        path.parent.mkdir(exist_ok=True)
        Y = np.frombuffer(coordinates, dtype="<f4").reshape(n, dim)
        save_array(path, Y)
        self.kept.append(iteration)
        most = int(np.clip(MOST_BYTES / max(1, len(coordinates)), FEWEST, MOST))
        while len(self.kept) > most:
            self._drop(self.kept[1::2])
            self.kept = self.kept[::2]
            self.step = max(2 * self.step, self.kept[-1] // most)

    def _drop(self, iterations: list[int]) -> None:
        for iteration in iterations:
            snapshot_path(self.folder, iteration).unlink(missing_ok=True)


def save_array(path: Path, values: Array) -> None:
    """Write an array; the file is complete, old or new, whatever happens."""
    with replace_file(path, force=True) as temporary, open(temporary, "wb") as file:
        np.save(file, values)


def snapshot_path(folder: Path, iteration: int) -> Path:
    """The file of a snapshot in the folder of a map."""
    return folder / "frames" / f"{iteration}.npy"
