"""New objects know their distances to the training objects, however these were given."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from lowdim.objects.new_objects import (
    MeasuredNewObjects,
    NewDissimilarities,
    NewSparseDissimilarities,
    as_new,
    check_relations,
)
from lowdim.objects.objects import objects_of

RANDOM = np.random.default_rng(0)
X, Q = RANDOM.normal(size=(12, 3)), RANDOM.normal(size=(5, 3))
D = cdist(Q, X)
ORDER = np.argsort(D, axis=1)
KNOWN = np.array([3, 8, 1, 10])
KINDS = ("vectors", "sparse vectors", "cityblock", "things", "matrix", "sparse matrix")
TYPES = {
    "matrix": NewDissimilarities,
    "sparse matrix": NewSparseDissimilarities,
}
DENSE = [kind for kind in KINDS if kind != "sparse matrix"]


def gap(a, b):
    return float(np.linalg.norm(a["at"] - b["at"]))


def make(kind):
    if kind in ("vectors", "sparse vectors"):
        form = csr_array if kind == "sparse vectors" else np.asarray
        return MeasuredNewObjects(form(Q), objects_of(form(X)))
    if kind == "cityblock":
        known = objects_of(X, "cityblock")
        return MeasuredNewObjects(known.metric.prepare(Q), known)
    if kind == "things":
        known = objects_of([{"at": x} for x in X], gap)
        return MeasuredNewObjects(known.metric.prepare([{"at": q} for q in Q]), known)
    if kind == "matrix":
        return check_relations(D)
    return check_relations(csr_array(D))


def true(kind):
    return cdist(Q, X, "cityblock") if kind == "cityblock" else D


# --- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind(kind):
    new = make(kind)
    assert type(new) is TYPES.get(kind, MeasuredNewObjects)
    assert new.n == 5


@pytest.mark.parametrize("kind", DENSE)
def test_distances(kind):
    np.testing.assert_allclose(make(kind).distances(), true(kind), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_nearest(kind):
    indices, distances = make(kind).nearest(4)
    order = np.argsort(true(kind), axis=1)[:, :4]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, np.take_along_axis(true(kind), order, axis=1), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_within(kind):
    radius = float(np.median(true(kind)))
    indices, distances = make(kind).within(radius)
    for i, row in enumerate(true(kind)):
        near = np.flatnonzero(row <= radius)
        near = near[np.argsort(row[near])]
        found = np.isfinite(distances[i])
        np.testing.assert_array_equal(indices[i][found], near)
        np.testing.assert_allclose(distances[i][found], row[near], rtol=1e-12)


@pytest.mark.parametrize("kind", DENSE)
def test_within_finds_at_least_the_nearest(kind):
    indices, distances = make(kind).within(0.0)
    np.testing.assert_array_equal(indices[:, 0], true(kind).argmin(axis=1))
    np.testing.assert_allclose(distances[:, 0], true(kind).min(axis=1), rtol=1e-12)
    assert np.isinf(distances[:, 1:]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_within_reach(kind):
    reach = RANDOM.uniform(0.5, 3, size=12)
    new, known, distances = make(kind).within_reach(reach)
    rows, columns = np.nonzero(true(kind) <= reach)
    order = np.lexsort((known, new))
    np.testing.assert_array_equal(new[order], rows)
    np.testing.assert_array_equal(known[order], columns)
    np.testing.assert_allclose(distances[order], true(kind)[rows, columns], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_subset(kind):
    part = make(kind).subset(np.array([4, 0]))
    assert part.n == 2
    np.testing.assert_array_equal(part.nearest(3)[0], np.argsort(true(kind)[[4, 0]])[:, :3])
    one = make(kind).subset(slice(1, 2))
    np.testing.assert_array_equal(one.nearest(3)[0], np.argsort(true(kind)[1:2])[:, :3])


@pytest.mark.parametrize("kind", KINDS)
def test_among(kind):
    part = make(kind).among(KNOWN)
    assert part.n == 5
    indices, distances = part.nearest(4)
    few = true(kind)[:, KNOWN]
    np.testing.assert_array_equal(indices, np.argsort(few, axis=1))
    np.testing.assert_allclose(distances, np.sort(few, axis=1), rtol=1e-12)


@pytest.mark.parametrize("kind", ["vectors", "sparse vectors", "cityblock"])
def test_vectors_are_the_new_rows(kind):
    rows = make(kind).vectors()
    np.testing.assert_array_equal(rows.toarray() if kind == "sparse vectors" else rows, Q)


@pytest.mark.parametrize("kind", ["matrix", "sparse matrix"])
def test_vectors_of_given_relations_are_the_relations(kind):
    rows = make(kind).vectors()
    np.testing.assert_array_equal(rows.toarray() if kind == "sparse matrix" else rows, D)


# --- details of a kind ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_rows_take_the_type_of_the_training_rows(dtype):
    other = np.float64 if dtype == np.float32 else np.float32
    new = MeasuredNewObjects(Q.astype(other), objects_of(X.astype(dtype)))
    assert new.rows.dtype == new.distances().dtype == new.nearest(2)[1].dtype == dtype


def test_a_row_depends_on_itself_alone():
    new = make("vectors")
    for i in range(5):
        alone = new.subset(slice(i, i + 1))
        assert np.array_equal(alone.distances()[0], new.distances()[i])
        assert np.array_equal(alone.nearest(3)[1][0], new.nearest(3)[1][i])


def test_a_metric_without_an_answer_names_the_pair():
    known = objects_of(X[:, :2], "nan_euclidean")
    new = MeasuredNewObjects(known.metric.prepare([[0.0, 1.0], [np.nan, np.nan]]), known)
    message = r"gives NaN for row 1 of X and training object 0\. Remove such objects"
    with pytest.raises(ValueError, match=message):
        new.distances()


def test_unknown_dissimilarities_are_no_neighbors():
    holes = D.copy()
    holes[np.arange(5), ORDER[:, 0]] = np.nan
    new = check_relations(holes, unknown_pairs=True)
    np.testing.assert_array_equal(new.nearest(3)[0], ORDER[:, 1:4])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        check_relations(holes)


def test_a_sparse_matrix_that_may_have_holes_must_be_dense():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        check_relations(csr_array(D), unknown_pairs=True)


# --- given to some of the training objects only ---------------------------------------------------


def test_rows_with_fewer_entries_are_filled_up():
    kept = np.take_along_axis(D, ORDER, axis=1)
    stored = np.where(kept[:, [5]] >= D, D, 0)
    stored[0] = np.where(D[0] <= kept[0, 1], D[0], 0)  # two entries
    indices, distances = check_relations(csr_array(stored)).nearest(4)
    assert np.isinf(distances[0, 2:]).all()
    np.testing.assert_array_equal(indices[0, :2], ORDER[0, :2])
    np.testing.assert_array_equal(indices[1:], ORDER[1:, :4])


def test_stored_zeros_count():
    one = csr_array((np.array([0.0, 2.0]), np.array([7, 3]), np.array([0, 2])), shape=(1, 12))
    new = check_relations(one)
    indices, distances = new.nearest(1)
    assert (indices[0, 0], distances[0, 0]) == (7, 0)
    assert sorted(new.within_reach(np.full(12, 2.0))[1]) == [3, 7]


def test_a_row_without_entries_is_refused():
    empty = D.copy()
    empty[2] = 0
    new = check_relations(csr_array(empty))
    message = re.escape("X: row 2 stores no distance to any training object.")
    with pytest.raises(ValueError, match=f"^{message}$"):
        new.nearest(3)
    with pytest.raises(ValueError, match=f"^{message}$"):
        new.within(1e9)


def test_a_sparse_matrix_does_not_hold_all_distances():
    message = re.escape(
        "X: the dissimilarities to all training objects are needed as a dense array, got a sparse "
        "matrix. Use X.toarray() if it holds them all."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        make("sparse matrix").distances()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_negative_dissimilarities_are_refused(form):
    given = D.copy()
    given[1, 4] = -0.5
    with pytest.raises(
        ValueError, match=r"^X: dissimilarities must not be negative, found -0\.5\.$"
    ):
        check_relations(form(given))


# --- training objects as new ones -----------------------------------------------------------------


def test_training_objects_as_new_ones():
    own = cdist(X, X)
    for objects in (objects_of(X), objects_of(own, "precomputed")):
        new = as_new(objects)
        assert new.n == 12
        np.testing.assert_allclose(new.distances(), own, rtol=1e-12)
        np.testing.assert_array_equal(new.nearest(1)[0][:, 0], np.arange(12))


def test_a_sparse_graph_has_no_objects_to_place_anew():
    with pytest.raises(ValueError, match="dissimilarities of all pairs are needed"):
        as_new(objects_of(csr_array(cdist(X, X)), "precomputed"))
