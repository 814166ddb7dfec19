"""Clusters of Dask: the one in scope, one at an address, and one of processes on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lowdim.backends.dask.calls import ClusterTasks
from lowdim.messages import argument
from lowdim.runtime.context import current, override

ANSWER_SECONDS = 10  # that a scheduler has to answer


def current_tasks() -> ClusterTasks | None:
    """Tasks for the client in scope; None without one, or inside of a task of a worker."""
    from distributed import default_client, get_worker

    try:
        get_worker()
    except ValueError:
        pass
    else:
        return None  # a task that waits for other tasks may wait for its own thread
    try:
        client = default_client()
    except ValueError:
        return None
    return None if client.asynchronous else ClusterTasks(client)


@contextmanager
def join_cluster(address: str) -> Iterator[None]:
    """Use the workers of the scheduler at an address, such as "tcp://10.0.0.1:8786"."""
    from distributed import Client

    try:
        client = Client(address, timeout=ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{argument('scheduler', address)}: no Dask scheduler answers at this address "
            f"({error})."
        ) from error
    with client, override(tasks=ClusterTasks(client, wanted=True)):
        yield


@contextmanager
def start_cluster(workers: int) -> Iterator[None]:
    """Use processes on this machine, which end with the context or this process."""
    from distributed import Client, LocalCluster

    resources = current()
    cluster: Any = LocalCluster(
        n_workers=workers,
        threads_per_worker=max(1, resources.threads // workers),
        processes=True,
        dashboard_address="127.0.0.1:0",  # any free port
        local_directory=resources.scratch,
        silence_logs=logging.ERROR,
    )
    with cluster, Client(cluster) as client, override(tasks=ClusterTasks(client, wanted=True)):
        yield
