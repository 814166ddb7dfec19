"""What the page tells of data and maps: colours, names, columns, where maps come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Route, expect

from studio.client import Client, Server, until
from studio.page import (
    AXE,
    Tab,
    box_of,
    lasso,
    picture_at_rest,
    shown,
    until_drawn,
    violations,
    written,
)

N = 120
KINDS = np.repeat(["ash", "beech", "cedar", "date palm"], [60, 30, 28, 2])


def write_trees(root: Path) -> None:
    """Trees on a line: kinds from left to right, ids, a wide column and a skewed one."""
    rng = np.random.default_rng(0)
    where = np.arange(N) + rng.uniform(0, 0.5, N)
    price = np.geomspace(1, 1e6, N)
    lines = ["name,kind,x,y,wide,price"]
    for i in range(N):
        numbers = [where[i], rng.normal(), 1e5 * rng.normal(), price[i]]
        lines.append(",".join([f"tree-{i:03d}", KINDS[i], *(f"{one:.3f}" for one in numbers)]))
    (root / "trees.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A studio for all tests of this file; each opens the trees anew."""
    root = tmp_path_factory.mktemp("trees")
    write_trees(root)
    server = Server(root)
    yield server
    server.stop()


def open_trees(client: Client, **changes: Any) -> Any:
    data = client.ask("POST", "/api/datasets", 201, json={"path": "trees.csv"})
    roles = {"name": "id", "kind": "label", "price": "label", "wide": "ignore"}
    change = {"roles": roles | changes.pop("roles", {}), "label": "kind", **changes}
    return client.ask("PATCH", f"/api/datasets/{data['id']}", json=change)


def show(client: Client, *maps: Any) -> None:
    """Let the page show some maps of one data set, and nothing of what a test before has chosen."""
    layout = {"shown": [one["id"] for one in maps], "dataset": maps[0]["dataset"]}
    client.ask("PUT", "/api/layout", json={**layout, "active": maps[0]["id"]})


def test_a_map_says_what_it_was_made_of_and_other_data_are_not_compared(tab: Tab, own: Server):
    client = own.client()
    data = open_trees(client, roles={"wide": "feature"})
    assert any("Standardise features" in hint for hint in data["hints"])
    assert not any("standardize=" in text for text in [*data["hints"], *data["notes"]])
    raw = [client.fit(data, "PCA"), client.fit(data, "Isomap")]
    client.ask("PATCH", f"/api/datasets/{data['id']}", json={"label": "price"})
    again = client.fit(data, "PCA")  # the same features, whatever colours them
    client.ask("PATCH", f"/api/datasets/{data['id']}", json={"standardize": True, "label": "kind"})
    scaled = client.fit(data, "PCA")
    assert {one["data_key"] for one in [*raw, again]} == {raw[0]["data_key"]}
    assert scaled["data_key"] != raw[0]["data_key"]
    show(client, raw[0], scaled, raw[1])
    page = tab.open()
    until_drawn(page, N, maps=3)
    expect(page.locator(".settings").nth(0)).to_contain_text("3 features as they are")
    expect(page.locator(".settings").nth(1)).to_contain_text("3 features standardised")
    page.get_by_role("tab", name="Quality").click()
    heads = page.locator("th[scope=colgroup]")
    expect(heads).to_have_text(["3 features as they are", "3 features standardised"])
    assert [one.get_attribute("colspan") for one in heads.all()] == ["2", "1"]
    expect(page.locator("thead tr").last.locator("th")).to_have_text(
        ["measure", "PCA", "Isomap", "PCA"]
    )
    expect(page.get_by_text("These maps are of different data")).to_be_visible()
    expect(page.locator("#answers .warning").last).to_contain_text("Standardise features")


def test_a_fit_waits_for_the_change_of_its_data(tab: Tab, own: Server):
    client = own.client()
    data = open_trees(client)
    client.ask("PUT", "/api/layout", json={"dataset": data["id"], "shown": []})
    late: list[Route] = []
    page = tab.page
    page.route(
        f"**/api/datasets/{data['id']}",
        lambda route: late.append(route) if route.request.method == "PATCH" else route.continue_(),
    )
    tab.open()
    page.locator(".switch", has_text="Standardise features").click()
    page.locator(".run.large button").click()
    until(lambda: page.wait_for_timeout(10) or late, "the change is on its way")
    late.pop().continue_()
    expect(page.locator(".settings")).to_contain_text("features standardised")


