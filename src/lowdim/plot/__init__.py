"""Pictures of embeddings, made with matplotlib (the extra `plot`).

Every function draws on the axes it is given, or on a new figure of its own that no window or
pyplot state knows of; `picture.figure.savefig(path)` writes it.
"""

from lowdim.plot.lines import graph, scree
from lowdim.plot.scatter import compare, scatter
from lowdim.plot.shepard import shepard
from lowdim.plot.subjects import subject_weights

__all__ = ["compare", "graph", "scatter", "scree", "shepard", "subject_weights"]
