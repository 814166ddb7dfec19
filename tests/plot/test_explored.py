"""Names of regions, arrows of features, and fading by reliability."""

from itertools import combinations

import numpy as np
import pytest

import lowdim
from lowdim import plot

X, y = lowdim.data.clusters(300, random_state=0)
Y = lowdim.PCA(2).fit_transform(X)


def boxes(ax):
    ax.figure.draw_without_rendering()
    return [text.get_window_extent() for text in ax.texts if text.get_text()]


def test_names_of_regions_do_not_overlap_and_the_important_ones_are_written():
    rng = np.random.default_rng(0)
    centers = np.stack(np.meshgrid(np.arange(6), np.arange(8)), axis=-1).reshape(-1, 2)
    kinds = np.repeat(np.arange(48), 30)
    places = centers[kinds] + rng.normal(scale=0.05, size=(len(kinds), 2))
    found = lowdim.regions(places, labels=[f"a group with the number {kind}" for kind in kinds])
    ax = plot.scatter(places)
    plot.region_names(found, ax)
    written = boxes(ax)
    assert 5 < len(written) < found.n_leaves
    assert not any(a.overlaps(b) for a, b in combinations(written, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= b.x0 and b.x1 <= frame.x1 for b in written)
    assert all(frame.y0 <= b.y0 and b.y1 <= frame.y1 for b in written)
    first = min(found.leaves, key=lambda one: (one.level, -one.size))
    assert ax.texts[0].get_text().split() == first.name.split()


def test_names_of_k_regions_stand_at_their_centers():
    found = lowdim.regions(Y, labels=y)
    ax = plot.scatter(Y)
    plot.region_names(found, ax, k=2)
    assert {text.get_text() for text in ax.texts} == set(found.at(2).names)
    with pytest.raises(ValueError, match="two dimensions"):
        plot.region_names(lowdim.regions(X[:, :3]), ax)


def test_arrows_have_the_direction_and_the_strength_of_the_features():
    rng = np.random.default_rng(0)
    table = {
        "east": Y[:, 0],
        "north": Y[:, 1] + rng.normal(size=300),
        "noise": rng.normal(size=300),
    }
    names, values = list(table), np.column_stack(list(table.values()))
    reasons = lowdim.explain(Y, values, feature_names=names)
    ax = plot.scatter(Y)
    plot.feature_arrows(reasons, ax)
    arrows = [np.subtract(one.xy, one.xyann) for one in ax.texts if not one.get_text()]
    assert [text.get_text() for text in ax.texts if text.get_text()] == reasons.top(len(arrows))
    assert "noise" not in reasons.top(len(arrows))
    lengths = [np.hypot(*arrow) for arrow in arrows]
    shown = [names.index(name) for name in reasons.top(2)]
    for at, arrow, length in zip(shown, arrows, lengths, strict=False):
        slope = reasons.directions[at]
        np.testing.assert_allclose(arrow / length, slope / np.hypot(*slope), atol=1e-9)
    strengths = np.sqrt(reasons.linear_r2[shown])
    assert lengths[1] / lengths[0] == pytest.approx(strengths[1] / strengths[0])


def test_names_of_arrows_in_one_direction_do_not_overlap():
    noise = np.random.default_rng(0).normal(scale=0.1, size=(4, 300))
    fit = plot.fit_vectors(Y, {f"feature {i}": Y[:, 0] + noise[i] for i in range(4)})
    ax = plot.scatter(Y)
    plot.vectors(fit, ax)
    assert len(boxes(ax)) == 4
    assert not any(a.overlaps(b) for a, b in combinations(boxes(ax), 2))


def test_unreliable_points_fade_and_the_legend_does_not():
    trust = lowdim.quality.reliability(Y, X)
    order = plot.scatter(Y, color="black", reliability=trust).collections[0]
    spots = {tuple(place): row for row, place in enumerate(Y)}
    rows = [spots[tuple(place)] for place in order.get_offsets()]
    np.testing.assert_allclose(
        order.get_facecolors()[:, 0], 0.92 * (1 - trust.score[rows]), atol=1e-9
    )
    legends = [plot.scatter(Y, y, reliability=r).get_legend() for r in (None, trust)]
    plain, faded = ([line.get_color() for line in one.legend_handles] for one in legends)
    assert plain == faded
    with pytest.raises(ValueError, match=r"reliability must hold numbers in \[0, 1\]"):
        plot.scatter(Y, reliability=np.full(300, 2.0))


def test_regions_are_named_and_changes_are_coloured_in_one_call():
    found = lowdim.regions(Y, labels=y)
    ax = plot.scatter(Y, y, legend="none", regions=found)
    assert {text.get_text() for text in ax.texts} <= {one.name for one in found.leaves}
    assert len(ax.texts) >= 2
    table = np.column_stack([np.minimum(Y[:, 0], 0), np.maximum(Y[:, 0], 0)])
    reasons = lowdim.explain(Y, table, feature_names=["left", "right"])
    ax = plot.feature_changes(reasons, Y)
    written = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(text.startswith("left") for text in written)
    assert any(text.startswith("right") for text in written)
