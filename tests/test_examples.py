"""The examples in docstrings run, and every public function of the outer packages has one."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil

import pytest

import lowdim
from lowdim import data, plot, report, tables

HAS_TRITON = importlib.util.find_spec("triton") is not None
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(lowdim.__path__, "lowdim.")
    if module.name not in ("lowdim.__main__", "lowdim._native")
    and (HAS_TRITON or "triton_" not in module.name)  # which comes with PyTorch for GPUs
)
EXAMPLES = {
    name: [
        test
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
        if test.examples
    ]
    for name in MODULES
}


@pytest.mark.parametrize("name", [name for name, tests in EXAMPLES.items() if tests])
def test_the_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for test in EXAMPLES[name]:
        failed, _ = doctest.DocTestRunner().run(test)
        assert failed == 0, f"{test.name}: see the captured output"


@pytest.mark.parametrize("package", [data, plot, report, tables], ids=lambda p: p.__name__)
def test_public_names_have_an_example(package):
    public = {name: one for name, one in vars(package).items() if name[0] != "_" and callable(one)}
    assert len(public) > 1
    for name, one in public.items():
        if not (inspect.isclass(one) and issubclass(one, Exception)):
            assert ">>> " in (one.__doc__ or ""), f"{package.__name__}.{name} has no example"
