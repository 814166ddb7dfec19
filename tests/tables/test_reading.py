"""What a table becomes: features, ids, labels, and the choices that are told."""

import sys

import numpy as np
import pytest
from scipy.io import savemat

import lowdim
from lowdim import data, tables
from lowdim.cli.blocked import read_in_blocks
from lowdim.tables import Recipe


def save(tmp_path, text, name="t.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def told(table, words):
    return any(words in note for note in table.notes)


# --- text: how it is written -----------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("header", [True, False])
def test_delimiter_and_header_are_told_from_the_file(delimiter, header, tmp_path):
    rows = [["1.5", "2", "x"], ["-3e2", "4", "y"], ["5", "6.25", "x"]]
    lines = ([["a", "b", "kind"]] if header else []) + rows
    table = tables.read(save(tmp_path, "\n".join(delimiter.join(r) for r in lines), "t.txt"))
    np.testing.assert_array_equal(table.X, [[1.5, 2], [-300, 4], [5, 6.25]])
    assert table.columns == (["a", "b"] if header else ["x0", "x1"])
    assert table.labels["kind" if header else "x2"].tolist() == ["x", "y", "x"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_obeyed(encoding, tmp_path):
    table = tables.read(save(tmp_path, "größe,art\n1,ä\n2,ö\n3,ä\n", encoding=encoding))
    assert table.columns == ["größe"]
    assert table.labels["art"].tolist() == ["ä", "ö", "ä"]


def test_an_encoding_that_is_named(tmp_path):
    path = save(tmp_path, "name,a\nZoë,1\nBob,2\n", encoding="latin-1")
    assert tables.read(path, encoding="latin-1").ids.tolist() == ["Zoë", "Bob"]


def test_decimal_commas(tmp_path):
    table = tables.read(save(tmp_path, "a;b\n1,5;2\n-0,25;1.000,5\n"))
    np.testing.assert_array_equal(table.X, [[1.5, 2], [-0.25, 1000.5]])
    assert told(table, "decimal comma")


def test_quotes_blank_lines_and_line_breaks_in_fields(tmp_path):
    table = tables.read(save(tmp_path, '"a ""x""",b\r\n\r\n"1","one, two"\r\n2,"three\nfour"\r\n'))
    assert table.columns == ['a "x"']
    assert table.ids is None
    assert table.labels["b"].tolist() == ["one, two", "three\nfour"]


def test_row_names_as_r_writes_them(tmp_path):
    table = tables.read(save(tmp_path, "a\tb\nr1\t1\t2\nr2\t3\t4\n", "t.tsv"))
    assert table.columns == ["a", "b"]
    assert table.ids.tolist() == ["r1", "r2"]


def test_numbers_as_column_names(tmp_path):
    table = tables.read(save(tmp_path, "gene,0,1,2\ng1,5,6,7\ng2,8,9,10\n"))
    assert table.columns == ["0", "1", "2"]
    assert table.ids.tolist() == ["g1", "g2"]


def test_a_delimiter_at_the_end_of_every_line(tmp_path):
    table = tables.read(save(tmp_path, "a,b,\n1,2,\n3,4,\n"))
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_repeated_names_are_told_apart(tmp_path):
    table = tables.read(save(tmp_path, "a,a,b\n1,2,3\n4,5,6\n"))
    assert table.columns == ["a", "a.2", "b"]
    assert told(table, "'a.2'")


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def reader(request, monkeypatch):
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    else:
        pytest.importorskip("pyarrow")


def test_text_far_down_turns_a_whole_column_into_text(tmp_path, reader):
    rows = [f"{i},{i % 3}" for i in range(40_000)] + [f"{i},many" for i in range(50_000)]
    table = tables.read(save(tmp_path, "\n".join(["a,b", *rows])))
    assert table.columns == ["a"]
    assert table.labels["b"].tolist() == [str(i % 3) for i in range(40_000)] + ["many"] * 50_000


def test_rows_of_a_long_file_stay_in_order(tmp_path, reader):
    X = np.random.RandomState(0).standard_normal((20_000, 4))
    rows = [",".join([*map(repr, r.tolist()), f"k{i % 2}"]) for i, r in enumerate(X)]
    table = tables.read(save(tmp_path, "\n".join(["a,b,c,d,kind", *rows])))
    np.testing.assert_array_equal(table.X, X)
    assert table.labels["kind"].tolist() == ["k0", "k1"] * 10_000


NASTY = {
    "spaces before quotes": ('n,k\n1, "x, y"\n 2, "z"\n', ["x, y", "z"]),
    "spaces at the start of lines": ('n,k\n "1",a\n 2,b\n', ["a", "b"]),
    "quotes inside": ('n,k\n1,"a ""b"""\n2,5" disk\n', ['a "b"', '5" disk']),
    "line breaks": ('n,k\r\n1,"one\r\ntwo"\r\n2,z\r\n', ["one\r\ntwo", "z"]),
    "old line ends": ("n,k\r1,a\r2,b\r", ["a", "b"]),
    "blank lines": ("\n\nn,k\n\n1,a\n\n2,b\n\n", ["a", "b"]),
    "a long header": ('"n\nof lines",k\n1,a\n2,b\n', ["a", "b"]),
    "dates": ("n,k\n1,2024-02-29\n2,2024-02-30\n", ["2024-02-29", "2024-02-30"]),
    "blanks around": ("n,k\n 1 , a \n2,b\t\n", ["a", "b"]),
    "missing texts": ("n,k\n1, NA \n2,b\n", [None, "b"]),
    "an encoding of one byte": ("n,k\n1,€\n2,b\n".encode("cp1252"), ["€", "b"]),
    "thousands": ("n;k\n1,5;a\n1.000,5;b\n", ["a", "b"]),
}


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.usefixtures("reader")
def test_nasty_files(name, tmp_path):
    text, expected = NASTY[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    table = tables.read(path, encoding="cp1252" if isinstance(text, bytes) else None)
    np.testing.assert_array_equal(table.X, [[1.5], [1000.5]] if name == "thousands" else [[1], [2]])
    values = table.ids if table.ids is not None else next(iter(table.labels.values()))
    assert values.tolist() == expected


@pytest.mark.usefixtures("reader")
def test_lines_of_errors_count_blank_lines_comments_and_line_breaks(tmp_path):
    path = save(tmp_path, 'k,a,b\n\n"x\ny",1,2\n\nz,,4\nw,5,6\n')
    with pytest.raises(tables.DataError, match=r"row 1 \(line 6\), column 'a'"):
        tables.read(path)
    path = save(tmp_path, "# one\na,b\n# two\n1,2\n3,oops\n4,5\n5,6\n")
    with pytest.raises(tables.DataError, match=r"row 1 \(line 5\) has 'oops'"):
        tables.read(path)


@pytest.mark.usefixtures("reader")
def test_a_number_may_mean_a_missing_value(tmp_path):
    path = save(tmp_path, "a,b\n1,2\n-999,4\n5,6\n7,8\n")
    assert tables.read(path, na=["-999"], missing="drop").X[:, 0].tolist() == [1, 5, 7]


@pytest.mark.usefixtures("reader")
def test_a_point_is_no_thousands_separator_elsewhere(tmp_path):
    path = save(tmp_path, "a;b\n1,5;2,5\n2,5;1.5\n3,5;4,5\n")
    with pytest.raises(tables.DataError, match=r"row 1 \(line 3\) has '1\.5'"):
        tables.read(path)


# --- columns: who plays what ------------------------------------------------------------------


FLOWERS = "flower,width,height,species\nf1,1,2,rose\nf2,3,4,lily\nf3,5,6,rose\n"


def test_text_is_carried_as_ids_and_labels_and_the_choice_is_told(tmp_path):
    table = tables.read(save(tmp_path, FLOWERS))
    assert table.columns == ["width", "height"]
    assert table.ids.tolist() == ["f1", "f2", "f3"]
    assert table.labels["species"].tolist() == ["rose", "lily", "rose"]
    assert told(table, "'species' (2 kinds)")
    assert told(table, "'flower' has a different value in each row")


def test_categories_as_the_user_says(tmp_path):
    path = save(tmp_path, FLOWERS)
    assert tables.read(path, categorical="ignore").labels == {}
    table = tables.read(path, categorical="onehot")
    assert table.columns == ["width", "height", "species=lily", "species=rose"]
    np.testing.assert_array_equal(table.X, [[1, 2, 0, 1], [3, 4, 1, 0], [5, 6, 0, 1]])
    table = tables.read(path, categorical="gower")
    assert table.metric == "gower"
    assert table.X.tolist() == [[1, 2, "rose"], [3, 4, "lily"], [5, 6, "rose"]]


def test_features_drop_label_and_id_by_name_and_pattern(tmp_path):
    path = save(tmp_path, "n,p0,p1,q,r\n7,1,2,3,4\n8,5,6,7,8\n")
    table = tables.read(path, features=["p*"], labels=["q"], id="n")
    assert table.columns == ["p0", "p1"]
    assert table.labels["q"].tolist() == [3, 7]
    assert table.labels["q"].dtype.kind == "i"
    assert table.ids.tolist() == ["7", "8"]
    assert tables.read(path, drop=["p*", "q"]).columns == ["n", "r"]


def test_counters_and_targets_are_no_features(tmp_path):
    table = tables.read(save(tmp_path, "id,a,label\n10,1.5,0\n11,2.5,1\n12,3.5,0\n"))
    assert table.columns == ["a"]
    assert table.ids.tolist() == ["10", "11", "12"]
    assert table.labels["label"].tolist() == [0, 1, 0]
    assert told(table, "kept as labels because of their names: 'label'")
    path = save(tmp_path, "a,y\n1.5,0.5\n2.5,0.7\n")
    assert tables.read(path).columns == ["a", "y"], "numbers on a scale are no label"
    path = save(tmp_path, "x,y,z\n1,0,2\n2,5,3\n")
    assert tables.read(path).columns == ["x", "y", "z"], "coordinates are no label"


def test_a_wide_unit_is_pointed_out_and_can_be_evened(tmp_path):
    X = np.random.RandomState(0).standard_normal((20, 3)) * [1, 1, 5000]
    path = save(tmp_path, "\n".join(["a,b,salary", *(",".join(map(str, r)) for r in X)]))
    assert told(tables.read(path), "column 'salary' has a standard deviation")
    table = tables.read(path, standardize=True)
    np.testing.assert_allclose(table.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(table.X.std(axis=0), 1)


def test_columns_whose_squares_overflow(tmp_path):
    path = save(tmp_path, "a,b,c\n0.5,0,1\n1,1e200,7\n2,3e200,5\n3,2e200,6\n")
    assert told(tables.read(path), "column 'b' has a standard deviation")
    X = tables.read(path, standardize=True).X
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


# --- missing values ------------------------------------------------------------------------------


HOLES = "k,a,b\nu,1,2\nv,NA,4\nw,5,?\nx,7,9\n"


def test_missing_values_are_an_error_that_names_the_place(tmp_path):
    with pytest.raises(tables.DataError, match=r"2 values missing in 2 of 4 rows.*line 3.*'a'"):
        tables.read(save(tmp_path, HOLES))


def test_missing_values_dropped_filled_or_kept(tmp_path):
    path = save(tmp_path, HOLES)
    dropped = tables.read(path, missing="drop")
    np.testing.assert_array_equal(dropped.X, [[1, 2], [7, 9]])
    assert dropped.ids.tolist() == ["u", "x"]
    assert told(dropped, "2 of 4 rows have missing values: dropped")
    filled = tables.read(path, missing="mean")
    np.testing.assert_allclose(filled.X, [[1, 2], [13 / 3, 4], [5, 5], [7, 9]])
    assert np.isnan(tables.read(path, missing="keep").X).sum() == 2


def test_further_words_for_missing(tmp_path):
    path = save(tmp_path, "a,b\n1,2\nunknown,4\n5,6\n7,8\n")
    with pytest.raises(tables.DataError, match=r"na=\['unknown'\]"):
        tables.read(path)
    assert tables.read(path, na=["unknown"], missing="drop").n_rows == 3


def test_an_empty_column_is_left_out(tmp_path):
    table = tables.read(save(tmp_path, "a,b,c\n1,,2\n3,NA,4\n5,?,7\n"))
    assert table.columns == ["a", "c"]
    assert told(table, "left out, because no row has a value: 'b'")
    assert list(table.file_columns) == ["a", "b", "c"]
    with pytest.raises(tables.DataError, match="no feature is left: no row has a value in 'a'"):
        tables.read(save(tmp_path, "k,a\nu,\nv,NA\nw,\n"))


@pytest.mark.parametrize("ending", ["jsonl", "xlsx", "parquet", "feather"])
def test_an_empty_column_is_left_out_of_typed_tables(ending, tmp_path):
    write_table(tmp_path / f"t.{ending}", {"a": [1.5, 2.0, 3.0], "b": [None] * 3})
    table = tables.read(tmp_path / f"t.{ending}")
    assert table.columns == ["a"]
    assert told(table, "left out, because no row has a value: 'b'")


@pytest.mark.parametrize("missing", ["error", "drop", "mean", "keep"])
def test_an_empty_column_without_a_name_is_left_out(missing, tmp_path):
    X = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, 4.0], [5.0, np.nan, 7.0]])
    np.save(tmp_path / "t.npy", X)
    table = tables.read(tmp_path / "t.npy", missing=missing)
    np.testing.assert_array_equal(table.X, X[:, [0, 2]])
    assert told(table, "left out, because no row has a value: 'x1'")
    again = tables.read(tmp_path / "t.npy", recipe=table.recipe)
    np.testing.assert_array_equal(again.X, X[:, [0, 2]])


def test_an_empty_column_is_left_out_of_blocks(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    n, kind = 4000, arrow.float64()
    half = arrow.concat_arrays([arrow.nulls(n // 2, kind), arrow.array(np.ones(n // 2))])
    columns = {"a": np.arange(n) / 7, "b": arrow.nulls(n, kind), "c": arrow.nulls(n), "d": half}
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet", row_group_size=500)
    with lowdim.compute(memory="100KB"):
        table = read_in_blocks(tmp_path / "t.parquet")
    assert table.columns == ["a", "d"]
    assert table.labels == {}
    assert told(table, "left out, because no row has a value: 'b', 'c'")


@pytest.mark.parametrize("memory", ["100KB", "1GB"])
def test_roles_of_columns_are_the_same_in_blocks(memory, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    n = 4000
    columns = {
        "x": np.arange(n) / 7, "tweet_id": np.arange(n) + 2**60, "user_id": np.arange(n) % 9,
        "label": np.arange(n) % 3, "kind": ["u", "v"] * (n // 2), "w": np.ones(n),
        "day": ["2024-02-28", "2024-03-02"] * (n // 2),
    }  # fmt: skip
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet", row_group_size=500)
    with lowdim.compute(memory=memory):
        blocked = read_in_blocks(tmp_path / "t.parquet")
        assert (blocked is None) == (memory == "1GB")
        table = blocked or tables.read(tmp_path / "t.parquet")
    assert table.columns == ["x", "w"]
    assert table.ids[:2].tolist() == [str(2**60), str(2**60 + 1)]
    assert set(table.labels) == {"user_id", "label", "kind", "day"}
    assert table.labels["day"].dtype.kind == "M"
    assert told(table, "'tweet_id' has a different value in each row")


# --- True and False ------------------------------------------------------------------------------


def write_table(path, columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: pandas.array(v, dtype=None) for name, v in columns.items()})
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".xlsx":
        frame.astype(object).where(frame.notna(), None).to_excel(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx", "parquet", "feather"])
def test_true_and_false_are_1_and_0_in_every_format(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    columns = {"a": [1.5, 2.5, 4.0], "b": [True, False, True], "c": [False, None, True]}
    write_table(path, columns)
    table = tables.read(path, missing="keep")
    assert table.columns == ["a", "b", "c"]
    np.testing.assert_array_equal(table.X, [[1.5, 1, 0], [2.5, 0, np.nan], [4, 1, 1]])
    labels = tables.read(path, labels=["b", "c"]).labels
    assert labels["b"].tolist() == [1, 0, 1]
    np.testing.assert_array_equal(labels["c"], [0, np.nan, 1])


@pytest.mark.parametrize("ending", ["npy", "npz", "h5", "mat"])
def test_true_and_false_are_1_and_0_in_arrays(ending, tmp_path):
    X, flags = (
        np.array([[True, False], [False, False], [True, True]]),
        np.array([True, False, True]),
    )
    path = tmp_path / f"t.{ending}"
    if ending == "npy":
        np.save(path, X)
    elif ending == "npz":
        np.savez(path, X=X, flag=flags)
    elif ending == "mat":
        savemat(path, {"X": X, "flag": flags})
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["X"], file["flag"] = X, flags
    table = tables.read(path)
    assert np.asarray(table.X).dtype == np.uint8
    assert table.X.tolist() == [[1, 0], [0, 0], [1, 1]]
    if ending != "npy":
        assert table.labels["flag"].tolist() == [1, 0, 1]
        assert table.labels["flag"].dtype != bool


def test_true_and_false_among_other_words_are_text(tmp_path):
    table = tables.read(save(tmp_path, "a,b\n1,TRUE\n2,false\n3,maybe\n4,TRUE\n"))
    assert table.labels["b"].tolist() == ["TRUE", "false", "maybe", "TRUE"]


# --- dates ---------------------------------------------------------------------------------------


DAYS = ["2024-02-29", None, "2024-03-02", "2024-02-28"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx", "parquet", "feather"])
@pytest.mark.parametrize("typed", [True, False])
def test_dates_are_labels_in_every_format(ending, typed, tmp_path):
    pandas = pytest.importorskip("pandas")
    days = pandas.to_datetime(DAYS).date if typed and ending not in ("csv", "jsonl") else DAYS
    days = [None if pandas.isna(day) else day for day in days]
    path = tmp_path / f"t.{ending}"
    write_table(path, {"a": [1.5, 2.5, 4.0, 1.0], "day": days})
    table = tables.read(path)
    assert table.columns == ["a"]
    assert table.labels["day"].dtype.kind == "M"
    np.testing.assert_array_equal(
        table.labels["day"], np.array([day or "NaT" for day in DAYS], dtype="datetime64[ms]")
    )
    assert told(table, "dates are kept as labels: 'day'")
    written = tables.write(tmp_path / "map.csv", table.X, labels=table.labels)
    assert written.read_text().splitlines()[1:3] == ["2024-02-29,1.5", ",2.5"]


def test_moments_are_compared_in_universal_time(tmp_path):
    rows = ["1,2024-02-29T12:30:00Z", "2,2024-02-29 13:30+02:00", "3,2024-02-29T00:00:01"]
    table = tables.read(save(tmp_path, "\n".join(["a,at", *rows])))
    seconds = table.labels["at"].astype("datetime64[s]").astype(str).tolist()
    assert seconds == ["2024-02-29T12:30:00", "2024-02-29T11:30:00", "2024-02-29T00:00:01"]
    assert tables.read(save(tmp_path, "\n".join(["a,at", *rows])), id="at").ids[2] == seconds[2]
    with pytest.raises(tables.DataError, match="features: column 'at' holds dates"):
        tables.read(save(tmp_path, "\n".join(["a,at", *rows])), features=["a", "at"])


# --- the same again -------------------------------------------------------------------------------


def test_a_recipe_does_to_new_data_what_was_done_to_the_old(tmp_path):
    old = save(tmp_path, "a,b,c\n1,2,u\n3,,v\n5,6,u\n", "old.csv")
    options = {"categorical": "onehot", "missing": "mean", "standardize": True, "features": ["*"]}
    table = tables.read(old, **options)
    recipe = Recipe(**table.recipe.to_dict())
    new = save(tmp_path, "who,c,b,a,note\nn1,v,,3,hm\nn2,w,6,5,ha\n", "new.csv")
    with pytest.warns(UserWarning, match="column 'c' has values .* not have: 'w'. In 1 row"):
        again = tables.read(new, recipe=recipe)
    np.testing.assert_allclose(again.X[0], table.X[1])
    np.testing.assert_allclose(again.X[1], [*table.X[2, :2], 0, 0])  # w was never seen
    assert again.ids.tolist() == ["n1", "n2"]
    assert again.labels["note"].tolist() == ["hm", "ha"]
    with pytest.raises(tables.DataError, match="lacks b"):
        tables.read(save(tmp_path, "a,c\n1,u\n2,v\n", "less.csv"), recipe=recipe)


def test_dropped_rows_leave_row_numbers(tmp_path):
    path = save(tmp_path, "a,b\n1,2\n3,\n5,6\n7,1\n")
    table = tables.read(path, missing="drop")
    assert (table.id_name, table.ids.tolist()) == ("row", ["0", "2", "3"])
    again = tables.read(save(tmp_path, "a,b\n,2\n3,4\n5,6\n", "n.csv"), recipe=table.recipe)
    assert again.ids.tolist() == ["1", "2"]
    assert told(again, "1 of 3 rows have missing values")
    assert tables.read(path, missing="mean").ids is None


def test_gower_does_not_hide_missing_text(tmp_path):
    path = save(tmp_path, "age,sex\n1,f\n2,\n3,m\n4,f\n")
    with pytest.raises(tables.DataError, match=r"1 value missing .* column 'sex'.*missing='keep"):
        tables.read(path, categorical="gower")
    assert tables.read(path, categorical="gower", missing="drop").ids.tolist() == ["0", "2", "3"]
    kept = tables.read(path, categorical="gower", missing="keep")
    assert kept.X[1].tolist() == [2.0, None]


# --- distances --------------------------------------------------------------------------------


def test_a_square_symmetric_table_is_taken_as_distances_with_its_names(tmp_path):
    D, names = data.cities()
    lines = [",".join(["city", *names])]
    lines += [
        ",".join([name, *(f"{v:.1f}" for v in row)]) for name, row in zip(names, D, strict=True)
    ]
    path = save(tmp_path, "\n".join(lines))
    table = tables.read(path)
    assert table.metric == "precomputed"
    assert table.ids.tolist() == names
    np.testing.assert_allclose(table.X, D, atol=0.05)
    assert told(table, "taken as distances")
    assert tables.read(path, kind="vectors").metric is None
    bare = save(tmp_path, "\n".join(line.partition(",")[2] for line in lines), "bare.csv")
    assert tables.read(bare).ids.tolist() == names


def test_edges_whole_and_in_part(tmp_path):
    whole = tables.read(save(tmp_path, "i,j,d\nb,a,1\na,c,2\nc,b,3\nb,c,3\n"), kind="edges")
    assert whole.ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(whole.X, [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    part = tables.read(save(tmp_path, "0,10,1.5\n10,20,2\n2,0,7\n"), kind="edges", header=False)
    assert part.ids.tolist() == ["0", "2", "10", "20"]
    assert part.X.nnz == 6
    assert part.X[0, 2] == part.X[2, 0] == 1.5
    assert told(part, "3 of 6 pairs are known")


# --- embeddings and real sets ------------------------------------------------------------------


def test_an_embedding_is_matched_by_ids_and_knows_its_coordinates(tmp_path):
    table = tables.read(save(tmp_path, FLOWERS))
    Y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    order = [2, 0, 1]
    tables.write(
        tmp_path / "map.csv",
        Y[order],
        names=["isomap0", "isomap1"],
        ids=table.ids[order],
        labels={"weight": np.array([7, 8, 9])},
    )
    found, names = tables.read_embedding(tmp_path / "map.csv", table)
    np.testing.assert_array_equal(found, Y)
    assert names == ["isomap0", "isomap1"]
    np.save(tmp_path / "map.npy", Y[:2])
    with pytest.raises(tables.DataError, match=r"map.npy has 2 rows, but t.csv has 3"):
        tables.read_embedding(tmp_path / "map.npy", table)
    tables.write(tmp_path / "some.csv", Y[:2], ids=table.ids[:2])
    with pytest.raises(tables.DataError, match=r"lacks 1 of the 3 objects of t.csv: f3"):
        tables.read_embedding(tmp_path / "some.csv", table)
