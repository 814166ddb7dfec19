"""What every method on a neighbour graph promises: shared graphs, and disconnected graphs."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowdim
from helpers import aligned
from lowdim import neighbors

NEEDS_VECTORS = ("LocallyLinearEmbedding",)  # for new objects, and for more than distances
SWIVELS = ("MaximumVarianceUnfolding",)  # components may turn about a single bridge at no cost
ONE_PIECE = ("SpectralClustering",)  # clusters the whole; a map of parts would be none


def close(Y, reference, atol=1e-7):
    atol *= np.nanmax(np.abs(reference))
    np.testing.assert_allclose(aligned(Y, reference), reference, atol=atol)


def reloaded(estimator, tmp_path):
    estimator.save(tmp_path / "model")
    return lowdim.load(tmp_path / "model")


# --- one graph for many methods ----------------------------------------------------------


@pytest.mark.parametrize("k", [8, 20])
def test_a_ready_graph_gives_the_same_bits(graph_case, X, new, k):
    """With as many neighbours as asked for, or more, which are cut."""
    graph = neighbors(X, k)
    given, own = graph_case.make().fit(X, graph=graph), graph_case.make().fit(X)
    np.testing.assert_array_equal(given.embedding_, own.embedding_)
    np.testing.assert_array_equal(given.transform(new), own.transform(new))
    assert given.graph_.n_neighbors == 8
    again = graph_case.make().fit_transform(X, graph=graph)
    np.testing.assert_array_equal(again, own.embedding_)


def test_a_graph_with_too_few_neighbors(graph_case, X):
    with pytest.raises(ValueError, match="graph has 5 neighbours of each object, but"):
        graph_case.make().fit(X, graph=neighbors(X, 5))


def test_a_graph_of_other_data(graph_case, X):
    with pytest.raises(ValueError, match="other data than X"):
        graph_case.make().fit(X, graph=neighbors(X + 0.5, 8))
    with pytest.raises(ValueError, match="graph has 60 objects, but X has 90"):
        graph_case.make().fit(X, graph=neighbors(X[:60], 8))
    with pytest.raises(TypeError, match="graph must be a NeighborGraph"):
        graph_case.make().fit(X, graph=cdist(X, X))


def test_a_graph_in_the_place_of_the_data(graph_case, X, new, tmp_path):
    own = graph_case.make().fit(X)
    estimator = graph_case.make(metric="precomputed")
    if graph_case.name in NEEDS_VECTORS:
        with pytest.raises((ValueError, TypeError), match=r"X.*graph|graph.*X"):
            estimator.fit(neighbors(X, 8))
        return
    estimator.fit(neighbors(X, 12))
    np.testing.assert_array_equal(estimator.embedding_, own.embedding_)
    placed = estimator.transform(cdist(new, X))
    close(placed, own.transform(new), 1e-7)
    loaded = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(loaded.transform(cdist(new, X)), placed)
    objects, weights = estimator.inverse_transform(estimator.embedding_)
    assert objects.shape == weights.shape
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_a_sparse_graph_in_the_place_of_the_data(graph_case, X, new, tmp_path):
    own = graph_case.make().fit(X)
    estimator = graph_case.make(metric="precomputed")
    if graph_case.name in NEEDS_VECTORS:
        with pytest.raises((ValueError, TypeError), match=r"X.*graph|graph.*X"):
            estimator.fit(neighbors(X, 8).csr())
        return
    estimator.fit(neighbors(X, 12).csr())
    close(estimator.embedding_, own.embedding_)
    loaded = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(
        loaded.transform(cdist(new, X)), estimator.transform(cdist(new, X))
    )
    from scipy.sparse import csr_array

    D = cdist(new, X)
    nearest = np.sort(D, axis=1)[:, 30:31]
    sparse = csr_array(np.where(nearest >= D, D, 0))
    close(estimator.transform(sparse), estimator.transform(D))


def test_the_graph_itself_can_be_saved(X, tmp_path):
    graph = neighbors(X, 8)
    graph.save(tmp_path / "graph.npz")
    loaded = lowdim.NeighborGraph.load(tmp_path / "graph.npz")
    np.testing.assert_array_equal(loaded.indices, graph.indices)
    np.testing.assert_array_equal(loaded.distances, graph.distances)
    assert loaded.fingerprint == graph.fingerprint


# --- radius graphs -------------------------------------------------------------------------


def test_radius_graphs(radius_case, X, new, tmp_path):
    estimator = radius_case.make(n_neighbors=None, radius=1.2).fit(X)
    lengths = estimator.graph_.adjacency()
    D = cdist(X, X)
    np.testing.assert_array_equal(lengths.toarray() > 0, (D <= 1.2) & ~np.eye(len(X), dtype=bool))
    placed = estimator.transform(new)
    assert np.isfinite(placed).all()
    alone = np.concatenate([estimator.transform(row[None, :]) for row in new])
    np.testing.assert_allclose(alone, placed, atol=1e-10 * np.abs(placed).max())
    given = radius_case.make(n_neighbors=None, radius=1.2, metric="precomputed").fit(D)
    close(given.embedding_, estimator.embedding_)
    ready = radius_case.make(n_neighbors=None, radius=1.2).fit(X, graph=neighbors(X, radius=1.2))
    np.testing.assert_array_equal(ready.embedding_, estimator.embedding_)
    loaded = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(loaded.transform(new), placed)
    gap = np.abs(estimator.transform(X) - estimator.embedding_).max()
    assert gap <= radius_case.closeness * np.abs(estimator.embedding_).max()


def test_a_given_radius_graph_of_unknown_radius(radius_case, X, new):
    """New objects are linked as the training objects were, not to all of them."""
    named = radius_case.make(n_neighbors=None, radius=1.2).fit(X)
    given = radius_case.make(n_neighbors=None).fit(X, graph=neighbors(X, radius=1.2))
    np.testing.assert_array_equal(given.embedding_, named.embedding_)
    gap = np.abs(given.transform(X) - given.embedding_).max()
    size = np.abs(given.embedding_).max()
    assert gap <= radius_case.closeness * size
    np.testing.assert_allclose(given.transform(new), named.transform(new), atol=0.1 * size)


def test_a_new_object_outside_every_radius(radius_case, X):
    estimator = radius_case.make(n_neighbors=None, radius=1.2).fit(X)
    assert np.isfinite(estimator.transform(np.full((1, 3), 50.0))).all()


# --- disconnected graphs ------------------------------------------------------------------------


def test_join_warns_and_names_the_number(graph_case, two_strips, tmp_path):
    with pytest.warns(UserWarning, match=r"components of the neighbors graph is 2 > 1.*joined"):
        estimator = graph_case.make().fit(two_strips)
    assert np.isfinite(estimator.embedding_).all()
    assert len(estimator.graph_.bridges) == 1
    a, b = estimator.graph_.bridges[0]
    between = cdist(two_strips[:50], two_strips[50:])
    assert np.linalg.norm(two_strips[a] - two_strips[b]) == pytest.approx(between.min())
    assert np.isfinite(estimator.transform(two_strips[::9] + 0.01)).all()
    loaded = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(
        loaded.transform(two_strips[::9]), estimator.transform(two_strips[::9])
    )


def test_the_warning_points_at_the_line_of_the_user(graph_case, two_strips):
    for call in ("fit", "fit_transform"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(graph_case.make(), call)(two_strips)
        assert [w.filename for w in caught if "joined" in str(w.message)] == [__file__]


def test_join_with_dissimilarities(graph_case, two_strips):
    with pytest.warns(UserWarning, match="2 > 1"):
        given = graph_case.make(metric="precomputed").fit(cdist(two_strips, two_strips))
    with pytest.warns(UserWarning, match="2 > 1"):
        own = graph_case.make().fit(two_strips)
    close(given.embedding_, own.embedding_, 5e-3 if graph_case.name in SWIVELS else 1e-6)


def test_join_cannot_be_done_without_distances(graph_case, two_strips):
    if graph_case.name in NEEDS_VECTORS:
        pytest.skip("takes no graph in the place of the data")
    for graph in (neighbors(two_strips, 8), neighbors(two_strips, 8).csr()):
        with pytest.raises(RuntimeError, match=r"2 > 1.*no distances to join"):
            graph_case.make(metric="precomputed").fit(graph)


def test_raise(graph_case, two_strips):
    with pytest.raises(ValueError, match=r"2 > 1.*Raise n_neighbors"):
        graph_case.make(disconnected="raise").fit(two_strips)


def test_largest(graph_case, two_strips, tmp_path):
    estimator = graph_case.make(disconnected="largest")
    if graph_case.name in ONE_PIECE:
        with pytest.raises(ValueError, match="disconnected must be one of 'join', 'raise'"):
            estimator.fit(two_strips)
        return
    with pytest.warns(UserWarning, match=r"2 > 1.*30 objects left out"):
        estimator.fit(two_strips)
    assert np.isnan(estimator.embedding_[50:]).all()
    alone = graph_case.make().fit(two_strips[:50])
    kept = estimator.embedding_[:50]
    shift = kept[0] - alone.embedding_[0]
    close(kept - shift, alone.embedding_)
    placed = estimator.transform(two_strips[:5] + 0.01)
    assert np.isfinite(placed).all()
    close(placed - shift, alone.transform(two_strips[:5] + 0.01))
    back = estimator.inverse_transform(kept[:5])
    assert np.isfinite(back).all()
    loaded = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(loaded.embedding_, estimator.embedding_)
    np.testing.assert_array_equal(loaded.transform(two_strips[:5] + 0.01), placed)


@pytest.mark.parametrize("given", ["vectors", "dissimilarities"])
def test_separate(graph_case, two_strips, given, tmp_path):
    params = {} if given == "vectors" else {"metric": "precomputed"}
    rows = two_strips if given == "vectors" else cdist(two_strips, two_strips)
    if graph_case.name in ONE_PIECE:
        pytest.skip("clusters the whole")
    estimator = graph_case.make(disconnected="separate", **params)
    with pytest.warns(UserWarning, match=r"2 > 1.*2 embedded on their own, 0 objects left out"):
        estimator.fit(rows)
    Y = estimator.embedding_
    assert np.isfinite(Y).all()
    assert Y[:50, 0].max() < Y[50:, 0].min() or Y[50:, 0].max() < Y[:50, 0].min()
    for part in (slice(0, 50), slice(50, 80)):
        inside = rows[part] if given == "vectors" else rows[part, part]
        alone = graph_case.make(**params).fit(inside).embedding_
        close(Y[part] - Y[part].mean(axis=0), alone - alone.mean(axis=0), 1e-6)
    if graph_case.name in NEEDS_VECTORS and params:
        return
    asked = rows[::3]
    placed = estimator.transform(asked)
    tolerance = max(graph_case.closeness, 1e-6) * np.abs(Y).max()
    np.testing.assert_allclose(placed, Y[::3], atol=tolerance)
    alone = np.concatenate([estimator.transform(row[None, :]) for row in asked])
    np.testing.assert_allclose(alone, placed, atol=1e-10 * np.abs(placed).max())
    loaded = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(loaded.transform(asked), placed)


def test_separate_with_a_ready_graph(graph_case, two_strips):
    if graph_case.name in ONE_PIECE:
        pytest.skip("clusters the whole")
    with pytest.warns(UserWarning, match="2 > 1"):
        own = graph_case.make(disconnected="separate").fit(two_strips)
    with pytest.warns(UserWarning, match="2 > 1"):
        given = graph_case.make(disconnected="separate").fit(
            two_strips, graph=neighbors(two_strips, 8)
        )
    np.testing.assert_array_equal(given.embedding_, own.embedding_)


def test_a_connected_fit_after_one_in_components(graph_case, two_strips, X, new):
    if graph_case.name in ONE_PIECE:
        pytest.skip("clusters the whole")
    estimator = graph_case.make(disconnected="separate")
    with pytest.warns(UserWarning, match="2 > 1"):
        estimator.fit(two_strips)
    estimator.fit(X)
    fresh = graph_case.make().fit(X)
    np.testing.assert_array_equal(estimator.embedding_, fresh.embedding_)
    np.testing.assert_array_equal(estimator.transform(new), fresh.transform(new))


def test_components_too_small_to_embed(graph_case, X):
    if graph_case.name in ONE_PIECE:
        pytest.skip("clusters the whole")
    pairs = np.repeat(np.arange(12.0), 2)[:, None] * 100 + np.tile([0.0, 1.0], 12)[:, None]
    for disconnected in ("largest", "separate"):
        estimator = graph_case.make(n_neighbors=1, disconnected=disconnected)
        with pytest.raises(ValueError, match="none of them large enough"):
            estimator.fit(pairs)


@pytest.mark.filterwarnings("ignore:Axes .* of the map are exchangeable")  # far islands
def test_many_components_are_joined(graph_case):
    random = np.random.RandomState(0)
    islands = np.repeat(random.uniform(0, 1000, (7, 3)), 12, axis=0)
    islands += random.standard_normal(islands.shape)
    with pytest.warns(UserWarning, match="7 > 1") as caught:
        estimator = graph_case.make(n_neighbors=8).fit(islands)
    assert len([w for w in caught if re.search("7 > 1", str(w.message))]) == 1
    assert len(estimator.graph_.bridges) == 6
    assert np.isfinite(estimator.embedding_).all()
