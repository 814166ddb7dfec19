"""Routes of exports."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from lowdim.studio import datasets, export
from lowdim.studio.errors import Refused
from lowdim.studio.records import Map
from lowdim.studio.requests import Routes, check_integers, read_json
from lowdim.studio.studio import Studio

TABLES = ("csv", "parquet", "npz")
FIGURES = ("figure.pdf", "figure.svg", "figure.png")

EXPORTS = Routes()


@EXPORTS.add("POST", "/api/maps/{id}/export/selection")
async def export_selection(studio: Studio, one: Map, request: Request) -> Any:
    body = await read_json(request)
    points = check_integers(body.get("points"), one.n, "points")
    return await _table(studio, one, str(body.get("format", "csv")), points)


@EXPORTS.add("GET", "/api/maps/{id}/export/{kind}")
async def export_map(studio: Studio, one: Map, request: Request) -> Any:
    session, kind = studio.session, request.path_params["kind"]
    if kind == "python":
        return PlainTextResponse(_python_code(studio, one))
    if kind == "command":
        dataset = session.dataset(one.dataset)
        return PlainTextResponse(export.command_line(one, dataset, session.data_of(one)))
    if kind == "model":
        path = session.map_folder(one) / "model.lowdim"
        if not path.exists():
            raise Refused("This needs a finished fit.", 409)
        return FileResponse(path, filename=f"{_stem(studio, one)}.lowdim")
    if kind == "report":
        return await _report(studio, one, request.query_params.get("maps", "").split(","))
    if kind in FIGURES:
        return await _figure(studio, one, kind.partition(".")[2], request)
    return await _table(studio, one, kind, None)


async def _figure(studio: Studio, one: Map, ending: str, request: Request) -> Response:
    query = request.query_params
    color, legend = query.get("color", ""), query.get("legend", "map")
    if legend not in ("map", "inside", "beside", "none"):
        raise Refused("legend must be map, inside, beside or none.")
    view = studio.view(one)
    column = color.removeprefix("column:")
    if column != color and column not in datasets.read_about(Path(view.data))["places"]:
        raise Refused(f"No column {column[:80]!r} can colour the points.", 404)
    name = f"{_stem(studio, one)}.{ending}"
    title, shows = one.title or one.method, query.getlist("show")
    return await _file(studio, name, export.write_figure, view, title, legend, color, shows)


async def _report(studio: Studio, one: Map, others: list[str]) -> Response:
    maps = [one, *(studio.session.map(name) for name in others if name not in ("", one.id))]
    if len({(two.dataset, two.version, two.rows) for two in maps}) > 1:
        raise Refused("A report compares maps of the same objects.", 409)
    title = f"Maps of {studio.session.dataset(one.dataset).name}"
    described = [
        {
            "name": f"{two.title or two.method} {two.number}",
            "method": two.method,
            "parameters": two.parameters,
            "seconds": two.seconds,
            "view": studio.view(two),
            "code": _python_code(studio, two),
        }
        for two in maps
    ]
    return await _file(studio, f"{_stem(studio, one)}.html", export.write_report, title, described)


async def _table(studio: Studio, one: Map, kind: str, points: Any) -> Response:
    if kind not in TABLES:
        raise Refused(f"There is no export {kind[:20]!r}.", 404)
    name = f"{_stem(studio, one)}{'' if points is None else '-selection'}.{kind}"
    annotations = studio.session.dataset(one.dataset).annotations
    return await _file(studio, name, export.write_table, studio.view(one), points, annotations)


async def _file(studio: Studio, name: str, write: Callable[..., None], *arguments: Any) -> Response:
    """A file that the helper writes; it is deleted when it has been sent."""
    exports = studio.session.folder / "exports"
    exports.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=exports))
    try:
        await studio.helper.ask(write, str(folder / name), *arguments)
    except Refused:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    clean = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(folder / name, filename=name, background=clean)


def _stem(studio: Studio, one: Map) -> str:
    """The beginning of a file name: the data and the method."""
    name = studio.session.dataset(one.dataset).name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{name}-{one.method}").strip("-").lower()


def _python_code(studio: Studio, one: Map) -> str:
    session = studio.session
    dataset, folder = session.dataset(one.dataset), session.map_folder(one)
    return export.python_code(one, dataset, session.data_of(one), folder)
