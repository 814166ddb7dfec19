"""Vectors, biplot axes, ellipses and hulls."""

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.spatial import ConvexHull
from sklearn.linear_model import LinearRegression

from lowdim import MDS, PCA, plot, quality
from lowdim.plot.overlays import ellipse, hull

rng = np.random.default_rng(0)
Y = rng.normal(size=(80, 2)) * [3.0, 1.0] + [10.0, -4.0]


def test_vectors_are_those_of_a_regression():
    variables = {"a": Y @ [1.0, 2.0] + rng.normal(size=80), "noise": rng.normal(size=80)}
    fit = plot.fit_vectors(Y, variables, n_permutations=199, random_state=0)
    for place, values in enumerate(variables.values()):
        model = LinearRegression().fit(Y, values)
        assert fit.r2[place] == pytest.approx(model.score(Y, values))
        direction = model.coef_ / np.linalg.norm(model.coef_)
        np.testing.assert_allclose(fit.directions[place], direction, atol=1e-9)
    assert fit.p_values[0] == pytest.approx(1 / 200)
    assert fit.p_values[1] > 0.05
    assert "noise" in str(fit)
    assert "<table>" in fit._repr_html_()


def test_p_values_of_noise_are_uniform():
    noise = rng.normal(size=(80, 200))
    p = plot.fit_vectors(Y, noise, n_permutations=99, random_state=0).p_values
    assert 0.02 < (p <= 0.1).mean() < 0.2
    assert 0.4 < p.mean() < 0.6


def test_vectors_are_drawn_if_they_matter():
    variables = {"real": Y[:, 0], "noise": rng.normal(size=80)}
    fit = plot.fit_vectors(Y, variables, n_permutations=99, random_state=0)
    ax = plot.scatter(Y)
    plot.vectors(fit, ax, p_max=0.02)
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["real"]
    with pytest.raises(ValueError, match="'short' has shape"):
        plot.fit_vectors(Y, {"short": [1.0, 2.0]})


def test_missing_values_are_left_out():
    values = Y[:, 0].copy()
    values[3] = np.nan
    fit = plot.fit_vectors(Y, {"a": values}, n_permutations=0)
    assert fit.r2[0] == pytest.approx(1)


def test_values_are_read_from_biplot_axes():
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 4)) + [5, 0, 0, 0]  # a plane
    Z = PCA(n_components=2).fit_transform(X)
    ax = plot.scatter(Z)
    plot.biplot_axes(Z, {"first": X[:, 0]}, ax)
    marks = {
        float(text.get_text()): np.array(text.xy)
        for text in ax.texts
        if text.get_text() not in ("", "first")
    }
    assert len(marks) >= 2
    (low, at), (high, to) = min(marks.items()), max(marks.items())
    along = (to - at) / ((to - at) @ (to - at))
    predicted = low + (high - low) * ((Z - at) @ along)
    np.testing.assert_allclose(predicted, X[:, 0], atol=1e-8)


def test_ellipses_hold_the_share_they_promise():
    points = rng.multivariate_normal([1, 2], [[4, 1.5], [1.5, 1]], size=4000)
    inside = Path(ellipse(points, 0.8)).contains_points(points)
    assert abs(inside.mean() - 0.8) < 0.03
    hits = 0
    for _ in range(300):
        sample = rng.multivariate_normal([1, 2], [[4, 1.5], [1.5, 1]], size=12)
        hits += Path(ellipse(sample, 0.9, "mean")).contains_point([1, 2])
    assert abs(hits / 300 - 0.9) < 0.06


def test_hulls_hold_all_points():
    corners = hull(Y)
    assert len(corners) == len(ConvexHull(Y).vertices)
    grown = corners.mean(axis=0) + 1.0001 * (corners - corners.mean(axis=0))
    assert Path(grown).contains_points(Y).all()


@pytest.mark.parametrize("kind", ["ellipse", "hull"])
def test_groups_have_the_colours_of_the_map(kind):
    labels = np.array(["a", "b", "c", None] * 20, dtype=object)
    labels[labels == "c"] = "b"
    labels[0] = "alone"
    ax = plot.scatter(Y, labels)
    plot.groups(Y, labels, ax, kind=kind)
    assert len(ax.patches) == 2  # neither the missing ones nor the one that is alone
    shades = {tuple(handle.get_color()) for handle in ax.get_legend().legend_handles}
    assert {tuple(patch.get_edgecolor()) for patch in ax.patches} <= shades
    with pytest.raises(ValueError, match="groups need classes"):
        plot.groups(Y, Y[:, 0], ax)


def test_confidence_regions_are_drawn_around_the_places_of_the_map():
    X = Y[:12] @ rng.normal(size=(2, 60)) + rng.normal(size=(12, 60))
    result = quality.bootstrap(MDS(), X, n_samples=40, random_state=0)
    labels = np.repeat(["a", "b"], 6)
    ax = plot.scatter(result.base, labels)
    plot.ellipses(result, ax, labels=labels, level=0.5)
    assert len(ax.patches) == 12
    middles = [patch.get_xy()[:99].mean(axis=0) for patch in ax.patches]
    np.testing.assert_allclose(middles, result.base, atol=1e-6)
    assert len({tuple(patch.get_edgecolor()) for patch in ax.patches}) == 2
    own = result.replications[:, 3] - result.replications[:, 3].mean(axis=0) + result.base[3]
    inside = Path(ax.patches[3].get_xy()).contains_points(own).mean()
    assert 0.3 < inside < 0.7
    with pytest.raises(ValueError, match="level must be"):
        plot.ellipses(result, ax, level=95)
    flat = quality.bootstrap(MDS(3), X, n_samples=3)
    with pytest.raises(ValueError, match="two dimensions"):
        plot.ellipses(flat, ax)


def test_drift_vectors_are_sums_of_skew_dissimilarities():
    D = np.abs(rng.normal(size=(6, 6)))
    np.fill_diagonal(D, 0)
    Z = MDS(metric="precomputed").fit_transform((D + D.T) / 2)
    ax = plot.scatter(Z)
    drift = plot.drift_vectors(Z, D, ax)
    for i in range(6):
        others = [j for j in range(6) if j != i]
        towards = [(Z[j] - Z[i]) / np.linalg.norm(Z[j] - Z[i]) for j in others]
        pulls = [(D[j, i] - D[i, j]) / 2 for j in others]
        np.testing.assert_allclose(drift[i], np.mean(np.array(pulls)[:, None] * towards, axis=0))
    assert len(ax.texts) == 6
    np.testing.assert_allclose(plot.drift_vectors(Z, D + D.T, None), 0, atol=1e-12)
    with pytest.raises(ValueError, match=r"plot.drift_vectors"):
        MDS(metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="6 objects"):
        plot.drift_vectors(Z, D[:5], ax)


def test_a_slope_on_the_map_is_where_objects_drift_down():
    """A hill: to climb adds to the distance what to descend takes away."""
    Z = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    height = Z[:, 0]
    D = np.linalg.norm(Z[:, None] - Z, axis=2) + 0.2 * (height[None] - height[:, None])
    np.fill_diagonal(D, 0)
    drift = plot.drift_vectors(Z, D, None)
    assert (drift[:, 0] < 0).all()
    assert drift[:, 1].sum() == pytest.approx(0, abs=1e-12)
