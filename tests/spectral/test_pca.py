"""PCA against scikit-learn's, and its own ways to choose the number of components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.decomposition import PCA as Reference

from helpers import aligned
from lowdim import PCA, ClassicalMDS, KernelPCA

SOLVERS = ["auto", "full", "covariance_eigh", "gram_eigh", "arpack", "randomized"]


def correlated(n, d, seed=0):
    random = np.random.RandomState(seed)
    spread = np.diag(0.8 ** np.arange(d))
    mixing = np.linalg.qr(random.standard_normal((d, d)))[0]
    return random.standard_normal((n, d)) @ spread @ mixing + 5.0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(120, 10), (20, 60), (700, 15)])
@pytest.mark.parametrize("whiten", [False, True])
def test_as_in_scikit_learn(solver, shape, whiten):
    X = correlated(*shape)
    ours = PCA(4, svd_solver=solver, whiten=whiten, iterated_power=10, random_state=0).fit(X)
    theirs = Reference(4, svd_solver="full", whiten=whiten).fit(X)
    tol = 1e-6 if solver == "randomized" else 1e-9
    for name in (
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "noise_variance_",
    ):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=tol)
    Y = theirs.transform(X)
    size = np.abs(Y).max()
    np.testing.assert_allclose(aligned(ours.embedding_, Y), Y, atol=tol * size)
    np.testing.assert_allclose(aligned(ours.transform(X[:5]), Y[:5]), Y[:5], atol=tol * size)
    components = aligned(ours.components_.T, theirs.components_.T).T
    np.testing.assert_allclose(components, theirs.components_, atol=tol)
    back = theirs.inverse_transform(Y)
    np.testing.assert_allclose(ours.inverse_transform(ours.embedding_), back, atol=10 * tol * size)
    assert ours.n_components_ == 4
    assert ours.n_samples_ == len(X)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999])
def test_a_share_of_the_variance(share):
    X = correlated(100, 12)
    assert (
        PCA(share).fit(X).n_components_ == Reference(share, svd_solver="full").fit(X).n_components_
    )


def test_all_components_keep_everything():
    X = correlated(40, 6)
    estimator = PCA().fit(X)
    assert estimator.embedding_.shape == (40, 6)
    assert estimator.explained_variance_ratio_.sum() == pytest.approx(1)
    np.testing.assert_allclose(estimator.inverse_transform(estimator.embedding_), X, atol=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_parallel_analysis_finds_a_known_rank(rank):
    random = np.random.RandomState(rank)
    signal = random.standard_normal((300, rank)) @ random.standard_normal((rank, 15)) * 2
    X = signal + 0.3 * random.standard_normal((300, 15))
    estimator = PCA("parallel").fit(X)
    assert estimator.n_components_ == rank
    assert estimator.embedding_.shape == (300, rank)


def test_parallel_analysis_of_noise_keeps_one():
    assert (
        PCA("parallel").fit(np.random.RandomState(0).standard_normal((200, 8))).n_components_ == 1
    )


def test_whitened_coordinates_have_unit_covariance():
    Y = PCA(3, whiten=True).fit_transform(correlated(200, 8))
    np.testing.assert_allclose(np.cov(Y, rowvar=False), np.eye(3), atol=1e-10)


def test_whitening_directions_without_variance_stays_finite():
    X = correlated(30, 2) @ np.ones((2, 5))
    estimator = PCA(3, whiten=True).fit(X)
    assert np.isfinite(estimator.embedding_).all()
    np.testing.assert_allclose(estimator.inverse_transform(estimator.embedding_), X, atol=1e-8)


def test_sparse_rows_are_not_made_dense_but_centred_all_the_same():
    sparse = csr_array(random_array((90, 30), density=0.2, rng=np.random.default_rng(0)))
    ours, theirs = PCA(3).fit(sparse), Reference(3).fit(sparse.toarray())
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    Y = theirs.transform(sparse.toarray())
    np.testing.assert_allclose(aligned(ours.embedding_, Y), Y, atol=1e-8)
    with pytest.raises(TypeError, match="svd_solver='full' needs dense X"):
        PCA(3, svd_solver="full").fit(sparse)


def test_float32_of_large_offset_keeps_its_digits():
    X = correlated(200, 6).astype(np.float32)
    near, far = PCA(2).fit(X), PCA(2).fit(X + np.float32(1000))
    size = np.abs(near.embedding_).max()
    np.testing.assert_allclose(
        aligned(far.embedding_, near.embedding_), near.embedding_, atol=1e-3 * size
    )


def test_pca_is_classical_mds_is_linear_kernel_pca():
    X = correlated(60, 7)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    Y = PCA(3).fit_transform(X)
    for other in (
        ClassicalMDS(3).fit_transform(X),
        ClassicalMDS(3, metric="precomputed").fit_transform(D),
        KernelPCA(3).fit_transform(X),
        KernelPCA(3, kernel="precomputed").fit_transform(X @ X.T),
    ):
        np.testing.assert_allclose(aligned(other, Y), Y, atol=1e-8)


@pytest.mark.parametrize("n_components", [0, -1, 11, 1.5, "none", True])
def test_bad_numbers_of_components(n_components):
    with pytest.raises((TypeError, ValueError), match="n_components"):
        PCA(n_components).fit(correlated(30, 10))


def test_variances_of_the_randomized_solver_are_those_of_the_scores():
    X = np.random.RandomState(0).standard_normal((300, 200))
    pca = PCA(5, svd_solver="randomized", iterated_power=0, random_state=0).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, pca.embedding_.var(axis=0, ddof=1))
    correlation = np.corrcoef(pca.embedding_.T) - np.eye(5)
    np.testing.assert_allclose(correlation, 0, atol=1e-10)


def test_a_share_on_a_cumulative_ratio_asks_for_more_than_it():
    X = np.random.RandomState(0).standard_normal((50, 4))
    ratios = PCA().fit(X).explained_variance_ratio_.cumsum()
    for k in range(3):
        assert PCA(ratios[k]).fit(X).n_components_ == k + 2


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_the_probabilistic_model_is_the_normal_distribution(n_components):
    from scipy.stats import multivariate_normal

    random = np.random.RandomState(1)
    X = random.standard_normal((80, 5)) @ random.standard_normal((5, 5))
    pca = PCA(n_components).fit(X)
    C = pca.get_covariance()
    np.testing.assert_allclose(pca.get_precision(), np.linalg.inv(C), rtol=1e-8)
    values = np.linalg.eigvalsh(C)[::-1]
    np.testing.assert_allclose(values[:n_components], pca.explained_variance_)
    np.testing.assert_allclose(values[n_components:], pca.noise_variance_)
    expected = multivariate_normal(pca.mean_, C).logpdf(X)
    np.testing.assert_allclose(pca.score_samples(X), expected)
    assert pca.score(X) == pytest.approx(expected.mean())


def test_without_noise_the_model_is_that_of_the_subspace():
    X = np.random.RandomState(0).standard_normal((4, 6))  # of rank 3
    pca = PCA(3).fit(X)
    assert pca.noise_variance_ == pytest.approx(0, abs=1e-12)
    assert np.isfinite(pca.score_samples(X)).all()


def test_mle_finds_the_dimension_of_a_noisy_plane():
    random = np.random.RandomState(0)
    X = random.standard_normal((200, 2)) @ random.standard_normal((2, 6)) * 3
    X += 0.1 * random.standard_normal(X.shape)
    assert PCA("mle").fit(X).n_components_ == 2
    with pytest.raises(ValueError, match="n_samples >= n_features"):
        PCA("mle").fit(X[:5])
    with pytest.raises(ValueError, match="svd_solver='arpack'"):
        PCA("mle", svd_solver="arpack").fit(X)


def test_mle_is_scikit_learns():
    for seed in range(5):
        random = np.random.RandomState(seed)
        X = random.standard_normal((60, 8)) * np.linspace(3, 0.5, 8)
        assert PCA("mle").fit(X).n_components_ == Reference("mle").fit(X).n_components_


def test_a_singular_covariance_has_no_density_beside_its_subspace():
    Z = np.random.RandomState(0).standard_normal((20, 3))
    X = np.column_stack([Z, Z.sum(axis=1)])
    beside = X + np.array([0, 0, 0, 1])
    assert PCA(4).fit(X).score(X) == -np.inf
    plane = PCA(3).fit(X)
    np.testing.assert_array_equal(plane.score_samples(beside), -np.inf)
    inside = PCA(3).fit(Z)  # the same distribution in coordinates of the subspace
    along = np.sqrt(np.linalg.det(np.eye(3) + 1))  # volumes grow by the map z -> (z, sum z)
    expected = inside.score_samples(Z) - np.log(along)
    np.testing.assert_allclose(plane.score_samples(X), expected, rtol=1e-9)
    np.testing.assert_allclose(plane.get_precision(), np.linalg.pinv(plane.get_covariance()))


# --- weighted objects ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 6), (9, 30)])
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "gram_eigh"])
def test_whole_weights_are_repeated_rows(shape, solver):
    random = np.random.default_rng(0)
    X, counts = random.normal(size=shape) + 5, random.integers(0, 4, shape[0])
    weighted = PCA(4, svd_solver=solver).fit(X, sample_weight=counts)
    repeated = PCA(4).fit(np.repeat(X, counts, axis=0))
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8)
    signs = np.sign((weighted.components_ * repeated.components_).sum(axis=1))
    np.testing.assert_allclose(
        weighted.components_, signs[:, None] * repeated.components_, atol=1e-7
    )
    np.testing.assert_allclose(weighted.embedding_, weighted.transform(X), atol=1e-12)
    assert weighted.n_samples_ == len(X)
    if shape == (40, 6):
        assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_)
        new = random.normal(size=(30, 6))
        for model in (weighted, repeated):
            model.update(new)
        np.testing.assert_allclose(
            weighted.explained_variance_, repeated.explained_variance_, rtol=1e-8
        )


def test_weights_change_only_by_their_ratio_as_they_grow():
    X, w = correlated(50, 5), np.linspace(1, 2, 50)
    one, many = (PCA(2).fit(X, sample_weight=w * c) for c in (1e3, 1e9))
    np.testing.assert_allclose(one.embedding_, many.embedding_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        (np.ones(3), "sample_weight has 3 entries, but X has 50 objects"),
        (-np.ones(50), r"sample_weight must not be negative, found -1 at \[0\]"),
        (np.full(50, 0.01), "sample_weight must have a sum above 1, got 0.5"),
    ],
)
def test_wrong_weights_are_refused(weight, problem):
    with pytest.raises(ValueError, match=problem):
        PCA(2).fit(correlated(50, 5), sample_weight=weight)


def test_weights_need_a_number_of_components():
    with pytest.raises(ValueError, match="a number or a share"):
        PCA("mle").fit(correlated(50, 5), sample_weight=np.ones(50))
