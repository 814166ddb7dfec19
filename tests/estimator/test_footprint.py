"""Every fit claims its memory first, and the advice names only parameters that the method has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import lowdim
from lowdim.catalog import CATALOG
from lowdim.estimator.footprint import footprint
from lowdim.objects.objects import objects_of

VECTORS = [method for method in CATALOG if method.objects == "vectors"]


def test_methods_with_a_square_matrix_claim_it():
    X = np.random.RandomState(0).standard_normal((3000, 3))
    for method in VECTORS:
        if "n^2 memory" in method.cost and not method.euclidean_twin:
            assert footprint(method.load()(), objects_of(X)) > 8 * len(X) ** 2


@pytest.mark.parametrize("method", VECTORS, ids=lambda method: method.name)
def test_a_fit_is_refused_before_it_starts(method):
    X = np.random.RandomState(0).standard_normal((200, 3))
    estimator = method.load()()
    with lowdim.compute(memory="1kB"), pytest.raises(MemoryError) as error:
        estimator.fit(X)
    text = str(error.value)
    assert text.startswith(f"{method.name} of 200 objects needs")
    advised = re.findall(r"(\w+)=", text)
    assert set(advised) <= set(estimator.get_params())
    assert not method.reduced_by or method.reduced_by in advised


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        (lowdim.Isomap(n_landmarks=50), lowdim.Isomap()),
        (lowdim.MDS(method="sampled"), lowdim.MDS()),
        (lowdim.TSNE(), lowdim.TSNE(method="exact")),
        (lowdim.LaplacianEigenmaps(), lowdim.LaplacianEigenmaps(eigen_solver="dense")),
        (lowdim.CurvilinearDistanceAnalysis(n_prototypes=50), lowdim.CurvilinearDistanceAnalysis()),
    ],
    ids=lambda estimator: repr(estimator),
)
def test_what_the_advice_names_is_granted(cheap, dear):
    X = np.random.RandomState(0).standard_normal((3000, 3)).astype(np.float32)
    with lowdim.compute(memory="42MB"):
        with pytest.raises(MemoryError):
            dear.fit(X)
        cheap.set_params(**({"max_iter": 10} if hasattr(cheap, "max_iter") else {})).fit(X)


def test_many_components_count():
    X = np.random.RandomState(0).standard_normal((2000, 50))
    for cls, size in ((lowdim.PCA, X.size), (lowdim.KernelPCA, 4 * len(X) ** 2)):
        few, all_of_them = (footprint(cls(n), objects_of(X)) for n in (2, None))
        assert all_of_them - few >= 8 * 0.9 * size


def test_weights_that_are_given_to_fit_count():
    X = np.random.RandomState(0).standard_normal((500, 3))
    weights = np.random.RandomState(1).uniform(1, 2, (500, 500))
    with lowdim.compute(memory="9MB"):
        lowdim.MDS(n_init=1, max_iter=3).fit(X)
        with pytest.raises(MemoryError, match="MDS of 500 objects"):
            lowdim.MDS(n_init=1, max_iter=3).fit(X, weights=weights + weights.T)


def test_a_sparse_set_of_pairs_claims_no_square():
    graph = lowdim.neighbors(np.random.RandomState(0).standard_normal((2000, 2)), 8).adjacency()
    with lowdim.compute(memory="20MB"):  # a square of 2000 numbers takes 32 MB
        lowdim.MDS(metric="precomputed", n_init=1, max_iter=3).fit(graph)


@pytest.mark.parametrize(
    ("estimator", "least"),
    [
        (lowdim.NeighborhoodComponentsAnalysis(2), 42 * 8 * 2 * 3000),
        (lowdim.NeighborhoodComponentsAnalysis(), 42 * 8 * 3000**2),
        (lowdim.LargeMarginNearestNeighbor(), 10 * 8 * 3000**2),
        (lowdim.InformationTheoreticMetricLearning(), 6 * 8 * 3000**2),
        (lowdim.SelfOrganizingMap(), 8 * 2 * 40 * 3000),
    ],
    ids=str,
)
def test_the_memory_of_wide_data_grows_with_the_features(estimator, least):
    X = np.random.RandomState(0).standard_normal((40, 3000))
    assert footprint(estimator, estimator._objects(X)) > least


@pytest.mark.parametrize(
    ("estimator", "copies"),
    [
        (lowdim.LocallyLinearEmbedding(), 2),
        (lowdim.LaplacianEigenmaps(), 2),
        (lowdim.Isomap(), 2),
        (lowdim.DiffusionMap(), 2),
        (lowdim.KernelPCA(2, kernel="linear"), 1),
        (lowdim.KernelPCA(2, kernel="cosine"), 3),
        (lowdim.KernelPCA(2, kernel="rbf"), 5),
    ],
    ids=str,
)
def test_copies_of_wide_vectors_are_claimed(estimator, copies):
    X = np.random.RandomState(0).standard_normal((40, 30000))
    extra = footprint(estimator, objects_of(X)) - footprint(estimator, objects_of(X[:, :3]))
    assert extra == copies * 40 * (30000 - 3) * 8


def test_the_bounds_of_itml_are_found_within_its_claim():
    """The differences of 10,000 pairs were one array: 12 GB for 50,000 features."""
    X = np.random.RandomState(0).standard_normal((100, 500))
    model = lowdim.InformationTheoreticMetricLearning(max_iter=1)
    claimed = footprint(model, model._objects(X))
    model.fit(X, np.arange(100) % 2)
    tracemalloc.start()
    try:
        model.fit(X, np.arange(100) % 2)
        assert tracemalloc.get_traced_memory()[1] < claimed
    finally:
        tracemalloc.stop()


def test_an_autoencoder_claims_its_weights():
    pytest.importorskip("torch")
    X = np.random.RandomState(0).standard_normal((40, 3000)).astype(np.float32)
    claimed = footprint(lowdim.Autoencoder(), objects_of(X))
    # weights of the first and the last layer, their slopes and two moments
    assert claimed > 4 * 4 * 2 * 512 * 3000


@pytest.mark.parametrize("d", [5, 20])
def test_an_exact_search_by_products_claims_a_tile_for_each_thread(d):
    X = np.random.RandomState(0).standard_normal((30_000, d))
    model = lowdim.LaplacianEigenmaps()
    with lowdim.compute(n_jobs=2):
        two = footprint(model, model._objects(X))
    with lowdim.compute(n_jobs=4):
        four = footprint(model, model._objects(X))
    assert four - two == (2 * 1875**2 * 8 if d > 8 else 0)  # else by a k-d tree


# In an order in which none can use what one before it has set free.
PEAKS = """
import json, warnings
import lowdim
from benchmarks.plan import groups, reset_peak, resident
from lowdim.estimator.footprint import footprint
from lowdim.objects.objects import objects_of

warnings.simplefilter("ignore")
shares = {}
for model, n in (
    (lowdim.UMAP(n_neighbors=400, n_epochs=2), 3000),
    (lowdim.KernelPCA(2, kernel="rbf"), 2500),
    (lowdim.Isomap(), 2500),
    (lowdim.MDS(max_iter=2), 2500),
    (lowdim.Sammon(max_iter=2), 2500),
    (lowdim.TSNE(method="exact", max_iter=5), 2000),
):
    X = groups(n)[0]
    type(model)().fit(X[:300])  # what is imported and allocated once
    reset_peak()
    before = resident("VmRSS")
    model.fit(X)
    name, peak = type(model).__name__, resident("VmHWM") - before
    shares[name] = footprint(model, objects_of(X)) / max(peak, 1)
print(json.dumps(shares))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_claim_is_the_peak_of_the_fit():
    command = [sys.executable, "-c", PEAKS]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shares = json.loads(done.stdout)
    assert len(shares) == 6
    assert [name for name, share in shares.items() if not 0.8 < share < 1.6] == [], shares
