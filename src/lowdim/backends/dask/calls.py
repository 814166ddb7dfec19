"""Calls as tasks of Dask; see `lowdim.runtime.tasks`.

A function is sent with its arguments as a part of the graph of tasks, which the scheduler keeps.
So what a lost worker persist can be computed again, which data that were scattered could not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import cloudpickle
import dask
import numpy as np
from dask.delayed import Delayed, delayed

from lowdim.runtime import memory
from lowdim.runtime.context import current, override
from lowdim.runtime.scheduling import blocks, use_threads
from lowdim.runtime.scratch import HeldRows
from lowdim.runtime.tasks import HERE, NewGroup, Split, Tasks, Work

Result = TypeVar("Result")

BATCH = 4  # tasks for each thread, whose results are in memory at the same time
NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1PB"}
"""Dask advises to scatter large arguments; see the module for why they are not."""


class Call:
    """A function that is sent to workers, with the memory that it may use there.

    Tasks run on one thread each: a worker runs as many at a time as it has threads. The function is
    pickled as a whole, so that arrays that it holds are aligned in memory there; see `_align`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.memory = current().memory

    def __call__(self, *arguments: Any) -> Any:
        with override(device="cpu", threads=1, memory=self.memory, tasks=HERE), use_threads(None):
            return self.function(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (cloudpickle.dumps(self.function), self.memory)


def _unpickle(function: bytes, limit: int | None) -> Call:
    call = Call(cloudpickle.loads(function))
    call.memory = limit
    return call


class LocalTasks(Tasks):
    """Tasks on the scheduler of Dask that is configured in this process, by default its threads."""

    def map(self, function: Callable[[Any], Result], items: Sequence[Any]) -> Iterator[Result]:
        threads = current().threads
        calls = _calls(function, items)
        for part in blocks(len(calls), BATCH * threads):
            yield from dask.compute(*calls[part], num_workers=threads)


class ClusterTasks(Tasks):
    """Tasks on the workers of a cluster; `wanted` says whether small data in files are sent
    there too."""

    parallel = True

    def __init__(self, client: Any, wanted: bool = False) -> None:
        self.client, self.wanted = client, wanted

    def memory(self) -> int:
        """What the computation was given, or a share of what the smallest worker has a thread."""
        allowed = current().memory
        if allowed is not None:
            return allowed
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [w["memory_limit"] / w["nthreads"] for w in workers if w["memory_limit"]]
        return int(memory.FREE_SHARE * min(limits)) if limits else memory.budget()

    def map(self, function: Callable[[Any], Result], items: Sequence[Any]) -> Iterator[Result]:
        return self._results(_calls(function, items))

    def persist(self, items: Sequence[Any]) -> Sequence[Any]:
        with dask.config.set(NO_WARNING):
            results: Sequence[Any] = self.client.persist([_leaf(item) for item in items])
        return results

    def exchange(
        self, split: Split, items: Sequence[Any], count: int, group: NewGroup, work: Work[Result]
    ) -> Iterator[Result]:
        divided = _calls(split, items)
        pick, call = delayed(_pieces_of, pure=False), delayed(_work, pure=False)
        both = _leaf(Call(partial(_list_results, work))), _leaf(group)
        calls = [call(*both, number, [pick(p, number) for p in divided]) for number in range(count)]
        return chain.from_iterable(self._results(calls))

    def _results(self, calls: list[Delayed]) -> Iterator[Any]:
        """The results in order; each is freed on the workers once it is here."""
        from distributed import KilledWorker

        with dask.config.set(NO_WARNING):
            futures = deque(self.client.compute(calls))
        while futures:
            try:
                yield _align(futures.popleft().result())
            except KilledWorker as error:
                raise RuntimeError(
                    "The cluster has lost several workers with the same task. Did they run out of "
                    "memory? Start workers with more memory or fewer threads, or set a smaller "
                    f"one by lowdim.compute(memory=...) or --memory. ({error})"
                ) from error


def _leaf(value: Any) -> Delayed:
    """A value that several tasks share."""
    return delayed(value, pure=False, traverse=False)


def _calls(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Delayed]:
    shared, call = _leaf(Call(function)), delayed(_call, pure=False)
    return [call(shared, item) for item in items]


def _call(function: Call, item: Any) -> Any:
    return function(_align(item))


def _pieces_of(pieces: Iterable[tuple[int, Any]], number: int) -> list[Any]:
    return [piece for group, piece in pieces if group == number]


def _work(work: Call, group: NewGroup, number: int, pieces: list[list[Any]]) -> Any:
    """The results of a group, whose pieces are those of all items."""
    with closing(group(HeldRows)) as gathered:
        for piece in chain.from_iterable(pieces):
            gathered.add(_align(piece))
        return work(gathered, number)


def _list_results(function: Work[Any], group: Any, number: int) -> list[Any]:
    return list(function(group, number))


def _align(value: Any) -> Any:
    """A value whose arrays begin at addresses that are multiples of the size of an entry.

    Those that were received are parts of a buffer of bytes, and may begin anywhere.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if isinstance(value, list):
        return [_align(part) for part in value]
    if isinstance(value, tuple):
        parts = map(_align, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
