"""A studio that the tests share, and a client that behaves like its page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.client import Client, Server


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("studio")
    server = Server(root)
    yield server
    server.stop()


@pytest.fixture
def client(studio: Server) -> Client:
    return studio.client()
