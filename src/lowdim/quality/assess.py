"""`assess`: all measures of a map at once, with what must not be read from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder
from lowdim.neighbor_graphs.geodesics import geodesics
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import MeasuredObjects
from lowdim.objects.scales import dominant_column
from lowdim.quality.advice import advice, verdict
from lowdim.quality.assessment import Assessment
from lowdim.quality.dimension import dimension_from_distances
from lowdim.quality.labels import label_quality
from lowdim.quality.measures import MEASURES
from lowdim.quality.ranks import Ranks, ranks_between
from lowdim.quality.rows import (
    Rows,
    choose_objects,
    choose_rows,
    data_rows,
    map_rows,
    rows_of,
    sample_objects,
)
from lowdim.quality.stress import distances_of, rank_correlation
from lowdim.quality.structure import Structure, structure_of
from lowdim.runtime.scheduling import uses_threads

MIN_OBJECTS = 5
DEFAULT_NEIGHBORS = 15
OBJECTS_PAIRED = 2000  # objects between which distances are compared: two million pairs
MAX_GEODESIC_OBJECTS = 100_000  # beyond, geodesics take too long
GEODESIC_SOURCES = 100  # objects from which geodesics are followed
GEODESIC_NEIGHBORS = 8  # that geodesics go through: more would cut corners
MAX_GEODESIC_PAIRS = 500_000  # that enter the rank correlation


@uses_threads
def assess(
    X: Any,
    embedding: Any,
    *,
    method: str | None = None,
    labels: Any = None,
    n_neighbors: int | None = None,
    metric: Any = None,
    metric_params: dict[str, Any] | None = None,
    graph: NeighborGraph | None = None,
    n_rows: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Assessment:
    """Measure the quality of a map of the data.

    Parameters
    ----------
    X : array-like
        The data as every estimator takes them, or all dissimilarities with
        `metric="precomputed"`. Of data in files that are large for the memory of the computation
        (see `lowdim.compute`), a sample of 20,000 objects is assessed.
    embedding : array-like of shape (n, p) or fitted estimator
        The map, or an estimator with `embedding_`. Objects with NaN coordinates are left out.
    method : str, optional
        Name of the method; by default that of the estimator's class.
    labels : array-like of shape (n,), optional
        Classes of the objects, or numbers on a scale.
    n_neighbors : int, optional
        Size of the neighbourhoods, less than n / 2; by default 15, or fewer for few objects.
    metric : str or callable, optional
        How distances in the data are measured; by default as the estimator does, else "euclidean".
    metric_params : dict, optional
        Further arguments of the metric; by default those of the estimator.
    graph : NeighborGraph, optional
        The data's neighbour graph, for geodesics and connected components where there are more
        than 5,000 objects; by default that of the estimator, if it has one.
    n_rows : int, optional
        Number of objects whose neighbourhoods are compared; by default all of up to 5,000 objects
        and 1,000 of more (fewer above 300,000).
    random_state : int, RandomState instance or None, optional
        Seed of the samples.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Assessment
        The measures, with a verdict and warnings in words.

    Raises
    ------
    ValueError
        If fewer than five objects have coordinates, or an argument does not fit the data.

    See Also
    --------
    compare : assess several maps of the same data.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(300, random_state=0)
    >>> assessment = lowdim.quality.assess(X, lowdim.PCA(n_components=2).fit(X))
    >>> print(assessment.trustworthiness)
    0.903
    >>> assessment.structure.kind
    'relations'
    """
    if metric is None:
        metric, metric_params = metric_of(embedding, metric_params)
    X, chosen = sample_objects(X, metric, random_state)
    data = AssessedData(data_rows(X, metric, metric_params), random_state)
    if chosen is not None:
        method = method or type(embedding).__name__ if hasattr(embedding, "embedding_") else method
        embedding = np.asarray(getattr(embedding, "embedding_", embedding))[chosen]
        labels, graph = None if labels is None else np.asarray(labels)[chosen], None
    return assess_map(data, embedding, method, labels, n_neighbors, n_rows, graph)


@dataclass(frozen=True, eq=False)
class AssessedData:
    """The data that maps are compared with, and what does not depend on the map."""

    rows: Rows
    random_state: Any = None

    @cached_property
    def structure(self) -> Structure | None:
        """Whether the data have structure."""
        return structure_of(self.rows, self.random_state)

    @cached_property
    def dominant_column(self) -> tuple[int, float] | None:
        """The column that outweighs the others in Euclidean distances, and how many times."""
        objects = self.rows.objects
        if not isinstance(objects, MeasuredObjects) or not objects.euclidean:
            return None
        return dominant_column(objects.rows)

    def subset(self, kept: Array) -> AssessedData:
        """The same for some of the objects."""
        return replace(self, rows=rows_of(self.rows.objects.subset(kept)))


def metric_of(
    model: Any, params: dict[str, Any] | None = None
) -> tuple[Any, dict[str, Any] | None]:
    """Return how an estimator measures its data: the metric and its further arguments.

    Estimators of this library say it themselves; of others the parameters `metric`,
    `metric_params` (or `metric_kwds`) and `p` are read. What is given as `params` takes precedence.
    """
    if isinstance(model, Embedder):
        metric, own = model._metric_choice()
    else:
        metric = getattr(model, "metric", None)
        if not isinstance(metric, str) and not callable(metric):
            return "euclidean", params
        own = dict(getattr(model, "metric_params", None) or getattr(model, "metric_kwds", {}) or {})
        if isinstance(metric, str) and metric == "minkowski" and hasattr(model, "p"):
            own.setdefault("p", model.p)
    return metric, own if params is None else params


def assess_map(
    data: AssessedData,
    embedding: Any,
    method: str | None,
    labels: Any,
    n_neighbors: int | None,
    n_rows: int | None,
    graph: NeighborGraph | None = None,
) -> Assessment:
    """Assess one map of prepared data; arguments are those of `assess`."""
    if hasattr(embedding, "embedding_"):
        method = method or type(embedding).__name__
        graph = getattr(embedding, "graph_", None) if graph is None else graph
        embedding = embedding.embedding_
    Y = checks.as_columns(embedding)
    n_left_out = 0
    if Y.dtype.kind == "f" and Y.ndim == 2 and np.isnan(Y).any():
        map_rows(np.nan_to_num(Y), data.rows.n)  # checks that there are as many rows as in X
        kept = np.flatnonzero(~np.isnan(Y).any(axis=1))
        n_left_out, graph = len(Y) - len(kept), None
        labels = None if labels is None else np.asarray(labels)[kept]
        Y, data = Y[kept], data.subset(kept)
    rows, random_state = data.rows, data.random_state
    placed = map_rows(Y, rows.n)
    if rows.n < MIN_OBJECTS:
        raise ValueError(
            f"embedding places {rows.n} objects; an assessment needs at least {MIN_OBJECTS}."
        )
    k = max(1, min(DEFAULT_NEIGHBORS, (rows.n - 1) // 3)) if n_neighbors is None else n_neighbors
    k = checks.integer(k, "n_neighbors", 1, (rows.n - 1) // 2, " (less than half of the objects)")
    ranks = ranks_between(rows, placed, choose_rows(rows.n, n_rows, random_state), k)
    distances = distances_of(rows, placed, choose_objects(rows.n, OBJECTS_PAIRED, random_state))
    false = ranks.data_ranks[ranks.data_ranks > k]
    known = _known_graph(ranks, graph)
    sources = {"ranks": ranks, "distances": distances}
    measures: dict[str, Any] = {
        measure.name: getattr(sources[measure.source], measure.name)
        for measure in MEASURES
        if measure.source in sources
    }
    bare = Assessment(
        method=method,
        n_objects=rows.n,
        n_components=int(Y.shape[1]),
        n_left_out=n_left_out,
        n_neighbors=k,
        n_rows=len(ranks.rows),
        K_max=ranks.split.K_max,
        n_compared=len(distances.objects),
        concentration=_concentration(Y),
        false_rank=float(np.median(false)) if len(false) else float(k),
        geodesic_correlation=geodesic_correlation(known, placed, random_state),
        n_graph_components=None if known is None else known.components()[0],
        dominant_column=data.dominant_column,
        dimension=dimension_from_distances(
            ranks.data_distances.astype(np.float64), distances.pairs[0]
        ),
        structure=data.structure,
        labels=None if labels is None else label_quality(labels, ranks, distances),
        qnx=ranks.qnx,
        rnx=ranks.rnx,
        errors=ranks.point_errors,
        shepard=distances.shepard(),
        embedding=Y,
        **measures,
    )
    return replace(bare, verdict=verdict(bare), warnings=tuple(advice(bare)))


def _concentration(Y: Array) -> float:
    """The median distance from the middle, as a share of the 99th percentile."""
    away = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    outer = float(np.quantile(away, 0.99))
    return float(np.median(away)) / outer if outer > 0 else 1.0


def _known_graph(ranks: Ranks, graph: Any) -> NeighborGraph | None:
    """The data's neighbour graph: from the ranks if all rows are known, else the given one."""
    if ranks.exact:
        lengths = np.ascontiguousarray(ranks.data_distances)
        return NeighborGraph(ranks.data_ids, lengths, "given")
    if not isinstance(graph, NeighborGraph) or graph.n_objects != ranks.n:
        return None
    return None if graph.bridges is not None else graph


def geodesic_correlation(
    graph: NeighborGraph | None, placed: Rows, random_state: Any
) -> float | None:
    """Rank correlation of distances on the map with those along the neighbour graph."""
    if graph is None or graph.n_objects > MAX_GEODESIC_OBJECTS:
        return None
    if graph.n_neighbors is not None:
        graph = graph.take(min(graph.n_neighbors, GEODESIC_NEIGHBORS))
    sources = choose_objects(graph.n_objects, GEODESIC_SOURCES, random_state)
    along = geodesics(graph.adjacency(), sources)
    across = placed.distances(sources)
    known = np.isfinite(along)
    known[np.arange(len(sources)), sources] = False
    chosen = np.flatnonzero(known)
    chosen = chosen[:: max(1, len(chosen) // MAX_GEODESIC_PAIRS)]
    return rank_correlation(along.ravel()[chosen], across.ravel()[chosen])
