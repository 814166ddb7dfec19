"""The pool of threads: fork, processes, concurrent fits, and the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import lowdim
from runtime.pool_threads import pool_size, pool_threads

PATIENCE = 300  # seconds until a process counts as hung
TASKS = Path("/proc/self/task")
needs_tasks = pytest.mark.skipif(not TASKS.exists(), reason="lists threads by /proc")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

PREAMBLE = """
from runtime.pool_threads import pool_size, pool_threads

def fit(n_jobs):
    import lowdim
    import numpy as np
    X = np.random.default_rng(0).normal(size=(300, 5))
    return lowdim.TSNE(max_iter=20, random_state=0, n_jobs=n_jobs).fit_transform(X).tobytes()
"""


def python(tmp_path, code):
    """Run a script in a new process; returns its output."""
    script = tmp_path / "script.py"
    script.write_text(PREAMBLE + code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:.*fork:DeprecationWarning", str(script)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


@needs_tasks
def test_there_are_no_more_threads_than_asked_for(tmp_path):
    code = """
alone = fit(1)
print(len(pool_threads()))
assert fit(2) == fit(4) == fit(3) == alone
print(pool_size())
"""
    none, most = map(int, python(tmp_path, code))
    assert none == 0
    assert 1 <= most <= 3


@needs_tasks
def test_concurrent_fits_share_the_threads(tmp_path):
    code = """
from concurrent.futures import ThreadPoolExecutor
alone = fit(1)
with ThreadPoolExecutor(4) as callers:
    assert list(callers.map(fit, [3] * 8)) == [alone] * 8
print(len(pool_threads()))
"""
    assert int(python(tmp_path, code)[0]) <= 2


@needs_tasks
def test_idle_threads_sleep():
    with lowdim.compute(n_jobs=3):
        lowdim.neighbors(np.random.default_rng(0).normal(size=(2000, 20)), 5, method="exact")
    assert pool_size() > 0
    deadline = time.monotonic() + PATIENCE
    while any((task / "stat").read_text().rsplit(") ", 1)[1][0] != "S" for task in pool_threads()):
        assert time.monotonic() < deadline, "a thread of the pool goes on running"


@needs_tasks
def test_no_thread_is_left_when_the_interpreter_ends(tmp_path):
    """Functions registered before the import run after those of the extension."""
    code = """
import atexit
atexit.register(lambda: print(pool_size(lambda size: not size), fit(3) == found))
found = fit(3)
print(pool_size())
"""
    before, after, same = python(tmp_path, code)
    assert int(before) >= 1
    assert int(after) == 0
    assert same == "True"  # computed on one thread


def test_the_interpreter_ends_while_a_daemon_thread_computes(tmp_path):
    code = """
import threading
import lowdim
import numpy as np
X = np.random.default_rng(0).normal(size=(3000, 30))
began = threading.Event()

def forever():
    while True:
        lowdim.neighbors(X, 10, method="exact", n_jobs=3)
        began.set()

threading.Thread(target=forever, daemon=True).start()
began.wait()
print("done")
"""
    assert python(tmp_path, code) == ["done"]


@needs_fork
def test_a_forked_child_has_its_own_threads(tmp_path):
    code = """
import os
found = fit(3)
child = os.fork()
if child == 0:
    inherited = len(pool_threads())
    same = fit(3) == found
    os._exit(0 if same and inherited == 0 and pool_size() >= 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert fit(3) == found
print("done")
"""
    assert python(tmp_path, code) == ["done"]


@needs_fork
def test_fork_while_another_thread_computes(tmp_path):
    code = """
import os
import threading
found, stop = fit(3), threading.Event()

def others():
    while not stop.is_set():
        fit(3)

thread = threading.Thread(target=others)
thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if fit(3) == found else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
thread.join()
print("done")
"""
    assert python(tmp_path, code) == ["done"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(tmp_path, method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    code = f"""
import multiprocessing
if __name__ == "__main__":
    found = fit(3)
    with multiprocessing.get_context("{method}").Pool(2) as workers:
        assert workers.map(fit, [1, 3, 2, 3]) == [found] * 4
    assert fit(3) == found
    print("done")
"""
    assert python(tmp_path, code) == ["done"]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(tmp_path, backend):
    code = f"""
from joblib import Parallel, delayed
if __name__ == "__main__":
    found = fit(3)
    with Parallel(2, backend="{backend}") as workers:
        assert workers(delayed(fit)(n_jobs) for n_jobs in (1, 3, 2, 3)) == [found] * 4
    print("done")
"""
    assert python(tmp_path, code) == ["done"]


def test_threads_that_fit_at_once_get_the_same_bits():
    X = np.random.default_rng(0).normal(size=(400, 8))
    fits = [
        lambda: lowdim.TSNE(max_iter=30, random_state=0, n_jobs=3).fit_transform(X),
        lambda: lowdim.UMAP(n_epochs=30, random_state=0, n_jobs=2).fit_transform(X),
        lambda: lowdim.Isomap(n_jobs=4).fit_transform(X),
        lambda: lowdim.PCA(3).fit_transform(X),
    ]
    expected = [fit() for fit in fits]
    found = {}

    def call(number):
        found[number] = [fits[(number + turn) % 4]() for turn in range(4)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for number in range(4):
        for turn in range(4):
            assert np.array_equal(found[number][turn], expected[(number + turn) % 4])