def test_the_legend_stands_with_the_map_and_colours_stay_in_the_dark(browser: Browser, own: Server):
    client = own.client()
    data = open_trees(client)
    one = client.fit(data, "PCA")
    seen = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
        tab = Tab(context.new_page(), own)
        show(client, one)
        page = tab.open()
        until_drawn(page, N, maps=1)
        legend = page.locator(".stage .legend")
        expect(legend.locator("li")).to_have_count(4)
        dots = legend.locator("circle").evaluate_all(
            "all => all.map((one) => one.attributes.fill.value)"
        )
        seen.append(dots)
        page.get_by_label("Colour by").select_option("column:price")
        expect(legend).to_contain_text("logarithmic scale, middle 1,0")
        page.get_by_label("Colour by").select_option("column:x")
        expect(legend).not_to_contain_text("scale")
        context.close()
        assert tab.errors == []
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 4


def test_names_are_those_of_the_selection(tab: Tab, own: Server):
    client = own.client()
    one = client.fit(open_trees(client), "PCA")
    Y = client.coordinates(one)
    show(client, one)
    page = tab.open()
    until_drawn(page, N, maps=1)
    until(lambda: written(page) >= {"ash", "date palm"}, "names are written")
    # Without the ash trees of one end: the two date palms are fewer than 2 % of the others.
    start, end = (0.1, 1) if Y[0, 0] < Y[-1, 0] else (0, 0.9)
    lasso(page, 0, [(start, 0), (end, 0), (end, 1), (start, 1)])
    expect(page.get_by_role("heading", name=re.compile("objects selected"))).to_be_visible()
    until(lambda: "date palm" not in written(page), "names are those of the selection")
    assert written(page) == {"ash", "beech", "cedar"}


def test_ids_name_objects_and_forms_show_what_the_map_was_made_with(tab: Tab, own: Server):
    client = own.client()
    data = open_trees(client)
    one = client.fit(data, "TSNE", parameters={"perplexity": 2, "max_iter": 50})
    show(client, one)
    page = tab.open()
    until_drawn(page, N, maps=1)
    expect(page.get_by_label("perplexity, number")).to_have_value("2")
    expect(page.get_by_label("max_iter, number")).to_have_value("50")
    page.get_by_role("tab", name="Suspects").click()
    page.locator(".suspects button").first.click()
    expect(page.locator(".suspects strong").first).to_contain_text("tree-")
    page.get_by_role("tab", name="Object").click()
    title = page.locator("#answers h2")
    expect(title).to_have_text(re.compile(r"tree-\d+"))
    row = int(title.inner_text().removeprefix("tree-"))
    near = client.ask("GET", f"/api/maps/{one['id']}/neighbors/{row}?k=10")["neighbors"]
    expect(page.locator(".neighbours button span")).to_have_text([f"tree-{i:03d}" for i in near])
    page.locator(".scatter").hover(position={"x": 5, "y": 5})
    page.keyboard.press("0")
    canvas = page.locator(".scatter canvas").last
    box = box_of(canvas)
    Y = client.coordinates(one)
    low, high = Y.min(axis=0), Y.max(axis=0)
    unit = (
        (Y[row] - (low + high) / 2) * 0.92 / max((high - low) / 2 / [box["width"], box["height"]])
    )
    canvas.hover(position={"x": (box["width"] + unit[0]) / 2, "y": (box["height"] - unit[1]) / 2})
    expect(page.locator(".tip small")).to_have_text(re.compile(r"tree-\d+"))


def test_names_of_parameters_break_after_underscores_only(tab: Tab, own: Server):
    client = own.client()
    show(client, client.fit(open_trees(client), "PCA"))
    page = tab.open()
    until_drawn(page, N, maps=1)
    page.get_by_label("Method", exact=True).select_option("TSNE")
    lines = page.get_by_text("early_exaggeration", exact=True).evaluate(
        """one => {
        const range = document.createRange();
        const rows = new Map();
        for (const node of one.childNodes) {
          for (let k = 0; k < (node.textContent ?? "").length; k++) {
            range.setStart(node, k); range.setEnd(node, k + 1);
            const top = Math.round(range.getBoundingClientRect().top);
            rows.set(top, (rows.get(top) ?? "") + node.textContent[k]);
          }
        }
        return [...rows.values()];
      }"""
    )
    assert lines in (["early_exaggeration"], ["early_", "exaggeration"])
    page.get_by_role("button", name="Open").click()
    page.get_by_text("Browse").click()
    expect(page.locator(".files li")).not_to_have_count(0)
    inner = page.locator(".side.left .scrolls").evaluate(
        """side => [...side.querySelectorAll("*")].filter((one) =>
          ["auto", "scroll"].includes(getComputedStyle(one).overflowY)).length"""
    )
    assert inner == 0  # one scrollbar: that of the side
    assert shown(page, 0) == N


