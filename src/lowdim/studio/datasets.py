"""Preparing a data set: a file becomes arrays that workers map into memory, and a description.

`prepare` runs in the helper process, so that a damaged file cannot harm the server. What it writes
is read by the server and by the workers with the functions below.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from lowdim.checks import Array
from lowdim.messages import collect_warnings, plural, spell_arguments
from lowdim.studio.columns import choose_label, describe_columns

LEAST_SIDE, MOST_SIDE = 8, 256  # pixels of square images that are recognised


def prepare(folder: str, source: dict[str, Any], choices: dict[str, Any]) -> dict[str, Any]:
    """Read a file and write what the studio needs of it to an empty folder.

    The source has the `path` of the file, `kind` as in `lowdim.tables.read`, and `image_shape` if
    it is known; the choices of the user are `roles` (of the columns), `label`, `standardize`,
    `missing`, `images` (shape) and others. Returns the description of the data set for the page.
    """
    from lowdim import tables

    arguments = _arguments(choices)
    with spell_arguments(_spell_in_studio), collect_warnings() as messages:
        table = tables.read(source["path"], kind=source.get("kind", "auto"), **arguments)
    notes = [*table.notes, *messages]
    place = Path(folder)
    _write_objects(place, table.X)
    columns, stored = describe_columns(table)
    np.save(
        place / "numbers.npy", np.array(stored["numbers"], np.float32).reshape(-1, table.n_rows)
    )
    np.save(place / "codes.npy", np.array(stored["codes"], np.int32).reshape(-1, table.n_rows))
    shape = _write_images(place, table, source, choices)
    label = choose_label(choices.get("label"), columns)
    text = arguments.get("text")
    n_features = None if table.metric == "precomputed" else int(table.X.shape[1])
    ids = None if table.ids is None else [str(one) for one in table.ids]
    private = {
        "metric": table.metric,
        "features": table.columns or [f"x{i}" for i in range(n_features or 0)],
        "texts": stored["texts"],
        "categories": stored["categories"],
        "text": text,
        "places": stored["places"],
        "ids": ids,
        "id_name": table.id_name,
        "recipe": None if table.recipe is None or text else table.recipe.to_dict(),
        "arguments": arguments,
    }
    (place / "data.json").write_text(json.dumps(private), encoding="utf-8")
    _write_letters(place)
    return {
        "n": table.n_rows,
        "d": n_features,
        "metric": table.metric,
        "columns": columns,
        "more": 0 if text else max(0, len(table.file_columns) - len(columns)),
        "label": label,
        "ids": None if table.ids is None else table.id_name,
        "images": shape,
        "standardize": bool(choices.get("standardize", False)),
        "counts": _counts(choices, notes),
        "transpose": bool(choices.get("transpose", False)),
        "labels_known": label is not None,
        "hints": [note for note in notes if _is_hint(note)],
        "notes": [note for note in notes if not _is_hint(note)],
    }


def _arguments(choices: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `lowdim.tables.read` for the choices of the user."""
    roles: dict[str, str] = choices.get("roles", {})
    by_role = {
        role: [name for name, own in roles.items() if own == role]
        for role in ("feature", "label", "id", "ignore", "text")
    }
    arguments: dict[str, Any] = {
        "standardize": bool(choices.get("standardize", False)),
        "missing": choices.get("missing", "mean"),
    }
    arguments |= {name: True for name in ("counts", "transpose") if choices.get(name)}
    if roles:
        arguments |= {"labels": by_role["label"], "drop": by_role["ignore"]}
        arguments["id"] = by_role["id"][0] if by_role["id"] else None
        if by_role["text"]:
            arguments["text"] = by_role["text"][0]
        elif not choices.get("more"):
            arguments["features"] = by_role["feature"]
        arguments["categorical"] = "onehot" if choices.get("text_features") else "label"
    return arguments


def _counts(choices: dict[str, Any], notes: list[str]) -> bool | None:
    """Whether counts are normalised; None if the features do not look like counts."""
    if choices.get("counts"):
        return True
    return False if any(SPELLINGS["counts"] in note for note in notes) else None


