"""Reading a file into a table, with notes on how it was understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument, plural
from lowdim.runtime.interrupts import watch_interrupts
from lowdim.tables import arrays, distances, records
from lowdim.tables.columns import CATEGORICAL, MISSING_POLICIES, Choices, Frame, Roles, assign
from lowdim.tables.errors import DataError, join_names, shorten
from lowdim.tables.features import transpose_frame, with_text
from lowdim.tables.formats import (
    FORMATS,
    FORMATS_BY_ENDING,
    MISSING_TEXTS,
    Options,
    source_of,
)
from lowdim.tables.recipe import Recipe, apply_recipe, learn_recipe
from lowdim.tables.table import FileColumns, Table
from lowdim.tables.text import read_text

_READERS: dict[str, Callable[[Path, Options], Frame]] = {
    "images": arrays.read_images,
    "text": read_text,
    "JSON lines": records.read_json_lines,
    "Arrow": records.read_arrow,
    "Excel": records.read_excel,
    "NPY": arrays.read_npy,
    "NPZ": arrays.read_npz,
    "HDF5": arrays.read_hdf5,
    "AnnData": arrays.read_anndata,
    "Matlab": arrays.read_matlab,
}
KINDS = ("auto", "vectors", "distances", "edges")
_NUMBERED = re.compile(r"(.*?)[_ .-]?(\d+)")


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
    counts: bool = False,
    text: str | None = None,
    transpose: bool = False,
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
        Column of the names of the objects. By default the first column, if its values are
        distinct and it is text or a counter.
    labels : sequence of str, default=()
        Columns that describe the objects: kept as labels, not used as features.
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
    counts : bool, default=False
        Normalise numbers that are counts, of words or of cells' molecules for instance: each row is
        scaled to the same total, then log(1 + x) is taken.
    text : str, default=None
        Column of text to make the features of, by its words (tf-idf and singular value
        decomposition). Columns of numbers are then labels.
    transpose : bool, default=False
        Exchange rows and columns, for a file whose columns are the objects.
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
    choices = Choices(
        id, tuple(labels), tuple(features), tuple(drop), categorical, missing, standardize, counts,
        text,
    )  # fmt: skip
    prose = text is not None or (recipe is not None and recipe.text is not None)
    texts = (*MISSING_TEXTS, *na)
    options = Options(delimiter, encoding, decimal, header, texts, key, image_size, color, prose)
    with _frame_of(path, options, format) as frame:
        if transpose or (recipe is not None and recipe.transpose):
            frame = transpose_frame(frame)
        if recipe is not None:
            return _follow_recipe(frame, choices, recipe)
        if kind == "edges":
            D, ids = distances.from_pairs(frame, choices)
            return Table(D, frame.source, "precomputed", ids=ids, notes=frame.notes)
        model = None
        if text is not None:
            kind, (frame, model) = "vectors", with_text(frame, text, id=id)
        roles = assign(frame, choices)
        plain = categorical in ("label", "ignore") and not standardize
        if kind == "distances" or (kind == "auto" and plain):
            square = _table_of_distances(frame, roles, choices, kind)
            if square is not None:
                return square
        learned, X, kept = learn_recipe(frame, roles, choices)
        if X.shape[0] < 2:
            raise DataError(
                f"{frame.source}: {plural(X.shape[0], 'object')} left; a map needs at least 2."
            )
        learned.text, learned.transpose = model, transpose
        used = learned.names or []
        notes = [f"{plural(len(used), 'feature')}: {join_names(used)}"] if used else []
        return _table(frame, roles, learned, X, kept, notes)


@contextmanager
def _frame_of(path: str | PathLike[str], options: Options, format: str | None) -> Iterator[Frame]:
    """The content of a file."""
    with watch_interrupts(), source_of(Path(path), format) as source:
        options = replace(options, ending=source.ending)
        content = FORMATS_BY_ENDING[source.ending] if source.ending else "images"
        frame = _READERS[content](source.path, options)
        if frame.n_rows < 2:
            raise DataError(
                f"{source.name} holds {plural(frame.n_rows, 'object')}; a map needs at least 2."
            )
        if source.temporary and isinstance(frame.X, np.memmap):
            frame.X = np.array(frame.X)
        frame.source = Path(source.name).name or source.name
        yield frame


def _table_of_distances(frame: Frame, roles: Roles, choices: Choices, kind: str) -> Table | None:
    """The table of a square of distances, if the user says that it is one or if it looks like one;
    None, perhaps with a warning, if it is vectors."""
    X = None
    if kind == "distances" or len(roles.numeric) == frame.n_rows:
        X = frame.matrix(roles.numeric)
    if kind == "auto":
        why = distances.distances_reason(X)
        if why is None:
            distances.warn_if_almost(frame, X)
            return None
        frame.notes.append(f"{why} (change with {argument('kind', 'vectors')})")
    D = distances.check_square(X, frame.source)
    if np.isnan(D).any() and choices.missing != "keep":
        row, column = np.argwhere(np.isnan(D))[0]
        raise DataError(
            f"{frame.source}: the distance [{row}, {column}] is missing. With "
            f"{argument('missing', 'keep')}, MDS uses the distances that are known."
        )
    ids, names = roles.ids, frame.number_names if frame.has_names else []
    if ids is None and any(name != f"x{i}" for i, name in enumerate(names)):
        ids = np.array(names, dtype=object)
    notes = [*frame.notes, *roles.notes]
    return Table(
        D, frame.source, "precomputed", ids=ids, id_name=roles.id_name, labels=roles.labels,
        notes=notes,
    )  # fmt: skip


def _follow_recipe(frame: Frame, choices: Choices, recipe: Recipe) -> Table:
    """New data, prepared as those of a model were."""
    if recipe.text is not None:
        frame, _ = with_text(frame, recipe.text.column, recipe.text, choices.id)
    X, kept, notes = apply_recipe(frame, recipe)
    features = {
        *(recipe.numeric or (frame.number_names if frame.has_names else ())),
        *recipe.textual,
    }
    others = [name for name in frame.all_names if name not in features and frame.has_names]
    known = Choices(choices.id, labels=choices.labels, drop=(*choices.drop, *recipe.textual))
    roles = assign(replace(frame, is_number=lambda value: False), known)
    for name in others:  # columns that the model does not use describe the objects
        if name != roles.id_name and name not in choices.drop:
            roles.labels.setdefault(name, frame.values(name))
    roles.notes.clear()
    return _table(frame, roles, recipe, X, kept, notes)


def _table(
    frame: Frame, roles: Roles, recipe: Recipe, X: Any, kept: Array | None, notes: list[str]
) -> Table:
    if kept is not None and roles.ids is None:  # without ids, nothing would say which rows are left
        roles.ids, roles.id_name = np.arange(frame.n_rows).astype(str).astype(object), "row"
        notes = [*notes, "the rows that are left are numbered in column 'row', from 0"]
    rows: Any = slice(None) if kept is None else kept
    images = None
    if frame.image_shape is not None:
        images = np.asarray(frame.X[rows]).reshape(-1, *frame.image_shape)
        if frame.photographs and images.ndim == 3:
            images = np.repeat(images[..., None], 3, axis=3)  # a grey value is light, not ink
    return Table(
        X,
        frame.source,
        metric="gower" if recipe.categorical == "gower" else None,
        columns=recipe.names,
        ids=None if roles.ids is None else roles.ids[rows],
        id_name=roles.id_name,
        labels={name: values[rows] for name, values in roles.labels.items()},
        notes=[*frame.notes, *notes, *roles.notes],
        recipe=recipe,
        images=images,
        file_columns=FileColumns(frame, kept),
    )


def read_embedding(
    path: str | PathLike[str], table: Table, coordinates: Sequence[str] = ()
) -> tuple[Array, list[str]]:
    """Read a map of the objects of a table.

    Parameters
    ----------
    path : str or path-like
        The file of the coordinates.
    table : Table
        The objects. Rows are matched by ids where both files have them, otherwise by order.
    coordinates : sequence of str, default=()
        The columns of the coordinates. By default those that are numbered from 0 or 1 under one
        name, as `write` names them, or else all columns of numbers.

    Returns
    -------
    Y : array of shape (n_rows, n_coordinates)
        The coordinates, in the order of the table.
    names : list of str
        The names of their columns.

    Raises
    ------
    DataError
        If the file lacks objects of the table, or columns.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> folder = tempfile.mkdtemp()
    >>> data, map_ = os.path.join(folder, "data.csv"), os.path.join(folder, "map.csv")
    >>> _ = lowdim.tables.write(data, [[1, 2, 3], [4, 5, 7]], ids=["a", "b"])
    >>> _ = lowdim.tables.write(map_, [[0.0, 1.0], [2.0, 3.0]], ids=["b", "a"])
    >>> Y, names = lowdim.tables.read_embedding(map_, lowdim.tables.read(data))
    >>> Y.tolist(), names
    ([[2.0, 3.0], [0.0, 1.0]], ['y0', 'y1'])
    """
    with _frame_of(path, Options(), None) as frame:
        chosen = frame.match_names(coordinates, "coordinates") or _numbered_columns(
            frame.number_names
        )
        roles = assign(frame, Choices(features=tuple(chosen)))
        Y = np.asarray(frame.matrix(roles.numeric))
        if Y.dtype.kind == "f" and np.isinf(Y).any():
            raise DataError(f"{frame.source}: the coordinates hold infinite values.")
        return _align(Y, roles.ids, table, frame.source), roles.numeric


def _numbered_columns(names: Sequence[str]) -> list[str]:
    """The columns called name0, name1, ... (or from 1 on); none if two names are so numbered."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match:
            families.setdefault(match[1], []).append((int(match[2]), name))
    series = []
    for members in families.values():
        members.sort()
        count = [number for number, _ in members]
        if count[0] in (0, 1) and count == list(range(count[0], count[0] + len(count))):
            series.append([name for _, name in members])
    return series[0] if len(series) == 1 else []


def _align(Y: Array, ids: Array | None, table: Table, source: str) -> Any:
    if ids is None or table.ids is None:
        if len(Y) != table.n_rows:
            raise DataError(
                f"{source} has {len(Y)} rows, but {table.source} has {table.n_rows}. Give both the "
                f"same objects, or a column of ids in both ({argument('id', ...)})."
            )
        return Y
    places = {name: row for row, name in enumerate(ids.tolist())}
    lacking = [name for name in table.ids.tolist() if name not in places]
    if len(lacking) == table.n_rows == len(Y):
        return Y  # the ids are of different kinds; the rows may still be the same
    if lacking:
        raise DataError(
            f"{source} lacks {len(lacking)} of the {table.n_rows} objects of {table.source}: "
            f"{join_names(map(shorten, lacking), 3)}."
        )
    return Y[[places[name] for name in table.ids.tolist()]]
