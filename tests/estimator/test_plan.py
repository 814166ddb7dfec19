"""What a fit will take: memory by formulas, time only as a range, and what would be cheaper."""

import os

import numpy as np
import pytest

import lowdim
from lowdim.catalog import CATALOG
from lowdim.estimator import probes
from lowdim.estimator.footprint import footprint
from lowdim.objects.objects import objects_of
from lowdim.runtime import memory
from lowdim.stress.mds import mds


@pytest.fixture
def rows():
    return np.random.RandomState(0).uniform(size=(800, 3))


@pytest.mark.parametrize(
    ("given", "probed"),
    [
        ({}, "auto"),  # the growth has been measured
        ({"metric": "cityblock"}, "sampled"),
        ({"method": "smacof"}, "smacof"),
        ({"metric": "precomputed"}, "auto"),
    ],
)
def test_probes_run_the_algorithm_of_the_fit(given, probed, rows, monkeypatch):
    seen = []

    def probe(estimator, objects):
        seen.append(estimator.method)
        return 1e-3 * objects.n

    monkeypatch.setattr(mds, "LARGE", 300)
    monkeypatch.setattr(probes, "_probe", probe)
    monkeypatch.setattr(probes, "fit_times", lambda: {"MDS": [(100, 3.0), (800, 24.0)]})
    X = np.linalg.norm(rows[:, None] - rows, axis=2) if "precomputed" in given.values() else rows
    low, high = lowdim.plan(lowdim.MDS(**given, n_jobs=1), X).seconds
    assert seen == [probed] * 4  # and one that is not counted
    assert low <= 0.8 <= high <= probes.WIDEST * low


@pytest.mark.parametrize("n", [150, 1600, 30_000])
def test_time_grows_as_it_was_measured(n):
    """From quadratic to linear, as if an approximation began at 800 objects."""

    def law(size):
        return 2e-6 * min(size, 800) ** 2 * max(1.0, size / 800)

    measured = [(size, law(size)) for size in (100, 200, 400, 800, 1600, 3200)]
    slower = [(size, 3 * law(size)) for size in (200, 400)]
    low, high = probes.as_measured(slower, n, measured, threads=1)
    assert np.isclose(low, 3 * law(n) / probes.MARGIN)
    assert np.isclose(high, 3 * law(n) * probes.MARGIN)
    four = probes.as_measured(slower, n, measured, threads=4)[0]
    assert np.isclose(four / low, 1 - 0.75 * probes.PARALLEL)


def test_the_growth_of_every_method_has_been_measured():
    known = probes.fit_times()
    assert {m.name for m in CATALOG if m.objects == "vectors"} <= known.keys()
    for measured in known.values():
        sizes, seconds = np.transpose(measured)
        assert len(sizes) >= 3
        assert (np.diff(sizes) > 0).all()
        assert (seconds > 0).all()


@pytest.mark.parametrize("chosen", [{"method": "exact"}, {"metric": "cityblock"}], ids=str)
def test_other_algorithms_grow_by_the_law_of_the_catalog(chosen, rows, monkeypatch):
    monkeypatch.setattr(probes, "_probe", lambda estimator, objects: 1e-6 * objects.n**2)
    monkeypatch.setattr(probes, "fit_times", lambda: {"TSNE": [(100, 1.0), (800, 1.0)]})
    low, high = lowdim.plan(lowdim.TSNE(n_jobs=1, **chosen), rows).seconds
    assert low <= 0.64 <= high
    assert lowdim.plan(lowdim.TSNE(n_jobs=1), rows).seconds[1] < 0.64  # no growth


def test_times_that_contradict_each_other_are_not_given(monkeypatch):
    times = iter([0, *[1e-3] * 4, 5.0])
    monkeypatch.setattr(probes, "PATIENCE", 60)
    monkeypatch.setattr(probes, "_probe", lambda estimator, objects: next(times))
    X = np.random.RandomState(0).uniform(size=(4000, 2))
    found = lowdim.plan(lowdim.UMAP(metric="manhattan"), X)
    assert found.seconds is None
    assert found.summary == f"{memory.readable(found.n_bytes)} of memory beyond the data"
    assert "no estimate of the time" in str(found)


