"""The report and the scatter view in Chromium, for `python -m benchmarks studio`."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
PEER = "regl-scatterplot@1.16.0"

# Records the time that each callback of an animation frame takes.
TIMED_FRAMES = """
window.callbacks = [];
const request = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) => request((now) => {
  const began = performance.now();
  draw(now);
  window.callbacks.push(performance.now() - began);
});
"""
# Turns the wheel on a canvas; returns the times between pictures and of the last one, in ms.
ZOOM = """
async (canvas) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const box = canvas.getBoundingClientRect();
  const place = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
  const gaps = [];
  for (let k = 0; k < 40; k++) {
    const began = performance.now();
    const deltaY = k < 20 ? -60 : 60;
    const options = { deltaY, bubbles: true, cancelable: true, ...place };
    canvas.dispatchEvent(new WheelEvent("wheel", options));
    await frame();
    await frame();
    gaps.push((performance.now() - began) / 2);
  }
  return gaps;
}
"""


@contextmanager
def _page(address: str) -> Iterator[Any]:
    """A page of Chromium."""
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        sys.exit("Chromium is not installed.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(TIMED_FRAMES)
        page.set_default_timeout(120_000)
        page.goto(address, timeout=300_000)
        yield page
        browser.close()


def _points(n: int) -> Any:
    random = np.random.default_rng(0)
    centers = random.normal(size=(10, 2)) * 8
    return (centers[random.integers(0, 10, n)] + random.normal(size=(n, 2))).astype(np.float32)


def report(n: int) -> None:
    """Print the time in which a report draws its maps."""
    from lowdim import report as reports

    Y = _points(n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        reports.write(path, {"first": Y, "second": Y[::-1]}, labels=np.arange(n) % 10)
        size = path.stat().st_size / 1e6
        with _page(path.as_uri()) as page:
            page.wait_for_function("window.callbacks.length >= 2", timeout=300_000)
            page.wait_for_timeout(2000)
            times = []
            for _ in range(5):
                page.evaluate("window.callbacks = []")
                for canvas in page.query_selector_all("figure.map canvas:last-of-type"):
                    canvas.focus()
                    page.keyboard.press("0")  # resets the view and draws all points
                page.wait_for_timeout(1500)
                times.append(sum(page.evaluate("window.callbacks")))
    print(
        f"report: {statistics.median(times):.0f} ms to draw two maps of {n:,} points "
        f"(file of {size:.0f} MB; goal: below 140 ms)"
    )


OURS = """<!DOCTYPE html><meta charset="utf-8"><body><div id="host"></div>
<style>
#host { width: 1000px; height: 700px; position: relative }
#host canvas { position: absolute; inset: 0; width: 100%%; height: 100%% }
</style>
<script>%s</script><script>
const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0));
const began = performance.now();
const options = { label: "", events: {}, wheelAlways: true };
const view = new LowdimScatter.Scatter(document.getElementById("host"), options);
view.setPositions(new Float32Array(bytes.buffer), 2);
view.drawNow();
window.first = performance.now() - began;
</script>"""
PEERS = """
import createScatterplot from "regl-scatterplot";
const text = document.getElementById("points").textContent;
const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const points = new Float32Array(bytes.buffer);
const began = performance.now();
const canvas = document.querySelector("canvas");
const view = createScatterplot({ canvas, width: 1000, height: 700, pointSize: 2 });
view.draw({ x: points.filter((_, i) => i % 2 === 0), y: points.filter((_, i) => i % 2) })
  .then(() => { window.first = performance.now() - began; });
