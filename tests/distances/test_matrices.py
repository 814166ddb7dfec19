from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.metrics import nan_euclidean_distances, pairwise_distances

import lowdim
from lowdim.distances import matrices as module
from lowdim.distances.matrices import check_dissimilarities, cross_distances, distance_matrix
from lowdim.distances.metrics import metric_names, resolve_metric

SCIPY = [
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "dice",
    "euclidean",
    "hamming",
    "jaccard",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "sqeuclidean",
    "yule",
]
BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


def sample(metric, n, seed=0):
    random = np.random.default_rng(seed)
    if metric in BOOLEAN:
        return random.integers(0, 2, (n, 9)).astype(bool)
    return random.uniform(0.1, 1, (n, 5))


@pytest.mark.parametrize("metric", SCIPY)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_scipy_metric_is_scipys(metric, sparse, monkeypatch):
    monkeypatch.setattr(module, "TILE_OBJECTS", 16)
    X, Q = sample(metric, 40), sample(metric, 7, seed=1)
    params = {}
    if metric == "seuclidean":
        params["V"] = X.var(axis=0, ddof=1)
    if metric == "mahalanobis":
        params["VI"] = np.linalg.inv(np.cov(X, rowvar=False))
    given = csr_array(X.astype(float)) if sparse else X
    found, rows = resolve_metric(metric, None, given)
    with lowdim.compute(n_jobs=2):
        D = distance_matrix(rows, found)
    rtol, atol = (1e-6, 1e-7) if rows.dtype == np.float32 else (1e-10, 1e-13)
    expected = cdist(X, X, metric, **params)
    np.fill_diagonal(expected, 0)  # Russell and Rao's is not
    np.testing.assert_allclose(D, expected, rtol=rtol, atol=atol)
    np.testing.assert_allclose(D, D.T, rtol=1e-12)
    assert not np.diagonal(D).any()
    with lowdim.compute(n_jobs=2):
        across = cross_distances(found.prepare(Q), rows, found)
    np.testing.assert_allclose(across, cdist(Q, X, metric, **params), rtol=rtol, atol=atol)


def test_the_list_of_metrics_is_complete():
    assert {*SCIPY, "gower", "nan_euclidean", "haversine", "l1", "l2"} <= set(metric_names())


@pytest.mark.parametrize(
    ("name", "params", "canonical"),
    [
        ("l2", {}, "euclidean"),
        ("l1", {}, "cityblock"),
        ("manhattan", {}, "cityblock"),
        ("infinity", {}, "chebyshev"),
        ("minkowski", {}, "euclidean"),
        ("minkowski", {"p": 1}, "cityblock"),
        ("minkowski", {"p": np.inf}, "chebyshev"),
    ],
)
def test_one_distance_has_one_name(name, params, canonical):
    assert resolve_metric(name, params, np.ones((3, 2)))[0].name == canonical


def test_weighted_minkowski_is_not_taken_for_euclidean():
    X = sample("minkowski", 10)
    w = np.array([1.0, 2, 3, 0, 1])
    found, rows = resolve_metric("minkowski", {"p": 2, "w": w}, X)
    assert not found.euclidean
    np.testing.assert_allclose(distance_matrix(rows, found), cdist(X, X, "minkowski", p=2, w=w))
    found, rows = resolve_metric("minkowski", {"p": 3}, X)
    np.testing.assert_allclose(distance_matrix(rows, found), cdist(X, X, "minkowski", p=3))
    with pytest.raises(ValueError, match=r"p must lie in \(0, inf\]"):
        resolve_metric("minkowski", {"p": 0}, X)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_parameters_from_the_data_are_frozen_at_training(metric):
    X, Q = sample(metric, 30), 100 * sample(metric, 4, seed=1)
    found, rows = resolve_metric(metric, None, X)
    whole = cross_distances(found.prepare(Q), rows, found)
    alone = cross_distances(found.prepare(Q[:1]), rows, found)
    np.testing.assert_array_equal(whole[:1], alone)
    expected = {
        "seuclidean": {"V": X.var(axis=0, ddof=1)},
        "mahalanobis": {"VI": np.linalg.inv(np.cov(X, rowvar=False))},
    }[metric]
    np.testing.assert_allclose(whole, cdist(Q, X, metric, **expected), rtol=1e-9)
    given, _ = resolve_metric(metric, {k: 2 * v for k, v in expected.items()}, X)
    assert not np.allclose(cross_distances(Q, rows, given), whole)


