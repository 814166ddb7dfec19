"""The page of the studio in a browser: what a person does, and what they see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from studio.client import Server, until
from studio.page import (
    AXE,
    HALVED,
    Tab,
    box_of,
    drag,
    lasso,
    picture,
    picture_at_rest,
    pictures,
    points,
    same,
    shown,
    two_maps,
    until_drawn,
    violations,
)

# How many pixels of a canvas are not transparent.
DRAWN = """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
  .filter((value, k) => k % 4 === 3 && value > 0).length"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A studio without data."""
    server = Server(tmp_path)
    yield server
    server.stop()


def test_two_clicks_lead_to_a_moving_picture_that_can_be_paused_and_tuned(tab: Tab, own: Server):
    tab.slow_down()
    page = tab.open()
    page.get_by_role("button", name="Handwritten digits").click()
    page.locator(".run.large button").click()
    assert len(pictures(page, 10)) >= 10

    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".status")).to_have_text("paused")
    client = own.client()
    (one,) = client.ask("GET", "/api/state")["maps"]
    # The last frame may come after the news of the pause.
    until(lambda: picture_at_rest(page) == picture_at_rest(page), "the points rest")
    before = one["iteration"]
    page.get_by_role("button", name="Single step").click()
    client.until(one, lambda now: now["iteration"] == before + 1)

    page.get_by_label("perplexity, number").fill("12")
    page.keyboard.press("Tab")
    client.until(one, lambda now: now["parameters"].get("perplexity") == 12)
    page.get_by_role("button", name="Continue").click()
    client.until(one, lambda now: now["iteration"] > before + 20 and now["status"] == "running")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".status")).to_have_text("stopped")

    still = picture_at_rest(page)
    page.get_by_label("Rewind t-SNE").fill("0")
    expect(page.locator(".progress")).to_have_text(re.compile("^iteration "))
    until(lambda: picture(page) != still, "the first snapshot is shown")


def test_a_lasso_in_one_map_highlights_the_same_objects_in_the_other(tab: Tab, own: Server):
    client, _, maps = two_maps(own, HALVED)
    page = tab.open()
    expect(page.locator(".map")).to_have_count(2)
    until_drawn(page, HALVED)
    lasso(page, 0, [(0, 0), (1, 0), (1, 0.5), (0, 0.5)])
    up = client.coordinates(maps[0])[:, 1]
    expected = int(np.count_nonzero(up > (up.min() + up.max()) / 2))
    expect(page.get_by_role("heading", name=f"{expected} objects selected")).to_be_visible()
    until(lambda: shown(page, 0) == shown(page, 1) == expected, "both maps highlight them")
    expect(page.get_by_text("What distinguishes them")).to_be_visible()

    page.get_by_role("button", name="Take away").click()
    row = page.locator(".offers li").filter(has_text="Selection")
    with page.expect_download() as waiting:
        row.get_by_role("button", name="CSV").click()
    assert len(Path(waiting.value.path()).read_text().splitlines()) == expected + 1
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Clear").click()
    until(lambda: shown(page, 0) == shown(page, 1) == HALVED, "nothing is selected")


