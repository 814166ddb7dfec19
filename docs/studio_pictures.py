"""Makes the pictures of the guide to the studio: `python docs/studio_pictures.py` (extra `test`).

Each is a screenshot of a studio that this script starts on the wines of scikit-learn.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from sklearn.datasets import load_wine

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from conftest import CHROMIUM, FLAGS  # noqa: E402
from studio.client import Client, Server  # noqa: E402
from studio.page import until_drawn  # noqa: E402

SIZE = {"width": 1280, "height": 760}


def write_wines(root: Path) -> None:
    wines = load_wine(as_frame=True)
    table = wines.frame.rename(columns={"target": "cultivar"})
    table["cultivar"] = wines.target_names[wines.target]
    table.insert(0, "id", [f"wine-{i:03d}" for i in range(len(table))])
    table.to_csv(root / "wines.csv", index=False)


def fit_wines(client: Client) -> None:
    """A map of the wines as they are, and one of standardised features; both are shown."""
    data = client.ask("POST", "/api/datasets", 201, json={"path": "wines.csv"})
    roles = {"id": "id", "cultivar": "label"}
    path = f"/api/datasets/{data['id']}"
    client.ask("PATCH", path, json={"roles": roles, "label": "cultivar"})
    raw = client.fit(data, "TSNE", parameters={"perplexity": 12})
    client.ask("PATCH", path, json={"standardize": True})
    scaled = client.fit(data, "TSNE", parameters={"perplexity": 12})
    layout = {"shown": [raw["id"], scaled["id"]], "active": raw["id"], "dataset": data["id"]}
    client.ask("PUT", "/api/layout", json=layout)


def compare_data(page: Page) -> None:
    page.get_by_role("tab", name="Quality").click()
    expect(page.get_by_text("These maps are of different data")).to_be_visible()
    expect(page.get_by_text("Measuring")).to_have_count(0)


def filter_columns(page: Page) -> None:
    page.get_by_role("button", name="Take t-SNE from the screen").first.click()
    page.get_by_role("button", name="Contours").click()
    box = page.get_by_role("img", name="Histogram of alcohol").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 9, steps=4)
    page.mouse.up()
    expect(page.locator("#answers [role=status]")).to_contain_text("objects pass")


def search_objects(page: Page) -> None:
    page.get_by_role("button", name="Take t-SNE from the screen").first.click()
    page.keyboard.press("/")
    page.keyboard.type("wine-06")
    expect(page.locator("#hits li")).to_have_count(11)
    page.keyboard.press("Enter")
    expect(page.locator(".neighbours li")).to_have_count(10)
    page.keyboard.press("Backspace")
    page.keyboard.type("6")
    expect(page.locator("#hits li")).to_have_count(11)


def ask_features(page: Page) -> None:
    page.get_by_role("button", name="Take t-SNE from the screen").first.click()
    with page.expect_response("**/errors?kind=doubt"):
        page.get_by_role("button", name="Trust").click()
    page.get_by_role("tab", name="Features").click()
    expect(page.locator(".reasons tr")).not_to_have_count(0)


def ask_regions(page: Page) -> None:
    page.get_by_role("button", name="Take t-SNE from the screen").first.click()
    page.get_by_role("button", name="Regions").click()
    page.get_by_role("tab", name="Selection").click()
    page.get_by_role("group", name="Select a region").get_by_role("button").first.click()
    expect(page.get_by_text("What distinguishes them")).to_be_visible()


PICTURES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "studio-data": ("light", compare_data),
    "studio-columns": ("light", filter_columns),
    "studio-features": ("light", ask_features),
    "studio-regions": ("light", ask_regions),
    "studio-search": ("dark", search_objects),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_wines(Path(folder))
        server = Server(Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            fit_wines(server.client())
            layout = server.client().ask("GET", "/api/state")["layout"]
            for name, (scheme, act) in PICTURES.items():
                server.client().ask("PUT", "/api/layout", json=layout)
                page = browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
                page.goto(server.address)
                until_drawn(page, 178)
                act(page)
                page.wait_for_timeout(500)  # the points rest
                page.screenshot(path=HERE / "images" / f"{name}.png")
                page.close()
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
