"""The Shepard diagram."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import MDS, plot


def test_points_and_line_are_the_pairs(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = MDS(metric_mds=False).fit(X)
    axes = plot.shepard(model, title="order")
    given, distances, disparities = model.shepard()
    np.testing.assert_allclose(axes.collections[0].get_offsets(), np.stack([given, distances], 1))
    np.testing.assert_allclose(axes.lines[0].get_ydata(), disparities)
    assert axes.get_title() == "order"
    axes.figure.savefig(tmp_path / "shepard.png")
    assert plot.shepard(model.shepard(), axes) is axes


def test_arrays_of_unequal_length():
    with pytest.raises(ValueError, match="3, 2, 3 entries"):
        plot.shepard((np.ones(3), np.ones(2), np.ones(3)))
