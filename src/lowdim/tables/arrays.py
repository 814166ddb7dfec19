"""Files of arrays: NPY (memory-mapped), NPZ, HDF5, AnnData, Matlab; and folders of images."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.runtime import memory
from lowdim.tables.columns import Frame, dates_of
from lowdim.tables.errors import DataError, damage_error, damage_errors, join_names, require
from lowdim.tables.formats import Options

_DATA = ("x", "data", "features", "embedding", "coordinates", "d", "distances")
_IDS = ("id", "ids", "names", "obs_names", "index")
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
_KINDS = {"O": "Python objects", "U": "strings", "S": "strings", "c": "complex numbers"}

# --- which array is the data; the others are labels or names --------------------------------------


def _choose(path: Path, arrays: Mapping[str, Any], key: str | None) -> Frame:
    """The array called `key`, else the one with a telling name, else the only one that can be."""
    if not arrays:
        raise DataError(f"{path} holds no arrays.")
    name = _pick(path, arrays, key)
    data, shape = _matrix(arrays[name], f"{path}: {name}"), arrays[name].shape
    notes, names, ids = [], None, None
    if len(arrays) > 1:
        notes.append(f"the data is {name!r}, of the arrays {_describe(arrays)}")
    if len(shape) > 2:
        sides = " x ".join(map(str, shape))
        notes.append(f"{name!r} is {sides}: each object became one row")
    columns: dict[str, Array] = {}
    for other, value in arrays.items():
        if other == "coordinate_names":
            titles = _vector(value, data.shape[1])
            names = None if titles is None else [str(v) for v in titles]
        elif other != name and (values := _vector(value, data.shape[0])) is not None:
            if other.lower() in _IDS and ids is None:
                ids = values
            else:
                columns[other] = values
    frame = Frame(columns, data, names, frozenset(columns), ids, notes)
    if len(shape) == 3 or (len(shape) == 4 and shape[3] in (3, 4)):
        frame.image_shape = shape[1:]
    return frame


def _describe(arrays: Mapping[str, Any]) -> str:
    return join_names(
        f"{n} ({' x '.join(map(str, a.shape)) or 'scalar'})" for n, a in arrays.items()
    )


def _pick(path: Path, arrays: Mapping[str, Any], key: str | None) -> str:
    if key is not None:
        if key not in arrays:
            raise DataError(f"{path} has no array {key!r}; it holds {_describe(arrays)}.")
        return key
    able = {
        name: a
        for name, a in arrays.items()
        if len(a.shape) >= 2 and np.dtype(a.dtype).kind in "biuf" and 0 not in a.shape
    }
    telling = [name for wanted in _DATA for name in able if name.lower() == wanted]
    if telling or len(able) == 1:
        return next(iter(telling or able))
    if not able:
        raise DataError(
            f"{path} holds no array of numbers with rows and columns, only {_describe(arrays)}."
        )
    raise DataError(
        f"{path} holds several arrays that may be the data: {_describe(able)}. Choose one with "
        f"{argument('key', ...)}."
    )


def _matrix(values: Any, what: str) -> Any:
    """Numbers with one object a row; further axes are laid out."""
    if is_sparse(values):
        return values
    if values.dtype.kind not in "biuf":
        kind = _KINDS.get(values.dtype.kind, str(values.dtype))
        raise DataError(f"{what} holds {kind}; only arrays of real numbers can be read.")
    if len(values.shape) == 0 or 0 in values.shape:
        raise DataError(f"{what} is empty: its shape is {tuple(values.shape)}.")
    values = _load(values)
    return values.reshape(len(values), -1) if values.ndim != 2 else values


def _load(values: Any) -> Array:
    """An array in memory, True and False as 1 and 0; the size of a dataset of HDF5 is checked."""
    if isinstance(values, np.ndarray):
        return values.view(np.uint8) if values.dtype.kind == "b" else values
    memory.claim(
        int(np.prod(values.shape, dtype=object)) * values.dtype.itemsize,
        f"Reading {values.name} of {values.file.filename}",
        "Save the part that is needed, or fewer columns.",
    )
    return _load(np.asarray(values))


def _vector(values: Any, n: int) -> Array | None:
    """One value an object, or None if the array is something else; bytes become strings."""
    long = [side for side in values.shape if side != 1]
    if is_sparse(values) or not 1 <= len(values.shape) <= 2 or long != [n][: n > 1]:
        return None
    values = _load(values).ravel()
    texts = values.dtype == object and all(v is None or isinstance(v, str | bytes) for v in values)
    if values.dtype.kind in "US" or texts:
        return dates_of(np.array([_decode(v) for v in values.tolist()], dtype=object))
    return values if values.dtype.kind in "biufM" else None


def _decode(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


# --- NumPy ----------------------------------------------------------------------------------------


def read_npy(path: Path, options: Options) -> Frame:
    """An array; pickled objects are never loaded."""
    with damage_errors(path, "NumPy"):
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(values, np.ndarray):
        raise DataError(f"{path} is an NPZ archive; give it the ending .npz.")
    return Frame(X=_matrix(values, str(path)))


def read_npz(path: Path, options: Options) -> Frame:
    """One of the arrays of an archive, or the matrix that `scipy.sparse.save_npz` wrote."""
    with damage_errors(path, "NumPy"):
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        advice = "Choose one array with numpy.load and save it as .npy, which is memory-mapped."
        memory.claim(size, f"Unpacking {path}", advice)
        try:
            with np.load(path, allow_pickle=False) as file:
                names = [name for name in file.files if f"{name}.npy" in file.zip.namelist()]
                arrays = {name: file[name] for name in names}
        except MemoryError as error:  # what the archive holds would fit: a wrong shape
            raise damage_error(path, "NumPy", error) from error
        if options.key is None and {"format", "shape", "data"} <= set(arrays):
            from scipy import sparse

            matrix = sparse.csr_array(sparse.load_npz(path))
            matrix.check_format(full_check=True)
            return Frame(X=matrix)
    return _choose(path, arrays, options.key)


# --- HDF5 and Matlab ------------------------------------------------------------------------------


@contextmanager
def _hdf5_file(path: Path, kind: str) -> Iterator[Any]:
    h5py = require("h5py", "hdf5", f"{kind} files")
    with damage_errors(path, kind), h5py.File(path, "r") as file:
        yield file


def _is_dataset(item: Any) -> bool:
    return hasattr(item, "dtype")


def read_hdf5(path: Path, options: Options) -> Frame:
    """One of the file's datasets, and those beside it with one value an object."""
    with _hdf5_file(path, "HDF5") as file:
        items: dict[str, Any] = {}
        file.visititems(items.__setitem__)
        datasets = {name: item for name, item in items.items() if _is_dataset(item)}
        return _choose(path, datasets, None if options.key is None else options.key.strip("/"))


