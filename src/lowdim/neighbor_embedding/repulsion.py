"""The choice of an algorithm for the repulsion between all points of an embedding."""

from __future__ import annotations

from lowdim.backends import backend
from lowdim.backends.protocol import Repulsion
from lowdim.backends.similarity import Similarity


def choose_repulsion(
    method: str, similarity: Similarity, n: int, dim: int, angle: float
) -> Repulsion:
    """Check `method` and return the repulsion among n points of dimension `dim`.

    "exact" sums over all pairs, "barnes_hut" uses a tree, "fft" a grid. "auto" chooses the fastest.
    """
    if method == "fft" and dim > 2:
        raise ValueError(
            f"method='fft' needs one or two dimensions, got n_components={dim}. Use "
            "method='barnes_hut' (up to three) or 'exact'."
        )
    if method == "barnes_hut" and dim > 3:
        raise ValueError(
            f"method='barnes_hut' needs at most three dimensions, got n_components={dim}. "
            "'n_components' should be inferior to 4 for it; use method='exact'."
        )
    return backend().repulsion(method, similarity, n, dim, angle)
