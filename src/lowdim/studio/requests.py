"""Routes, the checks of what the page sends, and responses."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lowdim.checks import Array
from lowdim.studio.errors import Refused

if TYPE_CHECKING:
    from lowdim.studio.studio import Studio

MOST_PLACES = 100_000  # of a map, that are sent at once
MOST_JSON = 64 << 20  # bytes of a request: a selection of some million points

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Routes:
    """Collects functions that answer requests.

    A function gets the studio, the map or data set of the path's `{id}` (None if it has none) and
    the request. It returns a response, an array, or what becomes JSON.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, Callable[..., Any]]] = []

    def add(self, method: str, path: str, status: int = 200) -> Callable[[Handler], Handler]:
        """Decorator of a function that answers requests, with its status on success."""

        def keep(handler: Handler) -> Handler:
            self.rows.append((method, path, status, handler))
            return handler

        return keep

    def bind(self, studio: Studio) -> list[Route]:
        """The routes of a studio."""
        return [_route(studio, *row) for row in self.rows]


def _route(
    studio: Studio, method: str, path: str, status: int, handler: Callable[..., Any]
) -> Route:
    kind = path.split("/")[2]
    find = {"maps": studio.session.map, "datasets": studio.session.dataset}.get(kind)

    async def answer(request: Request) -> Response:
        name = request.path_params.get("id")
        value = handler(studio, find(name) if find and name else None, request)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, Response):
            return value
        return binary(value) if isinstance(value, np.ndarray) else JSONResponse(value, status)

    return Route(path, answer, methods=[method])


def binary(values: Any, dtype: str = "<f4") -> Response:
    """An array as the page reads it: little-endian, without a header."""
    data = np.ascontiguousarray(values).astype(dtype, copy=False).tobytes()
    return Response(data, media_type="application/octet-stream")


async def read_json(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > MOST_JSON:
                raise Refused("The request is too large.", 413)
        value = json.loads(data)
    except (ValueError, RecursionError, ClientDisconnect) as error:
        raise Refused("The request is not JSON.") from error
    if not isinstance(value, dict):
        raise Refused("The request must be a JSON object.")
    return value


def query_number(request: Request, name: str, default: int | None = None) -> int | None:
    """A whole number in the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdigit() or len(text) > 12:
        raise Refused(f"{name} must be a whole number, got {text[:20]!r}.")
    return int(text)


def check_integers(values: Any, below: int, name: str) -> Array:
    """A list of whole numbers of the page as an array."""
    if not isinstance(values, list) or not all(type(one) is int for one in values):
        raise Refused(f"{name} must be a list of whole numbers.")
    numbers = np.array(values, dtype=np.int64)
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < below):
        raise Refused(f"{name} must be between 0 and {below - 1}.")
    return numbers


def check_places(values: Any, dim: int) -> list[list[float]]:
    """Places of a map of `dim` dimensions that the page sent, at least one."""
    if not isinstance(values, list) or not 0 < len(values) <= MOST_PLACES:
        raise Refused(f"places must be a list of 1 to {MOST_PLACES} places of the map.")
    for place in values:
        numbers = isinstance(place, list) and all(type(one) in (int, float) for one in place)
        if not numbers or len(place) != dim or not np.isfinite(place).all():
            raise Refused(f"A place of this map must be a list of {dim} numbers.")
    return values