def read_matlab(path: Path, options: Options) -> Frame:
    """One of the file's variables, and those beside it with one value an object."""
    with open(path, "rb") as stream:
        head = stream.read(128)
    if b"MATLAB 7.3" in head or head.startswith(b"\x89HDF"):  # HDF5, every matrix transposed
        with _hdf5_file(path, "Matlab 7.3") as file:
            able = {
                name: _load(item).T
                for name, item in file.items()
                if _is_dataset(item) and item.dtype.kind in "biuf"
            }
            return _choose(path, able, options.key)
    from scipy.io import loadmat, whosmat

    with damage_errors(path, "Matlab"):
        size = sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in whosmat(path))
        memory.claim(size, f"Reading {path}", "Save the variable that is needed alone.")
        variables = loadmat(path, simplify_cells=False)
    plain = {name: _matlab_value(v) for name, v in variables.items() if name[:2] != "__"}
    return _choose(path, plain, options.key)


def _matlab_value(value: Any) -> Any:
    """Cells of strings as strings, trailing blanks removed."""
    if is_sparse(value):
        return value.tocsr()
    value = np.asarray(value)
    if value.dtype == object:
        cells = [np.asarray(cell).ravel() for cell in value.ravel()]
        if all(cell.dtype.kind == "U" and cell.size <= 1 for cell in cells):
            return np.array([str(cell[0]) if cell.size else None for cell in cells], dtype=object)
    if value.dtype.kind == "U":
        return np.array([v.rstrip() for v in value.ravel()], dtype=object)
    return value


# --- AnnData --------------------------------------------------------------------------------------


