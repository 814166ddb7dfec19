"""Standard input, pipes, compressed files, and the formats that need no name."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from lowdim import tables
from lowdim.cli import main

TEXT = "name,a,b\nu,1.5,2\nv,3,4.25\nw,5,6\n"
X = np.array([[1.5, 2], [3, 4.25], [5, 6]])


def check(table):
    np.testing.assert_array_equal(table.X, X)
    assert table.ids.tolist() == ["u", "v", "w"]


def zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_files_are_read(ending, tmp_path):
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(PACKERS[ending](TEXT.encode()))
    check(tables.read(path))


def test_a_compressed_array_is_read(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, X)
    path = tmp_path / "t.npy.gz"
    path.write_bytes(gzip.compress(buffer.getvalue()))
    np.testing.assert_array_equal(tables.read(path).X, X)


def test_a_damaged_archive_is_named_in_one_line(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode() * 50)[:-30])
    with pytest.raises(tables.DataError, match=r"t\.csv\.gz cannot be read as gzip"):
        tables.read(path)
    path.write_bytes(gzip.compress(b"a,b\n1,2\n1\n"))
    with pytest.raises(tables.DataError, match=r"t\.csv\.gz, line 3 has 1 field"):
        tables.read(path)


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TEXT,))
    writer.start()
    check(tables.read(path))
    writer.join()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npy", "csv.gz"])
def test_standard_input_says_what_it_is(kind, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, X)
    held = {
        "csv": TEXT.encode(),
        "csv.gz": gzip.compress(TEXT.encode()),
        "jsonl": b"".join(json.dumps({"a": a, "b": b}).encode() + b"\n" for a, b in X.tolist()),
        "npy": buffer.getvalue(),
    }[kind]
    program = "import lowdim, sys; print(lowdim.tables.read('-').X.tolist())"
    done = subprocess.run([sys.executable, "-c", program], input=held, capture_output=True)
    assert json.loads(done.stdout) == X.tolist(), done.stderr


def test_commands_read_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["embed", "-", "-m", "pca"], input=TEXT)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "map-pca.csv").read_text().startswith("name,pca0,pca1\nu,")
    wrong = CliRunner().invoke(main, ["embed", "-", "-m", "pca", "-f"], input="a,b\n1,2\n3\n")
    assert wrong.exit_code == 3
    assert "standard input, line 3" in wrong.stderr
    wrong = CliRunner().invoke(main, ["embed", "-", "-m", "pca", "-f"], input=b"PK\x03\x04 cut")
    assert wrong.exit_code == 3
    assert "standard input cannot be read as a ZIP archive" in wrong.stderr


def test_the_format_can_be_named(tmp_path):
    path = tmp_path / "data"
    path.write_text(TEXT)
    with pytest.raises(tables.DataError, match=r"no ending.*Set format="):
        tables.read(path)
    check(tables.read(path, format="csv"))
    with pytest.raises(ValueError, match="format must be"):
        tables.read(path, format="docx")
    buffer = tmp_path / "array.bin"
    with open(buffer, "wb") as file:
        np.savez(file, X=X)
    np.testing.assert_array_equal(tables.read(buffer, format="npz").X, X)


def test_json_lines_there_and_back(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [
        {"id": 1501234567890123457, "x": 1, "kind": "a"},
        {"id": 1501234567890123458, "x": 2.5, "kind": None},
        {"id": 7, "x": 4},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    table = tables.read(path)
    assert table.ids.tolist() == ["1501234567890123457", "1501234567890123458", "7"]
    np.testing.assert_array_equal(table.X, [[1], [2.5], [4]])
    assert table.labels["kind"].tolist() == ["a", None, None]
    out = tables.write(tmp_path / "o.jsonl", X, ids=["u", "v", "w"], labels={"k": [1, 2, 3]})
    first = json.loads(out.read_text().splitlines()[0])
    assert first == {"id": "u", "k": 1, "y0": 1.5, "y1": 2.0}
    path.write_text('{"x": 1}\n{"x": \n')
    with pytest.raises(tables.DataError, match="line 2 is not JSON"):
        tables.read(path)
    path.write_text('{"x": [1, 2]}\n{"x": [2, 3]}\n')
    with pytest.raises(tables.DataError, match="column 'x' holds lists"):
        tables.read(path)


def test_excel_there_and_back(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tables.write(tmp_path / "t.xlsx", X, names=["a", "b"], ids=["u", "v", "w"])
    check(tables.read(path))
    book = openpyxl.Workbook()
    book.active.append([1, 2])
    other = book.create_sheet("more")
    for row in (["a", "b", "zip"], [1, None, "007"], [2, 5, "008"], [3, 4, "009"]):
        other.append(row)
    book.save(path)
    table = tables.read(path, key="more", missing="drop", labels=["zip"])
    np.testing.assert_array_equal(table.X, [[2, 5], [3, 4]])
    assert table.labels["zip"].tolist() == ["008", "009"]
    with pytest.raises(tables.DataError, match="no sheet 'none'"):
        tables.read(path, key="none")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_scipy_are_read(form, tmp_path):
    matrix = sparse.random_array((8, 5), density=0.4, rng=np.random.default_rng(0), format=form)
    path = tmp_path / "s.npz"
    sparse.save_npz(path, matrix)
    found = tables.read(path).X
    assert sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


@pytest.mark.parametrize("separator", ["  ", "\t ", " \t"])
def test_columns_separated_by_any_white_space(separator, tmp_path):
    path = tmp_path / "t.dat"
    rows = [["a", "b", "c"], ["1.5", "-2", "3"], ["4", "5.5", "10"]]
    path.write_text("\n".join("  " + separator.join(row) for row in rows))
    table = tables.read(path)
    assert table.columns == ["a", "b", "c"]
    np.testing.assert_array_equal(table.X, [[1.5, -2, 3], [4, 5.5, 10]])


@pytest.mark.parametrize("kind", ["x", "7"])
def test_comments_are_left_out(kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"# made by hand\n#\na,b\n1,{kind}\n# odd\n2,{kind}\n3,{kind}\n")
    table = tables.read(path, labels=["b"])
    np.testing.assert_array_equal(table.X, [[1], [2], [3]])
    path.write_text("# one\n1,2\n3\n")
    with pytest.raises(tables.DataError, match="line 3 has 1 field"):
        tables.read(path)


def test_the_comment_above_the_data_may_be_their_header(tmp_path):
    np.savetxt(tmp_path / "t.txt", X, header="left right")
    assert tables.read(tmp_path / "t.txt").columns == ["left", "right"]
    np.savetxt(tmp_path / "t.txt", X, header="made in two steps, today")
    assert tables.read(tmp_path / "t.txt").columns == ["x0", "x1"]


def test_hash_tags_are_no_comments(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("tag,n,m\n#cat,3,1\n#dog,4,2\n")
    assert tables.read(path).ids.tolist() == ["#cat", "#dog"]
    path.write_text("#cat,3,1\n#dog,4,2\n#owl,5,2\n")
    assert tables.read(path).n_rows == 3


def test_json_lines_in_another_encoding(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes('{"a": 1}\n{"a": 2, "name": "Zürich"}\n'.encode("latin-1"))
    with pytest.raises(tables.DataError, match=r"t\.jsonl is not UTF-8: line 2 .*encoding="):
        tables.read(path)
