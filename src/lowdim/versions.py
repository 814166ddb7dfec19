"""What runs here: versions, instruction set, threads and BLAS, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from lowdim.backends import native


def show_versions() -> None:
    """Print the versions and the machine that a result depends on."""
    import scipy.linalg  # noqa: F401  (so that its BLAS is loaded and can be reported)
    from threadpoolctl import threadpool_info

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    print(f"lowdim        {installed('lowdim')}")
    print(f"python        {sys.version.split()[0]} on {platform.platform()}")
    for name in ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib"):
        print(f"{name:<13} {installed(name)}")
    print(f"instructions  {native.isa()} (LOWDIM_ISA overrides)")
    print(f"threads       {native.n_threads(None)} (LOWDIM_NUM_THREADS overrides)")
    for library in threadpool_info():
        name, number = library["internal_api"], library["version"]
        print(f"{library['user_api']:<13} {name} {number}, {library['num_threads']} threads")
