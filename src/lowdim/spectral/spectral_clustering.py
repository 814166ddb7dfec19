"""Spectral clustering (Shi and Malik 2000; Ng, Jordan and Weiss 2002)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.kernels import Kernel, resolve_kernel
from lowdim.numerics.kmeans import fit_kmeans
from lowdim.objects.objects import Objects
from lowdim.spectral.laplacian import trivial_vector
from lowdim.spectral.laplacian_eigenmaps import LaplacianEigenmaps

STARTS = 30  # random starts of assign_labels="discretize", if the decomposition of one fails
ITERATIONS = 20  # of one start


@declare_parameters
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
        Number of starts of k-means. For more than n_clusters eigenvectors it has many solutions of
        nearly the same inertia, and labels depend on `random_state` unless `n_init` is about 100.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How the eigenvectors are divided into clusters: k-means; the rotation to indicator vectors
        of [3]_; or a pivoted QR factorisation [4]_, which has no random start. The last two take
        the first n_clusters eigenvectors; scikit-learn takes all, and returns as many clusters.
    affinity : str or callable, default="nearest_neighbors"
        See LaplacianEigenmaps. scikit-learn's default is "rbf", whose weights depend on the units
        of the data: with gamma=1 they vanish for most tables that are not standardised.
    gamma : float, default=1.0
        Factor in "rbf", "poly", "laplacian" and "sigmoid".
    $kernel_constants
    kernel_params : dict, default=None
        Further arguments of an affinity that is a function of two vectors.
    $weighted_graph
    disconnected : {"join", "raise"}, default="join"
        What to do with a graph of several components: "join" them by their shortest bridges with a
        warning, or "raise" an error.
    random_state : int, RandomState or None, default=None
        Seed of k-means and start of the iterative eigensolver.
    $n_jobs
    verbose : bool, default=False
        Whether to print how the clusters are assigned, and the progress of k-means.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each object.
    cluster_centers_ : array of shape (n_clusters, n_clustered)
        Centres of the clusters, in the coordinates that are clustered.
    $eigenmap

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

    n_clusters: int = 8
    _: KW_ONLY
    n_components: int | None = None  # type: ignore[assignment]
    n_init: int = 10
    assign_labels: str = "kmeans"
    gamma: float | None = 1.0
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    verbose: bool = False

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        checks.integer(self.n_clusters, "n_clusters", 1, objects.n, " (n_samples)")
        checks.choice(self.disconnected, "disconnected", ("join", "raise"))
        checks.choice(self.assign_labels, "assign_labels", ("kmeans", *ASSIGNMENTS))
        super()._fit(objects, graph)
        if self.verbose:
            print(f"Computing label assignment using {self.assign_labels}")
        if self.assign_labels == "kmeans":
            self._cluster()
        else:
            self._assign()

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
        kmeans = fit_kmeans(
            self._cluster_coordinates * self._spread(),
            self.n_clusters,
            n_init=self.n_init,
            random_state=self.random_state,
            verbose=int(self.verbose),
        )
        self.labels_ = kmeans.labels_
        self.cluster_centers_ = kmeans.cluster_centers_ / self._spread()

    def _assign(self) -> None:
        """Labels from the eigenvectors, the trivial one included; centres are cluster means."""
        trivial = trivial_vector(self.degrees_, self.normalization)
        Y = self._cluster_coordinates
        vectors = np.column_stack([trivial, Y]).astype(np.float64)
        assign = ASSIGNMENTS[self.assign_labels]
        self.labels_ = assign(vectors[:, : self.n_clusters], self.random_state)
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
    def _cluster_coordinates(self) -> Array:
        if self.n_components is None:
            return self.embedding_
        return self.embedding_[:, : max(self.n_components - 1, 1)]


def _cluster_qr(vectors: Array, random_state: Any = None) -> Array:
    """Clusters by a pivoted QR factorisation (Damle, Minden and Ying 2019).

    The factorisation chooses one row for each cluster; the vectors are rotated so that these rows
    are as near to unit vectors as possible, and each row gets the label of its largest entry.
    """
    k = vectors.shape[1]
    pivots = qr(vectors.T, pivoting=True)[-1]
    left, _, right = np.linalg.svd(vectors[pivots[:k]].T)
    return np.asarray(np.abs(vectors @ (left @ right)).argmax(axis=1))


def _discretize(vectors: Array, random_state: Any = None) -> Array:
    """Clusters by the rotation of eigenvectors to indicator vectors (Yu and Shi 2003).

    Rows are scaled to length 1; then the nearest indicator vectors and the rotation that brings
    the rows nearest to them are computed alternately.
    """
    random = fixed_random_state(random_state)
    n, k = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(lengths > 0, lengths, 1)
    for _ in range(STARTS):
        rotation, before = _spread_rows(rows, random), -np.inf
        try:
            for _ in range(ITERATIONS):
                labels = (rows @ rotation).argmax(axis=1)
                indicators = np.eye(k)[labels]
                left, values, right = np.linalg.svd(indicators.T @ rows)
                if abs(values.sum() - before) < np.finfo(float).eps * n:
                    break
                rotation, before = right.T @ left.T, values.sum()
        except np.linalg.LinAlgError:
            continue
        return np.asarray(labels)
    raise np.linalg.LinAlgError("the singular value decomposition did not converge")


def _spread_rows(rows: Array, random: np.random.RandomState) -> Array:
    """Rows that are as orthogonal to each other as possible, the first one random; columns."""
    n, k = rows.shape
    chosen = [rows[random.randint(n)]]
    nearness = np.zeros(n)
    for _ in range(1, k):
        nearness += np.abs(rows @ chosen[-1])
        chosen.append(rows[int(nearness.argmin())])
    return np.array(chosen).T


ASSIGNMENTS = {"discretize": _discretize, "cluster_qr": _cluster_qr}
