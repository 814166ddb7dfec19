"""The context of a computation: its resources, who follows its progress, where its states are.

It is one immutable value in one context variable, so that internal functions need no argument for
it: `current` reads it, and `override` replaces fields of it for a block of code. `compute` does so
for users; resources that it does not set come from the environment (`LOWDIM_DEVICE`,
`LOWDIM_NUM_THREADS`, `LOWDIM_MEMORY`, `LOWDIM_SCRATCH`).
"""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager, ExitStack, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lowdim import checks
from lowdim.checks import integer
from lowdim.messages import argument
from lowdim.runtime.interrupts import AtomicContext, defer_interrupts, watch_interrupts

if TYPE_CHECKING:
    from lowdim.backends.native import Backend
    from lowdim.runtime.checkpoint import States
    from lowdim.runtime.scheduling import Count
    from lowdim.runtime.tasks import Tasks

ENGINES = {"cpu": "lowdim.backends.native"}
"""The module whose `BACKEND` is that of each device.

All other devices are those of PyTorch: see `lowdim.backends.torch.backend_of`.
"""

DEVICES = "'cpu', 'cuda', 'cuda:1', 'mps', 'torch:cpu' or 'auto'"
TORCH_DEVICE = re.compile(r"cuda(:\d+)?|mps|torch:cpu")
AUTO_FROM = 20_000  # objects from which "auto" uses a GPU; below, the CPU takes a second or less

_BYTES_PER_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Context:
    """The context of a computation; see `compute` for its resources."""

    device: str  # "auto" is the CPU until the amount of work is known, see `resolve_device`
    threads: int
    memory: int | None = None  # bytes; None: the free memory of the machine
    scratch: str | None = None  # None: the folder of the system
    tasks: Tasks | None = None  # None: see `lowdim.runtime.tasks.tasks`
    # where a backend keeps copies of arrays on its device; None outside of a public call
    uploads: dict[Any, Any] | None = field(default=None, repr=False, compare=False)
    label: str = ""  # of the method whose phases are shown as progress bars; empty if none are
    count: Count | None = None  # counts the finished parts of the phase that is shown
    states: States | None = None  # of the running fit; its seed is that of random_state=None
    # whether Ctrl-C ends the whole computation, of which a solver is only a step
    interrupts_raise: bool = False

    @property
    def backend(self) -> Backend:
        """The backend of the device."""
        device = "cpu" if self.device == "auto" else self.device
        if device in ENGINES:
            return _backend_of(ENGINES[device])
        engine: Backend = _torch_engine().backend_of(device)
        return engine


@cache
def _backend_of(module: str) -> Backend:
    """The backend of a module; solvers of small problems ask for it every few microseconds."""
    backend: Backend = import_module(module).BACKEND
    return backend


_context: ContextVar[Context | None] = ContextVar("lowdim.context", default=None)


def current() -> Context:
    """The current context; outside of all, the resources are those of the environment."""
    return _context.get() or _from_environment()


class override(AtomicContext[Context]):
    """Replace fields of the current context inside the block, which gets the new context."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def _enter(self) -> Context:
        context = current()
        if any(getattr(context, name) is not value for name, value in self._fields.items()):
            context = replace(context, **self._fields)
        self._token = _context.set(context)
        return context

    def _exit(self) -> None:
        _context.reset(self._token)


class keep_uploads(AtomicContext[None]):
    """Keep arrays on the device, once copied there, until the outermost such block ends."""

    def _enter(self) -> None:
        self._own: dict[Any, Any] = {}
        outer = current().uploads
        self._override = override(uploads=self._own if outer is None else outer)
        self._override.__enter__()

    def _exit(self) -> None:
        self._own.clear()  # its entries refer to it
        self._override.__exit__()


class all_of(AtomicContext[Context]):
    """Several contexts, which are entered and left together; Ctrl-C leaves all of them."""

    def __init__(self, *contexts: AbstractContextManager[Any]) -> None:
        self._contexts = (watch_interrupts(), *contexts)

    def _enter(self) -> Context:
        with ExitStack() as stack:
            for context in self._contexts:
                stack.enter_context(context)
            self._stack = stack.pop_all()
        return current()

    def _exit(self) -> None:
        self._stack.close()


def _seed_of_none() -> int | None:
    """What random_state=None stands for; None: the generator of NumPy."""
    context = _context.get()
    return None if context is None or context.states is None else context.states.seed


checks.seed_none_by(_seed_of_none)


def compute(
    device: str | None = None,
    *,
    n_jobs: int | None = None,
    memory: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
) -> AbstractContextManager[Context]:
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

    Returns
    -------
    context manager
        The value of its block is a `Context`, with the resources as its attributes.

    Examples
    --------
    >>> import lowdim
    >>> with lowdim.compute(n_jobs=1, memory="2GB") as resources:
    ...     resources.threads, resources.memory
    (1, 2000000000)
    """
    outer = current()
    resources = {
        "device": outer.device if device is None else check_device(device, "device"),
        "threads": n_threads(n_jobs),
        "memory": outer.memory if memory is None else check_bytes(memory, "memory"),
        "scratch": outer.scratch if scratch is None else check_folder(scratch, "scratch"),
    }
    return all_of(override(**resources), _cluster_context(scheduler))


