"""The cross-entropy layout: its forces, its curve, and that it can go on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit

import lowdim
from lowdim import data, neighbors
from lowdim.neighbor_embedding.umap import layout as module
from lowdim.neighbor_embedding.umap.fuzzy_graph import fuzzy_graph
from lowdim.neighbor_embedding.umap.layout import Density, Layout, fit_curve, lay_out
from lowdim.runtime.callbacks import Monitor

CURVE = (1.5769434, 0.8950608)


@pytest.fixture(scope="module")
def graph():
    points, _ = data.s_curve(150, noise=0.02, random_state=0)
    return fuzzy_graph(neighbors(points, 9), 10).matrix


@pytest.fixture(scope="module")
def large():
    points, _ = data.s_curve(1500, noise=0.02, random_state=0)
    return fuzzy_graph(neighbors(points, 9), 10).matrix


def start(n, dim, seed=0):
    return np.random.RandomState(seed).uniform(-5, 5, (n, dim))


def naive_step(W, Y, curve, repulsion):
    """Forces and stiffness by the formulas, all pairs; the loss they are the slope of."""
    a, b = curve
    gap = Y[None] - Y[:, None]
    s = (gap**2).sum(axis=2)
    kept = np.maximum(s, 1e-6)  # nearer than that, forces grow no more
    p = kept**b
    pull = 2 * W * 2 * a * b * p / kept / (1 + a * p)
    push = 2 * b / ((s + 1e-3) * (1 + a * p))
    share = repulsion * W.sum(axis=1) / len(Y)
    force = np.einsum("ij,ijc->ic", pull, gap)
    force -= share[:, None] * np.clip(push[:, :, None] * gap, -4, 4).sum(axis=1)
    return force / (1 + pull.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize("repulsion", [0.0, 1.0])
def test_the_first_step_follows_the_formulas(graph, dim, repulsion):
    Y = start(150, dim)
    layout = Layout(graph, Y, curve=CURVE, n_epochs=10, repulsion=repulsion)
    layout.run(1)
    wanted = Y + naive_step(graph.toarray(), Y, CURVE, 5 * repulsion)
    np.testing.assert_allclose(layout.embedding, wanted, atol=1e-5)


def test_pulls_are_the_slope_of_the_loss(graph):
    """Numerically; a step of rate 1 goes against the slope, divided by the stiffness."""
    W, Y, h = graph.toarray(), start(150, 2), 1e-6

    def loss(Y):
        return Layout(graph, Y, curve=CURVE, n_epochs=1, repulsion=0.0).run(1, loss=True)

    a, b = CURVE
    s = ((Y[None] - Y[:, None]) ** 2).sum(axis=2)
    assert loss(Y) == pytest.approx(float((W * np.log1p(a * s**b)).sum()), rel=1e-6)
    force = naive_step(W, Y, CURVE, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = np.where(W > 0, 4 * W * a * b * s ** (b - 1) / (1 + a * s**b), 0)
    force = force * (1 + pull.sum(axis=1, keepdims=True))

    def exact(Y):
        s = ((Y[None] - Y[:, None]) ** 2).sum(axis=2)
        return float((W * np.log1p(a * s**b)).sum())

    for i, c in [(0, 0), (17, 1), (149, 0)]:
        up, down = Y.copy(), Y.copy()
        up[i, c] += h
        down[i, c] -= h
        assert force[i, c] == pytest.approx(-(exact(up) - exact(down)) / (2 * h), rel=1e-5)


def test_the_loss_of_repulsion(graph):
    a, b = CURVE
    W, Y = graph.toarray(), start(150, 2)
    s = ((Y[None] - Y[:, None]) ** 2).sum(axis=2)
    np.fill_diagonal(s, 1e-6)  # an object meets itself at the least distance
    p = s**b
    share = 5 * W.sum(axis=1) / 150
    wanted = (W * np.log1p(a * p)).sum() - (W.diagonal() * np.log1p(a * p.diagonal())).sum()
    wanted += (share * np.log1p(1 / (a * p)).sum(axis=1)).sum()
    found = Layout(graph, Y, curve=CURVE, n_epochs=1).run(1, loss=True)
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dim", [2, 3])
def test_resuming_equals_one_run(large, dense, dim):
    radii = np.linspace(-1, 1, 1500)
    settings = {
        "curve": CURVE,
        "n_epochs": 30,
        "density": Density(radii, 2.0, 0.5, 0.1) if dense else None,
    }
    Y = start(1500, dim).astype(np.float32)
    with lowdim.compute(n_jobs=1):
        whole = Layout(large, Y, **settings)
        whole.run(30)
    with lowdim.compute(n_jobs=3):
        parts = Layout(large, Y, **settings)
        for epochs in (1, 7, 2, 13, 40):
            parts.run(epochs)
    np.testing.assert_array_equal(whole.embedding, parts.embedding)
    assert whole.embedding.dtype == np.float32


def test_the_seed_matters_where_points_are_drawn(graph, large):
    def made(graph, seed):
        Y = start(graph.shape[0], 2)
        return lay_out(Layout(graph, Y, curve=CURVE, n_epochs=5, seed=seed), Monitor(5))[0]

    assert np.abs(made(large, 0) - made(large, 1)).max() > 1e-3
    np.testing.assert_array_equal(made(graph, 0), made(graph, 1))


def test_drawn_points_push_as_all_do_in_the_mean(large):
    """The mean of many seeds' first steps is the step against all points."""
    Y = start(1500, 2)
    pushed = []
    for seed in range(300):
        layout = Layout(large, Y, curve=CURVE, n_epochs=10, seed=seed)
        layout.run(1)
        pushed.append(layout.embedding - Y)
    pushed = np.array(pushed)
    wanted = naive_step(large.toarray(), Y, CURVE, 5.0)
    error = (pushed.mean(axis=0) - wanted) / (pushed.std(axis=0) / np.sqrt(300) + 1e-12)
    assert np.sqrt(np.mean(error**2)) < 1.15


