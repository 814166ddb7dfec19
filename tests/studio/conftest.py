"""A studio that the tests share, and a client that behaves like its page."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from studio.client import Client, Server

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

    from studio.page import Tab


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("studio")
    server = Server(root)
    yield server
    server.stop()


@pytest.fixture
def client(studio: Server) -> Client:
    return studio.client()


@pytest.fixture
def port() -> Iterator[str]:
    """A port that no other program gets while a server of the test is down.

    A socket that is bound but does not listen keeps the system from giving the port away. A server
    can still listen on it, because both sockets allow that the address is used again.
    """
    with closing(socket.socket()) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield str(holder.getsockname()[1])


@pytest.fixture
def tab(context: BrowserContext, own: Server) -> Iterator[Tab]:
    """A tab of a browser for the studio of the file's tests; nothing may go wrong in it."""
    from studio.page import Tab

    one = Tab(context.new_page(), own)
    yield one
    assert one.errors == []
