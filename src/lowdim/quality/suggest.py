"""Which method, with which parameters? Tried on a sample of the data, without labels.

Every candidate is fitted on one shared neighbour graph and judged by the same ranks: the area
under R_NX in log K, and its parts at small and large neighbourhoods.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.catalog import find
from lowdim.checks import Array
from lowdim.quality.dimension import IntrinsicDimension, dimension_of
from lowdim.quality.null import Structure, structure_of
from lowdim.quality.ranks import Ranks, ranks_between
from lowdim.quality.rows import Rows, data_rows, map_rows
from lowdim.quality.stress import between, some_objects
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.neighbors import neighbors

METHODS = ("PCA", "ClassicalMDS", "Isomap", "LaplacianEigenmaps", "TSNE", "UMAP")
"""Tried by default, those of them that the catalog holds."""

NEIGHBORS = (5, 10, 20, 50)
PERPLEXITIES = (10, 30, 50, 100)
SMALL = 30  # the largest neighbourhood that counts as local, for the reasons
CLOSE = 0.01  # scores that differ by less are as good as equal


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate: its parameters, its scores, and why it stands where it stands.

    auc : area under R_NX in log K. local, global_ : the same for neighbourhoods of up to 30
        objects and for larger ones. failed : what went wrong, if it did.
    """

    method: str
    params: dict[str, Any]
    auc: float
    local: float
    global_: float
    seconds: float
    reason: str = ""
    failed: str | None = None

    def estimator(self) -> Any:
        """A new estimator with these parameters."""
        row = find(self.method)
        if row is None:
            raise ValueError(f"the catalog has no method {self.method!r}.")
        return row.load()(**self.params)

    @property
    def name(self) -> str:
        chosen = {key: value for key, value in self.params.items() if key in _TUNED}
        inside = ", ".join(f"{key}={value}" for key, value in chosen.items())
        return f"{self.method}({inside})" if inside else self.method


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The candidates, the best first, and what the data look like.

    trials : ranked; those that failed last. best : the first.
    n_objects, n_tried : of the data, and of the sample that was tried.
    dimension : intrinsic dimension; n_components : the dimension that it suggests for a map that
        is to be computed with rather than looked at.
    structure : comparison with shuffled columns. seconds : what all this took.
    """

    trials: tuple[Trial, ...]
    n_objects: int
    n_tried: int
    dimension: IntrinsicDimension
    n_components: int
    structure: Structure | None
    seconds: float

    @property
    def best(self) -> Trial:
        return self.trials[0]

    def __str__(self) -> str:
        lines = []
        if self.structure is not None and self.structure.kind == "none":
            lines += ["There is no structure to see in these data: no method can show any.", ""]
        width = max(len(trial.name) for trial in self.trials)
        lines.append(f"{'':{width}}  area  local global  seconds")
        for trial in self.trials:
            if trial.failed is not None:
                lines.append(f"{trial.name:<{width}}  failed: {trial.failed}")
                continue
            scores = f"{trial.auc:5.3f}  {trial.local:5.3f}  {trial.global_:5.3f}"
            lines.append(f"{trial.name:<{width}}  {scores}  {trial.seconds:7.1f}  {trial.reason}")
        tried = (
            f"Tried on {self.n_tried:,} of {self.n_objects:,} objects"
            if self.n_tried < self.n_objects
            else f"Tried on all {self.n_objects:,} objects"
        )
        lines += [
            "",
            f"{tried} in {self.seconds:.0f} s. Scores are areas under R_NX: 0 by chance, 1 at "
            f"best; local counts neighbourhoods of up to {SMALL}.",
            f"Intrinsic dimension {self.dimension}: {self.n_components} coordinates suit a "
            "computation, 2 a picture.",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for `json.dumps`."""
        return {
            "trials": [dict(vars(trial)) for trial in self.trials],
            "n_objects": self.n_objects,
            "n_tried": self.n_tried,
            "dimension": dict(vars(self.dimension)),
            "n_components": self.n_components,
            "structure": None if self.structure is None else dict(vars(self.structure)),
            "seconds": self.seconds,
        }


_TUNED = ("n_neighbors", "perplexity")


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
    """Try methods and parameters on the data and rank them, without labels.

    Parameters
    ----------
    X : the data as every estimator takes it, or with metric="precomputed" all dissimilarities.
    methods : names from the catalog; by default a few of different kinds that it holds.
    n_components : dimension of the maps.
    n_objects : of more objects, this many are drawn at random and tried.
    n_neighbors, perplexity : values to try, where a method has that parameter.
    metric, metric_params : how distances are measured.

    The cost is one neighbour graph of the sample and one fit for each candidate, as the answer
    says. On a sample, neighbourhoods are wider than in all of the data: for many more objects,
    larger numbers of neighbours than those found here are worth a try.
    """
    began = time.perf_counter()
    count = checks.integer(n_objects, "n_objects", 10)
    data = data_rows(X, metric, metric_params, n_jobs)
    objects = some_objects(data.n, count, random_state)
    sample, fixed = _sample(data, objects, metric, metric_params)
    rows = data_rows(sample, **fixed, n_jobs=n_jobs)
    sizes = _sizes(n_neighbors, "n_neighbors", rows.n - 1)
    scales = _sizes(perplexity, "perplexity", (rows.n - 1) / 3)
    widest = min(rows.n - 1, int(max([*sizes, *(3 * scale for scale in scales)])))
    graph = neighbors(sample, k=widest, **fixed, n_jobs=n_jobs)
    names = _names(methods, fixed["metric"] == "euclidean" and isinstance(sample, np.ndarray))
    trials = [
        _tried(name, params, sample, graph, rows, n_jobs)
        for name in names
        for params in _candidates(name, n_components, sizes, scales, fixed, random_state)
    ]
    dimension = dimension_of(rows, min(20, rows.n - 1), True, random_state, n_jobs)
    consensus = dimension.consensus if np.isfinite(dimension.consensus) else n_components
    return Suggestion(
        tuple(_reasoned(trials)),
        data.n,
        rows.n,
        dimension,
        max(1, round(consensus)),
        structure_of(rows, random_state, n_jobs),
        time.perf_counter() - began,
    )