def test_mahalanobis_of_degenerate_data_uses_the_pseudo_inverse():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    found, rows = resolve_metric("mahalanobis", None, X)
    D = distance_matrix(rows, found)
    plain, others = resolve_metric("mahalanobis", None, X[:, :3])
    np.testing.assert_allclose(D, distance_matrix(others, plain), rtol=1e-8)


def test_cosine_to_a_zero_vector_is_a_right_angle_and_nothing_is_negative():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 5)), 3, axis=0)
    X[4] = 0
    found, rows = resolve_metric("cosine", None, X)
    D = distance_matrix(rows, found)
    assert (np.delete(D[4], 4) == 1).all()
    assert D.min() >= 0


def test_nan_euclidean_is_scikit_learns():
    X = np.random.default_rng(0).normal(size=(20, 5))
    X[3, 1] = X[7, 0] = X[7, 4] = np.nan
    found, rows = resolve_metric("nan_euclidean", None, X)
    D = distance_matrix(rows, found)
    np.testing.assert_allclose(D, nan_euclidean_distances(X), atol=1e-7)
    X[3] = np.nan
    found, rows = resolve_metric("nan_euclidean", None, X)
    with pytest.raises(ValueError, match="metric='nan_euclidean' gives NaN for objects 0 and 3"):
        distance_matrix(rows, found)
    X[2, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity at \[2, 2\]. Mark missing values as NaN"):
        resolve_metric("nan_euclidean", None, X)


def test_haversine_is_the_great_circle():
    places = np.radians([[0.0, 0.0], [0.0, 90.0], [90.0, 0.0], [0.0, 180.0]])
    found, rows = resolve_metric("haversine", None, places)
    D = distance_matrix(rows, found)
    quarter = np.pi / 2
    expected = quarter * np.array([[0, 1, 1, 2], [1, 0, 1, 1], [1, 1, 0, 1], [2, 1, 1, 0]])
    np.testing.assert_allclose(D, expected, atol=1e-12)


# --- Gower --------------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "height": [1.0, 3.0, np.nan, 5.0],
        "color": ["red", "blue", "red", None],
        "size": pd.Categorical(["S", "M", "S", "S"]),
    }
)


@pytest.mark.parametrize("kind", ["frame", "array", "list"])
def test_gower_is_the_mean_over_the_columns_both_rows_know(kind):
    data = {
        "frame": TABLE,
        "array": TABLE.to_numpy(dtype=object),
        "list": [list(row) for row in TABLE.itertuples(index=False)],
    }[kind]
    found, rows = resolve_metric("gower", None, data)
    expected = np.array(
        [
            [0, (0.5 + 1 + 1) / 3, 0, (1 + 0) / 2],
            [0, 0, (1 + 1) / 2, (0.5 + 1) / 2],
            [0, 0, 0, 0],
            [0, 0, 0, 0],
        ]
    )
    np.testing.assert_allclose(distance_matrix(rows, found), expected + expected.T)


def test_gower_of_numbers_is_scaled_cityblock():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, 3] = 2.5  # a constant column tells nothing and divides by nothing
    found, rows = resolve_metric("gower", None, X)
    span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)
    np.testing.assert_allclose(
        distance_matrix(rows, found), cdist(X / span, X / span, "cityblock") / 4, atol=1e-15
    )


def test_gower_of_new_rows_uses_the_training_ranges_and_categories():
    found, rows = resolve_metric("gower", None, TABLE)
    new = pd.DataFrame({"height": [101.0], "color": ["green"], "size": ["M"]})
    across = cross_distances(found.prepare(new), rows, found)
    # beyond the range counts as 1; a category not seen before differs from all
    np.testing.assert_allclose(across, [[1, (1 + 1 + 0) / 3, 1, 1]])


def test_gower_takes_truth_values_as_numbers():
    found, rows = resolve_metric("gower", None, [[True, "a"], [False, "a"], [True, "b"]])
    expected = [[0, 0.5, 0.5], [0.5, 0, 1], [0.5, 1, 0]]
    np.testing.assert_allclose(distance_matrix(rows, found), expected)


