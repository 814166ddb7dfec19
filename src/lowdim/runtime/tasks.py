"""Where the blocks of a computation are worked on: in this process, or on the workers of a cluster.

`tasks` returns the current choice. Functions that are called through it depend on their argument
alone, so results do not depend on where, in which order or how often they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from importlib import import_module
from typing import Any, Protocol, TypeVar

from lowdim.runtime import memory
from lowdim.runtime.context import current
from lowdim.runtime.scratch import Rows, ScratchRows

Result = TypeVar("Result")


class Group(Protocol):
    """Pieces of several blocks that are worked on together; see `Tasks.exchange`."""

    def add(self, piece: Any) -> None:
        """Take in a piece."""

    def close(self) -> None:
        """Free what the group holds."""


NewGroup = Callable[[type[Rows]], Group]
"""Makes an empty group; the argument says where it keeps its rows."""

Split = Callable[[Any], Iterable[tuple[int, Any]]]
"""Divides an item into pieces, each with the number of its group."""

Work = Callable[[Any, int], Iterator[Result]]
"""From a group and its number to results."""


class Tasks:
    """Calls in this process, one after the other; other places override the methods."""

    parallel = False  # whether calls are made on several machines or processes
    wanted = False  # whether the user asked for this place, so that small data are sent there too

    def memory(self) -> int:
        """Bytes that one call may plan to use."""
        return memory.budget()

    def map(self, function: Callable[[Any], Result], items: Sequence[Any]) -> Iterator[Result]:
        """The results of a function for all items, in their order.

        The function is one of a module, or a `functools.partial` of one, that can be pickled.
        """
        for item in items:
            yield function(item)

    def persist(self, items: Sequence[Any]) -> Sequence[Any]:
        """Items for several calls of `map`, which are sent to the workers once."""
        return items

    def exchange(
        self, split: Split, items: Sequence[Any], count: int, group: NewGroup, work: Work[Result]
    ) -> Iterator[Result]:
        """Divide every item into pieces, and work on `count` groups of pieces of all items.

        A new group gets its pieces in the order of the items. Results are in the order of the
        groups.
        """
        with ExitStack() as stack:
            groups = [stack.enter_context(closing(group(ScratchRows))) for _ in range(count)]
            for pieces in self.map(split, items):
                for number, piece in pieces:
                    groups[number].add(piece)
            for number, one in enumerate(groups):
                yield from work(one, number)
                one.close()


HERE = Tasks()


def tasks() -> Tasks:
    """Where blocks are worked on: on the workers of the cluster in scope, else in this process."""
    chosen = current().tasks
    if chosen is not None:
        return chosen
    if "distributed" not in sys.modules:
        return HERE
    cluster: Tasks | None = import_module("lowdim.backends.dask.clusters").current_tasks()
    return cluster or HERE
