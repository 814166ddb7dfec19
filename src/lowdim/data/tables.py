"""Reading a file into what an estimator takes, and saying what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.data import distances
from lowdim.data.errors import DataError, listed
from lowdim.data.formats import module_for
from lowdim.data.frame import Frame
from lowdim.data.options import MISSING, Dialect, Options
from lowdim.data.recipe import Recipe, follow, learn
from lowdim.data.roles import CATEGORICAL, Choices, Columns, Roles, assign
from lowdim.data.roles import MISSING as MISSING_POLICIES

KINDS = ("auto", "vectors", "distances", "edges")


@dataclass
class Table:
    """Objects as a file gave them.

    X : what to fit: vectors (dense, memory-mapped or sparse), a table of mixed types for Gower's
        distance, or dissimilarities.
    metric : "precomputed", "gower", or None where any metric will do.
    columns : names of X's columns, if they have names.
    ids, labels : what names and describes the objects.
    notes : the choices that were made, one sentence each.
    recipe : how X was made, so that a model can do the same to new data.
    images : the objects as pictures if that is what they are: (n, height, width), or photographs
        of a folder in colours, (n, height, width, 3).
    """

    X: Any
    source: str
    metric: str | None = None
    columns: list[str] | None = None
    ids: Array | None = None
    id_name: str = "id"
    labels: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recipe: Recipe | None = None
    images: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def __str__(self) -> str:
        if self.metric == "precomputed":
            pairs = f", {self.X.nnz // 2:,} pairs known" if hasattr(self.X, "tocsr") else ""
            size = f"distances between {self.n_rows:,} objects{pairs}"
        else:
            size = f"{self.n_rows:,} objects x {self.X.shape[1]:,} features"
        return "\n".join([f"{self.source}: {size}", *(f"  {note}" for note in self.notes)])


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
    recipe: Recipe | None = None,
) -> Table:
    """Read a file or a folder of images.

    Parameters
    ----------
    path : CSV, TSV and other delimited text; Parquet, Arrow, Feather; NPY (memory-mapped), NPZ;
        HDF5; AnnData; Matlab; or a folder of images. The ending says which.
    kind : "vectors", a square table of "distances", "edges" (three columns: one object, another,
        their distance), or "auto": distances if the table is square, symmetric and zero on the
        diagonal, else vectors.
    id, labels : columns that name and describe the objects; they are carried through.
    features, drop : columns to use, or to leave out; patterns such as "pixel*" may be used. By
        default every column of numbers that is not an id or label is a feature.
    categorical : columns of text are carried through as a "label", or "ignore"d, or used: as
        "onehot" columns or, as they are, by "gower" distance.
    missing : values are an "error" that names their place; "drop" their rows; fill with the
        column's "mean"; or "keep" them as NaN for a metric that knows them.
    standardize : bring every column of numbers to mean 0 and standard deviation 1.
    key : which array of a file that holds several ("obsm/X_pca").
    delimiter, encoding, decimal, header : of a text file; told from the file where None (the
        encoding is UTF-8 unless a byte order mark says otherwise).
    na : further texts that stand for a missing value.
    image_size, color : (width, height) that images are brought to; in colour instead of grey.
    recipe : the recipe of another table, to be repeated on this one.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        A ValueError that names the file, the place in it, and what to do.
    """
    checks.choice(kind, "kind", KINDS)
    checks.choice(categorical, "categorical", CATEGORICAL)
    checks.choice(missing, "missing", MISSING_POLICIES)
    dialect = Dialect(delimiter, encoding, decimal, header, (*MISSING, *na))
    frame, source = load_frame(path, Options(dialect, key, image_size, color))
    choices = Choices(
        id, tuple(labels), tuple(features), tuple(drop), categorical, missing, standardize
    )
    if recipe is not None:
        return _repeat(frame, choices, recipe, source)
    if kind == "edges":
        return _edges(frame, choices, source)
    if kind == "distances":
        return _square(frame, choices, source, [])
    table = _vectors(frame, choices, source)
    plain = kind == "auto" and categorical in ("label", "ignore") and not standardize
    if plain and distances.looks_like_distances(table.X):
        why = "the table is square and symmetric with a zero diagonal: taken as distances"
        return _square(frame, choices, source, [f"{why} (--as vectors)"])
    return table


def load_frame(path: str | PathLike[str], options: Options | None = None) -> tuple[Frame, str]:
    """What stands in a file, and how to call it."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    frame: Frame = module_for(path).read(path, options or Options())
    if frame.n_rows < 2:
        raise DataError(
            f"{path} holds {frame.n_rows} object{'s'[: frame.n_rows != 1]}; a map needs at least 2."
        )
    return frame, path.name or str(path)


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
    )


def _images(frame: Frame, kept: Array | None) -> Array | None:
    if frame.image_shape is None:
        return None
    rows = frame.numbers if kept is None else frame.numbers[kept]
    pictures = np.asarray(rows).reshape(-1, *frame.image_shape)
    if not frame.photographs or pictures.ndim == 4:
        return pictures
    return np.repeat(pictures[..., None], 3, axis=3)  # a grey value is light, not ink


def _repeat(frame: Frame, choices: Choices, recipe: Recipe, source: str) -> Table:
    """New data, made into the matrix that a model knows."""
    X, kept = follow(frame, recipe, source)
    features = {*(recipe.numeric or frame.names or ()), *recipe.textual}
    others = [name for name in [*(frame.names or ()), *frame.texts] if name not in features]
    told = Choices(choices.id, labels=choices.labels, drop=(*choices.drop, *recipe.textual))
    roles = assign(replace(frame, mixed={}), told, source)
    columns = Columns(frame, source)
    for name in others:  # whatever the model does not use describes the objects
        if name != roles.id_name and name not in choices.drop:
            roles.labels.setdefault(name, columns.values(name))
    roles.notes.clear()
    return _table(frame, roles, recipe, X, kept, source, [])


def _square(frame: Frame, choices: Choices, source: str, notes: list[str]) -> Table:
    ids, said = distances.names_of(frame, choices, source)
    roles = assign(frame, choices, source)
    X = frame.numbers
    if frame.names is not None and roles.numeric != frame.names:
        X = X[:, [frame.names.index(name) for name in roles.numeric]]
    D = distances.square(X, source)
    if np.isnan(D).any() and choices.missing != "keep":
        row, column = np.argwhere(np.isnan(D))[0]
        raise DataError(
            f"{source}: the distance [{row}, {column}] is missing. With --missing keep, MDS maps "
            "what is known."
        )
    return Table(
        D,
        source,
        "precomputed",
        ids=ids,
        id_name=roles.id_name,
        labels=roles.labels,
        notes=[*frame.notes, *notes, *said],
    )


def _edges(frame: Frame, choices: Choices, source: str) -> Table:
    D, ids = distances.from_pairs(frame, choices, source)
    notes = list(frame.notes)
    if hasattr(D, "tocsr"):
        pairs = D.shape[0] * (D.shape[0] - 1) // 2
        notes.append(f"{D.nnz // 2:,} of {pairs:,} pairs are known, the others are left open")
    return Table(D, source, "precomputed", ids=ids, notes=notes)