SPELLINGS = {
    "standardize": 'the switch "Standardise features"',
    "counts": 'the switch "Normalise counts"',
    "missing": 'the choice "Missing values"',
    "drop": 'the role "Ignored"',
    "labels": 'the role "Label"',
    "label": 'the role "Label"',
    "features": 'the role "Feature"',
    "id": 'the role "Name"',
    "text": 'the role "Text"',
    "categorical": "the role of a feature",
}


def _spell_in_studio(name: str, *value: Any) -> str:
    """An argument of `lowdim.tables.read` in a message, as the page calls it."""
    listed = value[0] if value and isinstance(value[0], list) else []
    return SPELLINGS.get(name, "") + "".join(f" of column {one}" for one in listed)


def _is_hint(note: str) -> bool:
    """Whether a note advises to change something on the page, or says what is not in the maps."""
    return note.startswith("left out") or any(
        control in note for name, control in SPELLINGS.items() if name != "categorical"
    )


def describe_origin(folder: Path, about: dict[str, Any], rows: Array | None) -> dict[str, Any]:
    """What a map is made of: `made_of` in words, `data_key` for comparisons, and `hints`."""
    private = read_about(folder)
    if about["d"] is None:
        made_of = "distances"
    else:
        how = [
            word
            for word, name in (("normalised as counts", "counts"), ("standardised", "standardize"))
            if about.get(name)
        ]
        plain = "as it is" if about["d"] == 1 else "as they are"
        made_of = f"{plural(about['d'], 'feature')} {' and '.join(how) or plain}"
        made_of += f" of {private['text']}" if private.get("text") else ""
    arguments = [private["arguments"].get(name) for name in ("standardize", "missing", "counts")]
    key = json.dumps([private["metric"], private["features"], arguments, about["n"]]).encode()
    key += b"" if rows is None else rows.tobytes()
    return {"made_of": made_of, "data_key": f"{crc32(key):08x}", "hints": about["hints"]}


# --- what the workers fit to --------------------------------------------------------------


def _write_objects(folder: Path, X: Any) -> None:
    if hasattr(X, "tocsr"):
        from scipy import sparse

        sparse.save_npz(folder / "objects.npz", sparse.csr_matrix(X))
    elif X.dtype == object:
        (folder / "objects.json").write_text(json.dumps(X.tolist()), encoding="utf-8")
    else:
        np.save(folder / "objects.npy", X)


def read_objects(folder: Path, rows: Array | slice) -> Any:
    """What to fit: some of the objects, or all; dense arrays of all are mapped into memory."""
    if (folder / "objects.npy").exists():
        X: Any = np.load(folder / "objects.npy", mmap_mode="r")
    elif (folder / "objects.npz").exists():
        from scipy import sparse

        X = sparse.csr_array(sparse.load_npz(folder / "objects.npz"))
    else:
        values = json.loads((folder / "objects.json").read_text(encoding="utf-8"))
        X = np.array(values, dtype=object)
    if isinstance(rows, slice):
        return X
    square = read_about(folder)["metric"] == "precomputed"
    return X[rows][:, rows] if square else X[rows]


def read_rows(folder: Path, some: bool) -> Any:
    """The rows that a map shows, as an index: those in its folder, or all."""
    return np.load(folder / "rows.npy") if some else slice(None)


@lru_cache(maxsize=8)
def read_about(folder: Path) -> dict[str, Any]:
    """Metric, features, categories and so on of prepared data."""
    about: dict[str, Any] = json.loads((folder / "data.json").read_text(encoding="utf-8"))
    return about


def read_column(folder: Path, name: str) -> Array | dict[str, Any] | None:
    """The values of a column: float32, or categories with codes, or None if it is not stored."""
    about = read_about(folder)
    if name not in about["places"]:
        return None
    kind, place = about["places"][name]
    if kind != "category":
        return np.asarray(np.load(folder / "numbers.npy", mmap_mode="r")[place])
    codes = np.load(folder / "codes.npy", mmap_mode="r")[place]
    return {"categories": about["categories"][name], "codes": np.asarray(codes)}


def read_value(folder: Path, name: str, row: int) -> Any:
    """One value of a column; None if it is missing."""
    about = read_about(folder)
    if name in about["texts"]:
        return about["texts"][name][row]
    kind, place = about["places"][name]
    if kind != "category":
        value = float(np.load(folder / "numbers.npy", mmap_mode="r")[place, row])
        if not np.isfinite(value):
            return None
        return value if kind == "number" else _date_text(about["categories"][name] + value)
    code = int(np.load(folder / "codes.npy", mmap_mode="r")[place, row])
    return None if code < 0 else about["categories"][name][code]


