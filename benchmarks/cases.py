"""The table of cases: data, our job, the peer's job on the same data, how to judge both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import labelled, quality
from benchmarks.quality import Array, Data, Quality

WARM_UP = 500  # objects in the small job that comes before the measured one
HAS_UMAP = find_spec("umap") is not None
HAS_OPENTSNE = find_spec("openTSNE") is not None
HAS_MINISOM = find_spec("minisom") is not None
HAS_SOMOCLU = find_spec("somoclu") is not None
HAS_METRIC_LEARN = find_spec("metric_learn") is not None

Job = Callable[[Data], Any]


@dataclass(frozen=True)
class Where:
    """Folders of the real data and of what is computed once and shared."""

    data: Path
    cache: Path

    @property
    def fashion(self) -> Path:
        return self.data / "fashion-mnist.npz"

    def graph(self, n: int) -> Path:
        return self.cache / f"graph-{n}.npz"


@dataclass(frozen=True)
class Case:
    """One row of the report. `peer_package` is the peer's name in its package index."""

    name: str
    size: int
    data: Callable[[int, Where], Data]
    ours: Job
    quality: Callable[[Any, Data], Quality]
    peer: Job | None
    peer_package: str = "scikit-learn"
    peer_note: str = ""
    fresh: bool = False  # the first call in a process, imports included

    @property
    def needs_fashion(self) -> bool:
        return self.data in (fashion, fashion_graph, labelled.fashion)

    @property
    def needs_graph(self) -> bool:
        return self.data is fashion_graph


def swiss_roll(n: int, where: Where) -> Data:
    """Points on the Swiss roll, their roll parameter t, and their place on the flat sheet."""
    random = np.random.default_rng(0)
    t = 1.5 * np.pi * (1 + 2 * random.random(n))
    height = 21 * random.random(n)
    X = np.stack([t * np.cos(t), height, t * np.sin(t)], axis=1)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return {"X": X, "points": X, "t": t, "sheet": np.stack([arc, height], axis=1)}


def swiss_distances(n: int, where: Where) -> Data:
    from scipy.spatial.distance import cdist

    data = swiss_roll(n, where)
    return {**data, "X": cdist(data["points"], data["points"])}


def fashion(n: int, where: Where) -> Data:
    with np.load(where.fashion) as file:
        return {"X": file["X"][:n].astype(np.float32), "y": file["y"][:n]}


def fashion_graph(n: int, where: Where) -> Data:
    """Images with a ready neighbour graph, and the matrix W of links that both sides decompose."""
    import lowdim

    graph = lowdim.NeighborGraph.load(where.graph(n))
    W = graph.adjacency("union").astype(np.float64)
    W.data[:] = 1
    return {**fashion(n, where), "graph": graph, "W": W}


def prepare_graph(n: int, where: Where) -> None:
    """Compute the neighbour graph that `fashion_graph` reads."""
    import lowdim

    lowdim.neighbors(fashion(n, where)["X"], 15, method="exact").save(where.graph(n))


def fit(path: str, **parameters: Any) -> Job:
    """A job that fits the named class to X and asks for the coordinates."""
    module, name = path.rsplit(".", 1)

    def job(data: Data) -> Any:
        model = getattr(import_module(module), name)(**parameters)
        found = model.fit_transform(data["X"])
        if not hasattr(model, "embedding_"):
            model.embedding_ = np.asarray(found)
        return model

    return job


def our_neighbors(data: Data) -> Array:
    import lowdim

    return np.asarray(lowdim.neighbors(data["X"], 15, method="exact").indices)


def peer_neighbors(data: Data) -> Array:
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=15, algorithm="brute", n_jobs=-1).fit(data["X"])
    return np.asarray(search.kneighbors(return_distance=False))


def our_approximate(k: int) -> Job:
    def job(data: Data) -> Array:
        import lowdim

        graph = lowdim.neighbors(data["X"], k, method="approximate", recall=0.97)
        return np.asarray(graph.indices)

    return job


def peer_approximate(k: int) -> Job:
    """NN-descent as umap-learn calls it; its first neighbour is the object itself."""

    def job(data: Data) -> Array:
        from pynndescent import NNDescent

        n = len(data["X"])
        search = NNDescent(
            data["X"],
            n_neighbors=k + 1,
            n_trees=min(64, 5 + round(n**0.5 / 20)),
            n_iters=max(5, round(np.log2(n))),
            max_candidates=60,
            random_state=0,
            n_jobs=-1,
        )
        return np.asarray(search.neighbor_graph[0][:, 1:])

    return job


