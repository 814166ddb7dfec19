"""Factor analysis of mixed data (Pagès 2004) and multiple correspondence analysis."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array, dense, is_sparse
from lowdim.distances.gower import Kinds, coded_rows, gower, kinds_of
from lowdim.distances.metrics import Metric, euclidean
from lowdim.estimator import Embedder, Problem, Traits
from lowdim.estimator.fitted_state import Numbers, Sizes, kinds_of_columns, size_of
from lowdim.messages import argument
from lowdim.numerics.svd import principal_axes, scores
from lowdim.objects.block_sources import load_all
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects


def _widths(kinds: Kinds) -> list[int]:
    return [1 if kind is None else len(kind) for kind in kinds]


def _kinds_rule(name: str, value: Any, sizes: Sizes) -> None:
    """The categories of the columns, as many in all as there are indicators."""
    kinds_of_columns(name, value, sizes)
    size_of("indicators")(f"number of {name}", sum(_widths(value)), sizes)


@dataclass(eq=False, repr=False)
class FactorAnalysisOfMixedData(Embedder):
    """Factor analysis of mixed data: principal components of numbers and categories together.

    standardised numbers and weighted indicators of categories -> singular vectors

    Parameters
    ----------
    $n_components
    categorical_features : str, int or list of int or str, default=None
        Columns, by number or by name, whose values are categories although they are numbers.
        Columns of text and of a categorical dtype always are.
    $decomposition

    Attributes
    ----------
    $embedding
    eigenvalues_ : array of shape (n_components,)
        Inertia (variance, with divisor n_samples) of each axis.
    explained_variance_ratio_ : array of shape (n_components,)
        Its share of the total inertia.
    column_contributions_ : array of shape (n_features, n_components)
        The share of each column of X in the inertia of each axis; the sum over columns is 1.
    categories_ : list
        For each column of X the list of its categories, or None if it holds numbers.
    components_ : array of shape (n_components, n_indicators)
        The principal axes. In place of a column of categories there is one column for each
        category, in the order of `categories_`.
    mean_ : array of shape (n_indicators,)
        Means of these columns; that of a category is its share of the objects.
    scale_ : array of shape (n_indicators,)
        The divisors of these columns: the standard deviation of numbers, the square root of the
        share of a category.

    See Also
    --------
    MultipleCorrespondenceAnalysis : the case in which all columns are categories.
    PCA : the same map for standardised numbers.

    Notes
    -----
    Each column of numbers has inertia 1, and a column of m categories m - 1, of which an axis
    takes at most 1: the kinds of columns have equal weight on an axis.

    Time is n d min(n, d) for n objects and d columns of numbers and indicators.

    ``transform(X_train)`` equals `embedding_` to rounding. A category that was not in the training
    data has no indicator: the row is placed by its other columns, and a warning is given.
    `inverse_transform` returns numbers and the most likely categories. Missing values are errors.

    References
    ----------
    .. [1] J. Pagès, "Analyse factorielle de données mixtes", Revue de statistique appliquée 52,
       2004.

    Examples
    --------
    >>> import lowdim
    >>> X = [[1.5, "a"], [1.7, "a"], [2.9, "b"], [3.1, "b"]]
    >>> famd = lowdim.FactorAnalysisOfMixedData(1).fit(X)
    >>> famd.column_contributions_.round(3).tolist()
    [[0.5], [0.5]]
    >>> famd.inverse_transform(famd.embedding_)[:, 1].tolist()
    ['a', 'a', 'b', 'b']
    """

    _passages: ClassVar = {
        "decomposition": """svd_solver : str, default="auto"
    "full", "covariance_eigh", "gram_eigh", "randomized", "arpack" or "auto", as in `PCA`.
random_state : int, RandomState or None, default=None
    Seed of the randomized solver.
