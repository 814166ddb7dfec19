"""The columns of a data set as the studio stores them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from lowdim.studio.columns import describe_columns
from lowdim.studio.datasets import read_about, read_column, read_value


def test_dates_are_numbers_of_days_that_come_back_to_the_minute(tmp_path: Path) -> None:
    moments = np.array(["2024-02-29", "2031-07-01T13:45", "NaT"], "datetime64[m]")
    table = SimpleNamespace(
        columns=["x"],
        file_columns={"x": np.arange(3.0)},
        labels={"day": moments},
        ids=None,
        id_name=None,
        recipe=None,
    )
    described, stored = describe_columns(table)
    day = next(one for one in described if one["name"] == "day")
    assert day["kind"] == "date"
    assert day["missing"] == 1
    assert sum(day["histogram"]) == 2
    assert day["origin"] == np.datetime64("2024-02-29").astype(int)
    np.save(tmp_path / "numbers.npy", np.array(stored["numbers"], np.float32))
    (tmp_path / "data.json").write_text(json.dumps(stored | {"numbers": None}))
    read_about.cache_clear()
    np.testing.assert_allclose(read_column(tmp_path, "day"), [0, 2679 + 13.75 / 24, np.nan])
    texts = [read_value(tmp_path, "day", row) for row in range(3)]
    assert texts == ["2024-02-29", "2031-07-01 13:45", None]
