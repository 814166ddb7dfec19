"""The resources of a computation: device, threads, memory and a folder for temporary files.

They are chosen once, when a public call begins, and live in a context variable, so that internal
functions need no argument for them: `current` reads them. `compute` sets them for a block of code;
values that it does not set come from the environment (`LOWDIM_DEVICE`, `LOWDIM_NUM_THREADS`,
`LOWDIM_MEMORY`, `LOWDIM_SCRATCH`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lowdim.checks import integer
from lowdim.messages import argument as spell
from lowdim.runtime.atomic import uninterrupted

if TYPE_CHECKING:
    from lowdim.backends.protocol import Backend

ENGINES = {"cpu": "lowdim.backends.native"}
"""The module that implements `lowdim.backends.protocol.Backend` for each device.

All other devices are those of PyTorch: see `lowdim.backends.torch.backend_of`.
"""

DEVICES = "'cpu', 'cuda', 'cuda:1', 'mps', 'torch:cpu' or 'auto'"
TORCH_DEVICE = re.compile(r"cuda(:\d+)?|mps|torch:cpu")
AUTO_FROM = 20_000  # objects from which "auto" uses a GPU; below, the CPU takes a second or less

_BYTES_PER_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Compute:
    """The resources of a computation.

    Parameters
    ----------
    device : str
        Where the computation runs: "cpu", "cuda", "cuda:1", "mps", "torch:cpu", or "auto", which
        is the CPU until the amount of work is known (see `suited`).
    threads : int
        Number of threads that may work at the same time.
    memory : int or None
        Number of bytes that the computation may use; None: the free memory of the machine.
    scratch : str or None
        Folder for temporary files; None: that of the system.
    """

    device: str
    threads: int
    memory: int | None = None
    scratch: str | None = None

    @property
    def backend(self) -> Backend:
        """The implementation of `Backend` for the device."""
        device = "cpu" if self.device == "auto" else self.device
        if device in ENGINES:
            return _module(ENGINES[device])
        found: Backend = _torch_engine().backend_of(device)
        return found


@cache
def _module(name: str) -> Backend:
    """A module by its name; solvers of small problems ask for it every few microseconds."""
    return import_module(name)


_chosen: ContextVar[Compute | None] = ContextVar("lowdim.compute", default=None)
_resident: ContextVar[dict[Any, Any] | None] = ContextVar("lowdim.resident", default=None)


@contextmanager
def keeping_uploads() -> Iterator[None]:
    """Keep arrays on the device, once copied there, until the outermost such context ends."""
    if _resident.get() is not None:
        yield
        return
    kept: dict[Any, Any] = {}
    token = _resident.set(kept)
    try:
        yield
    finally:
        _resident.reset(token)
        kept.clear()  # its entries refer to it


def uploads() -> dict[Any, Any] | None:
    """Where a backend keeps copies of arrays on its device; None outside of a public call."""
    return _resident.get()


def current() -> Compute:
    """The current resources: those of the enclosing context, else those of the environment."""
    return _chosen.get() or _from_environment()


@contextmanager
def compute(
    device: str | None = None,
    *,
    n_jobs: int | None = None,
    memory: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
) -> Iterator[Compute]:
    """Choose the device, the threads, the memory and the cluster for all calls in a block of code.

    Parameters
    ----------
    device : str, default=None
        Where to compute: "cpu" (the compiled core), "cuda" or "cuda:1" (an NVIDIA GPU), "mps" (an
        Apple GPU), "torch:cpu" (PyTorch on the CPU, for tests) or "auto" (a GPU if there is one
        and the data are large enough to profit from it). All but "cpu" need PyTorch. Operations
        that a device lacks run on the CPU. None leaves the choice to the surrounding block, else
        to the environment variable `LOWDIM_DEVICE`, else it is "cpu".
    n_jobs : int, default=None
        Number of threads. A negative number counts back from the number available: -1 stands for
        all of them. None leaves the choice to the surrounding block, else to
        `LOWDIM_NUM_THREADS`, else all cores are used. An estimator's own `n_jobs` takes
        precedence. Results do not depend on the number of threads.
    memory : int or str, default=None
        Number of bytes that a computation may use, as an integer or a string such as "8GB". None
        leaves the choice to the surrounding block, else to `LOWDIM_MEMORY`, else it is the free
        memory of the machine. Data in files are read in blocks if they are large for it.
    scratch : str or path-like, default=None
        An existing folder for temporary files, which searches in data that do not fit into memory
        write. They vanish when the search or the process ends. None leaves the choice to the
        surrounding block, else to `LOWDIM_SCRATCH`, else it is the folder of the system.
    scheduler : str, default=None
        The address of a scheduler of Dask, such as "tcp://10.0.0.1:8786": data in files, which all
        workers must find under the same paths, and Dask arrays are worked on there. None takes the
        `distributed.Client` in scope, if there is one, for Dask arrays and large files. Needs
        Dask: ``pip install 'lowdim[dask]'``.

    Yields
    ------
    Compute
        The resources inside the block.

    Examples
    --------
    >>> import lowdim
    >>> with lowdim.compute(n_jobs=1, memory="2GB") as resources:
    ...     resources.threads, resources.memory
    (1, 2000000000)
    """
    outer = current()
    inner = Compute(
        outer.device if device is None else check_device(device, "device"),
        n_threads(n_jobs),
        outer.memory if memory is None else check_bytes(memory, "memory"),
        outer.scratch if scratch is None else check_folder(scratch, "scratch"),
    )
    with using(inner), _joined(scheduler):
        yield inner


def _joined(scheduler: str | None) -> AbstractContextManager[None]:
    """The context of a cluster, if its scheduler is named."""
    if scheduler is None:
        return nullcontext()
    if not isinstance(scheduler, str):
        raise TypeError(f"scheduler must be the address of a Dask scheduler, got {scheduler!r}.")
    found: AbstractContextManager[None] = dask_clusters("scheduler").joined(scheduler)
    return found


def dask_clusters(argument: str) -> Any:
    """The module of the clusters of Dask; `argument` is named in the message if it is missing."""
    if find_spec("distributed") is None:
        raise ImportError(
            f"{spell(argument)} needs Dask, which is not installed: pip install 'lowdim[dask]'."
        )
    return import_module("lowdim.backends.dask.clusters")


def choose(resources: Compute) -> None:
    """Set the current resources for the rest of the calling context."""
    _chosen.set(resources)


@contextmanager
def using(resources: Compute) -> Iterator[None]:
    """Set the current resources of the calling thread inside the block."""
    token = _chosen.set(resources)
    try:
        yield
    finally:
        _chosen.reset(token)


@contextmanager
def suited(n: int) -> Iterator[None]:
    """The current resources with "auto" resolved for n objects: a GPU if they are many."""
    resources = current()
    if resources.device != "auto":
        yield
        return
    device = "cpu"
    if n >= AUTO_FROM and find_spec("torch") is not None:
        device = _torch_engine().gpu() or "cpu"
    with using(replace(resources, device=device)):
        yield


def n_threads(n_jobs: int | None = None) -> int:
    """The number of threads that `n_jobs` stands for; None: the current number."""
    if n_jobs is None:
        return current().threads
    count = integer(n_jobs, "n_jobs", -(10**6), 10**6)
    if count == 0:
        raise ValueError(
            f"{spell('n_jobs')} must not be 0: give a number of threads, or -1 or None for all."
        )
    return count if count > 0 else max(1, current().threads + 1 + count)


def with_threads(threads: int) -> Compute:
    """The current resources with another number of threads."""
    return replace(current(), threads=threads)


def _from_environment() -> Compute:
    device = os.environ.get("LOWDIM_DEVICE") or "cpu"
    memory, scratch = os.environ.get("LOWDIM_MEMORY"), os.environ.get("LOWDIM_SCRATCH")
    return Compute(
        check_device(device, "LOWDIM_DEVICE"),
        _environment_threads(),
        check_bytes(memory, "LOWDIM_MEMORY") if memory else None,
        check_folder(scratch, "LOWDIM_SCRATCH") if scratch else None,
    )


def _environment_threads() -> int:
    asked = os.environ.get("LOWDIM_NUM_THREADS")
    if asked:
        if not asked.isdecimal():
            raise ValueError(f"LOWDIM_NUM_THREADS must be a whole number, got {asked!r}.")
        return max(1, int(asked))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _torch_engine() -> Any:
    """The package of the PyTorch engine; Ctrl-C waits until it is imported.

    PyTorch that was imported in part crashes when it is used.
    """
    with uninterrupted():
        return import_module("lowdim.backends.torch")


def check_device(name: object, argument: str) -> str:
    """A name of a device; raises unless it can be used here. `argument` is named in the message."""
    if isinstance(name, str) and (name in ENGINES or name == "auto"):
        return name
    if not isinstance(name, str) or not TORCH_DEVICE.fullmatch(name):
        raise ValueError(f"{spell(argument)} must be {DEVICES}; got {name!r}.")
    if find_spec("torch") is None:
        raise ImportError(
            f"{spell(argument, name)} needs PyTorch, which is not installed: "
            "pip install 'lowdim[torch]', or use device 'cpu'."
        )
    problem = _torch_engine().problem_with(name)
    if problem:
        raise ValueError(f"{spell(argument, name)}: {problem}")
    _torch_engine().prepare(name)
    return name


def check_bytes(amount: int | str, argument: str) -> int:
    """A number of bytes from an integer or a string such as "8GB" or "500 MB"."""
    if not isinstance(amount, str):
        return integer(amount, argument, 1)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)I?B?\s*", amount.upper())
    if found is None or float(found[1]) == 0:
        raise ValueError(
            f"{spell(argument)} must be a number of bytes or a string such as '8GB', got "
            f"{amount!r}."
        )
    return int(float(found[1]) * _BYTES_PER_UNIT[found[2]])


def check_folder(path: str | os.PathLike[str], argument: str) -> str:
    """The absolute path of an existing folder; `argument` is named in the message."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{spell(argument)} must be the name of a folder, got {path!r}.")
    if not os.path.isdir(path):
        raise ValueError(f"{spell(argument)} must be an existing folder, got {os.fspath(path)!r}.")
    return os.path.abspath(path)
