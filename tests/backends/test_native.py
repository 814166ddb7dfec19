from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.sparse import random_array
from threadpoolctl import threadpool_info

from lowdim.backends import native
from lowdim.backends.native import _native

FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


# --- threads ----------------------------------------------------------------------------------


def test_n_threads_counts_as_joblib_does(monkeypatch):
    monkeypatch.delenv("LOWDIM_NUM_THREADS", raising=False)
    monkeypatch.setattr(native.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert native.n_threads(None) == 8
    assert native.n_threads(3) == 3
    assert native.n_threads(-1) == 8
    assert native.n_threads(-2) == 7
    assert native.n_threads(-100) == 1
    assert native.n_threads(np.int64(2)) == 2


def test_n_threads_follows_the_environment_for_none_only(monkeypatch):
    monkeypatch.setenv("LOWDIM_NUM_THREADS", "5")
    assert native.n_threads(None) == 5
    assert native.n_threads(2) == 2
    monkeypatch.setenv("LOWDIM_NUM_THREADS", "0")
    assert native.n_threads(None) == 1


def test_n_threads_refuses_nonsense():
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        native.n_threads(0)
    with pytest.raises(TypeError, match=r"n_jobs must be an integer, got 1.5"):
        native.n_threads(1.5)
    with pytest.raises(TypeError, match="n_jobs must be an integer, got True"):
        native.n_threads(True)


def test_blas_is_held_while_anyone_is_inside_and_then_restored():
    before = blas_threads()
    with native.blas_on_one_thread():
        assert set(blas_threads()) <= {1}
        with native.blas_on_one_thread():
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_blas_is_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), native.blas_on_one_thread():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_blas_hold_of_overlapping_threads_ends_with_the_last():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with native.blas_on_one_thread():
            inside.set()
            leave.wait(30)

    with native.blas_on_one_thread():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(30)
    assert set(blas_threads()) <= {1}  # the other is still inside
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_keeps_the_order_and_passes_errors_on(n_jobs):
    assert native.run(lambda i: i * i, range(20), n_jobs) == [i * i for i in range(20)]
    assert native.run(lambda i: i, [], n_jobs) == []
    with pytest.raises(ZeroDivisionError):
        native.run(lambda i: 1 // i, [1, 0, 2], n_jobs)


def test_blocks_cover_the_range_once():
    for n in (0, 1, 5, 6, 7):
        slices = native.blocks(n, 3)
        assert np.array_equal(
            np.concatenate([np.arange(n)[s] for s in slices]) if n else [], np.arange(n)
        )
        assert all(0 < s.stop - s.start <= 3 for s in slices)


# --- products ---------------------------------------------------------------------------------


@FLOATS
@pytest.mark.parametrize("columns", [1, 2, 8, 16, 17])
def test_matmul_is_the_product(dtype, columns):
    random = np.random.default_rng(columns)
    A = random.normal(size=(530, 70)).astype(dtype)
    V = random.normal(size=(70, columns)).astype(dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-12
    exact = A.astype(np.float64) @ V.astype(np.float64)
    squares = A.astype(np.float64) ** 2 @ V.astype(np.float64)
    for left in (A, np.asfortranarray(A)):
        np.testing.assert_allclose(native.matmul(left, V, 2), exact, rtol=rtol, atol=rtol * 10)
    out = native.matmul(A, V, 2, squared=True)
    assert out.dtype == dtype
    np.testing.assert_allclose(out, squares, rtol=rtol, atol=rtol * 100)
    for squared in (False, True):
        one, three = (native.matmul(A, V, n, squared=squared) for n in (1, 3))
        assert np.array_equal(one, three)


@FLOATS
def test_spmm_is_the_product(dtype):
    random = np.random.default_rng(0)
    A = random_array((50, 40), density=0.2, rng=random, dtype=np.float64).tocsr().astype(dtype)
    V = random.normal(size=(40, 11)).astype(dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(native.spmm(A, V, 2), A.toarray() @ V, rtol=rtol, atol=rtol)
    assert np.array_equal(native.spmm(A, V, 1), native.spmm(A, V, 3))


# --- kernels refuse what would read outside their arrays ----------------------------------------

CHAIN = (np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.ones(2))  # 0 -> 1 -> 2


def ids(*shape):
    return np.zeros(shape, np.int32)


BROKEN = {
    "offer: offset": lambda: native.offer(
        np.ones((3, 4)), np.ones(3), (0, 0), 1.0, np.ones((3, 2)), ids(3, 2)
    ),
    "offer: heaps": lambda: native.offer(
        np.ones((3, 4)), np.ones(4), (0, 0), 1.0, np.ones((2, 2)), ids(3, 2)
    ),
    "offer: empty heaps": lambda: native.offer(
        np.ones((3, 4)), np.ones(4), (0, 0), 1.0, np.ones((3, 0)), ids(3, 0)
    ),
    "offer: columns": lambda: native.offer(
        np.ones((3, 4)), np.ones(3), (0, 0), 1.0, np.ones((3, 2)), ids(3, 2), columns=True
    ),
    "rerank: width": lambda: native.rerank(
        np.ones((2, 3)), np.ones((4, 2)), ids(2, 2), 1, False, 1
    ),
    "rerank: rows": lambda: native.rerank(np.ones((2, 3)), np.ones((4, 3)), ids(1, 2), 1, False, 1),
    "rerank: k": lambda: native.rerank(np.ones((2, 3)), np.ones((4, 3)), ids(2, 2), 3, False, 1),
    "rerank: range": lambda: native.rerank(
        np.ones((2, 3)), np.ones((4, 3)), ids(2, 2) + 4, 1, False, 1
    ),
    "symmetrize: mode": lambda: native.symmetrize(*CHAIN, "nonsense", 1),
    "symmetrize: data": lambda: native.symmetrize(CHAIN[0], CHAIN[1], np.ones(3), "union", 1),
    "symmetrize: range": lambda: native.symmetrize(
        CHAIN[0], np.array([1, 3], np.int32), CHAIN[2], "union", 1
    ),
    "symmetrize: decreasing": lambda: native.symmetrize(
        np.array([0, 2, 1, 2]), CHAIN[1], CHAIN[2], "union", 1
    ),
    "symmetrize: no indptr": lambda: native.symmetrize(
        np.zeros(0, np.int64), ids(0), np.ones(0), "union", 1
    ),
    "paths: source": lambda: native.shortest_paths(*CHAIN, np.array([3], np.int32), 1),
    "paths: negative source": lambda: native.shortest_paths(*CHAIN, np.array([-1], np.int32), 1),
    "paths: negative arc": lambda: native.shortest_paths(
        CHAIN[0], CHAIN[1], np.array([1.0, -1.0]), ids(1), 1
    ),
    "paths: NaN arc": lambda: native.shortest_paths(
        CHAIN[0], CHAIN[1], np.array([1.0, np.nan]), ids(1), 1
    ),
    "paths: out": lambda: _native.shortest_paths(*CHAIN, ids(2), np.ones((1, 3)), 1),
    "floyd_warshall": lambda: native.floyd_warshall(np.ones((2, 3)), 1),
    "levels: range": lambda: native.level_structure(CHAIN[0], np.array([1, 7], np.int32)),
    "levels: negative": lambda: native.level_structure(CHAIN[0], np.array([1, -7], np.int32)),
    "levels: short": lambda: native.level_structure(np.array([0, 1, 2, 9]), CHAIN[1]),
    "weights: square": lambda: native.barycentric_weights(np.ones((2, 3, 4)), 0.1, 1),
    "weights: out": lambda: _native.barycentric_weights(
        np.ones((2, 3, 3)), 0.1, np.ones((2, 4)), 1
    ),
    "stress": lambda: native.stress_gradient(np.ones((3, 3)), np.ones((4, 2)), 1),
    "matmul": lambda: native.matmul(np.ones((3, 3)), np.ones((4, 2)), 1),
    "spmm: rows of x": lambda: _native.spmm(*CHAIN, np.ones((2, 2)), np.ones((3, 2)), 1),
    "spmm: rows of y": lambda: _native.spmm(*CHAIN, np.ones((3, 2)), np.ones((2, 2)), 1),
    "spmm: columns": lambda: _native.spmm(*CHAIN, np.ones((3, 1)), np.ones((3, 2)), 1),
    "spmm: data": lambda: _native.spmm(
        CHAIN[0], CHAIN[1], np.ones(1), np.ones((3, 2)), np.ones((3, 2)), 1
    ),
    "spmm: short": lambda: _native.spmm(
        np.array([0, 1, 2, 9]), CHAIN[1], CHAIN[2], np.ones((3, 2)), np.ones((3, 2)), 1
    ),
    "spmm: negative": lambda: _native.spmm(
        CHAIN[0], np.array([1, -7], np.int32), CHAIN[2], np.ones((3, 2)), np.ones((3, 2)), 1
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_kernels_refuse_inconsistent_input(case):
    with pytest.raises(ValueError):
        BROKEN[case]()


def test_kernels_refuse_other_types_rather_than_copy_results_away():
    with pytest.raises(TypeError):
        native.floyd_warshall(np.ones((3, 3), dtype=np.int64), 1)
    with pytest.raises(TypeError):
        native.offer(
            np.ones((3, 4), np.float32), np.ones(4), (0, 0), 1.0, np.ones((3, 2)), ids(3, 2)
        )


# --- kernels against their definition -----------------------------------------------------------


def test_level_structure_of_a_path_and_of_a_star():
    n = 30
    path = [[j for j in (i - 1, i + 1) if 0 <= j < n] for i in range(n)]
    star = [list(range(1, n))] + [[0]] * (n - 1)
    for lists, expected in ((path, (n, 1)), (star, (3, n - 2))):
        indptr = np.concatenate([[0], np.cumsum([len(x) for x in lists])])
        assert native.level_structure(indptr, np.concatenate(lists).astype(np.int32)) == expected


def test_isa_is_one_of_the_compiled_ones():
    assert native.isa() in ("portable", "avx2", "avx512")
