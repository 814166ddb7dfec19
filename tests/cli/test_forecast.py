"""What a fit will cost is asked of the algorithm that will run."""

import numpy as np
import pytest

from lowdim.catalog import find
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
        return forecast.Probe(X.shape[0], 1e-3 * X.shape[0], 1000 * X.shape[0])

    monkeypatch.setattr(mds, "LARGE", 300)
    monkeypatch.setattr(forecast, "_probe", probe)
    monkeypatch.setattr(forecast, "_warm_up", lambda *_: None)
    X = np.random.RandomState(0).uniform(size=(400, 400))
    found = forecast.forecast(find("MDS"), given, X)
    assert seen == [probed, probed]
    assert found.seconds == pytest.approx(0.4)
    all_pairs = "sampled" not in probed.values()
    assert found.n_bytes == pytest.approx(max(400_000, 8 * 400**2 * all_pairs))


@pytest.mark.parametrize("name", ["Isomap", "CurvilinearDistanceAnalysis"])
def test_landmarks_make_the_memory_linear(name, monkeypatch):
    monkeypatch.setattr(
        forecast, "_probe", lambda m, p, X: forecast.Probe(X.shape[0], 1e-3, 10 * X.shape[0])
    )
    monkeypatch.setattr(forecast, "_warm_up", lambda *_: None)
    row, X = find(name), np.zeros((1000, 2))
    assert forecast.forecast(row, {}, X).n_bytes >= 8e6
    assert forecast.forecast(row, {row.reduced_by: 50}, X).n_bytes == pytest.approx(10_000)
