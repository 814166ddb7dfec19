"""Linear maps that keep what a neighbour graph says: projections of features or of kernels.

Laplacian eigenmaps, locally linear embedding and tangent space alignment give coordinates to the
training objects alone. Their linear versions look for the coordinates y = W'(x - m) of least
y'My, with the same sparse matrix M, so that new objects are placed exactly.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, dense
from lowdim.estimator import Embedder, neighbors
from lowdim.estimator.fitted_state import Numbers, number
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import SYMMETRIES, NeighborGraph
from lowdim.numerics.eigenpairs import fix_signs, top_eigenpairs
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


class Basis(NamedTuple):
    """Orthonormal columns U = F T that span the centred features F of the training objects."""

    U: Array
    T: Array
    singular: Array


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
gamma : float, default=None
    Factor in "rbf", "poly", "laplacian" and "sigmoid"; None: 1 / n_features.
degree : float, default=3
    Exponent of "poly".
coef0 : float, default=1
    Constant in "poly" and "sigmoid".
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

    @property
    def _follows_unit(self) -> bool:  # type: ignore[override]
        return bool(self.kernel == "linear")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _needs(self, state: dict[str, Any]) -> set[str]:
        if self.kernel == "linear":
            return super()._needs(state) - {"X_fit_"} | {"patterns_"}
        return super()._needs(state) | {"kernel_means_", "kernel_mean_"}

    def _memory(self, fit: Problem) -> float:
        if self.kernel != "linear":
            return 70.0 * fit.n * fit.n + 60 * fit.arcs
        d = int(fit.objects.vectors("a linear map").shape[1])
        return 8.0 * fit.n * (5 * d + min(d, COLUMNS)) + 60 * fit.arcs

    def _transform(self, new: NewObjects) -> Array:
        rows = new.vectors()
        if self.kernel != "linear":
            center = KernelCenter(self.kernel_means_, self.kernel_mean_)
            rows = center.new_rows(cross_kernel(rows, self.X_fit_, kernel_of(self)))
        return scores(rows, self.mean_, self.components_)

    def _inverse(self, Y: Array) -> Any:
        if self.kernel != "linear" or hasattr(self, "decoder_"):
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
    basis, mean = _linear_basis(estimator, objects)
    U = basis.U
    if not U.shape[1]:
        raise ValueError("X: all objects are in one place, so no feature tells them apart.")
    if mass is not None:
        middle = mass @ U / mass.sum()
        mean = mean + (middle * basis.singular) @ (basis.T * basis.singular).T
        U = U - middle
    A = np.column_stack([backend().matmul(U.T, backend().spmm(M, part)) for part in _columns(U)])
    B = np.eye(len(A)) if mass is None else backend().matmul(U.T, mass[:, None] * U)
    values, C = eigh((A + A.T) / 2, B)
    values, C = values[:k], C[:, :k]
    Y = fix_signs(U @ C)
    C = C * np.sign(np.einsum("nk,nk->k", Y, U @ C))
    if len(values) < k:
        checks.warn(
            f"{argument('n_components', k)} exceeds the rank of the centred features, "
            f"{len(values)}: the other coordinates are 0. Ask for fewer."
        )
    kind, empty = objects.dtype, k - len(values)
    estimator.mean_ = mean.astype(kind)
    estimator.components_ = np.pad((basis.T @ C).T, ((0, empty), (0, 0))).astype(kind)
    estimator.eigenvalues_ = np.pad(np.maximum(values, 0), (0, empty)).astype(kind)
    estimator.embedding_ = np.pad(Y, ((0, 0), (0, empty))).astype(kind)
    if estimator.kernel == "linear":
        patterns = (basis.T * basis.singular**2) @ (B @ C)  # X'DY, as X = U diag(singular) V'
        estimator.patterns_ = np.pad(patterns.T, ((0, empty), (0, 0))).astype(kind)


def _linear_basis(estimator: Any, objects: Objects) -> tuple[Basis, Array]:
    """The basis of the centred features, or of the centred kernel matrix, and their mean."""
    rows, asked = objects.vectors("a linear map"), estimator.n_principal_components
    n, d = rows.shape
    if isinstance(asked, float):
        checks.real(asked, "n_principal_components", 0, 1, open_low=True)
    elif asked is not None:
        checks.integer(asked, "n_principal_components", 1)
    if estimator.kernel != "linear":
        estimator.X_fit_ = rows
        K = kernel_matrix(rows, kernel_of(estimator)).astype(np.float64)
        center = KernelCenter.from_kernel(K)
        estimator.kernel_means_, estimator.kernel_mean_ = center.means, center.mean
        values, U = top_eigenpairs(centered_kernel(K), n - 1, solver="dense")
        used = _used(values, asked)
        return Basis(U[:, used], U[:, used] / values[used], values[used]), np.zeros(n)
    X = dense(rows).astype(np.float64, copy=False)
    axes = principal_axes(X, min(n - 1, d))
    used = _used(axes.variances, asked)
    singular = np.sqrt(axes.variances[used] * (n - 1))
    T = axes.components[used].T / singular
    return Basis(scores(X, axes.mean, T.T), T, singular), axes.mean


def _used(variances: Array, asked: Any) -> Array:
    """The principal components that are used: those asked for, without rounding errors."""
    rounding = 10 * len(variances) * np.finfo(np.float64).eps
    count = int((variances > rounding * variances.max(initial=0)).sum())
    if isinstance(asked, float) and count:
        count = min(count, leading_count(variances.clip(0), asked, variances.clip(0).sum()))
    elif asked is not None:
        count = min(count, asked)
    return np.arange(count)


def _columns(U: Array) -> list[Array]:
    return [U[:, start : start + COLUMNS] for start in range(0, U.shape[1], COLUMNS)]


class LocalityPreservingProjections(GraphProjection):
    """Locality preserving projections: the linear map that keeps neighbours together.

    graph -> heat weights -> bottom eigenvectors of (X'LX, X'DX)

    The coordinates minimise `sum_ij w_ij |y_i - y_j|^2`, as those of Laplacian eigenmaps, among
    the linear functions of the features.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
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
        sentence="graph -> heat weights -> bottom eigenvectors of (X'LX, X'DX)",
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

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        symmetry: str = "union",
        weights: str = "heat",
        t: float | None = None,
        n_principal_components: int | float | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.symmetry = symmetry
        self.weights = weights
        self.t = t
        self.n_principal_components = n_principal_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_jobs = n_jobs

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        checks.choice(self.symmetry, "symmetry", SYMMETRIES)
        graph = neighbors.neighbor_graph(self, objects, graph, self._n_wanted(objects.n), 1)
        self.t_ = heat_width(self.t, graph.adjacency(self.symmetry))
        W = graph_weights(graph, self.symmetry, self.weights, self.t_).astype(np.float64)
        project(self, objects, laplacian(W), positive_degrees(W, self.t_))


