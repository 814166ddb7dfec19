"""The helper process: answers questions that take time, so that the server stays responsive."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from lowdim.studio.errors import Refused
from lowdim.studio.processes import settle, shielded

NICENESS = 3


def begin() -> None:
    """Called first in the process: it ends with the server, also if that is killed."""
    settle(NICENESS)
    server = multiprocessing.parent_process()
    assert server is not None

    def follow() -> None:
        server.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


class Helper:
    """One process that runs functions in the order in which they are asked for.

    If it dies, the question is refused and the next one gets a new process.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._closed = False

    async def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function; its errors of values become refusals."""
        if self._closed:
            raise Refused("The studio is being stopped.", 503)
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=begin)
        pool = self._pool
        try:
            with shielded():  # the first question starts the process
                asked = pool.submit(function, *arguments)
            return await asyncio.wrap_future(asked)
        except BrokenProcessPool as error:
            if self._pool is pool:
                self._pool = None
            if self._closed:
                raise Refused("The studio is being stopped.", 503) from error
            raise Refused(
                "The helper process ended unexpectedly, perhaps for lack of memory. Try again, or "
                "with less data.",
                500,
            ) from error
        except (TypeError, ValueError, OSError, MemoryError, ArithmeticError, KeyError) as error:
            raise Refused(" ".join(str(error).split()) or type(error).__name__) from error

    def close(self) -> None:
        """End the process, also in the middle of an answer: open questions are refused."""
        self._closed = True
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=False)
