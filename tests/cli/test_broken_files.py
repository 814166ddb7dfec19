"""A file that cannot be used: one clear line, a code that says so, and nothing lost."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from lowdim.cli import main
from lowdim.runtime import memory


class Broken(NamedTuple):
    """How to make the file, the options to read it with, and a part of the one line."""

    name: str
    make: Callable[[Path], object]
    says: str
    options: tuple[str, ...] = ()


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content.encode(encoding))


def raw(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def grid(n: int = 5, d: int = 3) -> str:
    rows = np.random.RandomState(0).uniform(size=(n, d)).round(3)
    return "\n".join([",".join(f"c{i}" for i in range(d)), *(",".join(map(str, r)) for r in rows)])


def cut(name: str) -> Callable[[Path], object]:
    """The first half of a good file."""

    def make(path: Path) -> None:
        from lowdim import tables

        whole = path.with_name(f"whole-{name}")
        tables.write(whole, np.random.RandomState(0).uniform(size=(500, 4)))
        path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        whole.unlink()

    return make


def lying(path: Path, n_columns: int = 1_000_000) -> int:
    """An array whose header declares more than the archive holds; returns what it holds."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1_000_000, n_columns)}
    )
    member = header.getvalue() + bytes(1000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", member)
    return len(member)


def bomb(path: Path) -> None:
    """A zip that declares four terabytes, in its own directory too."""
    held = lying(path, 500_000).to_bytes(4, "little")
    declared = (0xFFFFFFF0).to_bytes(4, "little")  # as much as a plain zip can declare
    path.write_bytes(path.read_bytes().replace(held, declared))


def pickled(path: Path) -> None:
    np.save(path, np.array([[{"a": 1}], [None]], dtype=object), allow_pickle=True)


def wide(path: Path) -> None:
    """Ten thousand columns, the last line a field short."""
    row = ",".join(["1"] * 10_000)
    header = ",".join(f"c{i}" for i in range(10_000))
    path.write_text("\n".join([header, row, row, row[:-2]]))


BROKEN = [
    Broken("empty.csv", raw(b""), "is empty"),
    Broken("blank.csv", raw(b"\n\n  \n"), "is empty"),
    Broken("header-only.csv", text("a,b,c\n"), "column names but no rows"),
    Broken("one-row.csv", text("a,b\n1,2\n"), "holds 1 object; a map needs at least 2"),
    Broken("all-text.csv", text("a,b\nx,y\nz,w\nx,y\n"), "no column of numbers"),
    Broken("ragged.csv", text("a,b,c\n1,2,3\n4,5\n6,7,8\n"), "line 3 has 2 fields"),
    Broken(
        "mixed.csv",
        text("a,b\n1,2\n2,oops\n3,4\n4,5\n"),
        "column 'b' holds numbers (3 of 4), but row 1 (line 3) has 'oops'",
    ),
    Broken(
        "wrong-delimiter.csv",
        text("a,b\n1,2\n3,4\n"),
        "look separated by comma",
        ("--delimiter", ";"),
    ),
    Broken("open-quote.csv", text('a,b\n1,"2\n3,4\n'), "never closed"),
    Broken("missing.csv", text("a,b\n1,2\n,4\n5,6\n"), "row 1 (line 3), column 'a'"),
    Broken("infinite.csv", text("a,b\n1,2\n3,inf\n"), "row 1 (line 3), column 'b' is infinite"),
    Broken("latin.csv", text("name,a,b\nZoë,1,2\nBob,3,4\n", "latin-1"), "--encoding latin-1"),
    Broken("binary.csv", raw(bytes(range(256)) * 4), "not plain text"),
    Broken("twins.csv", text("id,a\nx,1\ny,2\nx,3\n"), "'x' occurs in", ("--id", "id")),
    Broken("no-such.csv", text(grid()), "no column 'speces'", ("--label", "speces")),
    Broken("wide.csv", wide, "line 4 has 9,999 fields"),
    Broken("not-square.csv", text(grid(5, 3)), "must be square", ("--as", "distances")),
    Broken(
        "one-way.csv",
        text("0,1,2\n1,0,3\n2,4,0\n"),
        "[1, 2] is 3 and [2, 1] is 4",
        ("--as", "distances", "--no-header"),
    ),
    Broken(
        "negative.csv", text("0,-1\n-1,0\n"), "is -1, below 0", ("--as", "distances", "--no-header")
    ),
    Broken("edges.csv", text("a,b,km\nx,y,1\ny,x,2\n"), "two distances", ("--as", "edges")),
    Broken("cut.parquet", cut("cut.parquet"), "cut short"),
    Broken("cut.feather", cut("cut.feather"), "cut short"),
    Broken("cut.npz", cut("cut.npz"), "cut short"),
    Broken("cut.npy", cut("cut.npy"), "cut short"),
    Broken("cut.h5", cut("cut.h5"), "cut short"),
    Broken("cut.mat", cut("cut.mat"), "cut short"),
    Broken("other.h5ad", cut("other.h5"), "cut short"),
    Broken("csv.parquet", text(grid()), "cannot be read as Parquet"),
    Broken("pickle.npy", pickled, "pickled"),
    Broken("lying.npz", lying, "cannot be read as NumPy"),
    Broken("data.xlsx", raw(b"PK"), "cannot be read as Excel"),
    Broken("data.zip", raw(b"PK"), "unpack it first"),
    Broken("no-ending", text(grid()), "no ending"),
]


def embed(path, out, *options):
    arguments = ["embed", str(path), "-m", "pca", "-o", str(out), "--force", "--quiet", *options]
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_a_broken_file_gets_one_line_and_nothing_is_lost(case, tmp_path):
    path, out = tmp_path / case.name, tmp_path / "out.csv"
    case.make(path)
    content = path.read_bytes()
    out.write_text("precious")
    result = embed(path, out, *case.options)
    assert result.exit_code == 3, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("lowdim: ")
    assert case.says in line
    assert case.name in line
    assert len(line) < 400
    assert path.read_bytes() == content
    assert out.read_text() == "precious"
    assert {p.name for p in tmp_path.iterdir()} == {case.name, "out.csv"}


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000_000_000)
    bomb(tmp_path / "bomb.npz")
    result = embed(tmp_path / "bomb.npz", tmp_path / "out.csv")
    assert result.exit_code == 5
    (line,) = result.stderr.splitlines()
    assert "needs 4.3 GB, but only 1.0 GB" in line


@pytest.mark.parametrize("name", ["missing.csv", "folder-that-is-not"])
def test_a_file_that_is_not_there(name, tmp_path):
    result = embed(tmp_path / name, tmp_path / "out.csv")
    assert result.exit_code == 3
    assert result.stderr.splitlines() == [f"lowdim: {tmp_path / name} does not exist."]


def test_an_empty_folder_and_a_broken_image(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    assert "holds no images" in embed(folder, tmp_path / "out.csv").stderr
    (folder / "a.png").write_bytes(b"\x89PNG and no more")
    result = embed(folder, tmp_path / "out.csv")
    assert result.exit_code == 3
    assert "a.png cannot be read as an image" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_ten_thousand_columns_are_no_reason_to_fail(tmp_path):
    rows = [",".join(str((i * j) % 7) for j in range(10_000)) for i in range(1, 5)]
    header = ",".join(f"gene{i}" for i in range(10_000))
    (tmp_path / "wide.csv").write_text("\n".join([header, *rows]))
    arguments = ["embed", tmp_path / "wide.csv", "-m", "pca", "-o", tmp_path / "o.csv"]
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    assert "4 objects x 10,000 features" in result.stderr
    assert max(map(len, result.stderr.splitlines())) < 200
