"""Extreme eigenpairs by every solver, against dense and closed-form spectra."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array, eye_array, kron

import lowdim
from helpers import with_threads
from lowdim.backends.generic import orthonormal_basis
from lowdim.numerics import eigenpairs as spectral
from lowdim.numerics import eigensolvers
from lowdim.numerics.eigenpairs import (
    Eigenpairs,
    bottom_eigenpairs,
    fix_signs,
    spectrum_size,
    top_eigenpairs,
)
from lowdim.numerics.eigensolvers import Operator, as_operator
from lowdim.objects.neighbors import neighbors
from lowdim.runtime.scheduling import blas_on_one_thread
from lowdim.spectral.laplacian import laplacian, weight_matrix

N = 120
SOLVERS = ["auto", "dense", "arpack", "shift-invert", "lobpcg"]
FORMS = ["dense", "sparse", "operator"]


@pytest.fixture
def no_dense(monkeypatch):
    """Iterative solvers also on small problems."""
    monkeypatch.setattr(spectral, "DENSE_UP_TO", 0)


def grid_laplacian(rows, columns=1):
    """Of a rectangular grid; its eigenvalues are known in closed form."""

    def path(n):
        degrees = np.full(n, 2.0)
        degrees[[0, -1]] = 1
        return diags_array([degrees, -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])

    if columns == 1:
        return path(rows).tocsr()
    return (kron(path(rows), eye_array(columns)) + kron(eye_array(rows), path(columns))).tocsr()


def grid_eigenvalues(rows, columns):
    one, two = (2 - 2 * np.cos(np.pi * np.arange(n) / n) for n in (rows, columns))
    return np.sort((one[:, None] + two[None, :]).ravel())


def graph_laplacian(dtype=np.float64):
    X = np.random.default_rng(0).uniform(size=(N, 2))
    return laplacian(weight_matrix(neighbors(X, 6).adjacency(), "heat", 0.05)).astype(dtype)


def as_form(A, form):
    dense = A.toarray() if hasattr(A, "toarray") else A
    return {"dense": dense, "sparse": csr_array(dense), "operator": as_operator(csr_array(dense))}[
        form
    ]


def check(found, A, expected, rtol=1e-7):
    """Values as expected; vectors orthonormal and eigenvectors."""
    dense = (A.toarray() if hasattr(A, "toarray") else A).astype(np.float64)
    scale = np.abs(np.linalg.eigvalsh(dense)).max()
    np.testing.assert_allclose(found.values, expected, atol=rtol * scale)
    V = found.vectors.astype(np.float64)
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=max(100 * rtol, 1e-6))
    assert np.linalg.norm(dense @ V - V * found.values, axis=0).max() < 100 * rtol * scale


# --- the largest --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", [*SOLVERS, "randomized"])
@pytest.mark.parametrize("k", [1, 4])
def test_top_eigenpairs(no_dense, form, solver, k):
    A = np.random.default_rng(1).normal(size=(N, N))
    A = A + A.T  # indefinite: the largest, not the largest in absolute value
    found = top_eigenpairs(as_form(A, form), k, solver=solver)
    check(found, A, np.linalg.eigvalsh(A)[::-1][:k])


@pytest.mark.parametrize("form", FORMS)
def test_top_eigenpairs_of_a_matrix_whose_largest_eigenvalues_are_negative(no_dense, form):
    A = -np.diag(np.arange(1.0, N + 1)) - 5 * np.ones((N, N)) / N
    check(top_eigenpairs(as_form(A, form), 3), A, np.linalg.eigvalsh(A)[::-1][:3])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:Axes . and . of the map are exchangeable")
def test_repeated_and_clustered_eigenvalues_are_all_found(no_dense, form):
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(N, N)))[0]
    values = np.concatenate([[5.0, 5.0, 5.0, 4.0, 4.0 - 1e-9], np.linspace(1, 0, N - 5)])
    A = (Q * values) @ Q.T
    found = top_eigenpairs(as_form(A, form), 5)
    check(found, A, values[:5])
    overlap = found.vectors[:, :3].T @ Q[:, :3]  # the space of the triple eigenvalue
    np.testing.assert_allclose(np.linalg.svd(overlap)[1], 1, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_a_matrix_of_low_rank_has_zero_eigenvalues_too(no_dense, form):
    F = np.random.default_rng(3).normal(size=(N, 2))
    found = top_eigenpairs(as_form(F @ F.T, form), 4)
    np.testing.assert_allclose(found.values[2:], 0, atol=1e-8)
    np.testing.assert_allclose(found.values[:2], np.linalg.eigvalsh(F.T @ F)[::-1], rtol=1e-10)


def test_a_large_dense_matrix_restarts_its_subspace():
    n, k = 400, 6
    values = np.linspace(1, 0, n)  # no gap anywhere
    Q = np.linalg.qr(np.random.default_rng(4).normal(size=(n, n)))[0]
    A = (Q * values) @ Q.T
    check(top_eigenpairs(A, k), A, values[:k])


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_float32_stays_float32(no_dense, form):
    A = np.random.default_rng(5).normal(size=(N, 20)).astype(np.float32)
    A = A @ A.T
    found = top_eigenpairs(as_form(A, form), 3)
    assert found.vectors.dtype == np.float32
    check(found, A, np.linalg.eigvalsh(A.astype(float))[::-1][:3], rtol=1e-5)
    L = graph_laplacian(np.float32)
    low = bottom_eigenpairs(as_form(L, form), 3)
    assert low.vectors.dtype == np.float32
    check(low, L, np.linalg.eigvalsh(L.toarray().astype(float))[:3], rtol=1e-5)


@given(n=st.integers(1, 12), k=st.integers(1, 12), seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_tiny_problems(n, k, seed):
    k = min(n, k)
    A = np.random.default_rng(seed).normal(size=(n, n))
    A = A @ A.T
    values = np.linalg.eigvalsh(A)
    for form in FORMS:
        given = as_form(A, form)
        check(top_eigenpairs(given, k), A, values[::-1][:k])
        check(bottom_eigenpairs(given, k), A, values[:k])


# --- the smallest -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", FORMS)
def test_bottom_eigenpairs(no_dense, form, solver):
    L = graph_laplacian()
    found = bottom_eigenpairs(as_form(L, form), 4, solver=solver)
    check(found, L, np.linalg.eigvalsh(L.toarray())[:4])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", FORMS)
def test_known_null_vectors_are_left_out(no_dense, form, solver):
    L = graph_laplacian()
    found = bottom_eigenpairs(as_form(L, form), 3, null=np.ones(N), solver=solver)
    check(found, L, np.linalg.eigvalsh(L.toarray())[1:4])
    np.testing.assert_allclose(found.vectors.sum(axis=0), 0, atol=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_null", [1, 3])
def test_all_but_the_null_vectors_can_be_asked_for(form, n_null):
    n = 30
    rows, columns = np.zeros(n - 1, int), np.arange(1, n)
    star = csr_array((np.ones(n - 1), (rows, columns)), shape=(n, n))  # one large eigenvalue: n
    L = laplacian((star + star.T).tocsr()).toarray()
    Z = np.zeros((n_null * n, n_null * n))
    null = np.zeros((n_null * n, n_null))
    for c in range(n_null):
        own = slice(c * n, (c + 1) * n)
        Z[own, own], null[own, c] = L, c + 1
    wanted = n_null * (n - 1)
    found = bottom_eigenpairs(as_form(Z, form), wanted, null=null)
    check(found, Z, np.sort([*[1.0] * (n_null * (n - 2)), *[float(n)] * n_null]))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", FORMS)
def test_a_mass_matrix_makes_the_problem_generalised(no_dense, form, solver):
    from scipy.linalg import eigh

    L = graph_laplacian()
    mass = np.random.default_rng(6).uniform(0.5, 2, N)
    expected = eigh(L.toarray(), np.diag(mass))[0]
    for null, skip in ((None, 0), (np.ones(N), 1)):
        found = bottom_eigenpairs(as_form(L, form), 3, B=mass, null=null, solver=solver)
        np.testing.assert_allclose(found.values, expected[skip : 3 + skip], atol=1e-8)
        V = found.vectors
        np.testing.assert_allclose(V.T @ (mass[:, None] * V), np.eye(3), atol=1e-6)
        residual = L @ V - mass[:, None] * V * found.values
        assert np.abs(residual).max() < 1e-6


@pytest.mark.parametrize("solver", ["arpack", "shift-invert", "lobpcg"])
def test_repeated_small_eigenvalues_are_all_found(no_dense, solver):
    side = 12
    L = grid_laplacian(side, side)
    found = bottom_eigenpairs(L, 5, null=np.ones(side * side), solver=solver)
    check(found, L, grid_eigenvalues(side, side)[1:6])


@pytest.mark.filterwarnings("ignore:Axes . and . of the map are exchangeable")
def test_two_components_have_two_null_vectors(no_dense):
    L = graph_laplacian().toarray()
    Z = np.zeros_like(L)
    both = csr_array(np.block([[L, Z], [Z, L]]))
    found = bottom_eigenpairs(both, 3)
    np.testing.assert_allclose(found.values[:2], 0, atol=1e-9)
    halves = found.vectors[:N, :2], found.vectors[N:, :2]
    for half in halves:  # constant on each component
        np.testing.assert_allclose(half - half.mean(axis=0), 0, atol=1e-6)


# --- choices, fallbacks, warnings ---------------------------------------------------------------


def test_an_unknown_solver_is_refused():
    with pytest.raises(ValueError, match="eigen_solver must be one of 'auto'"):
        top_eigenpairs(np.eye(3), 1, solver="magma")


def random_regular(n, degree, seed):
    """The Laplacian of a random graph, which has no small separators."""
    random = np.random.default_rng(seed)
    ends = np.stack([np.tile(np.arange(n), degree // 2), random.integers(n, size=n * degree // 2)])
    W = csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    return laplacian((W + W.T).tocsr())


def test_grids_factor_cheaply_and_random_graphs_do_not():
    assert spectral._factors_cheaply(grid_laplacian(200, 200))
    assert not spectral._factors_cheaply(random_regular(40000, 8, 0))
    assert not spectral._factors_cheaply(np.eye(3))
    assert not spectral._factors_cheaply(as_operator(np.eye(3)))


@pytest.fixture
def no_factors(monkeypatch):
    """Matrices without a cheap factorisation also among small ones."""
    monkeypatch.setattr(spectral, "_factors_cheaply", lambda A: False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 12])
def test_filtered_subspaces_find_the_smallest_eigenvalues(no_factors, monkeypatch, dtype, k):
    monkeypatch.setattr(spectral, "lanczos", None)  # not called
    L = random_regular(700, 8, 1).astype(dtype)
    values = np.linalg.eigvalsh(L.toarray().astype(np.float64))
    rtol = 1e-5 if dtype == np.float32 else 1e-9
    check(bottom_eigenpairs(L, k), L, values[:k], rtol)
    check(bottom_eigenpairs(L, k, null=np.ones(700)), L, values[1 : k + 1], rtol)
    one, three = (with_threads(n, bottom_eigenpairs, L, k) for n in (1, 3))
    assert np.array_equal(one.vectors, three.vectors)


def test_filtered_subspaces_find_repeated_eigenvalues(no_factors, no_dense, monkeypatch):
    monkeypatch.setattr(spectral, "lanczos", None)
    side = 12
    found = bottom_eigenpairs(grid_laplacian(side, side), 5, null=np.ones(side * side))
    check(found, grid_laplacian(side, side), grid_eigenvalues(side, side)[1:6])


def test_lanczos_iterations_take_over_where_eigenvalues_are_too_close(
    no_factors, monkeypatch, caplog
):
    monkeypatch.setattr(eigensolvers, "MOST_PRODUCTS", 60)
    L = random_regular(700, 8, 1)
    with caplog.at_level(logging.INFO, logger="lowdim"):
        found = bottom_eigenpairs(L, 3)
    check(found, L, np.linalg.eigvalsh(L.toarray())[:3])
    assert "going on with Lanczos iterations" in caplog.text


def test_the_bound_of_the_norm_is_one():
    for seed in range(5):
        L = random_regular(400, 4, seed)
        W = csr_array((np.exp(np.random.default_rng(seed).normal(size=L.nnz)), L.indices, L.indptr))
        for A in (L, csr_array(W + W.T), csr_array((400, 400))):
            true = float(np.abs(np.linalg.eigvalsh(A.toarray())).max())
            bound = eigensolvers._norm_bound(A)
            assert true <= bound <= max(4 * true, 1)


def test_a_failed_factorisation_falls_back_to_lobpcg_and_logs_it(no_dense, monkeypatch, caplog):
    import scipy.sparse.linalg

    def fail(*_, **__):
        raise RuntimeError("Factor is exactly singular")

    monkeypatch.setattr(scipy.sparse.linalg, "splu", fail)
    L = graph_laplacian()
    with caplog.at_level(logging.WARNING, logger="lowdim"):
        found = bottom_eigenpairs(L, 3, null=np.ones(N), solver="shift-invert")
    check(found, L, np.linalg.eigvalsh(L.toarray())[1:4])
    assert "shift-invert failed (Factor is exactly singular)" in caplog.text


def test_an_operator_cannot_be_factored_and_that_is_logged(no_dense, caplog):
    L = graph_laplacian()
    with caplog.at_level(logging.WARNING, logger="lowdim"):
        found = bottom_eigenpairs(as_operator(L), 3, solver="shift-invert")
    check(found, L, np.linalg.eigvalsh(L.toarray())[:3])
    assert "going on with LOBPCG" in caplog.text


def test_lanczos_without_convergence_falls_back_and_logs_it(no_dense, monkeypatch, caplog):
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*_, **__):
        raise ArpackNoConvergence("%s", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(spectral, "lanczos", fail)
    L = graph_laplacian()
    values = np.linalg.eigvalsh(L.toarray())
    with caplog.at_level(logging.WARNING, logger="lowdim"):
        low = bottom_eigenpairs(L, 3, solver="arpack")
        high = top_eigenpairs(L, 3, solver="arpack")
    check(low, L, values[:3])
    check(high, L, values[::-1][:3])
    assert caplog.text.count("did not converge") == 2


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_too_few_iterations_give_the_best_so_far_and_a_warning(no_dense, form):
    A = np.random.default_rng(7).normal(size=(300, 300))
    A = A + A.T
    with pytest.warns(UserWarning, match="eigenvectors are inaccurate: relative residual"):
        found = top_eigenpairs(as_form(A, form), 3, max_iter=1)
    assert found.vectors.shape == (300, 3)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_inaccurate_result_is_announced(monkeypatch, dtype):
    A = np.diag(np.arange(20.0)).astype(dtype)

    def wrong(*_, **__):
        return Eigenpairs(np.array([15.0, 18.0]), np.eye(20)[:, 18:])

    monkeypatch.setattr(spectral, "dense", wrong)
    with pytest.warns(UserWarning, match=r"inaccurate: relative residual .* Raise max_iter"):
        top_eigenpairs(A, 2)


# --- arrays in memory ---------------------------------------------------------------------------


@pytest.fixture
def one_blas_thread():
    """As inside of every public call; small products on several threads may wait for each other."""
    with blas_on_one_thread():
        yield


def with_spectrum(values):
    Q = np.linalg.qr(np.random.default_rng(11).normal(size=(len(values), len(values))))[0]
    return (Q * values) @ Q.T


@pytest.mark.filterwarnings("ignore:Axes . and . of the map are exchangeable")
@pytest.mark.parametrize("leading", [[9, 4, 2, 1], [5, 5, 5, 2], [5, 5 - 1e-9, 2, 1], [-1, -2, -3]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_few_eigenpairs_of_an_array_take_no_full_reduction(
    one_blas_thread, monkeypatch, leading, k
):
    values = np.concatenate([leading, min(leading) - np.linspace(20, 22, 400 - len(leading))])
    A = with_spectrum(values)
    monkeypatch.setattr(eigensolvers, "_lapack", None)
    found = top_eigenpairs(A, k)
    check(found, A, np.array(leading[:k]), rtol=1e-13)
    again = with_threads(3, top_eigenpairs, A, k)
    assert np.array_equal(found.vectors, again.vectors)


@pytest.mark.parametrize("spectrum", ["no gap", "low rank", "zero"])
def test_a_few_eigenpairs_of_an_array_without_a_gap(one_blas_thread, spectrum):
    ranks = np.arange(400)
    values = {"no gap": np.linspace(1, 0, 400), "low rank": ranks < 2, "zero": 0 * ranks}[spectrum]
    A = with_spectrum(values.astype(float))
    found = top_eigenpairs(A, 3)
    np.testing.assert_allclose(found.values, np.sort(values)[:-4:-1], atol=1e-13)
    np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-13)


# --- determinism --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_bits_every_time_and_for_any_number_of_threads(no_dense, solver):
    L = graph_laplacian()
    A = np.random.default_rng(8).normal(size=(N, N))
    A = A @ A.T
    one, two, three = (with_threads(n, bottom_eigenpairs, L, 3, solver=solver) for n in (1, 2, 3))
    assert np.array_equal(one.vectors, two.vectors)
    assert np.array_equal(one.vectors, three.vectors)
    one, three = (with_threads(n, top_eigenpairs, A, 3, solver=solver) for n in (1, 3))
    assert np.array_equal(one.vectors, three.vectors)


def test_signs_do_not_depend_on_the_solver(no_dense):
    L = graph_laplacian()
    vectors = [bottom_eigenpairs(L, 4, null=np.ones(N), solver=s).vectors for s in SOLVERS]
    for other in vectors[1:]:
        np.testing.assert_allclose(vectors[0], other, atol=1e-5)


def test_the_largest_entry_of_a_column_is_positive():
    V = np.array([[1.0, -3.0, 0.0], [-2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    assert fix_signs(V).tolist() == [[-1, 3, 0], [2, -1, 0], [-1, -2, 0]]
    tie = np.array([[-1.0, 1.0], [1.0, -1.0 - 1e-9]])  # of equals the first decides
    assert (fix_signs(tie)[0] > 0).all()
    assert fix_signs(np.empty((4, 0))).shape == (4, 0)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_fixed_signs_do_not_depend_on_the_given_ones(seed):
    random = np.random.default_rng(seed)
    V = random.normal(size=(9, 4))
    assert np.array_equal(fix_signs(V), fix_signs(V * random.choice([-1, 1], 4)))


# --- the sum of absolute eigenvalues ------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("form", ["dense", "operator"])
def test_spectrum_size_is_exact_or_within_a_few_percent(share, form):
    random = np.random.default_rng(9)
    n = 250
    Q = np.linalg.qr(random.normal(size=(n, n)))[0]
    values = np.concatenate([[50.0, 30.0, 10.0], random.exponential(size=n - 3)])
    negative = 3 + random.permutation(n - 3)[: int(share * n)]
    values[negative] *= -1
    A = (Q * values) @ Q.T
    known = top_eigenpairs(A, 3)
    given = as_operator(A) if form == "operator" else A
    true = np.abs(values).sum()
    assert spectrum_size(given, known, exact=True) == pytest.approx(true, rel=1e-10)
    assert spectrum_size(given, known, exact=False) == pytest.approx(true, rel=0.05)


def test_spectrum_size_of_a_matrix_that_is_known_completely():
    F = np.random.default_rng(0).normal(size=(400, 2))
    A = F @ F.T
    size = spectrum_size(A, top_eigenpairs(A, 2), exact=False)
    assert size == pytest.approx(np.trace(A), rel=1e-9)


def test_the_quadrature_waits_for_the_device_only_at_its_end(monkeypatch):
    fetched = []
    monkeypatch.setattr(eigensolvers, "to_numpy", lambda V: fetched.append(V) or np.asarray(V))
    values = np.linspace(-1, 2, N)
    found = eigensolvers.quadrature(as_operator(np.diag(values)), np.eye(N, 1), probes=4, steps=10)
    assert found == pytest.approx(np.abs(values[1:]).sum(), rel=0.05)
    assert len(fetched) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spectrum", ["gap", "repeated", "low rank"])
def test_a_device_finds_the_same_eigenpairs_and_spectrum(no_dense, dtype, spectrum):
    pytest.importorskip("torch")
    leading = {"gap": [90.0, 60, 40], "repeated": [80.0, 80, 80], "low rank": [5.0, 2, 1]}[spectrum]
    rest = np.zeros(N - 3) if spectrum == "low rank" else np.linspace(2, -5, N - 3)
    values = np.concatenate([leading, rest])
    A = with_spectrum(values).astype(dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-9
    with lowdim.compute(device="torch:cpu"):
        found = top_eigenpairs(A, 3)
        size = spectrum_size(A, found, exact=False)
    check(found, A, leading, rtol=rtol)
    assert size == pytest.approx(np.abs(values).sum(), rel=0.05)
    assert size == pytest.approx(spectrum_size(A, found, exact=False), rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_basis_has_no_direction_that_is_rounding_alone(dtype):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(3)
    V = random.normal(size=(500, 4))
    V = np.column_stack([V, 1e-3 * random.normal(size=500), V[:, 0] - V[:, 1]]).astype(dtype)
    for kind in (np.asarray, torch.from_numpy):
        Q = np.asarray(orthonormal_basis(kind(V), 100 * float(np.finfo(dtype).eps)))
        assert Q.shape == (500, 5)
        assert Q.dtype == dtype
        np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-5)
        np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=1e-4)
        assert orthonormal_basis(kind(V[:, :0]), 1e-5).shape == (500, 0)


def test_an_operator_without_a_matrix_is_enough():
    n = 500
    weights = np.arange(n, dtype=float)
    operator = Operator(n, np.dtype(float), lambda V: weights[:, None] * V)
    np.testing.assert_allclose(top_eigenpairs(operator, 3).values, [499, 498, 497])
