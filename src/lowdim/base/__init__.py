"""Base classes of the estimators: the public contract, without any algorithm."""

from lowdim.base.embedder import Embedder as Embedder
from lowdim.base.graph_embedder import GraphEmbedder as GraphEmbedder
from lowdim.base.neighbor_embedder import NeighborEmbedder as NeighborEmbedder
