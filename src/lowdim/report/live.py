"""Maps that the page itself computes, by the engine that `make wasm` compiles."""

from __future__ import annotations

import csv
import io
from importlib.resources import files
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.messages import argument
from lowdim.report.answers import first_of
from lowdim.report.markup import tag, text

MOST_ROWS = 5_000  # which the page maps in seconds to a minute
POLICY = " 'wasm-unsafe-eval'; worker-src blob:"
"""What the content security policy of the page must allow after its scripts."""


def live_section(X: Any, labels: Any, metric: Any) -> str:
    """The section with its data, styles and scripts."""
    if X is None or not (isinstance(metric, str) and metric in ("euclidean", "l2")):
        raise ValueError(
            f"{argument('live')} computes maps of vectors by their Euclidean distances: give "
            f"{argument('X')}, and no other {argument('metric')}."
        )
    folder = files("lowdim").joinpath("web", "live")
    if not folder.joinpath("engine.js").is_file():
        raise FileNotFoundError(
            f"{argument('live')} needs the engine for browsers, which is not part of this "
            "installation: run `make wasm` in the source of lowdim."
        )
    vectors = checks.dense(checks.vectors(X, name="X"))
    if len(vectors) > MOST_ROWS:
        raise ValueError(
            f"{argument('live')} maps at most {MOST_ROWS:,} objects in the page, but there are "
            f"{len(vectors):,}."
        )
    table = tag("template", text(_as_csv(vectors, first_of(labels))))
    start = "Compute maps in this page"
    host = tag("div", table, class_="lowdim-live", data_methods="tsne umap", data_start=start)
    note = "t-SNE and UMAP by this page, which holds the data and needs no network."
    style, *scripts = (
        folder.joinpath(name).read_text(encoding="utf-8")
        for name in ("live.css", "engine.js", "live.js")
    )
    return "\n".join(
        [
            f"<style>\n{style}</style>",
            tag("section", tag("h2", "Try other parameters"), tag("p", note, class_="note"), host),
            *(f"<script>\n{script}</script>" for script in scripts),
        ]
    )


def _as_csv(X: Any, labels: Any) -> str:
    """A table with the exact numbers, and the labels in the first column."""
    lines = io.StringIO()
    table = csv.writer(lines, lineterminator="\n")
    header, rows = [f"x{j + 1}" for j in range(X.shape[1])], X.tolist()
    if labels is not None:
        header = ["label", *header]
        rows = [[label, *row] for label, row in zip(np.asarray(labels).tolist(), rows, strict=True)]
    table.writerows([header, *rows])
    return lines.getvalue()