def test_time_is_that_of_the_processor(rows, monkeypatch):
    """Waiting for other programs does not count: the clock of the processor is read alone."""
    clock = iter(range(1000))
    monkeypatch.setattr(probes, "process_time", lambda: float(next(clock)))
    monkeypatch.setattr(probes, "PATIENCE", 60)
    low, high = lowdim.plan(lowdim.PCA(2), rows).seconds
    assert low <= 1.0 <= high


@pytest.mark.parametrize("method", [m for m in CATALOG if m.objects == "vectors"], ids=str)
def test_the_steps_add_up_to_the_claim(method, rows, monkeypatch):
    monkeypatch.setattr(probes, "seconds_of_fit", lambda *_: None)
    monkeypatch.setattr("lowdim.estimator.plan.seconds_of_fit", lambda *_: None)
    estimator = method.load()()
    before = dict(vars(estimator))
    found = lowdim.plan(estimator, rows)
    assert vars(estimator) == before
    assert found.n_bytes == footprint(estimator, objects_of(rows))
    assert all(size > 0 for size in found.memory.values())
    assert found.cheaper
    assert str(found).startswith(f"{method.name} of 800 objects\n  memory       ")


def test_over_the_budget_is_an_error_with_what_this_estimator_can_do(rows):
    with lowdim.compute(memory="4MB"):
        with pytest.raises(MemoryError, match=r"may take 4\.0 MB .* Set n_landmarks=80 or so, or"):
            lowdim.plan(lowdim.Isomap(), rows)
        with pytest.raises(MemoryError, match=r"Set method='sampled', or take a sample"):
            lowdim.plan(lowdim.MDS(), rows)
        with pytest.raises(MemoryError) as caught:
            lowdim.plan(lowdim.TSNE(), rows)
    assert "n_landmarks" not in str(caught.value)


def test_what_is_approximate(rows, monkeypatch):
    monkeypatch.setattr("lowdim.estimator.plan.seconds_of_fit", lambda *_: None)
    wide = np.random.RandomState(0).uniform(size=(12_000, 20))
    assert lowdim.plan(lowdim.Isomap(), rows).approximate == []
    assert "n_landmarks=50" in lowdim.plan(lowdim.Isomap(n_landmarks=50), rows).approximate[0]
    assert lowdim.plan(lowdim.MDS(), wide).approximate == ["stress, by random pairs"]
    assert "set method='sampled'" not in lowdim.plan(lowdim.MDS(), wide).cheaper
    exact = lowdim.plan(lowdim.TSNE(method="exact"), rows).approximate
    assert exact == []


def test_a_plan_leaves_the_checkpoint_alone(rows, tmp_path, monkeypatch):
    from lowdim.runtime import checkpoint

    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    lowdim.plan(lowdim.MDS(checkpoint=tmp_path / "run.lowdim"), rows)
    assert os.listdir(tmp_path) == []


def test_only_estimators_of_lowdim_have_a_plan(rows):
    from sklearn.decomposition import PCA

    with pytest.raises(TypeError, match="must be an estimator of lowdim"):
        lowdim.plan(3, rows)
    with pytest.raises(TypeError, match="must be an estimator of lowdim"):
        lowdim.plan(PCA(), rows)


def test_a_dry_run_writes_nothing(rows, tmp_path):
    from click.testing import CliRunner

    from lowdim.cli import main

    table = tmp_path / "table.csv"
    np.savetxt(table, rows, delimiter=",")
    output = str(tmp_path / "map.csv")
    command = ["embed", str(table), "-m", "isomap", "-o", output, "--dry-run"]
    found = CliRunner().invoke(main, command)
    assert found.exit_code == 0
    assert "memory " in found.output
    assert "n_landmarks=80 or so" in found.output
    assert os.listdir(tmp_path) == ["table.csv"]
    small = CliRunner().invoke(main, command, env={"LOWDIM_MEMORY": "1MB"})
    assert small.exit_code == 5
    assert "n-landmarks" in small.output


def test_methods_with_a_square_matrix_say_so():
    square = {row.name for row in CATALOG if "n^2 memory" in row.cost}
    assert {row.name for row in CATALOG if row.memory == 2.0} == square - {"ClassicalMDS"}
