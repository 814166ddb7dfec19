"""The contract of every estimator, once."""

from lowdim.base.embedder import Embedder as Embedder
from lowdim.base.graph_embedder import GraphEmbedder as GraphEmbedder
from lowdim.base.neighbor_embedder import NeighborEmbedder as NeighborEmbedder