def test_columns_filter_the_maps_and_each_other(tab: Tab, own: Server):
    client = own.client()
    data = open_trees(client)
    maps = [client.fit(data, "PCA"), client.fit(data, "Isomap", rows=list(range(40, N)))]
    show(client, *maps)
    page = tab.open()
    until(lambda: shown(page, 0) == N and shown(page, 1) == N - 40, "all points are there")
    facet = page.locator(".facets > li")
    beech = facet.filter(has_text="beech").get_by_role("button", name=re.compile("beech"))
    beech.click()
    until(lambda: shown(page, 0) == 30 and shown(page, 1) == 30, "only beeches pass")
    status = page.locator("#answers [role=status]")
    expect(status).to_have_text("30 of 120 objects pass")
    # Brush the right half of x: rows 60 and above, of which 60 to 89 are beeches.
    histogram = page.get_by_role("img", name="Histogram of x")
    box = box_of(histogram)
    page.mouse.move(box["x"] + 0.74 * box["width"], box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 9, steps=4)
    page.mouse.up()
    edge = np.linspace(client_low(client, data), client_high(client, data), 33)[23]
    x = client.array(f"/api/datasets/{data['id']}/values/x")
    expected = int(((x >= edge) & (KINDS == "beech")).sum())
    until(lambda: shown(page, 0) == expected, "both filters hold")
    expect(status).to_have_text(f"{expected} of 120 objects pass")
    # A category is counted as if its own filter were not there: all kinds right of the edge.
    cedars = int(((x >= edge) & (KINDS == "cedar")).sum())
    bars = facet.filter(has_text="cedar").get_by_role("button", name=re.compile("cedar"))
    expect(bars).to_have_text(f"cedar{cedars}")
    # The keyboard moves the ends of a range.
    page.get_by_label("Least x").press("ArrowLeft")
    edge = np.linspace(client_low(client, data), client_high(client, data), 33)[22]
    until(
        lambda: shown(page, 0) == int(((x >= edge) & (KINDS == "beech")).sum()),
        "the range is wider",
    )
    page.get_by_role("button", name="Clear filters").click()
    until(lambda: shown(page, 0) == N and shown(page, 1) == N - 40, "all pass")


def client_low(client: Client, data: Any) -> float:
    return float(client.array(f"/api/datasets/{data['id']}/values/x").min())


def client_high(client: Client, data: Any) -> float:
    return float(client.array(f"/api/datasets/{data['id']}/values/x").max())


def test_objects_are_found_by_the_keyboard_and_those_like_them_selected(tab: Tab, own: Server):
    client = own.client()
    one = client.fit(open_trees(client), "PCA")
    show(client, one)
    page = tab.open()
    until_drawn(page, N, maps=1)
    page.keyboard.press("/")
    expect(page.get_by_label("Search objects")).to_be_focused()
    page.keyboard.type("tree-04")
    expect(page.locator("#hits bdi")).to_have_text([f"tree-{i:03d}" for i in range(40, 50)])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#answers h2")).to_have_text("tree-041")
    page.get_by_role("button", name="Select the 50 most alike").click()
    expect(page.get_by_role("heading", name="50 objects selected")).to_be_visible()
    near = client.ask("GET", f"/api/maps/{one['id']}/neighbors/41?k=49")["neighbors"]
    assert len({41, *near}) == 50
    until(lambda: shown(page, 0) == 50, "they stand out")
    page.keyboard.press("/")
    page.get_by_label("Search objects").fill("kind = cedar")
    expect(page.locator("#hits li").last).to_have_text("Select all: 28 objects")
    page.keyboard.press("Shift+Enter")
    expect(page.get_by_role("heading", name="28 objects selected")).to_be_visible()
    page.get_by_label("Search objects").fill("oak")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.type("tree-077")
    page.keyboard.press("Enter")  # before the answer to the last letters
    expect(page.locator("#answers h2")).to_have_text("tree-077")


