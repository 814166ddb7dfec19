"""`.. live::`: maps of a table that the engine of `make wasm` computes in the page of the reader.

The code sets `table`, and `labels` or None; it shares its variables with the pictures of the page.
`:methods:` are names in `KINDS` of web/src/live/card.ts, `:start:` is the text of the button, and
with `:drop:` the reader can drop a file of their own.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

SITE = Path(__file__).parents[2] / "src" / "lowdim" / "web" / "live"
MISSING = (
    "Maps that are computed in this page are not part of this copy of the site: make wasm, which "
    "needs Emscripten and Node, adds them when the site is built."
)


class Live(SphinxDirective):
    has_content = True
    option_spec = {  # noqa: RUF012
        "methods": directives.unchanged_required,
        "start": directives.unchanged_required,
        "drop": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        if not (SITE / "engine.js").is_file():
            self.env.note_reread()
            return [nodes.note("", nodes.paragraph(MISSING, MISSING))]
        names = self.env.temp_data.setdefault("picture-names", {"__name__": "picture"})
        exec(compile("\n".join(self.content), self.env.docname, "exec"), names)
        labels = names["labels"]
        rows = [",".join(map(repr, row)) for row in names["table"].tolist()]
        header = ",".join(f"x{j + 1}" for j in range(names["table"].shape[1]))
        if labels is not None:
            header = f"label,{header}"
            rows = [f"{label},{row}" for label, row in zip(labels.tolist(), rows, strict=True)]
        example = "\n".join([header, *rows]).replace(".0,", ",").replace(".0\n", "\n")
        drop = " data-drop" if "drop" in self.options else ""
        start, methods = (escape(self.options[name], quote=True) for name in ("start", "methods"))
        html = (
            f'<div class="lowdim-live" data-methods="{methods}" data-start="{start}"{drop}>'
            f"<template>{escape(example, quote=False)}</template></div>"
        )
        return [nodes.raw("", html, format="html")]


def add_script(app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Load the scripts of live maps on the pages that have one."""
    if 'class="lowdim-live"' in context.get("body", ""):
        app.add_js_file("live.js", defer="defer")
        app.add_css_file("live.css")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("live", Live)
    app.connect("html-page-context", add_script)
    if SITE.is_dir():
        app.connect("config-inited", lambda _app, config: config.html_static_path.append(str(SITE)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