def test_the_density_term_keeps_density(large):
    radii = np.random.RandomState(0).standard_normal(1500)
    radii = (large @ radii) / large.sum(axis=1)  # smooth over the graph, as radii are

    def correlation(weight):
        layout = Layout(
            large,
            start(1500, 2),
            curve=CURVE,
            n_epochs=200,
            density=Density(radii, weight, 0.5, 0.1),
        )
        Y = lay_out(layout, Monitor(200))[0]
        edges = large.tocoo()
        s = ((Y[edges.row] - Y[edges.col]) ** 2).sum(axis=1)
        q = 1 / (1 + CURVE[0] * s ** CURVE[1])
        mean = np.bincount(edges.row, q * s) / np.bincount(edges.row, q)
        return np.corrcoef(np.log(mean), radii)[0, 1]

    assert correlation(2.0) > max(0.6, correlation(0.0) + 0.3)


def test_the_derivative_of_the_correlation(graph, monkeypatch):
    """What densMAP adds to a step is the slope of weight * total / n * n * correlation."""
    monkeypatch.setattr(module, "MOMENTUM", 0.0)
    Y = start(150, 2)
    radii = np.random.RandomState(1).standard_normal(150)
    layout = Layout(
        graph, Y, curve=CURVE, n_epochs=10, density=Density(radii, 2.0, 1.0, 0.1), repulsion=0.0
    )
    order, W = layout.order, graph.toarray()
    gradient_over_spread, gradient_over_mass = (np.empty(150), np.empty(150))
    gradient_over_spread[order], gradient_over_mass[order] = layout._density_forces()
    a, b = CURVE
    wanted_radii = (radii - radii.mean()) / radii.std()

    def value(Y):
        s = ((Y[None] - Y[:, None]) ** 2).sum(axis=2)
        q = np.where(W > 0, 1 / (1 + a * s**b), 0)
        r = np.log(1e-8 + (q * s).sum(axis=1) / q.sum(axis=1))
        return (r @ wanted_radii) / 149 / np.sqrt(r.var() + 0.1)

    s = ((Y[None] - Y[:, None]) ** 2).sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(W > 0, 1 / (1 + a * s**b), 0)
        bend = np.where(W > 0, a * b * s ** (b - 1) * q, 0)
    worth = q * (
        (1 - b * (1 - q)) * (gradient_over_spread[:, None] + gradient_over_spread)
        + bend * (gradient_over_mass[:, None] + gradient_over_mass)
    )
    force = np.einsum("ij,ijc->ic", worth, Y[:, None] - Y[None])
    scale = 4 * 2.0 * W.sum() / 150 * 149 / 2  # twice for d(s)/dy; by definition of the weights
    h = 1e-5
    for i, c in [(3, 0), (60, 1), (111, 1)]:
        up, down = Y.copy(), Y.copy()
        up[i, c] += h
        down[i, c] -= h
        slope = (value(up) - value(down)) / (2 * h)
        assert force[i, c] == pytest.approx(scale * slope, rel=0.02)


@pytest.mark.parametrize(
    ("spread", "min_dist"), [(1, 0.1), (1, 0.0), (1, 0.5), (2, 0.1), (0.5, 0.2)]
)
def test_the_curve(spread, min_dist):
    x = np.linspace(0, 3 * spread, 300)
    y = np.where(x < min_dist, 1.0, np.exp(-(x - min_dist) / spread))
    wanted, _ = curve_fit(lambda x, a, b: 1 / (1 + a * np.maximum(x, 1e-300) ** (2 * b)), x, y)
    np.testing.assert_allclose(fit_curve(spread, min_dist), wanted, rtol=1e-4)


def test_the_curve_of_the_defaults():
    np.testing.assert_allclose(fit_curve(1.0, 0.1), (1.5769, 0.8951), atol=1e-4)


def test_masses_count_as_repeated_vertices(graph):
    """From a start in which copies coincide, each moves in the direction of its copies."""
    n = 60
    masses = np.random.default_rng(0).integers(1, 6, n).astype(float)
    part = graph[:n, :n].tocsr()
    Y, copies = start(n, 2), np.repeat(np.arange(n), masses.astype(int))
    steps = []
    for W, at, m in ((part, Y, masses), (part[copies][:, copies].tocsr(), Y[copies], None)):
        layout = Layout(W, at, curve=CURVE, n_epochs=10, masses=m)
        layout.run(1)
        steps.append(layout.embedding - at)
    few, many = steps[0][copies], steps[1]  # whose lengths depend on the total weight of a vertex
    few, many = (step / np.linalg.norm(step, axis=1, keepdims=True) for step in (few, many))
    np.testing.assert_allclose(few, many, atol=1e-6)
    plain = Layout(part, Y, curve=CURVE, n_epochs=10)
    plain.run(1)
    assert np.abs(steps[0] - (plain.embedding - Y)).max() > 0.1


@pytest.mark.parametrize("vertices", ["graph", "large"])
def test_equal_masses_change_nothing(vertices, request):
    W = request.getfixturevalue(vertices)
    maps = []
    for masses in (None, np.full(W.shape[0], 7.0)):
        layout = Layout(W, start(W.shape[0], 2), curve=CURVE, n_epochs=10, masses=masses)
        layout.run(5)
        maps.append(layout.embedding)
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-9)
