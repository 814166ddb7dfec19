"""Reconstruction, Hessian and alignment matrices, against loops over the points."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from helpers import with_threads
from lowdim.estimator import barycentric
from lowdim.estimator.barycentric import barycentric_weights, local_grams
from lowdim.objects.neighbors import neighbors
from lowdim.spectral.reconstruction import (
    alignment_matrix,
    hessian_matrix,
    local_grams_from_distances,
    modified_matrix,
    reconstruction_matrix,
)

N, K, DIM = 60, 9, 2
RANDOM = np.random.default_rng(0)


def sheet(n=N, noise=0.05):
    """A bent sheet in three dimensions."""
    u = RANDOM.uniform(size=(n, 2))
    return np.column_stack([u, u[:, 0] ** 2 + noise * RANDOM.normal(size=n)])


X = sheet()
NEIGHBORS = neighbors(X, K).indices


def grams(rows):
    return local_grams(X, NEIGHBORS[rows], X[rows])


# --- Gram matrices and weights ------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_local_grams_are_inner_products_about_the_centre(sparse):
    found = local_grams(csr_array(X) if sparse else X, NEIGHBORS, X)
    for i in (0, 17, 59):
        offsets = X[NEIGHBORS[i]] - X[i]
        np.testing.assert_allclose(found[i], offsets @ offsets.T, atol=1e-14)


def test_distances_give_the_same_grams_as_vectors():
    rows = np.arange(N)
    found = local_grams_from_distances(cdist(X, X), NEIGHBORS, rows)
    np.testing.assert_allclose(found, grams(rows), atol=1e-12)
    some = np.array([5, 2])
    np.testing.assert_allclose(
        local_grams_from_distances(cdist(X, X), NEIGHBORS[some], some), grams(some), atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reg", [1e-3, 0.5])
def test_weights_solve_the_constrained_least_squares_problem(dtype, reg):
    G = grams(np.arange(N)).astype(dtype)
    found = with_threads(2, barycentric_weights, G, reg)
    assert found.dtype == dtype
    for i in range(N):
        exact = G[i].astype(np.float64)
        ridge = exact + reg * np.trace(exact) * np.eye(K)
        # stationary point of w'Gw + 2 m (1'w - 1)
        system = np.block([[ridge, np.ones((K, 1))], [np.ones((1, K)), np.zeros((1, 1))]])
        w = np.linalg.solve(system, np.append(np.zeros(K), 1))[:K]
        np.testing.assert_allclose(
            found[i], w, rtol=1e-3 if dtype == np.float32 else 1e-8, atol=1e-4
        )
    np.testing.assert_array_equal(found, with_threads(3, barycentric_weights, G, reg))


def test_weights_rebuild_a_point_within_its_neighbors():
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    center = np.array([[0.5, 0.5]])
    G = local_grams(square, np.arange(4)[None], center)
    np.testing.assert_allclose(barycentric_weights(G, 1e-3), [[0.25] * 4], atol=1e-12)
    corner = local_grams(square, np.arange(4)[None], np.array([[0.25, 0.5]]))
    w = barycentric_weights(corner, 1e-9)[0]
    np.testing.assert_allclose(w @ square, [0.25, 0.5], atol=1e-6)


def test_weights_of_coinciding_points_are_finite_and_sum_to_one():
    for reg in (0.0, 1e-3):
        w = barycentric_weights(np.zeros((2, 4, 4)), reg)
        np.testing.assert_allclose(w, 0.25)
    line = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])[None]  # a singular Gram matrix, reg = 0
    w = barycentric_weights(line, 0.0)
    assert np.isfinite(w).all()
    assert w.sum() == pytest.approx(1)


# --- matrices against loops over the points -----------------------------------------------------


def symmetric_with_null_constant(M):
    dense = M.toarray()
    np.testing.assert_allclose(dense, dense.T, atol=1e-10)
    np.testing.assert_allclose(dense @ np.ones(N), 0, atol=1e-9)
    assert np.linalg.eigvalsh(dense)[0] > -1e-9
    return dense


def test_the_lle_matrix_and_its_null_vector():
    W = barycentric_weights(grams(np.arange(N)), 1e-3)
    dense = np.zeros((N, N))
    for i in range(N):
        dense[i, NEIGHBORS[i]] = W[i]
    residual = np.eye(N) - dense
    found = symmetric_with_null_constant(reconstruction_matrix(W, NEIGHBORS))
    np.testing.assert_allclose(found, residual.T @ residual, atol=1e-12)
    cost = np.sum((X[:, :2] - dense @ X[:, :2]) ** 2)
    assert np.trace(X[:, :2].T @ found @ X[:, :2]) == pytest.approx(cost)
    assert reconstruction_matrix(W.astype(np.float32), NEIGHBORS).dtype == np.float32


def naive_modified(tol):
    """Zhang and Wang (2007), point by point."""
    spectra = []
    for i in range(N):
        values, V = np.linalg.eigh(grams(np.array([i]))[0])
        values = np.where(values < 1e-13 * values.max(), 0, values)
        spectra.append((values[::-1], V[:, ::-1]))
    eta = np.median([v[DIM:].sum() / v[:DIM].sum() for v, _ in spectra])
    M = np.zeros((N, N))
    for i, (values, V) in enumerate(spectra):
        size = max(sum(values[j:].sum() / values[:j].sum() < eta for j in range(1, K)), 1)
        ridge = 1e-3 * values.sum()
        w = V @ ((V.T @ np.ones(K)) / (values + ridge))
        w /= w.sum()
        Vi = V[:, K - size :]
        alpha = np.linalg.norm(Vi.sum(axis=0)) / np.sqrt(size)
        h = alpha - Vi.sum(axis=0)
        length = np.linalg.norm(h)
        h = np.zeros(size) if length < tol else h / length
        Wi = Vi - 2 * np.outer(Vi @ h, h) + (1 - alpha) * w[:, None]
        np.testing.assert_allclose(Wi.sum(axis=0), 1, atol=1e-8)  # each column rebuilds the point
        full = np.vstack([Wi, -np.ones(size)])
        support = np.append(NEIGHBORS[i], i)
        M[np.ix_(support, support)] += full @ full.T
    return M


def naive_tangent(i):
    points = X[NEIGHBORS[i]] - X[NEIGHBORS[i]].mean(axis=0)
    return np.linalg.svd(points)[0][:, :DIM]


def naive_hessian(tol):
    """Donoho and Grimes (2003), point by point, by Gram and Schmidt."""
    M = np.zeros((N, N))
    for i in range(N):
        u, v = naive_tangent(i).T
        columns = [np.ones(K), u, v, u * u, u * v, v * v]
        basis = []
        for column in columns:
            for _ in range(2):
                for b in basis:
                    column = column - b * (b @ column)
            basis.append(column / np.linalg.norm(column))
        # all that is orthogonal to the constant and linear functions, the quadratic ones first
        rest = np.linalg.svd(np.array(basis))[2][len(basis) :].T
        w = np.column_stack([*basis[3:], rest])
        sums = w.sum(axis=0)
        w = w / np.where(np.abs(sums) < tol, 1, sums)
        M[np.ix_(NEIGHBORS[i], NEIGHBORS[i])] += w @ w.T
    return M


def naive_alignment():
    """Zhang and Zha (2004), point by point."""
    M = np.zeros((N, N))
    for i in range(N):
        G = np.column_stack([np.full(K, K**-0.5), naive_tangent(i)])
        M[np.ix_(NEIGHBORS[i], NEIGHBORS[i])] += np.eye(K) - G @ G.T
    return M


@pytest.mark.parametrize("method", ["modified", "hessian", "alignment"])
def test_matrices_equal_a_loop_over_the_points(method):
    found, expected = {
        "modified": lambda: (
            modified_matrix(grams, NEIGHBORS, DIM, 1e-12),
            naive_modified(1e-12),
        ),
        "hessian": lambda: (hessian_matrix(grams, NEIGHBORS, DIM, 1e-4), naive_hessian(1e-4)),
        "alignment": lambda: (alignment_matrix(grams, NEIGHBORS, DIM), naive_alignment()),
    }[method]()
    dense = symmetric_with_null_constant(found)
    np.testing.assert_allclose(dense, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["modified", "hessian", "alignment"])
def test_dissimilarities_give_the_same_matrix_as_vectors(method):
    D = cdist(X, X)

    def from_distances(rows):
        return local_grams_from_distances(D, NEIGHBORS[rows], rows)

    build = {
        "modified": lambda g: modified_matrix(g, NEIGHBORS, DIM, 1e-12),
        "hessian": lambda g: hessian_matrix(g, NEIGHBORS, DIM, 1e-4),
        "alignment": lambda g: alignment_matrix(g, NEIGHBORS, DIM),
    }[method]
    one, other = build(grams).toarray(), build(from_distances).toarray()
    np.testing.assert_allclose(one, other, atol=1e-7 * np.abs(one).max())


@pytest.mark.parametrize("method", ["lle", "modified", "hessian", "alignment"])
def test_a_flat_sheet_is_in_the_null_space(method):
    """Every linear function of a plane is reconstructed without error."""
    plane = RANDOM.uniform(size=(N, 2))
    flat = np.column_stack([plane @ RANDOM.normal(size=(2, 3))])
    lists = neighbors(flat, K).indices

    def own(rows):
        return local_grams(flat, lists[rows], flat[rows])

    M = {
        "lle": lambda: reconstruction_matrix(barycentric_weights(own(np.arange(N)), 1e-12), lists),
        "modified": lambda: modified_matrix(own, lists, DIM, 1e-12),
        "hessian": lambda: hessian_matrix(own, lists, DIM, 1e-4),
        "alignment": lambda: alignment_matrix(own, lists, DIM),
    }[method]()
    energy = np.trace(plane.T @ (M @ plane)) / (M.diagonal().mean() * (plane**2).sum())
    # the modified weights are regularised, so they rebuild up to the ridge only
    assert energy < (1e-4 if method == "modified" else 1e-9)


def test_threads_change_no_bit():
    for build in (
        lambda: modified_matrix(grams, NEIGHBORS, DIM, 1e-12),
        lambda: hessian_matrix(grams, NEIGHBORS, DIM, 1e-4),
        lambda: alignment_matrix(grams, NEIGHBORS, DIM),
    ):
        assert np.array_equal(with_threads(1, build).toarray(), with_threads(3, build).toarray())


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_grams_of_wide_vectors_copy_a_bounded_number_of_rows(sparse, monkeypatch):
    rows = np.random.RandomState(0).standard_normal((60, 2000))
    lists = np.random.RandomState(1).randint(60, size=(60, 5))
    offsets = rows[lists] - rows[:, None, :]
    table = csr_array(rows) if sparse else rows
    monkeypatch.setattr(barycentric, "GATHERED_BYTES", 3 * 5 * 2000 * 8)
    tracemalloc.start()
    try:
        found = local_grams(table, lists, table, np.arange(60))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, offsets @ offsets.transpose(0, 2, 1))
    assert peak < 10 * barycentric.GATHERED_BYTES < offsets.nbytes