class NeighborhoodPreservingEmbedding(GraphProjection):
    """Neighborhood preserving embedding: the linear map that keeps local reconstructions.

    k-NN -> reconstruction weights -> bottom eigenvectors of (X'MX, X'X)

    Each object is a weighted mean of its neighbours, as in locally linear embedding. The map is
    the linear function of the features whose coordinates the same weights reconstruct best.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
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
    Time is that of the neighbour search, n k^3, and n d^2 + d^3 for d features; n^3 with a kernel.

    $exact

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
        sentence="k-NN -> reconstruction weights -> bottom eigenvectors of (X'MX, X'X)",
        keeps="how each point is made of its neighbours, as far as a linear map can",
        when="as LocalityPreservingProjections, for data along a curved surface",
        cost="a neighbour search, n k^3, n d^2 and d^3",
        extends="linear map, linear inverse",
        paper="He, Cai, Yan and Zhang 2005",
        power=1.3,
        scales_axes=True,
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        reg: float = 1e-3,
        n_principal_components: int | float | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.n_principal_components = n_principal_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_jobs = n_jobs

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        lists, grams = _neighborhoods(self, objects, graph, 1)
        reg = checks.real(self.reg, "reg", 0)
        project(self, objects, reconstruction.standard_matrix(grams, lists, reg))


class LinearLocalTangentSpaceAlignment(GraphProjection):
    """Linear local tangent space alignment: the linear map that aligns local coordinates.

    k-NN -> tangent coordinates -> alignment matrix -> bottom eigenvectors of (X'MX, X'X)

    Each neighbourhood has coordinates in its tangent space. The map is the linear function of the
    features from which those coordinates differ least, each by an affine map of its own.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
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
    Time is that of the neighbour search, n k^3, and n d^2 + d^3 for d features; n^3 with a kernel.

    $exact

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
        sentence="k-NN -> tangent coordinates -> alignment -> bottom eigenvectors of (X'MX, X'X)",
        keeps="local coordinates, up to affine maps, as far as a linear map can",
        when="as NeighborhoodPreservingEmbedding, where neighbourhoods are flat",
        cost="a neighbour search, n k^3, n d^2 and d^3",
        extends="linear map, linear inverse",
        paper="Zhang, Yang, Zhao and Ge 2007",
        power=1.3,
        scales_axes=True,
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        tangent_dimension: int | None = None,
        n_principal_components: int | float | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.tangent_dimension = tangent_dimension
        self.n_principal_components = n_principal_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_jobs = n_jobs

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        dim = self.tangent_dimension
        dim = self.n_components if dim is None else checks.integer(dim, "tangent_dimension", 1)
        lists, grams = _neighborhoods(self, objects, graph, dim + 1)
        project(self, objects, reconstruction.alignment_matrix(grams, lists, dim))


def _neighborhoods(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, least: int
) -> tuple[Array, reconstruction.Blocks]:
    """The lists of neighbours and their local Gram matrices."""
    wanted = estimator._n_wanted(objects.n)
    checks.integer(wanted, "n_neighbors", least)
    lists = neighbors.neighbor_graph(estimator, objects, graph, wanted, least).neighbor_lists()
    return lists, reconstruction.gram_blocks(objects, lists, type(estimator).__name__)
