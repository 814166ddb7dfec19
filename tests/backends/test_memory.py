from __future__ import annotations

import logging

import pytest

from lowdim.backends import memory

GB = 10**9


def test_claim_refuses_what_does_not_fit_and_names_the_alternative(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 * GB)
    with pytest.raises(MemoryError) as error:
        memory.claim(3 * GB, "The matrix of distances", "Use n_landmarks=.")
    assert str(error.value) == (
        "The matrix of distances needs 3.0 GB, but only 2.0 GB of memory is free. Use n_landmarks=."
    )


def test_claim_announces_what_is_large_and_fits(monkeypatch, caplog):
    monkeypatch.setattr(memory, "available_bytes", lambda: 4 * GB)
    with caplog.at_level(logging.INFO, logger="lowdim"):
        memory.claim(3 * GB, "The matrix of distances", "")
    assert caplog.messages == ["The matrix of distances takes 3.0 GB"]


def test_claim_is_silent_about_small_arrays(monkeypatch, caplog):
    monkeypatch.setattr(memory, "available_bytes", lambda: 0)
    with caplog.at_level(logging.INFO, logger="lowdim"):
        memory.claim(10**6, "A row", "")
    assert not caplog.messages


def test_claim_trusts_the_caller_where_the_system_says_nothing(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.claim(10**15, "Everything", "")


def test_available_bytes_is_a_positive_number_or_unknown():
    found = memory.available_bytes()
    assert found is None or found > 0


@pytest.mark.parametrize(("size", "text"), [(5e9, "5.0 GB"), (1.5e8, "0.1 GB"), (2e6, "2.0 MB")])
def test_readable(size, text):
    assert memory.readable(size) == text
