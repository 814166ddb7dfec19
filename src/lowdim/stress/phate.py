"""PHATE: potential of heat diffusion, for trajectories and trees (Moon et al. 2019)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, eye_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters, neighbors
from lowdim.estimator.fitted_state import Numbers, any_number, number
from lowdim.estimator.links import keep_known
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.kernels import kernel_distances
from lowdim.numerics.kmeans import fit_kmeans
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.objects.pairs import dense_pairs
from lowdim.runtime.scheduling import blas_on_one_thread
from lowdim.spectral.starts import classical_start
from lowdim.stress.mds.problems import FullStress, PairStress

SCALINGS = ("classic", "metric", "nonmetric")
SMALLEST_WEIGHT = 1e-4  # weights of the kernel below it are zero
MORE = 8  # times n_neighbors: neighbours searched at first, because the kernel reaches beyond them
OFFSET = 1e-7  # added to probabilities before their logarithm is taken
SKETCH, STEPS = 64, 8  # columns and steps of the random walk by which landmarks are clustered
CLUSTER_ITERATIONS = 5


@declare_parameters
class PHATE(Iterative, Embedder):
    """PHATE: trajectories, branches and clusters by the potential of heat diffusion.

    k-NN -> alpha-decay kernel -> random walk of t steps -> log probabilities -> metric MDS

    A random walk of t steps on the graph removes noise. Two objects are near each other if the
    logarithms of the probabilities with which walks from them end at all other objects are alike,
    so that small probabilities, those of objects far away, count too.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=5
        The neighbour whose distance is the width of the kernel at an object; `knn` in phate.
    decay : float, default=40
        Exponent alpha of the kernel exp(-(d / width)^alpha): large values cut it off at the width,
        2 is a Gaussian kernel.
    t : int or "auto", default="auto"
        Number of steps. "auto": the knee of the von Neumann entropy of the walk as a function of
        its steps, below which noise and above which structure is lost.
    t_max : int, default=100
        Largest number of steps that "auto" considers, at most 10,000.
    gamma : float, default=1
        Which function of the probabilities is compared: 1 is the logarithm, 0 the square root, -1
        the probabilities themselves; values between are powers.
    n_landmarks : int, default=2000
        Number of groups of objects between which walks are computed, if there are more objects
        (`n_landmark` in phate);
        None: none.
    mds : {"metric", "nonmetric", "classic"}, default="metric"
        How distances of potentials become coordinates.
    max_iter : int, default=300
        Largest number of iterations of MDS.
    eps : float, default=1e-6
        Iterations of MDS end when the stress decreases by less than eps times the sum of squared
        distances.
    $graph_metric
    random_state : int, RandomState or None, default=None
        Seed of the groups; None stands for 0.
    $n_jobs
    $callback
    $verbose
    $checkpoint

    Attributes
    ----------
    $embedding
    t_ : int
        Number of steps.
    entropy_ : array of shape (t_max,)
        The von Neumann entropy after 1, 2, ... steps; only if t="auto".
    affinity_matrix_ : CSR matrix of shape (n_samples, n_samples)
        The symmetric kernel.
    widths_ : array of shape (n_samples,)
        Width of the kernel at each object.
    landmark_embedding_ : array of shape (n_landmarks, n_components)
        Coordinates of the groups; of the objects, if these are not grouped.
    landmark_of_ : array of shape (n_samples,)
        The group of each object.
    stress_ : float
        Raw stress of the MDS; NaN for "classic".

    See Also
    --------
    DiffusionMap : one step less: eigenvectors of the walk; needs an axis for each branch.
    MDS : the last step alone.

    Notes
    -----
    Time is that of the neighbour search and m^3 for m = min(n_samples, n_landmarks); memory m^2.

    `transform` places a new object at the mean of its neighbours or of their groups, weighted by
    the kernel. An object at distance zero from a training object gets its coordinates, so
    ``transform(X_train)`` equals `embedding_`.

    The map by landmarks is another one than that of all objects: branches may lie in another order
    around the middle, as with other landmarks. In phate this is so too.

    Unlike phate, vectors are not replaced by 100 principal components first, and the entropy is
    that of the eigenvalues of the walk.

    References
    ----------
    .. [1] K. R. Moon et al., "Visualizing structure and transitions in high-dimensional biological
       data", Nature Biotechnology 37, 2019.

    Examples
    --------
    A noisy tree of three branches.

    >>> import numpy as np
    >>> import lowdim
    >>> random = np.random.default_rng(0)
    >>> branch, along = np.repeat([0, 1, 2], 60), np.tile(np.linspace(0, 1, 60), 3)
    >>> X = 9 * along[:, None] * np.eye(3)[branch] + random.normal(scale=0.3, size=(180, 3))
    >>> phate = lowdim.PHATE().fit(X)
    >>> ends = phate.embedding_[[59, 119, 179]]
    >>> bool(np.linalg.norm(ends - phate.embedding_.mean(axis=0), axis=1).min() > 1)
    True
    """

    traits = Traits(
        keeps="branches and trajectories, and how they are connected",
        when="data are a noisy tree or trajectories, such as cells that develop",
        cost="a neighbour search and m^3 for m landmarks",
        extends="weighted mean of the neighbours' landmarks; barycentric inverse",
        paper="Moon et al. 2019",
        power=1.1,
        reduced_by="n_landmarks",
    )

    _attributes: ClassVar = {
        "t_": number(1),
        "entropy_": Numbers("*"),
        "affinity_matrix_": Numbers("n n", least=0, sparse=True),
        "widths_": Numbers("n", least=0),
        "landmark_embedding_": Numbers("m c"),
        "landmark_of_": Numbers("n", "iu", 0, "m"),
        "stress_": any_number,
    }
    _needed = ("widths_", "landmark_embedding_", "landmark_of_")
    _units: ClassVar = {"embedding_": 0, "widths_": 1}

    fit = neighbors.fit_with_graph

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int = 5
    decay: float = 40
    t: int | str = "auto"
    t_max: int = 100
    gamma: float = 1.0
    n_landmarks: int | None = 2000
    mds: str = "metric"
    max_iter: int = 300
    eps: float = 1e-6
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None

    def _memory(self, fit: Problem) -> float:
        m = fit.object_count("n_landmarks") or fit.n
        return (100.0 if m == fit.n else 64.0) * m * m + 250 * fit.arcs

    def _n_wanted(self, n: int) -> int:
        return min(MORE * checks.integer(self.n_neighbors, "n_neighbors", 1, n - 1), n - 1)

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        dim = self._check_n_components(objects.n)
        self._check_parameters()
        K, self.widths_ = alpha_decay_kernel(self, objects, graph)
        random = fixed_random_state(self.random_state)
        self.affinity_matrix_, self.landmark_of_ = K, group_objects(K, self.n_landmarks, random)
        S, mass = symmetric_walk(K, self.landmark_of_)
        with blas_on_one_thread():
            values, vectors = np.linalg.eigh(S)
        if isinstance(self.t, str):
            self.entropy_ = von_neumann_entropy(np.abs(values), int(self.t_max))
        self.t_ = 1 + knee(self.entropy_) if isinstance(self.t, str) else int(self.t)
        P = walk_probabilities(values, vectors, mass, self.t_)
        U = potential(P, self.gamma)
        U -= U.mean(axis=0)
        Y = self._scale(kernel_distances(backend().matmul(U, U.T)), dim)
        self.landmark_embedding_ = Y.astype(objects.dtype, copy=False)
        if len(Y) < objects.n:  # the mean of the groups that a step leads to
            Y = backend().spmm(K, Y[self.landmark_of_]) / np.asarray(K.sum(axis=1))[:, None]
        self.embedding_ = Y.astype(objects.dtype, copy=False)

    def _check_parameters(self) -> None:
        checks.real(self.decay, "decay", 0, open_low=True)
        checks.real(self.gamma, "gamma", -1, 1)
        checks.choice(self.mds, "mds", SCALINGS)
        checks.integer(self.t_max, "t_max", 2, 10_000)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.eps, "eps", 0)
        if isinstance(self.t, str):
            checks.choice(self.t, "t", ("auto",))
        else:
            checks.integer(self.t, "t", 1)
        if self.n_landmarks is not None:
            checks.integer(self.n_landmarks, "n_landmarks", self.n_components + 1)

    def _scale(self, D: Array, dim: int) -> Array:
        """Coordinates of distances, by classical scaling and then by majorization of stress."""
        Y = np.zeros((len(D), dim))
        start = classical_start(D, min(dim, len(D) - 1))
        Y[:, : start.shape[1]] = fix_signs(start)
        self.stress_, self.n_iter_ = np.nan, 0
        if self.mds == "classic" or not D.any():
            return Y
        problems: list[FullStress | PairStress] = [FullStress(D)]
        if self.mds == "nonmetric":
            problems.append(PairStress(dense_pairs(D), "ordinal", "primary", sparse=False))
        for problem in problems:
            best = problem.minimize([Y], partial(self._monitor, self.max_iter), self.eps)[0]
            Y, self.stress_, self.history_ = best.embedding, best.stress, best.history
        self.n_iter_ = max(1, len(self.history_) - 1)
        return Y

    def _transform(self, new: NewObjects) -> Array:
        k = min(MORE * self.n_neighbors, len(self.embedding_))
        nearest, distances = new.nearest(k)
        widths = distances[:, min(self.n_neighbors, k) - 1, None]
        w = decay_weights(distances, widths, self.decay)
        w = w + decay_weights(distances, self.widths_[nearest], self.decay)
        Y = self.landmark_embedding_[self.landmark_of_[nearest]]
        mean = np.einsum("mk,mkc->mc", w / w.sum(axis=1, keepdims=True), Y)
        Y = mean.astype(self.embedding_.dtype, copy=False)
        return keep_known(Y, self.embedding_, nearest, distances)


def decay_weights(distances: Array, widths: Array, decay: float) -> Array:
    """exp(-(d / width)^decay) in float64; 0 below `SMALLEST_WEIGHT`."""
    d, wide = (np.asarray(array, dtype=np.float64) for array in (distances, widths))
    ratio = np.divide(d, wide, out=np.where(d > 0, np.inf, 0.0), where=wide > 0)
    with np.errstate(over="ignore"):
        weights = np.exp(-(ratio**decay))
    return np.where(weights < SMALLEST_WEIGHT, 0, weights)


def alpha_decay_kernel(
    estimator: Any, objects: Objects, graph: NeighborGraph | None
) -> tuple[Any, Array]:
    """The symmetric kernel as a CSR matrix, 1 on its diagonal, and the width at each object."""
    n, wanted = objects.n, estimator._n_wanted(objects.n)
    lists = neighbors.user_graph(objects, graph)
    if lists is None:
        lists = neighbors.kept_graph(lambda: _reaching_graph(estimator, objects, wanted))
    edges = lists.csr()
    weights, widths = _directed_weights(estimator, edges)
    directed = csr_array((weights, edges.indices, edges.indptr), shape=(n, n), copy=True)
    directed.eliminate_zeros()  # in place: not in the arrays of the graph
    K = backend().symmetrize(directed, "half-sum")
    return csr_array(K + eye_array(n, format="csr")), widths


def _reaching_graph(estimator: Any, objects: Objects, k: int) -> NeighborGraph:
    """The graph of at least k neighbours, of so many that the kernel vanishes at the farthest."""
    method = neighbors.search_method(estimator)
    while True:
        graph = objects.neighbor_graph(k, method=method)
        edges = graph.csr()
        at_end = _directed_weights(estimator, edges)[0][edges.indptr[1:] - 1]
        if k == objects.n - 1 or not at_end.any():
            return graph
        k = min(2 * k, objects.n - 1)


def _directed_weights(estimator: Any, edges: Any) -> tuple[Array, Array]:
    """The kernel of each edge, of the width of its owner, and the widths."""
    counts = np.diff(edges.indptr)
    widths = edges.data[edges.indptr[:-1] + np.minimum(estimator.n_neighbors, counts) - 1]
    return decay_weights(edges.data, np.repeat(widths, counts), estimator.decay), widths


def group_objects(K: Any, count: int | None, random: np.random.RandomState) -> Array:
    """The group of each object: `count` clusters of the distributions of walks, or one each.

    Distributions after a few steps are compared by a random projection of them.
    """
    n = K.shape[0]
    if count is None or n <= count:
        return np.arange(n, dtype=np.int32)
    V = random.standard_normal((n, SKETCH))
    degrees = np.asarray(K.sum(axis=1))[:, None]
    for _ in range(STEPS):
        V = backend().spmm(K, V) / degrees
    options = {"init": "random", "n_init": 1, "max_iter": CLUSTER_ITERATIONS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer groups than asked for, of equal objects, are fine
        labels = fit_kmeans(V, count, random_state=random, **options).labels_
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def symmetric_walk(K: Any, groups: Array) -> tuple[Array, Array]:
    """S and masses d with the transition matrix diag(d)^(-1/2) S diag(d)^(1/2) between groups.

    A step between groups leads from a group to an object and from that to a group. If every group
    is one object, it is a step between objects.
    """
    n, m = len(groups), int(groups.max()) + 1
    degrees = np.asarray(K.sum(axis=1))
    if m == n:
        mass, S = degrees, K.toarray()
    else:
        members = csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, m))
        to_groups = csr_array(K @ members)
        mass = np.asarray(to_groups.sum(axis=0))
        scaled = csr_array(to_groups.multiply(1 / degrees[:, None]))
        S = (to_groups.T @ scaled).toarray()
    roots = np.sqrt(mass)
    S = S / roots[:, None] / roots
    return (S + S.T) / 2, mass


def walk_probabilities(values: Array, vectors: Array, mass: Array, t: int) -> Array:
    """The transition matrix of t steps, from the eigenpairs of the symmetric walk."""
    roots = np.sqrt(mass)
    left = vectors / roots[:, None] * values**t
    return np.asarray(
        np.maximum(backend().matmul(left, np.ascontiguousarray(vectors.T) * roots), 0)
    )


def potential(P: Array, gamma: float) -> Array:
    """The function of probabilities whose distances are mapped (Moon et al. 2019, methods)."""
    if gamma == 1:
        return np.asarray(-np.log(P + OFFSET))
    power = (1 - gamma) / 2
    return np.asarray(P**power / power)


def von_neumann_entropy(sizes: Array, t_max: int) -> Array:
    """The entropy of the eigenvalues, as shares of their sum, after 1, ..., t_max steps."""
    entropy = np.empty(t_max)
    powers = sizes / sizes.max()
    for t in range(t_max):
        share = powers / powers.sum()
        share = share[share > 0]
        entropy[t] = -(share * np.log(share)).sum()
        powers = powers * sizes / sizes.max()
    return entropy


def knee(curve: Array) -> int:
    """The point at which two straight lines, one on either side, fit a curve best."""
    x = np.arange(len(curve), dtype=np.float64)

    def misfit(part: slice) -> float:
        line = np.polynomial.Polynomial.fit(x[part], curve[part], 1)
        return float(np.abs(curve[part] - line(x[part])).sum())

    inner = range(1, len(curve) - 1)
    errors = [misfit(slice(0, i + 1)) + misfit(slice(i, None)) for i in inner]
    return 1 + int(np.argmin(errors)) if errors else 0
