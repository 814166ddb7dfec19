"""scikit-learn's k-means, with sums in a fixed order."""

from __future__ import annotations

from typing import Any

from lowdim.checks import Array


def fit_kmeans(rows: Array, count: int, **options: Any) -> Any:
    """A fitted `KMeans` of `count` clusters; the options are those of scikit-learn."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums in a fixed order
        return KMeans(count, **options).fit(rows)
