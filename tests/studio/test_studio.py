"""The state of a studio when several things happen at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowdim.studio.errors import Refused
from lowdim.studio.records import Dataset, Map
from lowdim.studio.session import Session
from lowdim.studio.snapshots import Snapshots
from lowdim.studio.studio import Studio

CSV = "height,weight,kind\n" + "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(20))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    session = Session(tmp_path / "session")
    yield Studio(session, tmp_path)
    session.close()


def run(studio: Studio, act: Callable[[Dataset], Coroutine[Any, Any, Any]]) -> Any:
    """Do something with a new data set."""
    path = studio.root / "people.csv"
    path.write_text(CSV)

    async def steps() -> Any:
        try:
            return await act(await studio.open_file(path))
        finally:
            studio.helper.close()

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop, of a browser test before
        return pool.submit(asyncio.run, steps()).result()


def test_changes_of_a_data_set_at_the_same_time_all_hold(studio: Studio) -> None:
    async def act(dataset: Dataset) -> None:
        await asyncio.gather(
            studio.change_dataset(dataset, {"standardize": True}),
            studio.change_dataset(dataset, {"roles": {"weight": "ignore"}}),
            studio.change_dataset(dataset, {"missing": "drop"}),
        )

    run(studio, act)
    (now,) = studio.session.datasets.values()
    assert now.version == 4
    assert (now.choices["standardize"], now.choices["missing"]) == (True, "drop")
    assert now.about["d"] == 1


def test_a_data_set_that_is_removed_while_it_changes_does_not_come_back(studio: Studio) -> None:
    async def act(dataset: Dataset) -> None:
        changing = asyncio.create_task(studio.change_dataset(dataset, {"standardize": True}))
        await asyncio.sleep(0)  # the helper has the question
        studio.remove_dataset(dataset)
        with pytest.raises(Refused):
            await changing

    run(studio, act)
    assert not studio.session.datasets


def test_a_snapshot_that_the_fit_has_dropped_meanwhile_is_replaced(studio: Studio) -> None:
    one = Map("m", 1, "d", 1, "TSNE", "", {}, None, 4, status="running", snapshots=[1, 2, 3])
    studio.session.add_map(one)
    snapshots = Snapshots(studio.session.map_folder(one))
    Y = np.arange(8, dtype="<f4").reshape(4, 2)
    for iteration in one.snapshots:
        snapshots.take(iteration, *Y.shape, (Y + iteration).tobytes())
    snapshots._drop([2, 3])
    for frame in (0, 1, 2, None):
        np.testing.assert_array_equal(studio.coordinates(one, frame), Y + 1)
    snapshots._drop([1])
    with pytest.raises(Refused):
        studio.coordinates(one, 2)
