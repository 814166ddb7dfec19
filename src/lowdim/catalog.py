"""Where each method is. Everything else about a method is declared on its class."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc, signature
from typing import Any

_MODULES = {
    "PCA": "spectral.pca",
    "ClassicalMDS": "spectral.classical_mds",
    "MDS": "stress.mds.mds",
    "KernelPCA": "spectral.kernel_pca.kernel_pca",
    "FactorAnalysisOfMixedData": "spectral.mixed_data",
    "MultipleCorrespondenceAnalysis": "spectral.mixed_data",
    "Isomap": "spectral.isomap",
    "LocallyLinearEmbedding": "spectral.locally_linear",
    "LaplacianEigenmaps": "spectral.laplacian_eigenmaps",
    "SpectralClustering": "spectral.spectral_clustering",
    "DiffusionMap": "spectral.diffusion_map",
    "LocalityPreservingProjections": "spectral.graph_projections",
    "NeighborhoodPreservingEmbedding": "spectral.graph_projections",
    "LinearLocalTangentSpaceAlignment": "spectral.graph_projections",
    "PHATE": "stress.phate",
    "Sammon": "stress.sammon",
    "INDSCAL": "stress.indscal.indscal",
    "Unfolding": "stress.unfolding",
    "CurvilinearComponentAnalysis": "stress.curvilinear.curvilinear_component",
    "CurvilinearDistanceAnalysis": "stress.curvilinear.curvilinear_distance",
    "UMAP": "neighbor_embedding.umap.umap",
    "PaCMAP": "neighbor_embedding.pacmap.pacmap",
    "LargeVis": "neighbor_embedding.largevis",
    "NegativeSamplingTSNE": "neighbor_embedding.largevis",
    "TriMap": "neighbor_embedding.trimap.trimap",
    "MaximumVarianceUnfolding": "spectral.maximum_variance.maximum_variance",
    "SNE": "neighbor_embedding.sne",
    "SymmetricSNE": "neighbor_embedding.sne",
    "TSNE": "neighbor_embedding.tsne",
    "WeightedTSNE": "neighbor_embedding.weighted_tsne",
    "MultiscaleSNE": "neighbor_embedding.multiscale_sne",
    "NeRV": "neighbor_embedding.nerv",
    "SelfOrganizingMap": "learned.self_organizing_map.self_organizing_map",
    "NeighborhoodComponentsAnalysis": "learned.metric_learning.neighborhood_components",
    "LargeMarginNearestNeighbor": "learned.metric_learning.large_margin",
    "InformationTheoreticMetricLearning": "learned.metric_learning.information_theoretic",
    "Autoencoder": "learned.autoencoder",
    "ParametricTSNE": "learned.parametric.parametric_tsne",
    "ParametricUMAP": "learned.parametric.parametric_umap",
}


@dataclass(frozen=True)
class Method:
    """A method by name; its class is imported when something else is asked.

    The attributes of `lowdim.estimator.Traits`, such as `keeps` and `live`, are those that
    the class declares.
    """

    name: str  # of the class
    module: str  # in `lowdim`

    @property
    def family(self) -> str:
        """The folder of the method: spectral, stress, neighbor embedding or learned."""
        return self.module.partition(".")[0].replace("_", " ")

    @property
    def sentence(self) -> str:
        """The steps from objects to coordinates: the second paragraph of the docstring."""
        rest = (getdoc(self.load()) or "").partition("\n\n")[2]
        return " ".join(rest.partition("\n\n")[0].split())

    def load(self) -> Any:
        """The class of the estimator."""
        return getattr(import_module(f"lowdim.{self.module}"), self.name)

    @property
    def pins(self) -> bool:
        """Whether `fit` can hold objects at given places (`pinned`)."""
        return "pinned" in signature(self.load().fit).parameters

    def __getattr__(self, trait: str) -> Any:
        if trait.startswith("_"):
            raise AttributeError(trait)
        return getattr(self.load().traits, trait)


CATALOG = [Method(name, module) for name, module in _MODULES.items()]


def find(name: str) -> Method | None:
    """The method of this name; None if there is none."""
    return next((method for method in CATALOG if method.name == name), None)
