"""Reading requests and writing responses."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from lowdim.studio.errors import Refused

MOST_JSON = 64 << 20  # bytes of a request: a selection of some million points


async def body(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > MOST_JSON:
                raise Refused("The request is too large.", 413)
        found = json.loads(data)
    except (ValueError, RecursionError, ClientDisconnect) as error:
        raise Refused("The request is not JSON.") from error
    if not isinstance(found, dict):
        raise Refused("The request must be a JSON object.")
    return found


def number(request: Request, name: str, default: int | None = None) -> int | None:
    """A whole number in the query."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not given.isdigit() or len(given) > 12:
        raise Refused(f"{name} must be a whole number, got {given[:20]!r}.")
    return int(given)


def binary(values: Any, dtype: str = "<f4") -> Response:
    """An array as the page reads it: little-endian, without a header."""
    data = np.ascontiguousarray(values).astype(dtype, copy=False).tobytes()
    return Response(data, media_type="application/octet-stream")
