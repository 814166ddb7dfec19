"""The PyTorch backend: whole fits through it, what it does on the CPU, and input on a device."""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import lowdim
from helpers import with_threads
from lowdim import backends
from lowdim.backends import backend
from lowdim.backends.native import BACKEND as native
from lowdim.backends.torch import arrays, engine, forces, graphs, resident, stages
from lowdim.catalog import CATALOG
from lowdim.runtime import context

torch = pytest.importorskip("torch")

DEVICES = ["torch:cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
METHODS = [
    lowdim.PCA(2),
    lowdim.ClassicalMDS(2),
    lowdim.KernelPCA(2, kernel="rbf", gamma=0.05),
    lowdim.Isomap(n_components=2, n_neighbors=8),
    lowdim.LaplacianEigenmaps(2, n_neighbors=8),
    lowdim.DiffusionMap(2),
    lowdim.MDS(2, max_iter=30, n_init=1, random_state=0),
    lowdim.MDS(2, max_iter=30, n_init=1, weights="d^-1", random_state=0),
    lowdim.Sammon(2, max_iter=30),
    lowdim.NeRV(2, perplexity=10, max_iter=30),
    lowdim.SymmetricSNE(2, perplexity=10, max_iter=250, random_state=0),
    lowdim.TSNE(2, perplexity=10, max_iter=250, random_state=0),
    lowdim.WeightedTSNE(2, perplexity=10, max_iter=250, random_state=0),
    lowdim.UMAP(n_neighbors=10, n_epochs=60, random_state=0),
    lowdim.UMAP(n_neighbors=10, n_epochs=60, densmap=True, random_state=0),
]


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


def roll(n, seed=0):
    """A connected surface in twelve dimensions, and which of six parts of it a point is in."""
    random = np.random.default_rng(seed)
    t, height = random.uniform(2, 8, n), random.uniform(0, 6, n)
    X = np.zeros((n, 12))
    X[:, :3] = np.stack([t * np.cos(t), height, t * np.sin(t)], axis=1)
    X += 0.05 * random.normal(size=X.shape)
    return X.astype(np.float32), np.minimum(t - 2, 5).astype(int)


def accuracy(Y, labels):
    return KNeighborsClassifier(5).fit(Y[::2], labels[::2]).score(Y[1::2], labels[1::2])


@pytest.mark.parametrize("estimator", METHODS, ids=lambda e: type(e).__name__)
def test_maps_are_as_good_as_those_of_the_cpu(estimator, device):
    X, labels = roll(400)
    new, new_labels = roll(60, seed=1)
    on_cpu = clone(estimator).fit(X)
    with lowdim.compute(device=device):
        found = clone(estimator).fit(X)
        again = clone(estimator).fit(X)
        placed = found.transform(new)
    assert isinstance(found.embedding_, np.ndarray)
    assert found.embedding_.dtype == on_cpu.embedding_.dtype
    np.testing.assert_array_equal(found.embedding_, again.embedding_)  # the same bits
    one, other = (
        lowdim.trustworthiness(X, Y, n_neighbors=10) for Y in (on_cpu.embedding_, found.embedding_)
    )
    assert other > one - 0.01
    assert accuracy(found.embedding_, labels) > accuracy(on_cpu.embedding_, labels) - 0.02
    classifier = KNeighborsClassifier(5).fit(found.embedding_, labels)
    before = KNeighborsClassifier(5).fit(on_cpu.embedding_, labels)
    assert classifier.score(placed, new_labels) > (
        before.score(on_cpu.transform(new), new_labels) - 0.05
    )


@pytest.mark.parametrize("dim", [1, 2])
def test_repulsion_on_a_grid_is_that_of_all_pairs(device, dim):
    random = np.random.default_rng(0)
    Y = (random.normal(size=(3000, dim)) * 10).astype(np.float32)
    mass = random.uniform(0.5, 2, 3000).astype(np.float32)
    for similarity in (forces.Similarity(), forces.Similarity("student", 0.5)):
        for weights in (None, mass):
            exact = native.build_repulsion("exact", similarity, 3000, dim, 0.5)(Y, weights)
            with lowdim.compute(device=device):
                found = backend().build_repulsion("fft", similarity, 3000, dim, 0.5)(Y, weights)
            for a, b in zip(found, exact, strict=True):
                assert np.linalg.norm(a - b) < 2e-3 * np.linalg.norm(b)


def test_a_small_embedding_on_a_grid_keeps_its_forces(device):
    """Similarities are nearly equal there, and their differences must not be lost to rounding."""
    Y = (1e-4 * np.random.default_rng(0).normal(size=(3000, 2))).astype(np.float32)
    exact, _ = native.build_repulsion("exact", forces.Similarity(), 3000, 2, 0.5)(
        Y.astype(np.float64), None
    )
    with lowdim.compute(device=device):
        found, z = backend().build_repulsion("fft", forces.Similarity(), 3000, 2, 0.5)(Y, None)
    assert np.linalg.norm(found - exact) < 1e-2 * np.linalg.norm(exact)
    np.testing.assert_allclose(z, 2999, rtol=1e-5)


def test_a_large_tsne_by_the_grid_has_the_same_divergence(device, monkeypatch):
    monkeypatch.setattr(forces, "ALL_PAIRS_UP_TO", 500)
    X, _ = roll(800)
    estimator = lowdim.TSNE(2, perplexity=15, max_iter=300, method="fft", random_state=0)
    expected = clone(estimator).fit(X).kl_divergence_
    with lowdim.compute(device=device):
        found = clone(estimator).fit(X).kl_divergence_
    assert found < expected + 0.03


def test_what_is_missing_runs_on_the_cpu_and_is_announced_once(caplog):
    fresh = engine.TorchBackend(torch.device("cpu"))
    values = np.array([3.0, 1.0, 2.0])
    with caplog.at_level(logging.INFO, logger="lowdim"):
        for _ in range(2):
            np.testing.assert_array_equal(
                fresh.isotonic(values, None, None, False),
                native.isotonic(values, None, None, False),
            )
    assert [record.message for record in caplog.records] == ["isotonic runs on the CPU"]
    with pytest.raises(AttributeError):
        fresh.no_such_operation  # noqa: B018


def test_too_little_memory_moves_an_operation_to_the_cpu(caplog, monkeypatch):
    def full(device, A, V, *, squared=False):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(vars(engine.TorchBackend)["matmul"], "function", full)
    fresh = engine.TorchBackend(torch.device("cpu"))
    with caplog.at_level(logging.INFO, logger="lowdim"):
        found = fresh.matmul(np.eye(3), np.ones((3, 1)))
    np.testing.assert_array_equal(found, np.ones((3, 1)))
    assert "matmul runs on the CPU: cpu has only" in caplog.text


def test_arrays_that_cannot_go_to_the_cpu_raise_a_clear_error(monkeypatch):
    def full(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(vars(engine.TorchBackend)["layout_radii"], "function", full)
    fresh = engine.TorchBackend(torch.device("cpu"))
    with pytest.raises(MemoryError, match=r"^layout_radii needs more than the .* free on cpu"):
        fresh.layout_radii(None, np.ones((3, 2)), (1.0, 1.0))


@pytest.fixture
def copies(monkeypatch):
    """The arrays that are copied to a device, which here is other memory of the host."""
    seen = []

    def put(device, array):
        seen.append(array)
        return torch.from_numpy(array.copy())

    monkeypatch.setattr(resident, "put", put)
    return seen


def test_an_array_is_copied_once_in_a_call_unless_it_changes(copies):
    place = torch.device("cpu")
    X = np.zeros((600, 600))
    with context.keep_uploads():
        for given in (X, X, X.ravel(), X[200:], X.reshape(300, 1200)[:150]):
            found = resident.resident(place, given)
            assert found.shape == given.shape
            assert found.data_ptr() == resident.resident(place, X).data_ptr() + (
                given.ctypes.data - X.ctypes.data
            )
        assert len(copies) == 1
        X += 1
        assert resident.resident(place, X).sum() == X.size
        assert len(copies) == 2
        resident.resident(place, X.astype(np.float32))  # other entries
        assert len(copies) == 3
        resident.resident(place, X[:, :300])  # not contiguous
        assert len(copies) == 4
    resident.resident(place, X)  # the call has ended
    assert len(copies) == 5


def test_squares_of_a_matrix_are_kept_until_it_changes(copies, monkeypatch):
    A, V = np.random.default_rng(0).normal(size=(600, 600)), np.eye(600)[:, :2]
    fresh = engine.TorchBackend(torch.device("cpu"))
    with context.keep_uploads():
        for _ in range(2):
            np.testing.assert_allclose(fresh.matmul(A, V, squared=True), A[:, :2] ** 2)
            assert len(copies) == 1
        (held,) = context.current().uploads.values()
        assert len(held.parts[0].squares) == 1
        A *= 2
        np.testing.assert_allclose(fresh.matmul(A, V, squared=True), A[:, :2] ** 2)
        resident.release()
        monkeypatch.setattr(resident, "free_bytes", lambda device: 0)  # no room for the squares
        np.testing.assert_allclose(fresh.matmul(A, V, squared=True), A[:, :2] ** 2)
        (held,) = context.current().uploads.values()
        assert not held.parts[0].squares


def test_a_copy_is_freed_with_its_array_or_when_memory_is_needed():
    place = torch.device("cpu")
    with context.keep_uploads():
        X, Y = np.zeros((600, 600)), np.ones((600, 600))
        resident.resident(place, X[100:])
        resident.remember(Y, torch.ones(600, 600, dtype=torch.float64))
        assert len(context.current().uploads) == 2
        del Y
        assert len(context.current().uploads) == 1
        assert resident.release()
        assert not context.current().uploads
        assert not resident.release()


def test_results_are_found_on_the_device(copies):
    place = torch.device("cpu")
    with context.keep_uploads():
        found = resident.get_and_remember(torch.arange(400_000, dtype=torch.float32))
        again = resident.resident(place, found.reshape(400, 1000)[100:])
        assert not copies
        np.testing.assert_array_equal(again.numpy().ravel(), np.arange(100_000, 400_000))


def test_copies_make_room_before_an_operation_moves_to_the_cpu(caplog, monkeypatch):
    calls = []

    def tight(device, A, V, *, squared=False):
        calls.append(len(context.current().uploads))
        if context.current().uploads:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return A @ V

    monkeypatch.setattr(vars(engine.TorchBackend)["matmul"], "function", tight)
    fresh = engine.TorchBackend(torch.device("cpu"))
    kept = np.ones((600, 600))
    with context.keep_uploads(), caplog.at_level(logging.INFO, logger="lowdim"):
        resident.resident(fresh.device, kept)
        np.testing.assert_array_equal(fresh.matmul(np.eye(3), np.ones((3, 1))), np.ones((3, 1)))
    assert calls == [1, 0]
    assert not caplog.records


def test_input_on_a_device_is_worked_on_there(device, monkeypatch):
    if device == "torch:cpu":  # stands for a device that NumPy cannot read
        monkeypatch.setattr(backends, "on_gpu", lambda X: isinstance(X, torch.Tensor))
    X = np.tile(roll(300)[0], (1, 100))
    assert X.nbytes > resident.RESIDENT_FROM
    given = torch.from_numpy(X).to(device.removeprefix("torch:"))
    seen = []
    note_places(monkeypatch, given, "nearest", seen)
    estimator = lowdim.UMAP(n_neighbors=8, n_epochs=5, random_state=0)
    Y = clone(estimator).fit_transform(given)
    assert isinstance(Y, torch.Tensor)
    assert Y.device == given.device
    assert seen == [given.data_ptr()], "X was copied"
    fitted = clone(estimator).fit(given)
    assert isinstance(fitted.embedding_, np.ndarray)
    np.testing.assert_array_equal(fitted.embedding_, Y.cpu().numpy())
    assert isinstance(fitted.transform(given[:5]), torch.Tensor)
    with lowdim.compute(device=device):
        np.testing.assert_array_equal(clone(estimator).fit_transform(X), Y.cpu().numpy())


def note_places(monkeypatch, tensor, name, seen):
    """Note where on the device the first argument of an operation lies."""
    found = engine.backend_of(resident.name_of(tensor))
    operation = getattr(found, name)

    def call(X, *args):
        seen.append(resident.resident(tensor.device, X).data_ptr())
        return operation(X, *args)

    monkeypatch.setattr(found, name, call)


@pytest.mark.parametrize("change", [lambda X: X.requires_grad_(), lambda X: X.bfloat16()])
def test_tensors_on_the_host_that_numpy_does_not_take(change):
    X = torch.arange(40.0).reshape(10, 4) % 7
    expected = lowdim.PCA(2).fit_transform(X.numpy())
    np.testing.assert_allclose(lowdim.PCA(2).fit_transform(change(X)), expected, atol=1e-5)


def test_arrays_on_the_host_are_not_taken_for_tensors():
    X = np.ones((2, 2))
    assert not backends.on_gpu(X)
    assert not backends.on_gpu([[1.0]])
    assert not backends.on_gpu(torch.ones(2, 2))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_large_arrays_travel_unchanged():
    X = np.random.default_rng(0).normal(size=(6000, 4001)).astype(np.float32)
    assert X.nbytes > 2 * stages.STAGE_BYTES
    there = arrays.put(torch.device("cuda"), X)
    np.testing.assert_array_equal(there.cpu().numpy(), X)
    np.testing.assert_array_equal(arrays.get(there.T), X.T)
    part = np.zeros_like(X)
    stages.copy_out(there[1000:, 500:2500].contiguous(), part[1000:, 500:2500])
    np.testing.assert_array_equal(part[1000:, 500:2500], X[1000:, 500:2500])


def paths_graph(n, dtype=np.float32):
    random = np.random.default_rng(5)
    graph = random_array((n, n), density=3 / n, format="csr", dtype=dtype, rng=random)
    return native.symmetrize(graph, "union")


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_paths_are_the_same_in_any_number_of_parts(symmetric, n_parts, monkeypatch, copies):
    graph = paths_graph(150)
    sources = np.arange(150) if symmetric else np.arange(149, 0, -1)
    monkeypatch.setattr(resident, "RESIDENT_FROM", 0)
    expected = native.shortest_paths(graph, sources, symmetric=symmetric)
    monkeypatch.setattr(graphs, "OVERLAPPED_FROM", 0)
    monkeypatch.setattr(graphs, "PARTS", n_parts)
    monkeypatch.setattr(graphs, "ALIGNED", 8)
    place = torch.device("cpu")
    with context.keep_uploads():
        found = graphs.shortest_paths(place, graph, sources, symmetric=symmetric)
        np.testing.assert_array_equal(found, expected)
        copies.clear()
        np.testing.assert_array_equal(resident.resident(place, found).numpy(), expected)
        assert not copies


def test_paths_that_do_not_fit_on_the_device(monkeypatch):
    n, sources = 150, np.arange(150)
    graph = paths_graph(n)
    monkeypatch.setattr(graphs, "free_bytes", lambda device: 6 * n * 4 * 40)  # 40 sources at once
    found = graphs.shortest_paths(torch.device("cpu"), graph, sources)
    np.testing.assert_array_equal(found, native.shortest_paths(graph, sources))
    with pytest.raises(arrays.Unsupported):
        graphs.shortest_paths(torch.device("cpu"), graph, sources, symmetric=True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("symmetric", [False, True])
def test_paths_of_a_large_graph_while_they_are_copied(symmetric):
    graph = paths_graph(6001)
    sources = np.arange(6001) if symmetric else np.arange(6000, 0, -1)
    found = graphs.shortest_paths(torch.device("cuda"), graph, sources, symmetric=symmetric)
    assert found.nbytes > graphs.OVERLAPPED_FROM
    expected = native.shortest_paths(graph, sources, symmetric=symmetric)
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def on_one_stream(monkeypatch):
    """Stages without a GPU: transfers end when they begin."""

    class Stream:
        def record_event(self):
            return self

        def synchronize(self):
            pass

    monkeypatch.setattr(stages, "STAGE_BYTES", 4000)
    monkeypatch.setattr(stages, "LEAST_PART", 1000)
    monkeypatch.setattr(
        stages, "_page_locked_buffer", lambda size: torch.empty(size, dtype=torch.uint8)
    )
    monkeypatch.setattr(stages, "_current_stream", lambda device: Stream())
    monkeypatch.setattr(torch.cuda, "stream", contextlib.nullcontext)
    stages._stage.cache_clear()
    yield
    stages._stage.cache_clear()


@pytest.mark.parametrize("shape", [(1,), (999,), (200, 131), (70, 11, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, bool])
@pytest.mark.parametrize("threads", [1, 3])
def test_stages_copy_every_entry(on_one_stream, shape, dtype, threads):
    X = np.random.default_rng(0).normal(size=shape).astype(dtype)
    there, back = torch.zeros(shape, dtype=arrays.tensor_dtype(X)), np.zeros_like(X)
    with_threads(threads, stages.copy_in, X, there)
    np.testing.assert_array_equal(there.numpy(), X)
    with_threads(threads, stages.copy_out, there, back)
    np.testing.assert_array_equal(back, X)


def test_stages_copy_a_part_of_a_matrix_to_the_same_part(on_one_stream):
    X = np.random.default_rng(0).normal(size=(300, 70)).astype(np.float32)
    back = np.zeros_like(X)
    with_threads(3, stages.copy_out, torch.from_numpy(X[20:, 5:60].copy()), back[20:, 5:60])
    expected = np.zeros_like(X)
    expected[20:, 5:60] = X[20:, 5:60]
    np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize(
    "method", [row for row in CATALOG if row.objects == "vectors"], ids=lambda row: row.name
)
def test_no_method_changes_a_few_entries_of_an_array_on_the_device(method, copies, monkeypatch):
    """A copy that is taken for an array has all of its entries, not only those of the sample."""
    part, taken = resident.Copy.part, []

    def compared(self, array):
        found = part(self, array)
        if found is not None:
            taken.append(array.shape)
            np.testing.assert_array_equal(found.numpy(), array)
        return found

    monkeypatch.setattr(resident.Copy, "part", compared)
    monkeypatch.setattr(resident, "get", lambda tensor: tensor.numpy().copy())
    monkeypatch.setattr(resident, "RESIDENT_FROM", 1)
    monkeypatch.setattr(resident, "SAMPLED", 64)  # sees changes of many entries
    known = inspect.signature(method.load()).parameters
    quick = {"max_iter": 20, "n_epochs": 20, "n_neighbors": 8, "n_clusters": 2, "perplexity": 8}
    if "layers" in known:
        quick |= {"layers": (8,), "max_iter": 2}
    chosen = {key: value for key, value in quick.items() if key in known}
    X, _ = lowdim.data.s_curve(260, random_state=0)
    with lowdim.compute(device="torch:cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method.load()(**chosen).fit(X[:250])
        if method.name != "SpectralClustering":
            model.transform(X[250:])
        lowdim.quality.assess(X[:250], model)


@pytest.mark.gpu
def test_quasi_newton_direction_on_a_gpu():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    random = np.random.default_rng(0)
    steps = [random.normal(size=150_000) for _ in range(4)]
    changes = [step * random.uniform(0.5, 2, size=150_000) for step in steps]
    gradient = random.normal(size=150_000)
    expected = backend().quasi_newton_direction(gradient, steps, changes)
    with lowdim.compute(device="cuda"):
        found = backend().quasi_newton_direction(gradient, steps, changes)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


FORK = """
import os, signal
import numpy as np
import lowdim

def fit():
    with lowdim.compute(device="torch:cpu", n_jobs=2):
        X = np.random.RandomState(0).standard_normal((400, 12))
        lowdim.TSNE(perplexity=10, max_iter=30, random_state=0).fit(X)

fit()
child = os.fork()
if child == 0:
    signal.alarm(100)  # ends the child if it hangs
    fit()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    result = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
