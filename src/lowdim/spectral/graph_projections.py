"""Linear maps that keep what a neighbour graph says: projections of features or of kernels.

Laplacian eigenmaps, locally linear embedding and tangent space alignment give coordinates to the
training objects alone. Their linear versions look for the coordinates y = W'(x - m) of least
y'My, with the same sparse matrix M, so that new objects are placed exactly.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.numpy_blocks import scale_entries
from lowdim.checks import Array, dense
from lowdim.estimator import Embedder, Problem, Traits, neighbors
from lowdim.estimator.fitted_state import Numbers, number
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import SYMMETRIES, NeighborGraph
from lowdim.numerics.eigenpairs import settle, top_eigenpairs
from lowdim.numerics.kernels import (
    Kernel,
    KernelCenter,
    centered_kernel,
    cross_kernel,
    kernel_matrix,
    resolve_kernel,
)
from lowdim.numerics.svd import principal_axes, scores
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral import reconstruction
from lowdim.spectral.laplacian import graph_weights, heat_width, laplacian, positive_degrees
from lowdim.spectral.scaling import leading_count

COLUMNS = 64  # of the features that are multiplied with a sparse matrix at once
CONSTANT = 1e-12  # standard deviation of a constant feature at most, as a share of its mean
DEPENDENT = 1e-10  # share of the variance of a direction in which features depend on each other


@dataclass(eq=False, repr=False)
class GraphProjection(Embedder):
    """A linear map of features, or of centred kernel values; members fit it by `project`."""

    _passages: ClassVar = {
        "projection": """n_principal_components : int, float or None, default=None
    Principal components that the map combines: a number, or the share of the variance that they
    explain; None: all. With as many as objects every placement of the training objects is a
    linear map, and new ones are placed badly: then set 0.98 or so.
kernel : str or callable, default="linear"
    "linear": the map is linear in the features. With another kernel of `KernelPCA`, such as "rbf",
    or a function k(x, y), it is linear in the feature space of the kernel.
$gamma
$kernel_constants
$n_jobs""",
        "projected": """embedding_ : array of shape (n_samples, n_components)
    Coordinates of the objects.
eigenvalues_ : array of shape (n_components,)
    The loss y'My of each coordinate, ascending.
components_ : array of shape (n_components, n_features)
    The axes W': coordinates are those of `x - mean_`. With a kernel of shape (n_components,
    n_samples), for centred kernel values.
mean_ : array of shape (n_features,)
    What is subtracted first. With a kernel of shape (n_samples,).
patterns_ : array of shape (n_components, n_features)
    By how much the features change along each coordinate; not with a kernel.""",
        "local": """Time is that of the neighbour search, n k^3, and n d^2 + d^3 for d features;
n^3 with a kernel.

$exact""",
        "exact": """``transform(X_train)`` equals `embedding_` to rounding. `inverse_transform` is
