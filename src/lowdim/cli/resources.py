"""Options that say with what a command computes; they hold until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def _use(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Take one resource until the command has ended."""
    from lowdim.runtime.context import compute

    if value is None:
        return
    if option.name == "scheduler":
        _check_one_cluster(context, "scheduler")
    try:
        context.with_resource(compute(**{str(option.name): value}))  # type: ignore[arg-type]
    except (ImportError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _start_cluster(context: click.Context, _: click.Parameter, workers: int | None) -> None:
    from lowdim.runtime.context import dask_clusters

    if workers is None:
        return
    _check_one_cluster(context, "workers")
    try:
        context.with_resource(dask_clusters("workers").start_cluster(workers))
    except ImportError as error:
        raise click.UsageError(str(error)) from None


def _check_one_cluster(context: click.Context, option: str) -> None:
    if context.meta.setdefault("lowdim.cluster", option) != option:
        raise click.UsageError("Give --workers or --scheduler, not both.")


def _option(flag: str, metavar: str, help: str, **more: Any) -> Callable[[Command], Command]:
    more.setdefault("callback", _use)
    return click.option(flag, metavar=metavar, expose_value=False, help=help, **more)


device_option = _option(
    "--device",
    "DEVICE",
    "Where to compute: cpu, cuda, cuda:1, mps, or auto, a GPU if there is one and the data are "
    "large. By default the variable LOWDIM_DEVICE, or cpu.",
)
_MEMORY = _option(
    "--memory",
    "SIZE",
    "Memory to use, such as 4GB. NPY and Parquet files that are large for it are read in blocks. "
    "By default the variable LOWDIM_MEMORY, or the free memory.",
)
_SCRATCH = _option(
    "--scratch",
    "FOLDER",
    "Folder for temporary files of searches in data that do not fit into memory. By default the "
    "variable LOWDIM_SCRATCH, or the folder of the system.",
)
_WORKERS = _option(
    "--workers",
    "N",
    "Work on NPY and Parquet files with a Dask cluster of N processes on this machine.",
    type=click.IntRange(1),
    callback=_start_cluster,
)
_SCHEDULER = _option(
    "--scheduler",
    "ADDRESS",
    "Work on NPY and Parquet files on the cluster of a Dask scheduler, such as "
    "tcp://10.0.0.1:8786. Its workers find FILE under the same path.",
)


def resource_options(command: Command) -> Command:
    """Add --device, --memory, --scratch, --workers and --scheduler."""
    return device_option(_MEMORY(_SCRATCH(_WORKERS(_SCHEDULER(command)))))
