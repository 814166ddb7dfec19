"""The contract of every estimator, once."""

from lowdim.base.divergence_embedder import DivergenceEmbedder as DivergenceEmbedder
from lowdim.base.embedder import Embedder as Embedder
from lowdim.base.graph_embedder import GraphEmbedder as GraphEmbedder
from lowdim.base.neighbor_embedder import NeighborEmbedder as NeighborEmbedder
from lowdim.base.stochastic_embedder import StochasticEmbedder as StochasticEmbedder
