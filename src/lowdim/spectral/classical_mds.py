"""Classical multidimensional scaling (Torgerson 1952; Gower 1966)."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, any_number, number
from lowdim.messages import argument
from lowdim.numerics.svd import principal_axes, scores
from lowdim.objects.landmarks import choose_landmarks
from lowdim.objects.new_objects import NewObjects, as_new
from lowdim.objects.objects import Objects
from lowdim.runtime.scheduling import blocks
from lowdim.spectral.scaling import (
    Scaling,
    classical_scaling,
    correct_dissimilarities,
    gower_projection,
    leading_count,
    squared_means,
)


@declare_parameters
class ClassicalMDS(Embedder):
    """Classical scaling: inner products on the map fit those that the distances imply.

    double-centre(D^2) -> top eigenvectors

    Coordinates X minimise `|B - X X'|` for B = -1/2 J D^2 J. If D holds Euclidean distances, B is
    the Gram matrix of the centred points and the map is their principal component analysis.

    Parameters
    ----------
    n_components : int or float, default=2
        Dimension of the map. A float in (0, 1): the fewest dimensions that hold this share of the
        positive eigenvalues, all of which are computed then (n^3).
    $named_metric
    correction : {"none", "lingoes", "cailliez"}, default="none"
        Additive constant that makes dissimilarities Euclidean.
    n_landmarks : int, default=None
        Scale this many random objects and place the others by their distances to them [3]_;
        memory n_samples * n_landmarks.
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        Solver of the eigenproblem.
    $tol
    random_state : int, RandomState or None, default=None
        Seed of the landmarks.
    $n_jobs

    Attributes
    ----------
    $embedding
    eigenvalues_ : array of shape (n_components,)
        The largest eigenvalues of B.
    negative_share_ : float
        Share of the negative eigenvalues of B in the sum of absolute values; 0 for Euclidean
        distances. It is estimated within about 0.04 for more than 1000 objects. Above 0.05 there is
        a warning.
    dissimilarity_matrix_ : array of shape (n_samples, n_samples)
        The distances, between the landmarks if there are any; computed on demand for Euclidean
        vectors.
    landmarks_ : array of int
        Row numbers of the landmarks; with n_landmarks only.

    See Also
    --------
    MDS : fits the distances themselves.
    is_euclidean : tests whether dissimilarities are Euclidean distances.

    Notes
    -----
    Euclidean distances between vectors are not computed: the result is that of PCA, in time n d^2.
    Otherwise time is n^2 per iteration and memory n^2.

    `transform` is Gower's formula [2]_. ``transform(X_train)`` equals `embedding_` to rounding.

    References
    ----------
    .. [1] W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17,
       1952.
    .. [2] J. C. Gower, "Some distance properties of latent root and vector methods used in
       multivariate analysis", Biometrika 53, 1966.
    .. [3] V. de Silva, J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points",
       Stanford University, 2004.

    Examples
    --------
    The distances between three points of a line.

    >>> import lowdim
    >>> D = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    >>> Y = lowdim.ClassicalMDS(1, metric="precomputed").fit_transform(D)
    >>> abs(Y - Y[0]).ravel().round(6)
    array([0., 1., 3.])
    """

    traits = Traits(
        keeps="distances, the large ones first",
        when="you have distances, not vectors, and they are close to Euclidean",
        cost="n^2 per iteration, n^2 memory; n m with m landmarks; n d^2 for Euclidean vectors",
        extends="Gower's formula; linear inverse for Euclidean vectors, else barycentric",
        paper="Torgerson 1952; Gower 1966; landmarks: de Silva and Tenenbaum 2004",
        power=1.0,
        reduced_by="n_landmarks",
        suggested=True,
        euclidean_twin="PCA",
    )

    _reads_blocks = True
    _attributes: ClassVar = {
        "landmarks_": Numbers("m", "iu", 0, "n"),
        "eigenvalues_": Numbers("c"),
        "eigenvectors_": Numbers("m|n c"),
        "mean_squares_": Numbers("m|n"),
        "_fitted_distances": Numbers("m|n m|n", least=0),
        "correction_constant_": number(0),
        "negative_share_": any_number,
        "components_": Numbers("c d"),
        "mean_": Numbers("d"),
    }

    _units: ClassVar = {
        **dict.fromkeys(("embedding_", "mean_", "_fitted_distances"), 1),
        **dict.fromkeys(("eigenvalues_", "mean_squares_"), 2),
    }

    n_components: int | float = 2
    _: KW_ONLY
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    correction: str = "none"
    n_landmarks: int | None = None
    eigen_solver: str = "auto"
    tol: float = 0.0
    random_state: Any = None
    n_jobs: int | None = None

    def _memory(self, fit: Problem) -> float:
        if m := fit.object_count("n_landmarks"):
            return 8.0 * m * m * 3 + fit.n * m * fit.size
        if fit.is_set("correction", "cailliez"):
            return 10.5 * fit.square
        plain = fit.objects.euclidean and self.correction == "none"
        return 0.0 if plain else fit.distances + fit.scaling

    def _needs(self, state: dict[str, Any]) -> set[str]:
        plain = {"mean_", "components_"}
        scaled = {"eigenvalues_", "eigenvectors_", "mean_squares_", "_fitted_distances"}
        own = plain if plain <= set(state) else scaled | {"correction_constant_"}
        return super()._needs(state) | own

    def _fit(self, objects: Objects) -> None:
        checks.choice(self.eigen_solver, "eigen_solver", ("auto", "dense", "arpack"))
        if self._is_share:
            checks.real(self.n_components, "n_components", 0, 1, open_low=True)
        if self.n_landmarks is not None:
            least = 2 if self._is_share else int(self.n_components) + 1
            chosen = choose_landmarks(objects.n, self.n_landmarks, least, self.random_state)
            self.landmarks_ = chosen
            self._fitted_distances = objects.between(chosen, "n_landmarks")
            self._scale(self._fitted_distances)
            self.embedding_ = self._place(as_new(objects).among(chosen))
        elif self.correction == "none" and objects.euclidean:
            self._fit_vectors(objects.rows_for("classical scaling of Euclidean distances"))
        else:
            self._fitted_distances = objects.all_pairs()
            self.embedding_ = self._scale(self._fitted_distances)

    @property
    def _is_share(self) -> bool:
        """Whether n_components is a share of the eigenvalues."""
        return not isinstance(self.n_components, numbers.Integral)

    def _fit_vectors(self, X: Any) -> None:
        """Euclidean distances of vectors: B is the Gram matrix of the centred vectors."""
        n, d = X.shape
        k = min(n - 1, d) if self._is_share else min(self._check_n_components(n), d)
        axes = principal_axes(X, k)
        values = axes.variances * (n - 1)
        if self._is_share:
            k = leading_count(values, self.n_components, float(values.sum()))
        self.mean_, self.components_ = axes.mean, axes.components[:k]
        self.negative_share_ = 0.0
        self.eigenvalues_ = values[:k].astype(X.dtype)
        self.embedding_ = scores(X, self.mean_, self.components_)
        if not self._is_share and k < self.n_components:  # more dimensions than the vectors have
            missing = int(self.n_components) - k
            self.embedding_ = np.pad(self.embedding_, ((0, 0), (0, missing)))
            self.eigenvalues_ = np.pad(self.eigenvalues_, (0, missing))
            self.components_ = np.pad(self.components_, ((0, missing), (0, 0)))

    def _scale(self, D: Array) -> Array:
        """Eigenpairs of B, kept for new objects; returns the coordinates."""
        D, self.correction_constant_ = correct_dissimilarities(D, self.correction)
        k = len(D) - 1 if self._is_share else self._check_n_components(len(D))
        solver = "dense" if self._is_share else self.eigen_solver
        scaling = classical_scaling(D, k, solver=solver, tol=self.tol)
        if self._is_share:
            k = leading_count(scaling.values, self.n_components, float(scaling.values.sum()))
            scaling = Scaling(scaling.values[:k], scaling.vectors[:, :k], scaling.negative_share)
        if scaling.negative_share > 0.05:
            checks.warn(
                "The dissimilarities are not Euclidean: negative eigenvalues hold "
                f"{scaling.negative_share:.0%} of the spectrum and cannot be shown. See "
                f"lowdim.is_euclidean, and {argument('correction', 'lingoes')} or 'cailliez'."
            )
        self.negative_share_ = scaling.negative_share
        self.eigenvalues_, self.eigenvectors_ = scaling.values.astype(D.dtype), scaling.vectors
        self.mean_squares_ = squared_means(D)
        return scaling.coordinates

    def _transform(self, new: NewObjects) -> Array:
        if hasattr(self, "components_"):
            return scores(new.vectors(), self.mean_, self.components_)
        return self._place(new.among(self.landmarks_) if hasattr(self, "landmarks_") else new)

    def _place(self, new: NewObjects) -> Array:
        """Gower's formula from distances to the training objects or the landmarks."""
        out = np.empty((new.n, len(self.eigenvalues_)), dtype=self.eigenvectors_.dtype)
        means = self.mean_squares_.astype(out.dtype)
        for part in blocks(new.n, 4096):
            D = np.asarray(new.subset(part).distances(), dtype=out.dtype)
            constant = np.asarray(self.correction_constant_, dtype=D.dtype)
            if self.correction == "cailliez":
                squares = np.where(D > 0, D + constant, 0) ** 2
            else:
                squares = np.where(D > 0, D**2 + 2 * constant, 0)
            out[part] = gower_projection(squares, means, self.eigenvalues_, self.eigenvectors_)
        return out

    def _unit_of(self, name: str) -> float:
        if name == "correction_constant_":
            return {"lingoes": 2, "cailliez": 1}.get(self.correction, 0)
        return super()._unit_of(name)

    def _inverse(self, Y: Array) -> Any:
        if not hasattr(self, "components_"):
            return super()._inverse(Y)
        return np.asarray(Y @ self.components_ + self.mean_.astype(Y.dtype))

    @property
    def dissimilarity_matrix_(self) -> Array:
        """Distances between the training objects (between the landmarks, where there are any)."""
        return (
            self._fitted_distances
            if hasattr(self, "_fitted_distances")
            else self._training_objects.all_pairs()
        )
