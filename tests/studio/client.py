"""A studio in a process of its own, and a client that behaves like its client."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from websockets.sync.client import ClientConnection, connect

DEADLINE = 120  # seconds; far more than anything here takes
MAX_UPLOAD = 1  # MB


class Server:
    """A running `lowdim studio`."""

    def __init__(self, root: Path, *options: str) -> None:
        command = [sys.executable, "-m", "lowdim", "studio", "--no-browser", "--root", str(root)]
        command += ["--max-upload", str(MAX_UPLOAD), *options]
        if "--port" not in options:
            command += ["--port", "0"]
        self.root = root
        self.clients: list[Client] = []
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by `stop`
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        if not self.line:
            self.errors.seek(0)
            raise AssertionError(f"the studio did not start: {self.errors.read()}")
        self.address = self.line.split()[-1]
        self.base, _, self.token = self.address.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])

    def stop(self) -> int:
        """Press Ctrl-C, which a terminal sends to all processes; returns the exit status."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(DEADLINE)
        for client in self.clients:
            client.http.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.seek(0)
        said = self.errors.read()
        self.errors.close()
        assert "Traceback" not in said, said
        return code

    def client(self) -> Client:
        """A new client; it is closed when the server stops."""
        self.clients.append(Client(self))
        return self.clients[-1]


class Client:
    """A client with the cookie of the studio."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.http = httpx.Client(
            base_url=server.base,
            headers={"origin": server.base},
            timeout=DEADLINE,
            # The server closes a connection after 5 s, perhaps just when the next request is sent.
            limits=httpx.Limits(keepalive_expiry=1),
        )
        assert self.http.get("/", params={"token": server.token}).status_code == 303

    def ask(self, method: str, path: str, status: int = 200, **options: Any) -> Any:
        """The JSON of a response whose status is as expected."""
        response = self.http.request(method, path, **options)
        assert response.status_code == status, response.text
        return response.json()

    def toy(self, name: str, **values: float) -> Any:
        return self.ask("POST", "/api/datasets", 201, json={"toy": name, "values": values})

    def fit(self, dataset: Any, method: str, wait: bool = True, **options: Any) -> Any:
        """Start a fit and, by default, wait for its end."""
        asked = {"dataset": dataset["id"], "method": method, **options}
        found = self.ask("POST", "/api/maps", 201, json=asked)
        return self.until(found, lambda one: one["status"] in ENDS) if wait else found

    def until(self, one: Any, reached: Callable[[Any], bool]) -> Any:
        """The map as soon as it has reached a state."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            found = self.ask("GET", f"/api/maps/{one['id']}")
            if reached(found):
                return found
            time.sleep(0.02)
        raise AssertionError(f"not reached: {found}")

    def array(self, path: str, dtype: str = "<f4") -> np.ndarray[Any, Any]:
        response = self.http.get(path)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "application/octet-stream"
        return np.frombuffer(response.content, dtype)

    def coordinates(self, one: Any, query: str = "") -> np.ndarray[Any, Any]:
        found = self.array(f"/api/maps/{one['id']}/coordinates{query}")
        return found.reshape(-1, one["dim"])

    def stream(self) -> ClientConnection:
        cookie = "; ".join(f"{key}={value}" for key, value in self.http.cookies.items())
        return connect(
            self.server.base.replace("http", "ws") + "/api/stream",
            origin=self.server.base,
            additional_headers={"cookie": cookie},
            max_size=None,
            max_queue=None,  # messages that a test does not read must not hold up pings
            open_timeout=DEADLINE,
            close_timeout=DEADLINE,
            ping_timeout=DEADLINE,
        )


ENDS = ("done", "stopped", "failed")


def until(reached: Callable[[], bool], what: str) -> None:
    """Wait for a state of a server, of its page or of its processes."""
    end = time.monotonic() + DEADLINE
    while not reached():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def read_frame(message: bytes) -> tuple[int, int, np.ndarray[Any, Any]]:
    """Number of the map, number of the frame, and coordinates."""
    number, frame, n, dim = struct.unpack("<4I", message[:16])
    return number, frame, np.frombuffer(message[16:], "<f4").reshape(n, dim)


def acknowledge(stream: ClientConnection, number: int, frame: int) -> None:
    stream.send(json.dumps({"type": "ack", "number": number, "frame": frame}))
