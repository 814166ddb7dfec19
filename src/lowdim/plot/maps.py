"""Maps as users give them: estimators or arrays, one, several, or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def maps_by_name(maps: Any) -> list[tuple[str, Any]]:
    """The maps with their names; those of estimators are the names of their classes."""
    if maps is None:
        return []
    if isinstance(maps, Mapping):
        return [(str(name), one) for name, one in maps.items()]
    single = hasattr(maps, "fit") or hasattr(maps, "shape")
    listed = [maps] if single else list(maps)
    names = [type(one).__name__ if hasattr(one, "fit") else "map" for one in listed]
    return [
        (name if names.count(name) == 1 else f"{name} {place}", one)
        for place, (name, one) in enumerate(zip(names, listed, strict=True), start=1)
    ]
