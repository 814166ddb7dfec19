"""Worker processes: questions, errors, death, and Ctrl-C in the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lowdim.studio.errors import Refused
from lowdim.studio.processes import Helper, block_interrupts
from studio.client import DEADLINE

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


def test_ctrl_c_while_a_process_starts_is_not_lost():
    with pytest.raises(KeyboardInterrupt), block_interrupts():
        os.kill(os.getpid(), signal.SIGINT)


def test_a_new_process_does_not_receive_ctrl_c():
    with block_interrupts():
        started = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, check=True)
    assert started.stdout.split() == [b"True"]
    later = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, check=True)
    assert later.stdout.split() == [b"False"]


def run(steps: Coroutine[Any, Any, Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop, of a browser test before
        return pool.submit(asyncio.run, steps).result()


def test_questions_are_answered_by_one_process_in_their_order():
    async def ask() -> list[Any]:
        helper = Helper()
        found = await asyncio.gather(*(helper.ask(f) for f in (os.getpid, time.time_ns) * 2))
        helper.close()
        return found

    pid, first, again, second = run(ask())
    assert pid == again != os.getpid()
    assert first < second


def test_an_error_is_a_refusal_and_the_process_goes_on():
    async def ask() -> tuple[str, bool]:
        helper = Helper()
        pid = await helper.ask(os.getpid)
        with pytest.raises(Refused) as refusal:
            await helper.ask(int, "many")
        same = pid == await helper.ask(os.getpid)
        helper.close()
        return str(refusal.value), same

    message, same = run(ask())
    assert "invalid literal" in message
    assert same


def test_a_death_is_a_refusal_and_the_next_question_gets_another_process():
    async def ask() -> tuple[Refused, bool]:
        helper = Helper()
        pid = await helper.ask(os.getpid)
        with pytest.raises(Refused) as refusal:
            await helper.ask(os._exit, 3)
        other = pid != await helper.ask(os.getpid)
        helper.close()
        return refusal.value, other

    error, other = run(ask())
    assert "exit status 3" in str(error)
    assert error.status == 500
    assert other


def test_a_question_that_is_cancelled_ends_and_lets_the_next_one_through():
    async def ask() -> bool:
        helper = Helper()
        pid = await helper.ask(os.getpid)
        question = asyncio.create_task(helper.ask(time.sleep, 10 * DEADLINE))
        await asyncio.sleep(0)  # the process has the question
        question.cancel()
        async with asyncio.timeout(DEADLINE):
            other = pid != await helper.ask(os.getpid)
        helper.close()
        return other

    assert run(ask())


def test_a_helper_that_is_closed_refuses_open_and_new_questions():
    async def ask() -> list[Any]:
        helper = Helper()
        await helper.ask(os.getpid)
        questions = [asyncio.create_task(helper.ask(time.sleep, 10 * DEADLINE)) for _ in range(2)]
        await asyncio.sleep(0)
        helper.close()
        async with asyncio.timeout(DEADLINE):
            found = await asyncio.gather(*questions, return_exceptions=True)
        with pytest.raises(Refused) as refusal:
            await helper.ask(os.getpid)
        return [*found, refusal.value]

    assert [error.status for error in run(ask())] == [503] * 3
