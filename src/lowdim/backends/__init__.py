"""Implementations of the coarse operations on which all methods are built, one per device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowdim.runtime.context import current

if TYPE_CHECKING:
    from lowdim.backends.native import Backend


def backend() -> Backend:
    """The backend of the device of the running computation."""
    return current().backend
