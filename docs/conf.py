"""How Sphinx builds the site; `make docs` runs it, with warnings as errors."""

from __future__ import annotations

import sys
from inspect import signature
from pathlib import Path
from typing import Any

from sphinx.util.inspect import stringify_signature

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import lowdim

project = "lowdim"
author = "The lowdim developers"
copyright = author
version = release = lowdim.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "commands",
    "live",
    "mathml",
    "method_pages",
    "pictures",
]
exclude_patterns = ["_build"]
autosummary_generate = False
numpydoc_show_class_members = False  # autodoc lists the methods that a page asks for
autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "literal"
smartquotes = False  # a quotation mark in a docstring is that of a string
highlight_language = "python"
nitpicky = True
nitpick_ignore = [("py:obj", "metric_")]  # a property, which numpydoc links without an entry
nitpick_ignore_regex = [("py:class", r".*")]  # bases of classes, which have no page of their own

html_theme = "pydata_sphinx_theme"
html_title = "lowdim"
html_static_path = ["_static"]
html_css_files = ["lowdim.css"]
html_math_renderer = "mathml"
html_sidebars = {"*": [], "api/*": []}  # only the methods are many enough for a menu
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,  # on one line of a page 1280 pixels wide
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}


def _skip(_app: Any, _what: str, name: str, obj: Any, skip: bool, _options: Any) -> bool:
    """Leave out what is generated: scikit-learn's metadata requests, fields of named tuples."""
    request = name.startswith("set_") and name.endswith("_request")
    field = str(getattr(obj, "__doc__", None)).startswith("Alias for field number")
    return skip or request or field


def _constructor(
    _app: Any, what: str, _name: str, obj: Any, _options: Any, shown: str, returns: str
) -> tuple[str, str]:
    """The parameters of `__init__`; Sphinx takes those of the estimators' `__new__`."""
    if what != "class" or obj.__new__ is object.__new__ or not hasattr(obj, "get_params"):
        return shown, returns
    return stringify_signature(signature(obj), show_annotation=False), returns


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _constructor)
