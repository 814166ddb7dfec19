"""The semidefinite programmes of local isometry: closed forms, optimality, another solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array

from lowdim import data, neighbors
from lowdim.numerics.eigenpairs import bottom_eigenpairs
from lowdim.runtime.callbacks import Monitor
from lowdim.spectral.laplacian import laplacian, weight_matrix
from lowdim.spectral.maximum_variance import factorized as module
from lowdim.spectral.maximum_variance.factorized import low_rank, solve_in_span
from lowdim.spectral.maximum_variance.lengths import compliance, lengths_of
from lowdim.spectral.maximum_variance.semidefinite import interior_point


def graph_of(n, pairs, distances):
    pairs = np.asarray(pairs)
    both = (np.r_[pairs[:, 0], pairs[:, 1]], np.r_[pairs[:, 1], pairs[:, 0]])
    return coo_array((np.r_[distances, distances], both), shape=(n, n)).tocsr()


def ratios(lengths, K):
    i, j = lengths.heads, lengths.tails
    return (K[i, i] + K[j, j] - 2 * K[i, j]) / lengths.squares


def roll(n, k=5):
    return lengths_of(neighbors(data.swiss_roll(n, random_state=0)[0], k).adjacency())[0]


@pytest.mark.parametrize("inequality", [False, True])
def test_a_chain_becomes_straight(inequality):
    steps = np.random.RandomState(0).uniform(0.5, 2, 19)
    pairs = np.stack([np.arange(19), np.arange(1, 20)], axis=1)
    lengths, _ = lengths_of(graph_of(20, pairs, steps))
    found = interior_point(lengths, inequality=inequality, tol=1e-9)
    values, vectors = np.linalg.eigh(found.gram)
    assert values[:-1].max() < 1e-6 * values[-1]
    line = np.sqrt(values[-1]) * vectors[:, -1] * lengths.unit
    np.testing.assert_allclose(np.abs(np.diff(line)), steps, rtol=1e-5)
    assert np.ptp(line) == pytest.approx(steps.sum(), rel=1e-6)
    assert np.trace(found.gram) == pytest.approx(lengths.trace_bound, rel=1e-6)


def test_a_cycle_becomes_a_regular_polygon():
    """Goering, Helmberg and Reiss (2008): the optimum of a cycle is a circle."""
    n = 12
    pairs = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    lengths, _ = lengths_of(graph_of(n, pairs, np.ones(n)))
    found = interior_point(lengths)
    radius = 1 / (2 * np.sin(np.pi / n))
    np.testing.assert_allclose(found.gram.diagonal(), radius**2, rtol=1e-5)
    np.testing.assert_allclose(found.tensions, n * radius**2 / n, rtol=1e-5)


@pytest.mark.parametrize("slack", [1e-4, 1e-2])
@pytest.mark.parametrize("inequality", [False, True])
def test_feasible_and_optimal(slack, inequality):
    """The conditions of Karush, Kuhn and Tucker, from the answer alone."""
    lengths = roll(70)
    e = compliance(lengths, slack)
    found = interior_point(lengths, inequality=inequality, compliance=e)
    K, y = found.gram, found.tensions
    values = np.linalg.eigvalsh(K)
    size = values[-1]
    assert values[0] > -1e-10 * size
    assert np.abs(K.sum(axis=1)).max() < 1e-9 * size
    errors = ratios(lengths, K) - 1
    if inequality:
        assert y.min() > 0
        assert (errors - e * y).max() < 1e-5
        assert np.abs(y * (errors - e * y)).sum() < 1e-5 * size
    else:
        np.testing.assert_allclose(errors, e * y, atol=1e-5)
    B = lengths.incidence()
    Z = (B.T @ (B * y[:, None])).toarray() - np.eye(70) + 1 / 70
    assert np.linalg.eigvalsh(Z)[0] > -1e-9
    penalty = np.maximum(errors, 0) if inequality else errors
    primal = np.trace(K) - (penalty @ penalty) / (2 * e)
    dual = y.sum() + e / 2 * y @ y
    assert primal == pytest.approx(dual, rel=1e-5)
    assert found.gap < 1e-6


def test_slack_is_the_mean_error():
    lengths = roll(70)
    found = interior_point(lengths, compliance=compliance(lengths, 0.01))
    mean = (ratios(lengths, found.gram) - 1).mean()
    assert 0.003 < mean < 0.02  # the bound of the trace stands for the trace


def test_exact_lengths():
    lengths = roll(60, 4)
    found = interior_point(lengths)
    np.testing.assert_allclose(ratios(lengths, found.gram), 1, atol=1e-4)


@pytest.mark.parametrize("inequality", [False, True])
def test_a_general_solver_agrees(inequality):
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    lengths = roll(24, 4)
    n, m = lengths.n, len(lengths.squares)
    e = compliance(lengths, 1e-2)
    # Point 0 in the origin leaves n - 1 rows; unknowns: their upper triangle, column by column,
    # with off-diagonal entries times sqrt(2), then the errors.
    columns, rows = np.tril_indices(n - 1)
    size = len(rows)
    place = np.zeros((n - 1, n - 1), dtype=int)
    place[rows, columns] = place[columns, rows] = np.arange(size)
    root = np.where(rows == columns, 1.0, np.sqrt(2))
    A = np.zeros((m, size + m))
    for k, (i, j) in enumerate(zip(lengths.heads - 1, lengths.tails - 1, strict=True)):
        for a, b, weight in ((i, i, 1.0), (j, j, 1.0), (i, j, -np.sqrt(2))):
            if a >= 0 and b >= 0:
                A[k, place[a, b]] += weight / lengths.squares[k]
        A[k, size + k] = -1
    centered = (np.eye(n) - 1 / n)[1:, 1:]
    cost = np.concatenate([-centered[rows, columns] * root, np.zeros(m)])
    P = sparse.csc_matrix(np.diag(np.concatenate([np.zeros(size), np.full(m, 1 / e)])))
    cone = np.eye(size, size + m)
    blocks, limits = [A, -cone], [np.ones(m), np.zeros(size)]
    first = clarabel.NonnegativeConeT(m) if inequality else clarabel.ZeroConeT(m)
    cones = [first, clarabel.PSDTriangleConeT(n - 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        P,
        cost,
        sparse.csc_matrix(np.concatenate(blocks)),
        np.concatenate(limits),
        cones,
        settings,
    ).solve()
    found = interior_point(lengths, inequality=inequality, compliance=e, tol=1e-9)
    y = found.tensions
    assert -solution.obj_val == pytest.approx(y.sum() + e / 2 * y @ y, rel=1e-6)
    X = np.zeros((n, n))
    X[rows + 1, columns + 1] = X[columns + 1, rows + 1] = np.array(solution.x)[:size] / root
    J = np.eye(n) - 1 / n
    np.testing.assert_allclose(J @ X @ J, found.gram, atol=5e-3 * np.abs(X).max())


@pytest.mark.parametrize("flops", [0.0, 1e30])  # steps by conjugate gradients, or by factors
@pytest.mark.parametrize("inequality", [False, True])
def test_low_rank_with_enough_columns_is_the_programme(inequality, flops, monkeypatch):
    monkeypatch.setattr(module, "FACTOR_FLOPS", flops)
    lengths = roll(40)
    e = compliance(lengths, 1e-2)
    found = interior_point(lengths, inequality=inequality, compliance=e)
    start = np.random.RandomState(0).standard_normal((40, 12))
    Y, history = low_rank(
        lengths,
        start,
        Monitor(300),
        inequality=inequality,
        compliance=e,
        first_compliance=100 * e,
        tol=1e-7,
    )
    best = found.tensions.sum() + e / 2 * found.tensions @ found.tensions
    assert -history[-1] == pytest.approx(best, rel=1e-3)
    assert np.corrcoef((Y @ Y.T).ravel(), found.gram.ravel())[0, 1] > 0.999


def test_low_rank_never_gets_worse_at_one_slack():
    lengths = roll(60)
    start = np.random.RandomState(0).standard_normal((60, 3))
    _, history = low_rank(lengths, start, Monitor(60), compliance=compliance(lengths, 1e-2))
    assert (np.diff(history) <= 0).all()


@pytest.mark.parametrize("inequality", [False, True])
def test_factorized_is_optimal_in_its_span(inequality):
    """No direction in the cone of semidefinite L lowers the objective."""
    lengths = roll(120)
    e = compliance(lengths, 0.1)
    Q = bottom_eigenpairs(
        laplacian(weight_matrix(lengths.adjacency(), "binary", 1.0)), 6, null=np.ones(120)
    ).vectors
    L = solve_in_span(lengths, Q, inequality=inequality, compliance=e)
    P = lengths.incidence() @ Q

    def objective(L):
        errors = lengths.squares * (np.einsum("ma,ab,mb->m", P, L, P) - 1)
        errors = np.maximum(errors, 0) if inequality else errors
        return errors @ errors / (2 * e) - np.trace(L)

    assert np.linalg.eigvalsh(L)[0] > 0
    best = objective(L)
    random = np.random.RandomState(0)
    for _ in range(50):
        G = random.standard_normal((6, 6))
        other = 0.999 * L + 0.001 * np.trace(L) * G @ G.T / np.trace(G @ G.T)
        assert objective(other) >= best - 1e-6 * abs(best)


def test_factorized_is_optimal_with_functions_of_all_scales():
    """The slope at L is semidefinite and orthogonal to L, for rough and smooth functions alike."""
    lengths = roll(120)
    e = compliance(lengths, 0.1)
    random = np.random.RandomState(0)
    Q = np.linalg.qr(np.c_[np.ones(120), random.standard_normal((120, 25))])[0][:, 1:16]
    smooth = bottom_eigenpairs(
        laplacian(weight_matrix(lengths.adjacency(), "binary", 1.0)), 8, null=np.ones(120)
    ).vectors
    Q = np.linalg.qr(np.c_[Q, smooth])[0] @ np.linalg.qr(random.standard_normal((23, 23)))[0]
    L = solve_in_span(lengths, Q, compliance=e)
    P = lengths.incidence() @ Q
    errors = lengths.squares * (np.einsum("ma,ab,mb->m", P, L, P) - 1)
    slope = P.T @ (P * (errors * lengths.squares / e)[:, None]) - np.eye(23)
    assert np.linalg.eigvalsh(slope)[0] > -1e-5
    assert abs(np.sum(slope * L)) < 1e-5 * np.trace(L)


def test_points_in_one_place_are_one_point():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4)]
    lengths, points = lengths_of(graph_of(5, pairs, np.array([1.0, 1e-300, 2.0, 1.0])))
    assert lengths.n == 4
    assert points[1] == points[2]
    np.testing.assert_array_equal(np.sort(lengths.mass), [1, 1, 1, 2])
    values, vectors = np.linalg.eigh(interior_point(lengths).gram)
    line = (np.sqrt(values[-1]) * vectors[:, -1])[points] * lengths.unit
    np.testing.assert_allclose(np.abs(line - line[0]), [0, 1, 1, 3, 4], atol=1e-5)
    assert abs(line.mean()) < 1e-8


def test_lengths_are_scaled():
    pairs = [(0, 1), (1, 2), (0, 2)]
    for unit in (1e-200, 1.0, 1e200):
        lengths, _ = lengths_of(graph_of(3, pairs, unit * np.array([1.0, 2.0, 2.5])))
        assert lengths.squares.mean() == pytest.approx(1)
        assert lengths.unit == pytest.approx(unit * np.sqrt(11.25 / 3))