the linear regression of the features on the coordinates, of which `transform` is an exact inverse;
with a kernel it is barycentric interpolation.""",
    }

    _attributes: ClassVar = {
        "eigenvalues_": Numbers("c"),
        "components_": Numbers("c features"),
        "mean_": Numbers("features"),
        "patterns_": Numbers("c features"),
        "kernel_means_": Numbers("n"),
        "kernel_mean_": number(),
    }
    _needed = ("components_", "mean_")
    _units: ClassVar = {"embedding_": 0, "components_": -1, "mean_": 1, "patterns_": 1}

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 10

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int | None = None
    n_principal_components: int | float | None = None
    kernel: Any = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    n_jobs: int | None = None

    @property
    def _follows_unit(self) -> bool:  # type: ignore[override]
        return self._is_linear

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _needs(self, state: dict[str, Any]) -> set[str]:
        if self._is_linear:
            return super()._needs(state) - {"X_fit_"} | {"patterns_"}
        return super()._needs(state) | {"kernel_means_", "kernel_mean_"}

    def _memory(self, fit: Problem) -> float:
        if not self._is_linear:
            return 70.0 * fit.n * fit.n + 60 * fit.arcs
        d = int(fit.objects.vectors("a linear map").shape[1])
        copies = 1 if self.n_principal_components is None and d < fit.n else 4
        return 8.0 * fit.n * (copies * d + 3 * min(d, COLUMNS)) + 40.0 * d * d + 60 * fit.arcs

    def _transform(self, new: NewObjects) -> Array:
        rows = new.vectors()
        if not self._is_linear:
            center = KernelCenter(self.kernel_means_, self.kernel_mean_)
            rows = center.new_rows(cross_kernel(rows, self.X_fit_, kernel_of(self)))
        return scores(rows, self.mean_, self.components_)

    def _inverse(self, Y: Array) -> Any:
        if not self._is_linear or hasattr(self, "decoder_"):
            return super()._inverse(Y)
        return np.asarray(Y.astype(self.mean_.dtype) @ self.patterns_ + self.mean_)


def kernel_of(estimator: Any) -> Kernel:
    """The kernel of an estimator that is fitted to `X_fit_`."""
    return resolve_kernel(
        estimator.kernel,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        n_features=estimator.X_fit_.shape[1],
    )


def project(estimator: Any, objects: Objects, M: Any, mass: Array | None = None) -> None:
    """Fit the linear map of least sum of y'My under Y' diag(mass) Y = I.

    The mean that is subtracted is weighted by the masses, so that no coordinate is constant.
    """
    k = estimator._check_n_components(objects.n)
    F, axes, mean = _linear_columns(estimator, objects)
    middle = F.mean(axis=0) if mass is None else mass @ F / mass.sum()
    F -= middle
    roots = np.ones((len(F), 1)) if mass is None else np.sqrt(mass)[:, None]
    if mass is not None:  # from here on F and M are those of diag(mass)^1/2 Y
        F *= roots
        entries = scale_entries(M, 1 / roots[:, 0], M.dtype)
        M = csr_array((entries, M.indices, M.indptr), M.shape)
    G = backend().scatter(F, np.zeros(F.shape[1]))[0]
    T = _whitening(G, CONSTANT * np.abs(middle) * np.linalg.norm(roots))
    if not T.shape[1]:
        raise ValueError("X: all objects are in one place, so no feature tells them apart.")
    values, C = eigh(T.T @ _quadratic_form(F, M) @ T)
    C = T @ C[:, :k]
    Z = backend().matmul(F, C)  # orthonormal
    Y = settle(values[: k + 1], Z / roots, norm=float(np.abs(values).max(initial=0)))
    W, values = (C @ (Z.T @ (Y * roots))).T, values[:k]
    if len(values) < k:
        checks.warn(
            f"{argument('n_components', k)} exceeds the rank of the centred features, "
            f"{len(values)}: the other coordinates are 0. Ask for fewer."
        )
    kind, empty = objects.dtype, k - len(values)
    components, patterns = (W, W @ G) if axes is None else (W @ axes, W @ G @ axes)
    estimator.mean_ = (mean + (middle if axes is None else middle @ axes)).astype(kind)
    estimator.components_ = np.pad(components, ((0, empty), (0, 0))).astype(kind)
    estimator.eigenvalues_ = np.pad(np.maximum(values, 0), (0, empty)).astype(kind)
    estimator.embedding_ = np.pad(Y, ((0, 0), (0, empty))).astype(kind)
    if estimator._is_linear:
        estimator.patterns_ = np.pad(patterns, ((0, empty), (0, 0))).astype(kind)


def _linear_columns(estimator: Any, objects: Objects) -> tuple[Array, Array | None, Array]:
    """The columns F that the map combines, in float64: the features; or else (rows - mean) axes',
    scores of the features or of the rows of the kernel matrix, with the axes and the mean."""
    rows, asked = objects.vectors("a linear map"), estimator.n_principal_components
    n, d = rows.shape
    if isinstance(asked, float):
        checks.real(asked, "n_principal_components", 0, 1, open_low=True)
    elif asked is not None:
        checks.integer(asked, "n_principal_components", 1)
    if not estimator._is_linear:
        estimator.X_fit_ = rows
        K = kernel_matrix(rows, kernel_of(estimator)).astype(np.float64)
        center = KernelCenter.from_kernel(K)
        estimator.kernel_means_, estimator.kernel_mean_ = center.means, center.mean
        values, U = top_eigenpairs(centered_kernel(K), n - 1, solver="dense")
        used = _leading_components(values, asked)
        return U[:, used] * values[used], U[:, used].T, np.zeros(n)
    if asked is None and d < n:
        return np.array(dense(rows), dtype=np.float64), None, np.zeros(d)
    X = dense(rows).astype(np.float64, copy=False)
    found = principal_axes(X, min(n - 1, d), announce=False)
    axes = found.components[_leading_components(found.variances, asked)]
    return scores(X, found.mean, axes), axes, found.mean


def _whitening(G: Array, least: Array) -> Array:
    """T with T'GT = I, of as many columns as the rank of G; columns shorter than `least`, whose
    squared lengths are on the diagonal of G, are left out."""
    lengths = np.sqrt(np.diag(G))
    used = np.flatnonzero(lengths > least)
    scale = lengths[used, None]
    values, V = eigh(G[np.ix_(used, used)] / scale / scale.T)
    kept = values > DEPENDENT * values.max(initial=0)
    T = np.zeros((len(G), int(kept.sum())))
    T[used] = V[:, kept] / scale / np.sqrt(values[kept])
    return T


def _quadratic_form(F: Array, M: Any) -> Array:
    """F'MF of a symmetric sparse matrix M: its lower triangle, and with it the rest."""
    A = np.zeros((F.shape[1], F.shape[1]))
    for start in range(0, len(A), COLUMNS):
        own = slice(start, start + COLUMNS)
        A[start:, own] = backend().matmul(F[:, start:].T, backend().spmm(M, F[:, own]))
    return np.tril(A) + np.tril(A, -1).T


