from __future__ import annotations

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import lowdim
from lowdim.runtime import memory

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


def test_claim_keeps_to_the_memory_that_a_computation_was_given(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 * GB)
    with lowdim.compute(memory="2GB"), pytest.raises(MemoryError) as error:
        memory.claim(3 * GB, "The matrix of distances", "Use n_landmarks=.")
    assert str(error.value) == (
        "The matrix of distances needs 3.0 GB, but the computation may take 2.0 GB of memory (set "
        "by lowdim.compute or LOWDIM_MEMORY). Use n_landmarks=."
    )
    memory.claim(3 * GB, "The matrix of distances", "")
    with lowdim.compute(memory="4GB"):
        memory.claim(3 * GB, "The matrix of distances", "")


def test_the_machine_may_have_less_than_a_computation_was_given(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 * GB)
    with lowdim.compute(memory="4GB"), pytest.raises(MemoryError, match=r"only 2\.0 GB .* is free"):
        memory.claim(3 * GB, "The matrix of distances", "")


@pytest.mark.parametrize("by", ["block", "environment"])
def test_a_fit_is_refused_what_it_may_not_take(monkeypatch, by):
    """Small arrays count too."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    message = r"ClassicalMDS of 300 objects needs .* MB, but the computation may take 0.1 MB"
    if by == "environment":
        monkeypatch.setenv("LOWDIM_MEMORY", "100kB")
        with pytest.raises(MemoryError, match=message):
            lowdim.ClassicalMDS(metric="cityblock").fit(X)
    else:
        with lowdim.compute(memory="100 kB"), pytest.raises(MemoryError, match=message):
            lowdim.ClassicalMDS(metric="cityblock").fit(X)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may not say")
def test_available_bytes_is_a_part_of_the_memory_of_the_machine():
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = memory.available_bytes()
    assert found is not None
    assert 0 < found <= whole


@pytest.mark.parametrize(("size", "text"), [(5e9, "5.0 GB"), (1.5e8, "0.1 GB"), (2e6, "2.0 MB")])
def test_readable(size, text):
    assert memory.readable(size) == text


def groups(monkeypatch, tmp_path, cgroup, files):
    """A system with these control groups."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 8000000 kB\n")
    (tmp_path / "proc" / "self" / "cgroup").write_text(cgroup)
    for name, content in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "groups")


def test_version_2_of_control_groups(monkeypatch, tmp_path):
    """The tightest limit counts, also of an enclosing group; cached files are free memory."""
    files = {
        "pod/box/memory.max": "max\n",
        "pod/box/memory.current": "500\n",
        "pod/memory.max": "3000000000\n",
        "pod/memory.current": "1000000000\n",
        "pod/memory.stat": "anon 5\ninactive_file 400000000\n",
    }
    groups(monkeypatch, tmp_path, "0::/pod/box\n", files)
    assert memory.available_bytes() == 2_400_000_000


def test_version_1_of_control_groups(monkeypatch, tmp_path):
    files = {
        "memory/box/memory.limit_in_bytes": "2000000000\n",
        "memory/box/memory.usage_in_bytes": "500000000\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "700000000\n",
    }
    groups(monkeypatch, tmp_path, "7:cpu:/\n4:memory:/box\n0::/\n", files)
    assert memory.available_bytes() == 1_500_000_000


def test_a_container_that_sees_its_own_group_as_the_root(monkeypatch, tmp_path):
    files = {"memory.max": "1000000000\n", "memory.current": "100000000\n"}
    groups(monkeypatch, tmp_path, "0::/docker/4711\n", files)
    assert memory.available_bytes() == 900_000_000


def test_without_limits_the_machine_counts(monkeypatch, tmp_path):
    groups(monkeypatch, tmp_path, "0::/\n", {"memory.max": "max\n"})
    assert memory.available_bytes() == 8_000_000 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_limit_of_the_address_space():
    code = """
import resource
from lowdim.runtime import memory
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 10**8
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
print(memory.available_bytes())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) <= 10**8
