"""A GPU is prepared in the background."""

from __future__ import annotations

import logging
import threading

import pytest
import torch

import lowdim
from lowdim.backends.torch import engine, preparation


def test_the_first_operations_run():
    preparation.first_operations(torch.device("cpu"))


@pytest.fixture
def prepared(monkeypatch):
    """The names of the devices whose preparation has ended; each of them waits for `go`."""
    names, go = [], threading.Event()

    def slow(name):
        assert go.wait(120)
        names.append(name)

    monkeypatch.setattr(preparation, "_prepare", slow)
    preparation.prepare.cache_clear()
    engine.backend_of.cache_clear()
    yield names, go
    go.set()
    preparation.prepare.cache_clear()
    engine.backend_of.cache_clear()


def test_preparation_begins_with_the_block_and_ends_before_the_first_operation(prepared):
    names, go = prepared
    with lowdim.compute(device="torch:cpu") as resources:
        assert names == []  # it has begun, and the block did not wait for it
        threading.Timer(0.05, go.set).start()
        assert resources.backend is resources.backend
        assert names == ["torch:cpu"]  # once


def test_a_device_that_fails_is_left_to_the_operation_that_needs_it(monkeypatch, caplog):
    def full(device):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(torch.cuda, "device", full)
    with caplog.at_level(logging.DEBUG, logger="lowdim"):
        preparation._prepare("cuda")
    assert "cuda could not be prepared: out of memory" in caplog.text


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_is_prepared(caplog):
    preparation.prepare.cache_clear()
    with caplog.at_level(logging.DEBUG, logger="lowdim"):
        preparation.prepare("cuda").join()
    assert torch.cuda.is_initialized()
    assert "could not be prepared" not in caplog.text
