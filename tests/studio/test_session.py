"""A session survives a reload, a restart and a kill; the server stops cleanly."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from lowdim.studio.locks import InUse
from lowdim.studio.session import Session
from studio.client import DEADLINE, Client, Server, until

PROC = Path("/proc")


def processes_of(session: int) -> list[int]:
    """The running processes of a session; an empty list on systems without /proc."""
    found = [(_read(path).rpartition(b") ")[2].split(), path) for path in PROC.glob("[0-9]*/stat")]
    return [
        int(path.parent.name) for stat, path in found
        if stat and int(stat[3]) == session and stat[0] != b"Z"
    ]  # fmt: skip


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_everything_is_there_after_a_restart(tmp_path: Path, port: str) -> None:
    server = Server(tmp_path, "--port", port)
    client = server.client()
    data = client.toy("swiss_roll", n=200)
    one = client.fit(data, "PCA", title="first")
    client.ask("PUT", "/api/layout", json={"shown": [one["id"]], "theme": "dark"})
    Y, before = client.coordinates(one), client.ask("GET", "/api/state")
    cookies = dict(client.http.cookies)
    assert server.stop() == 0
    again = Server(tmp_path, "--port", port)
    try:  # by the cookie of before
        found = httpx.get(f"{again.base}/api/state", cookies=cookies, timeout=DEADLINE)
        assert found.json() == before
        client = again.client()
        np.testing.assert_array_equal(client.coordinates(one), Y)
        assert again.token != server.token
        assert client.fit(data, "PCA")["number"] == one["number"] + 1
    finally:
        assert again.stop() == 0


def test_a_fit_that_was_killed_keeps_its_snapshots(tmp_path: Path) -> None:
    server = Server(tmp_path)
    client = server.client()
    data = client.toy("digits", n=200)
    one = client.fit(data, "TSNE", wait=False, pace=100, parameters={"max_iter": 5000})
    waiting = [
        client.fit(data, "TSNE", wait=False, pace=100, parameters={"max_iter": 5000}),
        client.fit(data, "PCA", wait=False),
    ]
    client.until(one, lambda now: now["frames"] > 3)
    server.process.kill()
    server.stop()
    again = Server(tmp_path)
    try:
        client = again.client()
        now = client.ask("GET", f"/api/maps/{one['id']}")
        assert now["status"] == "stopped"
        assert "closed before" in now["warnings"][0]
        last = client.until(waiting[1], lambda now: now["status"] == "done")  # its turn came
        assert client.coordinates(last).shape == (200, 2)
    finally:
        assert again.stop() == 0


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    server = Server(tmp_path)
    client = server.client()
    data = client.toy("digits", n=1797)
    done = client.fit(data, "PCA")
    one = client.fit(data, "TSNE", wait=False, pace=100, parameters={"max_iter": 5000})
    client.until(one, lambda now: now["frames"] > 1)
    session = os.getsid(server.process.pid)
    assert len(processes_of(session)) >= 3 or not PROC.exists()  # the server, a worker, the helper
    answers: list[int] = []

    def question() -> None:
        url, cookies = f"{server.base}/api/maps/{done['id']}/quality", dict(client.http.cookies)
        with suppress(httpx.HTTPError):  # the server may be gone before it gets the question
            answers.append(httpx.get(url, cookies=cookies, timeout=DEADLINE).status_code)

    asking = threading.Thread(target=question)
    with client.stream() as stream:
        stream.recv()
        asking.start()
        assert server.stop() == 0  # and prints no traceback
    asking.join()
    assert answers in ([], [200], [503])
    until(lambda: not processes_of(session), "processes are left")


@pytest.mark.skipif(not PROC.exists(), reason="lists processes by /proc")
def test_a_kill_of_the_server_ends_all_processes(tmp_path: Path) -> None:
    server = Server(tmp_path)
    client = server.client()
    client.fit(client.toy("clusters", n=60), "PCA")  # by a worker, of data that the helper read
    session = os.getsid(server.process.pid)
    assert len(processes_of(session)) >= 3
    server.process.kill()
    until(lambda: not processes_of(session), "processes are left")
    server.stop()


def test_ctrl_c_during_an_upload_that_stalls_prints_no_traceback(tmp_path: Path) -> None:
    server = Server(tmp_path)
    cookies = "; ".join(f"{key}={value}" for key, value in server.client().http.cookies.items())
    head = {
        "Host": f"127.0.0.1:{server.port}", "Origin": server.base, "Cookie": cookies,
        "Content-Length": "1000",
    }  # fmt: skip
    lines = ["PUT /api/uploads/a.csv HTTP/1.1", *(f"{key}: {text}" for key, text in head.items())]
    uploads = tmp_path / ".lowdim-studio" / "datasets"
    with socket.create_connection(("127.0.0.1", server.port)) as stalled:
        stalled.sendall("\r\n".join([*lines, "", "x,y"]).encode())
        until(lambda: bool(list(uploads.iterdir())), "the upload has begun")
        assert server.stop() == 0
    assert not list(uploads.iterdir())


def test_one_session_belongs_to_one_studio(studio: Server) -> None:
    folder = studio.root / ".lowdim-studio"
    with pytest.raises(InUse):
        Session(folder)
    command = [sys.executable, "-m", "lowdim", "studio", "--no-browser", "--root", str(studio.root)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert found.returncode != 0
    assert "is used by a studio that is running" in found.stderr
    assert "--session" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_damaged_record_does_not_keep_the_others_from_loading(tmp_path: Path) -> None:
    server = Server(tmp_path)
    client = server.client()
    data = client.toy("clusters", n=60)
    good, bad = client.fit(data, "PCA"), client.fit(data, "PCA")
    server.stop()
    (tmp_path / ".lowdim-studio" / "maps" / bad["id"] / "map.json").write_text("{")
    (tmp_path / ".lowdim-studio" / "session.json").write_text("")
    session = Session(tmp_path / ".lowdim-studio")
    assert list(session.maps) == [good["id"]]
    session.close()


def test_records_of_another_version_are_read(tmp_path: Path) -> None:
    session = Session(tmp_path)
    folder = tmp_path / "maps" / "abc"
    folder.mkdir()
    record: dict[str, Any] = {
        "id": "abc", "number": 7, "dataset": "d", "version": 1, "method": "PCA", "title": "",
        "parameters": {}, "rows": None, "n": 5, "status": "done", "of the future": 1,
    }  # fmt: skip
    (folder / "map.json").write_text(json.dumps(record))
    session.close()
    session = Session(tmp_path)
    assert session.maps["abc"].status == "done"
    assert session.take_number() == 8
    session.close()


def test_the_session_can_be_elsewhere(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "kept"
    root.mkdir()
    server = Server(root, "--session", str(folder))
    assert server.stop() == 0
    assert (folder / "secret").exists()
    assert not list(root.iterdir())


def test_a_file_of_the_command_line_is_open_at_first(tmp_path: Path) -> None:
    path = tmp_path / "flowers.csv"
    rows = "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(30))
    path.write_text("petal,sepal,kind\n" + rows)
    server = Server(tmp_path, str(path))
    try:
        state = server.client().ask("GET", "/api/state")
        assert [one["name"] for one in state["datasets"]] == ["flowers.csv"]
        assert state["root"] == str(tmp_path)
    finally:
        server.stop()


def test_a_port_in_use_is_explained(studio: Server, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lowdim", "studio", "--no-browser", "--root", str(tmp_path)]
    command += ["--port", str(studio.port)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert found.returncode != 0
    assert "--port" in found.stderr
    assert "Traceback" not in found.stderr


def test_the_session_survives_a_reload_of_two_pages(client: Client, studio: Server) -> None:
    data = client.toy("clusters", n=60)
    other = studio.client()
    with client.stream() as first, other.stream() as second:
        for stream in (first, second):
            state = json.loads(stream.recv())
            assert data["id"] in [one["id"] for one in state["datasets"]]
        one = client.fit(data, "PCA")
        for stream in (first, second):
            for message in stream:
                if isinstance(message, str) and one["id"] in message:
                    break
