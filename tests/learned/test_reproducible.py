"""Steps of a training that are the same in every run."""

import pytest
import torch

from lowdim.learned.networks.reproducible import Reproducible, deterministic_convolutions
from lowdim.learned.networks.weights import process_generators
from lowdim.runtime.context import current, override


def flags():
    return torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark


def test_convolutions_are_deterministic_until_the_last_of_several_trainings_ends():
    before = flags()
    with deterministic_convolutions:
        deterministic_convolutions.__enter__()  # another thread begins
        assert flags() == (True, False)
    assert flags() == (True, False)  # the first one has ended
    deterministic_convolutions.__exit__()
    assert flags() == before


@pytest.mark.parametrize(
    ("layer", "in_order"),
    [(torch.nn.ReLU(), False), (torch.nn.Dropout(), True), (torch.nn.BatchNorm1d(3), True)],
)
def test_parts_are_in_order_if_the_first_step_draws_or_keeps_sums(layer, in_order):
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), layer)
    reproducible = Reproducible(network, 0)
    with override(threads=2):
        for step, threads in enumerate([1, 1 if in_order else 2]):
            with reproducible.step((0, step)):
                assert current().threads == threads
                network(torch.randn(8, 3, generator=torch.Generator().manual_seed(step)))


def test_numbers_of_a_step_depend_on_its_key_alone():
    def drawn(*key):
        with process_generators(torch.device("cpu"), *key):
            return torch.rand(3)

    assert torch.equal(drawn(0, 1, 2), drawn(0, 1, 2))
    assert not torch.equal(drawn(0, 1, 2), drawn(0, 1, 3))
