"""Spectral clustering (Shi and Malik 2000; Ng, Jordan and Weiss 2002)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.estimator.fitted_state import Numbers
from lowdim.estimator.traits import Traits
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.kernels import Kernel, resolve_kernel
from lowdim.objects.objects import Objects
from lowdim.spectral.cluster_assignment import ASSIGNMENTS, Assignment
from lowdim.spectral.laplacian import trivial_vector
from lowdim.spectral.laplacian_eigenmaps import LaplacianEigenmaps


class SpectralClustering(ClusterMixin, LaplacianEigenmaps):
    """Spectral clustering: groups of objects with weak links between them.

    Laplacian eigenmaps -> k-means

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int, default=None
        Dimension of the map, and number of eigenvectors that are clustered. As in scikit-learn
        the trivial one, which holds no information and is not part of the map, is counted, so that
        the last coordinate is not clustered if there are several. None: n_clusters eigenvectors,
        and a map of the n_clusters - 1 coordinates that are clustered.
    n_init : int, default=10
        Number of starts of k-means.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How the eigenvectors are divided into clusters: k-means; the rotation to indicator vectors
        of [3]_; or a pivoted QR factorisation [4]_, which has no random start.
    affinity : str or callable, default="nearest_neighbors"
        See LaplacianEigenmaps. scikit-learn's default is "rbf", whose weights depend on the units
        of the data: with gamma=1 they vanish for most tables that are not standardised.
    gamma : float, default=1.0
        Factor in "rbf", "poly", "laplacian" and "sigmoid".
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=1
        Constant in "poly" and "sigmoid".
    kernel_params : dict, default=None
        Further arguments of an affinity that is a function of two vectors.
    n_neighbors : int, default=None
        Number of neighbours of an object; 10 if neither this nor radius is given.
    $radius
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
    eigen_tol : float or "auto", default="auto"
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
    $n_jobs
    verbose : bool, default=False
        Whether k-means prints its progress.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each object.
    cluster_centers_ : array of shape (n_clusters, n_clustered)
        Centres of the clusters, in the coordinates that are clustered.
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
    eigenvalues_ : array of shape (n_components,)
        The smallest eigenvalues, ascending, without the trivial 0.
    graph_ : NeighborGraph
        The neighbour graph; only if the affinity is one of nearest neighbours.
    affinity_matrix_ : array or CSR matrix of shape (n_samples, n_samples)
        The symmetric edge weights.

    See Also
    --------
    LaplacianEigenmaps : the map alone.

    Notes
    -----
    Time and memory are n k for k neighbours, a sparse eigenproblem, and k-means.

    `predict` and `transform` place new objects by Nystroem's formula as LaplacianEigenmaps does.
    ``transform(X_train)`` equals `embedding_`.

    References
    ----------
    .. [1] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22, 2000.
    .. [2] A. Y. Ng, M. I. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm",
       NIPS, 2002.
    .. [3] S. X. Yu, J. Shi, "Multiclass spectral clustering", ICCV, 2003.
    .. [4] A. Damle, V. Minden, L. Ying, "Simple, direct and efficient multi-way spectral
       clustering", Information and Inference 8, 2019.

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

    traits = Traits(
        sentence="Laplacian eigenmaps -> k-means",
        keeps="clusters that the graph separates",
        when="you want the clusters themselves, of any shape",
        cost="as Laplacian eigenmaps",
        extends="Nystroem's formula, nearest centre; barycentric inverse",
        paper="Shi and Malik 2000; Ng, Jordan and Weiss 2002; von Luxburg 2007",
        power=1.5,
        scales_axes=True,
    )

    _attributes: ClassVar = {
        "cluster_centers_": Numbers("clusters clustered"),
        "labels_": Numbers("n", "iu", 0, "clusters"),
    }
    _needed = ("cluster_centers_",)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        n_init: int = 10,
        assign_labels: str = "kmeans",
        affinity: Any = "nearest_neighbors",
        gamma: float | None = 1.0,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_neighbors: int | None = None,
        radius: float | None = None,
        symmetry: str = "union",
        weights: str = "heat",
        t: float | None = None,
        normalization: str = "random-walk",
        eigen_solver: str | None = "auto",
        eigen_tol: float | str = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            n_components,  # type: ignore[arg-type]
            affinity=affinity,
            gamma=gamma,
            n_neighbors=n_neighbors,
            radius=radius,
            symmetry=symmetry,
            weights=weights,
            t=t,
            normalization=normalization,
            eigen_solver=eigen_solver,
            eigen_tol=eigen_tol,
            metric=metric,
            metric_params=metric_params,
            disconnected=disconnected,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.verbose = verbose

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        checks.integer(self.n_clusters, "n_clusters", 1, objects.n, " (n_samples)")
        checks.choice(self.disconnected, "disconnected", ("join", "raise"))
        checks.choice(self.assign_labels, "assign_labels", ("kmeans", *ASSIGNMENTS))
        super()._fit(objects, graph)
        if self.assign_labels == "kmeans":
            self._cluster()
        else:
            self._assign(ASSIGNMENTS[self.assign_labels])

    def _kernel(self, n_features: int) -> Kernel:
        return resolve_kernel(
            self.affinity,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
            n_features=n_features,
        )

    def _cluster(self) -> None:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        kmeans = KMeans(
            self.n_clusters,
            n_init=self.n_init,
            random_state=self.random_state,
            verbose=int(self.verbose),
        )
        with threadpool_limits(1):  # sums in a fixed order
            kmeans.fit(self._clustered * self._spread())
        self.labels_ = kmeans.labels_
        self.cluster_centers_ = kmeans.cluster_centers_ / self._spread()

    def _assign(self, assignment: Assignment) -> None:
        """Labels from the eigenvectors, the trivial one included; centres are cluster means."""
        trivial = trivial_vector(self.degrees_, self.normalization)
        Y = self._clustered
        vectors = np.column_stack([trivial, Y]).astype(np.float64)
        self.labels_ = assignment(vectors[:, : self.n_clusters], self.random_state)
        groups = [Y[self.labels_ == c] for c in range(self.n_clusters)]
        far = np.full(Y.shape[1], np.inf)  # an empty cluster is nearest to nothing
        self.cluster_centers_ = np.array([g.mean(axis=0) if len(g) else far for g in groups])

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
        centers = self.cluster_centers_
        return backend().smallest(cdist(Y[:, : centers.shape[1]], centers), 1)[0][:, 0]

    def _check_n_components(self, n: int) -> int:
        if self.n_components is None:
            return min(max(self.n_clusters - 1, 1), n - 1)
        return super()._check_n_components(n)

    @property
    def _clustered(self) -> Array:
        """The coordinates that are clustered."""
        every = self.n_components is None
        return self.embedding_ if every else self.embedding_[:, : max(self.n_components - 1, 1)]