def test_a_figure_for_a_paper_has_real_text_and_contours_are_drawn(tab: Tab, own: Server):
    client = own.client()
    one = client.fit(open_trees(client), "PCA")
    show(client, one)
    page = tab.open()
    until_drawn(page, N, maps=1)
    page.get_by_role("button", name="Take away").click()
    offer = page.locator(".offers li").filter(has_text="Figure for a paper")
    offer.get_by_label("Legend").select_option("inside")
    with page.expect_download() as waiting:
        offer.get_by_role("button", name="SVG", exact=True).click()
    svg = Path(waiting.value.path()).read_text()
    for word in ("ash", "date palm", "kind", "PCA"):
        assert f">{word}</text>" in svg
    missing = f"/api/maps/{one['id']}/export/figure.pdf"
    assert client.http.get(f"{missing}?color=column:nothing").status_code == 404
    assert client.http.get(f"{missing}?legend=everywhere").status_code == 400
    assert client.http.get(missing).content.startswith(b"%PDF")

    picture = page.locator(".offers li").filter(has_text="Picture")

    def lines() -> int:
        with page.expect_download() as waiting:
            picture.get_by_role("button", name="SVG", exact=True).click()
        found = re.findall(
            r'stroke-opacity="0.4" d="([^"]*)"', Path(waiting.value.path()).read_text()
        )
        return "".join(found).count("L")

    assert lines() == 0
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Contours").click()
    page.get_by_role("button", name="Take away").click()
    assert lines() > 100


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: make web")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 400])
def test_axe_finds_nothing(browser: Browser, own: Server, width: int, scheme: Any):
    client = own.client()
    size: Any = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
    tab = Tab(context.new_page(), own)
    phone = width < 760

    def check(what: str) -> None:
        assert violations(page) == [], what

    def turn_to(pane: str) -> None:
        if phone:
            page.get_by_role("button", name=pane, exact=True).click()

    show(client, client.fit(open_trees(client), "TSNE", parameters={"perplexity": 5}))
    page = tab.open()
    until_drawn(page, N, maps=1)
    check("the map")
    with page.expect_response("**/errors?kind=doubt"):
        for name in ("Regions", "Contours", "Trust"):
            page.get_by_role("button", name=name).click()
    check("regions, contours and doubts")
    for tool in ("Select", "Hold", "Decode"):
        page.get_by_role("button", name=tool, exact=True).click()
        check(tool)
    page.locator(".scatter canvas").last.click()
    expect(page.get_by_role("status", name="Decoded object")).to_be_visible()
    check("a decoded object")
    turn_to("Questions")
    for name in ("Columns", "Features", "Quality", "Suspects", "Object", "Selection"):
        page.get_by_role("tab", name=name).click()
        expect(page.locator("#answers")).not_to_contain_text("…")
        check(name)
    page.get_by_role("group", name="Select a region").get_by_role("button").first.click()
    expect(page.get_by_text("What distinguishes them")).to_be_visible()
    check("a region")
    page.keyboard.press("/")
    page.keyboard.type("tree-04")
    expect(page.locator("#hits li")).to_have_count(11)
    check("the search")
    page.keyboard.press("Enter")
    expect(page.locator(".neighbours li")).to_have_count(10)
    check("an object")
    turn_to("Data")
    page.get_by_text("Columns (").click()
    check("the data")
    page.get_by_role("button", name="Open").click()
    page.get_by_text("Browse").click()
    expect(page.locator(".files li")).not_to_have_count(0)
    check("the sources")
    turn_to("Method")
    check("the method")
    page.get_by_role("button", name="Take away").click()
    expect(page.locator(".code pre").first).to_contain_text("lowdim.")
    offers = page.locator(".offers strong").evaluate_all(
        "all => all.map((one) => one.offsetHeight)"
    )
    assert len(set(offers)) == 1  # no title is broken into lines
    check("take away")
    context.close()
    assert tab.errors == []


def test_names_of_regions_follow_the_zoom_and_never_overlap(tab: Tab, own: Server):
    client = own.client()
    one = client.fit(open_trees(client), "PCA")
    show(client, one)
    # A region with two parts, and one of them with two parts of its own, at the left.
    tree = [("all", -1, 120, 30), ("left", 0, 70, 4), ("right", 0, 50, 4), ("far left", 1, 40, 2)]
    Y = client.coordinates(one)
    (x, y), unit = Y.mean(axis=0), np.ptp(Y[:, 0]) / 60
    places = {"all": 0, "left": -14, "right": 14, "far left": -24, "near left": -4}
    tree.append(("near left", 1, 30, 2))
    regions = [
        {"text": text, "parent": parent, "size": size, "radius": radius * float(unit),
         "point": [float(x + places[text] * unit), float(y)]}
        for text, parent, size, radius in tree
    ]  # fmt: skip
    page = tab.page
    page.route("**/regions", lambda route: route.fulfill(json=regions))
    tab.open()
    until_drawn(page, N, maps=1)
    page.get_by_role("button", name="Regions").click()
    until(lambda: written(page) == {"left", "right"}, "the large regions are named")
    for _ in range(6):
        page.locator(".scatter canvas").last.press("+")
    names = written(page)
    assert names & {"far left", "near left"}
    assert not names & {"all", "left"}
    page.locator(".scatter canvas").last.press("0")
    assert written(page) == {"left", "right"}


