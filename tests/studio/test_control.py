"""The callback of a fit in a worker: what it costs."""

from __future__ import annotations

import queue
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from lowdim.studio import control
from lowdim.studio.control import LOSS_EVERY, Control


@pytest.mark.parametrize(("cost", "most"), [(0.05, 1000 / LOSS_EVERY), (2.0, 7)])
def test_a_loss_that_takes_long_is_seldom_computed(monkeypatch, cost, most):
    clock = [0.0]
    monkeypatch.setattr(control, "time", SimpleNamespace(
        process_time=lambda: clock[0], perf_counter=lambda: clock[0]
    ))  # fmt: skip
    channel: Any = SimpleNamespace(commands=queue.SimpleQueue(), taken=threading.Event())
    callback = Control(channel)
    losses = 0
    for _ in range(1000):
        wanted = callback.wants_loss
        losses += wanted
        clock[0] += 1 + cost * wanted  # of an iteration
        callback(SimpleNamespace(loss=0.5 if wanted else float("nan")))
        callback.due()
    assert most - 3 <= losses <= most
