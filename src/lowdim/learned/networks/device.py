"""PyTorch as an optional dependency: its absence, its device and its threads."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from lowdim.runtime.context import current
from lowdim.runtime.interrupts import AtomicContext, defer_interrupts

PARTS = ("networks.autoencoding", "networks.regression", "parametric.pairs", "parametric.places")


def require_torch(purpose: str) -> None:
    """Raise ImportError, with the command that installs it, unless PyTorch is installed."""
    if find_spec("torch") is None:
        raise ImportError(
            f"{purpose} needs PyTorch, which is not installed: pip install 'lowdim[torch]'"
        )


def torch_device() -> Any:
    """The device of PyTorch for the current `lowdim.compute`, such as cpu or cuda:1."""
    import torch

    return torch.device(current().device.removeprefix("torch:"))


class use_torch(AtomicContext[None]):
    """Import PyTorch, and limit its calls to one thread inside the block.

    Then its sums do not depend on the number of threads, and a forked child does not wait for the
    threads of its parent. Several threads are used by dividing a mini-batch into parts of fixed
    size instead. Ctrl-C waits for the imports, because half of PyTorch crashes when it is used, and
    because Python 3.11 turns a Ctrl-C in the definition of a class into RuntimeError.
    """

    def _enter(self) -> None:
        with defer_interrupts():
            import torch

            for part in PARTS:
                import_module(f"lowdim.learned.{part}")
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)

    def _exit(self) -> None:
        import torch

        torch.set_num_threads(self._before)
