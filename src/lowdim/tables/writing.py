"""Writing a map, with ids and labels of the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.atomic import replacing
from lowdim.tables.errors import DataError
from lowdim.tables.formats import ending_of, module_for
from lowdim.tables.result import Result


def write(
    path: str | PathLike[str],
    embedding: Any,
    *,
    names: Sequence[str] | None = None,
    ids: Any = None,
    id_name: str = "id",
    labels: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write coordinates, with ids and labels, to a file.

    Parameters
    ----------
    path : str or path-like
        The file. It is written completely or not at all. Its ending determines the
        format: any that `read` takes, except images. An NPY file holds the coordinates alone.
    embedding : array of shape (n,) or (n, n_columns)
        The coordinates.
    names : sequence of str, default=None
        Names of the columns; by default y0, y1, ...
    ids : array of shape (n,), default=None
        Names of the objects.
    id_name : str, default="id"
        Name of the column of ids.
    labels : mapping of str to array of shape (n,), default=None
        Further columns.
    force : bool, default=False
        Whether an existing file is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    WouldOverwrite
        If the file exists and `force` is false.
    DataError
        If the ending is unknown.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> path = os.path.join(tempfile.mkdtemp(), "map.csv")
    >>> written = lowdim.tables.write(path, [[0.5, 1.0], [2.0, 3.0]], ids=["a", "b"])
    >>> print(written.read_text())
    id,y0,y1
    a,0.5,1.0
    b,2.0,3.0
    <BLANKLINE>
    """
    path = Path(path)
    writer = writer_for(path)
    Y = np.asarray(embedding)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2:
        raise ValueError(f"embedding must have rows and columns, got shape {Y.shape}.")
    columns = [f"y{i}" for i in range(Y.shape[1])] if names is None else [str(n) for n in names]
    if len(columns) != Y.shape[1]:
        raise ValueError(f"names has {len(columns)} entries, but embedding {Y.shape[1]} columns.")
    described = {str(name): _column(v, str(name), len(Y)) for name, v in (labels or {}).items()}
    taken = {*columns, *described}
    while id_name in taken:
        id_name += "_"
    for name in [name for name in described if name in columns]:
        described[f"{name}_label"] = described.pop(name)
    result = Result(
        Y, columns, None if ids is None else _column(ids, "ids", len(Y)), id_name, described
    )
    with replacing(path, force=force) as temporary:
        writer(temporary, result)
    return path


def writer_for(path: Path) -> Any:
    """The function that writes the format of a path."""
    module = module_for(ending_of(path))
    if not hasattr(module, "write"):
        raise DataError(f"{path} is a folder; give the name of a file.")
    return module.write


def _column(values: Any, name: str, n: int) -> Array:
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of {n} rows, got {values.shape}.")
    return np.asarray(values, dtype=object) if values.dtype.kind in "US" else values
