"""Digests of data sets, which tell whether two are the same."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import is_sparse


def fingerprint(rows: Any) -> str:
    """A digest of a data set, of all its values: arrays are read at the speed of the memory."""
    digest = hashlib.blake2b(digest_header(rows), digest_size=8)
    if rows.dtype == object:
        digest.update(repr(list(rows)).encode())
        return digest.hexdigest()
    parts = [rows]
    if is_sparse(rows):
        counts = np.diff(rows.indptr).astype(np.int64)
        parts = [counts, rows.indices.astype(np.int32, copy=False), rows.data]
    for part in parts:
        digest.update(backend().digest(part).tobytes())
    return digest.hexdigest()


def digest_header(rows: Any) -> bytes:
    """What the digest of a data set begins with."""
    return repr((rows.shape, str(rows.dtype))).encode()
