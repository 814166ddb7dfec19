"""Starting and stopping the server of the studio."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from lowdim.studio.app import application
from lowdim.studio.security import Guard, read_secret
from lowdim.studio.session import Session
from lowdim.studio.stream import LONGEST_MESSAGE
from lowdim.studio.studio import Studio

HOST = "127.0.0.1"
PORT = 8710  # the first choice; another one is taken if it is in use
MOST_UPLOAD = 2 << 30  # bytes
FOLDER = ".lowdim-studio"  # of the session, in the root


def serve(
    *,
    root: Path,
    session: Path | None = None,
    port: int | None = None,
    most_upload: int = MOST_UPLOAD,
    ready: Callable[[str], Any] = print,
    file: Path | None = None,
) -> None:
    """Run the studio until it is interrupted.

    Files are opened in the folder `root` alone, at first `file`, which is in it. Port 0 is a free
    one. `ready` is called with the address, token included, when the server accepts connections.
    """
    import uvicorn

    listener = _listener(port)
    number = listener.getsockname()[1]
    token = secrets.token_urlsafe(32)
    folder = (root / FOLDER if session is None else session).resolve()
    studio = Studio(Session(folder), root, most_upload)
    guard = Guard(
        application(studio, file),
        port=number,
        token=token,
        secret=read_secret(folder / "secret"),
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await guard(scope, receive, send)
        except asyncio.CancelledError:
            if not server.should_exit:
                raise
            # The server stops: a request that does not end, such as a stalled upload, is no error.

    config = uvicorn.Config(
        answer,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=LONGEST_MESSAGE,
        lifespan="on",
        timeout_graceful_shutdown=2,
    )

    class Server(uvicorn.Server):
        """A server that says when it is ready, and ends questions before connections."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(f"http://{HOST}:{number}/?token={token}")
                sys.stdout.flush()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await studio.close()
            await super().shutdown(sockets)

    server = Server(config)
    try:
        server.run([listener])
    except KeyboardInterrupt:
        pass  # uvicorn raises it again when it has stopped
    finally:
        listener.close()


def _listener(port: int | None) -> socket.socket:
    """A socket of the loopback interface."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, PORT if port is None else port))
    except OSError:
        listener.close()
        if port is None:
            return _listener(0)
        raise
    return listener
