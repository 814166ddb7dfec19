"""lowdim: nonlinear dimensionality reduction and Euclidean embedding."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lowdim.estimator.persist import load as load
    from lowdim.estimator.plan import plan as plan
    from lowdim.explore.compare_maps import compare_maps as compare_maps
    from lowdim.explore.explain import explain as explain
    from lowdim.explore.regions import regions as regions
    from lowdim.learned.autoencoder import Autoencoder as Autoencoder
    from lowdim.learned.metric_learning.information_theoretic import (
        InformationTheoreticMetricLearning as InformationTheoreticMetricLearning,
    )
    from lowdim.learned.metric_learning.large_margin import (
        LargeMarginNearestNeighbor as LargeMarginNearestNeighbor,
    )
    from lowdim.learned.metric_learning.neighborhood_components import (
        NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis,
    )
    from lowdim.learned.parametric.parametric_tsne import ParametricTSNE as ParametricTSNE
    from lowdim.learned.parametric.parametric_umap import ParametricUMAP as ParametricUMAP
    from lowdim.learned.self_organizing_map.self_organizing_map import (
        SelfOrganizingMap as SelfOrganizingMap,
    )
    from lowdim.neighbor_embedding.aligned import AlignedUMAP as AlignedUMAP
    from lowdim.neighbor_embedding.aligned import fit_aligned as fit_aligned
    from lowdim.neighbor_embedding.largevis import LargeVis as LargeVis
    from lowdim.neighbor_embedding.largevis import NegativeSamplingTSNE as NegativeSamplingTSNE
    from lowdim.neighbor_embedding.multiscale_sne import MultiscaleSNE as MultiscaleSNE
    from lowdim.neighbor_embedding.nerv import NeRV as NeRV
    from lowdim.neighbor_embedding.pacmap.pacmap import PaCMAP as PaCMAP
    from lowdim.neighbor_embedding.sne import SNE as SNE
    from lowdim.neighbor_embedding.sne import SymmetricSNE as SymmetricSNE
    from lowdim.neighbor_embedding.trimap.trimap import TriMap as TriMap
    from lowdim.neighbor_embedding.tsne import TSNE as TSNE
    from lowdim.neighbor_embedding.umap.umap import UMAP as UMAP
    from lowdim.neighbor_embedding.weighted_tsne import WeightedTSNE as WeightedTSNE
    from lowdim.neighbor_graphs.geodesics import geodesics as geodesics
    from lowdim.neighbor_graphs.graph import NeighborGraph as NeighborGraph
    from lowdim.notebook import widget as widget
    from lowdim.numerics.procrustes import procrustes as procrustes
    from lowdim.objects.neighbors import neighbors as neighbors
    from lowdim.objects.neighbors_transformer import NeighborsTransformer as NeighborsTransformer
    from lowdim.quality.rank_measures import trustworthiness as trustworthiness
    from lowdim.runtime.context import compute as compute
    from lowdim.spectral.classical_mds import ClassicalMDS as ClassicalMDS
    from lowdim.spectral.diffusion_map import DiffusionMap as DiffusionMap
    from lowdim.spectral.functions import locally_linear_embedding as locally_linear_embedding
    from lowdim.spectral.functions import spectral_embedding as spectral_embedding
    from lowdim.spectral.graph_projections import (
        LinearLocalTangentSpaceAlignment as LinearLocalTangentSpaceAlignment,
    )
    from lowdim.spectral.graph_projections import (
        LocalityPreservingProjections as LocalityPreservingProjections,
    )
    from lowdim.spectral.graph_projections import (
        NeighborhoodPreservingEmbedding as NeighborhoodPreservingEmbedding,
    )
    from lowdim.spectral.isomap import Isomap as Isomap
    from lowdim.spectral.kernel_pca.kernel_pca import KernelPCA as KernelPCA
    from lowdim.spectral.laplacian_eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
    from lowdim.spectral.locally_linear import LocallyLinearEmbedding as LocallyLinearEmbedding
    from lowdim.spectral.maximum_variance.maximum_variance import (
        MaximumVarianceUnfolding as MaximumVarianceUnfolding,
    )
    from lowdim.spectral.mixed_data import FactorAnalysisOfMixedData as FactorAnalysisOfMixedData
    from lowdim.spectral.mixed_data import (
        MultipleCorrespondenceAnalysis as MultipleCorrespondenceAnalysis,
    )
    from lowdim.spectral.pca import PCA as PCA
    from lowdim.spectral.scaling import is_euclidean as is_euclidean
    from lowdim.spectral.scaling import is_positive_semidefinite as is_positive_semidefinite
    from lowdim.spectral.spectral_clustering import SpectralClustering as SpectralClustering
    from lowdim.stress.curvilinear.curvilinear_component import (
        CurvilinearComponentAnalysis as CurvilinearComponentAnalysis,
    )
    from lowdim.stress.curvilinear.curvilinear_distance import (
        CurvilinearDistanceAnalysis as CurvilinearDistanceAnalysis,
    )
    from lowdim.stress.distortion import embed as embed
    from lowdim.stress.indscal.indscal import INDSCAL as INDSCAL
    from lowdim.stress.mds.mds import MDS as MDS
    from lowdim.stress.mds.smacof import smacof as smacof
    from lowdim.stress.phate import PHATE as PHATE
    from lowdim.stress.sammon import Sammon as Sammon
    from lowdim.stress.unfolding import Unfolding as Unfolding
    from lowdim.versions import show_versions as show_versions

__version__ = "0.1.0"

logging.getLogger("lowdim").addHandler(logging.NullHandler())

# Public names beside the methods of the catalog, each with its module.
_OTHERS = {
    "AlignedUMAP": "neighbor_embedding.aligned",
    "compare_maps": "explore.compare_maps",
    "compute": "runtime.context",
    "embed": "stress.distortion",
    "explain": "explore.explain",
    "fit_aligned": "neighbor_embedding.aligned",
    "geodesics": "neighbor_graphs.geodesics",
    "is_euclidean": "spectral.scaling",
    "is_positive_semidefinite": "spectral.scaling",
    "load": "estimator.persist",
    "locally_linear_embedding": "spectral.functions",
    "NeighborGraph": "neighbor_graphs.graph",
    "neighbors": "objects.neighbors",
    "NeighborsTransformer": "objects.neighbors_transformer",
    "plan": "estimator.plan",
    "procrustes": "numerics.procrustes",
    "regions": "explore.regions",
    "show_versions": "versions",
    "smacof": "stress.mds.smacof",
    "spectral_embedding": "spectral.functions",
    "trustworthiness": "quality.rank_measures",
    "widget": "notebook",
}
_PACKAGES = ("data", "plot", "quality", "report", "tables")


def _methods() -> dict[str, str]:
    from lowdim.catalog import CATALOG

    return {method.name: method.module for method in CATALOG}


def __getattr__(name: str) -> Any:
    module = name if name in _PACKAGES else _OTHERS.get(name) or _methods().get(name)
    if module is None:
        raise AttributeError(f"module 'lowdim' has no attribute {name!r}")
    from lowdim.runtime.interrupts import watch_interrupts

    try:
        with watch_interrupts():
            loaded = import_module(f"lowdim.{module}")
        return loaded if name in _PACKAGES else getattr(loaded, name)
    except ModuleNotFoundError as error:  # a package of an extra, as the message says
        raise AttributeError(str(error)) from error


def __dir__() -> list[str]:
    return sorted({"__version__", *_OTHERS, *_PACKAGES, *_methods()})
