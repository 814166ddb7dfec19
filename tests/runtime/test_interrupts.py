"""Ctrl-C at every instruction leaves threads, context and handler as they were."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

import lowdim
from lowdim.runtime import context, scheduling
from lowdim.runtime.scheduling import run, use_threads

RUNTIME = str(Path(context.__file__).parent)
BLAS = ThreadpoolController().select(user_api="blas").lib_controllers


class InterruptAt:
    """Presses Ctrl-C at one event of the trace of the package `lowdim.runtime`.

    Parameters
    ----------
    moment : int
        Number of the event.
    event : {"line", "opcode"}
        Whether lines or instructions are counted.
    """

    def __init__(self, moment, event):
        self.moment, self.event, self.count = moment, event, 0

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(RUNTIME):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        return self.step

    def step(self, frame, event, argument):
        if event == self.event:
            self.count += 1
            if self.count == self.moment:
                signal.raise_signal(signal.SIGINT)
        return self.step


def state():
    """All that an interrupted call could leave behind."""
    return (
        [library.num_threads for library in BLAS],
        scheduling._hold.depth,
        getattr(scheduling._inside, "depth", 0),
        context._context.get(),
        signal.getsignal(signal.SIGINT),
    )


def interrupted_everywhere(call, event):
    """Calls with Ctrl-C at the first event, the second and so on; the number that were stopped."""
    before, stopped = state(), 0
    for moment in range(1, 100_000):
        trace = InterruptAt(moment, event)
        sys.settrace(trace)
        try:
            call()
        except KeyboardInterrupt:
            stopped += 1
        finally:
            sys.settrace(None)
        assert state() == before, moment
        if trace.count < moment:
            return stopped
    raise AssertionError("there is no end")


@pytest.fixture(autouse=True)
def _two_blas_threads():
    previous = sys.gettrace()  # of a measurement of coverage
    with threadpool_limits(2, user_api="blas"):
        yield
    sys.settrace(previous)


def test_at_every_instruction_of_entering_and_leaving():
    def call():
        with use_threads(2):
            pass

    call()
    assert interrupted_everywhere(call, "opcode") > 100


def test_at_every_instruction_of_a_choice_of_resources():
    def call():
        with lowdim.compute(n_jobs=2, memory="1GB"):
            pass

    interrupted_everywhere(call, "opcode")


def test_at_every_line_of_a_run_on_threads():
    def call():
        with use_threads(2):
            run(lambda i: i, range(3))

    call()
    assert interrupted_everywhere(call, "line") > 20


def test_at_every_line_of_a_fit_the_next_has_the_same_bits():
    X = np.random.RandomState(0).standard_normal((30, 4))
    expected = lowdim.PCA(2).fit_transform(X)
    assert interrupted_everywhere(lambda: lowdim.PCA(2, n_jobs=2).fit(X), "line") > 20
    np.testing.assert_array_equal(lowdim.PCA(2).fit_transform(X), expected)


def test_at_every_line_of_saving_the_file_is_complete(tmp_path):
    """Ctrl-C became "Can't close the ZIP file while there is an open writing handle on it"."""
    model = lowdim.PCA(2).fit(np.random.RandomState(0).standard_normal((30, 4)))
    path = tmp_path / "model.lowdim"
    model.save(path)
    assert interrupted_everywhere(lambda: model.save(path), "line") > 20
    assert list(tmp_path.iterdir()) == [path]
    np.testing.assert_array_equal(lowdim.load(path).embedding_, model.embedding_)


def test_the_handler_of_the_user_is_called():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        with use_threads(2):
            signal.raise_signal(signal.SIGINT)
        assert pressed == [1]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_is_set_inside_stays():
    before, own = signal.getsignal(signal.SIGINT), lambda *_: None
    try:
        with use_threads(2):
            signal.signal(signal.SIGINT, own)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


LATE_IMPORTS = """
import signal, sys, time
import numpy as np
import lowdim

X = np.random.RandomState(0).standard_normal((60, 4))
CALLS = {  # module that nothing before has imported: call that imports it
    "pyarrow.lib": lambda: lowdim.tables.read("x.csv"),
    "scipy.sparse.csgraph._tools": lambda: lowdim.TSNE,
    "sklearn.metrics._pairwise_fast": lambda: lowdim.quality.silhouette(X, X[:, 0] > 0),
    "sklearn.feature_extraction._hashing_fast": lambda: lowdim.regions(
        X[:, :2], text=["a word", "one more"] * 30
    ),
    "sklearn.decomposition._cdnmf_fast": lambda: lowdim.PCA("mle").fit(X),
    "sklearn.cluster._k_means_lloyd": lambda: lowdim.SpectralClustering(2).fit(X),
}

def press(event, arguments):
    if event == "import" and arguments[0] in CALLS and arguments[0] not in pressed:
        pressed.append(arguments[0])
        signal.raise_signal(signal.SIGINT)

pressed = []
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(press)
for module, call in CALLS.items():
    try:
        call()
        time.sleep(30)  # Ctrl-C comes a little later
    except KeyboardInterrupt:
        print(pressed[-1] == module, module in sys.modules)
"""


def test_an_import_inside_a_call_is_finished_first(tmp_path):
    """Half of an extension module of scikit-learn failed at every later import."""
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n3,4\n" * 9)
    command = [sys.executable, "-W", "ignore", "-c", LATE_IMPORTS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.splitlines(), done.stderr) == (["True True"] * 6, "")
