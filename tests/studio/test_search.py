"""Search for objects by id, text, category, value and date."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowdim.studio.datasets import prepare
from lowdim.studio.search import all_rows, describe_hits, search

ROWS = [
    ("ab-1", "red", 1.5, "A quiet morning", "2024-01-05"),
    ("ab-10", "red", 2.5, "the Évening star", "2024-03-01"),
    ("zab-1", "dark red", -4.0, "morning star, morning", "2024-03-02 12:00"),
    ("c", "blue", 10.0, "", "2025-01-01"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = ["code,colour,size,note,day"]
    lines += [f'{a},{b},{c},"{d}",{e}' for a, b, c, d, e in ROWS * 8]  # distinct enough to be text
    for place, line in enumerate(lines[1:]):
        code, _, rest = line.partition(",")
        note = f"{place}" if place >= len(ROWS) else ""
        lines[1 + place] = f"{code}{note},{rest}".replace('",2', f'{note}",2')
    path = tmp_path / "things.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = tmp_path / "made"
    made.mkdir()
    roles = {"code": "id", "colour": "label", "size": "feature", "note": "label", "day": "label"}
    about = prepare(str(made), {"path": str(path)}, {"roles": roles})
    kinds = {one["name"]: one["kind"] for one in about["columns"]}
    assert kinds == {
        "code": "id", "colour": "category", "size": "number", "note": "text", "day": "date"
    }  # fmt: skip
    return made


def rows(folder: Path, query: str, below: int = len(ROWS)) -> list[int]:
    return [row for row in all_rows(search(folder, query)).tolist() if row < below]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ab-1", [0, 1, 2]),
        ("MORNING", [0, 2]),
        ("évening", [1]),
        ("star, m", [2]),
        ("red", [0, 1, 2]),
        ("colour = red", [0, 1]),
        ("colour != red", [2, 3]),
        ("size > 2", [1, 3]),
        ("Size<=1.5", [0, 2]),
        ("2.5", [1]),
        ("day >= 2024-03-02", [2, 3]),
        ("day = 2024-03-01", [1]),
        ("note = quiet", [0]),
        ("size > x", []),
        ("nothing of this", []),
        ("  ", []),
    ],
)
def test_queries(folder: Path, query: str, expected: list[int]) -> None:
    assert rows(folder, query) == expected


def test_an_equal_id_comes_first_and_hits_say_what_matches(folder: Path) -> None:
    found = describe_hits(folder, search(folder, "zab-1"))
    assert found["hits"][0] == {"row": 2, "name": "zab-1", "column": None, "value": ""}
    found = describe_hits(folder, search(folder, "c"))
    assert found["hits"][0]["name"] == "c"
    found = describe_hits(folder, search(folder, "dark"))
    assert found["total"] == 8
    assert found["hits"][0] == {"row": 2, "name": "zab-1", "column": "colour", "value": "dark red"}


def test_texts_are_found_where_python_finds_them(folder: Path) -> None:
    import json

    about = json.loads((folder / "data.json").read_text())
    texts = [(one or "").lower() for one in about["texts"]["note"]]
    rng = np.random.default_rng(0)
    for _ in range(60):
        text = texts[rng.integers(len(texts))]
        start, length = rng.integers(len(text) + 1), rng.integers(1, 6)
        query = text[start : start + length]
        if query.strip() != query or not query:
            continue
        found = [one.rows for one in search(folder, query) if one.column == "note"]
        expected = [row for row, one in enumerate(texts) if query in one]
        assert sorted(np.concatenate([*found, []]).tolist()) == expected