def test_doubtful_objects_fade_by_one_click(tab: Tab, own: Server):
    client = own.client()
    show(client, client.fit(open_trees(client), "TSNE", parameters={"perplexity": 5}))
    page = tab.open()
    until_drawn(page, N, maps=1)
    plain = picture_at_rest(page)
    with page.expect_response("**/errors?kind=doubt"):
        page.get_by_role("button", name="Trust").click()
    expect(page.get_by_text("objects whose place is doubtful")).to_be_visible()
    until(lambda: picture_at_rest(page) != plain, "some points are faint")
    page.get_by_role("button", name="Trust").click()
    until(lambda: picture_at_rest(page) == plain, "all points have their colours")


def test_features_that_the_map_follows_are_listed_and_drawn(tab: Tab, own: Server):
    client = own.client()
    show(client, client.fit(open_trees(client), "PCA"))
    page = tab.open()
    until_drawn(page, N, maps=1)
    page.get_by_role("tab", name="Features").click()
    first = page.locator(".reasons tbody tr").first
    expect(first).to_contain_text("x")  # it varies most by far, so the first component is x
    expect(first).to_contain_text("1.00")
    until(lambda: "x" in written(page), "the arrow has its name")
    first.get_by_role("button").click()
    expect(page.get_by_label("Colour by")).to_have_value("column:x")


def test_objects_are_annotated_and_suspects_relabelled(tab: Tab, own: Server):
    client = own.client()
    data = open_trees(client)
    show(client, client.fit(data, "PCA"))
    page = tab.open()
    until_drawn(page, N, maps=1)
    lasso(page, 0, [(0, 0), (0.5, 0), (0.5, 1), (0, 1)])
    page.get_by_label("Annotation").fill("left half")
    page.get_by_role("button", name="Write").click()
    expect(page.locator(".legend h2")).to_have_text("Annotations")
    expect(page.locator(".legend li")).to_contain_text("left half")
    page.get_by_role("tab", name="Suspects").click()
    verdict = page.locator(".suspects .chips").first.get_by_role("button").first
    label = verdict.inner_text()
    verdict.click()
    expect(verdict).to_have_attribute("aria-pressed", "true")
    now = next(
        one for one in client.ask("GET", "/api/state")["datasets"] if one["id"] == data["id"]
    )
    assert {"left half", label} <= set(now["annotations"].values())


def test_the_regions_of_a_map_colour_it(tab: Tab, own: Server):
    client = own.client()
    data = client.toy("clusters", n=200)
    show(client, client.fit(data, "PCA"))
    page = tab.open()
    until_drawn(page, 200, maps=1)
    page.get_by_label("Colour by").select_option("regions")
    expect(page.locator(".legend h2")).to_have_text("Regions")
    expect(page.locator(".legend li")).not_to_have_count(0)

    page.get_by_role("tab", name="Selection").click()
    first = page.get_by_role("group", name="Select a region").get_by_role("button").first
    size = int(first.locator("small").inner_text())
    first.click()
    expect(page.get_by_text(f"{size} objects selected")).to_be_visible()
    until(lambda: shown(page, 0) == size, "the objects of the region are highlighted")


def test_an_object_says_whether_its_place_can_be_believed(tab: Tab, own: Server):
    client = own.client()
    data = open_trees(client)
    one = client.fit(data, "TSNE", parameters={"perplexity": 5})
    show(client, one)
    page = tab.open()
    until_drawn(page, N, maps=1)
    doubt = client.array(f"/api/maps/{one['id']}/errors?kind=doubt")
    page.get_by_role("tab", name="Suspects").click()
    page.locator(".suspects li > button").first.click()
    page.get_by_role("tab", name="Object").click()
    heading = page.locator("#answers h2")
    expect(heading).to_have_text(re.compile("tree-"))  # its id, once that has come
    row = int(heading.inner_text().removeprefix("tree-"))
    expect(page.get_by_text("Reliability of its place")).to_contain_text(f"{1 - doubt[row]:.2f}")


def test_the_server_names_regions_by_their_labels(own: Server):
    client = own.client()
    data = client.toy("clusters", n=300)
    one = client.fit(data, "PCA")
    found = client.ask("GET", f"/api/maps/{one['id']}/regions")
    assert found[0]["parent"] == -1
    assert found[0]["size"] == 300
    assert len(found) >= 3
    assert all(0 <= region["parent"] < place for place, region in enumerate(found) if place)
