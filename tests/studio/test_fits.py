"""The callback of a fit in a worker: what it costs."""

from __future__ import annotations

import queue
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lowdim.studio import fits
from lowdim.studio.fits import LOSS_EVERY, Control
from lowdim.studio.processes import Channel
from studio.client import DEADLINE


@pytest.mark.parametrize(("cost", "most"), [(0.05, 1000 / LOSS_EVERY), (2.0, 7)])
def test_a_loss_that_takes_long_is_seldom_computed(monkeypatch, cost, most):
    clock = [0.0]
    monkeypatch.setattr(fits, "time", SimpleNamespace(
        process_time=lambda: clock[0], perf_counter=lambda: clock[0]
    ))  # fmt: skip
    channel: Any = SimpleNamespace(commands=queue.SimpleQueue(), frame_taken=threading.Event())
    callback = Control(channel)
    losses = 0
    for _ in range(1000):
        wanted = callback.wants_loss
        losses += wanted
        clock[0] += 1 + cost * wanted  # of an iteration
        callback(SimpleNamespace(loss=0.5 if wanted else float("nan")))
        callback.due()
    assert most - 3 <= losses <= most


def test_a_pause_shows_the_iteration_it_holds_even_if_the_last_frame_is_under_way():
    commands: Any = queue.SimpleQueue()
    messages: Any = queue.Queue()
    connection: Any = SimpleNamespace(recv=commands.get, send=messages.put)
    callback = Control(Channel(connection))

    def fit() -> None:
        for iteration in (1, 2):
            callback(
                SimpleNamespace(iteration=iteration, max_iter=9, loss=0.5, embedding=np.eye(2))
            )
            asked.wait()

    asked = threading.Event()
    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    assert messages.get(timeout=DEADLINE)[:2] == ("frame", 1)
    commands.put(("pause",))
    while callback.channel.commands.empty():
        time.sleep(0.001)
    asked.set()
    with pytest.raises(queue.Empty):  # the first frame is not taken yet
        messages.get(timeout=0.1)
    commands.put(("taken", 0.0))
    assert messages.get(timeout=DEADLINE)[:2] == ("frame", 2)
    assert messages.get(timeout=DEADLINE) == ("paused",)
    commands.put(("continue",))
    assert messages.get(timeout=DEADLINE) == ("running",)
    thread.join()
