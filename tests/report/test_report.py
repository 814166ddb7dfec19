"""The report: one file that holds the maps as they are, and no string of a user as markup."""

from __future__ import annotations

import base64
import io
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import lowdim
from lowdim import quality
from lowdim.report import Run, write
from lowdim.report.payload import NOWHERE, UNKNOWN, picture_sheet, png, quantize
from studio.client import until

rng = np.random.default_rng(0)
N = 80
EVIL = (
    "</script><script>document.body.append(document.createElement('marquee'))</script>"
    '<!--<img src=x onerror="x">\'&\u202e\x00\ud800$title'
)
SHOWN = EVIL.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")


class Page(HTMLParser):
    """The elements of a page, and the text that is not in them as script or style."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.inside, self.script = [], [], [], {}
        self.text = ""
        self.feed(source)

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes
        self.inside.append((name, dict(attributes)))

    def handle_data(self, data):
        name, attributes = self.inside[-1] if self.inside else ("", {})
        if name in ("script", "style"):
            key = attributes.get("id", name)
            self.script[key] = self.script.get(key, "") + data
        else:
            self.text += data

    def handle_endtag(self, name):
        while self.inside and self.inside.pop()[0] != name:
            pass

    @property
    def data(self):
        return json.loads(self.script["data"])


def page(tmp_path, runs, **options):
    path = write(tmp_path / "report.html", runs, **options)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    return Page(path.read_text(encoding="utf-8"))


def decode(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


DATA = rng.normal(size=(N, 6)) + 4 * (np.arange(N) % 2)[:, None]
LABELS = np.where(np.arange(N) % 2, "high", "low")


def assessed(**changes):
    """An assessment of a map of two of the columns, with some of its values changed."""
    made = quality.assess(DATA, DATA[:, :2], labels=LABELS, n_rows=50, random_state=0)
    return replace(made, **changes)


def run(name="a", columns=2, **more):
    return Run(name, "PCA", {"n_components": columns}, rng.normal(size=(N, columns)), 1.5, **more)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_page_holds_the_map_to_a_65534th_of_its_size(tmp_path, columns):
    given = run(columns=columns)
    Y = given.embedding
    Y[7] = np.nan
    (stored,) = page(tmp_path, [given]).data["maps"]
    q = decode(stored["points"], "<u2").reshape(N, stored["dims"])
    assert np.all(q[7] == NOWHERE)
    restored = np.array(stored["low"]) + stored["step"] * np.delete(q, 7, axis=0)
    Y = np.delete(Y, 7, axis=0)
    assert abs(restored - Y).max() <= 0.5001 * np.ptp(Y, axis=0).max() / (NOWHERE - 1)


def test_quantize_extremes():
    assert quantize(np.full((3, 2), np.nan))["dims"] == 2
    same = quantize(np.full((3, 2), 5.0))
    assert same["low"] == [5.0, 5.0]
    assert np.all(decode(same["points"], "<u2") == 0)


def test_maps_are_turned_alike_and_of_many_dimensions_two_are_shown(tmp_path):
    first = run("a", 5)
    second = Run("b", "PCA", {}, -first.embedding[:, :2])
    found = page(tmp_path, [first, second])
    a, b = found.data["maps"]
    assert a["dims"] == 2
    assert a["points"] == b["points"]
    assert "dimensions 1 and 2 of 5" in found.text


def test_kinds_and_values_are_told_apart(tmp_path):
    values = np.linspace(-3, 7, N)
    values[4] = np.nan
    kinds = np.array(["b", "a", None, "a"] * (N // 4), dtype=object)
    labels = {"kind": kinds, "value": values, "code": np.arange(N) % 20}
    kind, value, code = page(tmp_path, [run()], labels=labels).data["colors"]
    assert kind["kinds"] == ["(missing)", "a", "b"]
    names = np.array(kind["kinds"])[decode(kind["codes"], "<u2")]
    np.testing.assert_array_equal(names, ["b", "a", "(missing)", "a"] * (N // 4))
    q = decode(value["values"], "<u2")
    assert q[4] == NOWHERE
    restored = value["low"] + (value["high"] - value["low"]) * q / (NOWHERE - 1)
    np.testing.assert_allclose(np.delete(restored, 4), np.delete(values, 4), atol=1e-4)
    assert len(code["kinds"]) == 20
    assert len(set(code["shades"])) == 20
    assert code["kinds"][2] == "2"  # in the order of the numbers


def test_dates_are_a_scale_of_days(tmp_path):
    dates = np.datetime64("2024-02-29") + np.arange(N) % 5
    dates[1] = "NaT"
    hours = dates.astype("datetime64[ms]") + np.timedelta64(3, "h")
    labels = {"day": dates, "hour": hours}
    day, hour = page(tmp_path, [run()], labels=labels).data["colors"]
    assert (day["low"], day["high"], day["dates"]) == (19782.0, 19786.0, "days")
    assert (hour["low"], hour["dates"]) == (19782.125, "moments")
    fourth = (NOWHERE - 1) / 4
    expected = np.rint(np.arange(N) % 5 * fourth)
    expected[1] = NOWHERE
    np.testing.assert_array_equal(decode(day["values"], "<u2"), expected)


def test_errors_are_stored_to_a_254th_at_their_objects(tmp_path):
    Y = DATA[:, :2].copy()
    Y[[5, 70]] = np.nan  # objects that the map does not place
    found = quality.assess(DATA, Y, n_rows=30, random_state=0)
    (stored,) = page(tmp_path, [Run("a", "PCA", {}, Y, assessment=found)]).data["maps"]
    rows = np.delete(np.arange(N), [5, 70])[found.errors.rows]
    for name, expected in (("torn", found.errors.torn), ("false", found.errors.false)):
        values = decode(stored[name], np.uint8)
        assert np.flatnonzero(values != UNKNOWN).tolist() == rows.tolist()
        np.testing.assert_allclose(values[rows] / 254, expected, atol=0.5 / 254)


@pytest.mark.parametrize("shape", [(6, 9), (6, 9, 3)])
def test_pictures_of_the_objects_come_back(tmp_path, shape):
    images = rng.integers(0, 256, size=(N, *shape), dtype=np.uint8)
    stored = page(tmp_path, [run()], images=images).data["images"]
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(stored["sheet"]))))
    for i in (0, 17, N - 1):
        x, y = i % stored["columns"] * 9, i // stored["columns"] * 6
        np.testing.assert_array_equal(sheet[y : y + 6, x : x + 9], images[i])


def test_png_is_read_by_others():
    pixels = rng.integers(0, 256, size=(5, 7), dtype=np.uint8)
    np.testing.assert_array_equal(Image.open(io.BytesIO(png(pixels))), pixels)


def test_too_many_pictures_are_made_coarser_and_then_left_out():
    coarse = picture_sheet(np.zeros((4000, 64, 64), dtype=np.uint8), 4000)
    assert (coarse["width"], coarse["height"]) == (32, 32)
    assert picture_sheet(np.zeros((200_000, 10, 10), dtype=np.uint8), 200_000) is None


def hostile_runs():
    found = assessed(verdict=EVIL, warnings=(EVIL,))
    return [Run(EVIL, EVIL, {EVIL: EVIL}, rng.normal(size=(N, 2)), 1.0, found), run("b")]


def hostile(tmp_path, runs):
    names = {"title": EVIL, "notes": [EVIL], "commands": [EVIL], "ids": [EVIL] * N}
    return page(tmp_path, runs, labels={EVIL: np.array([EVIL, "b"] * (N // 2))}, **names)


def test_no_string_of_the_user_becomes_markup(tmp_path):
    found = hostile(tmp_path, hostile_runs())
    tame = page(tmp_path, [run("a"), run("b")], labels=np.array(["a", "b"] * (N // 2)))
    assert found.tags.count("script") == tame.tags.count("script") == 2
    assert "img" not in found.tags
    assert not any(name.startswith("on") for name, _ in found.attributes)
    assert found.data["ids"] == [SHOWN] * N
    assert found.data["colors"][0]["kinds"] == [SHOWN, "b"]
    assert found.text.count(SHOWN) >= 12
    assert "\x00" not in found.text


def test_the_page_asks_for_nothing_from_outside(tmp_path):
    options = {"labels": np.arange(N) % 3, "images": rng.uniform(size=(N, 4, 4))}
    path = write(tmp_path / "report.html", [run(assessment=assessed())], **options)
    source = path.read_text(encoding="utf-8")
    source = source.replace("http://www.w3.org/2000/svg", "")  # the name of a format
    assert not re.search(r"https?://|@import|\bfetch\(|XMLHttpRequest|<link|\bsrc=|\bhref=", source)
    assert "default-src 'none'" in source


def test_everything_that_is_known_is_on_the_page(tmp_path):
    estimate = quality.IntervalEstimate
    first = assessed(neighborhood_preservation=estimate(0.9, 0.05), verdict="A fair map.")
    better = replace(first, neighborhood_preservation=estimate(0.92, 0.05))
    runs = [run("first", assessment=first), run("second", assessment=better)]
    found = page(tmp_path, runs, title="Title", notes=["A note."], commands=["lowdim compare x"])
    for part in (
        "Title",
        "A note.",
        "80 objects, 2 maps",
        "Best for close neighbours: second (neighbourhood preservation 0.920); no clear "
        "difference from it: first",
        f"Intrinsic dimension of the data: {first.dimension}",
        "A fair map.",
        "★\u00a00.920",
        "≈\u00a00.900",
        "± 0.050",
        first.warnings[0],
        "All maps",
        "lowdim compare x",
        "n_components = 2",
        "numpy",
    ):
        assert part in found.text, part
    assert sum(name == "points" for name, _ in found.attributes) == 4  # a curve in two charts each
    labels = [value for name, value in found.attributes if name == "aria-label"]
    assert any(label.startswith("Map of 80 objects, first, by PCA") for label in labels)
    assert sum(label.startswith("Shepard diagram") for label in labels) == 2


def test_the_page_says_what_the_assessment_says(tmp_path):
    report = assessed()
    path = write(tmp_path / "report.html", [run(assessment=report)], labels=LABELS)
    shown = unescape(path.read_text(encoding="utf-8"))
    assert report.warnings
    for part in (report.verdict, *report.warnings, f"{float(report.rnx_auc):.3f}"):
        assert part in shown
    for measure in quality.MEASURES:
        known = measure.compared and measure.name in report.measures
        assert (f">{measure.label}<" in shown) == known


def test_data_without_structure_are_named_first_and_no_map_is_praised(tmp_path):
    empty = quality.Structure("none", (), N)
    made = assessed(structure=empty, verdict="There is nothing to see.")
    other = replace(made, neighborhood_preservation=quality.IntervalEstimate(0.9))
    found = page(tmp_path, [run("a", assessment=made), run("b", assessment=other)])
    assert found.text.count("There is nothing to see.") == 1
    assert "Best for" not in found.text
    assert "★" in found.text


def test_a_bare_map_makes_a_page(tmp_path):
    found = page(tmp_path, [Run("only", "Isomap", {"n_neighbors": 7}, np.arange(5.0))])
    assert found.data["maps"][0]["dims"] == 1
    assert found.data["colors"] == []
    assert "lowdim.Isomap(n_neighbors=7).fit_transform(X)" in found.text
    assert "How true each map is" not in found.text
    assert "believed" not in found.text


def test_an_existing_report_is_replaced_only_by_a_whole_one(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="ids"):
        write(path, [run()], ids=["too", "few"])
    assert path.read_text() == "before"
    write(path, [run()])
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(FileNotFoundError, match=r"The folder .* does not exist"):
        write(tmp_path / "none" / "report.html", [run()])


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ([], {}, "runs is empty"),
        ([run("a"), run("a")], {}, "runs must have different names"),
        ([run("a"), Run("b", "PCA", {}, np.zeros((3, 2)))], {}, "same objects, got 80 in 'a', 3"),
        ([Run("a", "PCA", {}, np.zeros((3, 2, 2)))], {}, "embedding of 'a' must have one row"),
        ([run()], {"labels": [1, 2]}, r"labels 'label' has shape \(2,\)"),
        ([run()], {"ids": ["a"]}, "ids has 1 entries"),
        ([run()], {"images": np.zeros((N, 4))}, r"images must have shape \(80, height"),
    ],
)
def test_bad_input_is_named(tmp_path, runs, options, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "report.html", runs, **options)
    assert list(tmp_path.iterdir()) == []


def browse(context, path):
    """The page in a browser, and what it complains of."""
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(path.as_uri())
    return tab, complaints


def test_a_browser_runs_the_page(tmp_path, context):
    hostile(tmp_path, hostile_runs())
    tab, complaints = browse(context, tmp_path / "report.html")
    dom = Page(tab.content())
    states = [value for name, value in dom.attributes if name == "aria-pressed"]
    # Move, select, names, regions, trust, filters, one map; two maps to enlarge; two kinds, twice.
    assert len(states) == 13
    assert dom.tags.count("option") == 5  # the label, torn and false neighbours and both, nothing
    assert "img" not in dom.tags
    assert "marquee" not in dom.tags
    assert dom.text.count(SHOWN) >= 13  # the legend has it too
    assert complaints == []


def test_regions_filters_and_one_map_at_a_time(tmp_path, context):
    Y = rng.normal(size=(N, 2))
    kind = np.where(Y[:, 0] > 0, "east", "west")
    write(tmp_path / "report.html", {"one": Y, "two": -Y}, labels={"side": kind, "north": Y[:, 1]})
    tab, complaints = browse(context, tmp_path / "report.html")
    canvas = tab.locator(".scatter canvas:last-of-type").first
    tab.get_by_role("button", name="Regions").click()
    tab.get_by_role("button", name="Filters").click()
    tab.get_by_role("group", name="side").get_by_role("button", name="east").click()
    east = np.count_nonzero(kind == "east")
    expect(canvas).to_have_attribute("aria-description", f"{east} of {N} points shown")
    expect(tab.get_by_role("group", name="side").locator("small").first).not_to_have_text("0")
    tab.get_by_role("button", name="One map").click()
    expect(tab.locator("figure.map:visible")).to_have_count(1)
    tab.get_by_label("Map", exact=True).fill("1")
    expect(tab.locator("figure.map h3").first).to_have_text("two")
    tab.get_by_role("button", name="One map").click()
    expect(tab.locator("figure.map h3").first).to_have_text("one")
    expect(tab.locator("figure.map:visible")).to_have_count(2)
    assert complaints == []


def test_regions_reasons_and_doubtful_places_are_told(tmp_path, context):
    group = np.repeat(["ant", "bee"], N // 2)
    X = rng.normal(size=(N, 4)) + 6 * np.outer(group == "bee", [1, 0, 0, 0])
    Y = X[:, :2].copy()
    Y[3] = Y[group == "bee"].mean(axis=0)  # it belongs to the other group
    Y[7] = np.nan
    names = ["height", "width", "depth", "<age>"]
    maps = {"true": Y, "turned": Y @ [[0, -1], [1, 0]]}
    known = {"X": X, "feature_names": names, "labels": group}
    dom = page(tmp_path, maps, **known)
    for part in ("What are the regions?", "What do the maps follow?", "height (+", "<age>"):
        assert part in dom.text
    stored = dom.data["maps"]
    for one in stored:
        assert np.argmax(np.where((d := decode(one["doubts"], "u1")) == UNKNOWN, 0, d)) == 3
        assert decode(one["doubts"], "u1")[7] == UNKNOWN
        # Names stand where the map is drawn, although it was turned to agree with the first one.
        q = decode(one["points"], "<u2").reshape(N, 2)
        drawn = one["low"] + one["step"] * q.astype(float)
        for region in one["regions"][1:]:
            own = group == region["text"].split()[0]
            assert np.linalg.norm(np.median(drawn[own], axis=0) - region["point"]) < 1
    tab, complaints = browse(context, tmp_path / "report.html")
    canvas = tab.locator(".scatter canvas").first
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    tab.get_by_role("button", name="Trust").click()
    expect(tab.get_by_text("objects whose place is doubtful")).to_be_visible()
    until(lambda: canvas.evaluate("canvas => canvas.toDataURL()") != before, "one point is faint")
    assert complaints == []
    assert page(tmp_path, maps, labels=group).data["maps"][0].keys() >= {"regions"}


def test_a_selection_is_described_and_maps_fill_the_view(tmp_path, context):
    Y = rng.normal(size=(N, 2))
    left = Y[:, 0] < np.median(Y[:, 0])
    side = np.where(left, "left", "right")
    features = {"twice": 2 * Y[:, 0], "noise": rng.normal(size=N)}
    path = write(
        tmp_path / "r.html",
        dict.fromkeys("abcd", Y),
        labels={"side": side},
        features=features,
        ids=[f"o{i}" for i in range(N)],
    )
    tab, complaints = browse(context, path)
    boxes = [figure.bounding_box() for figure in tab.locator("figure.map").all()]
    assert len({round(box["y"]) for box in boxes}) == 2  # four maps as two by two
    options = tab.locator("#color option").all_text_contents()
    assert options == ["side", "twice", "noise", "nothing"]

    tab.locator("#find").fill("left")
    assert tab.locator("#count").inner_text().startswith(f"{left.sum()} of {N} selected.")
    assert len(tab.locator("#chosen").input_value().split("\n")) == left.sum()
    difference = tab.locator("#difference").text_content()
    assert "side: left100 %0 %" in difference
    assert "twice" in difference
    assert "noise" not in difference
    highlighted = f"{left.sum()} of {N} points shown"
    canvas = tab.locator("figure.map canvas[role=application]").nth(2)
    assert canvas.get_attribute("aria-description") == highlighted

    tab.locator("#clear").click()
    box = tab.locator(".plot").first.bounding_box()
    x, y = (Y - Y.min(axis=0)).T / np.ptp(Y, axis=0).max()
    unit = min(0.92 * box["width"] / x.max(), 0.92 * box["height"] / y.max())
    here = box["x"] + box["width"] / 2 + unit * (x - x.max() / 2)
    there = box["y"] + box["height"] / 2 - unit * (y - y.max() / 2)
    tab.mouse.move(here[7], there[7])
    tip = tab.locator("#tip").text_content()
    assert tip.startswith("o7")
    assert f"side: {side[7]}" in tip

    button = tab.locator(".enlarge").nth(1)
    button.click()
    large = tab.locator("figure.map").nth(1).bounding_box()
    assert (large["width"], large["height"]) == tuple(tab.viewport_size.values())
    assert button.inner_text() == "Close"
    tab.keyboard.press("Escape")
    assert button.inner_text() == "Enlarge"
    assert complaints == []


def test_estimators_and_arrays_make_a_report(tmp_path):
    X = rng.normal(size=(60, 4))
    pca, isomap = lowdim.PCA(n_components=2).fit(X), lowdim.Isomap(n_neighbors=9).fit(X)
    made = page(tmp_path, [pca, isomap, lowdim.PCA(n_components=1).fit(X)], X=X)
    assert [one["name"] for one in made.data["maps"]] == ["PCA", "Isomap", "PCA 2"]
    assert "lowdim.Isomap(n_neighbors=9).fit_transform(X)" in made.text
    assert "trustworthiness" in made.text
    made = page(tmp_path, {"by hand": X[:, :2], "PCA": pca})
    assert [one["name"] for one in made.data["maps"]] == ["by hand", "PCA"]
    assert "trustworthiness" not in made.text
