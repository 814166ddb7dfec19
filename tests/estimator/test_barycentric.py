"""Barycentric interpolation between training objects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from helpers import with_threads
from lowdim.distances.metrics import resolve_metric
from lowdim.estimator.barycentric import barycentric_map, decode

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(size=(80, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_affine_map_is_continued_exactly(dtype, sparse):
    A, b = RANDOM.normal(size=(2, 5)), RANDOM.normal(size=5)
    images = (X @ A + b).astype(dtype)
    new = RANDOM.uniform(0.2, 0.8, size=(20, 2)).astype(dtype)
    known, asked = X.astype(dtype), new
    if sparse:
        known, asked = csr_array(known), csr_array(asked)
    found = barycentric_map(known, images, asked, 6, reg=1e-10)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, new @ A + b, atol=1e-4 if dtype == np.float32 else 1e-7)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), shift=st.floats(-100, 100))
@settings(max_examples=25)
def test_weights_sum_to_one(seed, k, shift):
    random = np.random.default_rng(seed)
    known, new = random.normal(size=(10, 3)), random.normal(size=(4, 3))
    images = random.normal(size=(10, 2))
    one = barycentric_map(known, images, new, k)
    other = barycentric_map(known, images + shift, new, k)
    np.testing.assert_allclose(other, one + shift, atol=1e-8 * (1 + abs(shift)))


def test_rows_do_not_depend_on_each_other_nor_on_threads():
    images = RANDOM.normal(size=(80, 3))
    new = RANDOM.uniform(size=(1500, 2))  # more than a block
    whole = with_threads(1, barycentric_map, X, images, new, 5)
    assert np.array_equal(whole, with_threads(3, barycentric_map, X, images, new, 5))
    for i in (0, 777, 1499):
        alone = barycentric_map(X, images, new[i : i + 1], 5)
        np.testing.assert_allclose(whole[i : i + 1], alone, rtol=1e-12, atol=1e-12)


def test_neighbors_are_found_in_the_metric_asked_for():
    known = np.array([[1.0, 0.0], [0.0, 1.0], [10.0, 0.5]])
    metric, _ = resolve_metric("cosine", None, known)
    images = np.array([[1.0], [2.0], [3.0]])
    new = np.array([[1.0, 0.06]])
    assert barycentric_map(known, images, new, 1, metric=metric)[0, 0] == 3
    assert barycentric_map(known, images, new, 1)[0, 0] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_decode_returns_the_training_vectors(dtype, sparse):
    vectors = RANDOM.normal(size=(80, 7)).astype(dtype)
    embedding = X.astype(dtype)
    given_vectors = csr_array(vectors) if sparse else vectors
    found = decode(embedding, given_vectors, embedding)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, vectors, atol=1e-4 if dtype == np.float32 else 1e-6)


def test_decode_inverts_a_linear_map_between_its_points():
    A = RANDOM.normal(size=(2, 6))
    vectors = X @ A
    new = RANDOM.uniform(0.3, 0.7, size=(15, 2))
    nearest = np.linalg.norm(new[:, None] - X[None], axis=2).argmin(axis=1)
    error = np.linalg.norm(decode(X, vectors, new) - new @ A, axis=1)
    assert error.mean() < 0.2 * np.linalg.norm(vectors[nearest] - new @ A, axis=1).mean()


def test_decode_stays_in_the_affine_hull_and_is_finite_for_coinciding_coordinates():
    vectors = np.hstack([RANDOM.normal(size=(80, 3)), np.ones((80, 1))])
    found = decode(X, vectors, RANDOM.uniform(-3, 3, size=(10, 2)))
    np.testing.assert_allclose(found[:, 3], 1, atol=1e-9)
    same = decode(np.zeros((8, 2)), vectors[:8], np.zeros((2, 2)))
    assert np.isfinite(same).all()
    np.testing.assert_allclose(same[:, 3], 1, atol=1e-9)


def test_decode_is_nearer_than_the_nearest_training_vector_on_a_noisy_map():
    random = np.random.default_rng(3)
    embedding = random.uniform(size=(300, 2))
    t = 6 * embedding
    vectors = np.column_stack([np.sin(t), np.cos(t)]) + 0.4 * random.normal(size=(300, 4))
    new = random.uniform(0.1, 0.9, size=(60, 2))
    wanted = np.column_stack([np.sin(6 * new), np.cos(6 * new)])
    nearest = np.linalg.norm(new[:, None] - embedding[None], axis=2).argmin(axis=1)
    error = np.square(decode(embedding, vectors, new) - wanted).mean()
    assert error < 0.5 * np.square(vectors[nearest] - wanted).mean()
