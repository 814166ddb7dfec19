"""`suggest`: try methods and parameters on a sample of the data, without labels.

All candidates use one neighbour graph and are measured alike. What they are ranked by is what the
map is to keep: neighbours, straight-line distances, or distances along the data.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.catalog import CATALOG, find
from lowdim.checks import Array
from lowdim.messages import one_line
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.neighbors import neighbors
from lowdim.objects.objects import MeasuredObjects
from lowdim.objects.scales import dominant_column, moments
from lowdim.quality.assess import geodesic_correlation
from lowdim.quality.dimension import IntrinsicDimension, dimension_of
from lowdim.quality.measures import find_measure
from lowdim.quality.ranks import ranks_between
from lowdim.quality.rows import Rows, choose_objects, data_rows, map_rows
from lowdim.quality.stress import distances_of, pairwise_distances
from lowdim.quality.structure import Structure, structure_of
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, json_value, short_repr, text_table

NEIGHBORS = (5, 10, 20, 50)
PERPLEXITIES = (10, 30, 50, 100)
KEEP = {
    "neighbors": ("rnx_auc", "neighbours at all scales"),
    "distances": ("spearman", "straight-line distances"),
    "geodesics": ("geodesic_correlation", "distances along the data, from neighbour to neighbour"),
}
"""What a map can be asked to keep: the measure that ranks candidates, and its meaning."""

FURTHER = {"distances": ["MDS", "TriMap"], "geodesics": ["PHATE"]}
"""Methods that are tried by default only where they are often among the best."""

SCORES = ("rnx_auc", "rnx_auc_local", "rnx_auc_global", "spearman", "geodesic_correlation")
TUNED = ("n_neighbors", "perplexity")  # the parameters that `suggest` varies
CLOSE = 0.01  # scores that differ by less are called equal
LINEAR = ("PCA", "ClassicalMDS")
FLAT = 0.95  # share of the variance in a plane from which on the data are nearly flat
CONNECTING = 10  # neighbours of the graph that must connect a sheet
SHEET = 0.5  # how much the intrinsic dimension of a sheet may exceed that of the map


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method with parameters, and the quality of its map of the sample.

    Attributes
    ----------
    method : str
        Name of the estimator's class.
    params : dict
        Parameters that differ from the defaults.
    rnx_auc, rnx_auc_local, rnx_auc_global, spearman, geodesic_correlation : float
        Quality of the map, see `lowdim.quality.MEASURES`; NaN if it failed.
    seconds : float
        Time of the fit.
    reason : str
        Why the candidate has its rank.
    failed : str or None
        The error message, if the fit failed.
    """

    method: str
    params: dict[str, Any]
    rnx_auc: float = float("nan")
    rnx_auc_local: float = float("nan")
    rnx_auc_global: float = float("nan")
    spearman: float = float("nan")
    geodesic_correlation: float = float("nan")
    seconds: float = 0.0
    reason: str = ""
    failed: str | None = None

    def estimator(self) -> Any:
        """Return a new estimator with these parameters."""
        row = find(self.method)
        if row is None:
            raise ValueError(f"method: the catalog has no method {self.method!r}.")
        return row.load()(**self.params)

    @property
    def name(self) -> str:
        """The method with the parameters that were varied."""
        chosen = {key: value for key, value in self.params.items() if key in TUNED}
        inside = ", ".join(f"{key}={value}" for key, value in chosen.items())
        return f"{self.method}({inside})" if inside else self.method


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The candidates, best first, and properties of the data.

    Attributes
    ----------
    candidates : tuple of Candidate
        The best first, by the measure of what is kept; those that failed last.
    keep : {"neighbors", "distances", "geodesics"}
        What the candidates were judged by.
    keep_reason : str
        Why that was chosen, if it was not asked for; else empty.
    standardized : str
        Why columns were standardized before the trials; empty if they were not.
    n_objects, n_tried : int
        Number of objects of the data and of the sample that was tried.
    dimension : IntrinsicDimension
        Estimates of the intrinsic dimension.
    n_components : int
        Number of coordinates that the intrinsic dimension suggests for further computation.
    structure : Structure or None
        Whether the data have structure.
    seconds : float
        Time of all trials.
    """

    candidates: tuple[Candidate, ...]
    keep: str
    keep_reason: str
    standardized: str
    n_objects: int
    n_tried: int
    dimension: IntrinsicDimension
    n_components: int
    structure: Structure | None
    seconds: float

    @property
    def best(self) -> Candidate:
        """The first candidate."""
        return self.candidates[0]

    @property
    def recommended(self) -> Candidate | None:
        """The first candidate; None if it failed, or if the data have no structure to show."""
        empty = self.structure is not None and self.structure.kind == "none"
        return None if empty or self.best.failed is not None else self.best

    def __repr__(self) -> str:
        score = KEEP[self.keep][0]
        facts = {
            "best": self.best.name,
            score: getattr(self.best, score),
            "n_candidates": len(self.candidates),
            "n_tried": self.n_tried,
        }
        return short_repr(self, facts)

    def _rows(self) -> list[list[str]]:
        """The table of candidates with its head; what they are ranked by has a star."""
        ranking = KEEP[self.keep][0]
        labels = [find_measure(name).label + "*" * (name == ranking) for name in SCORES]
        rows = [["", *labels, "seconds", ""]]
        for one in self.candidates:
            values = (getattr(one, name) for name in SCORES)
            cells = ["-" if np.isnan(value) else f"{value:.3f}" for value in values]
            reason = one.reason if one.failed is None else f"failed: {one.failed}"
            rows.append([one.name, *cells, f"{one.seconds:.1f}", reason])
        return rows

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return html_table(f"Methods tried on {self.n_tried:,} objects", head, rows)

    def __str__(self) -> str:
        lines = []
        if self.structure is not None and self.structure.kind == "none":
            lines += [
                "No structure was found in these data: no method can show any, and none is "
                "recommended. Groups on any of these maps come from chance or from the method.",
                "",
            ]
        lines += [self.standardized, ""] if self.standardized else []
        rows = self._rows()
        table = text_table([row[:-1] for row in rows])
        lines += [f"{line}  {row[-1]}".rstrip() for line, row in zip(table, rows, strict=True)]
        tried = f"all {self.n_objects:,} objects"
        if self.n_tried < self.n_objects:
            tried = f"{self.n_tried:,} of {self.n_objects:,} objects"
        others = " or ".join(f'"{one}"' for one in KEEP if one != self.keep)
        lines += [
            "",
            f"Tried on {tried} in {self.seconds:.0f} s. Maps are ranked by * how well they keep "
            f'{KEEP[self.keep][1]} (keep="{self.keep}"; or {others}).{self.keep_reason}',
            f"Intrinsic dimension {self.dimension}: use {self.n_components} coordinates for "
            "further computation, 2 for a picture.",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for `json.dumps`."""
        result: dict[str, Any] = json_value(vars(self))
        return result


