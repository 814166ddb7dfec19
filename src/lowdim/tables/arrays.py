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
from numpy.lib import format as npy

from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.runtime import memory
from lowdim.tables.columns import Frame, dates_of
from lowdim.tables.errors import DataError, damage_error, join_names, require
from lowdim.tables.formats import Options

_DATA = ("x", "data", "features", "embedding", "coordinates", "d", "distances")
_IDS = ("id", "ids", "names", "obs_names", "index")
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")

# --- which array is the data; the others are labels or names --------------------------------------


def _choose(path: Path, arrays: Mapping[str, Any], key: str | None) -> Frame:
    """The array called `key`, else the one with a telling name, else the only one that can be."""
    if not arrays:
        raise DataError(f"{path} holds no arrays.")
    name = _pick(path, arrays, key)
    data, shape = _matrix(arrays[name], f"{path}: {name}"), arrays[name].shape
    frame = Frame(data)
    if len(arrays) > 1:
        frame.notes.append(f"the data is {name!r}, of the arrays {_describe(arrays)}")
    if len(shape) > 2:
        sides = " x ".join(map(str, shape))
        frame.notes.append(f"{name!r} is {sides}: each object was laid out as one row")
    if len(shape) == 3 or (len(shape) == 4 and shape[3] in (3, 4)):
        frame.image_shape = shape[1:]
    for other, value in arrays.items():
        if other == "coordinate_names":
            titles = _vector(value, data.shape[1])
            frame.names = None if titles is None else [str(v) for v in titles]
        elif other != name and (values := _vector(value, frame.n_rows)) is not None:
            if other.lower() in _IDS and frame.ids is None:
                frame.ids = values
            else:
                frame.beside[other] = values
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
        kinds = {"O": "Python objects", "U": "strings", "S": "strings", "c": "complex numbers"}
        kind = kinds.get(values.dtype.kind, str(values.dtype))
        raise DataError(f"{what} holds {kind}, not numbers; only arrays of numbers can be read.")
    if len(values.shape) == 0 or 0 in values.shape:
        raise DataError(f"{what} is empty: its shape is {tuple(values.shape)}.")
    if not isinstance(values, np.ndarray):
        values = np.asarray(values)
    return values.reshape(len(values), -1) if values.ndim != 2 else values


def _vector(values: Any, n: int) -> Array | None:
    """One value an object, or None if the array is something else; bytes become strings."""
    long = [side for side in values.shape if side != 1]
    if not 1 <= len(values.shape) <= 2 or long != [n][: n > 1]:
        return None
    values = np.asarray(values).ravel()
    texts = values.dtype == object and all(v is None or isinstance(v, str | bytes) for v in values)
    if values.dtype.kind in "US" or texts:
        return dates_of(np.array([_decode(v) for v in values.tolist()], dtype=object))
    return values if values.dtype.kind in "biufM" else None


