"""Combinations of fitted UMAP models of the same objects: `a * b`, `a + b` and `a - b`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lowdim.messages import argument
from lowdim.neighbor_embedding.starts import umap_start
from lowdim.neighbor_embedding.umap.curved import start_dim
from lowdim.neighbor_embedding.umap.parameters import UMAPParameters
from lowdim.runtime.scheduling import use_threads

if TYPE_CHECKING:
    from lowdim.neighbor_embedding.umap.umap import UMAP


def combine_models(left: UMAP, right: UMAP, combine: Callable[[Any, Any], Any]) -> UMAP:
    """A model of a combination of the fuzzy graphs of two fitted models of the same objects.

    It has the parameters of `left`, without a density term and without `transform`.
    """
    check_combinable(left, right)
    result: UMAP = clone(left).set_params(output_dens=False, densmap=False, unique=False)
    with use_threads(left._n_jobs):
        random = left._random()
        result.graph_ = combine(left.graph_, right.graph_)
        dim = start_dim(left.output_metric, int(left.n_components))
        start = umap_start("spectral", dim, result.graph_, left._curve(), random)
        result._lay_out(start.astype(result.graph_.dtype), random)
    return result


def check_combinable(left: UMAP, right: UMAP) -> None:
    """Check that both models are fitted to the same objects, each of them in a row of its own."""
    if not isinstance(right, UMAPParameters):
        raise TypeError(f"A UMAP can be combined with a UMAP, got {type(right).__name__}.")
    check_is_fitted(left, "graph_")
    check_is_fitted(right, "graph_")
    if hasattr(left, "unique_rows_") or hasattr(right, "unique_rows_"):
        raise ValueError(
            f"Models fitted with {argument('unique', True)} cannot be combined: their graphs hold "
            f"distinct rows only. Set {argument('unique', False)}."
        )
    if left.graph_.shape != right.graph_.shape:
        raise ValueError(
            "Only models of the same objects can be combined, but they have "
            f"{left.graph_.shape[0]} and {right.graph_.shape[0]} objects."
        )