def test_colours_switch_and_pictures_and_tables_are_exported(tab: Tab, own: Server):
    two_maps(own)
    page = tab.open()
    expect(page.locator(".map")).to_have_count(2)
    until_drawn(page)
    expect(page.locator(".legend li")).to_have_count(10)

    def take(offer: str, kind: str) -> bytes:
        page.get_by_role("button", name="Take away").click()
        row = page.locator(".offers li").filter(has_text=offer)
        with page.expect_download() as waiting:
            row.get_by_role("button", name=kind, exact=True).click()
        page.get_by_role("button", name="Close", exact=True).click()
        return Path(waiting.value.path()).read_bytes()

    def drawn() -> tuple[int, int, int]:
        """The points and the entries of the key of a picture, and its width."""
        svg = ElementTree.fromstring(take("Picture", "SVG"))
        paths = [one.get("d", "") for one in svg.iter("{http://www.w3.org/2000/svg}path")]
        entries = list(svg.iter("{http://www.w3.org/2000/svg}circle"))
        return "".join(paths).count("M"), len(entries), int(svg.get("width", 0))

    digits = drawn()
    png = take("Picture", "PNG")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 2 * digits[2]  # the same width at twice the resolution
    before = picture_at_rest(page)
    page.get_by_label("Colour by").select_option("error:torn")
    expect(page.get_by_text("PCA: mean")).to_be_visible()
    expect(page.get_by_text("Isomap: mean")).to_be_visible()
    until(lambda: picture(page) != before, "the colours changed")
    errors = drawn()
    page.get_by_label("Colour by").select_option("none")
    plain = drawn()
    assert (digits[:2], errors[:2], plain[:2]) == ((300, 10), (300, 5), (300, 0))
    assert digits[2] > plain[2]
    assert len(take("Coordinates", "CSV").splitlines()) == 301
    assert b"<!DOCTYPE html>" in take("Report", "HTML")[:100]
    page.get_by_role("button", name="Take away").click()
    expect(page.locator(".code pre").first).to_contain_text("lowdim.")


def test_the_offers_stay_when_they_are_opened_as_soon_as_they_closed(tab: Tab, own: Server):
    two_maps(own)
    page = tab.open()
    expect(page.locator(".map")).to_have_count(2)
    page.get_by_role("button", name="Take away").click()
    expect(page.locator(".offers li")).to_have_count(6)
    # Open it again between its closing and the event that tells of it.
    page.evaluate(
        """() => {
            const dialog = document.querySelector("dialog.takeaway");
            const buttons = [...document.querySelectorAll("button")];
            const again = buttons.find((one) => one.textContent === "Take away");
            const observer = new MutationObserver(() => {
                if (dialog.open) return;
                observer.disconnect();
                again.click();
            });
            observer.observe(dialog, { attributes: true });
            dialog.addEventListener("close", () => setTimeout(() => (dialog.told = true), 200));
            dialog.querySelector("header button").click();
        }"""
    )
    until(lambda: page.evaluate("document.querySelector('dialog.takeaway').told"), "it was told")
    expect(page.locator("dialog.takeaway")).to_be_visible()
    expect(page.locator(".offers li")).to_have_count(6)
    page.keyboard.press("Escape")
    expect(page.locator(".offers li")).to_have_count(0)


def test_deleting_a_map_can_be_undone(tab: Tab, own: Server):
    client, _, _ = two_maps(own)
    page = tab.open()
    until(lambda: shown(page, 1) == 300, "all points are there")
    page.get_by_role("button", name="Delete the map Isomap").click()
    expect(page.locator(".map")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".map")).to_have_count(2)
    until(lambda: shown(page, 1) == 300, "the map is back")
    assert len(client.ask("GET", "/api/state")["maps"]) == 2
    page.get_by_role("button", name="Delete the map Isomap").click()
    page.get_by_role("button", name="Dismiss").click()
    until(lambda: len(client.ask("GET", "/api/state")["maps"]) == 1, "the server has deleted it")


def test_a_click_shows_the_record_and_the_neighbours(tab: Tab, own: Server):
    client, data, maps = two_maps(own)
    page = tab.open()
    until(lambda: shown(page, 0) == 300, "all points are there")
    page.get_by_role("tab", name="Suspects").click()
    first = page.locator(".suspects button").first
    row = int(re.findall(r"row (\d+)", first.inner_text())[0])
    first.click()
    page.get_by_role("tab", name="Object").click()
    near = client.ask("GET", f"/api/maps/{maps[0]['id']}/neighbors/{row}?k=10")["neighbors"]
    listed = page.locator(".neighbours button span")
    expect(listed).to_have_text([f"row {one}" for one in near])
    expect(page.locator(".portrait")).to_be_visible()
    page.get_by_role("tab", name="Quality").click()
    expect(page.get_by_role("row", name=re.compile("trustworthiness"))).to_contain_text("0.")
    expect(page.get_by_role("img", name=re.compile("R_NX"))).to_be_visible()
    assert client.ask("GET", f"/api/datasets/{data['id']}/records/{row}")["row"] == row


