"""What a fit will take: memory by formulas, time only as a range, and what would be cheaper."""

import os

import numpy as np
import pytest

import lowdim
import lowdim.estimator.plan as planning
from lowdim.catalog import CATALOG
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
        ({}, "sampled"),
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
    monkeypatch.setattr(planning, "_probe", probe)
    X = np.linalg.norm(rows[:, None] - rows, axis=2) if "precomputed" in given.values() else rows
    low, high = lowdim.plan(lowdim.MDS(**given, n_jobs=1), X).seconds
    assert seen == [probed] * 4  # and one that is not counted
    assert np.isclose(low, 0.8 / planning.MARGIN)
    assert np.isclose(high, 0.8 * planning.MARGIN)


def test_time_grows_with_the_power_of_the_method(rows, monkeypatch):
    monkeypatch.setattr(planning, "_probe", lambda estimator, objects: 1e-6 * objects.n**1.5)
    power = lowdim.Isomap.traits.power
    for threads in (1, 4):
        low, high = lowdim.plan(lowdim.Isomap(n_jobs=threads), rows).seconds
        expected = 8e-3 * 2**power * (1 - planning.PARALLEL * (1 - 1 / threads))  # from 400 objects
        np.testing.assert_allclose(np.sqrt(low * high), expected)


@pytest.mark.parametrize("chosen", [{"method": "exact"}, {"metric": "cityblock"}], ids=str)
def test_other_algorithms_grow_as_the_probes_do(chosen, rows, monkeypatch):
    monkeypatch.setattr(planning, "_probe", lambda estimator, objects: 1e-6 * objects.n**2)
    low, high = lowdim.plan(lowdim.TSNE(n_jobs=1, **chosen), rows).seconds
    np.testing.assert_allclose(np.sqrt(low * high), 0.64)


def test_no_time_is_given_if_no_probe_can_be_fitted(rows, monkeypatch):
    def refuse(estimator, objects):
        raise ValueError

    monkeypatch.setattr(planning, "_probe", refuse)
    found = lowdim.plan(lowdim.UMAP(), rows)
    assert found.seconds is None
    assert found.summary == f"{memory.readable(found.n_bytes)} of memory beyond the data"
    assert "no estimate of the time" in str(found)


def test_methods_that_need_labels_are_estimated_with_them(rows, monkeypatch):
    estimator, y = lowdim.NeighborhoodComponentsAnalysis(n_jobs=1), np.arange(800) % 3
    assert lowdim.plan(estimator, rows).seconds is None
    seen = []

    def probe(estimator, objects, y):
        at = [np.flatnonzero((rows == row).all(axis=1))[0] for row in objects.vectors("test")]
        np.testing.assert_array_equal(y, np.array(at) % 3)
        seen.append(objects.n)
        return 1e-3 * objects.n

    monkeypatch.setattr(planning, "_probe", probe)
    assert lowdim.plan(estimator, rows, y).seconds is not None
    assert seen == [100, 100, 200, 400]


def test_objects_of_several_subjects_are_estimated(rows):
    D = np.linalg.norm(rows[:400, None] - rows[:400], axis=2)
    few, many = (lowdim.plan(lowdim.INDSCAL(max_iter=2), [D] * count) for count in (2, 8))
    assert few.seconds is not None
    assert many.n_bytes > few.n_bytes


def test_time_is_that_of_the_processor(rows, monkeypatch):
    """Waiting for other programs does not count: the clock of the processor is read alone."""
    clock = iter(range(1000))
    monkeypatch.setattr(planning, "process_time", lambda: float(next(clock)))
    monkeypatch.setattr(planning, "PATIENCE", 60)
    low, high = lowdim.plan(lowdim.PCA(2), rows).seconds
    assert low <= 1.0 <= high


@pytest.mark.parametrize("method", [m for m in CATALOG if m.objects == "vectors"], ids=str)
def test_the_plan_is_the_claim_and_changes_nothing(method, rows, monkeypatch):
    monkeypatch.setattr(planning, "seconds_of_fit", lambda *_: None)
    estimator = method.load()()
    before = dict(vars(estimator))
    found = lowdim.plan(estimator, rows)
    assert vars(estimator) == before
    assert found.n_bytes == footprint(estimator, objects_of(rows))
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
    monkeypatch.setattr(planning, "seconds_of_fit", lambda *_: None)
    wide = np.random.RandomState(0).uniform(size=(12_000, 20))
    assert lowdim.plan(lowdim.Isomap(), rows).approximate == []
    assert "n_landmarks=50" in lowdim.plan(lowdim.Isomap(n_landmarks=50), rows).approximate[0]
    assert lowdim.plan(lowdim.MDS(), wide).approximate == ["the objective, by random pairs"]
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
    assert "set --n-landmarks 80 or so" in found.output
    assert os.listdir(tmp_path) == ["table.csv"]
    small = CliRunner().invoke(main, command, env={"LOWDIM_MEMORY": "1MB"})
    assert small.exit_code == 5
    assert "Set --n-landmarks 80 or so" in small.output
