"""CONTRIBUTING is true: the files and functions that it names are there."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = ("src", "cpp", "web/src", "tests", "benchmarks", "docs")
FILES = [*ROOT.glob("*.*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))]
FILE = r"[\w/*.-]+\.(?:py|pyi|ts|toml|json|rst|cpp|hpp|inc|md)"
NAME = r"(?:\w+\.)*\w+"
# A file, and the names after it up to the next file: `a/b.py` `first`, `second`
REFERENCES = dict.fromkeys(re.findall(rf"`({FILE})`((?:,?\s+`(?!{FILE}`){NAME}`)*)", TEXT))


def test_what_is_named_is_there() -> None:
    missing = []
    for file, names in REFERENCES:
        meant = [path for path in FILES if fnmatch(path.as_posix(), f"*/{file}")]
        text = "\n".join(path.read_text("utf-8") for path in meant)
        missing += [] if meant else [file]
        for name in re.findall(NAME, names):
            last = name.rpartition(".")[2]
            defined = rf"(?m)^ *(?:(?:def|class) {last}\b|{last}(?:: .*)? = )"
            missing += [] if re.search(defined, text) else [f"{name} in {file}"]
    assert REFERENCES
    assert missing == []
