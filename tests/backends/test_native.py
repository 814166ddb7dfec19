"""Kernels refuse what would read outside of their arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers import with_threads
from lowdim.backends.native import BACKEND as native
from lowdim.backends.native import _native, algebra
from lowdim.backends.native.dense import symmetric_eigen
from lowdim.backends.native.heaps import Heaps, rerank
from lowdim.backends.native.scans import copy_rows

CHAIN = (np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.ones(2))  # 0 -> 1 -> 2
NONE = np.empty((0, 0))
OCTETS = np.zeros((3, 4), np.uint8)


def ids(*shape):
    return np.zeros(shape, np.int32)


def chain(indptr=CHAIN[0], indices=CHAIN[1], data=CHAIN[2]):
    """A CSR matrix of these parts, which SciPy would refuse."""
    graph = csr_array((CHAIN[2], CHAIN[1], CHAIN[0]), shape=(3, 3))
    graph.indptr, graph.data = np.asarray(indptr), np.asarray(data)
    graph.indices = np.asarray(indices, np.int32)
    return graph


BROKEN = {
    "offer: offset": (
        "offset must have one entry per column",
        lambda: Heaps(3, 2, "f8").offer(np.ones((3, 4)), (0, 0), offset=np.ones(3)),
    ),
    "offer: heaps": (
        "values and ids must be (rows or columns of the tile, k)",
        lambda: Heaps(2, 2, "f8").offer(np.ones((3, 4)), (0, 0)),
    ),
    "offer: empty heaps": (
        "values and ids must be (rows or columns of the tile, k)",
        lambda: Heaps(3, 0, "f8").offer(np.ones((3, 4)), (0, 0)),
    ),
    "offer: columns": (
        "values and ids must be (rows or columns of the tile, k)",
        lambda: Heaps(3, 2, "f8").offer(np.ones((3, 4)), (0, 0), columns=True),
    ),
    "rerank: width": (
        "queries and points must have equal width",
        lambda: rerank(np.ones((2, 3)), np.ones((4, 2)), ids(2, 2), 1, False),
    ),
    "rerank: rows": (
        "candidates, ids and distances must have one row per query, and k <= candidates",
        lambda: rerank(np.ones((2, 3)), np.ones((4, 3)), ids(1, 2), 1, False),
    ),
    "rerank: k": (
        "candidates, ids and distances must have one row per query, and k <= candidates",
        lambda: rerank(np.ones((2, 3)), np.ones((4, 3)), ids(2, 2), 3, False),
    ),
    "rerank: range": (
        "candidate out of range",
        lambda: rerank(np.ones((2, 3)), np.ones((4, 3)), ids(2, 2) + 4, 1, False),
    ),
    "symmetrize: mode": (
        "how must be union, mutual, mean or half-sum",
        lambda: native.symmetrize(chain(), "nonsense"),
    ),
    "symmetrize: data": (
        "indices and data must have indptr[-1] entries",
        lambda: native.symmetrize(chain(data=np.ones(3)), "union"),
    ),
    "symmetrize: range": (
        "indices must lie in [0, n)",
        lambda: native.symmetrize(chain(indices=[1, 3]), "union"),
    ),
    "symmetrize: decreasing": (
        "indptr must not decrease",
        lambda: native.symmetrize(chain([0, 2, 1, 2]), "union"),
    ),
    "symmetrize: no indptr": (
        "indptr must have at least one entry",
        lambda: native.symmetrize(chain(np.zeros(0, int), [], []), "union"),
    ),
    "copy_rows: shape": (
        "from and to must have the same shape",
        lambda: copy_rows(np.zeros((2, 3)), np.zeros((3, 2))),
    ),
    "copy_rows: columns": (
        "the rows of from and to must be contiguous",
        lambda: _native.copy_rows(OCTETS[:, ::2], OCTETS[:, :2].copy(), 1),
    ),
    "paths: source": (
        "source out of range",
        lambda: native.shortest_paths(chain(), np.array([3])),
    ),
    "paths: negative source": (
        "source out of range",
        lambda: native.shortest_paths(chain(), np.array([-1])),
    ),
    "paths: negative arc": (
        "arc lengths must be finite and not negative",
        lambda: native.shortest_paths(chain(data=[1.0, -1.0]), ids(1)),
    ),
    "paths: NaN arc": (
        "arc lengths must be finite and not negative",
        lambda: native.shortest_paths(chain(data=[1.0, np.nan]), ids(1)),
    ),
    "paths: rows": (
        "one row for each source",
        lambda: _native.shortest_paths(*CHAIN, ids(2), ids(1), np.ones((2, 3)), 1),
    ),
    "paths: out": (
        "out must have a column for each node",
        lambda: _native.shortest_paths(*CHAIN, ids(2), ids(2), np.ones((2, 2)), 1),
    ),
    "paths: row": (
        "row out of range",
        lambda: _native.shortest_paths(*CHAIN, ids(1), ids(1) + 1, np.ones((1, 3)), 1),
    ),
    "paths: order": (
        "order must have an entry for each source",
        lambda: _native.group_sources(*CHAIN, ids(2), ids(1)),
    ),
    "extremes": (
        "values must not be empty, out of 2",
        lambda: _native.extremes(np.ones(0), np.ones(2), 1),
    ),
    "keep_smaller": (
        "matrix must be square",
        lambda: _native.keep_smaller(np.ones((2, 3)), 1),
    ),
    "floyd_warshall": (
        "lengths must be square",
        lambda: native.floyd_warshall(np.ones((2, 3))),
    ),
    "levels: range": (
        "indices must lie in [0, n)",
        lambda: native.level_structure(chain(indices=[1, 7])),
    ),
    "levels: negative": (
        "indices must lie in [0, n)",
        lambda: native.level_structure(chain(indices=[1, -7])),
    ),
    "levels: short": (
        "indices and data must have indptr[-1] entries",
        lambda: native.level_structure(chain([0, 1, 2, 9])),
    ),
    "weights: square": (
        "grams must be (n, k, k) and weights (n, k)",
        lambda: native.barycentric_weights(np.ones((2, 3, 4)), 0.1),
    ),
    "weights: out": (
        "grams must be (n, k, k) and weights (n, k)",
        lambda: _native.barycentric_weights(np.ones((2, 3, 3)), 0.1, np.ones((2, 4)), 1),
    ),
    "stress": (
        "dissimilarities must be (n, n), x and gradient (n, dim)",
        lambda: native.stress_gradient(np.ones((3, 3)), np.ones((4, 2))),
    ),
    "matmul": (
        "a must be (n, m), x (width, m) and y (n, width)",
        lambda: native.matmul(np.ones((3, 3)), np.ones((4, 2))),
    ),
    "spmm: rows of x": (
        "indices must lie in [0, n)",
        lambda: _native.spmm(*CHAIN, np.ones((2, 2)), 1, 0, NONE, np.ones((3, 2)), 1),
    ),
    "spmm: rows of y": (
        "x and y must match",
        lambda: _native.spmm(*CHAIN, np.ones((3, 2)), 1, 0, NONE, np.ones((2, 2)), 1),
    ),
    "spmm: columns": (
        "x and y must match",
        lambda: _native.spmm(*CHAIN, np.ones((3, 1)), 1, 0, NONE, np.ones((3, 2)), 1),
    ),
    "spmm: before": (
        "before and y must match",
        lambda: native.spmm(chain(), np.ones((3, 2)), before=np.ones((3, 1))),
    ),
    "spmm: not square": (
        "with a scale or shift A must be square",
        lambda: native.spmm(chain()[:2], np.ones((3, 2)), shift=1.0),
    ),
    "spmm: data": (
        "indices and data must have indptr[-1] entries",
        lambda: native.spmm(chain(data=np.ones(1)), np.ones((3, 2))),
    ),
    "spmm: short": (
        "indices and data must have indptr[-1] entries",
        lambda: native.spmm(chain([0, 1, 2, 9]), np.ones((3, 2))),
    ),
    "spmm: negative": (
        "indices must lie in [0, n)",
        lambda: native.spmm(chain(indices=[1, -7]), np.ones((3, 2))),
    ),
    "layout: rank": (
        "rank must be a permutation",
        lambda: native.layout_arcs(chain(), np.array([0, 1, 1], np.int32)),
    ),
    "layout: range": (
        "indices must lie in [0, n)",
        lambda: native.layout_arcs(chain(indices=[1, 3]), np.arange(3, dtype="i4")),
    ),
    "pairs: range": (
        "first and second must lie in [0, n)",
        lambda: native.pair_distances(ids(1), ids(1) + 3, np.ones((3, 2))),
    ),
    "tiles: twice": (
        "order must name objects of x, each once",
        lambda: native.stress_sgd_round(ids(2), np.ones((1, 1, 1)), None, 1.0, np.ones((3, 2))),
    ),
    "divergence: precisions": (
        "precisions must be positive and ascend",
        lambda: native.divergence_gradient(
            np.ones((3, 2)), np.array([[2.0, 1.0]] * 3), 1.0, np.ones((3, 2))
        ),
    ),
    "classes: order": (
        "classes must ascend",
        lambda: native.stochastic_neighbor_errors(np.ones((2, 2)), np.array([1, 0], np.int32), 0.0),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_kernels_refuse_inconsistent_input(case):
    message, call = BROKEN[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_kernels_refuse_other_types_rather_than_copy_results_away():
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.floyd_warshall(np.ones((3, 3), dtype=np.int64))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        Heaps(3, 2, "f8").offer(np.ones((3, 4), np.float32), (0, 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_tall_matrices(dtype):
    V, W = np.random.default_rng(0).normal(size=(2, 3000, 5)).astype(dtype)
    S = np.random.default_rng(1).normal(size=(5, 3))
    wide = V.astype(np.float64)
    one, three = (with_threads(n, algebra.gram, V, W) for n in (1, 3))
    assert np.array_equal(one, three)
    np.testing.assert_allclose(one, wide.T @ W, rtol=1e-9, atol=1e-9)
    one, three = (with_threads(n, algebra.times, V, S) for n in (1, 3))
    assert np.array_equal(one, three)
    assert one.dtype == dtype
    np.testing.assert_allclose(one, wide @ S, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("factor", [2.0**-600, 2.0**500, 2.0**1000])
def test_eigenvalues_whose_squares_overflow(factor):
    """Dissimilarities of 1e150 ended in "Eigenvalues did not converge"."""
    A = np.random.RandomState(0).standard_normal((2, 20, 20))
    A += A.transpose(0, 2, 1)
    values, vectors = symmetric_eigen(A)
    scaled = symmetric_eigen(A * factor)
    np.testing.assert_array_equal(scaled[0], values * factor)
    np.testing.assert_array_equal(scaled[1], vectors)
