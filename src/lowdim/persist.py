"""Models as files: a zip of one JSON document and plain arrays. No code in it, never pickle."""

from __future__ import annotations

import json
import math
import os
import zipfile
from os import PathLike
from typing import Any

import numpy as np

from lowdim.atomic import replacing
from lowdim.catalog import find
from lowdim.checks import is_sparse
from lowdim.fitted_state import check_fitted_state
from lowdim.relations.graph import NeighborGraph
from lowdim.runtime import memory

FORMAT = 1
_GRAPH_PARTS = (
    "indices",
    "distances",
    "metric",
    "fingerprint",
    "indptr",
    "bridges",
    "bridge_lengths",
    "recall",
)


def save(estimator: Any, path: str | PathLike[str], *, force: bool = True) -> None:
    """Write an estimator, fitted or not, to one file.

    Parameters
    ----------
    estimator : estimator
        One of lowdim's, without callables among its parameters.
    path : str or path-like
        The file. It is written completely or not at all.
    force : bool, default=True
        Whether an existing file is replaced.

    Raises
    ------
    TypeError
        If the estimator holds what a file of arrays and plain values cannot.
    WouldOverwrite
        If the file exists and `force` is false.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> path = os.path.join(tempfile.mkdtemp(), "pca.lowdim")
    >>> lowdim.PCA(n_components=2).save(path)
    >>> lowdim.load(path)
    PCA(n_components=2)
    """
    arrays: dict[str, Any] = {}
    document = {"lowdim": FORMAT, "model": _encode(estimator, arrays, type(estimator).__name__)}
    with (
        replacing(path, force=force) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
    ):
        archive.writestr("model.json", json.dumps(document, indent=1))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def load(path: str | PathLike[str]) -> Any:
    """Read an estimator written by its method `save`.

    Loading never runs code from the file, so models of others can be opened safely.

    Parameters
    ----------
    path : str or path-like
        The model file.

    Returns
    -------
    estimator
        As it was saved, fitted or not. A `random_state` that was a generator is None.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a model, is damaged, or was written by a newer version of lowdim.
    MemoryError
        If the model does not fit into memory.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(100, random_state=0)
    >>> path = os.path.join(tempfile.mkdtemp(), "roll.lowdim")
    >>> lowdim.PCA(n_components=2).fit(X).save(path)
    >>> lowdim.load(path).transform(X).shape
    (100, 2)
    """
    if not zipfile.is_zipfile(path):
        if not os.path.exists(path):
            raise FileNotFoundError(f"{os.fspath(path)} does not exist.")
        raise ValueError(f"{os.fspath(path)} is not a lowdim model: write it with estimator.save.")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(archive, path)
            return _estimator(_document(archive).get("model"), _Arrays(archive))
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged file leads to
        message = f"{os.fspath(path)} cannot be read as a lowdim model: {error}"
        raise ValueError(message) from error


def _check_size(archive: zipfile.ZipFile, path: str | PathLike[str]) -> None:
    """Refuse a file that holds more than its own size, and one that does not fit into memory."""
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    if not stored or total > os.path.getsize(path):
        raise ValueError("its arrays are compressed or overlap, as those of no saved model do.")
    memory.claim(total, f"Loading {os.fspath(path)}", "Load it on a machine with more memory.")


def _document(archive: zipfile.ZipFile) -> dict[str, Any]:
    if "model.json" not in archive.namelist():
        raise ValueError("it holds no model.json, so it is not a lowdim model.")
    try:
        document = json.loads(archive.read("model.json"))
    except ValueError as error:
        raise ValueError(f"its model.json is damaged ({error}).") from error
    if not isinstance(document, dict) or document.get("lowdim") != FORMAT:
        found = document.get("lowdim") if isinstance(document, dict) else None
        raise ValueError(
            f"it has model format {found!r}; this version of lowdim reads format {FORMAT}."
        )
    return document


