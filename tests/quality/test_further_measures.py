"""Measures that `assess` does not report, by definition and by ZADU 0.5.4."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowdim import quality

# local continuity, class-aware trustworthiness and continuity, topographic product
ZADU = {
    (60, 4, 5): (0.16525423728813557, 0.7991025641025641, 0.9255128205128206, -0.2248775609355603),
    (150, 10, 20): (
        0.11610514541387024,
        0.7829623430962344,
        0.9045439330543932,
        -0.38041374538882294,
    ),
    (90, 3, 7): (0.2165864098448368, 0.8510146674703636, 0.9396825396825397, -0.10579787660304359),
}


def made(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + rng.normal(size=(n, 2)) * 0.5, rng.integers(0, 3, n)


def test_values_are_those_of_zadu():
    for seed, ((n, d, k), expected) in enumerate(ZADU.items()):
        X, Y, y = made(seed, n, d)
        found = (
            quality.local_continuity(X, Y, k),
            quality.class_aware_trustworthiness(X, Y, y, k),
            quality.class_aware_continuity(X, Y, y, k),
            quality.topographic_product(X, Y, k),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_values_are_those_of_the_definitions():
    X, Y, y = made(5, 40, 5)
    k, n = 6, 40
    D, E = cdist(X, X, "cityblock"), cdist(Y, Y)
    near, placed = (np.argsort(one, axis=1)[:, 1:] for one in (D, E))
    kept, trust, torn, logs = 0, 0, 0, []
    for i in range(n):
        kept += len(set(near[i, :k]) & set(placed[i, :k]))
        rank = {int(j): at for at, j in enumerate(near[i], 1)}
        trust += sum(max(rank[int(j)] - k, 0) for j in placed[i, :k] if y[j] != y[i])
        rank = {int(j): at for at, j in enumerate(placed[i], 1)}
        torn += sum(max(rank[int(j)] - k, 0) for j in near[i, :k] if y[j] == y[i])
        for size in range(1, k + 1):
            a, b = near[i, :size], placed[i, :size]
            product = np.prod(D[i, b] / D[i, a] * (E[i, b] / E[i, a]))
            logs.append(np.log(product ** (1 / (2 * size))))
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    options = {"metric": "cityblock"}
    assert quality.local_continuity(X, Y, k, **options) == pytest.approx(kept / n / k - k / (n - 1))
    found = quality.class_aware_trustworthiness(X, Y, y, k, **options)
    assert found == pytest.approx(1 - scale * trust)
    found = quality.class_aware_continuity(X, Y, y, k, **options)
    assert found == pytest.approx(1 - scale * torn)
    assert quality.topographic_product(X, Y, k, **options) == pytest.approx(np.mean(logs))


def test_a_sample_of_rows_comes_with_its_margin():
    X, Y, y = made(2, 400, 4)
    for measure, more in (
        (quality.topographic_product, ()),
        (quality.local_continuity, ()),
        (quality.class_aware_continuity, (y,)),
        (quality.class_aware_trustworthiness, (y,)),
    ):
        exact = measure(X, Y, *more, 10)
        some = measure(X, Y, *more, 10, n_rows=200, random_state=0)
        assert 0 < abs(some - exact) < 2 * some.margin


def test_objects_in_one_place_have_no_topographic_product():
    X, Y, _ = made(0, 30, 3)
    X[1] = X[0]
    with pytest.raises(ValueError, match="leave out duplicates"):
        quality.topographic_product(X, Y)
