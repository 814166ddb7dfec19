"""The screenshots of the guide to the studio.

Each test drives the page and checks what its picture must show. With `LOWDIM_PICTURES=1` it also
writes the picture to `docs/images`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from sklearn.datasets import load_wine

from studio.client import Server, until
from studio.page import Tab, box_of, picture, picture_at_rest, shown, until_drawn, written

DOCS = Path(__file__).parents[2] / "docs"
WRITES = os.environ.get("LOWDIM_PICTURES") == "1"
DESK = {"width": 1280, "height": 760}
PHONE = {"width": 400, "height": 760}
N = 178
GROUPS = {"class_0", "class_1", "class_2"}


def write_wines(path: Path) -> None:
    wines = load_wine(as_frame=True)
    table = wines.frame.rename(columns={"target": "cultivar"})
    table["cultivar"] = wines.target_names[wines.target]
    table.insert(0, "id", [f"wine-{i:03d}" for i in range(N)])
    table.to_csv(path, index=False)


@pytest.fixture(scope="module")
def wines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, Any]]]:
    """A studio with a map of the wines as they are, and two of standardised features."""
    root = tmp_path_factory.mktemp("wines")
    write_wines(root / "wines.csv")
    server = Server(root)
    client = server.client()
    data = client.ask("POST", "/api/datasets", 201, json={"path": "wines.csv"})
    path, roles = f"/api/datasets/{data['id']}", {"id": "id", "cultivar": "label"}
    client.ask("PATCH", path, json={"roles": roles, "label": "cultivar"})
    raw = client.fit(data, "TSNE", parameters={"perplexity": 12})
    client.ask("PATCH", path, json={"standardize": True})
    tsne = client.fit(data, "TSNE", parameters={"perplexity": 12})
    yield server, {"raw": raw, "t-SNE": tsne, "PCA": client.fit(data, "PCA")}
    server.stop()


@pytest.fixture
def scene(browser: Browser, wines: tuple[Server, dict[str, Any]]) -> Iterator[Any]:
    """Opens the page on some of the maps."""
    server, made = wines
    contexts = []

    def open_page(*names: str, scheme: Any = "light", size: Any = DESK) -> Page:
        context = browser.new_context(viewport=size, color_scheme=scheme)
        tab = Tab(context.new_page(), server)
        contexts.append((context, tab))
        some = [made[name]["id"] for name in names]
        layout = {"shown": some, "active": some[0], "dataset": made["raw"]["dataset"]}
        server.client().ask("PUT", "/api/layout", json=layout)
        page = tab.open()
        until_drawn(page, N, maps=len(some))
        return page

    yield open_page
    for context, tab in contexts:
        context.close()
        assert tab.errors == []


def keep(page: Page, name: str) -> None:
    """Write a picture of the page for the documentation."""
    for place in range(page.locator(".scatter").count()):
        picture_at_rest(page, place)
    if WRITES:
        page.screenshot(path=DOCS / "images" / f"{name}.png")


def test_maps_of_different_data_are_kept_apart(scene: Callable[..., Page]):
    page = scene("raw", "t-SNE")
    page.get_by_role("tab", name="Quality").click()
    expect(page.get_by_text("These maps are of different data")).to_be_visible()
    heads = ["13 features as they are", "13 features standardised"]
    expect(page.locator("th[scope=colgroup]")).to_have_text(heads)
    expect(page.get_by_role("row", name=re.compile("trustworthiness"))).to_contain_text("0.")
    expect(page.locator("#answers")).not_to_contain_text("Measuring")
    keep(page, "studio-data")


def test_a_column_filters_a_map_with_contours(scene: Callable[..., Page]):
    page = scene("t-SNE")
    page.get_by_role("button", name="Contours").click()
    box = box_of(page.get_by_role("img", name="Histogram of alcohol"))
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 9, steps=4)
    page.mouse.up()
    status = page.locator("#answers [role=status]")
    expect(status).to_have_text(re.compile(rf"\d+ of {N} objects pass"))
    left = int(status.inner_text().split()[0])
    assert 0 < left < N
    until(lambda: shown(page, 0) == left, "the others are hidden")
    keep(page, "studio-columns")


def test_features_and_doubts_are_shown(scene: Callable[..., Page]):
    page = scene("PCA")
    plain = picture_at_rest(page)
    with page.expect_response("**/errors?kind=doubt"):
        page.get_by_role("button", name="Trust").click()
    until(lambda: picture(page) != plain, "some points are faint")
    page.get_by_role("tab", name="Features").click()
    expect(page.locator(".reasons tbody tr").first).to_contain_text("0.")
    features = set(load_wine().feature_names)
    until(lambda: len(written(page) & features) >= 3, "arrows have the names of features")
    keep(page, "studio-features")


def test_a_region_says_what_distinguishes_it(scene: Callable[..., Page]):
    page = scene("t-SNE")
    page.get_by_role("button", name="Regions").click()
    until(lambda: any("class_" in name for name in written(page)), "regions have names")
    page.get_by_role("tab", name="Selection").click()
    page.get_by_role("group", name="Select a region").get_by_role("button").first.click()
    expect(page.get_by_text("What distinguishes them")).to_be_visible()
    expect(page.locator("#answers tbody tr")).not_to_have_count(0)
    keep(page, "studio-regions")


def test_objects_are_found_by_their_ids_in_the_dark(scene: Callable[..., Page]):
    page = scene("t-SNE", scheme="dark")
    page.keyboard.press("/")
    page.keyboard.type("wine-066")
    page.keyboard.press("Enter")
    expect(page.locator(".neighbours li")).to_have_count(10)
    page.keyboard.press("Backspace")
    expect(page.locator("#hits bdi")).to_have_text([f"wine-{i:03d}" for i in range(60, 70)])
    until(lambda: written(page) == GROUPS, "the groups have their names")
    keep(page, "studio-search")


def test_a_map_fits_on_a_phone(scene: Callable[..., Page]):
    page = scene("t-SNE", scheme="dark", size=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("button", name="Regions").click()
    until(lambda: any("class_" in name for name in written(page)), "regions have names")
    keep(page, "studio-phone")


def test_the_guide_shows_these_pictures_alone():
    made = set(re.findall(r'keep\(page, "(.*?)"\)', Path(__file__).read_text("utf-8")))
    for folder in (DOCS / "images").glob("studio-*.png"), DOCS.glob("*.rst"):
        texts = [path.name if path.suffix == ".png" else path.read_text("utf-8") for path in folder]
        assert set(re.findall(r"(studio-\w+)\.png", " ".join(texts))) == made
