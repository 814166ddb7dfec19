"""What all tests share: the profile of Hypothesis, the threads of libraries, the browser.

The browser is Chromium of Debian without a GPU.
"""

from __future__ import annotations

import shutil
import signal
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# The same examples in every run, at any speed; for others: --hypothesis-profile=default
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

# A background job of a shell ignores Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


@pytest.fixture(autouse=True, scope="session")
def _one_thread_of_libraries():
    """BLAS, scikit-learn and PyTorch on one thread: several test processes share the machine.

    Threads of OpenMP wait by counting: two processes with two each take five times as long.
    """
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def _no_open_figures():
    """Figures of samples of the documentation are closed; pyplot warns of more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium, and none is installed (Debian: apt-get install chromium)")
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": FLAGS}


@pytest.fixture(scope="session")
def base_url() -> None:
    """The tests name whole addresses. The plugin's own fixture warns under recent pytest."""
    return
