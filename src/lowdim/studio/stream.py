"""The WebSocket: objects as they change, and frames of coordinates."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from lowdim.studio.security import REFUSED

LONGEST_MESSAGE = 1 << 16  # bytes of a message of the page


class Malformed(Exception):
    """A message of the page that is none of the protocol."""


class Client:
    """One connected page.

    Of each object only its newest version is sent. A frame of a map is sent when the page has
    acknowledged the frame of that map before it; older frames that wait are dropped.
    """

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.texts: dict[str, dict[str, Any]] = {}
        self.frames: dict[int, tuple[str, bytes]] = {}
        self.unacknowledged: set[int] = set()
        self.watched: set[str] | None = None  # None: all maps
        self.ready = asyncio.Event()

    def tell(self, key: str, message: dict[str, Any]) -> None:
        """Send a message; one of the same key that waits is replaced."""
        self.texts[key] = message
        self.ready.set()

    def show(self, number: int, map_id: str, frame: bytes) -> None:
        """Send a frame of a map, if the page watches it."""
        self.frames[number] = map_id, frame
        self.ready.set()

    def take(self, text: str) -> None:
        """Follow a message of the page."""
        try:
            message = json.loads(text)
            kind = message["type"]
            if kind == "ack":
                self.unacknowledged.discard(int(message["number"]))
            elif kind == "watch":
                self.watched = {str(one) for one in message["maps"]}
            else:
                raise Malformed(f"the type {kind!r} is unknown")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Malformed(str(error)) from error
        self.ready.set()

    async def send_all(self) -> None:
        """Send what waits, for ever."""
        while True:
            await self.ready.wait()
            self.ready.clear()
            while self.texts:
                key = next(iter(self.texts))
                await self.socket.send_text(json.dumps(self.texts.pop(key), allow_nan=False))
            for number in [n for n in self.frames if n not in self.unacknowledged]:
                map_id, frame = self.frames.pop(number)
                if self.watched is None or map_id in self.watched:
                    self.unacknowledged.add(number)
                    await self.socket.send_bytes(frame)


class Hub:
    """All connected pages."""

    def __init__(self) -> None:
        self.clients: set[Client] = set()

    def tell(self, key: str, message: dict[str, Any]) -> None:
        """Send a message to all pages."""
        for client in self.clients:
            client.tell(key, message)

    def show(self, number: int, map_id: str, frame: bytes) -> None:
        """Send a frame of a map to all pages that watch it."""
        for client in self.clients:
            client.show(number, map_id, frame)

    async def serve(self, socket: WebSocket, state: Callable[[], dict[str, Any]]) -> None:
        """Talk to one page until it leaves."""
        await socket.accept()
        client = Client(socket)
        client.tell("state", {"type": "state", **state()})
        self.clients.add(client)
        sending = asyncio.create_task(client.send_all())
        try:
            while True:
                client.take(await socket.receive_text())
        except WebSocketDisconnect:
            pass
        except (Malformed, KeyError) as error:  # KeyError: binary instead of text
            reason = f"Malformed message: {error}"
            await socket.send_text(json.dumps({"type": "error", "error": reason}))
            await socket.close(REFUSED, "malformed message")
        finally:
            self.clients.discard(client)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def close(self) -> None:
        """Close all connections, because the server stops."""
        await asyncio.gather(
            *(client.socket.close(1001) for client in self.clients), return_exceptions=True
        )


def frame_bytes(number: int, frame: int, n: int, dim: int, coordinates: bytes) -> bytes:
    """A frame as the page reads it: four integers, then the coordinates, little-endian."""
    return struct.pack("<4I", number, frame, n, dim) + coordinates