def _sample(
    data: Rows, objects: Array, metric: Any, metric_params: dict[str, Any] | None
) -> tuple[Any, dict[str, Any]]:
    """The objects to try, and how they are measured."""
    if data.vectors is None:
        D = between(data, objects)
        return np.maximum(D, D.T), {"metric": "precomputed"}
    part = data.vectors if len(objects) == data.n else data.vectors[objects]
    return part, {"metric": metric, "metric_params": metric_params}


def _sizes(values: Iterable[float], name: str, most: float) -> list[Any]:
    """The values that so many objects allow, at least one."""
    given = sorted(values)
    if not given:
        raise ValueError(f"{name} is empty: give at least one value to try.")
    return [value for value in given if value <= most] or [type(given[0])(max(1, most))]


def _names(methods: Iterable[str] | None, euclidean: bool) -> list[str]:
    if methods is None:
        twice = "ClassicalMDS" if euclidean else ""  # of Euclidean vectors it is PCA
        return [name for name in METHODS if find(name) is not None and name != twice]
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


def _tried(
    name: str,
    params: dict[str, Any],
    sample: Any,
    graph: NeighborGraph,
    rows: Rows,
    n_jobs: int | None,
) -> Trial:
    """Fit one candidate and judge it; what fails is told, not raised."""
    trial = Trial(name, params, float("nan"), float("nan"), float("nan"), 0.0)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pieces are joined, and so on: the scores tell
            model = trial.estimator()
            if "n_jobs" in model.get_params():
                model.set_params(n_jobs=n_jobs)
            Y = model.fit(sample, **_ready(model, graph)).embedding_
        ranks = _ranked(Y, rows, n_jobs)
    except (ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        message = " ".join(str(error).split())
        return Trial(**{**vars(trial), "failed": message or type(error).__name__})
    seconds = time.perf_counter() - began
    curve = ranks.rnx
    weights = 1 / curve.K
    near = curve.K <= SMALL
    local = float(np.average(curve.values[near], weights=weights[near]))
    wide = ~near if (~near).any() else near
    far = float(np.average(curve.values[wide], weights=weights[wide]))
    return Trial(name, params, float(ranks.auc), local, far, seconds)


def _ready(model: Any, graph: NeighborGraph) -> dict[str, Any]:
    """The shared graph, for those who take one."""
    from inspect import signature

    return {"graph": graph} if "graph" in signature(model.fit).parameters else {}


def _ranked(Y: Any, rows: Rows, n_jobs: int | None) -> Ranks:
    placed = map_rows(Y, rows.n, n_jobs)
    everyone = np.arange(rows.n, dtype=np.int32)
    return ranks_between(rows, placed, everyone, 1, n_jobs)


def _reasoned(trials: list[Trial]) -> Iterator[Trial]:
    """The trials in order, each with its reason."""
    good = sorted((t for t in trials if t.failed is None), key=lambda t: (-t.auc, t.seconds))
    bad = [t for t in trials if t.failed is not None]
    if good:
        best = good[0]
        local = max(good, key=lambda t: t.local)
        wide = max(good, key=lambda t: t.global_)
        quick = min((t for t in good if t.auc >= best.auc - CLOSE), key=lambda t: t.seconds)
    for trial in good:
        parts = []
        if trial is best:
            parts.append("keeps most over all scales")
        elif trial.auc >= best.auc - CLOSE:
            parts.append("as good as the best")
        if trial is local:
            parts.append("neighbours kept best")
        if trial is wide:
            parts.append("large neighbourhoods kept best")
        if trial is quick and trial is not best:
            parts.append("the quickest of the best")
        if not parts:
            parts.append(_shortfall(trial, best))
        yield Trial(**{**vars(trial), "reason": "; ".join(parts)})
    yield from bad


def _shortfall(trial: Trial, best: Trial) -> str:
    """What a candidate lacks beside the best."""
    near, far = best.local - trial.local, best.global_ - trial.global_
    if near > CLOSE and far > CLOSE:
        return "less at small and large scales"
    if near > CLOSE:
        return "loses neighbours"
    return "loses large neighbourhoods" if far > CLOSE else "a little less"
