"""Routes of questions about data and maps."""

from __future__ import annotations

from starlette.routing import Route

from lowdim.studio.studio import Studio


def question_routes(studio: Studio) -> list[Route]:
    return []
