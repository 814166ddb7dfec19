"""Who may talk to the studio: token, cookie, Host, Origin, and the headers of every response.

The studio listens on the loopback interface only, but every page in the user's browser can send
requests there, and every user of the machine can. The rules are those of Jupyter: a random token in
the address that is printed is exchanged for a cookie that scripts cannot read and that other sites
cannot send; the Host must be the loopback interface, against DNS rebinding; the Origin must be the
studio itself.
"""

from __future__ import annotations

import hmac
import os
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

HOSTS = ("127.0.0.1", "localhost", "[::1]")
SAFE = ("GET", "HEAD")
REFUSED = 1008  # WebSocket: violation of policy
FIELDS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def read_secret(path: Path) -> str:
    """The value of the cookie, kept in a file so that open pages outlive a restart."""
    if path.exists():
        secret = path.read_text(encoding="ascii", errors="replace").strip()
        if len(secret) >= 32:
            return secret
    secret = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secret)
    return secret


class Guard:
    """ASGI middleware that refuses requests and connections of strangers.

    The port is a part of the permitted Host and Origin. `GET /?token=...` exchanges the token for a
    cookie whose value is the secret.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str, secret: str) -> None:
        self.app, self.token, self.secret = app, token, secret
        self.cookie = f"lowdim-studio-{port}"  # cookies are shared by all ports of a host
        self.hosts = {f"{host}:{port}" for host in HOSTS}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        problem = self._problem(scope)
        if scope["type"] == "websocket":
            refused = WebSocketClose(REFUSED, problem) if problem else None
            await (refused or self.app)(scope, receive, send)
            return

        async def send_with_fields(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in FIELDS.items():
                    headers.setdefault(name, value)
            await send(message)

        response: ASGIApp = self.app
        if problem:
            response = JSONResponse({"error": problem}, 403)
        elif self._brings_token(scope):
            response = self._welcome()
        await response(scope, receive, send_with_fields)

    def _problem(self, scope: Scope) -> str:
        """Why a request is refused; empty if it is not."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self.hosts:
            return "The studio answers only to the address that it printed."
        origin = headers.get("origin")
        needed = scope["type"] == "websocket" or scope["method"] not in SAFE
        if (origin is not None or needed) and origin not in self.origins:
            return "The studio answers only to its own page."
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and scope["path"] != "/":
            return "The studio answers only to its own page."
        if self._brings_token(scope) or self._knows_secret(headers):
            return ""
        return "Open the studio by the full address that it printed, which contains a token."

    def _brings_token(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] not in SAFE:
            return False
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return hmac.compare_digest(token.encode(), self.token.encode())

    def _knows_secret(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        morsel = cookies.get(self.cookie)
        secret = "" if morsel is None else morsel.value
        return hmac.compare_digest(secret.encode(), self.secret.encode())

    def _welcome(self) -> Response:
        response = RedirectResponse("/", 303)
        response.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict", path="/")
        return response
