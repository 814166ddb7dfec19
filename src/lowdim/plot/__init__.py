"""Pictures of embeddings, made with matplotlib (the extra `plot`).

Every function draws on the axes that it is given, or on a new figure. If pyplot is imported, or in
a notebook, that figure is one of pyplot: it appears, and `plt.show()` works. `save(picture, path)`
writes a picture.
"""

from lowdim.plot.animate import Recorder as Recorder
from lowdim.plot.animate import animate as animate
from lowdim.plot.canvas import save as save
from lowdim.plot.charts import graph as graph
from lowdim.plot.charts import rnx as rnx
from lowdim.plot.charts import scree as scree
from lowdim.plot.charts import shepard as shepard
from lowdim.plot.charts import subject_weights as subject_weights
from lowdim.plot.compare import compare as compare
from lowdim.plot.errors import errors as errors
from lowdim.plot.overlays import drift_vectors as drift_vectors
from lowdim.plot.overlays import ellipses as ellipses
from lowdim.plot.overlays import feature_arrows as feature_arrows
from lowdim.plot.overlays import groups as groups
from lowdim.plot.overlays import region_names as region_names
from lowdim.plot.path import path as path
from lowdim.plot.scatter import feature_changes as feature_changes
from lowdim.plot.scatter import scatter as scatter
from lowdim.plot.som import component_planes as component_planes
from lowdim.plot.som import hits as hits
from lowdim.plot.som import u_matrix as u_matrix
from lowdim.plot.som import unit_labels as unit_labels
from lowdim.plot.variables import VectorFit as VectorFit
from lowdim.plot.variables import biplot_axes as biplot_axes
from lowdim.plot.variables import fit_vectors as fit_vectors
from lowdim.plot.variables import vectors as vectors
