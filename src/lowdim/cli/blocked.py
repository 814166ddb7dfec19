"""Files that are large for the memory of the computation, as tables that are read in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.objects.block_sources import file_rows, largest_whole
from lowdim.objects.parquet_rows import ParquetRows, column_kinds, parquet_files, read_column
from lowdim.tables.columns import Choices, Frame, assign, column_of, may_describe_objects
from lowdim.tables.errors import DataError, join_names
from lowdim.tables.recipe import Recipe
from lowdim.tables.table import Table

IN_BLOCKS: dict[str, tuple[Any, ...]] = {
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

    The file is .npy, Parquet, or a folder of Parquet files; the arguments are those of
    `lowdim.tables.read`, and so are the roles of columns. Features stay on disk; columns that may
    be ids or labels are in memory.
    """
    path = Path(path)
    whole = any(others.get(name, choices[0]) not in choices for name, choices in IN_BLOCKS.items())
    selects = recipe is None or recipe == Recipe(recipe.numeric, categorical=recipe.categorical)
    if standardize or whole or not selects:
        return None
    if path.suffix == ".npy" and path.is_file():
        if path.stat().st_size <= largest_whole():
            return None
        X: Any = file_rows(path)
        note = f"read in blocks of {X.block_rows} rows"
        return Table(X, path.name, notes=[note], recipe=recipe or Recipe(None))
    files = parquet_files(path)
    kinds = column_kinds(files[0]) if files else {}
    numbers = [name for name, numeric in kinds.items() if numeric]
    if not files or ParquetRows(files, path, numbers).nbytes <= largest_whole():
        return None
    wanted = [] if recipe is None else recipe.numeric or []
    lacking = [name for name in wanted if name not in numbers]
    if lacking:
        raise DataError(f"{path.name} has no column of numbers {lacking[0]!r}.")
    empty = [] if wanted else _empty_columns(files, [name for name in kinds if name != id])
    here = np.broadcast_to(np.float64(0.5), ParquetRows(files, path, numbers[:1]).shape[0])
    columns = {}  # those that may be ids or labels, and a place for each feature
    for place, name in enumerate(kinds):
        feature = name in wanted or not may_describe_objects(name, place == 0)
        if name in numbers and name not in {id, *labels, *empty} and feature:
            columns[name] = here
        elif name not in empty:
            columns[name] = column_of(read_column(files, name).tolist())
    frame = Frame(columns, source=path.name)
    categorical = others.get("categorical", "label")
    roles = assign(
        frame,
        Choices(id, tuple(labels), tuple(wanted or features), tuple(drop), categorical),
    )
    if wanted:  # columns that the model does not use describe the objects
        described = [name for name in columns if name not in {*wanted, *drop, roles.id_name}]
        roles.labels |= {
            name: frame.values(name) for name in described if columns[name] is not here
        }
    X = ParquetRows(files, path, roles.numeric)
    if empty:
        roles.notes.append(f"left out, because no row has a value: {join_names(map(repr, empty))}")
    used = f"{len(roles.numeric)} features: {join_names(roles.numeric)}"
    return Table(
        X,
        path.name,
        columns=roles.numeric,
        ids=roles.ids,
        id_name=roles.id_name,
        labels=roles.labels,
        notes=[used, *roles.notes, f"read in blocks of {X.block_rows} rows"],
        recipe=Recipe(roles.numeric),
    )


def _empty_columns(files: list[Path], names: list[str]) -> list[str]:
    """The columns without any value, by their types and the statistics of the row groups."""
    from pyarrow import parquet, types

    empty = set(names)
    for file in map(parquet.ParquetFile, files):
        nulls = {field.name for field in file.schema_arrow if types.is_null(field.type)}
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                known = column.statistics
                gaps = known.null_count if known is not None and known.has_null_count else 0
                if gaps < column.num_values and column.path_in_schema not in nulls:
                    empty.discard(column.path_in_schema)
    return [name for name in names if name in empty]
