"""How good an answer is, computed the same way for both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Data = dict[str, Any]
Quality = dict[str, float]


def distances_kept(fitted: Any, data: Data) -> Quality:
    """Correlation of embedded with given distances."""
    return {"correlation": _correlation(fitted.embedding_, data["points"])}


def stress_one(fitted: Any, data: Data) -> Quality:
    """Kruskal's Stress-1, of the order of the distances or of the distances themselves."""
    return {"stress-1": float(fitted.stress_)}


def roll_unrolled(fitted: Any, data: Data) -> Quality:
    """The roll parameter in the first coordinate; what the map misses of the flat sheet."""
    Y = fitted.embedding_
    return {
        "spearman": _spearman(Y[:, 0], data["t"]),
        "residual variance": 1 - _correlation(Y, data["sheet"]) ** 2,
    }


def roll_ordered(fitted: Any, data: Data) -> Quality:
    Y = fitted.embedding_
    return {"spearman": _spearman(Y[:, 0], data["t"]), "trustworthiness": _trust(Y, data["X"])}


def reconstruction(fitted: Any, data: Data) -> Quality:
    """The objective of locally linear embedding, and trustworthiness."""
    return {
        "error": float(getattr(fitted, "reconstruction_error_", np.nan)),
        "trustworthiness": _trust(fitted.embedding_, data["X"]),
    }


def eigenvalue_sum(fitted: Any, data: Data) -> Quality:
    return {"eigenvalue sum": float(np.sum(fitted.eigenvalues_))}


def preimages(fitted: Any, data: Data) -> Quality:
    """Mean distance of training rows from their pre-images."""
    X = data["X"][_rows(len(data["X"]), 2000)]
    back = fitted.inverse_transform(fitted.transform(X))
    return {"mean error": float(np.linalg.norm(X - back, axis=1).mean())}


def explained_variance(fitted: Any, data: Data) -> Quality:
    return {"explained": float(np.sum(fitted.explained_variance_ratio_, dtype=np.float64))}


def recall(indices: Array, data: Data) -> Quality:
    """Share of the neighbours found that are as near as the k-th true one, on 500 rows."""
    X = data["X"].astype(np.float64)
    rows = _rows(len(X), 500)
    norms = np.einsum("ij,ij->i", X, X)
    squared = norms[rows, None] - 2 * X[rows] @ X.T + norms
    squared[np.arange(len(rows)), rows] = np.inf
    k = indices.shape[1]
    reach = np.partition(squared, k - 1, axis=1)[:, k - 1]
    found = [np.unique(indices[i]) for i in rows]
    hits = sum(int((squared[i, ids] <= reach[i]).sum()) for i, ids in enumerate(found))
    return {"recall": hits / (k * len(rows))}


def label_accuracy(fitted: Any, data: Data) -> Quality:
    """Accuracy of 10 nearest neighbours on the map in predicting the labels, 5 folds."""
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    scores = cross_val_score(KNeighborsClassifier(10), fitted.embedding_, data["y"], cv=5)
    return {"accuracy": float(scores.mean())}


def neighborhoods(fitted: Any, data: Data) -> Quality:
    """Is the map true? Labels told by neighbours, trustworthiness, neighbours kept, distances."""
    from scipy.spatial import cKDTree

    X, Y = data["X"], np.asarray(fitted.embedding_)
    some = _rows(len(X), 2000)
    norms = np.einsum("ij,ij->i", X, X)
    squared = norms - 2 * X[some] @ X.T
    squared[np.arange(len(some)), some] = np.inf
    wanted = np.argpartition(squared, 15, axis=1)[:, :15]
    found = np.asarray(cKDTree(Y).query(Y[some], k=16)[1])
    kept = [len(np.intersect1d(a, b[b != i])) for a, b, i in zip(wanted, found, some, strict=True)]
    i, j = np.random.default_rng(0).integers(0, len(X), (2, 20_000))
    return {
        **label_accuracy(fitted, data),
        "trustworthiness": _trust(Y, X, 5000, 15),
        "neighbours kept": float(np.mean(kept)) / 15,
        "spearman": _spearman(
            np.linalg.norm(X[i] - X[j], axis=1), np.linalg.norm(Y[i] - Y[j], axis=1)
        ),
    }


