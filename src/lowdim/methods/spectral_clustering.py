"""Spectral clustering (Shi and Malik 2000; Ng, Jordan and Weiss 2002)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.methods.laplacian_eigenmaps import LaplacianEigenmaps
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.new_objects import NewDissimilarities, NewObjects
from lowdim.relations.objects import Objects
from lowdim.relations.similarities import Similarities, similarities_of


class SpectralClustering(ClusterMixin, LaplacianEigenmaps):
    """Clusters that are weakly linked: k-means on Laplacian eigenmaps.

    Laplacian eigenmaps -> k-means

    Parameters
    ----------
    n_clusters : number of clusters.
    n_components : dimension of the map that is clustered; None: n_clusters - 1, at least 1
        (the constant eigenvector tells nothing).
    n_init : starts of k-means.
    affinity : "nearest_neighbors", or "precomputed": X holds the weights themselves, symmetric.
    n_neighbors, radius, symmetry, weights, t, normalization, eigen_solver, tol, metric,
    metric_params, disconnected, random_state, n_jobs : see LaplacianEigenmaps.

    Attributes
    ----------
    labels_ : the cluster of each object. cluster_centers_ : their centres in the map.
    embedding_, eigenvalues_, graph_, affinity_matrix_ : of the map.

    `predict` places new objects by Nystroem's formula and takes the nearest centre.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        n_init: int = 10,
        affinity: str = "nearest_neighbors",
        n_neighbors: int | None = None,
        radius: float | None = None,
        symmetry: str = "union",
        weights: str = "heat",
        t: float | None = None,
        normalization: str = "random-walk",
        eigen_solver: str = "auto",
        tol: float = 1e-10,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,  # type: ignore[arg-type]
            n_neighbors=n_neighbors,
            radius=radius,
            symmetry=symmetry,
            weights=weights,
            t=t,
            normalization=normalization,
            eigen_solver=eigen_solver,
            tol=tol,
            metric=metric,
            metric_params=metric_params,
            disconnected=disconnected,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.affinity = affinity

    def fit(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Self:
        """Cluster the objects X; see LaplacianEigenmaps.fit."""
        checks.integer(self.n_clusters, "n_clusters", 1)
        checks.choice(self.disconnected, "disconnected", ("join", "raise"))
        checks.choice(self.affinity, "affinity", ("nearest_neighbors", "precomputed"))
        return super().fit(X, y, graph=graph)

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None, **arguments: Any) -> None:
        if isinstance(objects, Similarities):
            self.affinity_matrix_, self.t_ = csr_array(objects.matrix), np.nan
            k = self._check_n_components(objects.n)
            self._embed(self.affinity_matrix_, k, rows_dtype=objects.dtype)
        else:
            super()._fit(objects, graph, **arguments)
        self._cluster()

    def _objects(self, X: Any) -> Objects:
        if self.affinity != "precomputed":
            return super()._objects(X)
        objects = similarities_of(X, "affinity", nonnegative=True)
        self.n_features_in_ = objects.n
        return objects

    def _new_objects(self, X: Any) -> NewObjects:
        if self.affinity != "precomputed":
            return super()._new_objects(X)
        weights = checks.vectors(X)
        if weights.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {weights.shape[1]} columns, but the model knows {self.n_features_in_} "
                "objects: give each new object's weights to all of them."
            )
        return NewDissimilarities(weights)

    def _cluster(self) -> None:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        checks.integer(self.n_clusters, "n_clusters", 1, len(self.embedding_), " (n_samples)")
        kmeans = KMeans(self.n_clusters, n_init=self.n_init, random_state=self.random_state)
        with threadpool_limits(1):  # sums in a fixed order
            kmeans.fit(self.embedding_ * self._spread())
        self.labels_ = kmeans.labels_
        self.cluster_centers_ = kmeans.cluster_centers_ / self._spread()

    def _spread(self) -> float:
        """Eigenvectors have tiny entries; k-means' tolerance wants numbers about 1."""
        return float(1 / max(float(self.embedding_.std()), 1e-300))

    def predict(self, X: Any) -> Array:
        """The cluster of each new object."""
        Y = self.transform(X)
        return backend().smallest(cdist(Y, self.cluster_centers_), 1)[0][:, 0]

    def _transform(self, new: NewObjects) -> Array:
        if self.affinity != "precomputed":
            return super()._transform(new)
        everyone = np.arange(self.n_features_in_)[None, :]
        return np.concatenate([self._extend(everyone, row[None, :]) for row in new.vectors()])

    def _check_n_components(self, n: int) -> int:
        if self.n_components is None:
            return min(max(self.n_clusters - 1, 1), n - 1)
        return super()._check_n_components(n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise |= self.affinity == "precomputed"
        return tags
