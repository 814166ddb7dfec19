"""What the studio does: opens data, fits maps, keeps the session, tells the pages."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import lowdim
from lowdim.catalog import Method, find
from lowdim.checks import Array
from lowdim.numerics.procrustes import procrustes
from lowdim.studio import datasets, search
from lowdim.studio.datasets import View
from lowdim.studio.errors import Refused
from lowdim.studio.forms import check_parameters
from lowdim.studio.jobs import Jobs
from lowdim.studio.processes import Helper
from lowdim.studio.records import Dataset, Map, check_pace
from lowdim.studio.requests import check_integers, check_places
from lowdim.studio.session import Session, new_id
from lowdim.studio.snapshots import snapshot_path
from lowdim.studio.stream import Hub, frame_bytes
from lowdim.studio.toys import find_toy

LEAST_OBJECTS = 5  # of a map


class Studio:
    """The state of a running studio, which opens files in the folder `root` alone.

    An upload has at most `most_upload` bytes.
    """

    def __init__(self, session: Session, root: Path, most_upload: int = 0) -> None:
        self.session, self.root, self.most_upload = session, root.resolve(), most_upload
        self.hub, self.helper = Hub(), Helper()
        self.repeater = Helper()  # runs with other seeds, which take long
        self.repeating: dict[str, asyncio.Task[None]] = {}
        self.changing = asyncio.Lock()  # changes of data sets come one after the other
        self.jobs = Jobs(self._on_change, self._on_frame)

    async def start(self, file: Path | None = None) -> None:
        """Begin: open a file, and go on with fits that waited when the server was stopped."""
        self.jobs.start()
        self.helper.start()
        for one in self.session.maps.values():
            if one.status == "queued":
                self.jobs.submit(one, self._spec(one))
        known = [dataset.source["path"] for dataset in self.session.datasets.values()]
        if file is not None and str(file) not in known:
            await self.open_file(file)

    async def close(self) -> None:
        """End all processes and connections; may be called again."""
        await self.hub.close()
        self.jobs.close()
        self.helper.close()
        self.repeater.close()
        await asyncio.gather(*self.repeating.values(), return_exceptions=True)  # were refused
        self.session.close()

    def public(self) -> dict[str, Any]:
        """Everything that the page shows."""
        about = {"root": str(self.root), "version": f"lowdim {lowdim.__version__}"}
        return {**self.session.public(), **about}

    def _on_change(self, one: Map, urgent: bool) -> None:
        if urgent:
            self.session.save_map(one)
        self.hub.tell(one.id, {"type": "map", "map": one.public()})

    def _on_frame(self, one: Map, frame: int, coordinates: bytes) -> None:
        data = frame_bytes(one.number, frame, one.n, one.dim, coordinates)
        self.hub.show(one.number, one.id, data)

    # --- data -----------------------------------------------------------------------------

    async def open_toy(self, name: Any, values: Any) -> Dataset:
        """Make a classic data set."""
        toy = find_toy(name)
        if not isinstance(values, dict):
            raise Refused("values must be an object of names and numbers.")
        dataset = Dataset(new_id(), toy.title, {"toy": toy.name, "values": values})
        folder = self.session.dataset_folder(dataset)
        toy.check(values)
        folder.mkdir()
        dataset.source["path"] = str(folder / "source.npz")
        dataset.source["image_shape"] = toy.write(values, folder / "source.npz")
        return await self._prepare(dataset)

    async def open_file(self, path: Path) -> Dataset:
        """Open a file; a path inside a data set's own folder is an upload that it owns."""
        own = path.parent.parent == self.session.folder / "datasets"
        dataset = Dataset(path.parent.name if own else new_id(), path.name, {"path": str(path)})
        return await self._prepare(dataset)

    async def change_dataset(self, dataset: Dataset, changes: dict[str, Any]) -> Dataset:
        """Prepare a data set again, with other roles of its columns and so on."""
        async with self.changing:
            now = self.session.dataset(dataset.id)  # after the changes that were asked for before
            choices = now.change_choices(changes)
            return await self._prepare(replace(now, choices=choices, version=now.version + 1))

    def annotate(self, dataset: Dataset, rows: Array, text: str) -> Dataset:
        """Write a text on objects of a data set; an empty one removes what was written."""
        for row in map(str, rows.tolist()):
            dataset.annotations.pop(row, None)
            if text:
                dataset.annotations[row] = text
        self.session.save_dataset(dataset)
        self.hub.tell(dataset.id, {"type": "dataset", "dataset": dataset.public()})
        return dataset

    async def _prepare(self, dataset: Dataset) -> Dataset:
        folder = self.session.data_folder(dataset.id, dataset.version)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            dataset.about = await self.helper.ask(
                datasets.prepare, str(folder), dataset.source, dataset.choices
            )
            if dataset.version > 1:
                self.session.dataset(dataset.id)  # refused if it was removed meanwhile
        except Refused as error:
            new = dataset.version == 1
            shutil.rmtree(folder.parent if new else folder, ignore_errors=True)
            path = dataset.source["path"]
            message = str(error).replace(path, dataset.name)
            raise Refused(message.replace(repr(path), repr(dataset.name)), error.status) from error
        self.session.add_dataset(dataset)
        self.hub.tell(dataset.id, {"type": "dataset", "dataset": dataset.public()})
        await asyncio.to_thread(search.read_ahead, folder)
        return dataset

    def remove_dataset(self, dataset: Dataset) -> None:
        """Remove a data set and its maps."""
        for one in [one for one in self.session.maps.values() if one.dataset == dataset.id]:
            self.remove_map(one)
        self.session.remove_dataset(dataset)
        self.hub.tell(dataset.id, {"type": "removed", "id": dataset.id})

    def folder_of(self, dataset: Dataset) -> Path:
        """The newest data of a data set."""
        return self.session.data_folder(dataset.id, dataset.version)

    # --- maps -----------------------------------------------------------------------------

    def new_map(self, request: dict[str, Any]) -> Map:
        """Queue a fit."""
        dataset = self.session.dataset(str(request.get("dataset")))
        name = str(request.get("method"))
        parameters = check_parameters(name, request.get("parameters", {}))
        method = find(name)
        assert method is not None
        if method.objects == "labelled" and dataset.about["label"] is None:
            raise Refused(f"{name} learns from labels: choose a column of labels first.")
        rows = self._rows(request.get("rows"), dataset)
        one = Map(
            id=new_id(),
            number=self.session.take_number(),
            dataset=dataset.id,
            version=dataset.version,
            method=name,
            title=str(request.get("title") or "")[:200],
            parameters=parameters,
            initial=parameters,
            rows=None if rows is None else len(rows),
            n=dataset.about["n"] if rows is None else len(rows),
            **datasets.describe_origin(self.folder_of(dataset), dataset.about, rows),
            dim=parameters.get("n_components", 2),
            live=list(method.live),
            pace=check_pace(request.get("pace")),
        )
        start = None
        if request.get("from") is not None and "init" in method.load()().get_params():
            start = self._start(self.session.map(str(request["from"])), rows, one.dim)
        pinned = (
            _places_of_pins(request["pins"], method, rows, one) if request.get("pins") else None
        )
        self.session.add_map(one)
        folder = self.session.map_folder(one)
        if rows is not None:
            np.save(folder / "rows.npy", rows)
        if start is not None:
            np.save(folder / "start.npy", start)
            one.start = str(request["from"])
        if pinned is not None:
            np.save(folder / "pinned.npy", pinned)
            one.pins = int(np.isfinite(pinned).any(axis=1).sum())
        self.jobs.submit(one, self._spec(one))
        self._on_change(one, True)
        return one

    def _spec(self, one: Map) -> dict[str, Any]:
        """What a worker must know."""
        folder = self.session.map_folder(one)
        start, pinned = folder / "start.npy", folder / "pinned.npy"
        return {
            "data": str(self.session.data_of(one)),
            "folder": str(folder),
            "method": one.method,
            "parameters": one.parameters,
            "rows": one.rows is not None,
            "label": self.session.dataset(one.dataset).about["label"],
            "start": str(start) if start.exists() else None,
            "pinned": str(pinned) if pinned.exists() else None,
            "pace": one.pace,
        }

    def _rows(self, values: Any, dataset: Dataset) -> Array | None:
        if values is None:
            return None
        rows = np.unique(check_integers(values, dataset.about["n"], "rows"))
        if len(rows) < LEAST_OBJECTS:
            raise Refused(f"A map needs at least {LEAST_OBJECTS} objects, got {len(rows)}.")
        return rows.astype(np.int32)

    def _start(self, other: Map, rows: Array | None, dim: int) -> Array | None:
        """The coordinates of another map as a start; None if it does not show all objects."""
        Y, own = self.coordinates(other), self.rows_of(other)
        if Y is None or Y.shape[1] != dim:
            return None
        wanted = np.arange(self.session.dataset(other.dataset).about["n"]) if rows is None else rows
        place = {row: at for at, row in enumerate(own.tolist())}
        if not all(row in place for row in wanted.tolist()):
            return None
        start = Y[[place[row] for row in wanted.tolist()]]
        return start if np.isfinite(start).all() else None

    def change_map(self, one: Map, changes: dict[str, Any]) -> None:
        """Change the title of a map, or parameters of its running fit."""
        if "title" in changes:
            one.title = str(changes["title"])[:200]
        if "pace" in changes:
            one.pace = check_pace(changes["pace"])
            self.jobs.set_pace(one)
        if "parameters" in changes:
            checked = check_parameters(one.method, changes["parameters"])
            parameters = {name: checked[name] for name in changes["parameters"]}
            fixed = [name for name in parameters if name not in one.live]
            if fixed:
                raise Refused(f"{fixed[0]} cannot be changed during a fit; start a new map.", 409)
            self.jobs.change(one, parameters)
        self._on_change(one, True)

    def remove_map(self, one: Map) -> None:
        """End the fit of a map and forget it."""
        self.jobs.remove(one)
        repeating = self.repeating.pop(one.id, None)
        if repeating is not None:
            repeating.cancel()
        self.session.remove_map(one)
        self.hub.tell(one.id, {"type": "removed", "id": one.id})

    def align(self, one: Map, Y: Array, target: Map) -> Array:
        """Coordinates rotated, scaled and shifted to those of another map of the same data."""
        goal = self.coordinates(target)
        if goal is None or one.dataset != target.dataset or goal.shape[1] != Y.shape[1]:
            raise Refused("Only maps of the same data and dimension can be aligned.", 409)
        _, own, theirs = np.intersect1d(
            self.rows_of(one), self.rows_of(target), assume_unique=True, return_indices=True
        )
        both = np.isfinite(Y[own]).all(axis=1) & np.isfinite(goal[theirs]).all(axis=1)
        if both.sum() < 2:
            raise Refused("These maps have no objects in common.", 409)
        move = procrustes(goal[theirs][both], Y[own][both])
        return np.asarray(move.scale * (Y @ move.rotation) + move.shift)

    def view(self, one: Map) -> View:
        """What the helper must know of a map; refused while it has no final coordinates."""
        folder = self.session.map_folder(one)
        path = folder / "coordinates.npy"
        if not path.exists() and one.snapshots and not one.active:
            path = snapshot_path(folder, one.snapshots[-1])
        if not path.exists():
            raise Refused("This needs a finished fit.", 409)
        return self.view_of_data(one)._replace(coordinates=str(path))

    def view_of_data(self, one: Map) -> View:
        """The same for questions about the data of a map, which need no coordinates."""
        data = self.session.data_of(one)
        return View(
            data=str(data),
            folder=str(self.session.map_folder(one)),
            rows=one.rows is not None,
            method=one.method,
            metric=self._metric(data, one.parameters),
            label=self.session.dataset(one.dataset).about["label"],
        )

    def data_view(self, dataset: Dataset) -> View:
        """What the helper must know of a data set."""
        data = self.folder_of(dataset)
        label = dataset.about["label"]
        return View(data=str(data), metric=self._metric(data, {}), label=label)

    def _metric(self, data: Path, parameters: dict[str, Any]) -> str:
        metric = datasets.read_about(data)["metric"] or parameters.get("metric", "euclidean")
        return "euclidean" if metric == "minkowski" else str(metric)

    def rows_of(self, one: Map) -> Array:
        """The rows of the data set that a map shows."""
        if one.rows is None:
            return np.arange(self.session.dataset(one.dataset).about["n"], dtype=np.int32)
        return np.asarray(np.load(self.session.map_folder(one) / "rows.npy"))

    def coordinates(self, one: Map, frame: int | None = None) -> Array | None:
        """The newest coordinates of a map, or those of a snapshot; None if there are none yet."""
        folder = self.session.map_folder(one)
        if frame is not None:
            if not 0 <= frame < len(one.snapshots):
                raise Refused(f"This map has {len(one.snapshots)} snapshots.", 404)
            return self._snapshot(folder, one.snapshots[: frame + 1])
        newest = self.jobs.newest(one)
        if newest is not None:
            return np.frombuffer(newest, dtype="<f4").reshape(one.n, one.dim)
        if (folder / "coordinates.npy").exists():
            return np.asarray(np.load(folder / "coordinates.npy"))
        return self._snapshot(folder, one.snapshots) if one.snapshots else None

    def _snapshot(self, folder: Path, iterations: list[int]) -> Array:
        """The last of some snapshots that is kept: a running fit drops some of them meanwhile."""
        for iteration in reversed(iterations):
            with suppress(FileNotFoundError):
                return np.asarray(np.load(snapshot_path(folder, iteration)))
        raise Refused("This snapshot no longer exists.", 404)


def _places_of_pins(pins: Any, method: Method, rows: Array | None, one: Map) -> Array:
    """The places at which objects are held, NaN for the others; `pins` maps rows to places."""
    if not method.pins:
        raise Refused(f"{method.name} cannot hold objects at places; t-SNE and UMAP can.")
    if not isinstance(pins, dict) or not all(key.isdigit() for key in pins):
        raise Refused("pins must be an object of row numbers and places.")
    places = check_places(list(pins.values()), one.dim)
    shown = np.arange(one.n) if rows is None else rows
    at = np.searchsorted(shown, wanted := np.array([int(key) for key in pins]))
    if (at >= one.n).any() or (shown[at] != wanted).any():
        raise Refused("pins holds a row that the map does not show.")
    pinned = np.full((one.n, one.dim), np.nan)
    pinned[at] = places
    return pinned
