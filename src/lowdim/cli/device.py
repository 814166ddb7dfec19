"""The option `--device` of commands that compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def device_option(command: Command) -> Command:
    """Add `--device`, which holds until the command has ended."""
    return click.option(
        "--device",
        metavar="DEVICE",
        expose_value=False,
        callback=_use,
        help="Where to compute: cpu, cuda, cuda:1, mps, or auto, a GPU if there is one and the "
        "data are large. By default the variable LOWDIM_DEVICE, or cpu.",
    )(command)


def _use(context: click.Context, _: click.Parameter, device: str | None) -> None:
    if device is None:
        return
    from lowdim.runtime.context import check_device, compute

    try:
        check_device(device, "--device")
    except (ImportError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    context.with_resource(compute(device=device))
