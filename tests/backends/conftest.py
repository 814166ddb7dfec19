"""The reference backend, importable by the name under which a device would register it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

NAME = "lowdim_reference_backend"


@pytest.fixture(scope="session")
def reference():
    spec = importlib.util.spec_from_file_location(NAME, Path(__file__).with_name("reference.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    module.BACKEND = module
    yield module
    del sys.modules[NAME]


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param
