from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import lowdim
from lowdim.backends import backend
from lowdim.backends.native import BACKEND
from lowdim.runtime import context
from lowdim.runtime.context import Context, current, n_threads
from lowdim.runtime.scheduling import run, use_threads

PATIENCE = 120  # seconds until a thread counts as hung
VARIABLES = ("LOWDIM_DEVICE", "LOWDIM_NUM_THREADS", "LOWDIM_MEMORY")


@pytest.fixture(autouse=True)
def _machine_of_eight_cores(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(context.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


# --- what a block of code gets --------------------------------------------------------------------


def test_without_a_block_everything_is_taken_from_the_machine():
    assert current() == Context("cpu", 8, None)
    assert backend() is BACKEND


def test_a_block_sets_what_it_names_and_ends():
    with lowdim.compute(n_jobs=3, memory="2GB") as resources:
        assert resources == current() == Context("cpu", 3, 2 * 10**9)
    assert current() == Context("cpu", 8, None)


def test_blocks_nest_and_keep_what_the_inner_one_leaves_open():
    with lowdim.compute(n_jobs=3, memory="2GB"):
        with lowdim.compute(n_jobs=2):
            assert current() == Context("cpu", 2, 2 * 10**9)
            with lowdim.compute(memory=1000):
                assert current() == Context("cpu", 2, 1000)
        assert current() == Context("cpu", 3, 2 * 10**9)


def test_a_block_ends_with_an_error_too():
    with pytest.raises(ZeroDivisionError), lowdim.compute(n_jobs=3):
        raise ZeroDivisionError
    assert current().threads == 8


def test_a_refused_block_changes_nothing():
    with lowdim.compute(n_jobs=3):
        with pytest.raises(ValueError, match="memory"), lowdim.compute(n_jobs=2, memory="much"):
            raise AssertionError("the block must not be entered")
        assert current() == Context("cpu", 3, None)


def test_a_device_is_a_module_that_is_imported_when_it_is_asked_for(monkeypatch):
    elsewhere = object()
    monkeypatch.setattr(lowdim.checks, "BACKEND", elsewhere, raising=False)
    monkeypatch.setitem(context.ENGINES, "elsewhere", "lowdim.checks")
    with lowdim.compute(device="elsewhere"):
        assert backend() is elsewhere
        with lowdim.compute(n_jobs=1):
            assert backend() is elsewhere
    assert backend() is BACKEND


# --- numbers of threads ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_jobs", "threads"),
    [(None, 8), (3, 3), (-1, 8), (-2, 7), (-8, 1), (-100, 1), (np.int64(2), 2)],
)
def test_n_jobs_counts_as_joblib_does(n_jobs, threads):
    assert n_threads(n_jobs) == threads
    with lowdim.compute(n_jobs=n_jobs):
        assert current().threads == threads


def test_negative_n_jobs_count_back_from_the_surrounding_block():
    with lowdim.compute(n_jobs=4):
        assert n_threads(None) == n_threads(-1) == 4
        assert n_threads(-2) == 3
        assert n_threads(6) == 6


@pytest.mark.parametrize(
    ("n_jobs", "error", "message"),
    [
        (0, ValueError, "n_jobs must not be 0: give a number of threads, or -1 or None for all."),
        (1.5, TypeError, "n_jobs must be an integer, got 1.5 of type float."),
        (True, TypeError, "n_jobs must be an integer, got True of type bool."),
        ("2", TypeError, "n_jobs must be an integer, got '2' of type str."),
        (10**7, ValueError, "n_jobs must be at most 1000000, got 10000000."),
    ],
)
def test_n_jobs_refuses_nonsense(n_jobs, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"), lowdim.compute(n_jobs=n_jobs):
        pass
    with pytest.raises(error, match=f"^{re.escape(message)}$"), use_threads(n_jobs):
        pass


def test_an_estimators_own_n_jobs_comes_first():
    seen = []

    def metric(a, b):
        seen.append(current().threads)
        return abs(a[0] - b[0])

    X = np.arange(4.0)[:, None]
    with lowdim.compute(n_jobs=3):
        lowdim.ClassicalMDS(1, metric=metric, n_jobs=2).fit(X)
        assert set(seen) == {2}
        seen.clear()
        lowdim.ClassicalMDS(1, metric=metric).fit(X)
        assert set(seen) == {3}
        assert current().threads == 3


# --- the environment ------------------------------------------------------------------------------


def test_the_environment_says_what_no_block_does(monkeypatch):
    monkeypatch.setenv("LOWDIM_NUM_THREADS", "5")
    monkeypatch.setenv("LOWDIM_MEMORY", "1.5 GB")
    monkeypatch.setenv("LOWDIM_DEVICE", "cpu")
    assert current() == Context("cpu", 5, 1_500_000_000)
    assert n_threads(2) == 2
    assert n_threads(-1) == 5
    with lowdim.compute(n_jobs=2):
        assert current() == Context("cpu", 2, 1_500_000_000)


def test_the_environments_zero_threads_are_one(monkeypatch):
    monkeypatch.setenv("LOWDIM_NUM_THREADS", "0")
    assert current().threads == 1


@pytest.mark.parametrize("name", VARIABLES)
def test_an_empty_variable_says_nothing(monkeypatch, name):
    monkeypatch.setenv(name, "")
    assert current() == Context("cpu", 8, None)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "LOWDIM_DEVICE",
            "abacus",
            "LOWDIM_DEVICE must be 'cpu', 'cuda', 'cuda:1', 'mps', 'torch:cpu' or 'auto'; got "
            "'abacus'.",
        ),
        ("LOWDIM_NUM_THREADS", "two", "LOWDIM_NUM_THREADS must be a whole number, got 'two'."),
        ("LOWDIM_NUM_THREADS", "-1", "LOWDIM_NUM_THREADS must be a whole number, got '-1'."),
        (
            "LOWDIM_MEMORY",
            "plenty",
            "LOWDIM_MEMORY must be a number of bytes or a string such as '8GB', got 'plenty'.",
        ),
    ],
)
def test_the_environment_is_checked(monkeypatch, name, value, message):
    monkeypatch.setattr(context, "ENGINES", {"cpu": "lowdim.backends.native"})
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        current()
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        lowdim.PCA(1).fit(np.eye(3))


