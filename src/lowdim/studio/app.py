"""The routes of the studio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

import lowdim
from lowdim.studio import datasets
from lowdim.studio.errors import Refused
from lowdim.studio.export_routes import export_routes
from lowdim.studio.files import listing, openable, store_upload
from lowdim.studio.forms import forms
from lowdim.studio.question_routes import question_routes
from lowdim.studio.requests import binary, body, number
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

COMMANDS = ("pause", "continue", "step", "stop")


def application(studio: Studio, *, most_upload: int, opened: Path | None = None) -> Starlette:
    """The application, without the guard.

    Parameters
    ----------
    studio : Studio
    most_upload : int
        Largest size of an upload in bytes.
    opened : Path, default=None
        A file to open at first.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await studio.start(opened)
        try:
            yield
        finally:
            await studio.close()

    async def stream(socket: WebSocket) -> None:
        await studio.hub.serve(socket, lambda: state(studio))

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        WebSocketRoute("/api/stream", stream),
        *data_routes(studio, most_upload),
        *map_routes(studio),
        *question_routes(studio),
        *export_routes(studio),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={Refused: refused})


def state(studio: Studio) -> dict[str, Any]:
    """Everything that the page shows."""
    about = {"root": str(studio.root), "version": f"lowdim {lowdim.__version__}"}
    return {**studio.session.public(), **about}


async def refused(request: Request, error: Exception) -> Response:
    """A refusal as the page gets it."""
    assert isinstance(error, Refused)
    return JSONResponse({"error": str(error)}, error.status)


# --- the page -----------------------------------------------------------------------------


async def page(request: Request) -> Response:
    return _resource("index.html")


async def static(request: Request) -> Response:
    return _resource(request.path_params["name"])


def _resource(name: str) -> Response:
    suffix = Path(name).suffix
    found = files("lowdim").joinpath("web", name)
    if suffix not in CONTENT or Path(name).name != name or not found.is_file():
        raise Refused(f"There is no {name[:80]}.", 404)
    return Response(found.read_bytes(), media_type=CONTENT[suffix])


# --- data ---------------------------------------------------------------------------------


def data_routes(studio: Studio, most_upload: int) -> list[Route]:
    session = studio.session

    async def get_state(request: Request) -> Response:
        return JSONResponse(state(studio))

    async def put_layout(request: Request) -> Response:
        session.save_layout(await body(request))
        return JSONResponse({})

    async def methods(request: Request) -> Response:
        return JSONResponse(forms())

    async def toys(request: Request) -> Response:
        return JSONResponse([toy.public() for toy in TOYS.values()])

    async def list_files(request: Request) -> Response:
        return JSONResponse(listing(studio.root, request.query_params.get("path", "")))

    async def open_data(request: Request) -> Response:
        asked = await body(request)
        if "toy" in asked:
            dataset = await studio.open_toy(asked["toy"], asked.get("values", {}))
        else:
            path = openable(studio.root, asked.get("path"))
            dataset = await studio.open_file(path, path.name)
        return JSONResponse(dataset.public(), 201)

    async def upload(request: Request) -> Response:
        path = await store_upload(request, session.folder / "datasets", most_upload)
        dataset = await studio.open_file(path, path.name)
        return JSONResponse(dataset.public(), 201)

    async def change(request: Request) -> Response:
        dataset = session.dataset(request.path_params["id"])
        changed = await studio.change_dataset(dataset, await body(request))
        return JSONResponse(changed.public())

    async def remove(request: Request) -> Response:
        studio.remove_dataset(session.dataset(request.path_params["id"]))
        return JSONResponse({})

    async def values(request: Request) -> Response:
        dataset = session.dataset(request.path_params["id"])
        name = request.path_params["column"]
        found = datasets.read_column(studio.folder_of(dataset), name)
        if found is None:
            raise Refused(f"The values of column {name[:80]!r} are not kept.", 404)
        return JSONResponse(found) if isinstance(found, dict) else binary(found)

    return [
        Route("/api/state", get_state),
        Route("/api/layout", put_layout, methods=["PUT"]),
        Route("/api/methods", methods),
        Route("/api/toys", toys),
        Route("/api/files", list_files),
        Route("/api/datasets", open_data, methods=["POST"]),
        Route("/api/uploads/{name}", upload, methods=["PUT"]),
        Route("/api/datasets/{id}", change, methods=["PATCH"]),
        Route("/api/datasets/{id}", remove, methods=["DELETE"]),
        Route("/api/datasets/{id}/values/{column:path}", values),
    ]


# --- maps ---------------------------------------------------------------------------------


def map_routes(studio: Studio) -> list[Route]:
    session = studio.session

    async def new(request: Request) -> Response:
        return JSONResponse(studio.new_map(await body(request)).public(), 201)

    async def get(request: Request) -> Response:
        return JSONResponse(session.map(request.path_params["id"]).public())

    async def command(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        studio.jobs.command(one, request.url.path.rpartition("/")[2])
        return JSONResponse(one.public())

    async def change(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        studio.change_map(one, await body(request))
        return JSONResponse(one.public())

    async def remove(request: Request) -> Response:
        studio.remove_map(session.map(request.path_params["id"]))
        return JSONResponse({})

    async def rows(request: Request) -> Response:
        return binary(studio.rows_of(session.map(request.path_params["id"])), "<i4")

    async def coordinates(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        Y = studio.coordinates(one, number(request, "frame"))
        if Y is None:
            raise Refused("This map has no coordinates yet.", 404)
        target = request.query_params.get("aligned_to")
        if target is not None:
            Y = await asyncio.to_thread(studio.aligned, one, Y, session.map(target))
        return binary(Y)

    return [
        Route("/api/maps", new, methods=["POST"]),
        Route("/api/maps/{id}", get),
        Route("/api/maps/{id}", change, methods=["PATCH"]),
        Route("/api/maps/{id}", remove, methods=["DELETE"]),
        Route("/api/maps/{id}/rows", rows),
        Route("/api/maps/{id}/coordinates", coordinates),
        *(Route(f"/api/maps/{{id}}/{name}", command, methods=["POST"]) for name in COMMANDS),
    ]
