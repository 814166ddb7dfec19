"""Pictures of embeddings, made with matplotlib (the extra `plot`).

Every function draws on the axes that it is given, or on a new figure. If pyplot is imported, or in
a notebook, that figure is one of pyplot: it appears, and `plt.show()` works. `save(picture, path)`
writes a picture.
"""

from lowdim.plot.animate import animate
from lowdim.plot.canvas import save
from lowdim.plot.compare import compare
from lowdim.plot.errors import errors
from lowdim.plot.explored import feature_arrows, region_names
from lowdim.plot.lines import graph, rnx, scree
from lowdim.plot.outlines import groups
from lowdim.plot.path import path
from lowdim.plot.recorder import Recorder
from lowdim.plot.scatter import scatter
from lowdim.plot.shepard import shepard
from lowdim.plot.som import component_planes, hits, u_matrix, unit_labels
from lowdim.plot.subjects import subject_weights
from lowdim.plot.variables import VectorFit, biplot_axes, fit_vectors, vectors

__all__ = [
    "Recorder",
    "VectorFit",
    "animate",
    "biplot_axes",
    "compare",
    "component_planes",
    "errors",
    "feature_arrows",
    "fit_vectors",
    "graph",
    "groups",
    "hits",
    "path",
    "region_names",
    "rnx",
    "save",
    "scatter",
    "scree",
    "shepard",
    "subject_weights",
    "u_matrix",
    "unit_labels",
    "vectors",
]