$n_jobs"""
    }

    traits = Traits(
        keeps="variance of numbers and categories, in equal parts",
        when="a table has columns of numbers and of categories",
        cost="n d min(n, d), where d counts every category",
        extends="linear map; numbers and the most likely categories",
        paper="Pagès 2004",
        power=1.0,
        scales_axes=True,
    )

    _attributes: ClassVar = {
        "categories_": _kinds_rule,
        "components_": Numbers("c indicators"),
        "mean_": Numbers("indicators"),
        "scale_": Numbers("indicators", positive=True),
        "eigenvalues_": Numbers("c", least=0),
        "explained_variance_ratio_": Numbers("c", least=0),
        "column_contributions_": Numbers("d c", least=0),
    }
    _needed = ("categories_", "components_", "mean_", "scale_")
    _units: ClassVar = {"embedding_": 0}

    n_components: int = 2
    _: KW_ONLY
    categorical_features: str | int | list[int | str] | None = None
    svd_solver: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None

    def _fit(self, objects: Objects) -> None:
        self.categories_ = _kinds(objects)
        table = self._indicators(objects.vectors(type(self).__name__))
        n, why = len(table), " (the least of n_samples and the number of indicators)"
        k = checks.integer(self.n_components, "n_components", 1, min(table.shape), why)
        self.mean_, self.scale_ = self._standards(table)
        Z = self._standardise(table)
        axes = principal_axes(Z, k, solver=self.svd_solver, seed=self.random_state)
        self.components_ = axes.components
        self.eigenvalues_ = (axes.variances * ((n - 1) / n)).astype(Z.dtype)
        self.explained_variance_ratio_ = (axes.variances / (axes.total or 1)).astype(Z.dtype)
        first = np.cumsum([0, *_widths(self.categories_)])[:-1]
        self.column_contributions_ = np.add.reduceat(self.components_.T**2, first, axis=0)
        self.embedding_ = self._scores(Z)

    def _transform(self, new: NewObjects) -> Array:
        return self._scores(self._standardise(self._indicators(new.vectors())))

    def _scores(self, Z: Array) -> Array:
        return scores(Z, np.zeros_like(self.mean_), self.components_)

    def _inverse(self, Y: Array) -> Array:
        """Rows of numbers and of the codes of categories."""
        table = Y @ self.components_ * self.scale_ + self.mean_
        parts = np.split(table, np.cumsum(_widths(self.categories_))[:-1], axis=1)
        pairs = zip(parts, self.categories_, strict=True)
        columns = [part[:, 0] if kind is None else part.argmax(axis=1) for part, kind in pairs]
        return np.column_stack(columns).astype(Y.dtype)

    def inverse_transform(self, Y: Any) -> Any:
        """Rows of numbers and of the most likely categories for given coordinates.

        Parameters
        ----------
        Y : array of shape (n, n_components)

        Returns
        -------
        array of shape (n, n_features)
            An array of objects if there are categories.
        """
        rows = super().inverse_transform(Y)
        if not any(self.categories_):
            return rows
        table = rows.astype(object)
        for c, kind in enumerate(self.categories_):
            if kind is not None:
                table[:, c] = [kind[int(code)] for code in rows[:, c]]
        return table

    # --- the columns of the analysis -------------------------------------------------------

    def _indicators(self, rows: Array) -> Array:
        """Coded rows with one column for each category."""
        columns = [
            rows[:, c : c + 1] if kind is None else rows[:, c : c + 1] == np.arange(len(kind))
            for c, kind in enumerate(self.categories_)
        ]
        return np.concatenate(columns, axis=1, dtype=rows.dtype)

    def _standards(self, table: Array) -> tuple[Array, Array]:
        largest = np.abs(table).max(axis=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)  # squares of extreme numbers do not overflow
        mean, deviation = (table / unit).mean(axis=0), (table / unit).std(axis=0)
        mean, deviation = mean * unit, np.where(deviation > 0, deviation, 1.0) * unit
        nominal = np.repeat(
            [kind is not None for kind in self.categories_], _widths(self.categories_)
        )
        return mean, np.where(nominal, np.sqrt(np.where(mean > 0, mean, 1.0)), deviation)

    def _standardise(self, table: Array) -> Array:
        Z = table / self.scale_ - self.mean_ / self.scale_
        return np.asarray(Z, dtype=table.dtype)

    # --- the input -------------------------------------------------------------------------

    def _objects(self, X: Any) -> Objects:
        X = _table(X)
        kinds = self._kinds_of(X)
        rows = _encode(X, kinds)
        self._check_features(X, "gower", fitting=True)
        if all(kind is None for kind in kinds):
            return MeasuredObjects(rows, euclidean())
        block, prepare, *_ = gower(rows, kinds)
        return MeasuredObjects(rows, Metric("gower", block, prepare, {"kinds": kinds}))

    def _new_objects(self, X: Any) -> NewObjects:
        X = _table(X)
        self._check_features(X, "gower", fitting=False)
        rows = _encode(X, self.categories_)
        for c, kind in enumerate(self.categories_):
            if kind is not None and (unknown := int((rows[:, c] < 0).sum())):
                checks.warn(
                    f"X, column {c}: {unknown} row(s) have a category that was not in the training "
                    "data. They are placed by their other columns."
                )
        return MeasuredNewObjects(rows, MeasuredObjects(rows, euclidean()))

    def _kinds_of(self, X: Any) -> Kinds:
        names, d = [str(name) for name in getattr(X, "columns", [])], X.shape[-1]
        named: set[int] = set()
        columns: Any = () if self.categorical_features is None else self.categorical_features
        if isinstance(columns, str) or not np.iterable(columns):
            columns = [columns]
        for column in columns:
            known = isinstance(column, str) and column in names
            number = names.index(column) if known else column
            if not isinstance(number, numbers.Integral) or not 0 <= int(number) < d:
                raise ValueError(
                    f"{argument('categorical_features')} names the column {column!r}, but X has "
                    f"{f'the columns {names}' if names else f'{d} columns'}."
                )
            named.add(int(number))
        return kinds_of(X, named) if named or not _is_numeric(X) else [None] * d

    def _memory(self, fit: Problem) -> float:
        return 3.0 * 8 * fit.n * sum(_widths(_kinds(fit.objects)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


@dataclass(eq=False, repr=False)
class MultipleCorrespondenceAnalysis(FactorAnalysisOfMixedData):
    """Multiple correspondence analysis: a map of objects that are described by categories.

    weighted indicators of categories -> singular vectors

    Parameters
    ----------
    $n_components
    $decomposition

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Principal coordinates of the objects.
    eigenvalues_ : array of shape (n_components,)
        Principal inertias of the indicator matrix.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the total inertia.
    column_contributions_ : array of shape (n_features, n_components)
        The share of each column of X in the inertia of each axis; the sum over columns is 1.
    categories_ : list
        For each column of X the list of its categories.
    components_ : array of shape (n_components, n_indicators)
        The principal axes, with one column for each category, in the order of `categories_`.
    mean_ : array of shape (n_indicators,)
        The share of the objects that have each category.
    scale_ : array of shape (n_indicators,)
        The divisors of the indicators: the square root of the share times the number of columns
        of X.

    See Also
    --------
    FactorAnalysisOfMixedData : the method for columns of numbers and of categories.

    Notes
    -----
    This is correspondence analysis of the indicator matrix, and factor analysis of mixed data
    divided by the square root of the number of columns. Every value is a category, numbers too.
    Time, `transform`, `inverse_transform` and missing values are as in `FactorAnalysisOfMixedData`.

    References
    ----------
    .. [1] M. Greenacre, "Theory and applications of correspondence analysis", Academic Press, 1984.

    Examples
    --------
    >>> import lowdim
    >>> X = [["red", "round"], ["red", "round"], ["green", "long"], ["green", "long"]]
    >>> mca = lowdim.MultipleCorrespondenceAnalysis(1).fit(X)
    >>> mca.explained_variance_ratio_.round(6)
    array([1.])
    """

    traits = Traits(
        keeps="which categories occur together; rare ones weigh more",
        when="all columns are categories, as in a questionnaire",
        cost="n d min(n, d), where d counts every category",
        extends="linear map; the most likely categories",
        paper="Benzécri 1973; Greenacre 1984",
        power=1.0,
        objects="categories",
        scales_axes=True,
    )

    categorical_features: Any = field(init=False, default=None)  # all of them: no parameter

    def _kinds_of(self, X: Any) -> Kinds:
        return kinds_of(X, range(X.shape[-1]))

    def _standards(self, table: Array) -> tuple[Array, Array]:
        mean, scale = super()._standards(table)
        return mean, scale * np.sqrt(len(self.categories_))


def _kinds(objects: Objects) -> Kinds:
    """The kinds of the columns of a table that has been checked."""
    assert isinstance(objects, MeasuredObjects)
    kinds: Kinds = objects.metric.params.get("kinds") or [None] * objects.rows.shape[1]
    return kinds


def _table(X: Any) -> Any:
    """X as a DataFrame, an array of numbers or an array of objects."""
    X = load_all(X)
    if is_sparse(X) or _is_numeric(X):
        return dense(checks.vectors(X, sparse=True))
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    return X if len(X.shape) == 2 else checks.vectors(X)


def _is_numeric(X: Any) -> bool:
    """Whether X is an array of numbers, of NumPy or another library."""
    dtype = getattr(X, "dtype", None)
    return dtype is not None and getattr(dtype, "kind", "f") not in "OUSTmM"


def _encode(X: Any, kinds: Kinds) -> Array:
    """A table as numbers and codes of categories."""
    if all(kind is None for kind in kinds):
        return np.asarray(checks.vectors(X))
    rows = coded_rows(kinds, X)
    if np.isnan(rows).any():
        row, column = np.argwhere(np.isnan(rows))[0]
        raise ValueError(
            f"X has a missing value (NaN or None) at [{row}, {column}]. Fill it in, or leave the "
            "row out; a missing category can be a category of its own."
        )
    return rows.astype(X.dtype, copy=False) if _is_numeric(X) else rows