def _write_letters(folder: Path) -> None:
    """Write the ids and the columns of text in lower case as bytes, for searches."""
    about = read_about(folder)
    for name, texts in [(None, about["ids"] or []), *about["texts"].items()]:
        lines = [("" if one is None else one).lower().replace("\n", " ").encode() for one in texts]
        letters = np.frombuffer(b"\n".join([*lines, b""]), np.uint8)
        np.save(_file_of_letters(folder, name), letters)


def read_letters(folder: Path, name: str | None) -> Array:
    """All texts of a column, or the ids, in lower case as bytes; each ends with a line feed."""
    if not _file_of_letters(folder, name).exists():  # an earlier version has prepared the data
        _write_letters(folder)
    return np.asarray(np.load(_file_of_letters(folder, name)))


def _file_of_letters(folder: Path, name: str | None) -> Path:
    place = "" if name is None else list(read_about(folder)["texts"]).index(name)
    return folder / f"letters{place}.npy"


def _date_text(days: float) -> str:
    """Days since 1970 as a date, with the time unless it is midnight."""
    minutes = np.datetime64(round(days * 1440), "m")
    return str(minutes).removesuffix("T00:00").replace("T", " ")


def read_labels(folder: Path, name: str) -> Array:
    """The values of a label, one an object: numbers or strings."""
    values = read_column(folder, name)
    if isinstance(values, dict):
        categories = np.array([*values["categories"], ""], dtype=object)
        return np.asarray(categories[values["codes"]])
    if values is None:
        raise KeyError(name)
    return values


# --- images -------------------------------------------------------------------------------


def _write_images(
    folder: Path, table: Any, source: dict[str, Any], choices: dict[str, Any]
) -> dict[str, Any] | None:
    """Write the objects as images of bytes, if they are images; returns their shape."""
    if table.images is not None:
        pictures = np.asarray(table.images)
    else:
        shape = choices["images"] if "images" in choices else source.get("image_shape")
        if shape is None and "images" not in choices:
            shape = _guess_shape(table)
        if shape is None or table.metric is not None or hasattr(table.X, "tocsr"):
            return None
        shape = shape["shape"] if isinstance(shape, dict) else shape
        if math.prod(shape) != table.X.shape[1]:
            return None
        pictures = table.recipe.undo(np.asarray(table.X, dtype=np.float64)).reshape(-1, *shape)
    low, high = float(pictures.min()), float(pictures.max())
    pictures = ((pictures - low) * (255 / ((high - low) or 1))).round().astype(np.uint8)
    np.save(folder / "images.npy", pictures)
    return {"shape": list(pictures.shape[1:]), "low": low, "high": high}


def _guess_shape(table: Any) -> list[int] | None:
    """Square images: columns without names or called pixel..., of values that are not negative."""
    if table.metric is not None or hasattr(table.X, "tocsr") or table.X.dtype == object:
        return None
    d = int(table.X.shape[1])
    side = math.isqrt(d)
    if side * side != d or not LEAST_SIDE <= side <= MOST_SIDE:
        return None
    names = table.columns
    called = names is None or all(name.lower().startswith(("pixel", "px")) for name in names)
    sample = np.asarray(table.X[:100])
    return [side, side] if called and sample.min() >= 0 else None


# --- views -----------------------------------------------------------------------------------


class View(NamedTuple):
    """A map, or data alone: where they are and how they are compared."""

    data: str  # folder of the data
    folder: str = ""  # of the map; empty for data alone
    rows: bool = False  # whether the map shows only some rows
    coordinates: str = ""  # their file
    method: str = ""
    metric: str = "euclidean"  # in which distances in the data are measured
    label: str | None = None  # column of the labels

    def read_rows(self) -> Any:
        """The rows of the data that the map shows, as an index."""
        return read_rows(Path(self.folder), self.rows)

    def row_numbers(self, n: int) -> Array:
        """The rows of the data that the map of n objects shows."""
        return self.read_rows() if self.rows else np.arange(n)

    def read_objects(self) -> Any:
        """What the map was fitted to."""
        return read_objects(Path(self.data), self.read_rows())
