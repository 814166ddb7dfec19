"""Any metric: names, functions of arbitrary objects, and dissimilarities given ready."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowdim
from helpers import aligned, axis_signs

METRICS = ["cityblock", "chebyshev", "cosine", "canberra", "seuclidean", "mahalanobis", "l2"]


def edit_distance(a, b):
    """Levenshtein's distance between two words."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, before + (left != right)),
            )
    return float(row[-1])


@pytest.fixture(scope="module")
def words():
    random = np.random.RandomState(0)
    stems = ["".join(random.choice(list("abcdef"), 6)) for _ in range(4)]
    return [
        "".join(c if random.uniform() > 0.3 else random.choice(list("abcdef")) for c in stem)
        for stem in stems
        for _ in range(9)
    ]


@pytest.fixture(scope="module")
def box():
    """Positive vectors, so that every metric is defined on them."""
    return np.random.RandomState(4).uniform(0.5, 2, (60, 5))


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_by_name_are_those_of_scipy(metric_kind_case, box, metric, quiet):
    if (metric_kind_case.name, metric) == ("ClassicalMDS", "mahalanobis"):
        pytest.skip("this metric makes all axes equally long: their order is that of rounding")
    name = "euclidean" if metric == "l2" else metric
    params = {
        "seuclidean": {"V": box.var(axis=0, ddof=1)},
        "mahalanobis": {"VI": np.linalg.inv(np.cov(box.T))},
    }.get(metric, {})
    start, new = one_start(metric_kind_case), box[:5] + 0.1 * np.arange(5)
    named = metric_kind_case.steady(metric=metric, **start).fit(box)
    D = cdist(box, box, name, **params)
    np.fill_diagonal(D, 0)  # the cosine of a vector with itself is 1 but for rounding
    given = metric_kind_case.steady(metric="precomputed", **start).fit(D)
    size = np.abs(given.embedding_).max()
    signs = axis_signs(named.embedding_, given.embedding_)
    np.testing.assert_allclose(named.embedding_ * signs, given.embedding_, atol=1e-6 * size)
    placed = given.transform(cdist(new, box, name, **params))
    np.testing.assert_allclose(named.transform(new) * signs, placed, atol=1e-6 * size)


def test_a_metric_by_name_and_as_a_function(metric_case, box, quiet):
    def manhattan(a, b):
        return np.abs(a - b).sum()

    named = metric_case.make(metric="cityblock").fit(box)
    function = metric_case.make(metric=manhattan).fit(box)
    size = np.abs(named.embedding_).max()
    np.testing.assert_allclose(function.embedding_, named.embedding_, atol=1e-7 * size)
    np.testing.assert_allclose(
        function.transform(box[:5]), named.transform(box[:5]), atol=1e-7 * size
    )


def one_start(case):
    """The same start whatever the objects are, where it would be taken from vectors."""
    from_vectors = case.has("perplexity") or case.name in ("PaCMAP", "TriMap")
    return {"init": "random", "random_state": 0} if from_vectors else {}


def test_metric_params(metric_case, box, quiet):
    weights = np.array([1.0, 4.0, 9.0, 1.0, 1.0])
    start = one_start(metric_case)
    name = "metric_params" if metric_case.has("metric_params") else "metric_kwds"
    weighted = metric_case.steady(metric="euclidean", **{name: {"w": weights}}, **start).fit(box)
    scaled = metric_case.steady(metric="euclidean", **start).fit(box * np.sqrt(weights))
    if metric_case.sees_graph:
        np.testing.assert_array_equal(weighted.graph_.indices, scaled.graph_.indices)
    if metric_case.name == "LocallyLinearEmbedding":
        return  # its metric finds the neighbours and no more
    reference = scaled.embedding_
    size = np.abs(reference).max()
    np.testing.assert_allclose(aligned(weighted.embedding_, reference), reference, atol=1e-7 * size)


def test_words_and_their_edit_distance(metric_case, words, quiet):
    start = one_start(metric_case)
    estimator = metric_case.steady(metric=edit_distance, **start).fit(words)
    D = np.array([[edit_distance(a, b) for b in words] for a in words])
    given = metric_case.steady(metric="precomputed", **start).fit(D)
    size = np.abs(given.embedding_).max()
    np.testing.assert_allclose(
        aligned(estimator.embedding_, given.embedding_), given.embedding_, atol=1e-7 * size
    )
    if metric_case.name != "LocallyLinearEmbedding":  # which needs vectors for new objects
        new = ["abcabc", words[0]]
        placed = given.transform(np.array([[edit_distance(a, b) for b in words] for a in new]))
        signs = axis_signs(estimator.embedding_, given.embedding_)
        np.testing.assert_allclose(estimator.transform(new) * signs, placed, atol=1e-6 * size)
    objects, weights = estimator.inverse_transform(estimator.embedding_[:2])
    assert objects.shape == weights.shape
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_precomputed_equals_vectors(metric_case, X, new):
    vectors = metric_case.steady().fit(X)
    given = metric_case.steady(metric="precomputed").fit(cdist(X, X))
    size = np.abs(vectors.embedding_).max()
    signs = axis_signs(given.embedding_, vectors.embedding_)
    np.testing.assert_allclose(given.embedding_ * signs, vectors.embedding_, atol=1e-6 * size)
    assert given.n_features_in_ == len(X)
    if metric_case.name == "LocallyLinearEmbedding":
        with pytest.raises(ValueError, match="transform needs vectors"):
            given.transform(cdist(new, X))
    else:
        placed = given.transform(cdist(new, X))
        np.testing.assert_allclose(placed * signs, vectors.transform(new), atol=1e-6 * size)
    objects, weights = given.inverse_transform(given.embedding_[:2])
    assert objects.shape == weights.shape
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_precomputed_models_can_be_saved(metric_case, X, tmp_path):
    given = metric_case.make(metric="precomputed").fit(cdist(X, X))
    given.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.embedding_, given.embedding_)
    if metric_case.name != "LocallyLinearEmbedding":
        D = cdist(X[:5] + 0.01, X)
        np.testing.assert_array_equal(loaded.transform(D), given.transform(D))


