"""The options `--memory` and `--scratch` of commands that compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def memory_options(command: Command) -> Command:
    """Add `--memory` and `--scratch`, which hold until the command has ended."""
    command = click.option(
        "--scratch",
        metavar="FOLDER",
        expose_value=False,
        callback=_use_scratch,
        help="Folder for temporary files of searches in data that do not fit into memory. By "
        "default the variable LOWDIM_SCRATCH, or the folder of the system.",
    )(command)
    return click.option(
        "--memory",
        metavar="SIZE",
        expose_value=False,
        callback=_use_memory,
        help="Memory to use, such as 4GB. NPY and Parquet files that are large for it are read in "
        "blocks. By default the variable LOWDIM_MEMORY, or the free memory.",
    )(command)


def _use_memory(context: click.Context, _: click.Parameter, size: str | None) -> None:
    from lowdim.runtime.context import check_bytes, compute

    if size is None:
        return
    try:
        check_bytes(size, "--memory")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    context.with_resource(compute(memory=size))


def _use_scratch(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    from lowdim.runtime.context import check_folder, compute

    if folder is None:
        return
    try:
        check_folder(folder, "--scratch")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    context.with_resource(compute(scratch=folder))
