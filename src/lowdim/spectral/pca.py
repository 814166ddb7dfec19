"""Principal component analysis (Pearson 1901; Hotelling 1933)."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.checks import Array, dense, fixed_random_state
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import scale_by_power
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, any_number, number, size_of
from lowdim.estimator.updating import Growth
from lowdim.messages import argument
from lowdim.numerics.svd import Axes, principal_axes, residual_share, scores, update_axes
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.scheduling import use_threads
from lowdim.spectral.probabilistic_pca import Model
from lowdim.spectral.scaling import leading_count


@declare_parameters
class PCA(Embedder):
    """Principal component analysis: the linear map that keeps the most variance.

    centre -> singular vectors

    Parameters
    ----------
    n_components : int, float, "mle", "parallel" or None, default=None
        Dimension of the map. A float in (0, 1): the fewest components that explain more than this
        share of the variance. "mle": the most probable number of components [5]_, for at least as
        many objects as features. "parallel": as many as explain more variance than in 95 % of data
        sets with permuted columns (Horn's parallel analysis). None: all, min(n_samples,
        n_features), or one less with svd_solver="arpack".
    copy : bool, default=True
        Ignored; accepted for compatibility with scikit-learn. X is never changed.
    whiten : bool, default=False
        Whether to scale the coordinates to unit variance.
    svd_solver : str, default="auto"
        "full" (SVD of X), "covariance_eigh", "gram_eigh", "randomized" [3]_, "arpack" (Lanczos,
        also for sparse X), or "auto": by the shape of X.
    tol : float, default=0.0
        Accuracy of svd_solver="arpack"; 0 stands for machine precision.
    iterated_power : int or "auto", default="auto"
        Number of power iterations of the randomized solver.
    n_oversamples : int, default=10
        Number of additional random vectors of the randomized solver.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How the randomized solver keeps its vectors independent between power iterations.
    random_state : int, RandomState or None, default=None
        Seed of the randomized solver and of parallel analysis.
    $n_jobs

    Attributes
    ----------
    $embedding
    components_ : array of shape (n_components, n_features)
        The principal axes, by descending variance.
    explained_variance_ : array of shape (n_components,)
        Variance along each axis.
    explained_variance_ratio_ : array of shape (n_components,)
        Its share of the total variance.
    singular_values_ : array of shape (n_components,)
        Singular values of the centred X.
    mean_ : array of shape (n_features,)
        Mean of X.
    n_components_ : int
        The number of components.
    noise_variance_ : float
        Mean variance of the components that were left out.
    n_samples_ : int
        The number of training objects.

    See Also
    --------
    KernelPCA : principal components in the feature space of a kernel.
    ClassicalMDS : the same map from Euclidean distances.

    Notes
    -----
    Time is n d min(n, d) for n objects and d features.

    ``transform(X_train)`` equals `embedding_` to rounding, and `inverse_transform` is the best
    linear reconstruction.

    `score`, `score_samples`, `get_covariance` and `get_precision` are those of probabilistic
    principal component analysis [4]_: a normal distribution with the variances of the components
    along their axes and `noise_variance_` in all other directions. If that covariance is singular,
    the density is the one within its subspace, and the score of a row beside it is -inf; with all
    n_features components there is no density, and every score is -inf, as in scikit-learn.

    References
    ----------
    .. [1] K. Pearson, "On lines and planes of closest fit to systems of points in space",
       Philosophical Magazine 2, 1901.
    .. [2] H. Hotelling, "Analysis of a complex of statistical variables into principal components",
       Journal of Educational Psychology 24, 1933.
    .. [3] N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM Review
       53, 2011.
    .. [4] M. E. Tipping, C. M. Bishop, "Mixtures of probabilistic principal component analyzers",
       Neural Computation 11, 1999.
    .. [5] T. P. Minka, "Automatic choice of dimensionality for PCA", NIPS, 2000.

    Examples
    --------
    >>> import lowdim
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    >>> pca = lowdim.PCA(1).fit(X)
    >>> pca.explained_variance_ratio_.round(6)
    array([1.])
    >>> abs(pca.components_).round(3)
    array([[0.707, 0.707]])
    """

    traits = Traits(
        keeps="variance; the best linear map",
        when="first, as the yardstick; structure is linear, or noise is to be removed first",
        cost="n d min(n, d)",
        extends="linear map, linear inverse",
        paper="Pearson 1901; Hotelling 1933; parallel analysis: Horn 1965",
        power=1.0,
        suggested=True,
        grows=True,
    )

    _reads_blocks = True
    _attributes: ClassVar = {
        "embedding_": Numbers("n c", empty=True),
        "components_": Numbers("c d"),
        "mean_": Numbers("d"),
        "n_components_": size_of("c"),
        "n_samples_": size_of("n"),
        "explained_variance_": Numbers("c"),
        "explained_variance_ratio_": Numbers("c", finite=False),
        "singular_values_": Numbers("c"),
        "noise_variance_": any_number,
        "_fitted_mass": number(positive=True),
    }
    _needed = ("mean_", "components_", "explained_variance_")

    n_components: int | float | str | None = None
    _: KW_ONLY
    copy: bool = True
    whiten: bool = False
    svd_solver: str = "auto"
    tol: float = 0.0
    iterated_power: int | str = "auto"
    n_oversamples: int = 10
    power_iteration_normalizer: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None

    _units: ClassVar = {
        **dict.fromkeys(("embedding_", "mean_", "singular_values_"), 1),
        **dict.fromkeys(("explained_variance_", "noise_variance_"), 2),
    }

    def _memory(self, fit: Problem) -> float:
        k = self.n_components
        most = min(fit.n, int(fit.objects.rows_for("PCA").shape[1]))
        return 2.0 * fit.n * (min(k, most) if isinstance(k, int) else most) * fit.size

    def _unit_of(self, name: str) -> float:
        return 0 if name == "embedding_" and self.whiten else super()._unit_of(name)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row; also rows in a file, or a Dask array.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            How often each object was observed, with a sum above 1: whole numbers give the axes and
            variances of rows that are repeated so often. Needs rows in memory, and a number or a
            share of components.

        Returns
        -------
        self
        """
        return self._check_and_fit(X, sample_weight=sample_weight)

    def _fit(self, objects: Objects, sample_weight: Any = None) -> None:
        X = objects.rows_for("PCA")
        n, d = X.shape
        k = self._components_to_compute(n, d)
        if sample_weight is None:
            axes, mass = self._axes(X, k), float(n)
        else:
            axes, mass = self._weighted_axes(X, k, sample_weight)
            self._fitted_mass = mass
        self._describe(axes, self._components_to_keep(X, axes.variances, axes.total), mass)
        self.n_samples_ = n
        self.embedding_ = self._scores(X)

    def _axes(self, X: Any, k: int) -> Axes:
        return principal_axes(
            X,
            max(k, 1),
            solver=self.svd_solver,
            seed=self.random_state,
            tol=checks.real(self.tol, "tol", 0),
            power=self.iterated_power,
            oversamples=self.n_oversamples,
            normalizer=self.power_iteration_normalizer,
        )

    def _weighted_axes(self, X: Any, k: int, sample_weight: Any) -> tuple[Axes, float]:
        """The axes of weighted rows, and the sum of the weights."""
        if isinstance(X, RowBlocks) or isinstance(self.n_components, str):
            raise ValueError(
                f"{argument('sample_weight')} needs all rows of X in memory, and a number or a "
                f"share as {argument('n_components')}."
            )
        w = checks.sample_weight(sample_weight, X.shape[0], zero=True)
        mass = float(w.sum())
        if mass <= 1:
            raise ValueError(f"{argument('sample_weight')} must have a sum above 1, got {mass:g}.")
        X = dense(X)
        mean = (w[:, None] * X).sum(axis=0) / mass
        rows = (np.sqrt(w)[:, None] * (X - mean)).astype(X.dtype)
        both = self._axes(np.concatenate([rows, -rows]), k)  # of mean 0
        share = (2 * len(X) - 1) / 2 / (mass - 1)
        return Axes(mean, both.components, both.variances * share, both.total * share), mass

    def _describe(self, axes: Axes, k: int, n: float) -> None:
        """Set the attributes that describe the first k axes of n objects."""
        dtype, most = axes.components.dtype, min(n, len(axes.mean))
        self.n_components_ = k
        self.mean_ = axes.mean.astype(dtype)
        self.components_ = axes.components[:k]
        self.explained_variance_ = axes.variances[:k].astype(dtype)
        share = axes.variances[:k] / axes.total if axes.total > 0 else np.zeros(k)
        self.explained_variance_ratio_ = share.astype(dtype)
        self.singular_values_ = np.sqrt(axes.variances[:k] * (n - 1)).astype(dtype)
        left = max(axes.total - float(axes.variances[:k].sum()), 0.0)
        self.noise_variance_ = left / (most - k) if most > k else 0.0

    def _update(self, new: NewObjects) -> Growth:
        k, mean, components = self.n_components_, self.mean_, self.components_
        n = getattr(self, "_fitted_mass", self.n_samples_)
        X = dense(new.vectors()).astype(components.dtype, copy=False)
        variances = self.explained_variance_.astype(np.float64)
        left = float(self.noise_variance_) * (min(n, len(mean)) - k)
        known = Axes(mean.astype(np.float64), components, variances, variances.sum() + left)
        old, beside = self.embedding_ / self._scale(), residual_share(X, mean, components)
        axes = update_axes(known, n, X)
        signs = np.where((axes.components * components).sum(axis=1) < 0, -1, 1).astype(X.dtype)
        axes = axes._replace(components=axes.components * signs[:, None])
        self._describe(axes, k, n + len(X))
        self.n_samples_ += len(X)
        if hasattr(self, "_fitted_mass"):
            self._fitted_mass += len(X)
        turned = old @ (components @ self.components_.T)
        moved = (turned + (mean - self.mean_) @ self.components_.T) * self._scale()
        self.embedding_ = np.concatenate([moved, self._scores(X)])
        usual = left / known.total if known.total > 0 else 0.0
        return Growth(unlike=max(0.0, beside - usual))

    # --- the probabilistic model -----------------------------------------------------------

    def get_covariance(self) -> Array:
        """The covariance matrix of the probabilistic model.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        model, exponent = self._model
        return np.asarray(scale_by_power(model.covariance(), 2 * exponent))

    def get_precision(self) -> Array:
        """The inverse of the covariance matrix; its pseudo-inverse if there is no noise.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        model, exponent = self._model
        return np.asarray(scale_by_power(model.precision(), -2 * exponent))

    def score_samples(self, X: Any) -> Array:
        """The log-likelihood of each object under the probabilistic model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, n_features)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        model, exponent = self._model
        with use_threads(self._n_jobs):
            scores = model.log_likelihood(dense(self._new_objects(X).vectors()))
        return np.asarray(scores - exponent * np.log(2) * len(self.mean_))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the objects; the parameters are those of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    @property
    def _model(self) -> tuple[Model, int]:
        """The model of vectors in units of two to a power, and that power."""
        check_is_fitted(self)
        fit = self._model_in_unit
        model = Model(
            fit.mean_, fit.components_, fit.explained_variance_, float(fit.noise_variance_)
        )
        return model, self._fitted_exponent

    # --- scores ----------------------------------------------------------------------------

    def _transform(self, new: NewObjects) -> Array:
        return self._scores(new.vectors())

    def _scores(self, X: Any) -> Array:
        return scores(X, self.mean_, self.components_) * self._scale()

    def _inverse(self, Y: Array) -> Array:
        return np.asarray((Y / self._scale()) @ self.components_ + self.mean_)

    def _scale(self) -> Array:
        if not self.whiten:
            return np.ones(len(self.components_), self.components_.dtype)
        deviation = np.sqrt(self.explained_variance_)
        tiny = np.finfo(deviation.dtype).eps * deviation.max(initial=0) or 1
        return np.asarray(1 / np.maximum(deviation, tiny))

    def _components_to_compute(self, n: int, d: int) -> int:
        asked, most = self.n_components, min(n, d)
        if self.svd_solver == "arpack" and most > 1:
            most -= 1  # Lanczos' method finds all eigenvectors but one
        if asked == "mle":
            if n < d:
                raise ValueError(
                    f"{argument('n_components', 'mle')} is only supported if n_samples >= "
                    f"n_features; got {n} objects and {d} features. Use a number, a share or "
                    "'parallel'."
                )
            if self.svd_solver in ("arpack", "randomized"):
                raise ValueError(
                    f"{argument('n_components', 'mle')} needs all variances: it cannot be used "
                    f"with {argument('svd_solver', self.svd_solver)}. Use 'auto' or 'full'."
                )
        elif isinstance(asked, str) and asked != "parallel":
            raise ValueError(
                f"{argument('n_components')} must "
                "be an integer, a share in (0, 1), 'mle', 'parallel' or None; "
                f"got {asked!r}."
            )
        if asked is None or isinstance(asked, str):
            return most
        if isinstance(asked, numbers.Integral):
            least = 0 if self.svd_solver == "full" else 1  # 0: the model of noise alone
            limit = " (min(n_samples, n_features))"
            if most < min(n, d):
                limit = " (strictly less than min(n_samples, n_features) with svd_solver='arpack')"
            return checks.integer(asked, "n_components", least, most, limit)
        checks.real(asked, "n_components", 0, 1, open_low=True)
        return most

    def _components_to_keep(self, X: Any, variances: Array, total: float) -> int:
        asked = self.n_components
        if isinstance(asked, str):
            if isinstance(X, RowBlocks):
                raise ValueError(
                    f"{argument('n_components', asked)} needs all rows of X in memory, but they "
                    "are read in blocks. Use a number or a share of the variance."
                )
            if asked == "mle":  # Minka's evidence of every number of components
                from sklearn.decomposition._pca import PCA as ReferencePCA

                return int(ReferencePCA("mle", svd_solver="full").fit(dense(X)).n_components_)
            return max(1, int((variances > self._chance_variances(X)).cumprod().sum()))
        if isinstance(asked, numbers.Integral):
            return int(asked)
        if isinstance(asked, numbers.Real):
            return leading_count(variances, float(asked), total)
        return len(variances)

    def _chance_variances(self, X: Any, trials: int = 20) -> Array:
        """The 95th percentile of each variance when every column is permuted on its own."""

        random = fixed_random_state(self.random_state)
        columns = dense(X).T
        variances = []
        for _ in range(trials):
            shuffled = np.column_stack([random.permutation(column) for column in columns])
            axes = principal_axes(np.ascontiguousarray(shuffled), min(X.shape), announce=False)
            variances.append(axes.variances)
        return np.asarray(np.percentile(variances, 95, axis=0))
