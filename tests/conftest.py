"""The browser of the tests, Chromium of Debian without a GPU, and the profile of Hypothesis."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, at any speed; for others: --hypothesis-profile=default
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium, and none is installed (Debian: apt-get install chromium)")
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": FLAGS}


@pytest.fixture(scope="session")
def base_url() -> None:
    """The tests name whole addresses. The plugin's own fixture warns under recent pytest."""
    return
