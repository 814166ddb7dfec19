"""The page of the studio as a person uses it: a tab of a browser, its maps and the pointer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from studio.client import DEADLINE, Client, Server, until

PATIENCE = 1000 * DEADLINE  # milliseconds
expect.set_options(timeout=PATIENCE)

# Notices go by themselves after some seconds, which is too early for a test on a slow machine.
NOTICES_STAY = """{
  const start = window.setTimeout;
  const longest = 2 ** 31 - 1;
  window.setTimeout = (act, wait, ...given) => start(act, wait >= 5000 ? longest : wait, ...given);
}"""

# Fits at 10 iterations per second: t-SNE then takes longer than a test watches it.
SLOW_FITS = """{
  const send = window.fetch;
  const slowed = (body) => JSON.stringify({ ...JSON.parse(body), pace: 10 });
  window.fetch = (path, init) =>
    send(path, path === "/api/maps" ? { ...init, body: slowed(init.body) } : init);
}"""

# The picture of a canvas when its points rest: they move for 90 ms, and are drawn by frames.
AT_REST = """canvas => new Promise((done) => setTimeout(
  () => requestAnimationFrame(() => requestAnimationFrame(() => done(canvas.toDataURL()))), 100))"""

# Notes, for each canvas, the texts that it shows: those written since it was last cleared.
NOTE_TEXTS = """{
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  Object.assign(CanvasRenderingContext2D.prototype, {
    clearRect(...box) {
      this.canvas.texts = [];
      return clearRect.apply(this, box);
    },
    fillText(text, ...place) {
      this.canvas.texts?.push(text);
      return fillText.call(this, text, ...place);
    },
  });
}"""

# The texts on a canvas when all that was asked for is drawn.
TEXTS = """canvas => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => done(canvas.texts ?? []))))"""

# Whether the first two maps show the same points, but for some edges of points.
SAME = """() => {
  const [first, second] = [...document.querySelectorAll(".scatter")].map((host) => {
    const canvas = host.querySelector("canvas");
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    return new Uint32Array(data.buffer);
  });
  let [drawn, different] = [0, 0];
  first.forEach((pixel, at) => {
    drawn += pixel !== 0;
    different += pixel !== second[at];
  });
  return drawn > 0 && first.length === second.length && different < 0.1 * drawn;
}"""

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = "async () => (await axe.run()).violations.map((one) => [one.id, one.nodes[0].html])"


def violations(page: Page) -> list[list[str]]:
    """What axe finds on a page that may load any script: rules, and an element of each."""
    if not page.evaluate("() => 'axe' in window"):
        page.add_script_tag(path=AXE)
    return list(page.evaluate(VIOLATIONS))


class Tab:
    """A page that records what it must not do: errors, and requests to other machines."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.add_init_script(NOTICES_STAY)
        page.add_init_script(NOTE_TEXTS)
        page.on("console", lambda message: message.type == "error" and self._note(message.text))
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", lambda request: self._check(request.url))

    def _note(self, text: str) -> None:
        self.errors.append(text)

    def _check(self, url: str) -> None:
        if not url.startswith((self.server.base, "data:", "blob:")):
            self._note(f"left the machine: {url}")

    def open(self, query: str = "") -> Page:
        self.page.goto(self.server.address)
        if query:
            self.page.goto(f"{self.server.base}/?{query}")
        return self.page

    def slow_down(self) -> None:
        """Make the fits that the page starts so slow that they do not end during the test."""
        self.page.add_init_script(SLOW_FITS)


def points(page: Page, place: int = 0) -> Locator:
    """The canvas that the points of a map are drawn on."""
    return page.locator(".scatter").nth(place).locator("canvas").first


def picture(page: Page, place: int = 0) -> str:
    """What a map shows now."""
    return str(points(page, place).evaluate("canvas => canvas.toDataURL()"))


def picture_at_rest(page: Page, place: int = 0) -> str:
    """What a map shows when the points have moved to the places that the page knows."""
    return str(points(page, place).evaluate(AT_REST))


def written(page: Page, place: int = 0) -> set[str]:
    """The names that a map shows now."""
    return set(page.locator(".scatter").nth(place).locator("canvas").last.evaluate(TEXTS))


def pictures(page: Page, wanted: int) -> set[str]:
    """Different pictures of the first map."""
    found: set[str] = set()
    until(lambda: found.add(picture(page)) or len(found) >= wanted, f"{wanted} pictures")
    return found


def same(page: Page) -> bool:
    """Whether the first two maps show the same points, but for some edges of points."""
    return bool(page.evaluate(SAME))


def shown(page: Page, place: int) -> int:
    """How many points of a map are not dimmed; -1 before it has coordinates."""
    canvas = page.locator(".scatter").nth(place).locator("canvas").last
    text = canvas.get_attribute("aria-description") or ""
    return int(re.sub(r" of.*|,", "", text) or -1)


def until_drawn(page: Page, n: int = 300, maps: int = 2) -> None:
    """Wait until all points of all maps are there, in the colours of their labels."""
    for place in range(maps):
        until(lambda place=place: shown(page, place) == n, "all points are there")
    expect(page.locator(".legend li")).not_to_have_count(0)


def box_of(element: Locator) -> Any:
    """Where an element is on the page, in pixels: x, y, width and height."""
    box = element.bounding_box()
    assert box is not None
    return box


def drag(page: Page, place: int, *spots: tuple[float, float], steps: int) -> None:
    """Press the mouse at the first spot on a map, in pixels, and release it at the last."""
    box = box_of(page.locator(".scatter").nth(place))
    (x, y), *others = [(box["x"] + x, box["y"] + y) for x, y in spots]
    page.mouse.move(x, y)
    page.mouse.down()
    for spot in others:
        page.mouse.move(*spot, steps=steps)
    page.mouse.up()


def lasso(page: Page, place: int, corners: list[tuple[float, float]]) -> None:
    """Draw around points; the corners are shares of the canvas."""
    box = box_of(page.locator(".scatter").nth(place))
    spots = [(x * box["width"], y * box["height"]) for x, y in corners]
    page.keyboard.down("Shift")
    drag(page, place, *spots, spots[0], steps=3)
    page.keyboard.up("Shift")


# So many digits that the line through the middle of their map by PCA is 1 % of the height, some
# pixels, from the nearest point: which points are above it does not depend on the size of the map.
HALVED = 229


def two_maps(own: Server, n: int = 300) -> tuple[Client, Any, list[Any]]:
    """Digits and two quick maps of them, made by the server before the page is opened."""
    client = own.client()
    data = client.toy("digits", n=n)
    maps = [client.fit(data, "PCA"), client.fit(data, "Isomap")]
    layout = {"shown": [one["id"] for one in maps], "dataset": data["id"]}
    client.ask("PUT", "/api/layout", json=layout)
    return client, data, maps