"""


def frames(n: int) -> None:
    """Print the time of a picture and the memory of the page, for us and for the peer."""
    from base64 import b64encode

    Y = _points(n)
    Y /= np.abs(Y).max()
    points = b64encode(Y.tobytes()).decode("ascii")
    with tempfile.TemporaryDirectory() as folder:
        ours, peer = Path(folder) / "ours.html", Path(folder) / "peer.html"
        script = (ROOT / "src" / "lowdim" / "web" / "scatter.js").read_text("utf-8")
        ours.write_text(OURS % (script, points), "utf-8")
        pages = {"lowdim": ours}
        if _bundle_peer(Path(folder)):
            bundle = (Path(folder) / "peer.js").read_text("utf-8")
            peer.write_text(
                '<!DOCTYPE html><meta charset="utf-8"><body>'
                '<canvas width="1000" height="700" style="width:1000px;height:700px"></canvas>'
                f'<script type="text/plain" id="points">{points}</script><script>{bundle}</script>',
                "utf-8",
            )
            pages[PEER] = peer
        found = {name: _measure(path) for name, path in pages.items()}
    print(f"frames: {n:,} points on 1000 x 700 pixels, by a graphics card in software")
    for name, one in found.items():
        print(f"  {name}: " + ", ".join(f"{what} {value:.0f} {unit}" for what, value, unit in one))
    if len(found) == 2:
        pairs = zip(*found.values(), strict=True)
        said = ", ".join(f"{a[0]} {a[1] / b[1]:.2f}" for a, b in pairs)
        print(f"  ratio: {said}")


def _bundle_peer(folder: Path) -> bool:
    """Install the peer in a folder and bundle it; False where that is not possible."""
    esbuild = ROOT / "web" / "node_modules" / ".bin" / "esbuild"
    if shutil.which("npm") is None or not esbuild.exists():
        print("regl-scatterplot is left out: npm or web/node_modules is missing (make web)")
        return False
    (folder / "peer.mjs").write_text(PEERS, "utf-8")
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", "."]
    for command in (
        [*install, PEER, "pub-sub-es", "regl"],
        [str(esbuild), "peer.mjs", "--bundle", "--minify", "--outfile=peer.js"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            print(f"regl-scatterplot is left out: {done.stderr.strip().splitlines()[-1:]}")
            return False
    return True


def _measure(path: Path) -> list[tuple[str, float, str]]:
    """First picture, median picture while zooming, memory of the page."""
    with _page(path.as_uri()) as page:
        page.wait_for_function("window.first > 0", timeout=300_000)
        page.wait_for_timeout(1500)
        canvas = page.query_selector("canvas:last-of-type")
        gaps = page.evaluate(ZOOM, canvas)
        client = page.context.new_cdp_session(page)
        client.send("HeapProfiler.collectGarbage")
        return [
            ("first picture", page.evaluate("window.first"), "ms"),
            ("while zooming", statistics.median(gaps), "ms"),
            ("memory of page and graphics", _resident(page) / 1e6, "MB"),
        ]


def _resident(page: Any) -> float:
    """Resident bytes of the processes that run the page and draw it."""
    session = page.context.browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    total = 0
    for one in found:
        if one["type"] in ("renderer", "GPU"):
            status = Path(f"/proc/{one['id']}/statm").read_text("ascii")
            total += int(status.split()[1]) * 4096
    return total


KINDS = 20
CLOUDS = 60


def _write_table(path: Path, n: int) -> None:
    """Objects in clouds: ids, numbers, categories, dates and texts."""
    import pandas as pd

    random = np.random.default_rng(0)
    cloud = random.integers(0, CLOUDS, n)
    centers = np.zeros((CLOUDS, 5))
    centers[:, :2] = random.uniform(-40, 40, size=(CLOUDS, 2))
    words = np.array(
        ["red", "dry", "sweet", "old", "young", "light", "full", "sour", "rare", "oak"]
    )
    numbers = centers[cloud] + random.normal(size=(n, 5)) * [1, 1, 0.3, 0.2, 0.1]
    table = pd.DataFrame(numbers.astype(np.float32), columns=[f"x{j}" for j in range(5)])
    table.insert(0, "id", [f"object-{i:07d}" for i in range(n)])
    table["kind"] = pd.Categorical.from_codes(cloud % KINDS, [f"kind {k}" for k in range(KINDS)])
    days = np.datetime64("2020-01-01", "s") + random.integers(0, 1000, n) * np.timedelta64(
        86400, "s"
    )
    table["day"] = days
    notes = words[random.integers(0, len(words), size=(n, 3))]
    table["note"] = [f"{a} and {b} or {c} {i % 9973}" for i, (a, b, c) in enumerate(notes)]
    table.to_parquet(path)


def _cpu(server: int) -> float:
    """Seconds of processor time that a server and the processes it started have taken."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if os.getsid(int(process.name)) == server:
                threads = [one / "schedstat" for one in (process / "task").iterdir()]
                total += sum(int(one.read_text("ascii").split()[0]) for one in threads)
    return total / 1e9


