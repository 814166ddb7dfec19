"""An index that finds nearly all of the nearest neighbours, wherever that is worth its cost.

Euclidean and cosine neighbours are searched in the cells of the backend's index, all other metrics
in the cells of `pivots`.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.relations.metrics import Metric
from lowdim.relations.pivots import build_pivots

logger = logging.getLogger("lowdim")

FEWEST = 2000  # rows below which an index cannot pay
MARGIN = 0.2  # share of the allowed misses kept in reserve, because recall is measured on a sample
LONG = 10  # seconds from which an exact search that was not asked for is worth a warning


class Index(Protocol):
    """Rows prepared for searches of up to k neighbours."""

    @property
    def recall(self) -> float:
        """The share of true neighbours found, as measured on a sample of the rows."""

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each row's k nearest other rows, nearly all of them."""

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k rows nearest to each query; k up to that of the index."""


def build_index(rows: Any, metric: Metric, k: int, recall: float, seed: int) -> Index | None:
    """An index that finds at least the share `recall` of the k nearest on a sample, or None."""
    n = rows.shape[0]
    if n < FEWEST or 4 * k > n or recall >= 1:
        return None
    random = np.random.default_rng(seed)
    wanted = recall + MARGIN * (1 - recall)
    if metric.by_products:
        return backend().build_index(rows, k, metric.name == "cosine", wanted, random)
    return build_pivots(rows, metric, k, wanted, random)


def report_exact_search(rows: Any, metric: Metric, recall: float) -> None:
    """Log that there is no index for these rows; warn if the exact search will take long."""
    n = rows.shape[0]
    if n < FEWEST:
        return
    message = (
        f"No shortcut finds {recall:.4g} of the neighbours of these {n} objects in much less time "
        "than comparing all pairs, so they are all compared and the neighbours are exact. For "
        "speed, ask for a smaller recall or reduce the dimensions first, say by PCA."
    )
    seconds = backend().exact_search_seconds(rows) if metric.by_products else np.inf
    (checks.warn if seconds > LONG and recall < 1 else logger.info)(message)
