"""Samples that stay on a device against those of the CPU, and graphs that are combined in parts."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

torch = pytest.importorskip("torch")

from lowdim.backends.native import BACKEND  # noqa: E402
from lowdim.backends.torch import affinities, graphs, samples, sparse  # noqa: E402
from lowdim.neighbor_embedding.samples import RATIO, SampledObjects, labels_of, n_levels, n_near  # noqa: E402
from lowdim.objects.objects import objects_of  # noqa: E402

DEVICES = ["cpu", "cuda"]


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.device(request.param)


def both_samples(device, n=500):
    """The same sample on the CPU and on a device, and a map."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 6)).astype(np.float32)
    host, near = SampledObjects(objects_of(X)), n_near(n)
    nearest = BACKEND.nearest(X, near, False)
    lists = tuple(torch.from_numpy(part).to(device) for part in nearest)
    rows, labels = (torch.from_numpy(part).to(device) for part in (X, labels_of(n)))
    own = samples.VectorSample(rows, labels.long(), RATIO, lists, n_levels(n, near))
    return host, own, X[:, :2].astype(np.float64) + 0.3 * random.normal(size=(n, 2))


def padded(lists, device):
    """Lists of the CPU as lists of a device."""
    sizes = np.diff(lists.indptr)
    known = np.arange(sizes.max()) < sizes[:, None]
    parts = []
    for values in lists[1:]:
        matrix = np.zeros(known.shape, values.dtype)
        matrix[known] = values
        parts.append(torch.from_numpy(matrix).to(device))
    return samples.DeviceLists(*parts)


def entries_of(lists):
    """For each object, what its list says of others: squared distance and weight."""
    if hasattr(lists, "indptr"):
        rows = [slice(*ends) for ends in zip(lists.indptr[:-1], lists.indptr[1:], strict=True)]
        parts = [[part[row] for part in lists[1:]] for row in rows]
    else:
        arrays = [part.cpu().numpy() for part in (lists.indices, lists.squared, lists.weights)]
        parts = [[part[i][arrays[2][i] > 0] for part in arrays] for i in range(len(arrays[0]))]
    return [
        {j: (s, w) for j, s, w in zip(*map(np.ndarray.tolist, part), strict=True)} for part in parts
    ]


@pytest.mark.parametrize("with_map", [False, True])
def test_lists_on_a_device_are_those_of_the_cpu(device, with_map):
    host, own, Y = both_samples(device)
    assert own.largest == pytest.approx(host.largest, rel=1e-6)
    found, expected = (entries_of(one.lists(Y if with_map else None)) for one in (own, host))
    same = 0
    for one, other in zip(found, expected, strict=True):
        same += one.keys() == other.keys()
        for j in one.keys() & other.keys():
            assert one[j] == pytest.approx(other[j], rel=1e-5)
    assert same > 0.99 * len(found)  # ties at the reach of a level may differ by rounding


def test_divergences_of_lists_on_a_device_are_those_of_the_cpu(device):
    host, _, Y = both_samples(device)
    lists, perplexities = host.lists(Y), np.array([128.0, 16.0, 4.0])
    own = padded(lists, device)
    widths = lists.precisions(perplexities)
    np.testing.assert_allclose(own.precisions(perplexities), widths, rtol=1e-3)
    np.testing.assert_allclose(own.spreads(), lists.spreads(), rtol=1e-5)
    precisions = np.tile([1.0, 4.0, 16.0], (len(Y), 1))
    for trade_off in (1.0, 0.3):
        one, other = (part.divergence(widths, precisions, trade_off)(Y) for part in (own, lists))
        np.testing.assert_allclose(one[:2], other[:2], rtol=1e-4)
        np.testing.assert_allclose(one[2], other[2], atol=1e-4 * np.abs(other[2]).max())
    evaluate = own.divergence(widths, precisions, 0.5)
    np.testing.assert_array_equal(evaluate(Y)[2], evaluate(Y)[2])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_neighbours_on_a_map_by_leaves(device, dim):
    random = np.random.default_rng(0)
    cluster = random.integers(20, size=3000)
    Y = random.normal(size=(3000, dim)) * (0.05 + random.random(20)[cluster, None])
    Y += 4 * random.normal(size=(20, dim))[cluster]
    groups = random.permutation(3000).reshape(3, 1000)
    at, members = (torch.from_numpy(part).to(device) for part in (Y, groups))
    ids, distances = (part.cpu().numpy() for part in samples.nearest_on_map(at, members, 40))
    number = np.empty(3000, np.int32)
    number[groups.ravel()] = np.repeat(np.arange(3), 1000)
    _, exact, _ = BACKEND.nearest_in_groups(Y, number, 40)
    assert np.mean(distances <= exact * (1 + 1e-9)) > 0.98
    gaps = np.linalg.norm(Y[ids] - Y[:, None], axis=2)
    np.testing.assert_allclose(distances, gaps, rtol=1e-6)
    assert (number[ids] == number[:, None]).all()
    assert (ids != np.arange(3000)[:, None]).all()


def test_small_groups_have_missing_neighbours(device):
    X = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    members = torch.tensor([[0, 1, 2], [3, 4, -1], [5, -1, -1], [6, 7, 8]], device=device)
    rows = torch.from_numpy(X).to(device)
    for found in (
        samples.nearest_in_groups(rows, members, 4),
        samples.nearest_on_map(rows.double(), members, 4),
    ):
        ids, distances = (part.cpu().numpy() for part in found)
        assert [sorted(row[row >= 0].tolist()) for row in ids] == [
            [1, 2], [0, 2], [0, 1], [4], [3], [], [7, 8], [6, 8], [6, 7], [],
        ]  # fmt: skip
        assert (np.isinf(distances) == (ids < 0)).all()


def test_distances_of_lists(device):
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 7)).astype(np.float32)
    ids = random.integers(-1, 50, size=(20, 5)).astype(np.int32)
    own = random.integers(50, size=20)
    expected = np.where(ids < 0, np.inf, np.linalg.norm(X[ids] - X[own][:, None], axis=2))
    lists, asked, rows = (torch.from_numpy(part).to(device) for part in (ids, own, X))
    found = samples.listed_distances(rows, lists, asked).cpu().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_graphs_in_parts_have_the_same_bits(device, monkeypatch):
    random = np.random.default_rng(0)
    A = csr_array(random_array((900, 900), density=0.02, rng=random, dtype=np.float32))
    order = torch.from_numpy(random.permutation(900)).to(device)
    distances = np.sort(random.random((900, 12)).astype(np.float32), axis=1).ravel()
    indptr = np.arange(901) * 12

    def results():
        union = graphs.fuzzy_union(device, A, 0.7)
        moved = sparse.resident_csr(device, union).renumber(order)
        return [
            *(union.indptr, union.indices, union.data),
            *(part.cpu().numpy() for part in (moved.offsets, moved.columns, moved.values)),
            *graphs.components(device, union),
            *affinities.memberships(device, indptr, distances, 3.0, 1.0)[:1],
            *affinities.perplexity_affinities(device, indptr, distances, 5.0),
        ]

    whole = results()
    monkeypatch.setattr(sparse, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(affinities, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(graphs, "free_bytes", lambda device: 100_000)
    for one, other in zip(results(), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_array_equal(graphs.fuzzy_union(device, A, 0.7).data, whole[2])
