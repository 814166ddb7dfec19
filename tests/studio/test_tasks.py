"""Six tasks as a new user does them on the page: what is found, and by how many clicks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from sklearn.datasets import load_digits, load_wine

from studio.client import Server
from studio.page import Tab

WRONG = np.random.default_rng(0).choice(400, 16, replace=False)


def write_digits(path: Path) -> None:
    """Digits, of which 16 have the label of the next one."""
    X, y = load_digits(return_X_y=True)
    y = y[:400].copy()
    y[WRONG] = (y[WRONG] + 1) % 10
    lines = [",".join([*(f"pixel{i}" for i in range(64)), "digit"])]
    lines += [",".join([*(f"{value:.0f}" for value in X[i]), str(y[i])]) for i in range(400)]
    path.write_text("\n".join(lines) + "\n")


def write_wines(path: Path) -> None:
    """Wines without their cultivars."""
    wines = load_wine(as_frame=True).data
    wines.insert(0, "id", [f"wine-{i:03d}" for i in range(len(wines))])
    wines.to_csv(path, index=False)


def write_cells(path: Path) -> None:
    """Cells of three types, two genes for each; B cells have much of gene 8 on day 7."""
    random = np.random.default_rng(0)
    kind, day = random.integers(3, size=450), random.integers(2, size=450)
    genes = random.normal(size=(450, 12))
    for k in range(3):
        genes[kind == k, 2 * k : 2 * k + 2] += 5
    genes[(kind == 1) & (day == 1), 8] += 6
    lines = [",".join(["cell", *(f"gene {i}" for i in range(12)), "type", "day"])]
    for i in range(450):
        about = [["T", "B", "NK"][kind[i]], ["day 0", "day 7"][day[i]]]
        lines.append(",".join([f"cell-{i}", *(f"{value:.3f}" for value in genes[i]), *about]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A studio in a folder with three files."""
    root = tmp_path_factory.mktemp("tasks")
    write_digits(root / "digits.csv")
    write_wines(root / "wines.csv")
    write_cells(root / "cells.csv")
    server = Server(root)
    yield server
    server.stop()


class Visitor:
    """Somebody who clicks, and counts it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name))

    def tab(self, name: str) -> None:
        self.click(self.page.get_by_role("tab", name=name))

    def run(self) -> None:
        """Make a map and wait until it is done."""
        self.click(self.page.locator(".run.large button"))
        expect(self.page.locator(".status")).to_have_text("done")


@pytest.fixture
def visit(context: BrowserContext, own: Server) -> Iterator[Any]:
    """Opens the page on a file, as `lowdim studio FILE` does."""
    tab = Tab(context.new_page(), own)

    def open_file(name: str, **choices: Any) -> Visitor:
        client = own.client()
        data = client.ask("POST", "/api/datasets", 201, json={"path": name})
        client.ask("PATCH", f"/api/datasets/{data['id']}", json=choices)
        client.ask("PUT", "/api/layout", json={"dataset": data["id"], "shown": []})
        return Visitor(tab.open())

    yield open_file
    assert tab.errors == []


def test_find_the_mislabelled(visit: Any):
    me = visit("digits.csv")
    me.tab("Suspects")
    names = me.page.locator(".suspects strong")
    expect(names.nth(15)).to_be_visible()
    rows = {int(re.findall(r"row (\d+)", text)[0]) for text in names.all_inner_texts()[:16]}
    assert len(rows & set(WRONG.tolist())) >= 14
    assert me.clicks == 1


def test_what_are_the_three_groups_of_wines_and_why(visit: Any):
    me = visit("wines.csv")
    me.click(me.page.locator(".switch", has_text="Standardise features"))
    me.run()
    me.tab("Selection")
    groups = me.page.get_by_role("group", name="Select a region").get_by_role("button")
    expect(groups).to_have_count(3)
    reasons = []
    for group in groups.all():
        me.click(group)
        size = int(group.locator("small").inner_text())
        expect(me.page.get_by_role("heading", name=f"{size} objects selected")).to_be_visible()
        expect(group).to_have_attribute("aria-pressed", "true")
        expect(me.page.locator("#answers tbody tr")).not_to_have_count(0)
        reasons.append(me.page.locator("#answers tbody th").first.inner_text())
    assert len(set(reasons)) == 3
    assert {"proline", "alcohol"} <= set(reasons)
    assert me.clicks == 6


def test_which_cells_changed_between_days(visit: Any):
    me = visit("cells.csv", roles={"cell": "id", "type": "label", "day": "label"}, label="type")
    me.run()
    me.tab("Selection")
    groups = me.page.get_by_role("group", name="Select a region").get_by_role("button")
    me.click(groups.filter(has_text=re.compile("^B 100%, gene 8 high")))
    day = me.page.locator("#answers tbody tr").filter(has_text="day: day 7")
    expect(day.locator("td").first).to_have_text("100 %")
    assert me.clicks == 3


def test_can_i_believe_this_outlier_and_which_are_like_it(visit: Any):
    me = visit("wines.csv", standardize=True)
    me.run()
    me.tab("Suspects")  # without labels: outliers
    me.click(me.page.locator(".suspects li > button").first)
    expect(me.page.locator(".suspects strong").first).to_have_text("wine-095: an outlier?")
    me.tab("Object")
    expect(me.page.get_by_text("It stands apart in the data")).to_contain_text("2.1 times as far")
    expect(me.page.get_by_text("Reliability of its place")).to_contain_text("half of the objects")
    assert me.clicks == 4
    me.button("Select the 50 most alike")
    expect(me.page.get_by_role("heading", name="50 objects selected")).to_be_visible()
    assert me.clicks == 5


def test_make_a_figure_for_a_paper(visit: Any):
    me = visit("wines.csv", standardize=True)
    me.run()
    me.button("Take away")
    figure = me.page.locator(".offers li").filter(has_text="Figure for a paper")
    with me.page.expect_download() as waiting:
        me.click(figure.get_by_role("button", name="PDF"))
    assert Path(waiting.value.path()).read_bytes().startswith(b"%PDF")
    assert me.clicks == 3
