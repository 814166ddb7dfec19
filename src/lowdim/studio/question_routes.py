"""Routes of questions about data and maps."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lowdim.checks import Array
from lowdim.report.payload import png
from lowdim.studio import datasets, questions
from lowdim.studio.errors import Refused
from lowdim.studio.given import whole_numbers
from lowdim.studio.requests import binary, body, number
from lowdim.studio.studio import Studio

MOST_NEIGHBORS = 200
MOST_VALUES = 400  # of a record or a decoded object


def question_routes(studio: Studio) -> list[Route]:
    """The routes; those of a data set first."""
    session = studio.session

    async def record(request: Request) -> Response:
        dataset = session.dataset(request.path_params["id"])
        row = _place(request, "row", dataset.about["n"])
        folder = studio.folder_of(dataset)
        about = datasets.read_about(folder)
        values = []
        for one in dataset.about["columns"][:MOST_VALUES]:
            values.append([one["name"], _value(folder, about, one["name"], row)])
        known = dict(values)
        images = dataset.about["images"]
        return JSONResponse(
            {
                "row": row,
                "id": None if about["ids"] is None else about["ids"][row],
                "label": known.get(dataset.about["label"]),
                "values": values,
                "image": f"/api/datasets/{dataset.id}/images/{row}" if images else None,
            }
        )

    async def image(request: Request) -> Response:
        dataset = session.dataset(request.path_params["id"])
        row = _place(request, "row", dataset.about["n"])
        path = studio.folder_of(dataset) / "images.npy"
        if not path.exists():
            raise Refused("The objects of this data set are not images.", 404)
        pixels = np.ascontiguousarray(np.load(path, mmap_mode="r")[row])
        return Response(png(pixels), media_type="image/png")

    async def suspects(request: Request) -> Response:
        dataset = session.dataset(request.path_params["id"])
        view = studio.data_view(dataset)
        if view.label is None:
            raise Refused("Choose a column of labels first.", 409)
        limit = number(request, "limit", 50)
        return JSONResponse(await studio.helper.ask(questions.suspects, view, limit))

    async def quality(request: Request) -> Response:
        view = studio.view(session.map(request.path_params["id"]))
        return JSONResponse(await studio.helper.ask(questions.map_quality, view))

    async def errors(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        kind = request.query_params.get("kind")
        if kind == "spread":
            found = await _repeated(studio, one)
            return JSONResponse({}, 202) if found is None else binary(found["spread"])
        if kind not in ("torn", "false"):
            raise Refused("kind must be torn, false or spread.")
        return binary(await studio.helper.ask(questions.point_errors, studio.view(one), kind))

    async def stability(request: Request) -> Response:
        found = await _repeated(studio, session.map(request.path_params["id"]))
        if found is None:
            return JSONResponse({}, 202)
        spread = found["spread"].astype(float)
        listed = [None if np.isnan(one) else float(one) for one in spread]
        about = {key: found[key].item() for key in ("score", "text", "how")}
        return JSONResponse({**about, "runs": len(found["maps"]), "spread": listed})

    async def repeated(request: Request) -> Response:
        found = await _repeated(studio, session.map(request.path_params["id"]))
        run = int(request.path_params["run"])
        if found is None or run >= len(found["maps"]):
            raise Refused("There is no such run.", 404)
        return binary(found["maps"][run])

    async def neighbors(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        point = _place(request, "point", one.n)
        k = min(number(request, "k", 10) or 10, MOST_NEIGHBORS)
        view = studio.view_of_data(one)
        return JSONResponse(await studio.helper.ask(questions.neighbors, view, point, k))

    async def selection(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        points = whole_numbers((await body(request)).get("points"), one.n, "points")
        view = studio.view_of_data(one)
        answer = await studio.helper.ask(questions.selection, view, one.n, points)
        return JSONResponse(answer)

    async def decode(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        y = (await body(request)).get("y")
        if not isinstance(y, list) or not all(isinstance(v, int | float) for v in y):
            raise Refused("y must be a list of numbers.")
        view = studio.view(one)
        found = await studio.helper.ask(questions.decode, view, y)
        return JSONResponse(_decoded(session.dataset(one.dataset).about, Path(view.data), found))

    return [
        Route("/api/datasets/{id}/records/{row:int}", record),
        Route("/api/datasets/{id}/images/{row:int}", image),
        Route("/api/datasets/{id}/suspects", suspects),
        Route("/api/maps/{id}/quality", quality),
        Route("/api/maps/{id}/errors", errors),
        Route("/api/maps/{id}/stability", stability),
        Route("/api/maps/{id}/stability/{run:int}", repeated),
        Route("/api/maps/{id}/neighbors/{point:int}", neighbors),
        Route("/api/maps/{id}/selection", selection, methods=["POST"]),
        Route("/api/maps/{id}/decode", decode, methods=["POST"]),
    ]


def _place(request: Request, name: str, below: int) -> int:
    place = int(request.path_params[name])
    if place >= below:
        raise Refused(f"{name} must be less than {below}.", 404)
    return place


def _value(folder: Path, about: dict[str, Any], name: str, row: int) -> Any:
    """One value of a column; None if it is missing."""
    if name in about["texts"]:
        return about["texts"][name][row]
    kind, place = about["places"][name]
    if kind == "number":
        value = float(np.load(folder / "numbers.npy", mmap_mode="r")[place, row])
        return value if np.isfinite(value) else None
    code = int(np.load(folder / "codes.npy", mmap_mode="r")[place, row])
    return None if code < 0 else about["categories"][name][code]


async def _repeated(studio: Studio, one: Any) -> Any:
    """The maps of other seeds; None while they are computed."""
    path = studio.session.map_folder(one) / "stability.npz"
    if path.exists():
        return np.load(path, allow_pickle=False)
    if one.id not in studio.repeating:
        view = studio.view(one)
        asked = studio.repeater.ask(
            questions.stability, view, one.method, one.parameters, str(path)
        )
        studio.repeating[one.id] = asyncio.create_task(asked)
    task = studio.repeating[one.id]
    if not task.done():
        return None
    del studio.repeating[one.id]
    task.result()  # raises what was refused
    return np.load(path, allow_pickle=False)


def _decoded(about: dict[str, Any], data: Path, found: Array) -> dict[str, Any]:
    """A decoded object as the page gets it: an image, or its features."""
    picture = None
    images = about["images"]
    if images is not None and len(found) == int(np.prod(images["shape"])):
        span = (images["high"] - images["low"]) or 1
        bytes_ = np.clip((found - images["low"]) * (255 / span), 0, 255).astype(np.uint8)
        data_png = png(bytes_.reshape(images["shape"]))
        picture = "data:image/png;base64," + b64encode(data_png).decode("ascii")
    names = datasets.read_about(data)["features"]
    values = [[name, float(value)] for name, value in zip(names, found, strict=False)]
    return {"image": picture, "values": values[:MOST_VALUES]}
