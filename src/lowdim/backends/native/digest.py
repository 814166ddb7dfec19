"""Digests of arrays."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def digest(values: Array) -> Array:
    """The xxHash64 of each MiB of an array in C order, as uint64."""
    octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    out = np.empty(_native.digest_chunks(len(octets)), dtype=np.uint64)
    _native.digest(octets, out, current().threads)
    return out
