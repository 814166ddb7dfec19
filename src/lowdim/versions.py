"""What runs here: versions, instruction set, threads and BLAS, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from lowdim.backends import native
from lowdim.runtime.context import current

_PACKAGES = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "pyarrow", "h5py")


def versions() -> dict[str, str]:
    """The versions and the machine that a result depends on, by name."""
    import scipy.linalg  # noqa: F401  (so that its BLAS is loaded and can be reported)
    from threadpoolctl import threadpool_info

    def installed_version(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    result = {
        "lowdim": installed_version("lowdim"),
        "python": f"{sys.version.split()[0]} on {platform.platform()}",
        **{name: installed_version(name) for name in _PACKAGES},
        "instructions": f"{native.description()} (LOWDIM_ISA overrides)",
        "torch": installed_version("torch"),
        **_resources(),
    }
    for library in threadpool_info():
        name = " ".join(filter(None, (library["internal_api"], library["version"])))
        result[library["user_api"]] = f"{name}, {library['num_threads']} threads"
    return result


def _resources() -> dict[str, str]:
    """Device and threads, or why what the environment asks for cannot be used."""
    try:
        chosen = current()
    except (ImportError, ValueError) as error:
        return {"device": f"{_gpus()}; {error}"}
    return {
        "device": f"{chosen.device} (LOWDIM_DEVICE overrides); {_gpus()}",
        "threads": f"{chosen.threads} (LOWDIM_NUM_THREADS overrides)",
    }


def _gpus() -> str:
    """The GPUs that PyTorch finds."""
    if find_spec("torch") is None:
        return "no GPU without PyTorch"
    from lowdim.backends.torch import backend_of, gpu

    name = gpu()
    return "PyTorch finds no GPU" if name is None else f"{name}: {backend_of(name).description()}"


def show_versions() -> None:
    """Print versions, instruction set, threads and BLAS, for bug reports.

    Examples
    --------
    >>> import lowdim
    >>> lowdim.show_versions()  # doctest: +ELLIPSIS
    lowdim        ...
    """
    for name, value in versions().items():
        print(f"{name:<13} {value}")
