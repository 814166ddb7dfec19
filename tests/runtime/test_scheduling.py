from __future__ import annotations

import os
import signal
import threading
import time
from contextvars import ContextVar

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import lowdim
from lowdim import checks
from lowdim.runtime import scheduling
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blas_on_one_thread, blocks, run, use_threads

FORK = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # that is what is tested
]
PATIENCE = 120  # seconds until a thread or a child counts as hung


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def _two_blas_threads():
    """Whatever the machine has, so that held and restored can be told apart."""
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


# --- run and blocks -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_keeps_the_order(n_jobs):
    finished = threading.Event()

    def first_ends_last(i):
        if i == 0 and n_jobs > 1:
            assert finished.wait(PATIENCE)
        if i == 19:
            finished.set()
        return i * i

    with lowdim.compute(n_jobs=n_jobs):
        assert run(first_ends_last, iter(range(20))) == [i * i for i in range(20)]
        assert run(first_ends_last, []) == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_passes_errors_on_and_restores_blas(n_jobs):
    with lowdim.compute(n_jobs=n_jobs):
        with pytest.raises(ZeroDivisionError):
            run(lambda i: 1 // i, [1, 0, 2])
        assert current().threads == n_jobs
    assert set(blas_threads()) == {2}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_raises_the_error_of_the_first_item(n_jobs):
    def fail(i):
        if i >= 5:
            raise ValueError(i)

    with lowdim.compute(n_jobs=n_jobs):
        for _ in range(20):
            with pytest.raises(ValueError) as caught:
                run(fail, range(12))
            assert caught.value.args == (5,)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_passes_an_interrupt_on_and_leaves_the_rest_out(n_jobs):
    done = []

    def work(i):
        if i == 0:
            raise KeyboardInterrupt
        done.append(i)
        time.sleep(0.001)  # all items take seconds, far longer than the first may be held up

    with lowdim.compute(n_jobs=n_jobs), pytest.raises(KeyboardInterrupt):
        run(work, range(10_000))
    assert len(done) < 10_000


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_works_in_the_context_of_the_caller(n_jobs):
    variable = ContextVar("variable")
    token = variable.set("given")
    try:
        with lowdim.compute(n_jobs=n_jobs):
            assert run(lambda _: variable.get("missing"), range(12)) == ["given"] * 12
    finally:
        variable.reset(token)


def test_thread_local_values_last_as_long_as_run():
    local = threading.local()

    def work(_):
        local.calls = getattr(local, "calls", 0) + 1
        return threading.get_ident(), local.calls

    with lowdim.compute(n_jobs=3):
        found = run(work, range(300))
    for ident in {ident for ident, _ in found}:
        calls = [count for own, count in found if own == ident]
        assert calls == list(range(1, len(calls) + 1))


def test_run_uses_as_many_threads_as_it_may_and_no_more():
    lock, inside, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3, timeout=PATIENCE)

    def work(i):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        if i < 3:
            together.wait()  # three at the same time, or it breaks
        with lock:
            inside[0] -= 1

    with lowdim.compute(n_jobs=3):
        run(work, range(12))
    assert most[0] == 3


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_holds_blas_to_one_thread(n_jobs):
    with lowdim.compute(n_jobs=n_jobs):
        held = run(lambda _: blas_threads(), range(4))
    assert all(set(counts) == {1} for counts in held)
    assert set(blas_threads()) == {2}


def test_run_inside_of_run_is_done_by_the_worker_itself():
    with lowdim.compute(n_jobs=3):
        found = run(lambda i: run(lambda j: (i, j, threading.get_ident()), range(3)), range(4))
    for i, row in enumerate(found):
        assert [(a, b) for a, b, _ in row] == [(i, j) for j in range(3)]
        assert len({ident for *_, ident in row}) == 1


def test_blocks_cover_the_range_once():
    for n in (0, 1, 5, 6, 7):
        slices = blocks(n, 3)
        covered = [i for part in slices for i in range(n)[part]]
        assert covered == list(range(n))
        assert all(0 < part.stop - part.start <= 3 for part in slices)


# --- BLAS -----------------------------------------------------------------------------------------


def test_blas_is_held_while_anyone_is_inside_and_then_restored():
    with blas_on_one_thread():
        assert set(blas_threads()) == {1}
        with blas_on_one_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_blas_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), blas_on_one_thread():
        raise ZeroDivisionError
    assert set(blas_threads()) == {2}


def test_running_holds_blas():
    with use_threads(3):
        assert set(blas_threads()) == {1}
        assert current().threads == 3
    assert set(blas_threads()) == {2}


def test_a_refused_n_jobs_holds_nothing():
    with pytest.raises(ValueError, match="n_jobs"), use_threads(0):
        raise AssertionError("the block must not be entered")
    assert set(blas_threads()) == {2}


