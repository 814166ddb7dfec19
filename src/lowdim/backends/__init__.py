"""The engines that compute the primitives; `backend()` is that of the running computation."""

from __future__ import annotations

from lowdim.backends.protocol import Backend
from lowdim.runtime.context import current


def backend() -> Backend:
    """The engine of the device that the running computation was given."""
    return current().backend
