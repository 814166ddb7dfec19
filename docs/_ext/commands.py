"""`.. command:: NAME`: the help of a subcommand of `lowdim`, as the command line prints it."""

from __future__ import annotations

from typing import Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from lowdim.cli import main

WIDTH = 92  # characters in a line of the page


class Command(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        outer = click.Context(main, info_name="lowdim", terminal_width=WIDTH)
        context = click.Context(main.commands[name], info_name=name, parent=outer)
        text = main.commands[name].get_help(context)
        return [nodes.literal_block(text, text, language="none")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
