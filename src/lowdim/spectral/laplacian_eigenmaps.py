"""Laplacian eigenmaps (Belkin and Niyogi 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters, links, neighbors
from lowdim.estimator.fitted_state import Numbers, Rule, any_number, graph_rule, number
from lowdim.estimator.updating import Growth
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import SYMMETRIES, NeighborGraph
from lowdim.numerics.eigenpairs import bottom_eigenpairs
from lowdim.numerics.kernels import ALIASES, NAMES, Kernel, resolve_kernel
from lowdim.numerics.procrustes import axis_signs
from lowdim.objects.new_objects import NewDissimilarities, NewObjects
from lowdim.objects.objects import Objects, is_precomputed
from lowdim.spectral.laplacian import (
    edge_weights,
    extend_eigenvectors,
    extend_normalized,
    graph_weights,
    heat_width,
    laplacian,
    positive_degrees,
    without_loops,
)
from lowdim.spectral.similarities import (
    check_components,
    equal_row,
    similarities_of,
    weights_of_all_pairs,
    weights_to_all,
)

GRAPHS = ("nearest_neighbors", "precomputed_nearest_neighbors")
AFFINITIES = (*GRAPHS, "precomputed", *NAMES, *ALIASES)
TOLERANCE = 1e-10  # relative residual of the eigenvectors, of eigen_tol="auto"
NORMALIZATIONS = ("random-walk", "symmetric", "none")


@declare_parameters
class LaplacianEigenmaps(Embedder):
    """Laplacian eigenmaps: neighbours stay near each other.

    graph -> heat weights -> bottom eigenvectors of (L, D) or (L, I)

    The coordinates minimise `sum_ij w_ij |y_i - y_j|^2` under a constraint on their size: they are
    the slowest modes of the diffusion of heat on the graph.

    Parameters
    ----------
    $n_components
    affinity : str or callable, default="nearest_neighbors"
        Where edge weights come from: "nearest_neighbors", a neighbour graph with the weights below;
        "precomputed", X is a symmetric matrix of weights; "precomputed_nearest_neighbors", X is a
        sparse graph of distances, of which each row's n_neighbors smallest are used, that to the
        object itself included, as in scikit-learn; the name of a kernel of `KernelPCA`, such as
        "rbf", of all pairs of vectors; a function k(x, y) of two vectors; or a function of all
        rows X that returns the matrix of weights. An object's weight to itself is ignored.
    $gamma
    $weighted_graph
    $disconnected
    $eigensolver

    Attributes
    ----------
    $eigenmap
    degrees_ : array of shape (n_samples,)
        Sum of the weights of each object.
    t_ : float
        The width of the heat kernel; NaN without a neighbour graph.

    See Also
    --------
    DiffusionMap : removes the density of the sample and scales the coordinates.
    SpectralClustering : clusters of this map.

    Notes
    -----
    Time and memory are n k for k neighbours, and a sparse eigenproblem; n^2 for the kernel of all
    pairs.

    `transform` solves the eigenvector equation for a new object (Nystroem's formula [2]_) over the
    training objects that the rule of the graph links to it. An object at distance zero from a
    training object gets its coordinates, so ``transform(X_train)`` equals `embedding_`. Near a
    training object the formula differs from its coordinates by a share of about
    lambda / ((1 - lambda) (1 + degree)), as that object is one more neighbour.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data
       representation", Neural Computation 15, 2003.
    .. [2] Y. Bengio et al., "Out-of-sample extensions for LLE, Isomap, MDS, Eigenmaps, and spectral
       clustering", NIPS, 2004.

    Examples
    --------
    On a chain of unweighted edges the first coordinate is a half wave.

    >>> import numpy as np
    >>> import lowdim
    >>> X = np.arange(20.0)[:, None]
    >>> maps = lowdim.LaplacianEigenmaps(1, radius=1.0, weights="binary", normalization="none")
    >>> Y = maps.fit_transform(X)[:, 0]
    >>> wave = np.cos(np.pi * (np.arange(20) + 0.5) / 20)
    >>> np.allclose(abs(Y), abs(wave) * np.sqrt(2 / 20))
    True
    """

    _passages: ClassVar = {
        "eigenmap": """$embedding
graph_ : NeighborGraph
    The neighbour graph; only if the affinity is one of nearest neighbours.
eigenvalues_ : array of shape (n_components,)
    The smallest eigenvalues, ascending, without the trivial 0.
affinity_matrix_ : array or CSR matrix of shape (n_samples, n_samples)
    The symmetric edge weights.""",
        "weighted_graph": """n_neighbors : int, default=None
    Number of neighbours of an object; 10 if neither this nor radius is given.
$radius
symmetry : {"union", "mutual", "mean"}, default="union"
    Whether i and j are linked if either is a neighbour of the other ("union") or if both are
    ("mutual"); "mean" is "union" with half the weight if only one is a neighbour of the other,
    as in scikit-learn's SpectralEmbedding.
weights : {"heat", "binary"}, default="heat"
    Edge weights: exp(-d^2 / t) for an edge of length d, or 1.
t : float, default=None
    Width of the heat kernel; None: the mean squared length of the edges.
normalization : {"random-walk", "symmetric", "none"}, default="random-walk"
    "random-walk": L y = lambda D y with Y'DY = I, as in the paper, with the spectrum of the
    random walk; "symmetric": eigenvectors of D^(-1/2) L D^(-1/2), Y'Y = I; "none": L y =
    lambda y with Y'Y = I.
eigen_solver : str, default="auto"
    "auto", "dense", "arpack", "shift-invert" or "lobpcg"; None is "auto".
eigen_tol : float or "auto", default="auto"
    Accuracy of the iterative eigensolver; "auto" is 1e-10.
$graph_metric""",
    }

    traits = Traits(
        keeps="neighbours near each other; cluster structure",
        when="you look for clusters or for what varies most slowly, not for shape",
        cost="n k and a sparse eigenproblem",
        extends="Nystroem's formula; barycentric inverse",
        paper="Belkin and Niyogi 2003; Bengio et al. 2004",
        power=1.9,
        scales_axes=True,
        suggested=True,
        grows=True,
    )

    _attributes: ClassVar = {
        "graph_": graph_rule,
        "affinity_matrix_": Numbers("n n", least=0, sparse=None),
        "degrees_": Numbers("n", positive=True),
        "eigenvalues_": Numbers("c"),
        "t_": number(0),
    }
    _needed: ClassVar[tuple[str, ...]] = (
        "graph_",
        "affinity_matrix_",
        "degrees_",
        "eigenvalues_",
        "t_",
    )

    fit = neighbors.fit_with_graph
    _default_neighbors = 10
    _units: ClassVar = {"embedding_": 0, "radius": 1, "t": 2, "t_": 2}

    n_components: int = 2
    _: KW_ONLY
    affinity: Any = "nearest_neighbors"
    gamma: float | None = None
    n_neighbors: int | None = None
    radius: float | None = None
    symmetry: str = "union"
    weights: str = "heat"
    t: float | None = None
    normalization: str = "random-walk"
    eigen_solver: str | None = "auto"
    eigen_tol: float | str = "auto"
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    disconnected: str = "join"
    random_state: Any = None
    n_jobs: int | None = None

    def _memory(self, fit: Problem) -> float:
        if fit.is_set("affinity", "rbf"):
            return 5.2 * fit.square + fit.bottom_eigenvectors
        return fit.with_search(88 * fit.arcs + fit.bottom_eigenvectors)

    def _variants(self, state: dict[str, Any]) -> dict[str, Rule]:
        return {} if "graph_" in state else {"t_": any_number}

    def _needs(self, state: dict[str, Any]) -> set[str]:
        needed = super()._needs(state)
        return needed if self.affinity == "nearest_neighbors" else needed - {"graph_"}

    # --- fit -------------------------------------------------------------------------------

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        checks.choice(self.normalization, "normalization", NORMALIZATIONS)
        checks.choice(self.symmetry, "symmetry", SYMMETRIES)
        k = self._check_n_components(objects.n)
        if self._uses_graph:
            keep = self.affinity == "precomputed_nearest_neighbors"
            if not neighbors.connect(self, objects, graph, k + 2, keep):
                return
            self.t_ = heat_width(self.t, self.graph_.adjacency(self.symmetry))
            W = graph_weights(self.graph_, self.symmetry, self.weights, self.t_)
            self.affinity_matrix_, dtype = W, self.graph_.distances.dtype
        else:
            if graph is not None:
                raise ValueError(
                    f"graph cannot be used with {argument('affinity', self.affinity)}."
                )
            self.t_ = np.nan
            self.affinity_matrix_ = weights_of_all_pairs(objects, self.affinity, self._kernel)
            W, dtype = without_loops(self.affinity_matrix_), objects.dtype
            check_components(W, "raise" if self.disconnected == "raise" else "warn")
        self.degrees_ = positive_degrees(W, self.t_)
        eigenpairs = bottom_eigenpairs(
            laplacian(W.astype(np.float64)),
            k,
            B=None if self.normalization == "none" else self.degrees_,
            null=np.ones(objects.n),
            solver="auto" if self.eigen_solver is None else self.eigen_solver,
            tol=self._tolerance,
            seed=self.random_state,
        )
        vectors = eigenpairs.vectors
        if self.normalization == "symmetric":
            vectors = vectors * np.sqrt(self.degrees_)[:, None]
        self.eigenvalues_ = eigenpairs.values
        self.embedding_ = vectors.astype(dtype, copy=False)

    @property
    def _tolerance(self) -> float:
        if isinstance(self.eigen_tol, str):
            checks.choice(self.eigen_tol, "eigen_tol", ("auto",))
            return TOLERANCE
        return checks.real(self.eigen_tol, "eigen_tol", 0)

    def _update(self, new: NewObjects) -> Growth:
        """Embed the graph that the new objects have joined.

        The axes get the signs and the map the size of the old one. The axes have eigenvalues, so
        they are not turned. The size of the map depends on the number of objects.
        """
        if not self._uses_graph:
            raise ValueError(
                f"LaplacianEigenmaps.update: {argument('affinity', self.affinity)} has no "
                "neighbour graph that new objects could join. Fit again to all objects."
            )
        old = self.embedding_
        neighbors.refit(self, new)
        if not hasattr(self, "parts_"):
            signs = axis_signs(old, self.embedding_[: len(old)])
            scale = np.linalg.norm(old) / np.linalg.norm(self.embedding_[: len(old)])
            self.embedding_ = self.embedding_ * (signs * scale).astype(self.embedding_.dtype)
        return Growth()

    def _transform(self, new: NewObjects) -> Array:
        if self._uses_graph:
            nearest, distances = links.new_links(self, new)
            shares = links.link_shares(self, new, nearest, distances)
            w = edge_weights(distances, self.weights, self.t_) * shares
            return links.keep_known(self._extend(nearest, w), self.embedding_, nearest, distances)
        everyone = np.arange(len(self.embedding_))[None, :]
        if self.affinity == "precomputed":
            weights = np.asarray(new.vectors())
        else:
            weights = weights_to_all(new, self.X_fit_, self.affinity, self._kernel)
        Y = np.concatenate([self._extend(everyone, row[None, :]) for row in weights])
        if self.affinity != "precomputed":
            return links.keep_known(Y, self.embedding_, *new.nearest(1))
        for i, row in enumerate(weights):
            same = equal_row(self.affinity_matrix_, row)
            if same is not None:
                Y[i] = self.embedding_[same]
        return Y

    def _extend(self, nearest: Array, w: Array) -> Array:
        """The eigenvector equation solved for new objects, given their weights."""
        known = self.embedding_[nearest]
        if self.normalization == "none":
            Y = extend_eigenvectors(w, known, self.eigenvalues_)
        else:
            linked = self.degrees_[nearest] if self.normalization == "symmetric" else None
            Y = extend_normalized(w, known, self.eigenvalues_, linked)
        return Y.astype(self.embedding_.dtype, copy=False)

    # --- which affinity --------------------------------------------------------------------

    @property
    def _uses_graph(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity in GRAPHS

    @property
    def _reads_blocks(self) -> bool:  # type: ignore[override]
        return self._uses_graph

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        if isinstance(self.affinity, str) and self.affinity.startswith("precomputed"):
            return "precomputed", {}
        return super()._metric_choice() if self._uses_graph else ("euclidean", {})

    def _n_wanted(self, n: int) -> int:
        wanted = neighbors.n_neighbors_or_default(self, n)
        if self.affinity == "precomputed_nearest_neighbors":
            return checks.integer(wanted, "n_neighbors", 2) - 1
        return wanted

    def _kernel(self, n_features: int) -> Kernel:
        return resolve_kernel(self.affinity, gamma=self.gamma, n_features=n_features)

    def _objects(self, X: Any) -> Objects:
        if not callable(self.affinity):
            checks.choice(self.affinity, "affinity", AFFINITIES)
        if is_precomputed(self.metric) and not (self._uses_graph or self.affinity == "precomputed"):
            raise ValueError(
                f"{argument('metric', 'precomputed')} says that X holds dissimilarities, but "
                f"{argument('affinity', self.affinity)} is "
                "a kernel of vectors. Take 'nearest_neighbors', or give the weights of all pairs, "
                "such as exp(-gamma D^2), as 'precomputed' ones."
            )
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
                f"X has {weights.shape[1]} columns, but the model has {self.n_features_in_} "
                "training objects: give each new object's weights to all of them."
            )
        return NewDissimilarities(weights)
