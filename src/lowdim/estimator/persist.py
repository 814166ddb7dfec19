"""Models as files: a zip of one JSON document and plain arrays. No code in it, never pickle."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np

from lowdim.catalog import find
from lowdim.estimator.fitted_state import check_fitted_state
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.runtime import archive

FORMAT = 1
DOCUMENT = "model.json"
GRAPH_PARTS = tuple(part.name for part in fields(NeighborGraph))


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
    ValueError
        If `load` would refuse the file: an attribute was changed after the fit, perhaps.
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
    model = archive.encode(estimator, arrays, type(estimator).__name__, _encode)
    document = {"lowdim": FORMAT, "model": model}
    try:
        _estimator(json.loads(json.dumps(model)), dict(arrays))
    except Exception as error:  # what `load` would say of the file
        raise ValueError(f"{os.fspath(path)} was not written: {error}") from error
    archive.write(path, DOCUMENT, document, arrays, force=force)


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
        raise ValueError(
            f"{os.fspath(path)} is not a lowdim model, as `lowdim embed --model` and `save` in "
            "Python write them."
        )
    try:
        document, arrays = archive.read(path, DOCUMENT)
        version = document.get("lowdim") if isinstance(document, dict) else None
        if version != FORMAT:
            raise ValueError(f"it has model format {version!r}; this lowdim reads format {FORMAT}.")
        return _estimator(document.get("model"), arrays)
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged file leads to
        message = f"{os.fspath(path)} cannot be read as a lowdim model: {error}"
        raise ValueError(message) from error


def _encode(value: Any, arrays: dict[str, Any], where: str) -> Any:
    """What models hold beside plain values: graphs, estimators and generators."""

    def encode_all(entries: dict[str, Any]) -> dict[str, Any]:
        return {name: archive.encode(item, arrays, name, _encode) for name, item in entries.items()}

    if isinstance(value, NeighborGraph):
        return {"$graph": encode_all({part: getattr(value, part) for part in GRAPH_PARTS})}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # its state has no meaning after the fit
    if hasattr(value, "get_params") and find(type(value).__name__) is not None:
        params = value.get_params(deep=False)
        kept = {k: v for k, v in vars(value).items() if not k.startswith("_cached")}
        state = {k: v for k, v in kept.items() if k not in params}
        return {
            "$estimator": type(value).__name__,
            "params": encode_all(params),
            "state": encode_all(state),
        }
    raise TypeError(
        f"{where} is a {type(value).__name__}, which a model file cannot keep (it holds arrays and "
        "plain values, no code). Give metrics, kernels and callbacks by name, or none, before save."
    )


def _estimator(value: Any, arrays: dict[str, Any]) -> Any:
    """The estimator that a document describes."""
    if not isinstance(value, dict) or "$estimator" not in value:
        raise ValueError("its model.json describes no estimator.")
    method = find(value["$estimator"])
    if method is None:
        raise ValueError(f"it names the unknown method {value['$estimator']!r}.")
    estimator = method.load()(**_decode(value["params"], arrays))
    state = _decode(value["state"], arrays)
    check_fitted_state(estimator, state)
    for name, item in state.items():
        setattr(estimator, name, item)
    return estimator


def _decode(entries: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `_encode`, for each of the entries."""

    def other(value: dict[str, Any]) -> Any:
        if "$graph" in value:
            return NeighborGraph(**_decode(value["$graph"], arrays))
        if "$estimator" in value:  # of a component, or a learned metric
            return _estimator(value, arrays)
        raise ValueError(f"it holds an entry of unknown kind {next(iter(value))!r}.")

    return {name: archive.decode(item, arrays, other) for name, item in entries.items()}
