"""Processes of the studio and Ctrl-C in the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from lowdim.studio.processes import block_interrupts

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


def test_ctrl_c_while_a_process_starts_is_not_lost():
    with pytest.raises(KeyboardInterrupt), block_interrupts():
        os.kill(os.getpid(), signal.SIGINT)


def test_a_new_process_does_not_receive_ctrl_c():
    with block_interrupts():
        started = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, check=True)
    assert started.stdout.split() == [b"True"]
    later = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, check=True)
    assert later.stdout.split() == [b"False"]
