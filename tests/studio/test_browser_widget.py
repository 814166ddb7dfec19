"""The script of the notebook widget in a browser, with a model that stands for the kernel."""

from __future__ import annotations

import base64
from importlib.resources import files

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from studio.client import until
from studio.page import picture, picture_at_rest

N = 120
WEB = files("lowdim").joinpath("web")

# A model as anywidget gives it to a script: traits, listeners, binary data as DataView.
MODEL = """async ({ script, maps, codes, kinds }) => {
  const view = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const traits = {
    _maps: maps.map((one) => ({ ...one, points: view(one.points) })),
    _colors: [{ name: "side", kinds, codes: view(codes) }],
    _ids: [], selection: [], height: 300,
  };
  const listeners = {};
  window.model = {
    saved: 0,
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    save_changes() { this.saved++; },
    on: (name, act) => { (listeners[name] ??= new Set()).add(act); },
    off: (name, act) => listeners[name]?.delete(act),
    tell: (name, ...given) => listeners[name]?.forEach((act) => act(...given)),
    listening: () => Object.values(listeners).reduce((sum, one) => sum + one.size, 0),
  };
  window.view = view;
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  window.leave = await widget.render({ model: window.model, el: document.body });
}"""


def packed(values: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(dtype).tobytes()).decode()


@pytest.fixture
def Y() -> np.ndarray:
    places = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
    return places + 0.1 * np.sign(places)  # none is close to a line through the middle


@pytest.fixture
def notebook(context: BrowserContext, Y: np.ndarray) -> Page:
    page = context.new_page()
    names = ("scatter.js", "widget.js")
    script = "\n".join(WEB.joinpath(name).read_text(encoding="utf-8") for name in names)
    given = {
        "script": script,
        "maps": [
            {"name": "one", "dim": 2, "points": packed(Y, "<f4")},
            {"name": "two", "dim": 2, "points": packed(-Y, "<f4")},
        ],
        "codes": packed(Y[:, 0] > 0, "<u2"),
        "kinds": ["left", "right"],
    }
    page.evaluate(MODEL, given)
    return page


def test_a_selection_in_one_map_is_told_to_the_kernel_and_shown_in_the_other(notebook, Y):
    box = notebook.locator(".scatter").first.bounding_box()
    assert box is not None
    left, top, width, height = box["x"], box["y"], box["width"], box["height"]
    notebook.get_by_role("button", name="Select").click()
    notebook.mouse.move(left + 3, top + 3)
    notebook.mouse.down()
    for x, y in [(left + width - 3, top + 3), (left + width - 3, top + height / 2)]:
        notebook.mouse.move(x, y, steps=4)
    notebook.mouse.move(left + 3, top + height / 2, steps=4)
    notebook.mouse.up()
    up = Y[:, 1].astype("<f4")
    expected = np.flatnonzero(up > (up.min() + up.max()) / 2)
    until(lambda: notebook.evaluate("model.saved") == 1, "the kernel is told once")
    assert notebook.evaluate("model.get('selection')") == expected.tolist()
    other = notebook.locator(".scatter").nth(1).locator("canvas").last
    text = f"{len(expected)} of {N} points shown"
    expect(other).to_have_attribute("aria-description", text)
    assert notebook.evaluate("model.saved") == 1
    notebook.evaluate("model.set('selection', [1, 2]); model.tell('change:selection')")
    expect(other).to_have_attribute("aria-description", f"2 of {N} points shown")


def test_frames_of_a_fit_move_the_points_until_the_widget_is_left(notebook, Y):
    expect(notebook.locator("figcaption")).to_have_text(["one", "two"])
    expect(notebook.locator(".key span")).to_have_text(["left", "right"])
    before = picture_at_rest(notebook)
    notebook.evaluate(
        """(points) => model.tell("msg:custom",
        { type: "frame", map: 0, dim: 2, iteration: 50, loss: 1.25 }, [view(points)])""",
        packed(Y**3, "<f4"),
    )
    expect(notebook.locator("figcaption").first).to_have_text("one: iteration 50, loss 1.250")
    until(lambda: picture(notebook) != before, "the points move")
    assert notebook.evaluate("model.listening()") == 5
    notebook.evaluate("leave()")
    assert notebook.evaluate("model.listening()") == 0
