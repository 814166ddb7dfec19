"""`.. picture:: NAME`: code that is shown, run, and followed by what it prints and draws.

The blocks of a page share their variables. What a block leaves in `figure` is the picture. With
`:data: FILE` it needs a file in the folder LOWDIM_DATA, without which the picture NAME.png of
`docs/images` takes its place; it is written there whenever the file is found.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

DPI = 140
MADE, KEPT = "_build/pictures", "images"  # folders of docs: made by every build, and committed


class Picture(SphinxDirective):
    has_content = True
    required_arguments = 1
    option_spec = {  # noqa: RUF012
        "alt": directives.unchanged_required,
        "data": directives.unchanged_required,
        "caption": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        listing = nodes.literal_block(code, code, language="python")
        missing = self._missing()
        if missing:
            self.env.note_reread()
            return [listing, self._shown(KEPT)]
        printed = io.StringIO()
        names = self.env.temp_data.setdefault("picture-names", {"__name__": "picture"})
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{self.env.docname}:{self.arguments[0]}", "exec"), names)
        shown: list[nodes.Node] = [listing]
        if printed.getvalue():
            text = printed.getvalue().rstrip()
            shown.append(nodes.literal_block(text, text, language="none"))
        if "figure" in names:
            shown.append(self._drawn(names.pop("figure")))
        return shown

    def _missing(self) -> str:
        file = self.options.get("data", "")
        folder = os.environ.get("LOWDIM_DATA")
        return "" if not file or (folder and (Path(folder) / file).is_file()) else file

    def _drawn(self, figure: Any) -> nodes.Node:
        folder = KEPT if "data" in self.options else MADE
        path = Path(self.env.srcdir) / folder / f"{self.arguments[0]}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        getattr(figure, "figure", figure).savefig(path, dpi=DPI)
        return self._shown(folder)

    def _shown(self, folder: str) -> nodes.Node:
        """The picture of that folder."""
        alt = self.options.get("alt") or self.options.get("caption") or self.arguments[0]
        picture = nodes.image(
            uri=f"/{folder}/{self.arguments[0]}.png", alt=alt, classes=["picture"]
        )
        drawn = nodes.figure("", picture)
        if "caption" in self.options:
            said, problems = self.parse_inline(self.options["caption"])
            drawn += [nodes.caption("", "", *said), *problems]
        return drawn


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
