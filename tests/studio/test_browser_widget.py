"""The script of the notebook widget in a browser, with a model that stands for the kernel."""

from __future__ import annotations

import base64
from importlib.resources import files

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from studio.client import until
from studio.page import NOTE_TEXTS, box_of, drag, picture, picture_at_rest, written

N = 120
WEB = files("lowdim").joinpath("web")

# A model as anywidget gives it to a script: traits, listeners, binary data as DataView.
MODEL = """async ({ script, maps, codes, kinds, values }) => {
  const view = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const traits = {
    _maps: maps.map((one) => ({ ...one, points: view(one.points) })),
    _colors: [
      { name: "side", kinds, codes: view(codes) },
      { name: "height", values: view(values) },
    ],
    _ids: [], selection: [], height: 300,
    _regions: [], _doubts: [], _has_data: true, filters: {}, slider: false,
  };
  const listeners = {};
  window.model = {
    saved: 0,
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    save_changes() { this.saved++; },
    sent: [],
    send(content) { this.sent.push(content); },
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
        "values": packed(Y[:, 1], "<f4"),
    }
    page.evaluate(f"() => {NOTE_TEXTS}")
    page.evaluate(MODEL, given)
    return page


def test_a_selection_in_one_map_is_told_to_the_kernel_and_shown_in_the_other(notebook, Y):
    box = box_of(notebook.locator(".scatter").first)
    right, middle = box["width"] - 3, box["height"] / 2
    notebook.get_by_role("button", name="Select").click()
    drag(notebook, 0, (3, 3), (right, 3), (right, middle), (3, middle), steps=4)
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
    assert notebook.evaluate("model.listening()") == 9
    notebook.evaluate("leave()")
    assert notebook.evaluate("model.listening()") == 0


def test_filters_are_those_of_the_kernel_and_of_the_page(notebook, Y):
    canvas = notebook.locator(".scatter").nth(1).locator("canvas").last
    notebook.get_by_role("button", name="Filters").click()
    notebook.get_by_role("group", name="side").get_by_role("button", name="right").click()
    right = Y[:, 0] > 0
    assert notebook.evaluate("model.get('filters')") == {"side": ["right"]}
    expect(canvas).to_have_attribute("aria-description", f"{right.sum()} of {N} points shown")
    notebook.evaluate("model.set('filters', { height: [0, 9] }); model.tell('change:filters')")
    above = (Y[:, 1] > 0).sum()
    expect(canvas).to_have_attribute("aria-description", f"{above} of {N} points shown")
    slider = notebook.get_by_label("Least height")
    slider.fill("23")
    low, high = notebook.evaluate("model.get('filters').height")
    passing = ((Y[:, 1].astype("<f4") >= low) & (Y[:, 1].astype("<f4") <= high)).sum()
    assert 0 < passing < above
    expect(canvas).to_have_attribute("aria-description", f"{passing} of {N} points shown")


def test_objects_are_found_by_their_ids_and_categories(notebook, Y):
    canvas = notebook.locator(".scatter").nth(1).locator("canvas").last
    field = notebook.get_by_label("Find objects")
    field.fill("Right")
    field.press("Enter")
    right = np.flatnonzero(Y[:, 0] > 0)
    expect(canvas).to_have_attribute("aria-description", f"{len(right)} of {N} points shown")
    assert notebook.evaluate("model.get('selection')") == right.tolist()
    field.fill("row 11")
    field.press("Enter")
    expect(canvas).to_have_attribute("aria-description", f"11 of {N} points shown")
    assert notebook.evaluate("model.get('selection')") == [11, *range(110, 120)]
    field.fill("")
    field.press("Enter")
    expect(canvas).to_have_attribute("aria-description", f"{N} of {N} points shown")


def test_regions_are_asked_for_and_named_on_the_map(notebook):
    notebook.get_by_role("button", name="Regions").click()
    assert notebook.evaluate("model.sent") == ["regions"]
    region = {"text": "the whole", "parent": -1, "size": N, "point": [0, 0], "radius": 1}
    notebook.evaluate(
        "(all) => { model.set('_regions', all); model.tell('change:_regions'); }", [[region], []]
    )
    until(lambda: written(notebook) == {"the whole"}, "the name is written")
    assert written(notebook, 1) == set()


def test_doubtful_objects_fade_when_the_kernel_has_measured_them(notebook):
    before = picture_at_rest(notebook)
    notebook.get_by_role("button", name="Trust").click()
    assert notebook.evaluate("model.sent") == ["reliability"]
    assert picture_at_rest(notebook) == before
    notebook.evaluate(
        """([doubts, none]) => {
        model.set("_doubts", [view(doubts), view(none)]);
        model.tell("change:_doubts");
      }""",
        [packed(np.linspace(0, 1, N), "<f4"), packed(np.zeros(N), "<f4")],
    )
    until(lambda: picture_at_rest(notebook) != before, "some points are faint")
    notebook.get_by_role("button", name="Trust").click()
    until(lambda: picture_at_rest(notebook) == before, "all points have their colours")


def test_a_slider_turns_one_map_into_the_next(notebook):
    notebook.evaluate("model.set('slider', true); model.tell('change:slider')")
    expect(notebook.locator("figcaption")).to_have_text(["one"])
    before = picture_at_rest(notebook)
    notebook.get_by_label("Map", exact=True).fill("1")
    expect(notebook.locator("figcaption")).to_have_text(["two"])
    until(lambda: picture_at_rest(notebook) != before, "the points have moved")
