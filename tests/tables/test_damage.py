"""Whatever stands in a file, reading it gives a table or a DataError, never anything else."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import write_h5ad
from lowdim import tables

SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
BINARY = [".npy", ".npz", ".parquet", ".feather", ".h5", ".h5ad", ".mat"]


def read(path):
    found = outcome(path)
    if isinstance(found, Exception):
        assert "\n" not in str(found)
        assert path.name in str(found)
    else:
        assert found.X.shape[0] >= 2
        assert str(found)


def outcome(path):
    try:
        return tables.read(path)
    except (tables.DataError, MemoryError) as error:
        return error


@SETTINGS
@given(st.binary(max_size=200))
def test_any_bytes_as_text(tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    read(path)


CELL = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(allow_nan=True).map(str),
    st.sampled_from(["", "NA", "x", "y,z", '"', "'", ";", "1,5", "1.000,5", "é", "-", "inf", "id"]),
)


@pytest.mark.filterwarnings("ignore::UserWarning")  # equal rows, almost distances
@SETTINGS
@given(st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=8), st.sampled_from(",;\t| "))
def test_any_cells_as_text(tmp_path, rows, delimiter):
    path = tmp_path / "any.csv"
    path.write_text("\n".join(delimiter.join(row) for row in rows), encoding="utf-8")
    read(path)


@pytest.mark.parametrize("ending", BINARY)
@settings(SETTINGS, max_examples=25)
@given(st.data())
def test_files_cut_short_or_with_a_wrong_byte(tmp_path, ending, data_):
    whole = tmp_path / f"whole{ending}"
    if not whole.exists():
        X = np.random.RandomState(0).standard_normal((20, 3))
        if ending == ".h5ad":
            write_h5ad(whole)
        else:
            labels = {"k": np.arange(20)}
            tables.write(whole, X, ids=np.arange(20).astype(str), labels=labels)
    content = bytearray(whole.read_bytes())
    # A wrong byte in a heap of attributes can keep the HDF5 library itself busy for ever.
    if ending.startswith(".h5") or data_.draw(st.booleans()):
        content = content[: data_.draw(st.integers(0, len(content) - 1))]
    else:
        content[data_.draw(st.integers(0, len(content) - 1))] = data_.draw(st.integers(0, 255))
    path = tmp_path / f"hurt{ending}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's and NumPy's opinions on odd numbers
        read(path)


def content(path):
    """All that a table holds, or the message of the error."""
    found = outcome(path)
    if isinstance(found, Exception):
        return str(found)
    labels = {name: values.tolist() for name, values in found.labels.items()}
    ids = None if found.ids is None else found.ids.tolist()
    return repr((np.asarray(found.X).tolist(), found.columns, ids, labels, found.notes))


FIELD = st.one_of(CELL, st.sampled_from(['"a b"', '"c""d"', ' "e"', '"two\nlines"', "True", "007"]))


@pytest.mark.filterwarnings("ignore::UserWarning")
@SETTINGS
@given(st.lists(st.lists(FIELD, min_size=2, max_size=4), max_size=8), st.sampled_from(",;\t|"))
def test_text_is_the_same_without_pyarrow(tmp_path, rows, delimiter):
    pytest.importorskip("pyarrow")
    path = tmp_path / "any.csv"
    path.write_text("\n".join(delimiter.join(row) for row in rows), encoding="utf-8")
    fast = content(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow.csv", None)
        assert content(path) == fast