def _decode(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


# --- NumPy ----------------------------------------------------------------------------------------


def read_npy(path: Path, options: Options) -> Frame:
    """An array; pickled objects are never loaded."""
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # the header is Python text, and a damaged one is anything
        raise _explain(path, error) from error
    if not isinstance(values, np.ndarray):
        raise DataError(f"{path} is an NPZ archive; give it the ending .npz.")
    return Frame(_matrix(values, str(path)))


def _explain(path: Path, error: Exception) -> DataError:
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return DataError(
            f"{path} holds pickled Python objects, which may run code when they are loaded and "
            "are never read; save plain arrays of numbers."
        )
    return damage_error(path, "NumPy", error)


def read_npz(path: Path, options: Options) -> Frame:
    """One of the arrays of an archive, or the matrix that `scipy.sparse.save_npz` wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            memory.claim(
                sum(member.file_size for member in members),
                f"Unpacking {path}",
                "Choose one array with numpy.load and save it as .npy, which is memory-mapped.",
            )
            arrays = {m.filename[: -len(".npy")]: _member(archive, m) for m in members}
    except MemoryError:
        raise
    except Exception as error:  # zlib, struct, zipfile and NumPy each have errors of their own
        raise _explain(path, error) from error
    if options.key is not None or not {"format", "shape", "data"} <= set(arrays):
        return _choose(path, arrays, options.key)
    from scipy import sparse

    try:
        matrix = sparse.csr_array(sparse.load_npz(path))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise damage_error(path, "a sparse matrix", error) from error
    return Frame(matrix)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """One array whose header declares no more bytes than the archive holds."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        declared = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if not dtype.hasobject and declared > member.file_size:
            raise ValueError(
                f"{member.filename} declares {declared} bytes but holds {member.file_size}"
            )
    with archive.open(member) as file:
        return npy.read_array(file, allow_pickle=False)


# --- HDF5 and Matlab ------------------------------------------------------------------------------


@contextmanager
def _hdf5_file(path: Path, kind: str) -> Iterator[Any]:
    """An HDF5 file for reading; every error of h5py becomes a DataError of one line."""
    h5py = require("h5py", "hdf5", f"{kind} files")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (DataError, MemoryError):
        raise
    except Exception as error:  # h5py's errors are of many kinds, none of them its own
        raise damage_error(path, kind, error) from error


class _Dataset:
    """A dataset of HDF5 that is read when it is asked for; its size is checked first."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.dtype, self.shape = dataset, dataset.dtype, dataset.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import h5py

        memory.claim(
            int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize,
            f"Reading {self.dataset.name} of {self.dataset.file.filename}",
            "Save the part that is needed, or fewer columns.",
        )
        if h5py.check_string_dtype(self.dtype) is not None:
            return np.asarray(self.dataset.asstr()[...], dtype=object)
        return np.asarray(self.dataset[...], dtype=dtype)


def read_hdf5(path: Path, options: Options) -> Frame:
    """One of the file's datasets, and those beside it with one value an object."""
    datasets: dict[str, _Dataset] = {}

    def collect(name: str, item: Any) -> None:
        if hasattr(item, "dtype"):
            datasets[name] = _Dataset(item)

    with _hdf5_file(path, "HDF5") as file:
        file.visititems(collect)
        return _choose(path, datasets, None if options.key is None else options.key.strip("/"))


def read_matlab(path: Path, options: Options) -> Frame:
    """One of the file's variables, and those beside it with one value an object."""
    with open(path, "rb") as stream:
        head = stream.read(128)
    if b"MATLAB 7.3" in head or head.startswith(b"\x89HDF"):  # HDF5, every matrix transposed
        with _hdf5_file(path, "Matlab 7.3") as file:
            able = {
                name: np.asarray(_Dataset(item)).T
                for name, item in file.items()
                if hasattr(item, "dtype") and item.dtype.kind in "biuf"
            }
            return _choose(path, able, options.key)
    from scipy.io import loadmat, whosmat

    try:
        memory.claim(
            sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in whosmat(path)),
            f"Reading {path}",
            "Save the variable that is needed alone.",
        )
        variables = loadmat(path, simplify_cells=False)
    except MemoryError:
        raise
    except Exception as error:  # zlib, struct and SciPy each have errors of their own
        raise damage_error(path, "Matlab", error) from error
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
        frame = Frame(_matrix(_anndata_matrix(file[key]), f"{path}: {key}"))
        if key == "X" or key.startswith("layers/"):
            frame.names = [str(v) for v in _anndata_index(file["var"])]
        if len(matrices) > 1:
            frame.notes.append(f"the data is {key!r}, of {join_names(matrices)}")
        frame.ids = _vector(_anndata_index(file["obs"]), frame.n_rows)
        for name in file["obs"].attrs.get("column-order", []):
            values = _vector(_anndata_column(file["obs"][name]), frame.n_rows)
            if values is not None:
                frame.beside[str(name)] = values
        return frame