# --- device and memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["abacus", "", 3, ["cpu"]])
def test_unknown_devices_are_refused_by_name(device):
    message = (
        f"device must be 'cpu', 'cuda', 'cuda:1', 'mps', 'torch:cpu' or 'auto'; got {device!r}."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"), lowdim.compute(device=device):
        pass


@pytest.mark.parametrize("device", ["cuda", "cuda:3", "mps", "torch:cpu"])
def test_devices_of_pytorch_need_it(monkeypatch, device):
    monkeypatch.setattr(context, "find_spec", lambda name: None)
    message = (
        f"device={device!r} needs PyTorch, which is not installed: pip install 'lowdim[torch]', or "
        "use device 'cpu'."
    )
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"), lowdim.compute(device=device):
        pass


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with (
        pytest.raises(ValueError, match=r"^device='cuda': PyTorch finds no CUDA device\. Use"),
        lowdim.compute(device="cuda"),
    ):
        pass
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with (
        pytest.raises(ValueError, match=r"^device='cuda:2': there are 2 CUDA devices, numbered"),
        lowdim.compute(device="cuda:2"),
    ):
        pass


def test_auto_takes_a_gpu_for_many_objects_only(monkeypatch):
    engine = pytest.importorskip("lowdim.backends.torch")
    monkeypatch.setattr(engine, "gpu", lambda: "torch:cpu")
    with lowdim.compute(device="auto"):
        assert current().backend is BACKEND
        with context.resolve_device(context.AUTO_FROM - 1):
            assert current().device == "cpu"
        with context.resolve_device(context.AUTO_FROM):
            assert current().device == "torch:cpu"
    monkeypatch.setattr(engine, "gpu", lambda: None)
    with lowdim.compute(device="auto"), context.resolve_device(10**9):
        assert current().device == "cpu"


def test_uploads_live_as_long_as_the_outermost_call():
    assert current().uploads is None
    with context.keep_uploads():
        kept = current().uploads
        with context.keep_uploads():
            assert current().uploads is kept
    assert current().uploads is None


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        (1, 1),
        (np.int64(5000), 5000),
        ("123", 123),
        ("8GB", 8 * 10**9),
        ("500 MB", 5 * 10**8),
        (" 1.5g ", 15 * 10**8),
        ("2k", 2000),
        ("1TB", 10**12),
        ("1.kb", 1000),
        ("10B", 10),
    ],
)
def test_memory_is_a_number_of_bytes_or_a_text(given, n_bytes):
    with lowdim.compute(memory=given) as resources:
        assert resources.memory == n_bytes


@pytest.mark.parametrize("given", ["GB", "-1GB", "8 QB", "", "0", "0.0GB", "1e9", "8GB!"])
def test_unreadable_memory_is_refused(given):
    message = f"memory must be a number of bytes or a string such as '8GB', got {given!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"), lowdim.compute(memory=given):
        pass


@pytest.mark.parametrize(("given", "error"), [(0, ValueError), (-5, ValueError), (1.5, TypeError)])
def test_memory_as_a_number_must_be_a_positive_integer(given, error):
    with pytest.raises(error, match=r"^memory must be"), lowdim.compute(memory=given):
        pass


# --- threads --------------------------------------------------------------------------------------


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join(PATIENCE)
    return found[0]


def test_another_thread_does_not_see_this_threads_block():
    with lowdim.compute(n_jobs=3, memory=1000):
        assert in_a_thread(current) == Context("cpu", 8, None)


def test_blocks_of_two_threads_do_not_touch_each_other():
    entered, leave = threading.Event(), threading.Event()
    seen = []

    def other():
        with lowdim.compute(n_jobs=5):
            entered.set()
            assert leave.wait(PATIENCE)
            seen.append(current().threads)

    with lowdim.compute(n_jobs=3):
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(PATIENCE)
        assert current().threads == 3
        with lowdim.compute(n_jobs=2):
            leave.set()
            thread.join(PATIENCE)
        assert current().threads == 3
    assert seen == [5]


def test_workers_of_run_inherit_the_block_but_have_one_thread():
    with lowdim.compute(n_jobs=3, memory=1000):
        inside = run(lambda _: current(), range(6))
        assert inside == [Context("cpu", 1, 1000)] * 6
        assert current().threads == 3


def test_a_single_item_keeps_all_threads():
    with lowdim.compute(n_jobs=3):
        assert run(lambda _: current().threads, [0]) == [3]


def test_running_sets_the_threads_of_one_call():
    with lowdim.compute(n_jobs=4, memory=1000):
        with use_threads(2):
            assert current() == Context("cpu", 2, 1000)
        with use_threads(None):
            assert current().threads == 4
        assert current().threads == 4