def _leading_components(variances: Array, asked: Any) -> Array:
    """The principal components that are used: those asked for, without rounding errors."""
    rounding = 10 * len(variances) * np.finfo(np.float64).eps
    count = int((variances > rounding * variances.max(initial=0)).sum())
    if isinstance(asked, float) and count:
        count = min(count, leading_count(variances.clip(0), asked, variances.clip(0).sum()))
    elif asked is not None:
        count = min(count, asked)
    return np.arange(count)


@dataclass(eq=False, repr=False)
class LocalityPreservingProjections(GraphProjection):
    """Locality preserving projections: the linear map that keeps neighbours together.

    graph -> heat weights -> bottom eigenvectors of (X'LX, X'DX)

    The coordinates minimise `sum_ij w_ij |y_i - y_j|^2`, as those of Laplacian eigenmaps, among
    the linear functions of the features.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=None
        Number of neighbours of an object; None: 10.
    symmetry : {"union", "mutual", "mean"}, default="union"
        See LaplacianEigenmaps.
    weights : {"heat", "binary"}, default="heat"
        Edge weights: exp(-d^2 / t) for an edge of length d, or 1.
    t : float, default=None
        Width of the heat kernel; None: the mean squared length of the edges.
    $projection

    Attributes
    ----------
    $projected
    t_ : float
        The width of the heat kernel.

    See Also
    --------
    LaplacianEigenmaps : the same loss for any coordinates, not only linear ones.
    PCA : the linear map that keeps variance instead.

    Notes
    -----
    Time is that of the neighbour search, and n d^2 + d^3 for d features; n^3 with a kernel.

    $exact

    The mean is weighted by the degrees, so that the map does not depend on the origin of the
    features; in [1]_ nothing is subtracted. With as many independent features as objects, or with
    a kernel of full rank, the map is that of Laplacian eigenmaps.

    References
    ----------
    .. [1] X. He, P. Niyogi, "Locality preserving projections", NIPS, 2003.

    Examples
    --------
    Two clusters, and a feature of larger variance that does not separate them.

    >>> import numpy as np
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(300, random_state=0)
    >>> projections = lowdim.LocalityPreservingProjections(2).fit(X)
    >>> np.allclose(projections.transform(X), projections.embedding_)
    True
    """

    traits = Traits(
        keeps="neighbours near each other, as far as a linear map can",
        when="PCA's axes follow noise or outliers, and you need a linear map for new objects",
        cost="a neighbour search, n d^2 and d^3",
        extends="linear map, linear inverse",
        paper="He and Niyogi 2003",
        power=1.3,
        scales_axes=True,
    )

    _attributes: ClassVar = {"t_": number(0)}
    _units: ClassVar = {**GraphProjection._units, "t": 2, "t_": 2}

    _: KW_ONLY
    symmetry: str = "union"
    weights: str = "heat"
    t: float | None = None

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        checks.choice(self.symmetry, "symmetry", SYMMETRIES)
        graph = neighbors.graph_of_fit(self, objects, graph, self._n_wanted(objects.n), 1)
        self.t_ = heat_width(self.t, graph.adjacency(self.symmetry))
        W = graph_weights(graph, self.symmetry, self.weights, self.t_).astype(np.float64)
        project(self, objects, laplacian(W), positive_degrees(W, self.t_))


