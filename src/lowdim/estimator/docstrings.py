"""Docstrings of estimators: passages that several share, and a reader for other interfaces."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_RELATIONS = """
    Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
    "precomputed": X is a matrix of dissimilarities, a sparse graph of them, or a
    `NeighborGraph`.
"""
PASSAGES = {
    "objects": """
X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
    One object per row; with metric="precomputed" a matrix of dissimilarities, a sparse graph of
    them, or a `NeighborGraph`.
""",
    "given_graph": """
y : None
    Ignored.
graph : NeighborGraph, default=None
    The neighbour graph of X from `lowdim.neighbors`, with at least as many neighbours as the method
    needs. Computed if not given.
""",
    "pins": """
pinned : array of shape (n_samples, n_components), default=None
    Coordinates at which objects are held; NaN for those that are free.
pin_strength : float or array of shape (n_samples,), default=1.0
    1 keeps pinned objects in their places. A smaller number is a spring: the share of its distance
    by which an object returns to its place in each iteration.
""",
    "n_components": """
n_components : int, default=2
    Dimension of the map.
""",
    "embedding": """
embedding_ : array of shape (n_samples, n_components)
    Coordinates of the objects.
""",
    "graph": """
graph_ : NeighborGraph
    The neighbour graph.
""",
    "n_iter": """
n_iter_ : int
    Number of iterations.
""",
    "metric": """
metric : str or callable, default="euclidean"
    Dissimilarity between two objects: the name of a SciPy metric, "gower", "nan_euclidean",
    "haversine", "geodesic" (shortest paths in the graph of metric_params["n_neighbors"]
    neighbours), a fitted estimator such as `NeighborhoodComponentsAnalysis`, a function of two
    objects, or "precomputed" if X holds dissimilarities.
$metric_params
""",
    "named_metric": """
metric : str or callable, default="euclidean"
    Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or "precomputed".
$metric_params
""",
    "graph_metric": f"""
metric : str or callable, default="euclidean"{_RELATIONS.rstrip()}
$metric_params
""",
    "minkowski": f"""
metric : str or callable, default="minkowski"{_RELATIONS.rstrip()}
p : float, default=2
    Exponent of metric="minkowski".
$metric_params
""",
    "metric_params": """
metric_params : dict, default=None
    Further arguments of the metric.
""",
    "path_method": """
path_method : {"auto", "D", "FW"}, default="auto"
    Shortest paths by a search from every object ("D", Dijkstra) or for all pairs together
    ("FW", Floyd and Warshall).
""",
    "neighbors_algorithm": """
neighbors_algorithm : str, default="auto"
    Ignored; accepted for compatibility with scikit-learn. The neighbours are always exact.
""",
    "radius": """
radius : float, default=None
    All objects within this distance are neighbours, instead of n_neighbors.
""",
    "disconnected": """
disconnected : {"join", "largest", "separate", "raise"}, default="join"
    What to do with a graph of several components: "join" them by their shortest bridges with a
    warning, embed only the "largest", embed them "separate" and side by side, or "raise" an
    error.
""",
    "gamma": """
gamma : float, default=None
    Factor in "rbf", "poly", "laplacian" and "sigmoid"; None: 1 / n_features.
""",
    "kernel_constants": """
degree : float, default=3
    Exponent of "poly".
coef0 : float, default=1
    Constant in "poly" and "sigmoid".
""",
    "tol": """
tol : float, default=0.0
    Accuracy of the iterative eigensolver; 0 stands for machine precision.
""",
    "eigensolver": """
random_state : int, RandomState or None, default=None
    Start of the iterative eigensolver.
$n_jobs
""",
    "n_jobs": """
n_jobs : int, default=None
    Number of threads; None takes those of `lowdim.compute`, -1 takes all. The result does not
    depend on it.
""",
    "callback": """
callback : callable, default=None
    Function that is called with the state after every iteration; the fit stops when it returns
    True.
""",
    "verbose": """
verbose : int, default=0
    1 shows a progress bar, 2 prints the error to stdout after every 50 iterations.
""",
    "checkpoint": """
checkpoint : str or path-like, default=None
    File in which the state of the fit is kept. If the fit is killed, the same call goes on from
    there and ends with the same map as without the interruption; the file stays, so delete it when
    it is no longer needed. It is written every so often, in at most 2 % of the time, and goes with
    these data and parameters alone. A larger `max_iter` is accepted where the size of the steps
    does not depend on it.
warm_start : bool, default=False
    Whether a second `fit` to the same X, with the same parameters except a larger `max_iter` (in
    `UMAP` `n_epochs`), continues where the first one ended instead of starting over. With
    `checkpoint`, the file does this.
""",
    "run": """
$n_jobs
$callback
$verbose
$checkpoint
""",
}
"""Meanings of parameters, by the word that stands for them in docstrings; see `insert_passages`."""

_PASSAGE = re.compile(r"^\$(\w+)$", re.MULTILINE)
_NAMES = re.compile(r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<type>.*))?")
_RULE = re.compile(r"-{3,}")
_CITED = re.compile(r" \[\d+\]_")
_SEE = re.compile(r"See `?\w+`?\.")
_QUOTED = re.compile(r'"([^"]+)"')


def insert_passages(docstring: str, passages: dict[str, str]) -> str:
    """A docstring with passages in place of the lines `$name`: those given, and `PASSAGES`."""
    known = PASSAGES | passages

    def insert(line: re.Match[str]) -> str:
        return _PASSAGE.sub(insert, known[line[1]].strip()) if line[1] in known else line[0]

    return _PASSAGE.sub(insert, inspect.cleandoc(docstring))


@dataclass(frozen=True)
class Entry:
    """A parameter: what stands after its colon, and its description in one line."""

    type: str
    text: str

    @property
    def choices(self) -> list[str]:
        """The values of a type such as {"auto", "dense"}; none for other types."""
        listed = self.type.partition("}")[0]
        return _QUOTED.findall(listed) if listed.startswith("{") else []


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section, by its title; those before the first have the title ""."""
    contents: dict[str, list[str]] = {"": []}
    title = ""
    for line in inspect.cleandoc(text).splitlines():
        if _RULE.fullmatch(line.strip()):
            title = contents[title].pop().strip()
            contents[title] = []
        else:
            contents[title].append(line)
    return contents


def entries(lines: Sequence[str]) -> dict[str, Entry]:
    """The entries of a section such as Parameters, by name, without citations."""
    blocks: list[list[str]] = []
    for line in filter(None, map(str.rstrip, lines)):
        if not line.startswith(" "):
            blocks.append([])
        blocks[-1].append(line.strip())
    by_name: dict[str, Entry] = {}
    for head, *body in blocks:
        if (match := _NAMES.fullmatch(head)) is not None:
            entry = Entry(match["type"] or "", _CITED.sub("", " ".join(body)))
            by_name |= dict.fromkeys(match["names"].split(", "), entry)
    return by_name


def parameters(documented: Any) -> dict[str, Entry]:
    """The parameters in the docstring of a class, its bases included, or of a function.

    What a class describes by "See OtherClass." alone is taken from that base.
    """
    by_name: dict[str, Entry] = {}
    for base in reversed(getattr(documented, "__mro__", (documented,))):
        own = entries(sections(base.__doc__ or "").get("Parameters", []))
        by_name = own | by_name | {n: e for n, e in own.items() if not _SEE.fullmatch(e.text)}
    return by_name
