"""Writes a page for each method before the build, from its class and methods.toml.

The traits of the class are what the program itself prints about a method. methods.toml holds the
idea, the objective, when not to use it, and the code of a figure. Parameters, notes and references
are those of the docstring, which Sphinx inserts.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from lowdim.catalog import CATALOG, Method

FAMILIES = {
    "spectral": "Spectral methods",
    "stress": "Methods that preserve distances",
    "neighbor embedding": "Methods that preserve neighbours",
    "learned": "Learned maps",
}


def written(folder: Path) -> dict[str, dict[str, str]]:
    """The entries of methods.toml by method, empty if there is none; an error for other names."""
    with (folder / "methods.toml").open("rb") as file:
        texts: dict[str, dict[str, str]] = tomllib.load(file)
    known = {row.name: texts.pop(row.name, {}) for row in CATALOG}
    if texts:
        raise ValueError(f"methods.toml has entries of unknown methods: {', '.join(texts)}.")
    return known


def page_name(row: Method) -> str:
    """Name of the page of a method, after its module, or its class if the module has several."""
    if sum(other.module == row.module for other in CATALOG) > 1:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", row.name).lower()
    return row.module.rpartition(".")[2]


def escape(text: str) -> str:
    """Text without inline markup."""
    return re.sub(r"([*_`|\\])", r"\\\1", text)


def page(row: Method, text: dict[str, str]) -> str:
    """The reStructuredText of one page."""
    title = text.get("title", row.name)
    title = title if title == row.name else f"{title} (`{row.name}`)"
    facts = [
        ("In a sentence", f"``{row.sentence}``"),
        ("Preserves", escape(row.keeps)),
        ("Cost", escape(row.cost)),
        ("New objects, and inverse", escape(row.extends)),
    ]
    lines = [title, "=" * len(title), "", text.get("idea", "").strip(), ""]
    for name, said in facts:
        lines += [f":{name}: {said}"]
    lines += [""]
    if "objective" in text:
        lines += ["Objective", "---------", "", ".. math::", "", *_indented(text["objective"]), ""]
        lines += [text.get("where", "").strip(), ""]
    lines += ["When to use it", "--------------", "", f"**Yes:** {escape(row.when)}.", ""]
    if "avoid" in text:
        lines += [f"**No:** {text['avoid'].strip()}", ""]
    if "figure" in text:
        lines += ["Example", "-------", "", f".. picture:: method-{page_name(row)}"]
        lines += [f"   :caption: {text['caption'].strip()}", "", *_indented(text["figure"]), ""]
    lines += [
        "Reference",
        "---------",
        "",
        f".. autoclass:: lowdim.{row.name}",
        "   :members:",
        "",
    ]
    return "\n".join(lines)


def index(texts: dict[str, dict[str, str]]) -> str:
    """The table of all methods, and their order in the menu."""
    lines = ["Methods", "=======", "", "What each method preserves and when to use it. The command"]
    lines += ["`lowdim methods` prints the same table.", ""]
    for family, title in FAMILIES.items():
        rows = [row for row in CATALOG if row.family == family]
        lines += [title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1"]
        lines += [
            "   :widths: 22 34 44",
            "",
            "   * - Method",
            "     - Preserves",
            "     - When to use it",
        ]
        for row in rows:
            link = f":doc:`{texts[row.name].get('title', row.name)} <{page_name(row)}>`"
            lines += [
                f"   * - {link}",
                f"     - {escape(row.keeps)}",
                f"     - {escape(row.when)}",
            ]
        lines += [""]
    lines += [".. toctree::", "   :hidden:", ""]
    titles = [texts[row.name].get("title", row.name) for row in CATALOG]
    lines += [f"   {t} <{page_name(row)}>" for t, row in zip(titles, CATALOG, strict=True)]
    return "\n".join([*lines, ""])


def _indented(text: str) -> list[str]:
    return [f"   {line}".rstrip() for line in text.strip("\n").splitlines()]


def _write(app: Any) -> None:
    source = Path(app.srcdir)
    texts = written(source)
    folder = source / "methods"
    folder.mkdir(exist_ok=True)
    pages = {page_name(row): page(row, texts[row.name]) for row in CATALOG}
    pages["index"] = index(texts)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", lambda app, _config: _write(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
