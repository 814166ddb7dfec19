"""Fits in worker processes: frames, pause, step, stop, changes in flight, crashes, the queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lowdim
from lowdim.studio.datasets import prepare
from lowdim.studio.jobs import Job, Jobs
from lowdim.studio.records import Map
from lowdim.studio.snapshots import snapshot_path
from lowdim.studio.toys import TOYS
from studio.client import DEADLINE, Client, Server, acknowledge, read_frame

LONG = {"max_iter": 100_000}
SLOW = {"method": "TSNE", "parameters": LONG, "pace": 100}
"""A fit that lasts as long as a test needs."""


@pytest.fixture
def digits(client: Client) -> Any:
    return client.toy("digits", n=300)


def started(client: Client, dataset: Any, **options: Any) -> Any:
    one = client.fit(dataset, wait=False, **{**SLOW, **options})
    return client.until(one, lambda one: one["iteration"] > 2)


def command(client: Client, one: Any, name: str, status: int = 200) -> Any:
    return client.ask("POST", f"/api/maps/{one['id']}/{name}", status)


def remove(client: Client, *maps: Any) -> None:
    for one in maps:
        client.ask("DELETE", f"/api/maps/{one['id']}")


def test_the_map_is_that_of_the_library(client: Client, digits: Any) -> None:
    parameters = {"max_iter": 300, "perplexity": 20.0}
    one = client.fit(digits, "TSNE", parameters=parameters)
    assert one["status"] == "done"
    assert one["iteration"] == 300
    own = lowdim.TSNE(**parameters, random_state=0).fit_transform(load_digits().data[:300])
    np.testing.assert_array_equal(client.coordinates(one), own.astype(np.float32))


def test_frames_are_streamed_and_kept(client: Client, digits: Any) -> None:
    frames: list[np.ndarray[Any, Any]] = []
    with client.stream() as stream:
        assert json.loads(stream.recv())["type"] == "state"
        one = client.fit(digits, wait=False, **SLOW)
        status = ""
        for message in stream:
            if isinstance(message, bytes):
                number, frame, Y = read_frame(message)
                assert number == one["number"]
                acknowledge(stream, number, frame)
                frames.append(Y)
                if len(frames) == 30:
                    command(client, one, "stop")
            elif json.loads(message).get("map", {}).get("id") == one["id"]:
                status = json.loads(message)["map"]["status"]
            if status == "stopped":
                break
    assert all(Y.shape == (300, 2) for Y in frames)
    assert len({Y.tobytes() for Y in frames}) > 20  # a slowed fit is seen in many frames
    one = client.ask("GET", f"/api/maps/{one['id']}")
    assert one["frames"] == len(one["snapshots"]) > 5
    first, last = client.coordinates(one, "?frame=0"), client.coordinates(one)
    assert not np.array_equal(first, last)
    client.ask("GET", f"/api/maps/{one['id']}/coordinates?frame={one['frames']}", 404)


def test_a_frame_waits_for_the_acknowledgement_of_the_one_before(
    client: Client, digits: Any
) -> None:
    with client.stream() as stream:
        stream.recv()
        one = started(client, digits)
        frames = 0
        while True:
            message = stream.recv()
            frames += isinstance(message, bytes)
            if frames and not isinstance(message, bytes):
                found = json.loads(message).get("map", {})
                if found.get("iteration", 0) > one["iteration"] + 100:
                    break
        assert frames == 1
    remove(client, one)


def test_pause_step_and_continue(client: Client, digits: Any) -> None:
    one = started(client, digits)
    command(client, one, "pause")
    paused = client.until(one, lambda one: one["status"] == "paused")
    command(client, one, "step")
    stepped = client.until(one, lambda now: now["iteration"] > paused["iteration"])
    stepped = client.until(one, lambda now: now["status"] == "paused")
    assert stepped["iteration"] == paused["iteration"] + 1
    command(client, one, "continue")
    client.until(one, lambda now: now["iteration"] > stepped["iteration"] + 10)
    command(client, one, "step", 409)
    remove(client, one)


def test_stop_keeps_the_coordinates(client: Client, digits: Any) -> None:
    one = started(client, digits)
    command(client, one, "stop")
    one = client.until(one, lambda now: now["status"] == "stopped")
    assert 2 < one["iteration"] < 100_000
    assert client.coordinates(one).shape == (300, 2)
    assert one["decodes"]
    command(client, one, "pause", 409)


def test_a_parameter_changed_in_flight_gives_the_map_of_its_python_code(
    client: Client, digits: Any
) -> None:
    one = started(client, digits, parameters={"max_iter": 300}, pace=3)  # 100 s, unless it changes
    path = f"/api/maps/{one['id']}"
    client.ask("PATCH", path, json={"parameters": {"perplexity": 5, "learning_rate": 30}})
    changed = client.until(one, lambda now: now["changes"])
    assert changed["parameters"]["perplexity"] == 5
    assert "perplexity" not in changed["initial"]
    client.ask("PATCH", path, json={"pace": None})
    one = client.until(one, lambda now: now["status"] == "done")
    code = client.http.get(f"{path}/export/python").text
    assert "state.change(perplexity=5" in code
    found: dict[str, Any] = {}
    exec(code, found)
    np.testing.assert_array_equal(client.coordinates(one), found["Y"].astype(np.float32))


def test_a_refused_change_leaves_the_fit_as_it_is(client: Client, digits: Any) -> None:
    one = started(client, digits)
    path = f"/api/maps/{one['id']}"
    answer = client.ask("PATCH", path, 409, json={"parameters": {"n_components": 3}})
    assert "cannot be changed" in answer["error"]
    client.ask("PATCH", path, json={"parameters": {"perplexity": 1e6}})
    now = client.until(one, lambda now: now["error"])
    assert "perplexity" in now["error"]
    assert now["status"] == "running"
    assert not now["changes"]
    remove(client, one)


def test_a_failed_fit_says_why(client: Client, digits: Any) -> None:
    one = client.fit(digits, "TSNE", parameters={"perplexity": 1000})
    assert one["status"] == "failed"
    assert "perplexity (1000) must be less than n_samples (300)" in one["error"]


def test_a_crash_is_reported_and_loses_nothing_else(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    TOYS["digits"].write({"n": 200}, tmp_path / "digits.npz")
    prepare(str(data), {"path": str(tmp_path / "digits.npz")}, {})

    async def attack() -> tuple[Map, Map]:
        jobs = Jobs(lambda one, urgent: None, lambda one, frame, coordinates: None)
        jobs.start()
        maps = [new_map(tmp_path / f"map{at}", data, jobs, at) for at in range(2)]
        await reached(lambda: all(len(one.snapshots) > 2 for one in maps))
        worker = jobs.jobs[maps[0].id].worker
        assert worker is not None
        worker.process.kill()
        await reached(lambda: maps[0].status == "failed")
        before = maps[1].iteration
        await reached(lambda: maps[1].iteration > before + 20)
        jobs.command(maps[1], "stop")
        await reached(lambda: maps[1].status == "stopped")
        jobs.close()
        return maps[0], maps[1]

    with ThreadPoolExecutor(1) as pool:  # this one may have a loop, of a browser test before
        crashed, other = pool.submit(asyncio.run, attack()).result()
    assert "ended unexpectedly (signal 9" in crashed.error
    assert np.load(snapshot_path(tmp_path / "map0", crashed.snapshots[-1])).shape == (200, 2)
    assert not other.error
    assert np.load(tmp_path / "map1" / "coordinates.npy").shape == (200, 2)


def new_map(folder: Path, data: Path, jobs: Jobs, number: int) -> Map:
    folder.mkdir()
    one = Map(
        id=folder.name, number=number, dataset="d", version=1, method="TSNE", title="",
        parameters=LONG, rows=None, n=200,
    )  # fmt: skip
    spec = {"data": str(data), "folder": str(folder), "method": "TSNE", "parameters": LONG}
    jobs.submit(one, {**spec, "rows": False, "label": None, "start": None, "pace": 100})
    return one


@pytest.mark.parametrize(("phase", "ends"), [("fit", 1), ("stopping", 0)])
def test_a_fit_that_has_begun_to_stop_may_write_its_map(tmp_path, phase, ends):
    ended: list[int] = []
    jobs = Jobs(lambda one, urgent: None, lambda one, frame, coordinates: None)
    one = Map("m", 1, "d", 1, "TSNE", "", {}, None, 5, status="running")
    jobs.jobs["m"] = job = Job(one, {"folder": str(tmp_path)})
    job.worker = SimpleNamespace(kill=lambda: ended.append(1))
    jobs._on_message(job, "phase", phase)
    jobs._kill_unless_stopping(job)
    assert len(ended) == ends
    assert one.status == ("stopped" if ends else "running")


async def reached(state: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not state():
            await asyncio.sleep(0.02)


def test_fits_wait_for_their_turn(client: Client, digits: Any) -> None:
    running = [started(client, digits) for _ in range(2)]
    third = client.fit(digits, wait=False, **SLOW)
    assert third["status"] == "queued"
    command(client, third, "step", 409)
    command(client, running[0], "pause")
    client.until(third, lambda now: now["status"] == "running")  # a paused fit gives way
    fourth = client.fit(digits, wait=False, **SLOW)
    command(client, fourth, "stop")
    assert client.ask("GET", f"/api/maps/{fourth['id']}")["status"] == "stopped"
    remove(client, *running, third, fourth)


def test_the_neighbour_graph_is_computed_once(client: Client, digits: Any) -> None:
    folder = client.server.root / ".lowdim-studio" / "datasets" / digits["id"] / "v1" / "graphs"
    client.fit(digits, "TSNE", parameters={"max_iter": 250})
    graphs = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    assert [path.name for path in graphs] == ["euclidean-auto-90.npz"]
    umap = client.fit(digits, "UMAP")
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")} == graphs
    own = lowdim.UMAP(random_state=0).fit_transform(load_digits().data[:300])
    np.testing.assert_array_equal(client.coordinates(umap), own.astype(np.float32))


def test_a_graph_with_more_neighbours_does_not_change_a_spectral_map(
    client: Client, digits: Any
) -> None:
    client.fit(digits, "Isomap", parameters={"n_neighbors": 30})
    one = client.fit(digits, "LaplacianEigenmaps")
    with pytest.warns(UserWarning, match="connected components"):
        own = lowdim.LaplacianEigenmaps(random_state=0).fit_transform(load_digits().data[:300])
    assert "connected components" in one["warnings"][0]
    np.testing.assert_allclose(client.coordinates(one), own, atol=1e-6)


def test_some_rows_are_embedded_on_their_own(client: Client, digits: Any) -> None:
    whole = client.fit(digits, "PCA")
    rows = list(range(0, 300, 3))
    one = client.fit(digits, "PCA", rows=rows, **{"from": whole["id"]})
    assert one["n"] == 100
    np.testing.assert_array_equal(client.array(f"/api/maps/{one['id']}/rows", "<i4"), rows)
    own = lowdim.PCA(2).fit_transform(load_digits().data[rows])
    np.testing.assert_allclose(client.coordinates(one), own, rtol=1e-4, atol=1e-4)
    aligned = client.coordinates(one, f"?aligned_to={whole['id']}")
    target = client.coordinates(whole)[rows]
    apart = np.square(aligned - target).sum()
    assert apart < np.square(client.coordinates(one) - target).sum() or apart < 1e-3


@pytest.mark.parametrize("rows", [[], [1, 2], [0, 300], [-1, 1, 2, 3, 4], ["a"], 3, [0.5] * 9])
def test_wrong_rows_are_refused(client: Client, digits: Any, rows: Any) -> None:
    asked = {"dataset": digits["id"], "method": "PCA", "rows": rows}
    assert client.ask("POST", "/api/maps", 400, json=asked)["error"]


@pytest.mark.parametrize(
    ("method", "parameters", "status"),
    [
        ("Nothing", {}, 404),
        ("TSNE", {"callback": 1}, 400),
        ("TSNE", {"unknown": 1}, 400),
        ("TSNE", {"perplexity": {}}, 400),
        ("TSNE", [], 400),
    ],
)
def test_wrong_parameters_are_refused(
    client: Client, digits: Any, method: str, parameters: Any, status: int
) -> None:
    asked = {"dataset": digits["id"], "method": method, "parameters": parameters}
    assert client.ask("POST", "/api/maps", status, json=asked)["error"]


def test_methods_that_learn_from_labels_get_them(client: Client, digits: Any) -> None:
    one = client.fit(digits, "NeighborhoodComponentsAnalysis", parameters={"max_iter": 5})
    assert one["status"] == "done"
    assert one["dim"] == 2
    walk = client.toy("random_walk", n=50)
    client.ask("PATCH", f"/api/datasets/{walk['id']}", json={"roles": {"time": "ignore"}})
    asked = {"dataset": walk["id"], "method": "NeighborhoodComponentsAnalysis"}
    assert "labels" in client.ask("POST", "/api/maps", 400, json=asked)["error"]


def test_a_map_that_is_removed_while_its_frames_arrive_leaves_no_error(tmp_path: Path) -> None:
    server = Server(tmp_path)
    client = server.client()
    data = client.toy("digits", n=300)
    for _ in range(4):
        remove(client, started(client, data, pace=None))
    assert server.stop() == 0  # and nothing of it is a traceback
