"""The loop of a training."""

import pytest

from lowdim.learned.networks.training import batches


@pytest.mark.parametrize(
    ("n", "size", "lengths"),
    [(0, 4, []), (1, 4, [1]), (8, 4, [4, 4]), (9, 4, [4, 5]), (10, 4, [4, 4, 2]), (3, 1, [1] * 3)],
)
def test_the_last_batch_has_two_items_at_least(n, size, lengths):
    found = batches(n, size)
    assert [part.stop - part.start for part in found] == lengths
    assert [i for part in found for i in range(n)[part]] == list(range(n))
