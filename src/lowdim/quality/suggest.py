"""`suggest`: try methods and parameters on a sample of the data, without labels.

All candidates use one neighbour graph and are compared by the same ranks: the area under R_NX, and
its parts for small and large neighbourhoods.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.catalog import CATALOG, find
from lowdim.checks import Array
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.neighbors import neighbors
from lowdim.objects.objects import MeasuredObjects
from lowdim.quality.dimension import dimension_of
from lowdim.quality.ranks import Ranks, ranks_between
from lowdim.quality.rows import Rows, data_rows, map_rows
from lowdim.quality.stress import choose_objects, pairwise_distances
from lowdim.quality.structure import structure_of
from lowdim.quality.suggestion import SCORES, Candidate, Suggestion
from lowdim.runtime.scheduling import uses_threads

NEIGHBORS = (5, 10, 20, 50)
PERPLEXITIES = (10, 30, 50, 100)
CLOSE = 0.01  # values of R_NX AUC that differ by less are called equal


@uses_threads
def suggest(
    X: Any,
    methods: Iterable[str] | None = None,
    *,
    n_components: int = 2,
    n_objects: int = 1500,
    n_neighbors: Iterable[int] = NEIGHBORS,
    perplexity: Iterable[float] = PERPLEXITIES,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Suggestion:
    """Try methods and parameters on the data and rank the maps by R_NX AUC, without labels.

    Parameters
    ----------
    X : array-like
        The data as every estimator takes them, or all dissimilarities with
        `metric="precomputed"`.
    methods : iterable of str, optional
        Names from the catalog; by default a few of different kinds.
    n_components : int, default=2
        Dimension of the maps.
    n_objects : int, default=1500
        Of more objects, this many are drawn at random and tried.
    n_neighbors : iterable of int
        Values to try, where a method has that parameter.
    perplexity : iterable of float
        Values to try, where a method has that parameter.
    metric : str or callable, default="euclidean"
        How distances are measured.
    metric_params : dict, optional
        Further arguments of the metric.
    random_state : int, RandomState instance or None, optional
        Seed of the sample and of the methods.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    Suggestion
        The candidates, best first.

    Notes
    -----
    The cost is one neighbour graph of the sample and one fit of each candidate. Neighbourhoods of a
    sample are wider than those of all data: for many more objects, try larger values of
    `n_neighbors` and `perplexity` than those suggested.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(800, random_state=0)
    >>> result = lowdim.quality.suggest(X, ["PCA", "Isomap"], n_neighbors=[8])
    >>> result.best.name
    'Isomap(n_neighbors=8)'
    """
    began = time.perf_counter()
    count = checks.integer(n_objects, "n_objects", 10)
    data = data_rows(X, metric, metric_params)
    objects = choose_objects(data.n, count, random_state)
    sample, fixed = _sample(data, objects, metric, metric_params)
    rows = data_rows(sample, **fixed)
    sizes = _sizes(n_neighbors, "n_neighbors", rows.n - 1)
    scales = _sizes(perplexity, "perplexity", (rows.n - 1) / 3)
    widest = min(rows.n - 1, int(max([*sizes, *(3 * scale for scale in scales)])))
    graph = neighbors(sample, k=widest, **fixed)
    names = _names(methods, fixed["metric"] == "euclidean" and isinstance(sample, np.ndarray))
    candidates = [
        _try_candidate(name, params, sample, graph, rows)
        for name in names
        for params in _candidates(name, n_components, sizes, scales, fixed, random_state)
    ]
    dimension = dimension_of(rows, min(20, rows.n - 1), True, random_state)
    consensus = dimension.consensus if np.isfinite(dimension.consensus) else n_components
    return Suggestion(
        tuple(_add_reasons(candidates)),
        data.n,
        rows.n,
        dimension,
        max(1, round(consensus)),
        structure_of(rows, random_state),
        time.perf_counter() - began,
    )


def _sample(
    data: Rows, objects: Array, metric: Any, metric_params: dict[str, Any] | None
) -> tuple[Any, dict[str, Any]]:
    """The objects to try, and how they are measured."""
    if not isinstance(data.objects, MeasuredObjects):
        D = pairwise_distances(data, objects)
        return np.maximum(D, D.T), {"metric": "precomputed"}
    rows = data.objects.rows
    part = rows if len(objects) == data.n else rows[objects]
    return part, {"metric": metric, "metric_params": metric_params}


def _sizes(values: Iterable[float], name: str, most: float) -> list[Any]:
    """The values that so many objects allow, at least one."""
    sizes = sorted(values)
    if not sizes:
        raise ValueError(f"{name} is empty: give at least one value to try.")
    return [value for value in sizes if value <= most] or [type(sizes[0])(max(1, most))]


def _names(methods: Iterable[str] | None, euclidean: bool) -> list[str]:
    if methods is None:
        rows = [row for row in CATALOG if row.suggested and not (euclidean and row.euclidean_twin)]
        return [row.name for row in rows]
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if find(name) is None:
            raise ValueError(f"methods: the catalog has no method {name!r}; see lowdim.catalog.")
    if not names:
        raise ValueError("methods is empty: name at least one, or None for the usual ones.")
    return names


def _candidates(
    name: str,
    n_components: int,
    sizes: list[Any],
    scales: list[Any],
    fixed: Mapping[str, Any],
    random_state: Any,
) -> Iterator[dict[str, Any]]:
    """The parameters to try of one method."""
    row = find(name)
    assert row is not None
    known = row.load()().get_params()
    if fixed["metric"] != "euclidean" and "metric" not in known:
        return  # a method of vectors alone
    shared: dict[str, Any] = {"n_components": n_components, **fixed}
    shared["random_state"] = 0 if random_state is None else random_state
    shared = {
        key: value for key, value in shared.items() if key in known and not _default(key, value)
    }
    if "perplexity" in known:
        yield from ({**shared, "perplexity": scale} for scale in scales)
    elif "n_neighbors" in known:
        yield from ({**shared, "n_neighbors": size} for size in sizes)
    else:
        yield shared


def _default(key: str, value: Any) -> bool:
    return (key == "metric" and isinstance(value, str) and value == "euclidean") or value is None


def _try_candidate(
    name: str,
    params: dict[str, Any],
    sample: Any,
    graph: NeighborGraph,
    rows: Rows,
) -> Candidate:
    """Fit one candidate and measure its map; an error becomes a part of the result."""
    candidate = Candidate(name, params)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joined components and the like show in the scores
            model = candidate.estimator()
            Y = model.fit(sample, **_shared_graph(model, graph)).embedding_
        ranks = _compare_ranks(Y, rows)
    except (ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        message = " ".join(str(error).split())
        return replace(candidate, failed=message or type(error).__name__)
    seconds = time.perf_counter() - began
    scores: dict[str, Any] = {score: float(getattr(ranks, score)) for score in SCORES}
    return replace(candidate, seconds=seconds, **scores)


def _shared_graph(model: Any, graph: NeighborGraph) -> dict[str, Any]:
    """The shared graph, for methods that take one."""
    from inspect import signature

    return {"graph": graph} if "graph" in signature(model.fit).parameters else {}


def _compare_ranks(Y: Any, rows: Rows) -> Ranks:
    placed = map_rows(Y, rows.n)
    everyone = np.arange(rows.n, dtype=np.int32)
    return ranks_between(rows, placed, everyone, 1)


def _add_reasons(candidates: list[Candidate]) -> Iterator[Candidate]:
    """The candidates in order, each with its reason."""
    good = sorted(
        (c for c in candidates if c.failed is None), key=lambda c: (-c.rnx_auc, c.seconds)
    )
    bad = [c for c in candidates if c.failed is not None]
    if good:
        best = good[0]
        local = max(good, key=lambda c: c.rnx_auc_local)
        wide = max(good, key=lambda c: c.rnx_auc_global)
        quick = min((c for c in good if c.rnx_auc >= best.rnx_auc - CLOSE), key=lambda c: c.seconds)
    for candidate in good:
        parts = []
        if candidate is best:
            parts.append("best over all scales")
        elif candidate.rnx_auc >= best.rnx_auc - CLOSE:
            parts.append("equal to the best")
        if candidate is local:
            parts.append("best for small neighbourhoods")
        if candidate is wide:
            parts.append("best for large neighbourhoods")
        if candidate is quick and candidate is not best:
            parts.append("fastest of the best")
        if not parts:
            parts.append(_shortfall(candidate, best))
        yield replace(candidate, reason="; ".join(parts))
    yield from bad


def _shortfall(candidate: Candidate, best: Candidate) -> str:
    """At which scales a candidate is worse than the best."""
    near, far = (
        best.rnx_auc_local - candidate.rnx_auc_local,
        best.rnx_auc_global - candidate.rnx_auc_global,
    )
    if near > CLOSE and far > CLOSE:
        return "worse at all scales"
    if near > CLOSE:
        return "worse for small neighbourhoods"
    return "worse for large neighbourhoods" if far > CLOSE else "slightly worse"
