"""Ids and labels keep every digit, and columns of ids do not become features unnoticed."""

import csv

import numpy as np
import pytest

from lowdim import tables

BIG = [1501234567890123457, 1501234567890123458, 1501234567890123459]  # equal as float64


def save(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_64_bit_ids_keep_their_digits_in_csv(tmp_path):
    lines = "".join(f"{one},{i}.5,{i}\n" for i, one in enumerate(BIG))
    table = tables.read(save(tmp_path, "tweet,a,b\n" + lines), id="tweet")
    assert table.ids.tolist() == [str(one) for one in BIG]
    path = tables.write(tmp_path / "map.csv", table.X, ids=table.ids, id_name=table.id_name)
    with path.open() as file:
        assert [row["tweet"] for row in csv.DictReader(file)] == [str(one) for one in BIG]


def test_64_bit_labels_keep_their_digits_in_csv(tmp_path):
    lines = "".join(f"{i}.5,{one}\n" for i, one in enumerate(BIG))
    table = tables.read(save(tmp_path, "a,parent\n" + lines), labels=["parent"])
    assert table.labels["parent"].tolist() == BIG


def test_labels_with_gaps_keep_their_digits(tmp_path):
    path = save(tmp_path, f"a,parent\n1,{BIG[0]}\n2,\n3,{BIG[1]}\n")
    table = tables.read(path, labels=["parent"])
    assert table.labels["parent"].tolist() == [str(BIG[0]), None, str(BIG[1])]


def test_ids_that_occur_twice_are_refused_with_their_lines(tmp_path):
    path = save(tmp_path, "name,a,b\nash,1,2\noak,3,4\nash,5,7\n")
    with pytest.raises(tables.DataError, match=r"'ash' .* row 0 \(line 2\) and row 2 \(line 4\)"):
        tables.read(path, id="name")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_64_bit_ids_and_labels_keep_their_digits_in_arrow(ending, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    held = arrow.table({"tweet_id": BIG, "x": [0.5, 1.5, 2.5], "parent": [BIG[2], None, BIG[1]]})
    path = tmp_path / f"t.{ending}"
    (parquet.write_table if ending == "parquet" else feather.write_feather)(held, path)
    table = tables.read(path, labels=["parent"])
    assert table.ids.tolist() == [str(one) for one in BIG]
    assert table.labels["parent"].tolist() == [str(BIG[2]), None, str(BIG[1])]
    assert table.columns == ["x"]


def test_leading_zeros_stay(tmp_path):
    rows = "".join(f"{i:05d},{i},{i % 2:02d}\n" for i in range(200))
    table = tables.read(save(tmp_path, "id,x,zip\n" + rows), labels=["zip"])
    assert table.ids[1] == "00001"
    assert table.ids[150] == "00150"
    assert table.labels["zip"][1] == "01"


def test_numbers_of_objects_in_pairs_keep_their_digits(tmp_path):
    path = save(tmp_path, f"a,b,d\n{BIG[0]},{BIG[1]},1\n{BIG[1]},{BIG[2]},2\n{BIG[0]},{BIG[2]},2\n")
    assert tables.read(path, kind="edges").ids.tolist() == [str(one) for one in BIG]


@pytest.mark.parametrize("name", ["id", "ID", "tweet_id", "customerId", "index"])
@pytest.mark.parametrize("first", [True, False])
def test_a_column_named_as_ids_is_no_feature(name, first, tmp_path):
    columns = {name: [7, 3, 11], "x": [0.5, 1.5, 3.0], "y": [1.0, 4.0, 2.5]}
    order = [name, "x", "y"] if first else ["x", name, "y"]
    rows = "".join(",".join(str(columns[c][i]) for c in order) + "\n" for i in range(3))
    table = tables.read(save(tmp_path, ",".join(order) + "\n" + rows))
    assert table.columns == ["x", "y"]
    assert table.ids.tolist() == ["7", "3", "11"]
    assert any(repr(name) in note for note in table.notes)


def test_repeated_references_are_labels_and_can_be_features(tmp_path):
    path = save(tmp_path, "x,user_id,y\n0.5,4,1\n1.5,4,2\n2.5,9,2\n")
    table = tables.read(path)
    assert table.columns == ["x", "y"]
    assert table.ids is None
    assert table.labels["user_id"].tolist() == [4, 4, 9]
    assert any("'user_id'" in note for note in table.notes)
    assert tables.read(path, features=["x", "user_id"]).columns == ["x", "user_id"]


def test_different_whole_numbers_in_all_rows_are_mentioned(tmp_path):
    rows = "".join(f"{1000 - 7 * i},{i / 3}\n" for i in range(30))
    table = tables.read(save(tmp_path, "ticket,x\n" + rows))
    assert any("'ticket'" in note and "id=" in note for note in table.notes)
    values = np.random.default_rng(0).integers(0, 9, size=(30, 2))
    rows = "".join(f"{a},{b}\n" for a, b in values)
    table = tables.read(save(tmp_path, "a,b\n" + rows))
    assert not any("whole numbers" in note for note in table.notes)
