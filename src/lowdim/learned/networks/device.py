"""PyTorch as an optional dependency: its absence, its device and its threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from lowdim.runtime.context import current
from lowdim.runtime.interrupts import defer_interrupts


def require_torch(purpose: str) -> None:
    """Raise ImportError, with the command that installs it, unless PyTorch is installed.

    Parameters
    ----------
    purpose : str
        What needs it, for the message.
    """
    if find_spec("torch") is None:
        raise ImportError(
            f"{purpose} needs PyTorch, which is not installed: pip install 'lowdim[torch]'"
        )


def load_torch() -> None:
    """Import PyTorch; Ctrl-C waits for it, because half of PyTorch crashes when it is used."""
    with defer_interrupts():
        import torch  # noqa: F401


def torch_device() -> Any:
    """The device of PyTorch for the current `lowdim.compute`.

    "cpu" and "torch:cpu" are the CPU; "cuda", "cuda:1" and so on are GPUs, with or without the
    prefix "torch:".
    """
    import torch

    return torch.device(current().device.removeprefix("torch:"))


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread per call, so that its sums do not depend on their number.

    Several threads are used by dividing a mini-batch into parts of fixed size instead.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
