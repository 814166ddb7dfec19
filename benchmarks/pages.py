"""The report and the scatter view in Chromium, for `python -m benchmarks studio`."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
def _page(path: Path) -> Iterator[Any]:
    """A page of Chromium that shows a file."""
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        sys.exit("Chromium is not installed.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(TIMED_FRAMES)
        page.goto(path.as_uri(), timeout=300_000)
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
        with _page(path) as page:
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
    with _page(path) as page:
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