def test_bad_tables_are_named():
    found, _ = resolve_metric("gower", None, TABLE)
    with pytest.raises(ValueError, match="2 features, but 3 were seen in fit"):
        found.prepare(TABLE.iloc[:, :2])
    with pytest.raises(ValueError, match="column 0 was numeric in fit, but is not now"):
        found.prepare(pd.DataFrame({"height": ["tall"], "color": ["red"], "size": ["S"]}))
    with pytest.raises(ValueError, match=r"infinity at \[1, 0\]"):
        resolve_metric("gower", None, [[1.0, "a"], [np.inf, "b"]])
    with pytest.raises(ValueError, match=r"table of rows and columns, got 1 dimension"):
        resolve_metric("gower", None, ["a", "b"])
    found, rows = resolve_metric("gower", None, [[1.0, None], [None, "a"], [2.0, "b"]])
    with pytest.raises(ValueError, match=r"gives NaN for objects 0 and 1"):
        distance_matrix(rows, found)


# --- callables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objects",
    [
        ["ab", "abc", "xyz"],
        [("a", "b"), ("a",), ("x", "y")],
        [["a", "b"], ["a", "c"], ["x", "y"]],
        [{"a", "b"}, {"a"}, {"x", "y"}],
        [np.array(["a", "b"]), np.array(["a", "c"]), np.array(["x", "y"])],
        pd.Series(["ab", "ac", "xy"]),
    ],
)
def test_a_callable_sees_each_object_as_it_was_given(objects):
    def share(a, b):
        a, b = set(a), set(b)
        return 1 - len(a & b) / len(a | b)

    found, rows = resolve_metric(share, None, objects)
    assert rows.shape == (3,)
    assert [type(a) for a in rows] == [type(a) for a in objects]
    expected = [[share(a, b) for b in objects] for a in objects]
    np.testing.assert_allclose(distance_matrix(rows, found), expected)


def test_a_callable_on_a_numeric_table_sees_vectors():
    found, rows = resolve_metric(lambda a, b: np.abs(a - b).sum(), None, [[1, 2], [3, 5]])
    assert rows.shape == (2, 2)
    assert distance_matrix(rows, found).tolist() == [[0.0, 5.0], [5.0, 0.0]]


def test_a_callable_that_is_no_distance_is_refused():
    found, rows = resolve_metric(lambda a, b: -1.0, None, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"metric: the function returned.*must not be negative"):
        distance_matrix(rows, found)
    found, rows = resolve_metric(lambda a, b: np.inf, None, ["a", "b"])
    with pytest.raises(ValueError, match="gives infinity for objects 0 and 1"):
        distance_matrix(rows, found)


# --- matrices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_float32_stays_float32(metric):
    X = sample(metric, 50).astype(np.float32)
    found, rows = resolve_metric(metric, None, X)
    D = distance_matrix(rows, found)
    assert D.dtype == np.float32
    np.testing.assert_allclose(
        D, pairwise_distances(X.astype(np.float64), metric=metric), atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16"])
def test_small_types_become_float32_and_wide_ones_float64(dtype):
    X = np.array([[0, 1], [1, 1]], dtype=dtype)
    assert resolve_metric("euclidean", None, X)[1].dtype == np.float32
    assert resolve_metric("euclidean", None, X.astype(np.int64))[1].dtype == np.float64


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(module, "TILE_OBJECTS", 16)
    X = sample("euclidean", 100)
    found, rows = resolve_metric("euclidean", None, X)
    with lowdim.compute(n_jobs=1):
        one = distance_matrix(rows, found)
    with lowdim.compute(n_jobs=3):
        assert np.array_equal(one, distance_matrix(rows, found))


def test_too_large_a_matrix_is_refused_before_it_is_made():
    found, rows = resolve_metric("euclidean", None, sample("euclidean", 100))
    refused = pytest.raises(MemoryError, match=r"between 100 objects needs .* Take a sample")
    with lowdim.compute(memory="79kB"), refused:
        distance_matrix(rows, found)
    with lowdim.compute(memory="81kB"):
        distance_matrix(rows, found)


def test_check_dissimilarities_forgives_rounding_only():
    X = sample("euclidean", 600)
    D = cdist(X, X)
    noisy = D.copy()
    noisy[3, 500] += 1e-12
    noisy[4, 4] = 1e-12
    check_dissimilarities(noisy)
    check_dissimilarities(D.astype(np.float32))
    noisy[3, 500] += 1e-5
    with pytest.raises(ValueError, match=r"symmetric, but \[3, 500\]"):
        check_dissimilarities(noisy, "D")
    with pytest.raises(ValueError, match="D: array must be 2-dimensional and square"):
        check_dissimilarities(D[0], "D")
    assert check_dissimilarities(np.zeros((3, 3))).shape == (3, 3)
