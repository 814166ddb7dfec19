"""Reading a file into a table, with notes on how it was understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.tables import distances
from lowdim.tables.errors import DataError, listed
from lowdim.tables.formats import FORMATS, module_for
from lowdim.tables.frame import FileColumns, Frame
from lowdim.tables.options import MISSING_TEXTS, Dialect, Options
from lowdim.tables.recipe import Recipe, follow, learn
from lowdim.tables.roles import CATEGORICAL, MISSING_POLICIES, Choices, Columns, Roles, assign
from lowdim.tables.sources import opened_source
from lowdim.tables.table import Table

KINDS = ("auto", "vectors", "distances", "edges")


def read(
    path: str | PathLike[str],
    *,
    kind: str = "auto",
    id: str | None = None,
    labels: Sequence[str] = (),
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    categorical: str = "label",
    missing: str = "error",
    standardize: bool = False,
    key: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    na: Sequence[str] = (),
    image_size: tuple[int, int] | None = None,
    color: bool = False,
    format: str | None = None,
    recipe: Recipe | None = None,
) -> Table:
    """Read a file or a folder of images into what an estimator takes.

    Parameters
    ----------
    path : str or path-like
        CSV, TSV and other delimited text; JSON lines; Excel; Parquet, Arrow, Feather; NPY
        (memory-mapped), NPZ (also of `scipy.sparse.save_npz`); HDF5; AnnData; Matlab; or a folder
        of images. The ending determines the format. Files may be compressed (.gz, .bz2, .xz,
        .zst). "-" is standard input; its format, and that of a named pipe, is guessed from the
        first bytes.
    kind : {"auto", "vectors", "distances", "edges"}, default="auto"
        What the file holds: vectors; a square table of distances; or a list of edges in three
        columns (one object, another, their distance). "auto" takes a table for distances if it is
        square and symmetric (or one triangle) with a zero or empty diagonal, and otherwise for
        vectors; it warns if a table is nearly one of distances or looks like a list of edges.
    id : str, default=None
        Column of the names of the objects. By default the first column, if it tells the objects
        apart and is text or a counter.
    labels : sequence of str, default=()
        Columns that describe the objects. They are kept in `Table.labels` and not used as features.
    features : sequence of str, default=()
        Columns to use; patterns such as "pixel*" may be used. By default every column of numbers
        that is neither ids nor a label.
    drop : sequence of str, default=()
        Columns to leave out; patterns may be used.
    categorical : {"label", "ignore", "onehot", "gower"}, default="label"
        Columns of text: kept as labels, ignored, coded as one column of zeros and ones for each
        value, or kept as they are for Gower's distance.
    missing : {"error", "drop", "mean", "keep"}, default="error"
        Missing values: an error that names their place; their rows left out; replaced by the mean
        of the column; or kept as NaN for a metric that accepts them.
    standardize : bool, default=False
        Scale every column of numbers to mean 0 and standard deviation 1.
    key : str, default=None
        The array to read from a file that holds several, such as "obsm/X_pca".
    delimiter : str, default=None
        Of a text file; guessed by default.
    encoding : str, default=None
        Of a text file. By default UTF-8, unless a byte order mark says otherwise.
    decimal : {".", ","}, default=None
        Decimal sign of a text file; guessed by default.
    header : bool, default=None
        Whether the first line of a text file names the columns; guessed by default.
    na : sequence of str, default=()
        Further texts that mean a missing value.
    image_size : tuple of int, default=None
        Width and height to which images are resized.
    color : bool, default=False
        Read images in colour instead of grey.
    format : str, default=None
        What the file holds, whatever its name: "csv", "tsv", "jsonl", "xlsx", "parquet", "arrow",
        "npy", "npz", "h5", "h5ad" or "mat".
    recipe : Recipe, default=None
        The recipe of another table, to prepare this one in the same way.

    Returns
    -------
    Table
        The objects, and notes on how the file was understood.

    Raises
    ------
    DataError
        A ValueError that names the file, the place in it, and what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> path = os.path.join(tempfile.mkdtemp(), "flowers.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("petal,sepal,kind\\n1.4,5.1,setosa\\n4.7,7.0,versicolor\\n")
    >>> table = lowdim.tables.read(path, labels=["kind"])
    >>> table.X
    array([[1.4, 5.1],
           [4.7, 7. ]])
    >>> table.labels["kind"].tolist()
    ['setosa', 'versicolor']
    """
    checks.choice(kind, "kind", KINDS)
    checks.choice(categorical, "categorical", CATEGORICAL)
    checks.choice(missing, "missing", MISSING_POLICIES)
    checks.choice(format, "format", (None, *FORMATS))
    dialect = Dialect(delimiter, encoding, decimal, header, (*MISSING_TEXTS, *na))
    choices = Choices(
        id, tuple(labels), tuple(features), tuple(drop), categorical, missing, standardize
    )
    options = Options(dialect, "", key, image_size, color)
    with loaded_frame(path, options, format) as (frame, source):
        return _table_of(frame, choices, source, kind, recipe)


def _table_of(
    frame: Frame, choices: Choices, source: str, kind: str, recipe: Recipe | None
) -> Table:
    if recipe is not None:
        return _repeat(frame, choices, recipe, source)
    if kind == "edges":
        return _edges(frame, choices, source)
    if kind == "distances":
        return _square(frame, choices, source, [])
    plain = choices.categorical in ("label", "ignore") and not choices.standardize
    if kind == "auto" and plain:
        X = _numeric(frame, assign(frame, choices, source))
        why = distances.why_distances(X)
        if why is not None:
            note = f"{why} (change with {argument('kind', 'vectors')})"
            return _square(frame, choices, source, [note])
        _hint_at_distances(frame, X, source)
    return _vectors(frame, choices, source)


def _hint_at_distances(frame: Frame, X: Any, source: str) -> None:
    """Warn if a table that is read as vectors was perhaps meant as distances."""
    almost = distances.why_almost_distances(X)
    vectors = argument("kind", "vectors")
    if almost is not None:
        checks.warn(
            f"{source} is read as vectors. It is square and {almost}. If it holds distances, "
            f"correct it and set {argument('kind', 'distances')}; if it holds vectors, set "
            f"{vectors}."
        )
    elif distances.looks_like_pairs(frame, source):
        checks.warn(
            f"{source} is read as vectors, but looks like a list of pairs with a distance each. If "
            f"it is one, set {argument('kind', 'edges')}; if it holds vectors, set {vectors}."
        )


def _numeric(frame: Frame, roles: Roles) -> Any:
    """The columns of numbers that have no other role."""
    if frame.names is None or roles.numeric == frame.names:
        return frame.numbers
    return frame.numbers[:, [frame.names.index(name) for name in roles.numeric]]


@contextmanager
def loaded_frame(
    path: str | PathLike[str], options: Options | None = None, format: str | None = None
) -> Iterator[tuple[Frame, str]]:
    """The content of a file, and its name for messages."""
    with opened_source(Path(path), format) as source:
        reader = module_for(source.ending)
        frame: Frame = reader.read(source.path, replace(options or Options(), ending=source.ending))
        if frame.n_rows < 2:
            raise DataError(
                f"{source.name} holds {frame.n_rows} object{'s'[: frame.n_rows != 1]}; a map needs "
                "at least 2."
            )
        if source.temporary and isinstance(frame.numbers, np.memmap):
            frame.numbers = np.array(frame.numbers)
        yield frame, Path(source.name).name or source.name


def _vectors(frame: Frame, choices: Choices, source: str) -> Table:
    roles = assign(frame, choices, source)
    recipe, X, kept = learn(frame, roles, choices, source)
    if X.shape[0] < 2:
        raise DataError(f"{source}: {X.shape[0]} object is left; a map needs at least 2.")
    used = [] if recipe.names is None else [_used(recipe.names)]
    return _table(frame, roles, recipe, X, kept, source, used)


def _used(names: list[str]) -> str:
    return f"{len(names)} feature{'s'[: len(names) != 1]}: {listed(names)}"


def _table(
    frame: Frame,
    roles: Roles,
    recipe: Recipe,
    X: Any,
    kept: Array | None,
    source: str,
    notes: list[str],
) -> Table:
    def cut(values: Array) -> Array:
        return values if kept is None else values[kept]

    if kept is not None and roles.ids is None:  # without ids, nothing would say which rows are left
        roles.ids, roles.id_name = _row_numbers(frame.n_rows), "row"
        notes = [*notes, "the rows that are left are numbered in column 'row', from 0"]
    return Table(
        X,
        source,
        metric="gower" if recipe.categorical == "gower" else None,
        columns=recipe.names,
        ids=None if roles.ids is None else cut(roles.ids),
        id_name=roles.id_name,
        labels={name: cut(values) for name, values in roles.labels.items()},
        notes=[*frame.notes, *notes, *roles.notes],
        recipe=recipe,
        images=_images(frame, kept),
        file_columns=FileColumns(frame, kept),
    )


def _row_numbers(n: int) -> Array:
    return np.array([str(row) for row in range(n)], dtype=object)


def _images(frame: Frame, kept: Array | None) -> Array | None:
    if frame.image_shape is None:
        return None
    rows = frame.numbers if kept is None else frame.numbers[kept]
    pictures = np.asarray(rows).reshape(-1, *frame.image_shape)
    if not frame.photographs or pictures.ndim == 4:
        return pictures
    return np.repeat(pictures[..., None], 3, axis=3)  # a grey value is light, not ink


def _repeat(frame: Frame, choices: Choices, recipe: Recipe, source: str) -> Table:
    """New data, prepared as those of a model were."""
    X, kept, found = follow(frame, recipe, source)
    features = {*(recipe.numeric or frame.names or ()), *recipe.textual}
    others = [name for name in [*(frame.names or ()), *frame.texts] if name not in features]
    known = Choices(choices.id, labels=choices.labels, drop=(*choices.drop, *recipe.textual))
    roles = assign(replace(frame, mixed={}), known, source)
    columns = Columns(frame, source)
    for name in others:  # columns that the model does not use describe the objects
        if name != roles.id_name and name not in choices.drop:
            roles.labels.setdefault(name, columns.values(name))
    roles.notes.clear()
    return _table(frame, roles, recipe, X, kept, source, found)


def _square(frame: Frame, choices: Choices, source: str, notes: list[str]) -> Table:
    ids, further = distances.names_of(frame, choices, source)
    roles = assign(frame, choices, source)
    D = distances.square(_numeric(frame, roles), source)
    if np.isnan(D).any() and choices.missing != "keep":
        row, column = np.argwhere(np.isnan(D))[0]
        raise DataError(
            f"{source}: the distance [{row}, {column}] is missing. With "
            f"{argument('missing', 'keep')}, MDS uses the distances that are known."
        )
    return Table(
        D,
        source,
        "precomputed",
        ids=ids,
        id_name=roles.id_name,
        labels=roles.labels,
        notes=[*frame.notes, *notes, *further],
    )


def _edges(frame: Frame, choices: Choices, source: str) -> Table:
    D, ids = distances.from_pairs(frame, choices, source)
    notes = list(frame.notes)
    if checks.is_sparse(D):
        pairs = D.shape[0] * (D.shape[0] - 1) // 2
        notes.append(f"{D.nnz // 2:,} of {pairs:,} pairs are known, the others are left open")
    return Table(D, source, "precomputed", ids=ids, notes=notes)
