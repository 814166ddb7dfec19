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


# by the seed of the map: its neighbours, steadiness and cohesiveness of 20 walks
GROUPS = {
    5: (None, 0.8737289931209989, 0.6738251610358623),
    9: (None, 0.591225134901822, 0.3551907835064194),
    14: (6, 0.3310201523894867, 0.4432695985962032),
}


@pytest.mark.parametrize("seed", GROUPS)
def test_steadiness_and_cohesiveness_are_those_of_zadu(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 260)), int(rng.integers(3, 12))
    groups = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + (seed % 3) * 2 * rng.normal(size=(4, d))[groups]
    Y = X[:, :2] + rng.normal(size=(n, 2)) * (0.2 + seed % 5)
    k, *expected = GROUPS[seed]
    found = quality.steadiness_cohesiveness(X, Y, k, n_walks=20, random_state=seed)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    again = quality.steadiness_cohesiveness(cdist(X, X), Y, k, n_walks=20, metric="precomputed",
                                            random_state=seed)  # fmt: skip
    np.testing.assert_allclose(again, expected, rtol=1e-12)


def test_groups_that_the_map_joins_lower_steadiness_and_torn_ones_cohesiveness():
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], 100)
    apart = rng.normal(size=(200, 5)) + 9 * side[:, None]
    joined = apart - 9 * side[:, None]
    assert quality.steadiness_cohesiveness(apart, 3 * apart) == (1, 1)
    joins = quality.steadiness_cohesiveness(apart, joined)
    tears = quality.steadiness_cohesiveness(joined, apart)
    assert joins.steadiness < joins.cohesiveness
    assert tears.cohesiveness < tears.steadiness
    few = quality.steadiness_cohesiveness(apart, joined, n_objects=100)
    assert few.steadiness < few.cohesiveness
    with pytest.raises(ValueError, match="n_neighbors"):
        quality.steadiness_cohesiveness(apart, joined, 200)


# by the same data: hit, consistency, trustworthiness and continuity of labels, shared neighbours,
# two changes of density, gaps, two stresses, correlation; then the angles of 2,000,000 triplets
FURTHER = (
    (0.3333333333333333, 0.4666666666666667, 0.975609756097561, 0.9737295434969854,
     12.721635115031402, 0.2828120591638211, 0.07337958132110523, 0.6086911881760678,
     0.4669915351395018, 0.4095345336028827, 0.39883738314515044, 0.0936081649149957),
    (0.341, 0.37333333333333335, 0.9445079002474777, 0.968421052631579,
     48.81306177653682, 0.3094355230232597, 0.08400765436491442, 0.6438657509469483,
     0.576798502640237, 0.4361724704468298, 0.3620110565838444, 0.09663944425976184),
    (0.3682539682539682, 0.4222222222222222, 0.9635416666666666, 0.9830744723217841,
     17.72349990773808, 0.1752311356836168, 0.03192734893932467, 0.6295321108711369,
     0.3509948357049584, 0.34073622559476274, 0.675202241536456, 0.07737868940258708),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_further_values_are_those_of_zadu(seed):
    n, d, k = list(ZADU)[seed]
    X, Y, y = made(seed, n, d)
    change = quality.density_change(X, Y)
    found = (
        quality.neighborhood_hit(Y, y, k),
        quality.distance_consistency(Y, y),
        quality.label_trustworthiness(X, Y, y),
        quality.label_continuity(X, Y, y),
        quality.neighbor_dissimilarity(X, Y, k),
        change.difference,
        change.divergence,
        quality.gap_index(X, Y),
        quality.normalized_stress(X, Y),
        quality.nonmetric_stress(X, Y),
        quality.pearson(X, Y),
    )
    np.testing.assert_allclose(found, FURTHER[seed][:-1], rtol=1e-10)
    angles = quality.class_angular_distortion(X, Y, y, n_triplets=100_000)
    assert abs(angles - FURTHER[seed][-1]) < 2 * angles.margin < 0.003


def test_measures_of_given_distances():
    X, Y, _ = made(0, 60, 4)
    D = cdist(X, X)
    for measure in (quality.gap_index, quality.neighbor_dissimilarity, quality.density_change):
        given = measure(D, Y, metric="precomputed")
        np.testing.assert_allclose(given, measure(X, Y), rtol=1e-10)
        np.testing.assert_allclose(given, measure(X, 1e-3 * Y[:, ::-1]), rtol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y, y: quality.gap_index(X, X), "Y must have two columns"),
        (lambda X, Y, y: quality.gap_index(X, Y * [1, 0]), "on one line"),
        (lambda X, Y, y: quality.gap_index(0 * X, Y), "area 0"),
        (lambda X, Y, y: quality.density_change(X, 0 * Y), "in the same place"),
        (lambda X, Y, y: quality.density_change(X, Y, 0), "sigma"),
        (lambda X, Y, y: quality.neighbor_dissimilarity(X, Y, 60), "n_neighbors"),
        (lambda X, Y, y: quality.label_continuity(X, Y, 0 * y), "at least two classes"),
        (lambda X, Y, y: quality.label_continuity(X, Y[1:], y), "Y places 59 objects"),
        (lambda X, Y, y: quality.distance_consistency(Y, y[1:]), "labels has 59"),
        (
            lambda X, Y, y: quality.class_angular_distortion(X, Y, np.arange(60)),
            "class with at least two",
        ),
    ],
)
def test_what_further_measures_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call(*made(0, 60, 4))
