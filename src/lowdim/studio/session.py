"""A session as a folder: it survives a reload of the page and a restart of the server."""

from __future__ import annotations

import json
import secrets
import shutil
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lowdim.runtime.atomic import replace_file
from lowdim.studio.errors import Refused
from lowdim.studio.locks import InUse, hold_lock
from lowdim.studio.records import Dataset, Map, restore

FORMAT = 1


def write_json(path: Path, value: Any) -> None:
    """Write JSON; the file is complete, old or new, whatever happens."""
    with replace_file(path, force=True) as temporary:
        temporary.write_text(json.dumps(value, allow_nan=False), encoding="utf-8")


class Session:
    """Data sets, maps and the page's layout, in memory and in a folder, which one studio can use.

    The folder holds `session.json` (layout, next number), `datasets/ID/dataset.json` with one
    folder for each version of the data, and `maps/ID/map.json` with the coordinates, the snapshots
    and the model of each map. All files are written atomically.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = ExitStack()
        for name in ("datasets", "maps"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        try:
            self._open.enter_context(hold_lock(folder / "lock", wait=False))
        except InUse as error:
            raise InUse(f"{folder} is used by a studio that is running.") from error
        about = _read_json(folder / "session.json") or {}
        self.layout: dict[str, Any] = about.get("layout", {})
        self.next_number: int = about.get("next_number", 1)
        self.datasets: dict[str, Dataset] = self._read("datasets", "dataset.json", Dataset)
        self.maps: dict[str, Map] = self._read("maps", "map.json", Map)
        for one in self.maps.values():
            if one.active:
                one.status = "stopped"
                one.warnings = [*one.warnings, "The studio was closed before the fit was finished."]
                self.save_map(one)
            self.next_number = max(self.next_number, one.number + 1)

    def _read(self, part: str, name: str, kind: Any) -> dict[str, Any]:
        values = [_read_json(path) for path in (self.folder / part).glob(f"*/{name}")]
        records = [restore(kind, value) for value in values if value is not None]
        records.sort(key=lambda one: getattr(one, "number", one.id))
        return {one.id: one for one in records}

    def close(self) -> None:
        """Let another studio use the folder."""
        self._open.close()

    # --- records ------------------------------------------------------------------------

    def dataset(self, name: str) -> Dataset:
        """A data set by its id."""
        if name not in self.datasets:
            raise Refused("This data set no longer exists.", 404)
        return self.datasets[name]

    def map(self, name: str) -> Map:
        """A map by its id."""
        if name not in self.maps:
            raise Refused("This map no longer exists.", 404)
        return self.maps[name]

    def add_dataset(self, dataset: Dataset) -> None:
        self.datasets[dataset.id] = dataset
        self.save_dataset(dataset)

    def add_map(self, one: Map) -> None:
        self.maps[one.id] = one
        self.map_folder(one).mkdir(exist_ok=True)
        self.save_map(one)
        self.save_layout(self.layout)

    def take_number(self) -> int:
        """The number of the next map."""
        self.next_number += 1
        return self.next_number - 1

    def save_dataset(self, dataset: Dataset) -> None:
        self.dataset_folder(dataset).mkdir(exist_ok=True)
        write_json(self.dataset_folder(dataset) / "dataset.json", asdict(dataset))

    def save_map(self, one: Map) -> None:
        if one.id in self.maps or self.map_folder(one).exists():
            write_json(self.map_folder(one) / "map.json", asdict(one))

    def save_layout(self, layout: dict[str, Any]) -> None:
        self.layout = layout
        about = {"format": FORMAT, "layout": layout, "next_number": self.next_number}
        write_json(self.folder / "session.json", about)

    def remove_dataset(self, dataset: Dataset) -> None:
        del self.datasets[dataset.id]
        shutil.rmtree(self.dataset_folder(dataset), ignore_errors=True)

    def remove_map(self, one: Map) -> None:
        del self.maps[one.id]
        shutil.rmtree(self.map_folder(one), ignore_errors=True)

    # --- folders ------------------------------------------------------------------------

    def dataset_folder(self, dataset: Dataset) -> Path:
        return self.folder / "datasets" / dataset.id

    def data_folder(self, dataset_id: str, version: int) -> Path:
        """The prepared data of one version of a data set."""
        return self.folder / "datasets" / dataset_id / f"v{version}"

    def data_of(self, one: Map) -> Path:
        """The data that a map was fitted to."""
        return self.data_folder(one.dataset, one.version)

    def map_folder(self, one: Map) -> Path:
        return self.folder / "maps" / one.id

    def public(self) -> dict[str, Any]:
        """Everything that the page shows."""
        return {
            "datasets": [one.public() for one in self.datasets.values()],
            "maps": [one.public() for one in self.maps.values()],
            "layout": self.layout,
        }


def new_id() -> str:
    """An id that no other record has; lowercase hexadecimal, so it is safe in paths."""
    return secrets.token_hex(6)


def _read_json(path: Path) -> Any:
    """The content of a file that this program wrote; None if it is not there or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
