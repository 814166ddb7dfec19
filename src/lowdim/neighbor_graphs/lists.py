"""Neighbour lists and graphs from given dissimilarities, and the checks of both.

Lists of different lengths are flat, as in CSR, or padded with infinite distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_dissimilarities
from lowdim.distances.row_blocks import fingerprint
from lowdim.neighbor_graphs.graph import NeighborGraph, row_of_entries


def precomputed_graph(X: Any, k: int | None, radius: float | None) -> NeighborGraph:
    """The neighbour graph of a dense or sparse matrix of dissimilarities, or of a larger graph."""
    if isinstance(X, NeighborGraph):
        return X if k is None or X.n_neighbors is None else X.take(k)
    checks.k_or_radius(k, radius)
    if is_sparse(X):
        return _sparse_graph(X, k, radius)
    D = check_dissimilarities(X)
    n = len(D)
    if radius is not None:
        near = checks.real(radius, "radius", 0) >= D
        np.fill_diagonal(near, False)
        counts, columns, distances = ascending_entries(D, near)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        indices = columns.astype(np.int32)
        return NeighborGraph(indices, distances, "precomputed", fingerprint(D), indptr)
    k = checks.n_neighbors(k, n)
    return NeighborGraph(*backend().smallest(D, k, own=True), "precomputed", fingerprint(D))


def check_stored_dissimilarities(X: Any) -> Any:
    """Check a sparse matrix of dissimilarities; returns a CSR matrix."""
    X = checks.vectors(X, sparse=True)
    if len(X.data) and X.data.min() < 0:
        raise ValueError(f"X: dissimilarities must not be negative, found {X.data.min():g}.")
    return X


def sparse_rows(X: Any, k: int | None, radius: float | None) -> tuple[Array, Array, Array]:
    """indptr, indices and distances of each row's k smallest stored entries, or up to a radius."""
    rows = row_of_entries(X.indptr)
    order = np.lexsort((X.indices, X.data, rows))
    rows, columns, distances = rows[order], X.indices[order], X.data[order]
    keep = np.ones(len(rows), dtype=bool)
    if radius is not None:
        keep = distances <= radius
    if k is not None:
        rank = np.arange(len(rows)) - X.indptr[rows]
        keep &= rank < k
    counts = np.bincount(rows[keep], minlength=X.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, columns[keep].astype(np.int32), distances[keep]


def _sparse_graph(X: Any, k: int | None, radius: float | None) -> NeighborGraph:
    """The neighbour graph of a sparse matrix; rows may store fewer than k neighbours."""
    from scipy.sparse import coo_array, csr_array

    if X.shape[0] != X.shape[1]:
        raise ValueError(f"X: array must be 2-dimensional and square, got shape {X.shape}.")
    if k is not None:
        k = checks.n_neighbors(k, X.shape[0])
    else:
        radius = checks.real(radius, "radius", 0)
    parts = coo_array(X)
    off = parts.row != parts.col  # an object is not its own neighbour
    csr = csr_array((parts.data[off], (parts.row[off], parts.col[off])), shape=X.shape)
    indptr, indices, distances = sparse_rows(csr, k, radius)
    counts = np.diff(indptr)
    digest = fingerprint(csr)
    if k is not None and len(counts) and counts.min() == k:
        shape = (X.shape[0], k)
        return NeighborGraph(
            indices.reshape(shape), distances.reshape(shape), "precomputed", digest
        )
    return NeighborGraph(indices, distances, "precomputed", digest, indptr)


def ascending_entries(D: Array, chosen: Array) -> tuple[Array, Array, Array]:
    """The number of chosen entries in each row of D, and their columns and values, ascending."""
    rows, columns = np.nonzero(chosen)
    values = D[rows, columns]
    order = np.lexsort((columns, values, rows))
    return chosen.sum(axis=1), columns[order], values[order]


def merge_lists(
    nearest: Array, distances: Array, more: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Padded lists of neighbours, united with more pairs of (row, neighbour, distance)."""
    known = np.isfinite(distances)
    rows = np.concatenate([np.nonzero(known)[0], more[0]])
    columns = np.concatenate([nearest[known], more[1]]).astype(nearest.dtype)
    lengths = np.concatenate([distances[known], more[2]]).astype(distances.dtype)
    first = np.unique(np.stack([rows, columns]), axis=1, return_index=True)[1]
    rows, columns, lengths = rows[first], columns[first], lengths[first]
    order = np.lexsort((columns, lengths, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(nearest)))])
    return pad_lists(indptr, columns[order], lengths[order])


def pad_lists(indptr: Array, indices: Array, distances: Array) -> tuple[Array, Array]:
    """Flat lists as rows of equal length, padded with index 0 and infinite distances."""
    counts = np.diff(indptr)
    if counts.min(initial=1) == 0:
        raise ValueError(
            f"X: row {int(counts.argmin())} stores no distance to any training object."
        )
    place = np.arange(len(indices)) - np.repeat(indptr[:-1], counts)
    owner = row_of_entries(indptr)
    nearest = np.zeros((len(counts), counts.max(initial=1)), dtype=indices.dtype)
    lengths = np.full(nearest.shape, np.inf, dtype=distances.dtype)
    nearest[owner, place], lengths[owner, place] = indices, distances
    return nearest, lengths
