"""A fit that is killed at any iteration and called again ends with the bits of one that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_wine

import lowdim
from helpers import differences
from lowdim.catalog import CATALOG
from lowdim.neighbor_embedding import descent as descend
from lowdim.neighbor_embedding.umap import layout
from lowdim.runtime import checkpoint as checkpoints
from lowdim.runtime.checkpoint import States

DESCENT = {"perplexity": 5, "max_iter": 300}
GRAPH = {"n_neighbors": 8}
OPTIONS = {  # parameters that suit small data and lead to each of the solvers
    **{name: [DESCENT] for name in ("SNE", "SymmetricSNE", "WeightedTSNE")},
    "TSNE": [DESCENT, {**DESCENT, "init": "random", "method": "barnes_hut", "random_state": 3}],
    "MultiscaleSNE": [{"max_iter": 40}],
    "NeRV": [{"perplexity": 8, "max_iter": 100}],
    "Isomap": [{**GRAPH, "mds": "stress"}],
    "CurvilinearDistanceAnalysis": [GRAPH],
    "MDS": [
        {},
        {"metric_mds": False},
        {"init": "random", "n_init": 3},
        {"init": "random", "n_init": 2, "method": "sampled", "max_iter": 20},
        {"n_init": "auto", "metric_mds": False},
    ],
    "Sammon": [{"method": "lbfgs"}, {"method": "majorize"}],
    "MaximumVarianceUnfolding": [
        {**GRAPH, "solver": "interior-point"},
        {**GRAPH, "solver": "interior-point", "constraint": "inequality"},
        {**GRAPH, "solver": "factorized"},
    ],
    "UMAP": [
        {"n_epochs": 30},
        {"n_epochs": 30, "densmap": True},
        {"n_epochs": 20, "output_metric": "haversine"},
        {"n_epochs": 20, "output_metric": "hyperboloid"},
    ],
    "PaCMAP": [{"max_iter": 60}, {"max_iter": 230, "local_distance": 10.0}],
    "TriMap": [{"max_iter": 60}],
    "LargeVis": [{"perplexity": 5, "max_iter": 30}],
    "NegativeSamplingTSNE": [{"perplexity": 5, "max_iter": 30}],
    "SelfOrganizingMap": [
        {},
        {"training": "online", "max_iter": 5},
        {"metric": "cityblock", "max_iter": 8},
        {"metric": "cityblock", "training": "online", "max_iter": 4},
    ],
    "INDSCAL": [{"max_iter": 40, "n_init": 3, "init": "random", "random_state": 0}],
    "NeighborhoodComponentsAnalysis": [{"max_iter": 30}],
    "LargeMarginNearestNeighbor": [{"max_iter": 30}],
    "InformationTheoreticMetricLearning": [{"max_iter": 30}],
    "Autoencoder": [{"max_iter": 6, "noise": 0.1, "variational": 1.0, "layers": (8,)}],
    "ParametricTSNE": [{"max_iter": 3, "perplexity": 5, "layers": (8,)}],
    "ParametricUMAP": [{"max_iter": 3, "n_neighbors": 5, "layers": (8,)}],
}
SUBJECTS = np.sqrt(np.random.default_rng(0).uniform(1, 2, size=(3, 12, 12)))
SUBJECTS = SUBJECTS + SUBJECTS.transpose(0, 2, 1)
SUBJECTS[:, np.arange(12), np.arange(12)] = 0


class Killed(BaseException):
    """Not an error: nothing in the package may catch it."""


@pytest.fixture
def killing(monkeypatch):
    """A function that lets fits be killed after the state of a given iteration was written.

    It returns a list with the number of states that were offered since.
    """
    moment, count, lock = [-1], [0], threading.Lock()
    keep = States.keep

    def counted(self, slot, make, *, final=False):
        with lock:
            count[0] += not final
            mine = count[0]
        keep(self, slot, make, final=final)
        if mine == moment[0] and not final:
            raise Killed

    def due(self, *, states=True):
        return 0 < moment[0] <= count[0]  # another thread may have counted on

    monkeypatch.setattr(States, "keep", counted)
    monkeypatch.setattr(States, "_due", due)

    def at(iteration):
        moment[0], count[0] = iteration, 0
        return count

    return at


def fits():
    """Every iterative method: (name, parameters)."""
    for method in CATALOG:
        if "callback" in method.load()().get_params():
            for options in OPTIONS.get(method.name, [{}]):
                yield pytest.param(method, options, id=f"{method.name}-{options}")


def arguments_for(method, X):
    """What the method is fitted to."""
    if method.objects == "subjects":
        return (SUBJECTS,)
    if method.objects == "labelled":
        rows, labels = load_wine(return_X_y=True)
        return (rows - rows.mean(axis=0)) / rows.std(axis=0), labels
    return (X,)


@pytest.mark.parametrize(("method", "params"), list(fits()))
def test_a_killed_fit_goes_on_to_the_same_bits(method, params, X, tmp_path, killing, monkeypatch):
    monkeypatch.setattr(descend, "RENUMBER_FROM", 50)
    monkeypatch.setattr(layout, "AT_ONCE", 0)
    arguments = arguments_for(method, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = method.load()(**params, n_jobs=1).fit(*arguments)
        count = killing(-1)
        watched = method.load()(**params, n_jobs=1, checkpoint=tmp_path / "none").fit(*arguments)
        total = count[0]
        assert differences(vars(watched.set_params(checkpoint=None)), vars(alone)) == []
        assert total > 1
        for n, moments in enumerate([[1, total // 2], [total]]):
            file = tmp_path / f"{n}.lowdim"
            for moment in moments:
                killing(moment)
                with pytest.raises(Killed):
                    method.load()(**params, n_jobs=1, checkpoint=file).fit(*arguments)
            assert file.exists()
            count = killing(-1)
            found = method.load()(**params, n_jobs=1, checkpoint=str(file)).fit(*arguments)
            assert count[0] == total - sum(moments), "it began again"
            assert differences(vars(found.set_params(checkpoint=None)), vars(alone)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_starts_in_parallel_each_go_on_from_their_own_state(X, tmp_path, killing, threads):
    params = {"init": "random", "n_init": 6, "random_state": 0, "eps": 0, "max_iter": 30}
    alone = lowdim.MDS(**params).fit(X)
    file = tmp_path / "run.lowdim"
    for moment in (20, 50):
        killing(moment)
        with pytest.raises(Killed):
            lowdim.MDS(**params, n_jobs=threads, checkpoint=file).fit(X)
    count = killing(-1)
    found = lowdim.MDS(**params, n_jobs=threads, checkpoint=file).fit(X)
    assert count[0] < 6 * 30 - 20
    np.testing.assert_array_equal(found.embedding_, alone.embedding_)
    np.testing.assert_array_equal(found.history_, alone.history_)


def test_components_embedded_on_their_own_go_on(two_strips, tmp_path, killing):
    params = {"n_neighbors": 6, "mds": "stress", "disconnected": "separate"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = lowdim.Isomap(**params).fit(two_strips)
        first = alone.parts_[0].n_iter_
        file = tmp_path / "run.lowdim"
        killing(first + 2)  # in the second component
        with pytest.raises(Killed):
            lowdim.Isomap(**params, checkpoint=file).fit(two_strips)
        count = killing(-1)
        found = lowdim.Isomap(**params, checkpoint=file).fit(two_strips)
    assert count[0] == alone.parts_[1].n_iter_ - 2
    np.testing.assert_array_equal(found.embedding_, alone.embedding_)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_data_of_extreme_magnitude_go_on(X, tmp_path, killing, unit):
    alone = lowdim.Sammon().fit(X * unit)
    file = tmp_path / "run.lowdim"
    killing(4)
    with pytest.raises(Killed):
        lowdim.Sammon(checkpoint=file).fit(X * unit)
    count = killing(-1)
    found = lowdim.Sammon(checkpoint=file).fit(X * unit)
    assert count[0] == alone.n_iter_ - 4
    np.testing.assert_array_equal(found.embedding_, alone.embedding_)


def test_random_state_none_goes_on_with_the_same_numbers(X, tmp_path, killing):
    """The start is drawn again, and so are the seed and the order of the points that follow."""
    params = {"init": "random", "perplexity": 5, "max_iter": 60}
    params["callback"] = lambda state: None  # so that every iteration is looked at
    file = tmp_path / "run.lowdim"
    for moment in (20, 39):
        killing(moment)
        with pytest.raises(Killed):
            lowdim.TSNE(**params, checkpoint=file).fit(X)
    killing(-1)
    found = lowdim.TSNE(**params, checkpoint=file).fit(X)
    seed = States(dict(_key(file)), str(file)).seed
    alone = lowdim.TSNE(**params, random_state=seed).fit(X)
    np.testing.assert_array_equal(found.embedding_, alone.embedding_)


def _key(file):
    import json

    with zipfile.ZipFile(file) as archive:
        return json.loads(archive.read("checkpoint.json"))["key"]


# --- the file ------------------------------------------------------------------------------------


@pytest.fixture
def every_time(monkeypatch):
    """States are written after every iteration, whatever it costs."""
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


def test_the_same_call_after_the_end_returns_the_same_map_at_once(X, tmp_path, every_time):
    seen = []
    params = {"checkpoint": tmp_path / "run.lowdim", "callback": seen.append}
    first = lowdim.Sammon(**params).fit(X)
    assert len(seen) == first.n_iter_
    again = lowdim.Sammon(**params).fit(X)
    assert len(seen) == first.n_iter_
    assert differences(vars(first), vars(again)) == []


RAISED = {
    "TSNE": {"perplexity": 5},
    "Sammon": {"tol": 0, "method": "majorize"},
    "MDS": {"eps": 0, "metric_mds": False},
    "NeRV": {"perplexity": 8, "tol": 0},
    "MaximumVarianceUnfolding": {"n_neighbors": 8, "solver": "factorized"},
}


@pytest.mark.parametrize("name", RAISED)
def test_a_larger_max_iter_goes_on_from_where_it_stood(name, X, tmp_path, every_time):
    few, many = (270, 300) if name == "TSNE" else (18, 20) if name[0] == "M" else (200, 210)
    cls, params, seen = getattr(lowdim, name), RAISED[name], []
    file = tmp_path / "run.lowdim"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls(**params, max_iter=few, checkpoint=file).fit(X)
        found = cls(**params, max_iter=many, checkpoint=file, callback=seen.append).fit(X)
        alone = cls(**params, max_iter=many).fit(X)
    assert 0 < len(seen) <= many - few
    np.testing.assert_array_equal(found.embedding_, alone.embedding_)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("UMAP", {"n_epochs": 20}),
        ("CurvilinearComponentAnalysis", {"max_iter": 20}),
        ("SelfOrganizingMap", {"max_iter": 20}),
    ],
)
def test_where_steps_depend_on_their_number_it_cannot_be_raised(
    name, params, X, tmp_path, every_time
):
    file, cls = tmp_path / "run.lowdim", getattr(lowdim, name)
    cls(**params, checkpoint=file).fit(X)
    before = file.read_bytes()
    longer = dict.fromkeys(params, 30)
    with pytest.raises(ValueError, match=f"{next(iter(params))} was 20, is 30"):
        cls(**longer, checkpoint=file).fit(X)
    assert file.read_bytes() == before


def test_other_data_and_parameters_are_named_and_the_file_is_left_alone(X, tmp_path, every_time):
    file = tmp_path / "run.lowdim"
    lowdim.TSNE(perplexity=30, max_iter=50, init=X[:, :2], checkpoint=file).fit(X)
    before = file.read_bytes()
    refused = [
        (lowdim.TSNE(perplexity=20, max_iter=50, init=X[:, :2]), X, "perplexity was 30, is 20"),
        (lowdim.TSNE(perplexity=30.0, max_iter=50, init=X[:, 1:]), X, "init is another one"),
        (lowdim.TSNE(perplexity=30, max_iter=40, init=X[:, :2]), X, "max_iter was 50, is 40"),
        (lowdim.TSNE(perplexity=30, max_iter=50, init=X[:, :2]), X + 1e-12, "X is another one"),
        (lowdim.UMAP(), X, "estimator was TSNE, is UMAP"),
        (
            lowdim.TSNE(perplexity=30, max_iter=50, init=X[:, :2], random_state=1),
            X,
            "random_state was None, is 1",
        ),
    ]
    for estimator, rows, message in refused:
        with pytest.raises(ValueError, match=message):
            estimator.set_params(checkpoint=file).fit(rows)
        assert not hasattr(estimator, "embedding_")
        assert file.read_bytes() == before
    graph = lowdim.neighbors(X, k=89)
    with pytest.raises(ValueError, match="the argument graph of fit"):
        refused[0][0].set_params(perplexity=30).fit(X, graph=graph)
    # what changes no result may change
    again = lowdim.TSNE(perplexity=30.0, max_iter=50, init=X[:, :2], n_jobs=1, verbose=0)
    again.set_params(checkpoint=file).fit(X)


def test_a_damaged_file_is_refused_and_left_alone(X, tmp_path, every_time):
    file = tmp_path / "run.lowdim"
    lowdim.Sammon(max_iter=5, checkpoint=file).fit(X)
    whole = file.read_bytes()
    inside = bytearray(whole)
    inside[len(whole) // 2] ^= 1  # in an array
    for content in (b"", b"hello", whole[: len(whole) // 2], bytes(inside)):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"checkpoint: .*run\.lowdim cannot be read"):
            lowdim.Sammon(max_iter=5, checkpoint=file).fit(X)
        assert file.read_bytes() == content


@pytest.mark.parametrize(
    "estimator",
    [
        lowdim.Sammon(method="majorize", max_iter=5),
        lowdim.MDS(max_iter=5),
        lowdim.TSNE(perplexity=5, max_iter=20),
        lowdim.UMAP(n_epochs=5),
        lowdim.Autoencoder(max_iter=2, layers=(4,)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_no_change_of_a_file_is_taken_for_a_state(estimator, X, tmp_path, every_time):
    """Entries lost, renamed or replaced, in the document and in arrays: solvers read none of it."""
    file = tmp_path / "run.lowdim"
    estimator.set_params(checkpoint=file).fit(X)
    with zipfile.ZipFile(file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    document = contents.pop("checkpoint.json")
    random = np.random.RandomState(0)
    changed = [
        document.replace(b'"slots"', b'"slot"'),
        document.replace(b'"seed"', b'"sead"'),
        document.replace(b'"0.0"', b'"0.1"'),
        document.replace(b'"$dict"', b'"$list"', 3),
        document.replace(b'"content"', b'"contents"'),
        b"[]",
        b"null",
        json.dumps({**json.loads(document), "content": None}).encode(),
    ]
    cases = [{**contents, "checkpoint.json": one} for one in changed if one != document]
    for name in random.permutation(sorted(contents))[:4]:
        nan = bytearray(contents[name])
        nan[-8:] = np.float64(np.nan).tobytes()
        cases += [{**contents, "checkpoint.json": document, name: bytes(nan)}]
        cases += [{"checkpoint.json": document, **{k: contents[k] for k in contents if k != name}}]
    assert len(cases) > 8
    for case in cases:
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in case.items():
                archive.writestr(name, content)
        with pytest.raises(ValueError, match=r"run\.lowdim cannot be read .*delete it"):
            estimator.fit(X)


def test_a_state_of_another_shape_is_refused(X, tmp_path, every_time, monkeypatch):
    file = tmp_path / "run.lowdim"
    lowdim.Sammon(method="majorize", max_iter=5, checkpoint=file).fit(X)
    state = States.state
    monkeypatch.setattr(
        States, "state", lambda self, slot: {**state(self, slot), "Z": np.zeros((3, 2))}
    )
    with pytest.raises(ValueError, match="its Z has another shape or type"):
        lowdim.Sammon(method="majorize", max_iter=5, checkpoint=file).fit(X)


def test_the_place_of_the_file_is_checked_before_the_fit(X, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        lowdim.MDS(checkpoint=tmp_path / "no" / "run.lowdim").fit(X)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        lowdim.MDS(checkpoint=tmp_path).fit(X)
    with pytest.raises(TypeError, match="checkpoint must be the name of a file, got 3"):
        lowdim.MDS(checkpoint=3).fit(X)
    with pytest.raises(ValueError, match="checkpoint must be the name of a file, got an empty"):
        lowdim.MDS(checkpoint="").fit(X)


def test_a_full_disk_does_not_end_the_fit(X, tmp_path, every_time, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device", "run.lowdim")

    monkeypatch.setattr(checkpoints.archive, "write", full)
    with pytest.warns(UserWarning, match="the fit goes on, but it could not be kept: .*No space"):
        found = lowdim.Sammon(checkpoint=tmp_path / "run.lowdim").fit(X)
    np.testing.assert_array_equal(found.embedding_, lowdim.Sammon().fit(X).embedding_)
    assert os.listdir(tmp_path) == []


def test_the_neighbour_graph_is_computed_once(X, tmp_path, every_time, monkeypatch):
    file = tmp_path / "run.lowdim"
    first = lowdim.UMAP(n_epochs=20, checkpoint=file).fit(X)
    assert sorted(os.listdir(tmp_path)) == ["run.lowdim", "run.lowdim.graph"]

    def never(*arguments, **options):
        raise AssertionError("the graph was searched again")

    monkeypatch.setattr("lowdim.objects.objects.search_all", never)
    again = lowdim.UMAP(n_epochs=20, checkpoint=file).fit(X)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    with pytest.raises(ValueError, match=r"min_dist was 0\.1, is 0\.5"):
        lowdim.UMAP(n_epochs=20, min_dist=0.5, checkpoint=file).fit(X)


def test_writing_takes_a_small_share_of_the_time(X, tmp_path, monkeypatch):
    """By a clock on which an iteration takes 0.1 s and a write 0.05 s."""
    now, writes = [0.0], []

    def write(*arguments, **options):
        writes.append(now[0])
        now[0] += 0.05

    def tick(state):
        now[0] += 0.1

    monkeypatch.setattr(checkpoints, "perf_counter", lambda: now[0])
    monkeypatch.setattr(checkpoints.archive, "write", write)
    model = lowdim.TSNE(perplexity=5, checkpoint=tmp_path / "run", callback=tick).fit(X)
    seconds = 0.1 * model.n_iter_
    assert 0.6 * 0.02 * seconds < 0.05 * len(writes) < 0.02 * now[0]
    assert len(writes) > 10


@pytest.mark.parametrize(("seconds", "files"), [(1e-4, []), (1.0, ["run.lowdim"])])
def test_a_short_fit_writes_nothing(seconds, files, X, tmp_path, monkeypatch):
    """By a clock on which an iteration takes so long."""
    now = [0.0]

    def tick(state):
        now[0] += seconds

    monkeypatch.setattr(checkpoints, "perf_counter", lambda: now[0])
    lowdim.MDS(checkpoint=tmp_path / "run.lowdim", callback=tick).fit(X)
    assert os.listdir(tmp_path) == files


def test_estimators_with_a_checkpoint_can_be_saved(X, tmp_path):
    lowdim.MDS(checkpoint=tmp_path / "run.lowdim").fit(X).save(tmp_path / "model")
    assert lowdim.load(tmp_path / "model").checkpoint == str(tmp_path / "run.lowdim")


def test_measures_that_fit_copies_ignore_the_file(X, tmp_path, every_time):
    model = lowdim.MDS(init="random", max_iter=5, checkpoint=tmp_path / "run.lowdim").fit(X)
    before = (tmp_path / "run.lowdim").read_bytes()
    lowdim.quality.stability(model, X, n_runs=2, null=False)
    D = np.linalg.norm(X[:8, None] - X[:8], axis=2)
    model.set_params(metric="precomputed", init="classical")
    lowdim.quality.jackknife(model, D)
    assert (tmp_path / "run.lowdim").read_bytes() == before


def test_the_command_line_keeps_a_checkpoint(X, tmp_path, every_time):
    from click.testing import CliRunner

    from lowdim.cli import main

    table, file = tmp_path / "table.csv", tmp_path / "run.lowdim"
    np.savetxt(table, np.tile(X, (4, 1)) + np.arange(360)[:, None] % 7, delimiter=",")

    def embed(*options):
        output = str(tmp_path / "map.csv")
        command = ["embed", str(table), "-m", "sammon", "-o", output, "-f", *options]
        return CliRunner().invoke(main, [*command, "--checkpoint", str(file)])

    assert embed().exit_code == 0
    assert file.exists()
    first = (tmp_path / "map.csv").read_bytes()
    assert embed().exit_code == 0
    assert (tmp_path / "map.csv").read_bytes() == first
    several = ["compare", str(table), "-m", "sammon,mds", "-o", str(tmp_path / "maps.csv")]
    compared = CliRunner().invoke(main, [*several, "--checkpoint", str(tmp_path / "both")])
    assert compared.exit_code == 0, compared.output
    assert {"both.sammon", "both.mds"} <= set(os.listdir(tmp_path))
    refused = embed("--tol", "0.5")
    assert refused.exit_code == 3
    assert "belongs to another fit: --tol was" in refused.output


# --- real kills ----------------------------------------------------------------------------------

PROGRAM = """
import signal, sys, numpy as np, lowdim
from lowdim.runtime import checkpoint
checkpoint.SHARE = np.inf  # a state after every iteration
X = lowdim.data.swiss_roll(400, random_state=0)[0]
model = lowdim.TSNE(max_iter=120, random_state=0, checkpoint=sys.argv[1])
called = 0

def callback(state):
    global called
    called += 1
    print(state.iteration, flush=True)
    if called == int(sys.argv[3]):
        signal.pause()

model.callback = callback
np.save(sys.argv[2], model.fit_transform(X))
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_processes_killed_at_random_moments_end_with_the_same_bits(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    def iterations(file, last=None):
        """Those of a process that is killed after `last` of them, and at most 20 more."""
        files = [str(tmp_path / file), str(tmp_path / f"{file}.npy")]
        command = [sys.executable, str(script), *files, str(last + 20 if last else 0)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            seen = []
            for line in process.stdout:
                seen.append(int(line))
                if len(seen) == last:
                    process.kill()
                    break
        assert process.returncode == (-signal.SIGKILL if len(seen) == last else 0)
        return seen

    whole = iterations("alone")
    begins = [iterations("killed", last)[0] for last in (40, 30)]
    assert begins[0] == 1
    assert begins[-1] > 1
    rest = iterations("killed")
    assert rest[0] >= begins[-1]
    assert rest[-1] == whole[-1]
    np.testing.assert_array_equal(np.load(tmp_path / "killed.npy"), np.load(tmp_path / "alone.npy"))