@uses_threads
def suggest(
    X: Any,
    methods: Iterable[str] | None = None,
    *,
    keep: str = "auto",
    standardize: bool | str = "auto",
    n_components: int = 2,
    n_objects: int = 1500,
    n_neighbors: Iterable[int] = NEIGHBORS,
    perplexity: Iterable[float] = PERPLEXITIES,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Suggestion:
    """Try methods and parameters on the data and rank the maps, without labels.

    Parameters
    ----------
    X, metric, metric_params, n_jobs
        As in `compare_ranks`.
    methods : iterable of str, optional
        Names from the catalog; by default a few of different kinds.
    keep : {"auto", "neighbors", "distances", "geodesics"}, default="auto"
        What the map is to keep, by which candidates are ranked: "neighbors" at all scales (R_NX
        AUC), straight-line "distances" (Spearman correlation), or distances along the data
        ("geodesics", rank correlation). "auto" is "distances" if as many principal components hold
        95 % of the variance, "geodesics" for a connected sheet or curve whose intrinsic dimension
        is at most that of the map, and "neighbors" for all other data.
    standardize : bool or "auto", default="auto"
        Whether to bring columns to mean 0 and standard deviation 1 first. "auto" does so if the
        distances are Euclidean and one column outweighs the others, with a standard deviation of
        30 times the median one.
    n_components : int, default=2
        Dimension of the maps.
    n_objects : int, default=1500
        Of more objects, this many are drawn at random and tried.
    n_neighbors : iterable of int
        Values to try, where a method has that parameter.
    perplexity : iterable of float
        Values to try, where a method has that parameter.
    random_state : int, RandomState instance or None, optional
        Seed of the sample and of the methods.

    Returns
    -------
    Suggestion
        The candidates, best first.

    Notes
    -----
    Where scores differ by less than 0.01, a linear method comes first, since its axes have a
    meaning, then the faster one. Neighbours on a folded sheet are judged best by a method that
    tears it: a Swiss roll gets a high R_NX AUC from t-SNE, which cuts it into pieces. This is why
    "auto" has a rule for sheets.

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
    checks.choice(keep, "keep", ("auto", *KEEP))
    count = checks.integer(n_objects, "n_objects", 10)
    data = data_rows(X, metric, metric_params)
    objects = choose_objects(data.n, count, random_state)
    sample, fixed = _sample(data, objects, metric, metric_params)
    sample, standardized = _standardize(sample, fixed, standardize)
    rows = data_rows(sample, **fixed)
    sizes = _sizes(n_neighbors, "n_neighbors", rows.n - 1)
    scales = _sizes(perplexity, "perplexity", (rows.n - 1) / 3)
    widest = min(rows.n - 1, int(max([*sizes, *(3 * scale for scale in scales)])))
    graph = neighbors(sample, k=widest, **fixed)
    dimension = dimension_of(rows, min(20, rows.n - 1), True, random_state)
    consensus = dimension.consensus if np.isfinite(dimension.consensus) else n_components
    euclidean = fixed["metric"] == "euclidean" and isinstance(sample, np.ndarray)
    reason = ""
    if keep == "auto":
        linear = _linear_share(sample, n_components) if euclidean else 0.0
        keep, reason = _what_to_keep(linear, consensus, graph, n_components)
    shared = {"n_components": n_components, **fixed, "random_state": random_state or 0}
    candidates = [
        _try_candidate(candidate, sample, graph, rows)
        for name in _names(methods, euclidean, keep)
        for candidate in _candidates(name, shared, {"n_neighbors": sizes, "perplexity": scales})
    ]
    return Suggestion(
        candidates=tuple(_rank(candidates, KEEP[keep][0])),
        keep=keep,
        keep_reason=reason,
        standardized=standardized,
        n_objects=data.n,
        n_tried=rows.n,
        dimension=dimension,
        n_components=max(1, round(consensus)),
        structure=structure_of(rows, random_state),
        seconds=time.perf_counter() - began,
    )


def _what_to_keep(
    linear: float, dimension: float, graph: NeighborGraph, n_components: int
) -> tuple[str, str]:
    """What a map of the data can keep, and why."""
    if linear >= FLAT:
        space = {1: "line", 2: "plane"}.get(
            n_components, f"linear space of {n_components} dimensions"
        )
        return "distances", f" A {space} holds {linear:.0%} of the variance of these data."
    whole = graph.take(min(graph.n_neighbors or 1, CONNECTING)).components()[0] == 1
    if whole and dimension <= n_components + SHEET:
        shape = f"connected sheet or curve of about {dimension:.1f} dimensions"
        return "geodesics", f" These data lie along a {shape}."
    return "neighbors", ""


def _linear_share(X: Array, n_components: int) -> float:
    """The share of the variance that the leading principal components hold."""
    centered = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    centered /= float(np.abs(centered).max()) or 1.0
    products = centered.T @ centered if X.shape[0] >= X.shape[1] else centered @ centered.T
    values = np.linalg.eigvalsh(products)
    total = float(values.sum())
    return float(values[-n_components:].sum()) / total if total > 0 else 0.0


def _standardize(sample: Any, fixed: dict[str, Any], wanted: bool | str) -> tuple[Any, str]:
    """The sample, standardized if that is wanted or needed, and the reason."""
    if wanted is False or fixed["metric"] != "euclidean" or not isinstance(sample, np.ndarray):
        return sample, ""
    reason = "Columns were standardized."
    if wanted == "auto":
        dominant = dominant_column(sample)
        if dominant is None:
            return sample, ""
        reason = (
            f"Column {dominant[0]} has a standard deviation {dominant[1]:,.0f} times that of a "
            "typical column and would outweigh all others: all candidates were tried on "
            "standardized columns. Standardize the data before you fit a method."
        )
    center, spread = moments(sample)
    scaled = (sample - center) / np.where(spread > 0, spread, 1.0)
    return scaled.astype(sample.dtype), reason


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


def _names(methods: Iterable[str] | None, euclidean: bool, keep: str) -> list[str]:
    if methods is None:
        rows = [row for row in CATALOG if row.suggested and not (euclidean and row.euclidean_twin)]
        return [row.name for row in rows] + FURTHER.get(keep, [])
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if find(name) is None:
            raise ValueError(f"methods: the catalog has no method {name!r}; see lowdim.catalog.")
    if not names:
        raise ValueError("methods is empty: name at least one, or None for the usual ones.")
    return names


def _candidates(
    name: str, shared: Mapping[str, Any], tried: Mapping[str, list[Any]]
) -> Iterator[Candidate]:
    """The parameters to try of one method; none if the method takes vectors alone."""
    known = Candidate(name, {}).estimator().get_params()
    if shared["metric"] != "euclidean" and "metric" not in known:
        return
    same = {
        key: value
        for key, value in shared.items()
        if key in known and value is not None and (key, value) != ("metric", "euclidean")
    }
    tuned = next((key for key in ("perplexity", "n_neighbors") if key in known), None)
    values = [] if tuned is None else [{tuned: value} for value in tried[tuned]]
    yield from (Candidate(name, {**same, **one}) for one in values or [{}])


def _try_candidate(
    candidate: Candidate, sample: Any, graph: NeighborGraph, rows: Rows
) -> Candidate:
    """Fit one candidate and measure its map; an error becomes a part of the result."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joined components and the like show in the scores
            model = candidate.estimator()
            given = {"graph": graph} if "graph" in signature(model.fit).parameters else {}
            Y = model.fit(sample, **given).embedding_
        scores = _scores(Y, rows, graph)
    except (ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        return replace(candidate, failed=one_line(error))
    return replace(candidate, seconds=time.perf_counter() - began, **scores)


def _scores(Y: Any, rows: Rows, graph: NeighborGraph) -> dict[str, Any]:
    """The measures of a map of the sample."""
    placed = map_rows(Y, rows.n)
    everyone = np.arange(rows.n, dtype=np.int32)
    ranks = ranks_between(rows, placed, everyone, 1)
    along = geodesic_correlation(graph, placed, None)
    return {
        **{name: float(getattr(ranks, name)) for name in SCORES[:3]},
        "spearman": distances_of(rows, placed, everyone).spearman,
        "geodesic_correlation": float("nan") if along is None else along,
    }


def _rank(candidates: list[Candidate], score: str) -> Iterator[Candidate]:
    """The candidates in order, each with its reason."""
    good = sorted(
        (c for c in candidates if c.failed is None), key=lambda c: (-getattr(c, score), c.seconds)
    )
    if good:
        top = getattr(good[0], score)
        equal = [c for c in good if getattr(c, score) >= top - CLOSE]
        equal.sort(key=lambda c: (c.method not in LINEAR, -getattr(c, score)))
        good = equal + good[len(equal) :]
    leaders = {
        f"best by {find_measure(name).label}": max(good, key=lambda c: getattr(c, name))
        for name in SCORES
        if good
    }
    for at, candidate in enumerate(good):
        parts = [text for text, leader in leaders.items() if leader is candidate]
        if at and candidate in equal:
            parts.insert(0, "equal to the first")
        if not at and len(equal) > 1 and candidate.method in LINEAR:
            parts.insert(0, "linear, and as good as the best")
        shortfall = f"{find_measure(score).label} lower by {top - getattr(candidate, score):.2f}"
        yield replace(candidate, reason="; ".join(parts) or shortfall)
    yield from (c for c in candidates if c.failed is not None)
