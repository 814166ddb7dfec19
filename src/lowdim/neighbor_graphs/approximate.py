"""The choice of an index for approximate nearest neighbours under any metric.

The backend has an index for the Euclidean and the cosine distance. It also serves metrics that are
functions of the Euclidean distance (`euclidean_forms`), or that order pairs of dense rows in a
similar way (`candidates`). `pivots` has an index for all other metrics.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.protocol import Index
from lowdim.distances.metrics import Metric
from lowdim.neighbor_graphs.candidates import build_candidates, has_candidates
from lowdim.neighbor_graphs.euclidean_forms import MappedIndex, mapped
from lowdim.neighbor_graphs.pivots import build_pivots
from lowdim.runtime.context import current

logger = logging.getLogger("lowdim")

MIN_ROWS = 2000  # with fewer rows an index takes more time than it saves
RECALL_MARGIN = 0.2  # share of the allowed misses kept in reserve: recall is measured on a sample
PER_ENTRY = 1e-9  # seconds that two entries of a pair of rows take in a formula; measured
LONG_SEARCH = 10  # seconds of an exact search in place of an approximate one that cause a warning


def build_index(rows: Any, metric: Metric, k: int, recall: float, seed: int) -> Index | None:
    """Build an index for approximate nearest neighbours.

    Parameters
    ----------
    rows : array, CSR matrix or array of objects
    metric : Metric
    k : int
        Largest number of neighbours that will be searched.
    recall : float
        Share of the true neighbours that the index must find, on a sample of the rows.
    seed : int

    Returns
    -------
    Index or None
        None if no index of this recall is faster than the exact search.
    """
    n = rows.shape[0]
    if n < MIN_ROWS or 4 * k > n or recall >= 1:
        return None
    random = np.random.default_rng(seed)
    wanted = recall + RECALL_MARGIN * (1 - recall)
    if metric.by_products:
        return backend().build_index(rows, k, metric.name == "cosine", wanted, random)
    form = mapped(rows, metric)
    if form is not None:
        index = backend().build_index(form, k, False, wanted, random)
        return None if index is None else MappedIndex(index, metric)
    if has_candidates(rows, metric):
        return build_candidates(rows, metric, k, wanted, random)
    return build_pivots(rows, metric, k, wanted, random)


def report_exact_search(rows: Any, metric: Metric, recall: float) -> None:
    """Log that the search is exact because there is no index; warn if it will take long."""
    n = rows.shape[0]
    if n < MIN_ROWS:
        return
    message = (
        f"No approximate search finds {recall:.4g} of the neighbours of these {n} objects in much "
        "less time than the exact search, so the exact search is used. For a faster one, lower "
        "recall or reduce the number of dimensions first, for instance with PCA."
    )
    seconds = _exact_seconds(rows, metric)
    (checks.warn if seconds > LONG_SEARCH and recall < 1 else logger.info)(message)


def _exact_seconds(rows: Any, metric: Metric) -> float:
    """A rough estimate of the time of an exact search."""
    if metric.by_products or mapped(rows, metric) is not None:
        return backend().exact_search_seconds(rows)
    if not has_candidates(rows, metric):
        return float(
            "inf"
        )  # of a function, or of a search by pivots, which begin with more objects
    n, d = rows.shape
    return float(n * n / 2 * d * PER_ENTRY / current().threads)