def test_a_reload_keeps_everything_and_a_second_tab_sees_the_same(tab: Tab, own: Server):
    two_maps(own)
    page = tab.open()
    expect(page.locator(".map")).to_have_count(2)
    page.get_by_label("Colour by").select_option("none")
    until(lambda: own.client().ask("GET", "/api/state")["layout"].get("color") == "none", "kept")
    page.reload()
    expect(page.locator(".map")).to_have_count(2)
    until(lambda: shown(page, 1) == 300, "the coordinates are there again")
    expect(page.get_by_label("Colour by")).to_have_value("none")

    other = Tab(page.context.new_page(), own)
    second = other.open()
    expect(second.locator(".map")).to_have_count(2)
    second.get_by_label("Method", exact=True).select_option("MDS")
    second.locator(".side .run button").click()
    expect(second.locator(".status.done")).to_have_count(1)
    expect(page.get_by_label("Show an earlier map")).to_contain_text("MDS")
    assert other.errors == []


def test_the_page_reconnects_to_a_server_that_was_killed(
    context: BrowserContext, tmp_path: Path, port: str
):
    own = Server(tmp_path, "--port", port)
    tab = Tab(context.new_page(), own)
    two_maps(own)
    page = tab.open()
    until(lambda: shown(page, 1) == 300, "all points are there")
    own.process.kill()
    own.stop()
    expect(page.get_by_text("No connection to the server")).to_be_visible()
    again = Server(tmp_path, "--port", port)
    try:
        expect(page.get_by_text("No connection to the server")).to_be_hidden()
        page.get_by_role("button", name="Delete the map Isomap").click()
        expect(page.locator(".map")).to_have_count(1)
        of_the_network = re.compile("net::ERR_|WebSocket")  # while there was no server
        assert [error for error in tab.errors if not of_the_network.search(error)] == []
    finally:
        again.stop()


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: make web")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_files_of_the_folder_are_on_the_first_screen(browser: Browser, own: Server, scheme: Any):
    (own.root / "points.csv").write_text("x,y\n1,2\n3,4\n5,7\n8,1\n")
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    tab = Tab(context.new_page(), own)
    page = tab.open()
    file = page.locator(".welcome").get_by_role("button", name="points.csv")
    expect(file).to_be_visible()
    assert violations(page) == []
    file.click()
    expect(page.get_by_role("heading", name="points.csv")).not_to_have_count(0)
    context.close()
    assert tab.errors == []


def test_a_bad_upload_is_explained(context: BrowserContext, own: Server):
    tab = Tab(context.new_page(), own)
    page = tab.open()
    chosen = page.locator("input[type=file]").first
    bad = [{"name": "broken.npz", "mimeType": "application/x", "buffer": b"PK\x03\x04 no archive"}]
    chosen.set_input_files(bad)
    expect(page.locator(".notice.bad")).to_contain_text("broken.npz")
    chosen.set_input_files(
        [{"name": "good.csv", "mimeType": "text/csv", "buffer": b"a,b,c\n1,2,x\n3,4,y\n5,7,x\n"}]
    )
    expect(page.get_by_role("heading", name="good.csv")).to_be_visible()
    assert all("400" in error or "422" in error for error in tab.errors)


def test_a_failed_fit_is_explained(tab: Tab, own: Server):
    page = tab.open()
    page.get_by_role("button", name="Cities").click()
    page.get_by_role("group", name="Choose a method").get_by_role("button", name="Isomap").click()
    page.get_by_label("n_neighbors, number").fill("40")
    page.keyboard.press("Tab")
    page.locator(".run.large button").click()
    expect(page.locator(".failure")).to_contain_text("n_neighbors")


