"""Bad arguments and bad data: an error that names the argument and what was found."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import lowdim
from helpers import axis_signs
from lowdim import checks

ERRORS = (TypeError, ValueError)

# Kept for compatibility with other libraries' signatures and without effect here.
IGNORED = {"neighbors_algorithm", "power_iteration_normalizer", "iterated_power"}


def attempt(estimator, rows):
    """The fitted estimator, or the message of the error that fit gave."""
    try:
        return estimator.fit(rows), ""
    except ValueError as error:
        return None, str(error)


def string_parameters(case):
    for name, parameter in inspect.signature(case.cls.__init__).parameters.items():
        if isinstance(parameter.default, str) and name not in IGNORED:
            yield name


def test_errors_of_the_constructor_name_the_class(case):
    name = case.cls.__name__
    with pytest.raises(TypeError, match=rf"^{name}: .*'n_component'.*mean 'n_components'"):
        case.cls(n_component=2)
    with pytest.raises(TypeError, match=rf"^{name}: too many positional arguments"):
        case.cls(*[2] * 60)


def refuses(case, X, name, values, message):
    """Each of the values of a parameter is refused by `fit`, with a message."""
    for value in values:
        with pytest.raises(ERRORS, match=message):
            case.make(**{name: value}).fit(X)


def test_bad_n_components(case, X):
    refuses(case, X, "n_components", [0, -1, 2.5, "two", [2], True], "n_components")


def test_single_values_given_as_something_else(case, X):
    names = checks.plain_parameters(case.cls)
    assert "n_components" in names
    for name in names:
        odd = (np.zeros(3), np.zeros((20, 2)), [1, 2], {"a": 1}, np.array(5), b"x")
        refuses(case, X, name, odd, f"^{name} must be ")


def test_true_or_false_given_as_something_else(case, X):
    plain = checks.plain_parameters(case.cls)
    names = [name for name, types in plain.items() if types == ("bool",)]
    if not names:
        pytest.skip("the method has no parameter that is True or False")
    for name in names:
        refuses(case, X, name, ["no", None, 2], f"^{name} must be True or False")


def test_bad_random_state(seeded_case, X):
    values = ["", "x", -1, np.nan, b"x", print, 10**30]
    refuses(seeded_case, X, "random_state", values, "random_state")


def test_bad_verbose(verbose_case, X):
    refuses(verbose_case, X, "verbose", ["x", -1, 0.5, object()], "verbose")


def test_parameters_that_the_metric_does_not_take(metric_case, X):
    name = "metric_params" if metric_case.has("metric_params") else "metric_kwds"
    for metric, wrong in (
        ("euclidean", {"a": 1}),
        ("minkowski", {"p": 3, "w": [1, 2]}),
        ("mahalanobis", {"VI": np.eye(2)}),
        ("gower", {"a": 1}),
    ):
        with pytest.raises(ERRORS, match="metric_params"):
            metric_case.make(metric=metric, **{name: wrong}).fit(X)


@pytest.mark.parametrize("value", [2, np.nan, "x", [], (None,), {"a": 1}, object()])
def test_bad_lists_of_neighbours(X, value):
    with pytest.raises(ERRORS, match="precomputed_knn"):
        lowdim.UMAP(precomputed_knn=value).fit(X)


@pytest.mark.parametrize("name", ["CurvilinearComponentAnalysis", "CurvilinearDistanceAnalysis"])
def test_more_prototypes_than_memory(X, name):
    with pytest.raises(ValueError, match="n_prototypes"):
        getattr(lowdim, name)(n_prototypes=2**63).fit(X)


def test_too_many_components(case, X):
    if case.name == "KernelPCA":  # as in scikit-learn
        with pytest.warns(UserWarning, match="n_components"):
            case.make(n_components=len(X) + 1).fit(X)
        return
    with pytest.raises(ValueError, match="n_components"):
        case.make(n_components=len(X) + 1).fit(X)


def test_bad_n_neighbors(graph_case, X):
    values = [0, -1, 90, 1000, True, 2.5, "five"]
    refuses(graph_case, X, "n_neighbors", values, "n_neighbors")


def test_bad_radius(radius_case, X):
    for value in (-1.0, np.nan, "wide", True):
        with pytest.raises(ERRORS, match="radius"):
            radius_case.make(n_neighbors=None, radius=value).fit(X)


def test_neighbors_and_radius_together(radius_case, X):
    with pytest.raises(ValueError, match="n_neighbors and radius"):
        radius_case.make(n_neighbors=5, radius=1.0).fit(X)


def test_unknown_names_of_options(case, X):
    names = list(string_parameters(case))
    assert names  # every method has a choice by name: a metric, a kernel, a solver
    for name in names:
        with pytest.raises(ERRORS, match=rf"\b{name}\b"):
            case.make(**{name: "no such thing"}).fit(X)


def test_options_of_another_type_than_text(case, X):
    for name in string_parameters(case):
        number = (
            [] if name in ("eigen_tol", "learning_rate", "t") else [3]
        )  # where a number is refused
        refuses(case, X, name, [*number, [], {}, object()], name)


def test_the_position_of_a_bad_number_is_named(case, X):
    for entry, kind in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")):
        bad = X.copy()
        bad[17, 2] = entry
        with pytest.raises(ValueError, match=rf"X contains {kind} at \[17, 2\]"):
            case.make().fit(bad)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((0, 3)), "X.* 0 sample"),
        (np.zeros((5, 0)), "X.* 0 feature"),
        (np.zeros(6), "X: Expected 2D array, got 1D array"),
        (np.zeros((4, 3, 2)), "X: .* array with dim 3"),
        ([[1.0, 2.0], [3.0]], "X: rows must have the same length, but row 0 has 2 .* row 1 has 1"),
        ([["1", "b"], ["c", "d"]], r"X holds 'b' at \[0, 1\], which is not a number"),
        (np.array([[1 + 2j, 0], [0, 1], [2, 3]]), "X: Complex data"),
        (np.array([[{}, 1], [2, 3]], dtype=object), "X: .* not 'dict'"),
        (None, "X: .*got scalar array"),
        ("text", "X: .*got scalar array"),
        (7.0, "X: .*got scalar array"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_input_that_is_no_table_of_numbers(kind_case, rows, message):
    with pytest.raises(ERRORS, match=message):
        kind_case.make().fit(rows)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_samples(case, X, n, quiet):
    """An error that names what is too much, or a finite map."""
    estimator, message = attempt(case.make(n_components=1), X[:n])
    if estimator is None:
        assert any(word in message for word in ("n_samples", "n_neighbors", "n_components"))
        assert n < 3 or case.sees_neighbors or case.has("perplexity")
    else:
        assert n > 1
        assert estimator.embedding_.shape == (n, 1)
        assert np.isfinite(estimator.embedding_).all()


def test_two_samples_with_one_neighbor(graph_case, X, quiet):
    params = {"n_clusters": 2} if graph_case.has("n_clusters") else {}
    Y = graph_case.make(n_components=1, n_neighbors=1, **params).fit(X[:2]).embedding_
    assert Y.shape == (2, 1)
    assert np.isfinite(Y).all()


def test_constant_data(case):
    """All objects in one place: a warning, and a finite map or an error that says why."""
    same = np.full((30, 4), 3.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator, message = attempt(case.make(), same)
    said = [str(one.message) for one in caught]
    assert sum("all 30 objects are the same" in text for text in said) == 1
    if estimator is None:
        assert any(word in message for word in ("n_components", "eigenvalues", "in one place"))
    else:
        assert np.isfinite(estimator.embedding_).all()
        assert np.isfinite(estimator.transform(same[:2])).all()


def test_duplicates(case, X, quiet):
    twice = np.concatenate([X, X[:40], X[:40], X[:40]])
    estimator = case.make().fit(twice)
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite(estimator.transform(twice)).all()
    assert np.isfinite(estimator.inverse_transform(estimator.embedding_)).all()


def test_duplicates_land_in_one_place(case, X):
    if case.sees_neighbors:
        pytest.skip("equal objects of a graph may have different neighbours")
    estimator = case.make().fit(np.concatenate([X, X[:20]]))
    size = np.abs(estimator.embedding_).max()
    np.testing.assert_allclose(
        estimator.embedding_[:20], estimator.embedding_[90:], atol=1e-10 * size
    )


def test_columns_without_variance_change_nothing(invariant_case, X):
    wider = np.column_stack([np.full(len(X), 7.0), X, np.zeros(len(X))])
    reference = invariant_case.steady(**fixed(invariant_case, X)).fit(X).embedding_
    Y = invariant_case.steady(**fixed(invariant_case, X)).fit(wider).embedding_
    signs = axis_signs(Y, reference)
    np.testing.assert_allclose(Y * signs, reference, atol=1e-7 * np.abs(reference).max())


def fixed(case, X):
    """The parameters whose defaults depend on the number of columns."""
    return {"gamma": 0.1} if case.has("kernel") and case.has("gamma") else {}


def test_a_single_feature(case, X, quiet):
    line = np.sort(X[:, :1], axis=0)
    estimator = case.make(n_components=1).fit(line)
    assert estimator.embedding_.shape == (len(X), 1)
    assert np.isfinite(estimator.transform(line + 0.01)).all()
    assert estimator.inverse_transform(estimator.embedding_).shape == line.shape


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_extreme_scales(case, X, scale, quiet):
    params = {"gamma": 0.1 / scale**2} if case.has("kernel") and case.has("gamma") else {}
    estimator = case.make(**params).fit(X * scale)
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite(estimator.transform(X[:4] * scale)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_too_large_to_square(case, X, dtype, quiet):
    """Squares overflow: a clear error or a finite map, never silent nonsense."""
    huge = (X * np.finfo(dtype).max / 8).astype(dtype)
    estimator, message = attempt(case.make(), huge)
    if estimator is None:
        assert any(word in message for word in ("overflow", "infinity", "large", "eigenvalues"))
    else:
        assert np.isfinite(estimator.embedding_).all()


def test_a_far_away_origin(case, X):
    moved = case.steady().fit(X + 1e5).embedding_
    assert np.isfinite(moved).all()
    reference = case.steady().fit(X).embedding_
    signs = axis_signs(moved, reference)
    np.testing.assert_allclose(moved * signs, reference, atol=1e-4 * np.abs(reference).max())


def test_metrics_are_advised_only_to_methods_that_have_them():
    rows = np.full((5, 3), np.nan)
    with pytest.raises(ValueError, match=r"impute them; metric='nan_euclidean' and"):
        lowdim.MDS().fit(rows)
    for given in (rows, rows.tolist()):
        with pytest.raises(ValueError, match=r"Remove or impute them\.$"):
            lowdim.PCA().fit(given)
    with pytest.raises(ValueError, match=r"Y contains NaN .* Remove or impute them\.$"):
        lowdim.MDS().fit(np.eye(5)).inverse_transform([[np.nan, 0.0]])
