"""Implementations of the coarse operations on which all methods are built, one per device."""

from __future__ import annotations

from lowdim.backends.protocol import Backend
from lowdim.runtime.context import current


def backend() -> Backend:
    """The backend of the device of the running computation."""
    return current().backend