def test_the_lesson_runs_with_the_readers_hand_on_the_slider(tab: Tab, own: Server):
    tab.slow_down()
    page = tab.open()
    page.get_by_role("button", name="How to misread a map").click()
    expect(page.get_by_role("region", name="Lesson")).to_contain_text("A parameter makes")
    assert len(pictures(page, 5)) >= 5
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("region", name="Lesson")).to_contain_text("The size of a cluster")
    expect(page.locator(".name")).to_have_text("Three clusters")
    page.get_by_label("true width of the far cluster, number").fill("2")
    page.keyboard.press("Tab")
    client = own.client()
    until(
        lambda: (
            [one["values"].get("ratio") for one in client.ask("GET", "/api/state")["datasets"]]
            == [2]
        ),
        "only the data of the new width are left",
    )


def test_the_page_can_be_used_by_keyboard_and_every_control_has_a_name(tab: Tab, own: Server):
    two_maps(own)
    page = tab.open()
    until_drawn(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [tabindex='0']")]
        .filter((one) => one.offsetParent && !(one.ariaLabel || one.getAttribute("aria-labelledby")
          || one.labels?.length && [...one.labels].some((label) => label.textContent.trim())
          || one.textContent.trim()))
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    page.locator(".scatter canvas").nth(1).focus()
    before = picture_at_rest(page)
    page.keyboard.press("+")
    until(lambda: picture(page) != before, "the key zooms")
    page.keyboard.press("0")
    until(lambda: picture(page) == before, "the key resets")
    page.get_by_role("tab", name="Quality").click()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Suspects")).to_be_focused()


def test_points_are_drawn_without_webgl(tab: Tab, own: Server):
    two_maps(own)
    page = tab.open("webgl=0")
    until_drawn(page)
    picture_at_rest(page)
    colors = points(page).evaluate(
        """canvas => {
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    assert colors > 10  # of ten digits, and the edges of points
    lasso(page, 0, [(0, 0), (1, 0), (1, 1), (0, 1)])
    expect(page.get_by_role("heading", name="300 objects selected")).to_be_visible()


def test_two_fingers_zoom_and_a_tap_picks(browser: Browser, own: Server):
    two_maps(own)
    size: Any = {"width": 390, "height": 844}
    context = browser.new_context(viewport=size, has_touch=True, is_mobile=True)
    tab = Tab(context.new_page(), own)
    page = tab.open()
    until_drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = box_of(page.locator(".scatter").first)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = picture_at_rest(page)
    session = context.new_cdp_session(page)

    def touch(kind: str, gap: float | None) -> None:
        spots = [] if gap is None else [{"x": x - gap, "y": y}, {"x": x + gap, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    touch("touchStart", 20)
    for gap in (40, 60, 80):
        touch("touchMove", gap)
    touch("touchEnd", None)
    until(lambda: picture(page) != before, "the fingers zoom")
    context.close()
    assert tab.errors == []


def test_maps_are_aligned_by_procrustes(tab: Tab, own: Server):
    client, _, maps = two_maps(own)
    given = client.coordinates(maps[0])
    turn = np.array([[np.cos(2), np.sin(2)], [np.sin(2), -np.cos(2)]])  # with a reflection
    moved = (3 * given @ turn + [5, -7]).astype("<f4").tobytes()
    answer = {"body": moved, "content_type": "application/octet-stream"}
    url = f"**/api/maps/{maps[1]['id']}/coordinates*"
    tab.page.route(url, lambda route: route.fulfill(**answer))
    page = tab.open()
    until_drawn(page)
    until(lambda: same(page), "aligned, the maps are the same")
    page.get_by_role("button", name="Align").click()
    until(lambda: not same(page), "as they are, they differ")


def test_a_map_turns_into_another(tab: Tab, own: Server):
    two_maps(own)
    page = tab.open()
    until_drawn(page)
    picture_at_rest(page)
    assert not same(page)
    other = page.get_by_label("Morph PCA into").locator("option").last.get_attribute("value")
    page.get_by_label("Morph PCA into").select_option(other)
    until(lambda: same(page), "PCA has become Isomap")
    page.get_by_label("Morph PCA into").select_option("")
    until(lambda: not same(page), "and PCA again")


def test_places_are_decoded_a_selection_is_embedded_alone_and_turned(tab: Tab, own: Server):
    client = own.client()
    data = client.toy("digits", n=HALVED)
    one = client.fit(data, "PCA")
    page = tab.open()
    until_drawn(page, HALVED, maps=1)
    page.get_by_role("button", name="Decode").click()
    page.locator(".scatter").hover(position={"x": 200, "y": 200})
    expect(page.locator(".decoded img")).to_be_visible()

    page.get_by_role("button", name="Move", exact=True).click()
    lasso(page, 0, [(0, 0), (1, 0), (1, 0.5), (0, 0.5)])
    up = client.coordinates(one)[:, 1]
    expected = int(np.count_nonzero(up > (up.min() + up.max()) / 2))
    page.get_by_label("Method", exact=True).select_option("PCA")
    page.get_by_label("n_components, number").fill("3")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Embed these alone").click()
    expect(page.locator(".settings")).to_contain_text(f"{expected} selected objects")
    expect(page.locator(".status")).to_have_text("done")
    until(lambda: shown(page, 0) == expected, "the map of the selection is there")

    before = picture_at_rest(page)
    drag(page, 0, (200, 150), (300, 170), steps=4)
    until(lambda: picture(page) != before, "the space turns")

    page.get_by_role("button", name="Decode").click()
    with page.expect_request("**/decode") as asked:
        page.locator(".scatter").hover(position={"x": 250, "y": 200})
    assert [len(y) for y in asked.value.post_data_json["places"]] == [3]
    expect(page.locator(".decoded img")).to_be_visible()


def test_objects_are_dragged_and_the_map_settles_around_them(tab: Tab, own: Server):
    client = own.client()
    data = client.toy("digits", n=150)
    one = client.fit(data, "TSNE", parameters={"perplexity": 10, "max_iter": 300})
    page = tab.open()
    until_drawn(page, 150, maps=1)
    lasso(page, 0, [(0, 0), (1, 0), (1, 0.5), (0, 0.5)])
    page.get_by_role("button", name="Hold these here").click()
    held = page.locator(".pins")
    expect(held).to_contain_text("objects held")
    page.get_by_role("button", name="Let go").click()
    expect(held).to_have_count(0)
    page.get_by_role("button", name="Clear").click()

    page.get_by_role("button", name="Hold", exact=True).click()
    Y = client.coordinates(one)
    point, half = drag_topmost(page, Y), np.ptp(Y, axis=0).max() / 2
    expect(held).to_contain_text("1 object held")
    with page.expect_request("**/api/maps") as asked:
        page.get_by_role("button", name="Settle around them").click()
    ((row, place),) = asked.value.post_data_json["pins"].items()
    assert int(row) == point
    assert place[1] < Y[point, 1] - 0.3 * half  # it was dragged down
    expect(held).to_have_text("Objects can be held when the map is finished.")
    settled = client.ask("GET", "/api/state")["maps"][-1]
    settled = client.until(settled, lambda now: now["status"] == "done")
    np.testing.assert_allclose(client.coordinates(settled)[point], place, rtol=1e-4)


def drag_topmost(page: Page, Y: Any) -> int:
    """Drag the topmost point of a map down by a third of the picture."""
    point = int(Y[:, 1].argmax())
    box = box_of(page.locator(".scatter"))
    low, high = Y.min(axis=0), Y.max(axis=0)
    unit = 0.92 * min(box["width"] / (high[0] - low[0]), box["height"] / (high[1] - low[1]))
    middle = (low + high) / 2
    x = box["width"] / 2 + float(unit * (Y[point, 0] - middle[0]))
    y = box["height"] / 2 - float(unit * (Y[point, 1] - middle[1]))
    drag(page, 0, (x, y), (x, y + box["height"] / 3), steps=5)
    return point


def test_a_path_is_decoded_and_few_points_are_shown_as_images(tab: Tab, own: Server):
    client = own.client()
    client.fit(client.toy("digits", n=300), "PCA")
    page = tab.open()
    until_drawn(page, maps=1)
    page.get_by_role("button", name="Decode").click()
    drag(page, 0, (100, 100), (400, 300), steps=20)
    expect(page.locator(".along img")).to_have_count(10)
    first, last = (page.locator(".along img").nth(k).get_attribute("src") for k in (0, -1))
    assert first != last
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.locator(".along")).to_have_count(0)

    page.locator(".scatter").hover()
    for _ in range(3):
        page.mouse.wheel(0, -300)  # few points are on the screen when it is enlarged
    page.mouse.move(0, 0)
    above = page.locator(".scatter canvas").last
    until(lambda: above.evaluate(DRAWN) > 10_000, "images are drawn above the points")
    page.get_by_role("button", name="Images").click()
    until(lambda: above.evaluate(DRAWN) < 10_000, "only names are drawn above the points")


def test_answers_that_come_late_do_not_replace_what_is_newer(tab: Tab, own: Server):
    client = own.client()
    data = client.toy("digits", n=300)
    one = client.fit(data, "TSNE", wait=False, pace=50, parameters={"max_iter": 100_000})
    client.until(one, lambda now: now["frames"] > 2)
    client.ask("POST", f"/api/maps/{one['id']}/pause")
    client.until(one, lambda now: now["status"] == "paused")
    late: list[Route] = []
    page = tab.page
    page.route("**/coordinates*", lambda route: late.append(route))

    def asked() -> bool:
        """Whether a request is held back. Playwright hands requests over only during its calls."""
        page.wait_for_timeout(10)
        return len(late) == 1

    def answer(**given: bytes) -> None:
        """Answer a request that was held back, by default as the server does."""
        with page.expect_event("requestfinished", lambda one: "coordinates" in one.url):
            late.pop().fulfill(**given) if given else late.pop().continue_()

    tab.open()
    until(lambda: asked() and page.locator(".scatter").count() == 1, "the page asks for the map")
    old = client.coordinates(one)
    client.ask("POST", f"/api/maps/{one['id']}/step")  # its frame comes by the stream
    until_drawn(page, maps=1)  # the frame, and the colours
    newest = picture_at_rest(page)
    answer(body=old[::-1].tobytes())
    assert picture_at_rest(page) == newest

    slider = page.get_by_label("Rewind t-SNE")
    frames = client.ask("GET", f"/api/maps/{one['id']}")["frames"]
    expect(slider).to_have_attribute("max", str(frames - 1))  # the page knows of the last one
    slider.fill("0")
    slider.fill(slider.get_attribute("max"))
    until(asked, "the page asks for the first snapshot")
    answer()
    assert picture_at_rest(page) == newest
    slider.fill("0")
    until(asked, "the page asks for the first snapshot again")
    answer()
    until(lambda: picture_at_rest(page) != newest, "the first snapshot is shown")


def test_other_seeds_show_what_is_stable(tab: Tab, own: Server):
    client = own.client()
    data = client.toy("clusters", n=60)
    client.fit(data, "TSNE", parameters={"perplexity": 8, "max_iter": 100})
    page = tab.open()
    until(lambda: shown(page, 0) == 60, "all points are there")
    page.get_by_role("tab", name="Quality").click()
    page.get_by_role("button", name="Run again with other seeds").click()
    expect(page.get_by_text("Stability over")).to_be_visible()
    expect(page.get_by_label("Colour by")).to_have_value("error:spread")
    before = picture_at_rest(page)
    page.get_by_role("button", name="seed 2").click()
    expect(page.locator(".progress")).to_have_text("another seed")
    until(lambda: picture(page) != before, "the points move to the other map")
    page.get_by_role("button", name="this map").click()
    expect(page.locator(".progress")).to_contain_text("100 iterations")
