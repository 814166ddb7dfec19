"""Routes of questions about data sets and maps."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lowdim.checks import Array
from lowdim.report.payload import png
from lowdim.studio import datasets, questions, search
from lowdim.studio.errors import Refused
from lowdim.studio.records import Dataset, Map
from lowdim.studio.requests import (
    Routes,
    binary,
    check_integers,
    check_places,
    query_number,
    read_json,
)
from lowdim.studio.studio import Studio

MOST_NEIGHBORS = 200
MOST_LETTERS = 200  # of a query
MOST_NAMES = 1000  # of objects that are asked for at once
MOST_VALUES = 400  # of a record or a decoded object
MOST_DECODED = 32  # places that are decoded at once

QUESTIONS = Routes()


@QUESTIONS.add("GET", "/api/datasets/{id}/records/{row:int}")
def get_record(studio: Studio, dataset: Dataset, request: Request) -> Any:
    row = _check_index(request, "row", dataset.about["n"])
    folder = studio.folder_of(dataset)
    ids = datasets.read_about(folder)["ids"]
    names = [one["name"] for one in dataset.about["columns"]]
    if fields := set(request.query_params.getlist("field")):
        names = [name for name in names if name in fields]
    names = names[:MOST_VALUES]
    values = {name: datasets.read_value(folder, name, row) for name in names}
    images = dataset.about["images"]
    return {
        "row": row,
        "id": None if ids is None else ids[row],
        "label": values.get(dataset.about["label"]),
        "values": list(values.items()),
        "image": f"/api/datasets/{dataset.id}/images/{row}" if images else None,
    }


@QUESTIONS.add("GET", "/api/datasets/{id}/names")
def get_names(studio: Studio, dataset: Dataset, request: Request) -> Any:
    text = request.query_params.get("rows", "")
    numbers = [int(one) if one.isdigit() else -1 for one in text.split(",")[:MOST_NAMES]]
    rows = check_integers(numbers, dataset.about["n"], "rows")
    ids = datasets.read_about(studio.folder_of(dataset))["ids"]
    return [f"row {row}" if ids is None else ids[row] for row in rows.tolist()]


@QUESTIONS.add("GET", "/api/datasets/{id}/search")
async def get_search(studio: Studio, dataset: Dataset, request: Request) -> Any:
    folder, query = studio.folder_of(dataset), request.query_params.get("query", "")[:MOST_LETTERS]
    hits = await asyncio.to_thread(search.search, folder, query)
    if request.query_params.get("all"):
        return binary(search.all_rows(hits), "<u4")
    return search.describe_hits(folder, hits)


@QUESTIONS.add("GET", "/api/datasets/{id}/images/{row:int}")
def get_image(studio: Studio, dataset: Dataset, request: Request) -> Any:
    row = _check_index(request, "row", dataset.about["n"])
    path = studio.folder_of(dataset) / "images.npy"
    if not path.exists():
        raise Refused("The objects of this data set are not images.", 404)
    pixels = np.ascontiguousarray(np.load(path, mmap_mode="r")[row])
    return Response(png(pixels), media_type="image/png")


@QUESTIONS.add("GET", "/api/datasets/{id}/suspects")
async def get_suspects(studio: Studio, dataset: Dataset, request: Request) -> Any:
    limit = query_number(request, "limit", 50)
    return await studio.helper.ask(questions.suspects, studio.data_view(dataset), limit)


@QUESTIONS.add("GET", "/api/maps/{id}/quality")
async def get_quality(studio: Studio, one: Map, request: Request) -> Any:
    return await studio.helper.ask(questions.map_quality, studio.view(one))


@QUESTIONS.add("GET", "/api/maps/{id}/regions")
async def get_regions(studio: Studio, one: Map, request: Request) -> Any:
    ask = questions.region_of_points if request.query_params.get("points") else questions.regions
    return await studio.helper.ask(ask, studio.view(one))


@QUESTIONS.add("GET", "/api/maps/{id}/reasons")
async def get_reasons(studio: Studio, one: Map, request: Request) -> Any:
    points = request.query_params.get("points")
    ask = questions.changes_at_points if points else questions.reasons
    return await studio.helper.ask(ask, studio.view(one))


@QUESTIONS.add("GET", "/api/maps/{id}/errors")
async def get_errors(studio: Studio, one: Map, request: Request) -> Any:
    kind = request.query_params.get("kind")
    if kind == "spread":
        runs = _runs(studio, one)
        return JSONResponse({}, 202) if runs is None else runs["spread"]
    if kind == "changed":
        views = studio.view(one), _other_view(studio, one, request)
        return await studio.helper.ask(questions.changed_neighbors, *views)
    if kind not in ("torn", "false", "doubt"):
        raise Refused("kind must be torn, false, doubt, changed or spread.")
    return await studio.helper.ask(questions.point_errors, studio.view(one), kind)


@QUESTIONS.add("GET", "/api/maps/{id}/changes")
async def get_changes(studio: Studio, one: Map, request: Request) -> Any:
    views = studio.view(one), _other_view(studio, one, request)
    return await studio.helper.ask(questions.changes, *views)


def _other_view(studio: Studio, one: Map, request: Request) -> datasets.View:
    """The map that a map is compared with."""
    other = studio.session.map(request.query_params.get("other", ""))
    if other.dataset != one.dataset:
        raise Refused("Maps of different data sets have no objects in common.", 409)
    return studio.view(other)


@QUESTIONS.add("GET", "/api/maps/{id}/stability")
async def get_stability(studio: Studio, one: Map, request: Request) -> Any:
    runs = _runs(studio, one)
    if runs is None:
        return JSONResponse({}, 202)
    spread = [None if np.isnan(value) else float(value) for value in runs["spread"]]
    about = {key: runs[key].item() for key in ("score", "text", "how")}
    return {**about, "runs": len(runs["maps"]), "spread": spread}


@QUESTIONS.add("GET", "/api/maps/{id}/stability/{run:int}")
async def get_run(studio: Studio, one: Map, request: Request) -> Any:
    runs, run = _runs(studio, one), int(request.path_params["run"])
    if runs is None or run >= len(runs["maps"]):
        raise Refused("There is no such run.", 404)
    return runs["maps"][run]


def _runs(studio: Studio, one: Map) -> Any:
    """The maps of other seeds; None while they are computed."""
    path = studio.session.map_folder(one) / "stability.npz"
    if not path.exists():
        task = studio.repeating.get(one.id)
        if task is None:
            repeating = studio.repeater.ask(
                questions.stability, studio.view(one), one.method, one.parameters, str(path)
            )
            task = studio.repeating[one.id] = asyncio.create_task(repeating)
        if not task.done():
            return None
        del studio.repeating[one.id]
        task.result()  # raises what was refused
    return np.load(path, allow_pickle=False)


@QUESTIONS.add("GET", "/api/maps/{id}/neighbors/{point:int}")
async def get_neighbors(studio: Studio, one: Map, request: Request) -> Any:
    point = _check_index(request, "point", one.n)
    k = min(query_number(request, "k") or 10, MOST_NEIGHBORS)
    view = studio.view_of_data(one)
    answer = await studio.helper.ask(questions.neighbors, view, point, k)
    if request.query_params.get("contrast"):
        near = answer["neighbors"]
        answer["contrast"] = await studio.helper.ask(questions.contrast, view, point, near)
    return answer


@QUESTIONS.add("POST", "/api/maps/{id}/selection")
async def describe_selection(studio: Studio, one: Map, request: Request) -> Any:
    points = check_integers((await read_json(request)).get("points"), one.n, "points")
    return await studio.helper.ask(questions.selection, studio.view_of_data(one), one.n, points)


@QUESTIONS.add("POST", "/api/maps/{id}/decode")
async def decode(studio: Studio, one: Map, request: Request) -> Any:
    places = check_places((await read_json(request)).get("places"), one.dim)
    if len(places) > MOST_DECODED:
        raise Refused(f"At most {MOST_DECODED} places are decoded at once.")
    view = studio.view(one)
    rows = await studio.helper.ask(questions.decode, view, places)
    names = datasets.read_about(Path(view.data))["features"][:MOST_VALUES]
    images = studio.session.dataset(one.dataset).about["images"]
    return [
        {
            "image": _image_url(images, row),
            "values": list(zip(names, row.tolist(), strict=False)),
        }
        for row in rows
    ]


def _image_url(images: dict[str, Any] | None, values: Array) -> str | None:
    """A decoded object as an image, if the objects of the data set are images."""
    if images is None or len(values) != int(np.prod(images["shape"])):
        return None
    span = (images["high"] - images["low"]) or 1
    pixels = np.clip((values - images["low"]) * (255 / span), 0, 255).astype(np.uint8)
    encoded = b64encode(png(pixels.reshape(images["shape"]))).decode("ascii")
    return f"data:image/png;base64,{encoded}"


def _check_index(request: Request, name: str, below: int) -> int:
    index = int(request.path_params[name])
    if index >= below:
        raise Refused(f"{name} must be less than {below}.", 404)
    return index
