"""Where the blocks of a computation are worked on: in this process, or on the workers of a cluster.

`tasks` returns the current choice. Functions that are called through it depend on their argument
alone, so results do not depend on where, in which order or how often they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any, Protocol, Self, TypeVar

from lowdim.runtime import memory
from lowdim.runtime.context import current
from lowdim.runtime.scratch import Rows, ScratchRows

Result = TypeVar("Result")


class Group(Protocol):
    """Pieces of several blocks that are worked on together; see `Tasks.exchange`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def add(self, piece: Any) -> None:
        """Take in a piece."""

    def close(self) -> None:
        """Free what the group holds."""


NewGroup = Callable[[type[Rows]], Group]
"""Makes an empty group; the argument says where it keeps its rows."""


class Tasks:
    """Calls in this process, one after the other; other places override the methods."""

    parallel = False  # whether calls are made on several machines or processes
    wanted = False  # whether the user asked for this place, so that small data are sent there too

    def memory(self) -> int:
        """Bytes that one call may plan to use."""
        return memory.budget()

    def map(self, function: Callable[[Any], Result], items: Sequence[Any]) -> Iterator[Result]:
        """The results of a function for all items, in their order.

        Parameters
        ----------
        function : callable
            A function of a module, or a `functools.partial` of one, that can be pickled.
        items : sequence
        """
        for item in items:
            yield function(item)

    def persist(self, items: Sequence[Any]) -> Sequence[Any]:
        """Items for several calls of `map`, which are sent to the workers once."""
        return items

    def exchange(
        self,
        split: Callable[[Any], Iterable[tuple[int, Any]]],
        items: Sequence[Any],
        count: int,
        group: NewGroup,
        work: Callable[[Any, int], Iterator[Result]],
    ) -> Iterator[Result]:
        """Divide every item into pieces, and work on groups of pieces of all items.

        Parameters
        ----------
        split : callable
            Numbers of groups and pieces for them, of an item.
        items : sequence
        count : int
            Number of groups.
        group : callable
            Makes an empty group, which gets its pieces in the order of the items.
        work : callable
            The results of a group, from the group and its number.

        Yields
        ------
        Result
            In the order of the groups.
        """
        with ExitStack() as opened:
            groups = [opened.enter_context(group(ScratchRows)) for _ in range(count)]
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
