"""What a fit will cost: memory from the catalog, time only as a range."""

import numpy as np
import pytest

from lowdim.catalog import CATALOG, find
from lowdim.cli import forecast
from lowdim.methods import mds


@pytest.mark.parametrize(
    ("given", "probed"),
    [
        ({}, {"method": "sampled"}),
        ({"method": "auto"}, {"method": "sampled"}),
        ({"method": "smacof"}, {"method": "smacof"}),
        ({"metric": "precomputed"}, {"metric": "precomputed"}),
    ],
)
def test_probes_run_the_algorithm_of_the_fit(given, probed, monkeypatch):
    seen = []

    def probe(method, params, X):
        seen.append(params)
        return 1e-3 * X.shape[0]

    monkeypatch.setattr(mds, "LARGE", 300)
    monkeypatch.setattr(forecast, "_probe", probe)
    monkeypatch.setattr(forecast, "_warm_up", lambda *_: None)
    X = np.random.RandomState(0).uniform(size=(800, 800))
    found = forecast.forecast(find("MDS"), given, X)
    assert seen == [probed] * 3
    low, high = found.seconds
    assert low <= 0.8 <= high <= forecast._WIDEST * low
    all_pairs = "sampled" not in probed.values()
    assert found.n_bytes == (8 * 800**2 if all_pairs else None)


@pytest.mark.parametrize("name", ["Isomap", "CurvilinearDistanceAnalysis"])
def test_landmarks_need_no_square_matrix(name, monkeypatch):
    monkeypatch.setattr(forecast, "_probe", lambda m, p, X: 1e-3)
    monkeypatch.setattr(forecast, "_warm_up", lambda *_: None)
    row, X = find(name), np.zeros((1000, 2))
    assert forecast.forecast(row, {}, X).n_bytes == 8e6
    assert forecast.forecast(row, {row.reduced_by: 50}, X).n_bytes is None


def test_times_that_contradict_each_other_are_not_told(monkeypatch):
    times = iter([1e-3] * 8 + [5.0])
    monkeypatch.setattr(forecast, "_PATIENCE", 60)
    monkeypatch.setattr(forecast, "_probe", lambda m, p, X: next(times))
    monkeypatch.setattr(forecast, "_warm_up", lambda *_: None)
    found = forecast.forecast(find("NeRV"), {}, np.zeros((100_000, 2)))
    assert found.seconds is None
    assert str(found).startswith("at least 80.0 GB of memory")


def test_methods_with_a_square_matrix_say_so():
    square = {row.name for row in CATALOG if "n^2 memory" in row.cost}
    assert {row.name for row in CATALOG if row.memory == 2.0} == square - {"ClassicalMDS"}
