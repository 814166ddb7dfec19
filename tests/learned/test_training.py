"""The loop of a training."""

import numpy as np
import pytest
import torch

from lowdim.learned.networks.training import Problem, Settings, batches, train
from lowdim.runtime.callbacks import Monitor


@pytest.mark.parametrize(
    ("n", "size", "lengths"),
    [(0, 4, []), (1, 4, [1]), (8, 4, [4, 4]), (9, 4, [4, 5]), (10, 4, [4, 4, 2]), (3, 1, [1] * 3)],
)
def test_the_last_batch_has_two_items_at_least(n, size, lengths):
    found = batches(n, size)
    assert [part.stop - part.start for part in found] == lengths
    assert [i for part in found for i in range(n)[part]] == list(range(n))


def test_the_order_of_the_items_depends_on_the_seed_and_the_epoch():
    class Watched(Problem):
        n = 20

        def __init__(self):
            self.seen = []

        def gradient(self, network, items, key):
            self.seen += items.tolist()
            return 1.0, [torch.zeros_like(one) for one in network.parameters()]

    problems = []
    for seed in (0, 0, 1):
        problems.append(problem := Watched())
        settings = Settings(2, 5, 0.1, "constant", 9, 0.0, seed)
        train(torch.nn.Linear(1, 1), problem, settings, Monitor(2), lambda: np.empty((0, 0)))
        first, second = problem.seen[:20], problem.seen[20:]
        assert sorted(first) == sorted(second) == list(range(20))
        assert first != second
    one, same, other = (problem.seen for problem in problems)
    assert one == same != other
