"""Pictures of embeddings, made with matplotlib (the extra `plot`).

Every function draws on the axes it is given, or on a new figure of its own that no window or
pyplot state knows of; `picture.figure.savefig(path)` writes it.
"""

from lowdim.plot.animate import Recorder, animate
from lowdim.plot.compare import compare
from lowdim.plot.errors import errors
from lowdim.plot.lines import graph, rnx, scree
from lowdim.plot.scatter import scatter
from lowdim.plot.shepard import shepard
from lowdim.plot.subjects import subject_weights

__all__ = [
    "Recorder",
    "animate",
    "compare",
    "errors",
    "graph",
    "rnx",
    "scatter",
    "scree",
    "shepard",
    "subject_weights",
]
