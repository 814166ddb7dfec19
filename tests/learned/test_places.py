"""Places on a map between which a network chooses."""

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from lowdim.learned.parametric.places import (
    FIRST_SHARPNESS,
    SHARPNESS,
    PlaceMixture,
    k_means,
    number_of_places,
)


def inertia(Y, centers):
    return np.square(Y[:, None] - centers[None]).sum(axis=2).min(axis=1).mean()


def test_centers_are_as_good_as_those_of_scikit_learn():
    Y = np.random.default_rng(0).normal(size=(600, 2)).astype(np.float32)
    peer = KMeans(40, init="random", n_init=1, max_iter=20, random_state=0).fit(Y)
    assert inertia(Y, k_means(Y, 40, 0)) < 1.1 * inertia(Y, peer.cluster_centers_)


def test_as_many_centers_as_points_are_the_points():
    Y = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(k_means(Y, 30, 0), Y)


def test_centers_of_equal_points_are_these_points():
    np.testing.assert_array_equal(k_means(np.ones((40, 2)), 10, 0), np.ones((10, 2)))


def test_numbers_of_places():
    assert [number_of_places(n) for n in (3, 100, 1000, 60_000)] == [3, 32, 200, 2000]


def mixture(places):
    """A network whose scores are its inputs."""
    found = PlaceMixture(torch.nn.Identity(), len(places), places.shape[1]).double()
    with torch.no_grad():
        found.places.copy_(torch.as_tensor(places))
    return found


def test_the_output_is_the_mean_of_the_places_weighted_by_the_softmax():
    places = np.random.default_rng(0).normal(size=(7, 2))
    network = mixture(places)
    network.sharpen()
    scores = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = np.exp(SHARPNESS * scores.numpy())
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network(scores).detach().numpy(), weights @ places)


@pytest.mark.parametrize("places", [np.zeros((1, 2)), np.zeros((5, 2)), 3 * np.eye(4)])
def test_the_scores_of_least_loss_are_a_kernel_around_the_wanted_place(places):
    """Sharpened as in the imitation, it is a Gaussian kernel as wide as the places are apart."""
    network = mixture(places)
    wanted = torch.as_tensor(places[:1])
    terms = network.imitation(lambda squares: 0 * squares)
    scores = torch.zeros(1, len(places), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([scores], max_iter=200, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        found = terms(network, scores, wanted).sum()
        found.backward()
        return found

    optimizer.step(loss)
    kernel = np.exp(-np.square(places - places[:1]).sum(axis=1) / (2 * 18))  # spacing^2 is 18
    sharpened = torch.softmax(FIRST_SHARPNESS * scores, dim=1).detach().numpy()[0]
    np.testing.assert_allclose(sharpened, kernel / kernel.sum(), atol=1e-4)


def test_an_output_far_from_its_place_is_attracted():
    network = mixture(np.array([[0.0, 0.0], [8.0, 0.0]]))
    terms = network.imitation(torch.log1p)
    scores, wanted = torch.zeros(1, 2, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    right = torch.tensor([[9.0, 0.0]], dtype=torch.float64)
    without = network.imitation(lambda squares: 0 * squares)
    with torch.no_grad():
        near, far = (
            float(terms(network, one, wanted) - without(network, one, wanted))
            for one in (right, scores)
        )
    np.testing.assert_allclose(near, 0, atol=1e-6)
    np.testing.assert_allclose(far, np.log1p(16))  # half way between the places