def _anndata_index(table: Any) -> Any:
    return _anndata_column(table[str(table.attrs.get("_index", "_index"))])


def _anndata_matrix(item: Any) -> Any:
    kind = item.attrs.get("encoding-type", "array")
    if kind in ("csr_matrix", "csc_matrix"):
        from scipy import sparse

        names = ("data", "indices", "indptr")
        data, indices, indptr = (np.asarray(_Dataset(item[name])) for name in names)
        make = sparse.csr_array if kind == "csr_matrix" else sparse.csc_array
        n_rows, n_columns = (int(side) for side in item.attrs["shape"])
        return make((data, indices, indptr), shape=(n_rows, n_columns)).tocsr()
    if not hasattr(item, "dtype"):
        raise DataError(f"{item.file.filename}: {item.name} is {kind}, not a matrix.")
    return np.asarray(_Dataset(item))


def _anndata_column(item: Any) -> Any:
    """One column of a table: plain, categorical or with a mask."""
    if hasattr(item, "dtype"):
        return np.asarray(_Dataset(item))
    if item.attrs.get("encoding-type") == "categorical":
        codes = np.asarray(_Dataset(item["codes"]))
        values, absent = np.asarray(_Dataset(item["categories"]))[codes], codes < 0
    else:
        values = np.asarray(_Dataset(item["values"]))
        absent = np.asarray(_Dataset(item["mask"])).astype(bool)
    if not absent.any():
        return values
    return np.where(absent, np.nan if values.dtype.kind in "biuf" else None, values)


# --- images ---------------------------------------------------------------------------------------


def read_images(folder: Path, options: Options) -> Frame:
    """Grey values (or colours) of all images, in natural order; subfolders are labels."""
    paths = sorted(
        (p for p in folder.rglob("*") if p.suffix.lower() in _IMAGES and p.is_file()), key=_natural
    )
    if not paths:
        raise DataError(f"{folder} holds no images ({', '.join(_IMAGES)}).")
    image = require("PIL.Image", "images", "Folders of images")
    first = _pixels(image, paths[0], options)
    memory.claim(
        first.nbytes * len(paths),
        f"Reading {len(paths)} images",
        f"Make them smaller with {argument('image_size', (32, 32))}, for instance.",
    )
    X = np.empty((len(paths), first.size), dtype=np.uint8)
    for row, path in enumerate(paths):
        pixels = _pixels(image, path, options)
        if pixels.shape != first.shape:
            raise DataError(
                f"{path} is {_size(pixels)}, but {paths[0].name} is {_size(first)}; bring all to "
                f"one size, with {argument('image_size', (32, 32))} for instance."
            )
        X[row] = pixels.ravel()
    kind = "in colour" if options.color else "in grey"
    frame = Frame(X, notes=[f"{len(paths)} images of {_size(first)} pixels, {kind}"])
    frame.image_shape, frame.photographs = first.shape, True
    frame.ids = np.array([p.relative_to(folder).as_posix() for p in paths], dtype=object)
    folders = np.array([p.parent.relative_to(folder).as_posix() for p in paths], dtype=object)
    if len(set(folders)) > 1:
        frame.beside["folder"] = folders
    return frame


def _natural(path: Path) -> list[Any]:
    """image2 before image10."""
    parts = re.split(r"(\d+)", path.as_posix().lower())
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def _size(pixels: Any) -> str:
    return f"{pixels.shape[1]} x {pixels.shape[0]}"


def _pixels(image: Any, path: Path, options: Options) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an image that unpacks to far more than it is
            with image.open(path) as file:
                picture = file.convert("RGB" if options.color else "L")
    except Exception as error:  # Pillow's plugins raise whatever their formats lead to
        raise damage_error(path, "an image", error) from error
    if options.image_size is not None:
        picture = picture.resize(options.image_size, image.Resampling.BOX)
    return np.asarray(picture)
