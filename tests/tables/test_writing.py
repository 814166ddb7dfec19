"""Files are whole or not there, and none is replaced unasked."""

import os

import numpy as np
import pytest

from lowdim import tables
from lowdim.tables.formats import ENDINGS

Y = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("ending", [e for e in ENDINGS if e != ".h5ad"])
def test_an_existing_file_is_replaced_only_by_force(ending, tmp_path):
    path = tmp_path / f"map{ending}"
    path.write_text("precious")
    with pytest.raises(tables.WouldOverwrite, match="force=True"):
        tables.write(path, Y)
    assert path.read_text() == "precious"
    tables.write(path, Y, force=True)
    np.testing.assert_array_equal(tables.read(path).X, Y)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/map.csv", "does not exist"),
        ("map.xyz", "must end in"),
        ("map.h5ad", "can be read, but not written"),
        ("", "folder"),
    ],
)
def test_places_where_nothing_can_be_written(path, message, tmp_path):
    with pytest.raises((OSError, ValueError), match=message):
        tables.write(tmp_path / path, Y)


def test_names_that_clash_are_kept_apart(tmp_path):
    path = tables.write(
        tmp_path / "m.csv", Y, names=["id", "b"], ids=["u", "v", "w"], labels={"b": [1, 2, 3]}
    )
    assert path.read_text().splitlines()[:2] == ["id_,b_label,id,b", "u,1,0.0,1.0"]


@pytest.mark.parametrize(
    ("argument", "value"), [("names", ["a"]), ("ids", [1, 2]), ("labels", {"k": [1]})]
)
def test_what_does_not_fit_is_refused(argument, value, tmp_path):
    with pytest.raises(ValueError, match=argument if argument != "labels" else "k must"):
        tables.write(tmp_path / "m.csv", Y, **{argument: value})
