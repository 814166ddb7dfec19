"""Small fits of all iterative methods, and digests of the bits of their results.

    python tests/reproducible/fits.py [--write | name ...]

prints a JSON object of the digests, or writes it to digests.json: for each fit, of the embedding,
and of coordinates of new objects where the fit has them. Inputs are whole numbers or exact
fractions, made without functions whose last digit depends on the machine.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

import lowdim

FITS: dict[str, Callable[[], list[np.ndarray]]] = {}


def fit(function: Callable[[], list[np.ndarray]]) -> Callable[[], list[np.ndarray]]:
    FITS[function.__name__] = function
    return function


def digits(n: int, dtype: str = "float64") -> np.ndarray:
    return load_digits().data[:n].astype(dtype)


def points(n: int, d: int, dtype: str = "float64") -> np.ndarray:
    """Three uniform clouds."""
    random = np.random.RandomState(1)
    cloud = random.randint(0, 1000, (n, d))
    cloud[:, :2] += 1500 * (np.arange(n) % 3)[:, None]
    return (cloud / 1024).astype(dtype)


def city_blocks(X: np.ndarray) -> np.ndarray:
    """Distances that are sums of exact differences."""
    return np.abs(X[:, None] - X[None]).sum(axis=2)


def pins(n: int) -> np.ndarray:
    """Places of the first five of n objects."""
    pinned = np.full((n, 2), np.nan)
    pinned[:5] = [[-3, 1], [2, 2], [0, -4], [1, 0], [5, 1]]
    return pinned


def results(model, X, new=None, more=None) -> list[np.ndarray]:
    out = [model.fit(X).embedding_]
    if new is not None:
        out.append(model.transform(new))
    if more is not None:
        out.append(model.update(more).embedding_)
    return out


# --- t-SNE and its relatives ----------------------------------------------------------------------


@fit
def tsne_exact():
    X = digits(240)
    return results(lowdim.TSNE(max_iter=300, random_state=0), X[:200], X[200:], X[200:])


@fit
def tsne_float32():
    return results(lowdim.TSNE(max_iter=300, random_state=0), digits(300, "float32"))


@fit
def tsne_tree():
    return results(lowdim.TSNE(method="barnes_hut", max_iter=270, random_state=0), digits(400))


@fit
def tsne_tree_3d():
    model = lowdim.TSNE(3, method="barnes_hut", max_iter=260, random_state=0)
    return results(model, digits(300, "float32"))


@fit
def tsne_grid():
    return results(lowdim.TSNE(method="fft", max_iter=270, random_state=0), digits(400, "float32"))


@fit
def tsne_grid_student():
    model = lowdim.TSNE(method="fft", dof=0.7, max_iter=260, random_state=0)
    return results(model, digits(200))


@fit
def tsne_line():
    model = lowdim.TSNE(1, method="fft", init="random", max_iter=260, random_state=0)
    return results(model, digits(200))


@fit
def tsne_sparse():
    model = lowdim.TSNE(metric="cosine", max_iter=260, random_state=0)
    return results(model, csr_array(digits(250)))


@fit
def tsne_precomputed():
    D = city_blocks(digits(200))
    return results(lowdim.TSNE(metric="precomputed", max_iter=260, random_state=0), D)


@fit
def tsne_spectral():
    return results(lowdim.TSNE(init="spectral", max_iter=260, random_state=0), digits(300))


@fit
def tsne_few_dimensions():
    X = points(400, 4) / 3  # squares of these are rounded
    return results(lowdim.TSNE(max_iter=260, random_state=0), X)


@fit
def tsne_many_dimensions():
    return results(lowdim.TSNE(max_iter=260, random_state=0), points(60, 300))


@fit
def tsne_large():
    return results(lowdim.TSNE(max_iter=50, random_state=0), points(5000, 20, "float32"))


@fit
def tsne_manhattan():
    model = lowdim.TSNE(metric="manhattan", perplexity=[5, 40], max_iter=260, random_state=0)
    return results(model, digits(200))


@fit
def weighted_tsne():
    return results(lowdim.WeightedTSNE(max_iter=260, random_state=0), digits(200))


@fit
def weighted_tsne_global_weight():
    model = lowdim.WeightedTSNE(global_weight=0.5, max_iter=260, random_state=0)
    return results(model, digits(200))


@fit
def tsne_pinned():
    return [lowdim.TSNE(max_iter=260, random_state=0).fit(digits(200), pinned=pins(200)).embedding_]


@fit
def symmetric_sne():
    return results(lowdim.SymmetricSNE(max_iter=260, random_state=0), digits(200))


@fit
def sne():
    X = digits(230)
    return results(lowdim.SNE(max_iter=260, random_state=0), X[:200], X[200:])


@fit
def multiscale_sne():
    X = digits(160)
    return results(lowdim.MultiscaleSNE(max_iter=40, random_state=0), X[:150], X[150:])


@fit
def multiscale_sne_lists():
    model = lowdim.MultiscaleSNE(method="sampled", max_iter=20, random_state=0)
    return results(model, digits(400, "float32"))


@fit
def nerv():
    X = digits(160)
    return results(lowdim.NeRV(max_iter=40, random_state=0), X[:150], X[150:])


# --- UMAP -----------------------------------------------------------------------------------------


@fit
def umap():
    X = digits(330)
    return results(lowdim.UMAP(n_epochs=100, random_state=0), X[:300], X[300:], X[300:])


@fit
def umap_float32():
    return results(lowdim.UMAP(n_epochs=100, random_state=0), digits(300, "float32"))


@fit
def umap_large():
    return results(lowdim.UMAP(n_epochs=30, random_state=0), points(4500, 12, "float32"))


@fit
def umap_3d_pca():
    model = lowdim.UMAP(n_components=3, init="pca", n_epochs=60, random_state=0)
    return results(model, digits(200))


@fit
def umap_cosine_sparse():
    model = lowdim.UMAP(metric="cosine", n_epochs=60, random_state=0)
    return results(model, csr_array(digits(200, "float32")))


@fit
def umap_precomputed():
    model = lowdim.UMAP(metric="precomputed", init="random", n_epochs=60, random_state=0)
    return results(model, city_blocks(digits(200)))


@fit
def umap_labels():
    model = lowdim.UMAP(n_epochs=60, random_state=0)
    return [model.fit(digits(200), load_digits().target[:200]).embedding_]


@fit
def umap_numeric_labels():
    X = digits(200)
    model = lowdim.UMAP(n_epochs=60, target_metric="l2", target_weight=0.3, random_state=0)
    return [model.fit(X, X.sum(axis=1)).embedding_]


@fit
def densmap():
    model = lowdim.UMAP(densmap=True, n_epochs=80, random_state=0)
    return results(model, digits(250))


@fit
def pacmap():
    return results(lowdim.PaCMAP(random_state=0), digits(200))


@fit
def trimap():
    return results(lowdim.TriMap(random_state=0), digits(200))


@fit
def largevis():
    return results(lowdim.LargeVis(random_state=0), digits(200))


@fit
def negative_sampling_tsne():
    X = digits(620)
    model = lowdim.NegativeSamplingTSNE(max_iter=50, random_state=0)
    return results(model, X[:600], None, X[600:])


@fit
def placed_by_layouts():
    """`transform` of the layouts, and a map of TriMap with another function of the distances."""
    X, maps = digits(220), []
    for name in ("PaCMAP", "TriMap", "LargeVis", "NegativeSamplingTSNE"):
        model = getattr(lowdim, name)(max_iter=30, random_state=0).fit(X[:200])
        maps.append(model.transform(X[200:]))
    return [*maps, *results(lowdim.TriMap(weight_temp=1, max_iter=30, random_state=0), X)]


@fit
def sample_weights():
    X, weights = digits(200), 1 + np.arange(200) % 3
    models = [
        lowdim.TSNE(max_iter=260, random_state=0),
        lowdim.UMAP(n_epochs=60, random_state=0),
        lowdim.PaCMAP(max_iter=60, random_state=0),
        lowdim.MDS(max_iter=40, random_state=0),
    ]
    return [model.fit(X, sample_weight=weights).embedding_ for model in models]


@fit
def pinned_layouts():
    X, pinned = digits(200), pins(200)
    models = [
        lowdim.UMAP(n_epochs=60, random_state=0),
        lowdim.PaCMAP(max_iter=60, random_state=0),
        lowdim.LargeVis(max_iter=40, random_state=0),
        lowdim.NegativeSamplingTSNE(max_iter=40, random_state=0),
        lowdim.TriMap(max_iter=60, random_state=0),
    ]
    return [model.fit(X, pinned=pinned, pin_strength=0.1).embedding_ for model in models]


@fit
def aligned_umap():
    X = digits(250)
    shared = {i: i - 50 for i in range(50, 200)}
    model = lowdim.UMAP(n_epochs=40, random_state=0)
    return [one.embedding_ for one in lowdim.fit_aligned(model, [X[:200], X[50:]], [shared])]


@fit
def aligned_tsne_and_mds():
    X = digits(170)
    slices, shared = [X[:130], X[40:]], {i: i - 40 for i in range(40, 130)}
    models = [lowdim.TSNE(max_iter=260, random_state=0), lowdim.MDS(max_iter=30, random_state=0)]
    aligned = [lowdim.fit_aligned(model, slices, [shared]) for model in models]
    return [one.embedding_ for pair in aligned for one in pair]


@fit
def updates():
    X = digits(140)
    models = [
        lowdim.SymmetricSNE(max_iter=260, random_state=0),
        lowdim.SNE(max_iter=40, random_state=0),
        lowdim.MultiscaleSNE(max_iter=20, random_state=0),
        lowdim.NeRV(max_iter=20, random_state=0),
        lowdim.LargeVis(max_iter=30, random_state=0),
    ]
    return [model.fit(X[:120]).update(X[120:]).embedding_ for model in models]


@fit
def equally_far_neighbors():
    """Searched in a k-d tree: on a grid most neighbours are equally far."""
    grid = np.stack(np.meshgrid(np.arange(18.0), np.arange(18.0)), axis=-1).reshape(-1, 2)
    models = [lowdim.TSNE(max_iter=255, random_state=0), lowdim.UMAP(n_epochs=60, random_state=0)]
    return [place for model in models for place in results(model, grid, grid[::9] + 0.5)]


# --- stress ---------------------------------------------------------------------------------------


@fit
def mds():
    X = digits(170)
    return results(lowdim.MDS(max_iter=100, random_state=0), X[:150], X[150:])


@fit
def mds_float32():
    return results(lowdim.MDS(max_iter=60, random_state=0), digits(450, "float32"))


@fit
def mds_random_start():
    model = lowdim.MDS(3, init="random", n_init=2, max_iter=50, random_state=0)
    return results(model, digits(100))


@fit
def mds_nonmetric():
    model = lowdim.MDS(metric_mds=False, metric="precomputed", max_iter=60, random_state=0)
    return results(model, city_blocks(digits(100)))


@fit
def mds_weighted():
    D = city_blocks(digits(100))
    model = lowdim.MDS(weights="d^-2", metric="precomputed", max_iter=60, random_state=0)
    return results(model, D)


@fit
def mds_splines():
    return results(lowdim.MDS(disparities="spline", max_iter=60, random_state=0), digits(100))


@fit
def mds_sphere():
    return results(lowdim.MDS(3, surface="sphere", max_iter=60, random_state=0), digits(100))


@fit
def mds_pinned():
    X = digits(150)
    models = [lowdim.MDS(max_iter=40, random_state=0), lowdim.MDS(max_iter=40, random_state=0)]
    held = models[0].fit(X, pinned=20 * pins(150)).embedding_
    return [held, models[1].fit(X, pinned=20 * pins(150), pin_strength=0.2).embedding_]


@fit
def mds_covariates():
    X = digits(150)
    return [lowdim.MDS(max_iter=40, random_state=0).fit(X, covariates=X[:, 18:22]).embedding_]


@fit
def mds_sampled():
    model = lowdim.MDS(method="sampled", max_iter=40, random_state=0)
    return results(model, digits(300))


@fit
def unfolding():
    table = digits(60)[:, 10:30] + np.arange(20) / 8
    return results(lowdim.Unfolding(max_iter=100, random_state=0), table[:50], table[50:])


@fit
def unfolding_ratio():
    model = lowdim.Unfolding(disparities="ratio", n_init=2, max_iter=100, random_state=0)
    return [model.fit(1 + digits(60)[:, 10:30]).embedding_, model.objects_]


@fit
def minimum_distortion():
    """Each penalty and each constraint."""
    graph = lowdim.neighbors(digits(150), 8)
    penalties = ("linear", "cubic", "huber", "logistic", "log1p")
    choices = [{"penalty": name, "constraint": "standardized"} for name in penalties]
    choices += [{"repulsion": name, "constraint": "centered"} for name in ("log", "inverse")]
    choices += [{"constraint": pins(150), "init": "random"}]
    options = {"negative_sample_rate": 1, "max_iter": 30, "random_state": 0}
    maps = [lowdim.embed(graph, **choice, **options).embedding for choice in choices]
    return [*maps, lowdim.embed(graph, lengths=True, constraint="centered").embedding]


@fit
def sammon():
    X = digits(140)
    return results(lowdim.Sammon(max_iter=60, random_state=0), X[:120], X[120:])


@fit
def sammon_majorization():
    D = city_blocks(digits(100))
    model = lowdim.Sammon(method="majorize", metric="precomputed", max_iter=60, random_state=0)
    return results(model, D)


@fit
def curvilinear_component():
    model = lowdim.CurvilinearComponentAnalysis(random_state=0)
    X = digits(140)
    return results(model, X[:120], X[120:])


@fit
def curvilinear_distance():
    return results(lowdim.CurvilinearDistanceAnalysis(random_state=0), points(150, 4))


@fit
def indscal():
    X = digits(40)
    stack = np.stack([city_blocks(X), city_blocks(X[:, :32]) * 2, city_blocks(X[:, 32:]) * 3])
    return results(lowdim.INDSCAL(max_iter=60, random_state=0), stack)


@fit
def indscal_other_spaces():
    X = digits(40)
    stack = np.stack([city_blocks(X), city_blocks(X[:, :32]) * 2, city_blocks(X[:, 32:]) * 3])
    models = [
        lowdim.INDSCAL(constraint=name, max_iter=30, random_state=0)
        for name in ("identity", "idioscal")
    ]
    return [part for model in models for part in (*results(model, stack), model.weights_)]


@fit
def self_organizing_map():
    X = digits(250)
    model = lowdim.SelfOrganizingMap(random_state=0)
    return [*results(model, X[:230], X[230:]), model.codebook_]


@fit
def self_organizing_torus():
    model = lowdim.SelfOrganizingMap(shape=(6, 5), toroidal=True, training="online", random_state=0)
    return [*results(model, digits(200)), model.codebook_]


# --- main -----------------------------------------------------------------------------------------


def digest(arrays: list[np.ndarray]) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        assert np.isfinite(array).all()
        kind = np.dtype(array.dtype).newbyteorder("<")
        whole.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return whole.hexdigest()[:16]


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    file = sys.stdout
    if names == ["--write"]:
        file, names = Path(__file__).with_name("digests.json").open("w"), []
    separator = "{\n"
    for name in names or FITS:  # printed one by one, because an emulated processor takes long
        print(f'{separator} "{name}": "{digest(FITS[name]())}"', end="", file=file, flush=True)
        separator = ",\n"
    print("\n}", file=file)


if __name__ == "__main__":
    main(sys.argv[1:])
