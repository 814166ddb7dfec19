"""The meanings of parameters that several methods have, and what inserts them into docstrings."""

from __future__ import annotations

import inspect
import re

PARAMETERS = {
    "metric": """
metric : str or callable, default="euclidean"
    Dissimilarity between two objects: the name of a SciPy metric, "gower", "nan_euclidean",
    "haversine", "geodesic" (shortest paths in the graph of metric_params["n_neighbors"]
    neighbours), a fitted estimator such as `NeighborhoodComponentsAnalysis`, a function of two
    objects, or "precomputed" if X holds dissimilarities.
""",
    "graph_metric": """
metric : str or callable, default="euclidean"
    Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
    "precomputed": X is a matrix of dissimilarities, a sparse graph of them, or a
    `NeighborGraph`.
""",
    "minkowski": """
metric : str or callable, default="minkowski"
    Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
    "precomputed": X is a matrix of dissimilarities, a sparse graph of them, or a
    `NeighborGraph`.
""",
    "metric_params": """
metric_params : dict, default=None
    Further arguments of the metric.
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
    Whether to show a progress bar.
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
"""By the word that stands for them in a docstring; see `insert_passages`."""

_LINE = re.compile(r"^\$(\w+)$", re.MULTILINE)


def insert_passages(docstring: str, passages: dict[str, str]) -> str:
    """A docstring with passages in place of the lines `$name`.

    Parameters
    ----------
    docstring : str
    passages : dict
        Those of a family, beside `PARAMETERS`; they may have lines `$name` too.

    Examples
    --------
    >>> print(insert_passages("Parameters\\n----------\\n$settings", {"settings": "$verbose"}))
    Parameters
    ----------
    verbose : int, default=0
        Whether to show a progress bar.
    """
    known = PARAMETERS | passages

    def insert(line: re.Match[str]) -> str:
        return _LINE.sub(insert, known[line[1]].strip()) if line[1] in known else line[0]

    return _LINE.sub(insert, inspect.cleandoc(docstring))
