"""Reference solutions on one BLAS thread: several test processes share the machine."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    with threadpool_limits(1, user_api="blas"):
        yield
