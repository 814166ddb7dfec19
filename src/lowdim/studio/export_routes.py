"""Routes of what can be taken away."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from lowdim.studio import export
from lowdim.studio.errors import Refused
from lowdim.studio.given import whole_numbers
from lowdim.studio.records import Map
from lowdim.studio.requests import body
from lowdim.studio.studio import Studio

TABLES = ("csv", "parquet", "npz")


def export_routes(studio: Studio) -> list[Route]:
    """The routes."""
    session = studio.session

    async def take(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        kind = request.path_params["kind"]
        dataset, data = session.dataset(one.dataset), session.data_of(one)
        if kind == "python":
            code = export.python_code(one, dataset, data, session.map_folder(one))
            return PlainTextResponse(code)
        if kind == "command":
            return PlainTextResponse(export.command_line(one, dataset, data))
        if kind == "model":
            path = session.map_folder(one) / "model.lowdim"
            if not path.exists():
                raise Refused("This needs a finished fit.", 409)
            return FileResponse(path, filename=f"{_stem(studio, one)}.lowdim")
        if kind == "report":
            return await report(request, one)
        return await _table(studio, one, kind, None)

    async def report(request: Request, one: Map) -> Response:
        others = [name for name in request.query_params.get("maps", "").split(",") if name]
        maps = [one, *(session.map(name) for name in others if name != one.id)]
        if any((two.dataset, two.version, two.rows) != (one.dataset, one.version, one.rows)
               for two in maps):  # fmt: skip
            raise Refused("A report compares maps of the same objects.", 409)
        place = _temporary(studio)
        path = place / "report.html"
        title = f"Maps of {session.dataset(one.dataset).name}"
        arguments = str(path), title, [_described(studio, two) for two in maps]
        return await _file(studio, place, path, _stem(studio, one), export.write_report, arguments)

    async def some(request: Request) -> Response:
        one = session.map(request.path_params["id"])
        asked = await body(request)
        points = whole_numbers(asked.get("points"), one.n, "points")
        return await _table(studio, one, str(asked.get("format", "csv")), points)

    return [
        Route("/api/maps/{id}/export/selection", some, methods=["POST"]),
        Route("/api/maps/{id}/export/{kind}", take),
    ]


async def _table(studio: Studio, one: Map, kind: str, points: Any) -> Response:
    if kind not in TABLES:
        raise Refused(f"There is no export {kind[:20]!r}.", 404)
    view = studio.view(one)
    place = _temporary(studio)
    path = place / f"map.{kind}"
    rows = None if one.rows is None else str(Path(view.folder) / "rows.npy")
    stem = one.method.lower()
    arguments = str(path), view.data, rows, view.coordinates, points, stem
    name = _stem(studio, one) + ("" if points is None else "-selection")
    return await _file(studio, place, path, name, export.write_table, arguments)


async def _file(
    studio: Studio, place: Path, path: Path, stem: str, write: Any, arguments: Any
) -> Response:
    """A file that the helper writes; it is deleted when it has been sent."""
    try:
        await studio.helper.ask(write, *arguments)
    except Refused:
        shutil.rmtree(place, ignore_errors=True)
        raise
    clean = BackgroundTask(shutil.rmtree, place, ignore_errors=True)
    return FileResponse(path, filename=f"{stem}{path.suffix}", background=clean)


def _temporary(studio: Studio) -> Path:
    folder = studio.session.folder / "exports"
    folder.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folder))


def _stem(studio: Studio, one: Map) -> str:
    """The beginning of a file name: the data and the method."""
    name = studio.session.dataset(one.dataset).name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{name}-{one.method}").strip("-").lower()


def _described(studio: Studio, one: Map) -> dict[str, Any]:
    """A map as the report gets it."""
    view, session = studio.view(one), studio.session
    dataset, data = session.dataset(one.dataset), session.data_of(one)
    return {
        "name": f"{one.title or one.method} {one.number}",
        "method": one.method,
        "parameters": one.parameters,
        "coordinates": view.coordinates,
        "seconds": one.seconds,
        "data": view.data,
        "rows": None if one.rows is None else str(Path(view.folder) / "rows.npy"),
        "label": view.label,
        "code": export.python_code(one, dataset, data, session.map_folder(one)),
    }
