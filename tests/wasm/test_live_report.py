"""A report whose page computes maps itself, in Chromium."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from sklearn.datasets import load_digits

import lowdim
from lowdim.report import write

ROOT = Path(__file__).parents[2]
NEEDED = ("em++", "node", "npm", "make")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)), reason=f"needs {', '.join(NEEDED)}"
)
X, DIGIT = load_digits(return_X_y=True)
X, DIGIT = X[:150], DIGIT[:150]


@pytest.fixture(scope="module", autouse=True)
def engine() -> None:
    subprocess.run(["make", "--silent", "wasm"], cwd=ROOT, check=True, capture_output=True)


def coordinates(tab, card):
    with tab.expect_download() as download:
        card.get_by_role("button", name="Save coordinates").click()
    return np.loadtxt(download.value.path(), delimiter=",", skiprows=1)[:, 1:]


def test_a_report_computes_another_perplexity_with_the_bits_of_python(tmp_path, context):
    names = np.array([f"<b>digit</b> {digit}, </template>" for digit in DIGIT])
    path = write(
        tmp_path / "report.html",
        {"PCA": lowdim.PCA(2).fit_transform(X)},
        X=X,
        labels=names,
        live=True,
    )
    plain = write(
        tmp_path / "plain.html", {"PCA": lowdim.PCA(2).fit_transform(X)}, X=X, labels=names
    )
    assert path.stat().st_size - plain.stat().st_size < 400_000
    tab, complaints = context.new_page(), []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    tab.on("request", lambda request: complaints.append(request.url))
    tab.goto(path.as_uri())
    complaints.remove(path.as_uri())
    tab.get_by_role("button", name="Compute maps in this page").click()
    card = tab.locator(".lowdim-live .card", has_text="t-SNE")
    for perplexity in (30, 12):
        if perplexity != 30:
            card.get_by_label("perplexity").fill(str(perplexity))
        expect(card.get_by_role("button", name="Save coordinates")).to_be_enabled(timeout=60_000)
        expected = lowdim.TSNE(perplexity=perplexity, random_state=0).fit_transform(X)
        np.testing.assert_array_equal(coordinates(tab, card), expected)
    expect(tab.get_by_label("Colour by").locator("option").first).to_have_text("label")
    assert [url for url in complaints if not url.startswith("blob:")] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give X"),
        ({"X": X, "metric": "cosine"}, "no other metric"),
        ({"X": np.zeros((5001, 2))}, "at most 5,000 objects"),
    ],
)
def test_what_the_page_cannot_compute_is_refused(tmp_path, options, message):
    n = len(options.get("X", X))
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "report.html", {"a": np.zeros((n, 2))}, live=True, **options)
