from __future__ import annotations

import numpy as np
import pytest

from lowdim.objects.landmarks import choose_landmarks


def test_landmarks_are_distinct_sorted_and_repeatable():
    chosen = choose_landmarks(100, 20, 3, 7)
    assert len(set(chosen.tolist())) == 20
    assert (np.diff(chosen) > 0).all()
    assert chosen.min() >= 0
    assert chosen.max() < 100
    assert np.array_equal(chosen, choose_landmarks(100, 20, 3, 7))
    assert not np.array_equal(chosen, choose_landmarks(100, 20, 3, 8))
    assert np.array_equal(choose_landmarks(100, 20, 3, None), choose_landmarks(100, 20, 3, None))


def test_all_objects_can_be_landmarks():
    assert np.array_equal(choose_landmarks(12, 12, 1, 0), np.arange(12))


@pytest.mark.parametrize(("count", "error"), [(2, ValueError), (13, ValueError), (4.0, TypeError)])
def test_landmarks_outside_the_range_are_refused_by_name(count, error):
    with pytest.raises(error, match="n_landmarks must be"):
        choose_landmarks(12, count, 3, 0)
