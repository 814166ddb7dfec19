"""The options `--workers` and `--scheduler` of commands that compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_USED = "lowdim.cluster"  # where a context notes that a cluster is in use


def cluster_options(command: Command) -> Command:
    """Add `--workers` and `--scheduler`, whose cluster is used until the command has ended."""
    command = click.option(
        "--scheduler",
        metavar="ADDRESS",
        expose_value=False,
        callback=_join,
        help="Work on NPY and Parquet files on the cluster of a Dask scheduler, such as "
        "tcp://10.0.0.1:8786. Its workers find FILE under the same path.",
    )(command)
    return click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        expose_value=False,
        callback=_start,
        help="Work on NPY and Parquet files with a Dask cluster of N processes on this machine.",
    )(command)


def _start(context: click.Context, _: click.Parameter, workers: int | None) -> None:
    if workers is not None:
        context.with_resource(_clusters(context, "--workers").start_cluster(workers))


def _join(context: click.Context, _: click.Parameter, address: str | None) -> None:
    if address is None:
        return
    clusters = _clusters(context, "--scheduler")
    try:
        context.with_resource(clusters.join_cluster(address))
    except ValueError as error:
        raise click.UsageError(str(error).replace("scheduler=", "--scheduler ", 1)) from None


def _clusters(context: click.Context, option: str) -> Any:
    from lowdim.runtime.context import dask_clusters

    if context.meta.setdefault(_USED, option) != option:
        raise click.UsageError("Give --workers or --scheduler, not both.")
    try:
        return dask_clusters(option)
    except ImportError as error:
        raise click.UsageError(str(error)) from None