def our_laplacian(data: Data) -> Array:
    import lowdim

    model = lowdim.LaplacianEigenmaps(n_components=2, n_neighbors=15, weights="binary")
    return np.asarray(model.fit(data["X"], graph=data["graph"]).embedding_)


def peer_laplacian(data: Data) -> Array:
    """umap-learn's spectral initialisation, or the call it makes where it is not installed."""
    W, dim = data["W"], 2
    n = W.shape[0]
    if HAS_UMAP:
        from umap.spectral import spectral_layout

        return np.asarray(spectral_layout(data["X"], W, dim, np.random.RandomState(0)))
    from scipy.sparse import dia_array, eye_array
    from scipy.sparse.linalg import eigsh

    root = dia_array((1 / np.sqrt(W.sum(axis=0))[None, :], [0]), shape=(n, n))
    k = dim + 1
    values, vectors = eigsh(
        eye_array(n) - root @ W @ root,
        k,
        which="SM",
        ncv=max(2 * k + 1, int(np.sqrt(n))),
        tol=1e-4,
        v0=np.ones(n),
        maxiter=5 * n,
    )
    return np.asarray(vectors[:, np.argsort(values)[1:]])


def our_landmark_isomap(data: Data) -> Any:
    import lowdim

    n_landmarks = min(1000, len(data["X"]) // 10)
    return lowdim.Isomap(n_neighbors=15, n_landmarks=n_landmarks).fit(data["X"])


def gauss_distances(n: int, where: Where) -> Data:
    """Distances between points of a normal distribution in ten dimensions, which no plane holds."""
    from scipy.spatial.distance import cdist

    points = np.random.default_rng(0).normal(size=(n, 10))
    return {"points": points, "X": cdist(points, points)}


def stress_mds(kind: str, n: int) -> Case:
    """Both from classical scaling, each to its own default precision."""
    settings = {"metric": "precomputed", "metric_mds": kind == "metric", "normalized_stress": True}
    return Case(
        f"mds-{kind}-{n}",
        n,
        gauss_distances,
        fit("lowdim.MDS", **settings, init="classical"),
        quality.stress_one,
        fit("sklearn.manifold.MDS", **settings, init="classical_mds", n_init=1),
    )


def umap(name: str, *, fresh: bool, seed: int | None) -> Case:
    """Raw pixels to a map, neighbours included, with the defaults of both."""
    call = "first call, import included" if fresh else "second call"
    return Case(
        name,
        70_000,
        fashion,
        fit("lowdim.UMAP", random_state=seed),
        quality.neighborhoods,
        fit("umap.UMAP", random_state=seed) if HAS_UMAP else None,
        peer_package="umap-learn",
        peer_note=f"{call}, {'unseeded' if seed is None else 'seeded'}",
        fresh=fresh,
    )


def whole_fit(name: str, ours: Job, peer: str, n: int = 70_000, **parameters: Any) -> Case:
    """Raw pixels to a map, neighbours and imports included, with the defaults of both."""
    package = peer.partition(".")[0]
    return Case(
        name,
        n,
        fashion,
        ours,
        quality.neighborhoods,
        fit(peer, **parameters) if find_spec(package) is not None else None,
        peer_package={"sklearn": "scikit-learn"}.get(package, package),
        peer_note=f"{peer.rpartition('.')[2]}, first call, import included",
        fresh=True,
    )


def open_tsne(data: Data) -> Any:
    """openTSNE with its own defaults but for the number of threads."""
    from types import SimpleNamespace

    from openTSNE import TSNE

    model = TSNE(perplexity=30, n_jobs=2, random_state=0)
    return SimpleNamespace(embedding_=np.asarray(model.fit(data["X"])))


SOM_SIDE, SOM_PASSES, SOM_RADII = 20, 10, (5.0, 1.0)


def our_som(data: Data) -> Array:
    import lowdim

    model = lowdim.SelfOrganizingMap(
        shape=(SOM_SIDE, SOM_SIDE), topology="rectangular", radius=SOM_RADII, max_iter=SOM_PASSES
    )
    return np.asarray(model.fit(data["X"]).codebook_)


def peer_som(data: Data) -> Array:
    """minisom's offline batch training, with the same radii and full steps."""
    from minisom import MiniSom

    def radius(first: float, t: int, passes: int) -> float:
        return float(first * (SOM_RADII[1] / first) ** (t / (passes - 1)))

    model = MiniSom(
        SOM_SIDE,
        SOM_SIDE,
        data["X"].shape[1],
        sigma=SOM_RADII[0],
        learning_rate=1.0,
        random_seed=0,
    )
    model._sigma_decay_function = radius  # its arguments choose among schedules by name only
    model._learning_rate_decay_function = lambda rate, t, passes: rate
    model.pca_weights_init(data["X"])
    model.train_batch_offline(data["X"], SOM_PASSES)
    return np.asarray(model.get_weights()).reshape(SOM_SIDE**2, -1)


def somoclu(data: Data) -> Array:
    """somoclu's batch training, with the same radii, neighbourhoods and full steps."""
    from somoclu import Somoclu

    X = np.ascontiguousarray(data["X"], dtype=np.float32)
    model = Somoclu(SOM_SIDE, SOM_SIDE, initialization="pca", std_coeff=1.0, compactsupport=False)
    model.train(
        X,
        epochs=SOM_PASSES,
        radius0=SOM_RADII[0],
        radiusN=SOM_RADII[1],
        radiuscooling="exponential",
        scale0=1.0,
        scaleN=1.0,
    )
    return np.asarray(model.codebook).reshape(SOM_SIDE**2, -1)


def tsne(name: str, n: int, iterations: int, peer: Job | None, package: str) -> Case:
    """Raw pixels to a map, neighbours included; the divergence by one function for both."""
    return Case(
        name,
        n,
        fashion,
        fit("lowdim.TSNE", perplexity=30, max_iter=iterations, random_state=0),
        quality.divergence,
        peer,
        peer_package=package,
    )


def locally_linear(method: str) -> Case:
    settings = {"n_neighbors": 12, "n_components": 2, "method": method}
    return Case(
        f"lle-{method}",
        10_000,
        swiss_roll,
        fit("lowdim.LocallyLinearEmbedding", **settings),
        quality.reconstruction,
        fit("sklearn.manifold.LocallyLinearEmbedding", **settings, random_state=0, n_jobs=-1),
    )


def kernel_pca(name: str, judge: Callable[[Any, Data], Quality], **more: Any) -> Case:
    settings = {"n_components": 2, "kernel": "rbf", "gamma": 0.01, **more}
    return Case(
        name,
        10_000,
        swiss_roll,
        fit("lowdim.KernelPCA", **settings),
        judge,
        fit("sklearn.decomposition.KernelPCA", **settings, random_state=0, n_jobs=-1),
    )


def metric_learning() -> list[Case]:
    """Each method on each data set, with the peer's own defaults beside ours."""
    sets = {"wine": 178, "breast_cancer": 569, "digits": 1797, "fashion": 10_000}
    theirs = {
        "nca": ("NeighborhoodComponentsAnalysis", "sklearn.neighbors.", "scikit-learn", True),
        "lmnn": (
            "LargeMarginNearestNeighbor",
            "metric_learn.LMNN",
            "metric-learn",
            HAS_METRIC_LEARN,
        ),
        "itml": (
            "InformationTheoreticMetricLearning",
            "metric_learn.ITML_Supervised",
            "metric-learn",
            HAS_METRIC_LEARN,
        ),
    }
    cases = []
    for method, (ours, peer, package, installed) in theirs.items():
        path = peer + ours if peer.endswith(".") else peer
        for name, n in sets.items():
            cases.append(
                Case(
                    f"{method}-{name}",
                    n,
                    labelled.fashion if name == "fashion" else labelled.labelled(name),
                    labelled.learn(f"lowdim.{ours}"),
                    labelled.accuracy,
                    labelled.learn(path) if installed else None,
                    peer_package=package,
                    peer_note=f"{labelled.n_splits(n)} splits",
                )
            )
    return cases


CASES = [
    Case(
        "classical-mds",
        5_000,
        swiss_distances,
        fit("lowdim.ClassicalMDS", metric="precomputed"),
        quality.distances_kept,
        fit("sklearn.manifold.ClassicalMDS", metric="precomputed"),
    ),
    Case(
        "classical-mds-vectors",
        5_000,
        swiss_roll,
        fit("lowdim.ClassicalMDS"),
        quality.distances_kept,
        fit("sklearn.manifold.ClassicalMDS"),
    ),
    stress_mds("metric", 1_000),
    stress_mds("metric", 2_000),
    stress_mds("nonmetric", 500),
    stress_mds("nonmetric", 1_000),
    Case(
        "isomap",
        10_000,
        swiss_roll,
        fit("lowdim.Isomap", n_neighbors=10, n_components=2),
        quality.roll_unrolled,
        fit("sklearn.manifold.Isomap", n_neighbors=10, n_components=2, n_jobs=-1),
    ),
    *map(locally_linear, ("standard", "modified", "hessian", "ltsa")),
    Case(
        "laplacian-swiss",
        20_000,
        swiss_roll,
        fit("lowdim.LaplacianEigenmaps", n_components=2, n_neighbors=10),
        quality.roll_ordered,
        fit(
            "sklearn.manifold.SpectralEmbedding",
            affinity="nearest_neighbors",
            n_neighbors=10,
            random_state=0,
            n_jobs=-1,
        ),
    ),
    Case(
        "laplacian-fashion",
        70_000,
        fashion_graph,
        our_laplacian,
        quality.eigenvector_residual,
        peer_laplacian,
        peer_package="umap-learn" if HAS_UMAP else "scipy",
        peer_note="spectral_layout" if HAS_UMAP else "eigsh as umap-learn calls it",
    ),
    kernel_pca("kernel-pca", quality.eigenvalue_sum),
    kernel_pca("kernel-pca-preimage", quality.preimages, fit_inverse_transform=True),
    tsne("tsne", 70_000, 750, open_tsne if HAS_OPENTSNE else None, "openTSNE"),
    tsne(
        "tsne-5000",
        5_000,
        1000,
        fit("sklearn.manifold.TSNE", perplexity=30, max_iter=1000, random_state=0, n_jobs=-1),
        "scikit-learn",
    ),
    umap("umap", fresh=True, seed=None),
    umap("umap-second-call", fresh=False, seed=None),
    umap("umap-seeded", fresh=True, seed=0),
    umap("umap-seeded-second-call", fresh=False, seed=0),
    whole_fit("pacmap", fit("lowdim.PaCMAP", random_state=0), "pacmap.PaCMAP"),
    whole_fit("trimap", fit("lowdim.TriMap", random_state=0), "trimap.TRIMAP"),
    whole_fit("phate", fit("lowdim.PHATE"), "phate.PHATE", 10_000, verbose=0, n_jobs=2),
    whole_fit(
        "lpp",
        fit("lowdim.LocalityPreservingProjections"),
        "sklearn.decomposition.PCA",
        n_components=2,
    ),
    Case(
        "pca",
        70_000,
        fashion,
        fit("lowdim.PCA", n_components=50),
        quality.explained_variance,
        fit("sklearn.decomposition.PCA", n_components=50, random_state=0),
    ),
    Case(
        "knn-exact",
        70_000,
        fashion,
        our_neighbors,
        quality.recall,
        peer_neighbors,
    ),
    *(
        Case(
            f"knn-approximate-{k}",
            70_000,
            fashion,
            our_approximate(k),
            quality.recall,
            peer_approximate(k),
            peer_package="pynndescent",
        )
        for k in (15, 90)
    ),
    Case(
        "som",
        4_000,
        fashion,
        our_som,
        quality.quantization,
        peer_som if HAS_MINISOM else None,
        peer_package="minisom",
        peer_note="train_batch_offline",
    ),
    Case(
        "som-somoclu",
        4_000,
        fashion,
        our_som,
        quality.quantization,
        somoclu if HAS_SOMOCLU else None,
        peer_package="somoclu",
    ),
    *metric_learning(),
    Case(
        "isomap-landmarks",
        70_000,
        fashion,
        our_landmark_isomap,
        quality.label_accuracy,
        None,
        peer_note="none: all geodesics would take {n:,}² × 8 bytes = {square:.1f} GB",
    ),
]