def _cluster_context(scheduler: str | None) -> AbstractContextManager[None]:
    """The context of a cluster, if its scheduler is named."""
    if scheduler is None:
        return nullcontext()
    if not isinstance(scheduler, str):
        raise TypeError(f"scheduler must be the address of a Dask scheduler, got {scheduler!r}.")
    context: AbstractContextManager[None] = dask_clusters("scheduler").join_cluster(scheduler)
    return context


def dask_clusters(parameter: str) -> Any:
    """The module of the clusters of Dask; `parameter` is named in the message if it is missing."""
    if find_spec("distributed") is None:
        raise ImportError(
            f"{argument(parameter)} needs Dask, which is not installed: pip install 'lowdim[dask]'."
        )
    return import_module("lowdim.backends.dask.clusters")


def resolve_device(n: int) -> AbstractContextManager[Context]:
    """The current context with "auto" resolved for n objects: a GPU if they are many."""
    device = current().device
    if device == "auto":
        many = n >= AUTO_FROM and find_spec("torch") is not None
        device = (_torch_engine().gpu() if many else None) or "cpu"
    return override(device=device)


def n_threads(n_jobs: int | None = None) -> int:
    """The number of threads that `n_jobs` stands for; None: the current number."""
    if n_jobs is None:
        return current().threads
    count = integer(n_jobs, "n_jobs", -(10**6), 10**6)
    if count == 0:
        raise ValueError(
            f"{argument('n_jobs')} must not be 0: give a number of threads, or -1 or None for all."
        )
    return count if count > 0 else max(1, current().threads + 1 + count)


def _from_environment() -> Context:
    device = os.environ.get("LOWDIM_DEVICE") or "cpu"
    memory, scratch = os.environ.get("LOWDIM_MEMORY"), os.environ.get("LOWDIM_SCRATCH")
    return Context(
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
    with defer_interrupts():
        return import_module("lowdim.backends.torch")


def check_device(name: object, parameter: str) -> str:
    """A name of a device; raises unless it can be used here. The message names `parameter`."""
    if isinstance(name, str) and (name in ENGINES or name == "auto"):
        return name
    if not isinstance(name, str) or not TORCH_DEVICE.fullmatch(name):
        raise ValueError(f"{argument(parameter)} must be {DEVICES}; got {name!r}.")
    if find_spec("torch") is None:
        raise ImportError(
            f"{argument(parameter, name)} needs PyTorch, which is not installed: "
            "pip install 'lowdim[torch]', or use device 'cpu'."
        )
    problem = _torch_engine().problem_with(name)
    if problem:
        raise ValueError(f"{argument(parameter, name)}: {problem}")
    _torch_engine().prepare(name)
    return name


def check_bytes(amount: int | str, parameter: str) -> int:
    """A number of bytes from an integer or a string such as "8GB" or "500 MB"."""
    if not isinstance(amount, str):
        return integer(amount, parameter, 1)
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)I?B?\s*", amount.upper())
    if match is None or float(match[1]) == 0:
        raise ValueError(
            f"{argument(parameter)} must be a number of bytes or a string such as '8GB', got "
            f"{amount!r}."
        )
    return int(float(match[1]) * _BYTES_PER_UNIT[match[2]])


def check_folder(path: str | os.PathLike[str], parameter: str) -> str:
    """The absolute path of an existing folder; `parameter` is named in the message."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{argument(parameter)} must be the name of a folder, got {path!r}.")
    if not os.path.isdir(path):
        got = os.fspath(path)
        raise ValueError(f"{argument(parameter)} must be an existing folder, got {got!r}.")
    return os.path.abspath(path)