def read_anndata(path: Path, options: Options) -> Frame:
    """A matrix of the file (`X` unless a key such as `obsm/X_pca` is given), with its `obs`.

    The layout is that of https://anndata.readthedocs.io/en/latest/fileformat-prose.html: `X`,
    `layers` and `obsm` hold matrices, dense or compressed by rows or columns; `obs` a table of what
    is known of each object.
    """
    with _hdf5_file(path, "AnnData") as file:
        if "obs" not in file:
            raise DataError(f"{path} has no obs, so it is not an AnnData file.")
        key = (options.key or "X").strip("/")
        matrices = ["X"] if "X" in file else []
        matrices += [f"{group}/{n}" for group in ("layers", "obsm") for n in file.get(group, ())]
        if key not in file:
            raise DataError(f"{path} has no {key!r}; it holds {join_names(matrices)}.")
        X, obs = _matrix(_anndata_matrix(file[key]), f"{path}: {key}"), file["obs"]
        columns = {
            str(name): _vector(_anndata_column(obs[name]), X.shape[0])
            for name in obs.attrs.get("column-order", [])
        }
        known = {name: values for name, values in columns.items() if values is not None}
        titled = key == "X" or key.startswith("layers/")
        return Frame(
            known,
            X,
            list(map(_decode, _anndata_index(file["var"]))) if titled else None,
            frozenset(known),
            _vector(_anndata_index(obs), X.shape[0]),
            [f"the data is {key!r}, of {join_names(matrices)}"] if len(matrices) > 1 else [],
        )


def _anndata_index(table: Any) -> Any:
    return _anndata_column(table[str(table.attrs.get("_index", "_index"))])


def _anndata_matrix(item: Any) -> Any:
    kind = item.attrs.get("encoding-type", "array")
    if kind in ("csr_matrix", "csc_matrix"):
        from scipy import sparse

        parts: Any = [_load(item[name]) for name in ("data", "indices", "indptr")]
        make: Any = sparse.csr_array if kind == "csr_matrix" else sparse.csc_array
        return make(tuple(parts), shape=tuple(map(int, item.attrs["shape"]))).tocsr()
    if not _is_dataset(item):
        raise DataError(f"{item.file.filename}: {item.name} is {kind}, not a matrix.")
    return _load(item)


def _anndata_column(item: Any) -> Any:
    """One column of a table: plain, categorical or with a mask."""
    if _is_dataset(item):
        return _load(item)
    if item.attrs.get("encoding-type") == "categorical":
        codes = _load(item["codes"])
        values, absent = _load(item["categories"])[codes], codes < 0
    else:
        values = _load(item["values"])
        absent = _load(item["mask"]).astype(bool)
    if not absent.any():
        return values
    filler: Any = np.nan if values.dtype.kind in "biuf" else None
    return np.where(absent, filler, values)


# --- images ---------------------------------------------------------------------------------------


def read_images(folder: Path, options: Options) -> Frame:
    """Grey values (or colours) of all images, in natural order; subfolders are labels."""
    paths = sorted(
        (p for p in folder.rglob("*") if p.suffix.lower() in _IMAGES and p.is_file()),
        key=lambda path: [  # image2 before image10
            (int(part), "") if part.isdigit() else (-1, part)
            for part in re.split(r"(\d+)", path.as_posix().lower())
        ],
    )
    if not paths:
        raise DataError(f"{folder} holds no images ({', '.join(_IMAGES)}).")
    image = require("PIL.Image", "images", "Folders of images")
    first = _pixels(image, paths[0], options)
    smaller = argument("image_size", (32, 32))
    advice = f"Make them smaller with {smaller}, for instance."
    memory.claim(first.nbytes * len(paths), f"Reading {len(paths)} images", advice)
    X = np.empty((len(paths), first.size), dtype=np.uint8)
    size = f"{first.shape[1]} x {first.shape[0]}"
    for row, path in enumerate(paths):
        pixels = _pixels(image, path, options)
        if pixels.shape != first.shape:
            raise DataError(
                f"{path} is {pixels.shape[1]} x {pixels.shape[0]}, but {paths[0].name} is {size}; "
                f"bring all to one size, with {smaller} for instance."
            )
        X[row] = pixels.ravel()
    ids = np.array([p.relative_to(folder).as_posix() for p in paths], dtype=object)
    folders = np.array([p.parent.relative_to(folder).as_posix() for p in paths], dtype=object)
    columns = {"folder": folders} if len(set(folders)) > 1 else {}
    notes = [f"{len(paths)} images of {size} pixels, in {'colour' if options.color else 'grey'}"]
    return Frame(
        columns, X, None, frozenset(columns), ids, notes, image_shape=first.shape, photographs=True
    )


def _pixels(image: Any, path: Path, options: Options) -> Any:
    with damage_errors(path, "an image"), warnings.catch_warnings():
        warnings.simplefilter("error")  # an image that unpacks to far more than it is
        with image.open(path) as file:
            picture = file.convert("RGB" if options.color else "L")
    if options.image_size is not None:
        picture = picture.resize(options.image_size, image.Resampling.BOX)
    return np.asarray(picture)
