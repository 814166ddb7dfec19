"""Everything that is not the studio's own page is refused, and the server lives on."""

from __future__ import annotations

import io
import json
import os
import pickle
import socket
import stat
from contextlib import suppress
from functools import partial

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from studio.client import DEADLINE, MAX_UPLOAD, Client, Server

get = partial(httpx.get, timeout=DEADLINE)


@pytest.fixture(autouse=True)
def _alive(studio: Server, client: Client) -> object:
    """After each attack the server still answers its client."""
    yield
    assert client.http.get("/api/state").status_code == 200


def cookies(client: Client) -> str:
    return "; ".join(f"{key}={value}" for key, value in client.http.cookies.items())


def test_only_the_loopback_interface_listens(studio: Server) -> None:
    """Linux has all addresses 127.x.x.x; a server of all interfaces listens on each of them."""
    with socket.create_connection(("127.0.0.1", studio.port), DEADLINE):
        pass
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", studio.port), DEADLINE)


def test_the_address_is_printed_in_one_line_with_its_token(studio: Server) -> None:
    assert studio.line.endswith(f"http://127.0.0.1:{studio.port}/?token={studio.token}\n")
    assert len(studio.token) >= 32


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/toys", "/static/studio.js"])
@pytest.mark.parametrize("query", ["", "?token=wrong", "?token="])
def test_without_the_token_nothing_is_served(studio: Server, path: str, query: str) -> None:
    response = get(studio.base + path + query)
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


def test_the_token_works_at_the_front_door_only(studio: Server) -> None:
    assert get(f"{studio.base}/api/state?token={studio.token}").status_code == 403


def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(studio: Server) -> None:
    response = get(studio.address)
    assert response.status_code == 303
    assert response.headers["location"] == "/"
    given = response.headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert studio.token.lower() not in given


def test_a_wrong_cookie_is_refused(studio: Server, client: Client) -> None:
    name = next(iter(client.http.cookies.keys()))
    response = get(f"{studio.base}/api/state", headers={"cookie": f"{name}=guess"})
    assert response.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "10.0.0.1:{port}"]
)
def test_a_wrong_host_is_refused(client: Client, host: str) -> None:
    response = client.http.get("/api/state", headers={"host": host.format(port=client.server.port)})
    assert response.status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_wrong_origin_is_refused(client: Client, origin: str, method: str) -> None:
    headers = {"origin": origin.format(port=client.server.port)}
    assert client.http.request(method, "/api/state", headers=headers).status_code == 403


def test_a_change_needs_an_origin(client: Client) -> None:
    headers = {"cookie": cookies(client)}
    response = httpx.put(
        f"{client.server.base}/api/layout", headers=headers, json={"a": 1}, timeout=DEADLINE
    )
    assert response.status_code == 403


def test_a_request_that_another_site_starts_is_refused(client: Client) -> None:
    response = client.http.get("/api/state", headers={"sec-fetch-site": "cross-site"})
    assert response.status_code == 403


@pytest.mark.parametrize(
    ("origin", "cookie", "host"),
    [
        ("http://evil.example", True, None),
        (None, True, None),
        ("own", False, None),
        ("own", True, "evil.example"),
    ],
)
def test_a_websocket_of_a_stranger_is_refused(
    client: Client, origin: str | None, cookie: bool, host: str | None
) -> None:
    port = client.server.port
    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://{host or '127.0.0.1'}:{port}/api/stream",
            sock=socket.create_connection(("127.0.0.1", port)),  # as after DNS rebinding
            origin=client.server.base if origin == "own" else origin,
            additional_headers={"cookie": cookies(client)} if cookie else {},
            open_timeout=DEADLINE,
        )
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[]",
        "null",
        "3",
        "{}",
        json.dumps({"type": "unknown"}),
        json.dumps({"type": "ack"}),
        json.dumps({"type": "ack", "number": "x"}),
        json.dumps({"type": "watch", "maps": 7}),
        "[" * 60_000,
        b"binary",
    ],
)
def test_a_malformed_message_closes_the_connection(client: Client, message: str | bytes) -> None:
    with client.stream() as stream:
        stream.recv()
        stream.send(message)
        assert json.loads(stream.recv())["type"] == "error"
        with pytest.raises(ConnectionClosedError):
            stream.recv()
    assert stream.close_code == 1008


def test_a_huge_message_closes_the_connection(client: Client) -> None:
    with client.stream() as stream:
        stream.recv()
        with suppress(ConnectionClosedError):  # perhaps before all of it is sent
            stream.send("x" * 1_000_000)
        with pytest.raises(ConnectionClosedError):
            list(stream)


def test_every_response_has_a_strict_policy(client: Client) -> None:
    for path in ("/", "/api/state", "/nowhere", "/static/none.js"):
        headers = client.http.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


