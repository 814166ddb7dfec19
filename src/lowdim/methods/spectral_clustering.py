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
    """Spectral clustering: groups of objects with weak links between them.

    Laplacian eigenmaps -> k-means

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int, default=None
        Dimension of the map that is clustered; None: n_clusters - 1, at least 1, as the constant
        eigenvector holds no information.
    n_init : int, default=10
        Number of starts of k-means.
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        Weights from the neighbour graph, or X is a symmetric matrix of weights.
    n_neighbors : int, default=None
        Number of neighbours of an object; 10 if neither this nor radius is given.
    radius : float, default=None
        All objects within this distance are neighbours, instead of n_neighbors.
    symmetry : {"union", "mutual", "mean"}, default="union"
        See LaplacianEigenmaps.
    weights : {"heat", "binary"}, default="heat"
        See LaplacianEigenmaps.
    t : float, default=None
        See LaplacianEigenmaps.
    normalization : {"random-walk", "symmetric", "none"}, default="random-walk"
        See LaplacianEigenmaps.
    eigen_solver : str, default="auto"
        See LaplacianEigenmaps.
    tol : float, default=1e-10
        See LaplacianEigenmaps.
    metric : str or callable, default="euclidean"
        See LaplacianEigenmaps.
    metric_params : dict, default=None
        See LaplacianEigenmaps.
    disconnected : {"join", "raise"}, default="join"
        What to do with a graph of several components: "join" them by their shortest bridges with a
        warning, or "raise" an error.
    random_state : int, RandomState or None, default=None
        Seed of k-means and start of the iterative eigensolver.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each object.
    cluster_centers_ : array of shape (n_clusters, n_components)
        Centres of the clusters on the map.
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
    eigenvalues_ : array of shape (n_components,)
        The smallest eigenvalues, ascending, without the trivial 0.
    graph_ : NeighborGraph
        The neighbour graph; not with affinity="precomputed".
    affinity_matrix_ : CSR matrix of shape (n_samples, n_samples)
        The symmetric edge weights.

    See Also
    --------
    LaplacianEigenmaps : the map alone.

    Notes
    -----
    Time and memory are n k for k neighbours, a sparse eigenproblem, and k-means.

    `predict` and `transform` place new objects by Nystroem's formula as LaplacianEigenmaps does.
    ``transform(X_train)`` equals `embedding_`, with affinity="precomputed" to the accuracy of the
    eigensolver.

    References
    ----------
    .. [1] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22, 2000.
    .. [2] A. Y. Ng, M. I. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm",
       NIPS, 2002.

    Examples
    --------
    Two rings, one inside of the other.

    >>> import numpy as np
    >>> import lowdim
    >>> angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> X = np.vstack([ring, 3 * ring])
    >>> clustering = lowdim.SpectralClustering(2, n_neighbors=30, t=0.1, random_state=0)
    >>> labels = clustering.fit_predict(X)
    >>> len(set(labels[:60])), len(set(labels[60:])), bool(labels[0] != labels[-1])
    (1, 1, True)
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
        """Compute `labels_` and `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row; with metric="precomputed" dissimilarities, with
            affinity="precomputed" weights.
        y : None
            Ignored.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, instead of computing it.

        Returns
        -------
        self
        """
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
        """A factor that scales eigenvectors, whose entries are tiny, for k-means' tolerance."""
        return float(1 / max(float(self.embedding_.std()), 1e-300))

    def predict(self, X: Any) -> Array:
        """The cluster of each new object, which is that of the nearest centre.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            New objects, as in `transform`.

        Returns
        -------
        array of shape (n_new,)
        """
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