def divergence(fitted: Any, data: Data) -> Quality:
    """t-SNE's divergence at perplexity 30 from exact neighbours, and what `neighborhoods` tells."""
    import lowdim
    from lowdim.backends.similarity import Similarity
    from lowdim.neighbor_embedding.affinities import conditional_matrix, joint
    from lowdim.neighbor_embedding.divergence import PairDivergence
    from lowdim.neighbor_embedding.stochastic_neighbors import choose_repulsion

    graph = lowdim.neighbors(data["X"], 90, method="exact")
    P = joint(conditional_matrix(graph, 30.0))
    Y = np.ascontiguousarray(fitted.embedding_, dtype=P.dtype)
    repulsion = choose_repulsion("exact", Similarity(), len(Y), Y.shape[1], 0.5)
    value = PairDivergence(P, Similarity(), repulsion)(Y)[0]
    return {"divergence": float(value), **neighborhoods(fitted, data)}


def eigenvector_residual(Y: Array, data: Data) -> Quality:
    """Largest residual of L u = lambda u, lambda u's Rayleigh quotient, and the sum of the lambdas.

    L is the normalised Laplacian. Its trivial eigenvector is taken out first, so that it earns
    nothing. Solutions v of the generalised problem count as u = D^(1/2) v: of the two readings
    of a column the better is taken.
    """
    W = data["W"]
    root = np.sqrt(np.asarray(W.sum(axis=0)).ravel())
    trivial = root / np.linalg.norm(root)
    best = []
    for column in np.asarray(Y, dtype=np.float64).T:
        readings = []
        for u in (column, column * root):
            u = u / np.linalg.norm(u)
            u = u - trivial * (trivial @ u)
            u = u / np.linalg.norm(u)
            product = u - (W @ (u / root)) / root
            value = float(u @ product)
            readings.append((float(np.linalg.norm(product - value * u)), value))
        best.append(min(readings))
    residuals, values = zip(*best, strict=True)
    return {"residual": max(residuals), "eigenvalue sum": sum(values)}


def _rows(n: int, count: int) -> Array:
    return np.random.default_rng(0).choice(n, min(n, count), replace=False)


def _correlation(A: Array, B: Array) -> float:
    """Correlation of the distances in A with those in B on sampled pairs."""
    i, j = np.random.default_rng(0).integers(0, len(A), (2, 20_000))
    a, b = (np.linalg.norm(Z[i] - Z[j], axis=1)[i != j] for Z in (A, B))
    return float(np.corrcoef(a, b)[0, 1])


def _spearman(a: Array, b: Array) -> float:
    from scipy.stats import spearmanr

    return abs(float(spearmanr(a, b).statistic))


def _trust(Y: Array, X: Array, count: int = 1000, k: int = 10) -> float:
    from sklearn.manifold import trustworthiness

    rows = _rows(len(X), count)
    return float(trustworthiness(X[rows], Y[rows], n_neighbors=k))


def quantization(codebook: Array, data: Data) -> Quality:
    """Mean distance to the nearest prototype of a square grid, and the topographic error."""
    from scipy.spatial.distance import cdist

    side = round(len(codebook) ** 0.5)
    D = cdist(data["X"], codebook)
    two = D.argpartition(1, axis=1)[:, :2]
    row, column = np.divmod(two, side)
    apart = np.maximum(np.abs(np.diff(row)), np.abs(np.diff(column))) > 1
    return {"quantization error": float(D.min(axis=1).mean()), "topographic": float(apart.mean())}
