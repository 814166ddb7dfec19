"""Helpers that several test folders share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse

import lowdim


def axis_signs(Y, reference):
    """The sign of each axis of Y that makes it point the way the reference's axis does."""
    return np.where((Y * reference).sum(axis=0) < 0, -1, 1)


def aligned(Y, reference):
    """Y with each axis pointing the way the reference's axis does: eigenvectors have no sign."""
    return Y * axis_signs(Y, reference)


def with_threads(n_jobs, function, *arguments, **options):
    """The result of a function that runs on the given number of threads."""
    with lowdim.compute(n_jobs=n_jobs):
        return function(*arguments, **options)


def differences(one, other, name="estimator"):
    """Where two values differ, by the names of their parts; functions are equal by name."""
    if type(one) is not type(other):
        return [f"{name}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind in "fc"
        )
        return [] if same else [name]
    if issparse(one):
        return differences(one.toarray(), other.toarray(), name)
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return [f"{name}: {sorted(map(str, one.keys() ^ other.keys()))} in one alone"]
        parts = [(one[key], other[key], f"{name}.{key}") for key in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return [f"{name}: {len(one)} and {len(other)} entries"]
        parts = [(a, b, f"{name}[{i}]") for i, (a, b) in enumerate(zip(one, other, strict=True))]
    elif callable(one) and hasattr(one, "__qualname__"):
        return [] if one.__qualname__ == other.__qualname__ else [name]
    elif hasattr(one, "__dict__"):
        parts = [(vars(one), vars(other), name)]
    else:
        equal = one == other or (one != one and other != other)
        return [] if equal else [f"{name}: {one!r} and {other!r}"]
    return [found for a, b, part in parts for found in differences(a, b, part)]


def write_h5ad(path):
    """A file as AnnData 0.8 and later write it: sparse X, categories, a layer, a map."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        X = file.create_group("X")
        X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", (3, 4)
        X["data"], X["indices"], X["indptr"] = [1.0, 2.0, 3.0], [0, 3, 1], [0, 2, 2, 3]
        file["layers/counts"] = np.arange(12.0).reshape(3, 4)
        file["obsm/X_pca"] = [[0.1, -2.5], [1e-12, 3.0], [7.25, 1e9]]
        for table, names in (("obs", ["c1", "c2", "c3"]), ("var", ["g1", "g2", "g3", "g4"])):
            file[f"{table}/_index"] = np.array(names, dtype=h5py.string_dtype())
            file[table].attrs["_index"] = "_index"
        file["obs"].attrs["column-order"] = ["cell", "age"]
        cell = file["obs"].create_group("cell")
        cell.attrs["encoding-type"] = "categorical"
        cell["categories"] = np.array(["B", "T"], dtype=h5py.string_dtype())
        cell["codes"] = np.array([1, -1, 0], dtype=np.int8)
        age = file["obs"].create_group("age")
        age.attrs["encoding-type"] = "nullable-integer"
        age["values"], age["mask"] = [30, 1, 50], [False, True, False]
