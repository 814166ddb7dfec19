"""Models of many kinds as files, and random damage to such files."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
from scipy.sparse import csr_array

import lowdim
from lowdim import data

DESCENT = {"perplexity": 5, "max_iter": 60}
NUMBERS = [np.nan, np.inf, -np.inf, 0, -1, 2**30, 2**62, 1e300, 1e-300, -0.5, 7]
LEAVES = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    10**30,
    0.5,
    1e308,
    "",
    "x",
    "euclidean",
    "precomputed",
    [],
    {},
]
TYPES = ["f4", "f8", "f2", "i4", "i8", "u1", "?", ">f8", "c16", "U3"]


def models():
    """(name, fitted estimator, new objects) for all methods, with their more special states."""
    X, _ = data.s_curve(60, noise=0.02, random_state=0)
    new, _ = data.s_curve(5, noise=0.02, random_state=1)
    far = X.copy()
    far[35:, 0] += 40.0
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    to_new = np.sqrt(((new[:, None] - X) ** 2).sum(axis=2))
    mixed = [[a, b, "uv"[i % 2]] for i, (a, b, _) in enumerate(X)]
    gaps = np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.05, np.nan, X)
    sparse = csr_array(X * (abs(X) > 0.2))
    yield "PCA", lowdim.PCA(2).fit(X), new
    yield "ClassicalMDS", lowdim.ClassicalMDS(metric="cityblock").fit(X), new
    yield "ClassicalMDS landmarks", lowdim.ClassicalMDS(n_landmarks=20).fit(X), new
    yield "ClassicalMDS vectors", lowdim.ClassicalMDS().fit(X), new
    yield "MDS", lowdim.MDS(max_iter=20).fit(X), new
    yield "MDS ordinal", lowdim.MDS(metric_mds=False, max_iter=20).fit(X), new
    yield "MDS sampled", lowdim.MDS(method="sampled", max_iter=20).fit(X), new
    yield "MDS precomputed", lowdim.MDS(metric="precomputed", max_iter=20).fit(D), to_new
    for kernel in ("rbf", "linear"):
        yield f"KernelPCA {kernel}", lowdim.KernelPCA(2, kernel=kernel).fit(X), new
    ridge = lowdim.KernelPCA(2, kernel="rbf", fit_inverse_transform=True)
    yield "KernelPCA ridge", ridge.fit(X), new
    yield "Isomap", lowdim.Isomap(n_neighbors=8).fit(X), new
    yield "Isomap landmarks", lowdim.Isomap(n_neighbors=8, n_landmarks=20).fit(X), new
    yield "Isomap parts", lowdim.Isomap(n_neighbors=8, disconnected="separate").fit(far), new
    yield "Isomap radius", lowdim.Isomap(n_neighbors=None, radius=1.0).fit(X), new
    yield "LLE", lowdim.LocallyLinearEmbedding(n_neighbors=8).fit(X), new
    yield "LLE ltsa", lowdim.LocallyLinearEmbedding(n_neighbors=8, method="ltsa").fit(X), new
    yield "LaplacianEigenmaps", lowdim.LaplacianEigenmaps(n_neighbors=8).fit(X), new
    yield "DiffusionMap", lowdim.DiffusionMap(n_neighbors=8).fit(X), new
    clusters = lowdim.SpectralClustering(3, n_neighbors=8, random_state=0)
    yield "SpectralClustering", clusters.fit(X), new
    yield "Sammon", lowdim.Sammon(max_iter=20).fit(X), new
    yield "Sammon gower", lowdim.Sammon(metric="gower", max_iter=20).fit(mixed), mixed[:5]
    cca = lowdim.CurvilinearComponentAnalysis(n_prototypes=30)
    yield "CurvilinearComponentAnalysis", cca.fit(X), new
    cda = lowdim.CurvilinearDistanceAnalysis(n_neighbors=8)
    yield "CurvilinearDistanceAnalysis", cda.fit(X), new
    yield "UMAP", lowdim.UMAP(n_neighbors=8, n_epochs=20).fit(X), new
    yield "UMAP sparse", lowdim.UMAP(n_neighbors=8, n_epochs=20).fit(sparse), sparse[:5]
    mvu = lowdim.MaximumVarianceUnfolding(n_neighbors=4, solver="factorized", max_iter=10)
    yield "MaximumVarianceUnfolding", mvu.fit(X), new
    for kind in ("SNE", "SymmetricSNE", "TSNE", "WeightedTSNE"):
        yield kind, getattr(lowdim, kind)(**DESCENT).fit(X), new
    yield "TSNE sparse", lowdim.TSNE(**DESCENT).fit(sparse), sparse[:5]
    yield "TSNE missing", lowdim.TSNE(metric="nan_euclidean", **DESCENT).fit(gaps), new
    yield "SelfOrganizingMap", lowdim.SelfOrganizingMap(shape=(3, 4)).fit(X), new
    relational = lowdim.SelfOrganizingMap(shape=(3, 4), metric="cityblock")
    yield "SelfOrganizingMap relational", relational.fit(X), new
    labels = np.arange(len(X)) % 3
    yield (
        "NeighborhoodComponentsAnalysis",
        lowdim.NeighborhoodComponentsAnalysis().fit(X, labels),
        new,
    )
    yield "LargeMarginNearestNeighbor", lowdim.LargeMarginNearestNeighbor(2).fit(X, labels), new
    learned = lowdim.InformationTheoreticMetricLearning()
    yield "InformationTheoreticMetricLearning", learned.fit(X, labels), new
    yield "PCA in a unit", lowdim.PCA(2).fit(np.ldexp(X, -400)), np.ldexp(new, -400)
    yield "Isomap in a unit", lowdim.Isomap().fit(np.ldexp(X, 400)), np.ldexp(new, 400)
    yield "MultiscaleSNE", lowdim.MultiscaleSNE(max_iter=20).fit(X), new
    yield "NeRV", lowdim.NeRV(perplexity=8, max_iter=20).fit(X), new


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def damaged(members, random):
    """The members of a model file with one random change, and what was changed."""
    arrays = [name for name in members if name.endswith(".npy")]
    if random.uniform() < 0.6:
        name = arrays[random.randint(len(arrays))]
        array = np.load(io.BytesIO(members[name]))
        changed, how = damaged_array(array, random)
        buffer = io.BytesIO()
        np.save(buffer, changed)
        return {**members, name: buffer.getvalue()}, f"{name} {array.shape} {array.dtype}: {how}"
    document = json.loads(members["model.json"])
    how = damage_document(document, random)
    return {**members, "model.json": json.dumps(document).encode()}, how


def damaged_array(array, random):
    kind = random.randint(5)
    if kind <= 1 and array.size:
        value = NUMBERS[random.randint(len(NUMBERS))]
        array = array.copy()
        with np.errstate(all="ignore"):
            if array.dtype.kind != "f" and not np.isfinite(value):
                value = -5
            value = np.array(float(value)).astype(array.dtype)
        if kind == 0:
            array[...] = value
        else:
            array.reshape(-1)[random.randint(array.size)] = value
        return array, f"{'all' if kind == 0 else 'one'} {value}"
    if kind == 2:
        dtype = TYPES[random.randint(len(TYPES))]
        with np.errstate(all="ignore"):
            return array.astype(dtype), f"type {dtype}"
    if kind == 3 and array.size > 1:
        order = random.permutation(array.size)
        return array.reshape(-1)[order].reshape(array.shape), "shuffled"
    shapes = [
        lambda a: a[:-1] if a.ndim else a[None],
        lambda a: np.concatenate([a, a]) if a.ndim else np.array([a, a]),
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a[..., :0] if a.ndim else a,
        lambda a: a[:0] if a.ndim else a,
        lambda a: a[..., :1] if a.ndim else a,
    ]
    number = random.randint(len(shapes))
    return shapes[number](array), f"shape {number}"


def places(value, path=()):
    """Paths of all entries of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def damage_document(document, random):
    every = list(places(document["model"]))
    path = every[random.randint(len(every))]
    holder = document["model"]
    for key in path[:-1]:
        holder = holder[key]
    old = holder[path[-1]]
    kind = random.randint(4)
    if kind == 0 and isinstance(holder, dict):
        del holder[path[-1]]
        return f"without {path}"
    if kind == 1 and isinstance(old, str) and old.startswith("array"):
        holder[path[-1]] = f"array{random.randint(12)}"
    elif kind == 2 and isinstance(holder, dict):
        holder[f"{path[-1]}x"] = holder.pop(path[-1])
        return f"renamed {path}"
    else:
        holder[path[-1]] = LEAVES[random.randint(len(LEAVES))]
    return f"{path}: {str(old)[:40]} -> {holder[path[-1]]!r}"
