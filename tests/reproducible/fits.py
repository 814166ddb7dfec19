"""Small fits of all iterative methods, and digests of the bits of their results.

    python tests/reproducible/fits.py [--write | name ...]

prints a JSON object of the digests, or writes it to digests.json: for each fit, of the embedding,
and of coordinates of new objects where the fit has them. Inputs are whole numbers or exact
fractions, made without functions whose last digit depends on the machine.
"""

from __future__ import annotations

import hashlib
import json
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
    return results(lowdim.TSNE(max_iter=260, random_state=0), points(400, 4))


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
def sammon():
    X = digits(140)
    return results(lowdim.Sammon(max_iter=60, random_state=0), X[:120], X[120:])


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
def self_organizing_map():
    X = digits(250)
    model = lowdim.SelfOrganizingMap(random_state=0)
    return [*results(model, X[:230], X[230:]), model.codebook_]


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
    write = names == ["--write"]
    digests = {name: digest(FITS[name]()) for name in (FITS if write or not names else names)}
    text = json.dumps(digests, indent=1)
    if write:
        Path(__file__).with_name("digests.json").write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
