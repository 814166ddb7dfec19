"""Each metric by name against its definition, dense and sparse, and its conventions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import distance
from scipy.stats import entropy, rankdata, spearmanr, wasserstein_distance

import lowdim
from lowdim.distances.metrics import metric_names, resolve_metric
from lowdim.distances.sparse_formulas import SPARSE_FORMULAS
from lowdim.objects.objects import measured_objects

COUNTS = np.random.default_rng(0).poisson(0.7, size=(25, 12)).astype(float)
COUNTS[3] = COUNTS[7] = 0  # two zero rows
COUNTS[5] = COUNTS[9] = 2  # two constant rows
COUNTS[11] = COUNTS[12]
REALS = np.random.default_rng(1).normal(size=(20, 6))


def block(metric, X, params=None):
    found, rows = resolve_metric(metric, params, X)
    return found.block(rows, rows)


def counts(x, y):
    """True in both, in one, and the number of columns."""
    a, b = x != 0, y != 0
    return (a & b).sum(), (a ^ b).sum(), len(x)


def kulsinski(x, y):
    both, one, d = counts(x, y)
    return 0.0 if one == 0 else (one - both + d) / (one + d)


def sokalmichener(x, y):
    _, one, d = counts(x, y)
    return 2 * one / (d + one)


def hellinger(x, y):
    if not x.any() or not y.any():
        return float(x.any() != y.any())
    return np.sqrt(max(0, 1 - np.sqrt(x / x.sum() * y / y.sum()).sum()))


def spearman(x, y):
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float(np.ptp(x) != np.ptp(y))
    return 1 - spearmanr(x, y).statistic


def wasserstein(x, y):
    if not x.any() or not y.any():
        z = x if x.any() else y
        return np.cumsum(z / z.sum()).sum() if z.any() else 0.0
    places = np.arange(len(x))
    return wasserstein_distance(places, places, x, y)


def true_angular(x, y):
    if not x.any() or not y.any():
        return 0.5 * (x.any() != y.any())
    cosine = x @ y / np.sqrt((x @ x) * (y @ y))
    return np.arccos(np.clip(cosine, -1, 1)) / np.pi


DEFINITIONS = {
    "hellinger": hellinger,
    "matching": lambda x, y: np.mean((x != 0) != (y != 0)),
    "sokalmichener": sokalmichener,
    "kulsinski": kulsinski,
    "spearmanr": spearman,
    "wasserstein_1d": wasserstein,
    "true_angular": true_angular,
}


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_definitions(name):
    expected = [[DEFINITIONS[name](x, y) for y in COUNTS] for x in COUNTS]
    np.testing.assert_allclose(block(name, COUNTS), expected, atol=3e-8)


def test_poincare_ball():
    X = 0.3 * np.tanh(REALS)

    def poincare(u, v):
        inside = (1 - u @ u) * (1 - v @ v)
        return np.arccosh(1 + 2 * (u - v) @ (u - v) / inside)

    np.testing.assert_allclose(block("poincare", X), [[poincare(u, v) for v in X] for u in X])
    with pytest.raises(ValueError, match=r"poincare.*length below 1, but row 0"):
        block("poincare", X + 1)


def test_bits():
    bits = np.random.default_rng(2).integers(0, 2, size=(15, 24))
    packed = np.packbits(bits, axis=1)
    expected = [[(x != y).sum() for y in bits] for x in bits]
    np.testing.assert_array_equal(block("bit_hamming", packed), expected)
    expected = [[distance.jaccard(x, y) for y in bits] for x in bits]
    np.testing.assert_allclose(block("bit_jaccard", packed), expected)
    with pytest.raises(ValueError, match=r"bytes.*\[0, 0\] is 132.5"):
        block("bit_hamming", packed + 0.5)


def test_dot_is_for_rows_of_unit_length():
    X = REALS / np.linalg.norm(REALS, axis=1, keepdims=True)
    np.testing.assert_allclose(block("dot", X), 1 - X @ X.T, atol=1e-12)
    with pytest.raises(ValueError, match="rows of length 1, but row 0 has length"):
        block("dot", REALS)


def test_mahalanobis_by_covariance():
    V = np.cov(REALS, rowvar=False) + np.eye(6)
    expected = distance.cdist(REALS, REALS, "mahalanobis", VI=np.linalg.inv(V))
    np.testing.assert_allclose(block("mahalanobis", REALS, {"V": V}), expected, atol=1e-12)
    with pytest.raises(ValueError, match="V, the covariance matrix, or VI"):
        block("mahalanobis", REALS, {"V": V, "VI": V})
    umap = lowdim.UMAP(metric="mahalanobis", metric_kwds={"V": V}, n_neighbors=5, n_epochs=5)
    assert umap.fit(REALS).embedding_.shape == (20, 2)


NAMED = ("cosine", "correlation", "spearmanr", "braycurtis", "dice", "jaccard", "sokalsneath")
UNDEFINED = dict.fromkeys(NAMED, (0.0, 1.0))
UNDEFINED |= {"hellinger": (0.0, 1.0), "jensenshannon": (0.0, np.sqrt(np.log(2)))}


@pytest.mark.parametrize("name", sorted(UNDEFINED))
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_zero_rows(name, kind):
    X = np.array([[0, 0, 0], [0, 0, 0], [1, 2, 0], [1, 0, 0.5]])
    both, one = UNDEFINED[name]
    D = block(name, kind(X))
    assert D[0, 1] == D[1, 0] == both
    np.testing.assert_allclose(D[:2, 2:], one)
    assert np.isfinite(D).all()


@pytest.mark.parametrize("name", ["correlation", "spearmanr"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_constant_rows(name, kind):
    X = np.array([[0.1] * 7, [0.3] * 7, [0] * 7, [1, 2, 3, 4, 5, 6, 8.0]])
    D = block(name, kind(X))
    np.testing.assert_array_equal(D[:3, :3], 0)
    np.testing.assert_array_equal(D[:3, 3], 1)


@pytest.mark.parametrize("metric", sorted(NAMED))
@pytest.mark.parametrize("method", ["LaplacianEigenmaps", "UMAP"])
def test_methods_place_zero_rows(metric, method):
    params = {"n_epochs": 5} if method == "UMAP" else {}
    found = getattr(lowdim, method)(metric=metric, n_neighbors=12, **params).fit(COUNTS)
    assert np.isfinite(found.embedding_).all()


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_zero_rows_are_neighbours_of_each_other_under_cosine(n, kind):
    X = np.random.default_rng(3).normal(size=(n, 12))
    zero = np.array([7, 50, 120, 299])
    X[zero] = 0
    graph = lowdim.neighbors(kind(X), 3, metric="cosine", method="exact")
    for i in zero:
        assert set(graph.indices[i]) == set(zero) - {i}
    assert (graph.distances[zero] == 0).all()
    others = np.setdiff1d(np.arange(n), zero)
    assert not np.isin(graph.indices[others], zero).any()


def test_transform_finds_a_zero_row():
    X = np.random.default_rng(4).normal(size=(80, 5))
    X[13] = 0
    maps = lowdim.LaplacianEigenmaps(metric="cosine", n_neighbors=20).fit(X)
    np.testing.assert_array_equal(maps.transform(np.zeros((1, 5))), maps.embedding_[13:14])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(SPARSE_FORMULAS))
def test_sparse_rows_as_dense_rows(name, dtype):
    X = COUNTS if name == "hellinger" else COUNTS * np.where(REALS[:1, :1] > 9, 1, [1, -1] * 6)
    X = X.astype(dtype)
    expected, found = block(name, X), block(name, csr_array(X))
    np.testing.assert_allclose(found, expected, atol=3e-8 if name == "hellinger" else 1e-12)
    if name != "russellrao":  # which counts columns that are zero in both as different
        assert found[11, 12] == 0  # equal rows
        assert (np.diagonal(found) == 0).all()


def test_stored_zeros_are_no_entries():
    X = csr_array(COUNTS)
    stored = csr_array(
        (np.append(X.data, 0.0), np.append(X.indices, 11), X.indptr + (np.arange(26) == 25))
    )
    assert stored.nnz == X.nnz + 1
    for name in SPARSE_FORMULAS:
        np.testing.assert_array_equal(block(name, stored), block(name, X))


def test_sparse_neighbours():
    X = csr_array(COUNTS)
    for name in ("jaccard", "manhattan", "hellinger"):
        dense, sparse = (lowdim.neighbors(Z, 4, metric=name) for Z in (COUNTS, X))
        np.testing.assert_allclose(sparse.distances, dense.distances, atol=3e-8)


def test_a_misspelt_metric():
    for wrong, right in [("euclidian", "euclidean"), ("cosin", "cosine"), ("jacard", "jaccard")]:
        with pytest.raises(ValueError, match=f"Did you mean '{right}'?"):
            lowdim.neighbors(REALS, 3, metric=wrong)
    with pytest.raises(ValueError, match="metric must be one of") as error:
        lowdim.neighbors(REALS, 3, metric="xyzzy")
    assert "Did you mean" not in str(error.value)


def test_every_name_has_a_formula():
    X = np.abs(REALS[:, :2]) / 9
    X /= np.linalg.norm(X, axis=1, keepdims=True) * 1.0000001
    for name in metric_names():
        rows = np.packbits(REALS > 0, axis=1) if name.startswith("bit_") else X
        D = measured_objects(rows, name).all_pairs()
        assert D.shape == (20, 20)


def test_negative_distances_of_a_function():
    with pytest.raises(ValueError, match="returned -1, but a distance must not be negative"):
        lowdim.neighbors(REALS, 3, metric=lambda a, b: -1.0)
    with pytest.raises(ValueError, match="must not be negative"):
        lowdim.UMAP(metric=lambda a, b: float(a[0] - b[0]), n_neighbors=4).fit(REALS)

    def rounding(a, b):
        return 1 - a @ b / np.sqrt((a @ a) * (b @ b)) - 1e-16

    twice = np.repeat(REALS, 2, axis=0)
    assert min(rounding(row, row) for row in REALS) < 0
    assert lowdim.neighbors(twice, 3, metric=rounding).distances.min() == 0


def test_infinite_distances_of_a_function():
    def apart(a, b):
        return np.inf if a[0] * b[0] < 0 else abs(a[0] - b[0])

    for make in (lowdim.LaplacianEigenmaps, lowdim.DiffusionMap, lowdim.UMAP):
        with pytest.raises(ValueError, match="gives infinity for objects"):
            make(metric=apart, n_neighbors=4).fit(REALS)


def test_ranks_with_ties():
    X = np.array([[1, 1, 2, 3.0], [2, 2, 1, 5.0]])
    expected = distance.correlation(*rankdata(X, axis=1))
    assert block("spearmanr", X)[0, 1] == pytest.approx(expected)


def test_a_metric_that_writes_into_its_arguments_does_not_change_the_users_data():
    def careless(a, b):
        a -= b
        return float(np.abs(a).sum())

    X = np.random.RandomState(0).standard_normal((8, 3))
    before = X.copy()
    resolve_metric(careless, None, X)[0].block(*[resolve_metric(careless, None, X)[1]] * 2)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0, 1e4])
def test_nan_euclidean_loses_no_digits(dtype, offset):
    random = np.random.default_rng(0)
    X = (random.normal(size=(80, 6)) + offset).astype(dtype)
    X[20:40] = X[:20] + dtype(1e-3)  # near rows
    X[40:60] = X[:20]  # equal ones, up to what is missing
    X[random.random(X.shape) < 0.15] = np.nan
    X[:, 0] = offset
    differences = X[:, None].astype(np.float64) - X
    shares = 6 / (~np.isnan(differences)).sum(axis=2)
    expected = np.sqrt(np.nansum(differences**2, axis=2) * shares)
    np.testing.assert_allclose(block("nan_euclidean", X), expected, rtol=1e-9, atol=0)
    graph = lowdim.neighbors(X, 5, metric="nan_euclidean")
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_allclose(graph.distances, np.sort(expected)[:, :5].astype(dtype), rtol=1e-6)


UMAP_NAMES = {
    "linf": ("chebyshev", {}, {}),
    "linfty": ("chebyshev", {}, {}),
    "linfinity": ("chebyshev", {}, {}),
    "taxicab": ("cityblock", {}, {}),
    "wminkowski": ("minkowski", {"w": np.arange(1, 7), "p": 3}, {"w": np.arange(1, 7), "p": 3}),
    "weighted_minkowski": ("minkowski", {"w": np.arange(1, 7)}, {"w": np.arange(1, 7), "p": 2}),
    "standardised_euclidean": ("seuclidean", {"sigma": np.arange(1, 7)}, {"V": np.arange(1, 7)}),
    "seuclidean": ("seuclidean", {"v": np.arange(1, 7)}, {"V": np.arange(1, 7)}),
    "mahalanobis": ("mahalanobis", {"vinv": np.diag(range(1, 7))}, {"VI": np.diag(range(1, 7))}),
}


@pytest.mark.parametrize("name", UMAP_NAMES)
def test_names_of_umap_learn(name):
    scipy_name, params, theirs = UMAP_NAMES[name]
    expected = distance.cdist(REALS, REALS, scipy_name, **theirs)
    np.testing.assert_allclose(block(name, REALS, params), expected, atol=1e-12)
    umap = lowdim.UMAP(metric=name, metric_kwds=params, n_neighbors=5, n_epochs=5)
    assert umap.fit(REALS).embedding_.shape == (20, 2)


def test_the_symmetric_divergence_of_kullback_and_leibler():
    p = (COUNTS + 1e-11) / (COUNTS + 1e-11).sum(axis=1, keepdims=True)
    expected = [[(entropy(x, y) + entropy(y, x)) / 2 for y in p] for x in p]
    np.testing.assert_allclose(block("symmetric_kl", COUNTS), expected, atol=1e-12)


def test_hellinger_of_the_softmax():
    p = np.exp(REALS) / np.exp(REALS).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(block("softmax_hellinger", REALS), block("hellinger", p), atol=1e-12)


def test_the_likelihood_of_counts():
    """Values of umap-learn 0.5.12, whose beta functions are approximations."""
    X = np.array([[5, 3, 0, 9], [1, 8, 2, 4], [0, 6, 6, 1], [5, 3, 0, 9]])
    expected = [
        [0, 0.7644, 1.242, 0],
        [0.7644, 0, 0.5769, 0.7644],
        [1.242, 0.5769, 0, 1.242],
        [0, 0.7644, 1.242, 0],
    ]
    D = block("ll_dirichlet", X)
    np.testing.assert_allclose(D, expected, rtol=0.01)
    assert D[0, 3] == 0
    with pytest.raises(ValueError, match="'ll_dirichlet' gives NaN"):
        lowdim.neighbors(np.vstack([X, np.zeros(4)]), 2, metric="ll_dirichlet")
