"""Distances in files: triangles, tables that are almost distances, lists of pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from lowdim import tables

D = squareform(pdist(np.random.default_rng(0).normal(size=(6, 2))).round(3))
NAMES = ["a", "b", "c", "d", "e", "f"]


def save(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def field(value):
    return "" if np.isnan(value) else f"{value:g}"


def written(X, names=True):
    lines = [",".join(["name", *NAMES])] if names else []
    for name, row in zip(NAMES, X, strict=True):
        lines.append(",".join([name] * names + [field(v) for v in row]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("part", [np.tril, np.triu])
@pytest.mark.parametrize("empty", [0.0, np.nan])
@pytest.mark.parametrize("diagonal", [0.0, np.nan])
@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("kind", ["auto", "distances"])
@pytest.mark.parametrize("missing", ["error", "keep"])
def test_a_square_table_with_one_triangle(part, empty, diagonal, names, kind, missing, tmp_path):
    X = np.where(part(np.ones_like(D), -1 if part is np.tril else 1) > 0, D, empty)
    np.fill_diagonal(X, diagonal)
    table = tables.read(save(tmp_path, written(X, names)), kind=kind, missing=missing)
    assert table.metric == "precomputed"
    np.testing.assert_array_equal(table.X, D)
    if names:
        assert table.ids.tolist() == NAMES


@pytest.mark.parametrize("delimiter", [",", " ", "\t"])
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_lines_of_growing_length(delimiter, diagonal, names, upper, tmp_path):
    lines = []
    for i in range(len(D)):
        row = D[i, i + (not diagonal) :] if upper else D[i, : i + diagonal]
        fields = [NAMES[i]] * names + [f"{v:g}" for v in row]
        if fields:
            lines.append(delimiter.join(fields))
    table = tables.read(save(tmp_path, "\n".join(lines) + "\n", "t.txt"))
    assert table.metric == "precomputed"
    np.testing.assert_array_equal(table.X, D)
    if names:
        assert table.ids.tolist() == NAMES


def test_a_triangle_below_a_header(tmp_path):
    lines = [",".join(["", *NAMES])]
    lines += [",".join([NAMES[i], *(f"{v:g}" for v in D[i, : i + 1])]) for i in range(6)]
    table = tables.read(save(tmp_path, "\n".join(lines) + "\n"))
    np.testing.assert_array_equal(table.X, D)
    assert table.ids.tolist() == NAMES
    lines = [",".join(["", *NAMES[:-1]])]  # as R prints a dist object: no line for the first
    lines += [",".join([NAMES[i], *(f"{v:g}" for v in D[i, :i])]) for i in range(1, 6)]
    table = tables.read(save(tmp_path, "\n".join(lines) + "\n", "r.csv"))
    np.testing.assert_array_equal(table.X, D)
    assert table.ids.tolist() == NAMES


def test_one_asymmetric_pair_is_pointed_out(tmp_path):
    X = D.copy()
    X[1, 4] = 9.0
    with pytest.warns(UserWarning, match=r"nearly symmetric, but \[1, 4\] is 9"):
        table = tables.read(save(tmp_path, written(X)))
    assert table.metric is None
    tables.read(save(tmp_path, written(X)), kind="vectors")  # no warning


def test_a_diagonal_that_is_not_zero_is_pointed_out(tmp_path):
    with pytest.warns(UserWarning, match=r"diagonal is not 0 .* similarities"):
        tables.read(save(tmp_path, written(np.exp(-D))))
    with pytest.warns(UserWarning, match=r"below 0"):
        tables.read(save(tmp_path, written(D * np.where(D.max() == D, -1, 1))))


def test_vectors_that_happen_to_be_square_are_vectors(tmp_path):
    X = np.random.default_rng(1).normal(size=(6, 6)).round(2)
    assert tables.read(save(tmp_path, written(X))).metric is None


@pytest.mark.parametrize("names", [NAMES, [11, 12, 13, 14, 15, 16]])
def test_a_list_of_pairs_is_pointed_out(names, tmp_path):
    i, j = np.triu_indices(6, 1)
    rows = [f"{names[a]},{names[b]},{D[a, b]:g}" for a, b in zip(i, j, strict=True)]
    path = save(tmp_path, "\n".join(["from,to,length", *rows]) + "\n")
    with pytest.warns(UserWarning, match="kind='edges'"):
        tables.read(path)
    np.testing.assert_allclose(tables.read(path, kind="edges").X, D)


def test_three_columns_of_measurements_are_vectors(tmp_path):
    X = np.random.default_rng(1).integers(0, 30, size=(60, 3))
    rows = [",".join(map(str, row)) for row in X]
    assert tables.read(save(tmp_path, "\n".join(["r,g,b", *rows]) + "\n")).X.shape == (60, 3)
