"""Options that say with what a command computes; they hold until it has ended."""

from __future__ import annotations

from typing import Any

import click

from lowdim.cli.console import Command, combine
from lowdim.runtime.context import compute, dask_clusters


def _use(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Take one resource until the command has ended."""
    if value is None:
        return
    name = str(option.name)
    if name in ("workers", "scheduler") and context.meta.setdefault("lowdim.cluster", name) != name:
        raise click.UsageError("Give --workers or --scheduler, not both.")
    try:
        if name == "workers":
            context.with_resource(dask_clusters(name).start_cluster(value))
        else:
            context.with_resource(compute(**{name: value}))
    except (ImportError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _option(flag: str, metavar: str, help: str, type: Any = None) -> Command:
    return click.option(
        flag, metavar=metavar, help=help, type=type, expose_value=False, callback=_use
    )


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
)
_SCHEDULER = _option(
    "--scheduler",
    "ADDRESS",
    "Work on NPY and Parquet files on the cluster of a Dask scheduler, such as "
    "tcp://10.0.0.1:8786. Its workers find FILE under the same path.",
)


resource_options = combine(device_option, _MEMORY, _SCRATCH, _WORKERS, _SCHEDULER)
