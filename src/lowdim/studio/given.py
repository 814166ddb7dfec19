"""Checks of what the page sends."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.studio.errors import Refused
from lowdim.studio.records import Dataset


def whole_numbers(given: Any, below: int, name: str) -> Array:
    """A list of whole numbers of the page as an array."""
    if not isinstance(given, list) or not all(type(one) is int for one in given):
        raise Refused(f"{name} must be a list of whole numbers.")
    found = np.array(given, dtype=np.int64)
    if len(found) and not (found.min() >= 0 and found.max() < below):
        raise Refused(f"{name} must be between 0 and {below - 1}.")
    return found


def pace_of(given: Any) -> float | None:
    """Iterations per second; None: as fast as the fit can."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0.1 <= given <= 1e6:
        raise Refused("pace must be a number of iterations per second, or null.")
    return float(given)


def texts_of(given: Any, name: str) -> dict[str, str]:
    """An object of names and texts."""
    if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
        raise Refused(f"{name} must be an object of texts.")
    return given


def changed_choices(dataset: Dataset, changes: dict[str, Any]) -> dict[str, Any]:
    """The choices of a data set after a change of roles, label, ids, preparation or images."""
    choices = dict(dataset.choices)
    if changes.keys() & {"roles", "label", "ids"}:
        roles = {one["name"]: one["role"] for one in dataset.about["columns"]}
        roles |= texts_of(changes.get("roles", {}), "roles")
        if changes.get("ids") in roles:
            roles[changes["ids"]] = "id"
        if changes.get("label") in roles and roles[changes["label"]] != "label":
            roles[changes["label"]] = "label"
        choices["roles"] = roles
        kinds = {one["name"]: one["kind"] for one in dataset.about["columns"]}
        choices["text_features"] = any(
            role == "feature" and kinds.get(name) != "number" for name, role in roles.items()
        )
        choices["more"] = dataset.about["more"]
    for key in ("label", "standardize", "missing", "images"):
        if key in changes:
            choices[key] = changes[key]
    return choices
