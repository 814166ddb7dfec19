"""lowdim: nonlinear dimensionality reduction and Euclidean embedding."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lowdim.base.plan import plan as plan
    from lowdim.matrices.gram import is_euclidean as is_euclidean
    from lowdim.matrices.graph_kernels import is_positive_semidefinite as is_positive_semidefinite
    from lowdim.methods.autoencoder import Autoencoder as Autoencoder
    from lowdim.methods.classical_mds import ClassicalMDS as ClassicalMDS
    from lowdim.methods.curvilinear_component import (
        CurvilinearComponentAnalysis as CurvilinearComponentAnalysis,
    )
    from lowdim.methods.curvilinear_distance import (
        CurvilinearDistanceAnalysis as CurvilinearDistanceAnalysis,
    )
    from lowdim.methods.diffusion_map import DiffusionMap as DiffusionMap
    from lowdim.methods.functions import locally_linear_embedding as locally_linear_embedding
    from lowdim.methods.functions import smacof as smacof
    from lowdim.methods.functions import spectral_embedding as spectral_embedding
    from lowdim.methods.indscal import INDSCAL as INDSCAL
    from lowdim.methods.information_theoretic import (
        InformationTheoreticMetricLearning as InformationTheoreticMetricLearning,
    )
    from lowdim.methods.isomap import Isomap as Isomap
    from lowdim.methods.kernel_pca import KernelPCA as KernelPCA
    from lowdim.methods.laplacian_eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
    from lowdim.methods.large_margin import (
        LargeMarginNearestNeighbor as LargeMarginNearestNeighbor,
    )
    from lowdim.methods.locally_linear import LocallyLinearEmbedding as LocallyLinearEmbedding
    from lowdim.methods.maximum_variance import (
        MaximumVarianceUnfolding as MaximumVarianceUnfolding,
    )
    from lowdim.methods.mds import MDS as MDS
    from lowdim.methods.multiscale_sne import MultiscaleSNE as MultiscaleSNE
    from lowdim.methods.neighborhood_components import (
        NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis,
    )
    from lowdim.methods.neighbors_transformer import NeighborsTransformer as NeighborsTransformer
    from lowdim.methods.nerv import NeRV as NeRV
    from lowdim.methods.parametric_tsne import ParametricTSNE as ParametricTSNE
    from lowdim.methods.parametric_umap import ParametricUMAP as ParametricUMAP
    from lowdim.methods.pca import PCA as PCA
    from lowdim.methods.sammon import Sammon as Sammon
    from lowdim.methods.self_organizing_map import SelfOrganizingMap as SelfOrganizingMap
    from lowdim.methods.sne import SNE as SNE
    from lowdim.methods.spectral_clustering import SpectralClustering as SpectralClustering
    from lowdim.methods.symmetric_sne import SymmetricSNE as SymmetricSNE
    from lowdim.methods.tsne import TSNE as TSNE
    from lowdim.methods.umap import UMAP as UMAP
    from lowdim.methods.weighted_tsne import WeightedTSNE as WeightedTSNE
    from lowdim.notebook import widget as widget
    from lowdim.persist import load as load
    from lowdim.quality.rank_measures import trustworthiness as trustworthiness
    from lowdim.relations.geodesics import geodesics as geodesics
    from lowdim.relations.graph import NeighborGraph as NeighborGraph
    from lowdim.relations.neighbors import neighbors as neighbors
    from lowdim.runtime.context import compute as compute
    from lowdim.solvers.procrustes import procrustes as procrustes
    from lowdim.versions import show_versions as show_versions

__version__ = "0.1.0"

logging.getLogger("lowdim").addHandler(logging.NullHandler())

_FUNCTIONS = {
    "NeighborGraph": "relations.graph",
    "NeighborsTransformer": "methods.neighbors_transformer",
    "geodesics": "relations.geodesics",
    "is_euclidean": "matrices.gram",
    "is_positive_semidefinite": "matrices.graph_kernels",
    "load": "persist",
    "locally_linear_embedding": "methods.functions",
    "neighbors": "relations.neighbors",
    "compute": "runtime.context",
    "plan": "base.plan",
    "procrustes": "solvers.procrustes",
    "show_versions": "versions",
    "smacof": "methods.functions",
    "spectral_embedding": "methods.functions",
    "trustworthiness": "quality.rank_measures",
    "widget": "notebook",
}
_PACKAGES = ("data", "plot", "quality", "report", "tables")


def _methods() -> dict[str, str]:
    from lowdim.catalog import CATALOG

    return {method.name: f"methods.{method.module}" for method in CATALOG}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"lowdim.{name}")
    module = _FUNCTIONS.get(name) or _methods().get(name)
    if module is None:
        raise AttributeError(f"module 'lowdim' has no attribute {name!r}")
    return getattr(import_module(f"lowdim.{module}"), name)


def __dir__() -> list[str]:
    return sorted({"__version__", *_FUNCTIONS, *_PACKAGES, *_methods()})