# --- files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["../secret.csv", "/etc/passwd", "folder/../../secret.csv", "link.csv", "out", "..", "\0"],
)
def test_no_file_outside_the_root_is_opened(client: Client, path: str) -> None:
    root = client.server.root
    secret = root.parent / "secret.csv"
    secret.write_text("a,b\n1,2\n3,4\n")
    (root / "folder").mkdir(exist_ok=True)
    for name, target in (("link.csv", secret), ("out", root.parent)):
        if not (root / name).exists():
            (root / name).symlink_to(target)
    for response in (
        client.http.post("/api/datasets", json={"path": path}),
        client.http.get("/api/files", params={"path": path}),
    ):
        assert response.status_code in (400, 403, 404)
        assert "secret" not in response.text or "secret.csv" in path


@pytest.mark.parametrize(
    "name", ["..%2f..%2fsecret.js", "..%5csecret.js", "%2e%2e/index.html", "a%00.js"]
)
def test_static_files_are_those_of_the_package(client: Client, name: str) -> None:
    assert client.http.get(f"/static/{name}").status_code == 404


def test_a_folder_of_images_with_a_link_out_of_the_root_is_refused(client: Client) -> None:
    root = client.server.root
    (root.parent / "secret.png").write_bytes(b"secret")
    folder = root / "pictures"
    folder.mkdir()
    (folder / "a.png").symlink_to(root.parent / "secret.png")
    client.ask("POST", "/api/datasets", 403, json={"path": "pictures"})


def test_the_session_cannot_be_opened_as_data(client: Client) -> None:
    assert (client.server.root / ".lowdim-studio" / "secret").exists()
    client.ask("POST", "/api/datasets", 403, json={"path": ".lowdim-studio/secret"})
    names = [one["name"] for one in client.ask("GET", "/api/files")["entries"]]
    assert ".lowdim-studio" not in names


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_the_secret_is_readable_by_its_owner_alone(client: Client) -> None:
    mode = (client.server.root / ".lowdim-studio" / "secret").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize("size", [MAX_UPLOAD * 1_000_000 + 1, 5_000_000])
def test_an_oversized_upload_is_refused(client: Client, size: int) -> None:
    before = set((client.server.root / ".lowdim-studio" / "datasets").iterdir())
    client.ask("PUT", "/api/uploads/large.csv", 413, content=b"1" * size)
    pieces = (b"1" * 100_000 for _ in range(size // 100_000 + 1))  # without a content-length
    client.ask("PUT", "/api/uploads/large.csv", 413, content=pieces)
    assert set((client.server.root / ".lowdim-studio" / "datasets").iterdir()) == before


class _Attack:
    def __reduce__(self) -> object:
        return os.system, ("touch pickled",)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_an_upload_is_never_unpickled(client: Client, name: str) -> None:
    objects, file = np.array([_Attack(), _Attack()], dtype=object), io.BytesIO()
    np.save(file, objects) if name == "a.npy" else np.savez(file, X=objects)
    answer = client.ask("PUT", f"/api/uploads/{name}", 400, content=file.getvalue())
    assert "pickled" in answer["error"]
    client.ask("PUT", f"/api/uploads/{name}", 400, content=pickle.dumps(_Attack()))


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("client.html", 415),
        ("a.exe", 415),
        ("a.pkl", 415),
        (".hidden.csv", 400),
        ("x" * 300 + ".csv", 400),
    ],
)
def test_an_upload_has_a_plain_name_of_a_known_format(
    client: Client, name: str, status: int
) -> None:
    client.ask("PUT", f"/api/uploads/{name}", status, content=b"a,b\n1,2\n")


def test_a_damaged_upload_is_explained_in_terms_of_its_name(client: Client) -> None:
    answer = client.ask("PUT", "/api/uploads/bad.csv", 400, content=b"\x00\x01\x02")
    assert answer["error"].startswith("bad.csv holds zero bytes")
    assert str(client.server.root) not in answer["error"]


@pytest.mark.parametrize("content", [b"", b"no JSON", b"[]", b"7", b"[" * 200_000, b"\xff\xfe"])
def test_a_malformed_request_is_refused(client: Client, content: bytes) -> None:
    for path in ("/api/datasets", "/api/maps", "/api/maps/x/selection"):
        response = client.http.post(path, content=content)
        assert response.status_code in (400, 404)
        assert response.json()["error"]


@pytest.mark.parametrize("name", ["../x", "..%2f..%2fetc", "none", "a" * 5000])
def test_unknown_ids_are_refused(client: Client, name: str) -> None:
    for path in (f"/api/maps/{name}/coordinates", f"/api/datasets/{name}/values/x"):
        assert client.http.get(path).status_code in (404, 403)


def test_no_documentation_pages_or_schema_are_served(client: Client) -> None:
    for path in ("/docs", "/openapi.json", "/redoc"):
        assert client.http.get(path).status_code == 404
