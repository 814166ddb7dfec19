"""The argument random_state: a seed gives the same result, another one another."""

import numpy as np
import pytest

import lowdim
from lowdim import data, plot, quality

X, y = data.clusters(200, random_state=0)
Y = lowdim.PCA(2).fit_transform(X)
NOISE = np.random.default_rng(0).normal(size=(200, 3))
DRAWN = {
    "swiss_roll": lambda seed: data.swiss_roll(9, noise=0.1, random_state=seed)[0],
    "s_curve": lambda seed: data.s_curve(9, random_state=seed)[0],
    "open_box": lambda seed: data.open_box(9, random_state=seed)[0],
    "helix": lambda seed: data.helix(9, random_state=seed)[0],
    "trefoil": lambda seed: data.trefoil(9, random_state=seed)[0],
    "punctured_sphere": lambda seed: data.punctured_sphere(9, random_state=seed)[0],
    "bars": lambda seed: data.bars(9, random_state=seed)[0],
    "clusters": lambda seed: data.clusters(9, random_state=seed)[0],
    "compare_ranks": lambda seed: quality.compare_ranks(X, Y, n_rows=50, random_state=seed).rows,
    "compare_distances": lambda seed: (
        quality.compare_distances(X, Y, n_objects=50, random_state=seed).objects
    ),
    "class_angular_distortion": lambda seed: quality.class_angular_distortion(
        X, Y, y, n_triplets=50, random_state=seed
    ),
    "steadiness_cohesiveness": lambda seed: quality.steadiness_cohesiveness(
        X, NOISE[:, :2], n_walks=5, random_state=seed
    ),
    "suspects": lambda seed: (
        quality.suspects(X, y, n_objects=50, random_state=seed).outlier_factors
    ),
    "stability": lambda seed: (
        quality.stability(
            lowdim.PCA(2), X, how="bootstrap", n_runs=2, null=False, random_state=seed
        ).score
    ),
    "bootstrap": lambda seed: (
        quality.bootstrap(lowdim.ClassicalMDS(2), X[:20], n_samples=3, random_state=seed).stability
    ),
    "fit_vectors": lambda seed: (
        plot.fit_vectors(Y, NOISE, n_permutations=50, random_state=seed).p_values
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_is_used(name):
    first, again, other = (np.asarray(DRAWN[name](seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other, equal_nan=True)