def test_blas_hold_of_overlapping_threads_ends_with_the_last():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with blas_on_one_thread():
            inside.set()
            leave.wait(PATIENCE)

    with blas_on_one_thread():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(PATIENCE)
    assert set(blas_threads()) == {1}  # the other is still inside
    leave.set()
    thread.join(PATIENCE)
    assert set(blas_threads()) == {2}


# --- fork -----------------------------------------------------------------------------------------


def forked(check):
    """Run a check in a child; its exit status, 0 if the check held."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if check() else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def works():
    """Whether a child has its BLAS threads back, and can hold and restore them."""
    before = set(blas_threads()) == {2}
    with blas_on_one_thread():
        held = set(blas_threads()) == {1}
    product = np.ones((300, 300)) @ np.ones((300, 300))
    return before and held and set(blas_threads()) == {2} and bool((product == 300).all())


class Others:
    """Threads that enter and leave a function's context over and over."""

    def __init__(self, step, count=2):
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.go, args=(step,)) for _ in range(count)]

    def go(self, step):
        while not self.stop.is_set():
            step()

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *error):
        self.stop.set()
        for thread in self.threads:
            thread.join(PATIENCE)


class TestFork:
    pytestmark = FORK

    def test_while_another_thread_is_inside(self):
        inside, leave = threading.Event(), threading.Event()

        def other():
            with blas_on_one_thread():
                inside.set()
                leave.wait(PATIENCE)

        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(PATIENCE)
        try:
            assert forked(works) == 0
        finally:
            leave.set()
            thread.join(PATIENCE)
        assert set(blas_threads()) == {2}

    def test_while_other_threads_come_and_go(self):
        def step():
            with blas_on_one_thread():
                pass

        with Others(step):
            statuses = [forked(works) for _ in range(40)]
        assert statuses == [0] * 40

    @pytest.mark.parametrize("moment", ["entering", "leaving"])
    def test_in_the_middle_of_setting_the_threads(self, monkeypatch, moment):
        """A child must not inherit a half-made change: the fork waits for its end."""
        whole, changing = scheduling._hold._set, threading.Event()

        def slow(counts):
            if (counts == [1] * len(counts)) == (moment == "entering"):
                changing.set()
                time.sleep(0.2)
            whole(counts)

        def other():
            with blas_on_one_thread():
                pass

        monkeypatch.setattr(scheduling._hold, "_set", slow)
        thread = threading.Thread(target=other)
        thread.start()
        assert changing.wait(PATIENCE)
        status = forked(lambda: monkeypatch.undo() or works())
        thread.join(PATIENCE)
        assert status == 0

    def test_inside_a_running_block(self):
        """The child goes on inside the block, and leaving it restores BLAS there too."""

        def leave(manager):
            held = set(blas_threads()) == {1} and current().threads == 3
            manager.__exit__(None, None, None)
            return held and works()

        manager = use_threads(3)
        manager.__enter__()
        try:
            assert forked(lambda: leave(manager)) == 0
            assert set(blas_threads()) == {1}  # here the block goes on
        finally:
            manager.__exit__(None, None, None)
        assert set(blas_threads()) == {2}

    def test_inside_a_running_block_while_another_thread_is_inside(self):
        inside, end = threading.Event(), threading.Event()

        def other():
            with use_threads(2):
                inside.set()
                end.wait(PATIENCE)

        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(PATIENCE)
        manager = use_threads(3)
        manager.__enter__()
        try:
            assert forked(lambda: manager.__exit__(None, None, None) or works()) == 0
        finally:
            manager.__exit__(None, None, None)
            end.set()
            thread.join(PATIENCE)
        assert set(blas_threads()) == {2}

    def test_a_child_fits_while_other_threads_fit(self):
        X = np.random.default_rng(0).normal(size=(60, 5))

        def fit():
            return lowdim.PCA(2).fit_transform(X)

        expected = fit()
        with Others(fit, count=1):
            same = [forked(lambda: np.array_equal(fit(), expected)) for _ in range(8)]
        assert same == [0] * 8


# --- checks on several threads --------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_large_table_is_checked_on_several_threads(n_jobs, monkeypatch):
    monkeypatch.setattr(scheduling, "SCAN_ENTRIES", 64)
    X = np.full((1000, 7), 1e38, np.float32)  # the sum overflows, the entries are finite
    with lowdim.compute(n_jobs=n_jobs):
        assert checks.vectors(X) is X
        X[903, 4] = np.nan
        with pytest.raises(ValueError, match=r"contains NaN at \[903, 4\] \(1 non-finite"):
            checks.vectors(X)
        checks.distances_in_range(X[:900])
        with pytest.raises(ValueError, match="distances overflow float32"):
            checks.distances_in_range(X)
