"""Spectral starts: the smooth modes of a graph, whatever its components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, diags_array
from scipy.sparse.linalg import eigsh

from helpers import with_threads
from lowdim import data, neighbors
from lowdim.backends import backend
from lowdim.neighbor_embedding.umap.fuzzy_graph import fuzzy_graph
from lowdim.spectral import starts as module
from lowdim.spectral.starts import spectral_start


def graph_of(X, k=9):
    return fuzzy_graph(neighbors(X, k), k + 1).matrix


def random():
    return np.random.RandomState(0)


def smooth_modes(graph, k, seed):
    return backend().smooth_modes([graph], k, seed)[0]


def test_a_connected_graph_gets_its_eigenvectors():
    X, _ = data.s_curve(400, random_state=0)
    W = graph_of(X)
    Y = spectral_start(W, 2, random())
    D = np.asarray(W.sum(axis=1)).ravel()
    values = np.einsum("ic,ic->c", Y, D[:, None] * Y - W @ Y) / (D[:, None] * Y**2).sum(axis=0)
    root = 1 / np.sqrt(D)
    exact = np.linalg.eigvalsh(np.eye(400) - root[:, None] * W.toarray() * root)[1:3]
    np.testing.assert_allclose(values, exact, rtol=1e-6)


def test_smooth_modes_are_right_to_a_few_digits():
    X = np.random.RandomState(0).standard_normal((2500, 8)) * np.array([3, 2, 1, 1, 1, 1, 1, 1])
    W = graph_of(X)
    Y = smooth_modes(W, 2, 0)
    root = 1 / np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    A = csr_array(diags_array(root) @ W @ diags_array(root))
    exact = eigsh(A, 3, v0=np.ones(2500))[1][:, :2]
    ours = np.linalg.qr(Y / root[:, None])[0]
    assert np.linalg.svd(exact.T @ ours, compute_uv=False).min() > 0.98
    one, three = (with_threads(n, smooth_modes, W, 2, 0) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_a_long_chain_gets_a_finite_start():
    """Its modes are too close to each other for a polynomial to separate."""
    n = 20_000
    ones = np.ones(n - 1)
    W = csr_array(diags_array([ones, ones], offsets=[-1, 1], shape=(n, n)))
    assert np.isfinite(smooth_modes(W, 2, 0)).all()
    assert np.isfinite(spectral_start(W, 2, random())).all()


@pytest.mark.parametrize("vectors", [True, False])
def test_components_are_laid_out_apart(vectors):
    parts = [data.s_curve(n, random_state=n)[0] for n in (200, 100, 60)]
    X = np.concatenate([part + 100.0 * i for i, part in enumerate(parts)])
    labels = np.repeat([0, 1, 2], [200, 100, 60])
    Y = spectral_start(graph_of(X), 2, random(), rows=X if vectors else None)
    centers = np.array([Y[labels == i].mean(axis=0) for i in range(3)])
    reach = [np.linalg.norm(Y[labels == i] - centers[i], axis=1).max() for i in range(3)]
    for i in range(3):
        assert reach[i] > 0
        for j in range(i):
            assert np.linalg.norm(centers[i] - centers[j]) > 0.5 * (reach[i] + reach[j])


def test_very_many_components():
    pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    W = csr_array(block_diag([pair] * 700 + [np.zeros((1, 1))] * 10))
    for k in (1, 2, 3):
        Y = spectral_start(W, k, random())
        assert Y.shape == (1410, k)
        assert np.isfinite(Y).all()
        assert len(np.unique(Y.round(9), axis=0)) > 1000


def test_a_failed_eigensolver_gives_a_random_start_and_a_warning(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no eigenvectors today")

    monkeypatch.setattr(module, "sparse_inverse", broken)
    with pytest.warns(UserWarning, match=r"spectral start failed \(no eigenvectors today\)"):
        Y = spectral_start(graph_of(data.s_curve(100, random_state=0)[0]), 2, random())
    assert np.isfinite(Y).all()