def _encode(value: Any, arrays: dict[str, Any], where: str) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.generic):
        return {"$scalar": _store(np.asarray(value), arrays)}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            if not all(isinstance(v, str) for v in value.ravel()):
                raise TypeError(f"{where} holds arbitrary objects, which a model file cannot keep.")
            return {"$strings": value.tolist()}
        return {"$array": _store(value, arrays)}
    if is_sparse(value):
        csr = value.tocsr()
        parts = [_store(part, arrays) for part in (csr.data, csr.indices, csr.indptr)]
        return {"$csr": parts, "shape": list(csr.shape)}
    if isinstance(value, NeighborGraph):
        content = {
            part: _encode(getattr(value, part), arrays, f"{where}.{part}") for part in _GRAPH_PARTS
        }
        return {"$graph": content}
    if isinstance(value, list | tuple):
        items = [_encode(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        pairs = [[_encode(k, arrays, where), _encode(v, arrays, where)] for k, v in value.items()]
        return {"$dict": pairs}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # its state has no meaning after the fit
    if hasattr(value, "get_params") and find(type(value).__name__) is not None:
        params = {k: _encode(v, arrays, k) for k, v in value.get_params(deep=False).items()}
        state = {
            k: _encode(v, arrays, k)
            for k, v in vars(value).items()
            if k not in params and not k.startswith("_cached")
        }
        return {"$estimator": type(value).__name__, "params": params, "state": state}
    raise TypeError(
        f"{where} is a {type(value).__name__}, which a model file cannot keep (it holds arrays and "
        "plain values, no code). Give metrics, kernels and callbacks by name, or none, before save."
    )


def _store(array: Any, arrays: dict[str, Any]) -> str:
    name = f"array{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name


class _Arrays:
    """The arrays of a model file. Each is read at most once: a saved model has no second use."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.taken: set[str] = set()

    def take(self, name: Any) -> Any:
        if not isinstance(name, str) or name in self.taken:
            raise ValueError(f"it refers to the array {name!r} more than once.")
        self.taken.add(name)
        member = self.archive.getinfo(f"{name}.npy")
        with self.archive.open(member) as file:
            shape, dtype = _header(file)
            if math.prod(shape) * dtype.itemsize > member.file_size:
                raise ValueError(f"the array {name!r} is shorter than its shape {shape}.")
            if dtype.kind not in "biuf" or not dtype.isnative:
                raise ValueError(f"the array {name!r} has the type {dtype}, no number or pickle.")
        with self.archive.open(member) as file:
            return np.lib.format.read_array(file, allow_pickle=False)


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the entries of an NPY file."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has the NPY version {version}.")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def _estimator(value: Any, arrays: _Arrays) -> Any:
    """The estimator that a document describes."""
    if not isinstance(value, dict) or "$estimator" not in value:
        raise ValueError("its model.json describes no estimator.")
    method = find(value["$estimator"])
    if method is None:
        raise ValueError(f"it names the unknown method {value['$estimator']!r}.")
    params = {name: _entry(item, arrays) for name, item in value["params"].items()}
    estimator = method.load()(**params)
    state = {
        name: [_estimator(part, arrays) for part in item]
        if name == "parts_"
        else _entry(item, arrays)
        for name, item in value["state"].items()
    }
    check_fitted_state(estimator, state)
    for name, item in state.items():
        setattr(estimator, name, item)
    return estimator


def _entry(value: Any, arrays: _Arrays) -> Any:
    """A parameter or an attribute: a value, or an estimator such as a learned metric."""
    if isinstance(value, dict) and "$estimator" in value:
        return _estimator(value, arrays)
    return _decode(value, arrays)


def _decode(value: Any, arrays: _Arrays) -> Any:
    """The inverse of `_encode` for everything but estimators."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "$array":
        return arrays.take(content)
    if kind == "$scalar":
        return arrays.take(content)[()]
    if kind == "$float":
        return float(content)
    if kind == "$strings":
        return np.array(content, dtype=object)
    if kind == "$tuple":
        return tuple(_decode(item, arrays) for item in content)
    if kind == "$dict":
        return {_decode(k, arrays): _decode(v, arrays) for k, v in content}
    if kind == "$csr":
        from scipy.sparse import csr_array

        parts = tuple(arrays.take(name) for name in content)
        return csr_array(parts, shape=tuple(value["shape"]))
    if kind == "$graph":
        return NeighborGraph(**{k: _decode(v, arrays) for k, v in content.items()})
    raise ValueError(f"it holds an entry of unknown kind {kind!r}.")