@contextmanager
def _studio(root: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A studio in a folder, and its address."""
    command = [sys.executable, "-m", "lowdim", "studio", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--root", str(root)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()


def questions(n: int) -> None:
    """Print the processor time of filters, searches and names of regions on a large map."""
    with tempfile.TemporaryDirectory() as folder:
        _write_table(Path(folder) / "many.parquet", n)
        with _studio(Path(folder)) as (server, address), _page(address) as page:
            base = address.partition("/?")[0]

            def ask(how: str, url: str, **data: Any) -> Any:
                options = {"method": how, "headers": {"origin": base}, "timeout": 600_000}
                options |= {"data": data} if data else {}
                response = page.request.fetch(base + url, **options)
                assert response.ok, response.text()
                kind = response.headers["content-type"]
                return response.json() if "json" in kind else response.body()

            data = ask("POST", "/api/datasets", path="many.parquet")
            path = f"/api/datasets/{data['id']}"
            ask("PATCH", path, roles={"id": "id", "kind": "label"}, label="kind")
            one = ask("POST", "/api/maps", dataset=data["id"], method="PCA")
            while ask("GET", f"/api/maps/{one['id']}")["status"] not in ("done", "failed"):
                time.sleep(0.2)
            ask("PUT", "/api/layout", shown=[one["id"]], active=one["id"], dataset=data["id"])
            page.goto(base)
            page.wait_for_selector(f"canvas[aria-description^='{n:,} of']")
            page.wait_for_selector(".facets li:last-child")
            page.wait_for_function("!document.querySelector('.facets').innerText.includes('Load')")
            print(f"questions: {n:,} objects; milliseconds of processor time (goal: below 100)")
            _time_filters(page)
            _time_searches(
                lambda text: ask("GET", f"{path}/search?query={quote(text)}"), server.pid
            )
            _time_names(page, server.pid)


def _say(what: str, times: list[float]) -> None:
    """Print the median and the largest of some times."""
    print(f"  {what}: {statistics.median(times):.0f} (at most {max(times):.0f})", flush=True)


def _own_time(page: Any, session: Any, act: Callable[[], None]) -> float:
    """Processor time of the page's thread, in ms, for an action and all that follows from it."""

    def taken() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    page.wait_for_timeout(1000)
    before = taken()
    act()
    page.wait_for_timeout(1000)
    return 1000 * (taken() - before)


def _session(page: Any) -> Any:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _time_filters(page: Any) -> None:
    session = _session(page)
    idle = statistics.median(_own_time(page, session, lambda: None) for _ in range(3))
    print(f"  nothing, for 1 s: {idle:.0f}")
    least = page.get_by_label("Least x0", exact=True)
    least.press("ArrowRight")
    steps = [_own_time(page, session, lambda: least.press("ArrowRight")) for _ in range(5)]
    _say("a step of a range filter", steps)
    kinds = page.locator(".kinds button").all()
    clicks = [_own_time(page, session, kind.click) for kind in kinds[:5]]
    _say("a click on a category", clicks)
    histogram, moves = page.get_by_role("img", name="Histogram of x1"), 10

    def brush() -> None:
        histogram.scroll_into_view_if_needed()
        box = histogram.bounding_box()
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 9)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 9, steps=moves)
        page.mouse.up()

    times = []
    for _ in range(3):
        times.append(_own_time(page, session, brush) / moves)
        page.get_by_role("button", name="All of x1").click()
    _say("a move of a brush over a histogram", times)
    clear = page.get_by_role("button", name="Clear filters")
    _say("all filters cleared", [_own_time(page, session, clear.click)])


def _time_searches(search: Callable[[str], Any], server: int) -> None:
    def taken(text: str) -> float:
        before = _cpu(server)
        assert search(text)["total"] > 0
        return 1000 * (_cpu(server) - before)

    _say("the first search", [taken("object-00123")])
    texts = ("object-0004", "sweet and dry", "9973", "kind 7", "x0 > 20", "e", "day > 2021-01-01")
    for text in texts:
        _say(f"a search for {text!r}", [taken(text) for _ in range(3)])


def _time_names(page: Any, server: int) -> None:
    session = _session(page)
    canvas = page.locator(".scatter canvas").last
    turns = 40

    def zoom() -> float:
        return _own_time(page, session, lambda: canvas.evaluate(ZOOM)) / turns

    page.get_by_role("button", name="Names", exact=True).click()
    plain = [zoom() for _ in range(3)]
    before = _cpu(server)
    with page.expect_response("**/regions", timeout=600_000):
        page.get_by_role("button", name="Regions").click()
    print(f"  regions found, once for a map: {1000 * (_cpu(server) - before):,.0f}")
    named = [zoom() for _ in range(3)]
    _say("a step of the zoom without names", plain)
    _say("a step of the zoom with names of regions", named)