def test_words_cannot_be_saved_with_their_function(metric_case, words, tmp_path, quiet):
    estimator = metric_case.make(metric=edit_distance).fit(words)
    with pytest.raises(TypeError, match="metric"):
        estimator.save(tmp_path / "model")


def spoiled(D, change):
    out = D.copy()
    change(out)
    return out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D.__setitem__((3, 5), D[3, 5] + 1), r"symmetric.*\[3, 5\]"),
        (lambda D: D.__setitem__((slice(4, 6), slice(4, 6)), -1.0), r"diagonal.*\[4, 4\]"),
        (
            lambda D: (D.__setitem__((3, 5), -1.0), D.__setitem__((5, 3), -1.0)),
            r"negative.*\[3, 5\]",
        ),
        (lambda D: D.__setitem__((4, 4), 0.5), r"diagonal.*\[4, 4\] is 0.5"),
        (lambda D: D.__setitem__((3, 5), np.nan), r"NaN at \[3, 5\]"),
        (lambda D: D.__setitem__((3, 5), np.inf), r"infinity at \[3, 5\]"),
    ],
)
def test_bad_dissimilarities(metric_kind_case, X, change, message):
    with pytest.raises(ValueError, match=message):
        metric_kind_case.make(metric="precomputed").fit(spoiled(cdist(X, X), change))


def test_dissimilarities_that_are_not_square(metric_case, X):
    with pytest.raises(ValueError, match=r"square.*\(90, 40\)"):
        metric_case.make(metric="precomputed").fit(cdist(X, X[:40]))
    with pytest.raises(ValueError, match="square"):
        metric_case.make(metric="precomputed").fit(X)


def test_new_dissimilarities_of_the_wrong_width(metric_case, X):
    given = metric_case.make(metric="precomputed").fit(cdist(X, X))
    with pytest.raises(ValueError, match=r"40 features.*90 features"):
        given.transform(cdist(X[:3], X[:40]))
    with pytest.raises(ValueError, match="negative"):
        given.transform(-cdist(X[:3] + 0.1, X))


def test_missing_values_with_a_metric_that_accepts_them(metric_case, box, quiet):
    if metric_case.name == "LocallyLinearEmbedding":
        pytest.skip("needs differences of vectors, which missing values have not")
    holes, start = box.copy(), one_start(metric_case)
    holes[::7, 1] = np.nan
    gaps = np.abs(holes[:, None] - holes) / np.ptp(np.nan_to_num(holes, nan=1.0), axis=0)
    squares = np.nanmean((holes[:, None] - holes) ** 2, axis=2) * holes.shape[1]
    for metric, D in (("nan_euclidean", np.sqrt(squares)), ("gower", np.nanmean(gaps, axis=2))):
        estimator = metric_case.steady(metric=metric, **start).fit(holes)
        given = metric_case.steady(metric="precomputed", **start).fit(D)
        if metric_case.name == "SelfOrganizingMap" and metric == "nan_euclidean":
            errors = estimator.quantization_error_, given.quantization_error_
            np.testing.assert_allclose(*errors, rtol=0.1)  # with prototypes and without
            continue
        size = np.abs(given.embedding_).max()
        signs = axis_signs(estimator.embedding_, given.embedding_)
        np.testing.assert_allclose(estimator.embedding_ * signs, given.embedding_, atol=1e-6 * size)
        placed = given.transform(D[:4])
        np.testing.assert_allclose(estimator.transform(holes[:4]) * signs, placed, atol=1e-6 * size)


def test_a_metric_that_gives_nan_is_refused(metric_case, box):
    with pytest.raises(ValueError, match="NaN"):
        metric_case.make(metric=lambda a, b: np.nan).fit(box)


def test_an_error_in_the_metric_is_not_hidden(metric_case, box):
    def broken(a, b):
        raise ZeroDivisionError("the metric's own")

    with pytest.raises(ZeroDivisionError, match="the metric's own"):
        metric_case.make(metric=broken).fit(box)


def test_columns_of_text_are_recognized_after_loading(metric_case, box, tmp_path, quiet):
    if metric_case.name == "LocallyLinearEmbedding":
        pytest.skip("needs differences of vectors, which words have not")
    mixed = np.empty((60, 4), dtype=object)
    mixed[:, :3] = box[:, :3]
    mixed[:, 3] = np.where(box[:, 3] > 1.2, "high", "low")
    estimator = metric_case.make(metric="gower").fit(mixed)
    estimator.save(tmp_path / "model")
    again = lowdim.load(tmp_path / "model").transform(mixed[:5])
    np.testing.assert_array_equal(again, estimator.transform(mixed[:5]))
