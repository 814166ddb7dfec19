"""Files that are large for the memory of the computation, as tables that are read in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.objects.block_sources import file_rows, largest_whole
from lowdim.objects.parquet_rows import ParquetRows, column_kinds, parquet_files, read_column
from lowdim.tables.errors import DataError, join_names
from lowdim.tables.recipe import Recipe
from lowdim.tables.table import Table

WHOLE: dict[str, tuple[Any, ...]] = {
    "kind": ("auto", "vectors"),
    "missing": ("error",),
    "categorical": ("label", "ignore"),
    "counts": (False,),
    "text": (None,),
    "transpose": (False,),
}
"""Values of arguments of `read` with which a file can be read in blocks."""


def read_in_blocks(
    path: str | PathLike[str],
    *,
    id: str | None = None,
    labels: Sequence[str] = (),
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    standardize: bool = False,
    recipe: Recipe | None = None,
    **others: Any,
) -> Table | None:
    """A table whose rows are read in blocks; None if the file is small, or needs to be read whole.

    Parameters
    ----------
    path : str or path-like
        A .npy or Parquet file, or a folder of Parquet files.
    id, labels, features, drop, standardize, recipe, **others
        Those of `lowdim.tables.read`. Columns of text are labels, all other columns are features.

    Returns
    -------
    Table or None
        Its X is `RowBlocks`; ids and labels are in memory.
    """
    path = Path(path)
    whole = any(others.get(name, choices[0]) not in choices for name, choices in WHOLE.items())
    if standardize or whole or not _is_plain(recipe) or not _is_large(path):
        return None
    if path.suffix == ".npy":
        X: Any = file_rows(path)
        return Table(X, path.name, notes=[_note(X)], recipe=recipe or Recipe(None))
    files = parquet_files(path)
    kinds = column_kinds(files[0])
    wanted = [] if recipe is None else recipe.numeric or []
    for name in (*([] if id is None else [id]), *labels, *wanted):
        if name not in kinds:
            raise DataError(
                f"{path.name} has no column {name!r}; its columns are {join_names(kinds)}."
            )
    text = [name for name, numeric in kinds.items() if not numeric and name != id]
    chosen = wanted or [
        name
        for name in kinds
        if name not in {id, *labels, *text}
        and (not features or any(fnmatchcase(name, one) for one in features))
        and not any(fnmatchcase(name, one) for one in drop)
    ]
    if not chosen:
        raise DataError(f"{path.name} has no column of numbers left to use.")
    X = ParquetRows(files, path, chosen)
    carried = text if others.get("categorical", "label") == "label" else []
    return Table(
        X,
        path.name,
        columns=chosen,
        ids=None if id is None else _texts(read_column(files, id)),
        id_name=id or "id",
        labels={name: read_column(files, name) for name in dict.fromkeys((*labels, *carried))},
        notes=[f"{len(chosen)} features: {join_names(chosen)}", _note(X)],
        recipe=Recipe(chosen),
    )


def _is_plain(recipe: Recipe | None) -> bool:
    """Whether a recipe only selects columns."""
    if recipe is None:
        return True
    return recipe == Recipe(recipe.numeric, categorical=recipe.categorical)


def _is_large(path: Path) -> bool:
    """Whether a file holds more than is read whole; Parquet files by what they unpack to."""
    if path.suffix == ".npy" and path.is_file():
        size = path.stat().st_size
    elif files := parquet_files(path):
        size = ParquetRows(
            files, path, [n for n, ok in column_kinds(files[0]).items() if ok]
        ).nbytes
    else:
        return False
    return size > largest_whole()


def _note(X: Any) -> str:
    return f"read in blocks of {X.block_rows} rows"


def _texts(values: Array) -> Array:
    return np.array([str(value) for value in values.tolist()], dtype=object)
