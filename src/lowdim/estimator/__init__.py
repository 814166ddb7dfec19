"""Base classes of the estimators: the public contract, without any algorithm."""

from lowdim.estimator.embedder import Embedder as Embedder
from lowdim.estimator.graph_embedder import GraphEmbedder as GraphEmbedder
from lowdim.estimator.neighbor_embedder import NeighborEmbedder as NeighborEmbedder