@dataclass(eq=False, repr=False)
class NeighborhoodPreservingEmbedding(GraphProjection):
    """Neighborhood preserving embedding: the linear map that keeps local reconstructions.

    k-NN -> reconstruction weights -> bottom eigenvectors of (X'MX, X'X)

    Each object is a weighted mean of its neighbours, as in locally linear embedding. The map is
    the linear function of the features whose coordinates the same weights reconstruct best.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=None
        Number of neighbours of an object; None: 10.
    reg : float, default=1e-3
        Regularisation of the weights, as a share of the trace of the local Gram matrix.
    $projection

    Attributes
    ----------
    $projected

    See Also
    --------
    LocallyLinearEmbedding : the same loss for any coordinates, not only linear ones.

    Notes
    -----
    $local

    References
    ----------
    .. [1] X. He, D. Cai, S. Yan, H.-J. Zhang, "Neighborhood preserving embedding", ICCV, 2005.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(300, random_state=0)
    >>> preserving = lowdim.NeighborhoodPreservingEmbedding(2).fit(X)
    >>> Y = preserving.transform(preserving.inverse_transform([[0.05, 0.0]]))
    >>> (abs(Y).round(6) + 0).tolist()
    [[0.05, 0.0]]
    """

    traits = Traits(
        keeps="how each point is made of its neighbours, as far as a linear map can",
        when="as LocalityPreservingProjections, for data along a curved surface",
        cost="a neighbour search, n k^3, n d^2 and d^3",
        extends="linear map, linear inverse",
        paper="He, Cai, Yan and Zhang 2005",
        power=1.3,
        scales_axes=True,
    )

    _: KW_ONLY
    reg: float = 1e-3

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        lists, grams = _neighborhoods(self, objects, graph, 1)
        reg = checks.real(self.reg, "reg", 0)
        project(self, objects, reconstruction.standard_matrix(grams, lists, reg))


@dataclass(eq=False, repr=False)
class LinearLocalTangentSpaceAlignment(GraphProjection):
    """Linear local tangent space alignment: the linear map that aligns local coordinates.

    k-NN -> tangent coordinates -> alignment matrix -> bottom eigenvectors of (X'MX, X'X)

    Each neighbourhood has coordinates in its tangent space. The map is the linear function of the
    features from which those coordinates differ least, each by an affine map of its own.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=None
        Number of neighbours of an object, more than tangent_dimension; None: 10.
    tangent_dimension : int, default=None
        Dimension of the tangent spaces; None: n_components.
    $projection

    Attributes
    ----------
    $projected

    See Also
    --------
    LocallyLinearEmbedding : with method="ltsa" the same loss for any coordinates.

    Notes
    -----
    $local

    References
    ----------
    .. [1] T. Zhang, J. Yang, D. Zhao, X. Ge, "Linear local tangent space alignment and application
       to face recognition", Neurocomputing 70, 2007.

    Examples
    --------
    A plane in three dimensions is found.

    >>> import numpy as np
    >>> import lowdim
    >>> plane = np.random.default_rng(0).uniform(size=(200, 2))
    >>> X = plane @ [[1.0, 0.5, 0.2], [0.0, 1.0, -1.0]]
    >>> alignment = lowdim.LinearLocalTangentSpaceAlignment(2).fit(X)
    >>> bool(np.abs(alignment.inverse_transform(alignment.embedding_) - X).max() < 1e-6)
    True
    """

    traits = Traits(
        keeps="local coordinates, up to affine maps, as far as a linear map can",
        when="as NeighborhoodPreservingEmbedding, where neighbourhoods are flat",
        cost="a neighbour search, n k^3, n d^2 and d^3",
        extends="linear map, linear inverse",
        paper="Zhang, Yang, Zhao and Ge 2007",
        power=1.3,
        scales_axes=True,
    )

    _: KW_ONLY
    tangent_dimension: int | None = None

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        name = "n_components" if self.tangent_dimension is None else "tangent_dimension"
        dim = checks.integer(getattr(self, name), name, 1)
        wanted = checks.integer(self._n_wanted(objects.n), "n_neighbors", 1)
        if wanted <= dim:
            raise ValueError(
                f"{argument('n_neighbors')} must be more than {argument(name)} ({dim}), "
                f"got {wanted}."
            )
        lists, grams = _neighborhoods(self, objects, graph, dim + 1)
        project(self, objects, reconstruction.alignment_matrix(grams, lists, dim))


def _neighborhoods(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, least: int
) -> tuple[Array, reconstruction.Blocks]:
    """The lists of neighbours and their local Gram matrices."""
    wanted = estimator._n_wanted(objects.n)
    checks.integer(wanted, "n_neighbors", least)
    lists = neighbors.graph_of_fit(estimator, objects, graph, wanted, least).neighbor_lists()
    return lists, reconstruction.gram_blocks(objects, lists, type(estimator).__name__)
