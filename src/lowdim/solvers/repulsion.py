"""Which way of computing the repulsion between all points fits a map."""

from __future__ import annotations

from lowdim.backends import backend
from lowdim.backends.protocol import Repulsion
from lowdim.backends.similarity import Similarity


def choose_repulsion(
    method: str, similarity: Similarity, n: int, dim: int, angle: float
) -> Repulsion:
    """Repulsion by "exact" (all pairs), "barnes_hut" (a tree), "fft" (a field on a grid) or "auto".

    "auto" takes all pairs of few points, else a grid in one or two dimensions and a tree in three.
    """
    if method == "fft" and dim > 2:
        raise ValueError(
            f"method='fft' makes maps of one or two dimensions, got n_components={dim}. Use "
            "method='barnes_hut' (up to three) or 'exact'."
        )
    if method == "barnes_hut" and dim > 3:
        raise ValueError(
            f"method='barnes_hut' makes maps of up to three dimensions, got n_components={dim}. "
            "'n_components' should be inferior to 4 for it; use method='exact'."
        )
    return backend().repulsion(method, similarity, n, dim, angle)
