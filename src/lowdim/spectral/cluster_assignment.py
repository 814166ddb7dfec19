"""Clusters from eigenvectors: rotation to indicator vectors, and pivoted QR factorisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.checks import Array, check_random_state

Assignment = Callable[[Array, Any], Array]
"""From eigenvectors of shape (n, k) and a seed to the cluster of each row."""

STARTS = 30  # random starts of `discretize`, if the decomposition of one fails
ITERATIONS = 20  # of one start


def cluster_qr(vectors: Array, random_state: Any = None) -> Array:
    """Clusters by a pivoted QR factorisation (Damle, Minden and Ying 2019).

    The factorisation chooses one row for each cluster; the vectors are rotated so that these rows
    are as near to unit vectors as possible, and each row gets the label of its largest entry.
    """
    from scipy.linalg import qr

    k = vectors.shape[1]
    pivots = qr(vectors.T, pivoting=True)[-1]
    left, _, right = np.linalg.svd(vectors[pivots[:k]].T)
    return np.asarray(np.abs(vectors @ (left @ right)).argmax(axis=1))


def discretize(vectors: Array, random_state: Any = None) -> Array:
    """Clusters by the rotation of eigenvectors to indicator vectors (Yu and Shi 2003).

    Rows are scaled to length 1; then the nearest indicator vectors and the rotation that brings
    the rows nearest to them are computed alternately.
    """
    random = check_random_state(0 if random_state is None else random_state)
    n, k = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(lengths > 0, lengths, 1)
    for _ in range(STARTS):
        rotation, before = _spread_rows(rows, random), -np.inf
        try:
            for _ in range(ITERATIONS):
                labels = (rows @ rotation).argmax(axis=1)
                indicators = np.eye(k)[labels]
                left, values, right = np.linalg.svd(indicators.T @ rows)
                if abs(values.sum() - before) < np.finfo(float).eps * n:
                    break
                rotation, before = right.T @ left.T, values.sum()
        except np.linalg.LinAlgError:
            continue
        return np.asarray(labels)
    raise np.linalg.LinAlgError("the singular value decomposition did not converge")


def _spread_rows(rows: Array, random: np.random.RandomState) -> Array:
    """Rows that are as orthogonal to each other as possible, the first one random; columns."""
    n, k = rows.shape
    chosen = [rows[random.randint(n)]]
    nearness = np.zeros(n)
    for _ in range(1, k):
        nearness += np.abs(rows @ chosen[-1])
        chosen.append(rows[int(nearness.argmin())])
    return np.array(chosen).T


ASSIGNMENTS: dict[str, Assignment] = {"discretize": discretize, "cluster_qr": cluster_qr}
