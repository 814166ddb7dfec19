"""The application: the page, and the routes of data sets and maps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from lowdim.studio import datasets
from lowdim.studio.errors import Refused
from lowdim.studio.export_routes import EXPORTS
from lowdim.studio.files import find_file, list_folder, store_upload
from lowdim.studio.forms import forms
from lowdim.studio.question_routes import QUESTIONS
from lowdim.studio.records import Dataset, Map
from lowdim.studio.requests import Routes, binary, check_integers, query_number, read_json
from lowdim.studio.studio import Studio
from lowdim.studio.toys import TOYS

CONTENT = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
    ".woff2": "font/woff2",
    ".png": "image/png",
}

MOST_LETTERS = 200  # of an annotation

ROUTES = Routes()


def application(studio: Studio, file: Path | None = None) -> Starlette:
    """The application, without the guard; `file` is opened at first."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await studio.start(file)
        try:
            yield
        finally:
            await studio.close()

    async def stream(socket: WebSocket) -> None:
        await studio.hub.serve(socket, studio.public)

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return JSONResponse({"error": str(error)}, error.status)

    routes = [
        Route("/", get_file),
        Route("/static/{name}", get_file),
        WebSocketRoute("/api/stream", stream),
        *(route for part in (ROUTES, QUESTIONS, EXPORTS) for route in part.bind(studio)),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={Refused: refuse})


async def get_file(request: Request) -> Response:
    """A file of the page."""
    name = request.path_params.get("name", "index.html")
    suffix = Path(name).suffix
    file = files("lowdim").joinpath("web", name)
    if suffix not in CONTENT or Path(name).name != name or not file.is_file():
        raise Refused(f"There is no {name[:80]}.", 404)
    return Response(file.read_bytes(), media_type=CONTENT[suffix])


@ROUTES.add("GET", "/api/state")
def get_state(studio: Studio, _: None, request: Request) -> Any:
    return studio.public()


@ROUTES.add("PUT", "/api/layout")
async def put_layout(studio: Studio, _: None, request: Request) -> Any:
    studio.session.save_layout(await read_json(request))
    return {}


@ROUTES.add("GET", "/api/methods")
def list_methods(studio: Studio, _: None, request: Request) -> Any:
    return forms()


@ROUTES.add("GET", "/api/toys")
def list_toys(studio: Studio, _: None, request: Request) -> Any:
    return [toy.public() for toy in TOYS.values()]


@ROUTES.add("GET", "/api/files")
def list_files(studio: Studio, _: None, request: Request) -> Any:
    return list_folder(studio.root, request.query_params.get("path", ""))


# --- data sets ------------------------------------------------------------------------------


@ROUTES.add("POST", "/api/datasets", 201)
async def open_dataset(studio: Studio, _: None, request: Request) -> Any:
    body = await read_json(request)
    if "toy" in body:
        return (await studio.open_toy(body["toy"], body.get("values", {}))).public()
    return (await studio.open_file(find_file(studio.root, body.get("path")))).public()


@ROUTES.add("PUT", "/api/uploads/{name}", 201)
async def upload(studio: Studio, _: None, request: Request) -> Any:
    path = await store_upload(request, studio.session.folder / "datasets", studio.most_upload)
    return (await studio.open_file(path)).public()


@ROUTES.add("PATCH", "/api/datasets/{id}")
async def change_dataset(studio: Studio, dataset: Dataset, request: Request) -> Any:
    return (await studio.change_dataset(dataset, await read_json(request))).public()


@ROUTES.add("PATCH", "/api/datasets/{id}/annotations")
async def annotate(studio: Studio, dataset: Dataset, request: Request) -> Any:
    body = await read_json(request)
    rows, text = check_integers(body.get("rows"), dataset.about["n"], "rows"), body.get("text")
    if not isinstance(text, str) or len(text) > MOST_LETTERS:
        raise Refused(f"text must be a string of at most {MOST_LETTERS} characters.")
    return studio.annotate(dataset, rows, text.strip()).public()


@ROUTES.add("DELETE", "/api/datasets/{id}")
def remove_dataset(studio: Studio, dataset: Dataset, request: Request) -> Any:
    studio.remove_dataset(dataset)
    return {}


@ROUTES.add("GET", "/api/datasets/{id}/values/{column:path}")
def get_values(studio: Studio, dataset: Dataset, request: Request) -> Any:
    name = request.path_params["column"]
    values = datasets.read_column(studio.folder_of(dataset), name)
    if values is None:
        raise Refused(f"The values of column {name[:80]!r} are not kept.", 404)
    return (
        values if isinstance(values, np.ndarray) else values | {"codes": values["codes"].tolist()}
    )


# --- maps -----------------------------------------------------------------------------------


@ROUTES.add("POST", "/api/maps", 201)
async def new_map(studio: Studio, _: None, request: Request) -> Any:
    return studio.new_map(await read_json(request)).public()


@ROUTES.add("GET", "/api/maps/{id}")
def get_map(studio: Studio, one: Map, request: Request) -> Any:
    return one.public()


@ROUTES.add("PATCH", "/api/maps/{id}")
async def change_map(studio: Studio, one: Map, request: Request) -> Any:
    studio.change_map(one, await read_json(request))
    return one.public()


@ROUTES.add("DELETE", "/api/maps/{id}")
def remove_map(studio: Studio, one: Map, request: Request) -> Any:
    studio.remove_map(one)
    return {}


@ROUTES.add("GET", "/api/maps/{id}/rows")
def get_rows(studio: Studio, one: Map, request: Request) -> Any:
    return binary(studio.rows_of(one), "<i4")


@ROUTES.add("GET", "/api/maps/{id}/coordinates")
async def get_coordinates(studio: Studio, one: Map, request: Request) -> Any:
    Y = studio.coordinates(one, query_number(request, "frame"))
    if Y is None:
        raise Refused("This map has no coordinates yet.", 404)
    target = request.query_params.get("aligned_to")
    if target is None:
        return Y
    return await asyncio.to_thread(studio.align, one, Y, studio.session.map(target))


@ROUTES.add("POST", "/api/maps/{id}/pause")
@ROUTES.add("POST", "/api/maps/{id}/continue")
@ROUTES.add("POST", "/api/maps/{id}/step")
@ROUTES.add("POST", "/api/maps/{id}/stop")
def command(studio: Studio, one: Map, request: Request) -> Any:
    studio.jobs.command(one, request.url.path.rpartition("/")[2])
    return one.public()
