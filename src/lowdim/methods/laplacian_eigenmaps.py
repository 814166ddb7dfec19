"""Laplacian eigenmaps (Belkin and Niyogi 2003)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import GraphEmbedder
from lowdim.checks import Array
from lowdim.extend.laplacian import extend_eigenvectors
from lowdim.matrices.laplacian import (
    edge_weights,
    heat_width,
    laplacian,
    positive_degrees,
    weighted,
)
from lowdim.relations.graph import SYMMETRIES, NeighborGraph
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.solvers.spectral import bottom_eigenpairs

NORMALIZATIONS = ("random-walk", "symmetric", "none")


class LaplacianEigenmaps(GraphEmbedder):
    """Coordinates that keep neighbours near each other: the slowest modes of heat on a graph.

    graph -> heat weights -> bottom eigenvectors of (L, D) or (L, I)

    Parameters
    ----------
    n_components : dimension of the map.
    n_neighbors, radius : neighbours of a point: a number of them, or all within a distance;
        neither: 10 neighbours.
    symmetry : "union" (i, j are linked if either is a neighbour of the other), "mutual" (if both
        are) or "mean" (as "union", with weights that are averages).
    weights : "heat": exp(-d^2 / t), or "binary": 1.
    t : width of the heat kernel; None: the mean squared distance between linked points.
    normalization : "random-walk": L y = lambda D y with Y'DY = I, the paper's choice and the
        spectrum of the random walk; "symmetric": eigenvectors of D^(-1/2) L D^(-1/2), Y'Y = I;
        "none": L y = lambda y with Y'Y = I.
    eigen_solver : "auto", "dense", "arpack", "shift-invert" or "lobpcg".
    tol : of the iterative eigensolver.
    metric, metric_params : how neighbours are measured; "precomputed" for dissimilarities, a
        sparse graph of distances, or a `NeighborGraph`.
    disconnected : "join", "largest", "separate" or "raise"; see Isomap.
    random_state : start of the iterative eigensolver.
    n_jobs : threads; the result does not depend on it.

    Attributes
    ----------
    embedding_, graph_, eigenvalues_ (the zero one left out)
    affinity_matrix_ : the symmetric sparse weights. t_ : the width used.

    `transform` is Nystroem's formula (Bengio et al. 2004) over the training objects that the rule
    of the graph links to a new object. An object at distance zero from a training object gets its
    coordinates; close to one the formula differs from them by a share of about
    lambda / ((1 - lambda) (1 + degree)), as that object is one more neighbour.
    Time and memory n k and a sparse eigenproblem.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        symmetry: str = "union",
        weights: str = "heat",
        t: float | None = None,
        normalization: str = "random-walk",
        eigen_solver: str = "auto",
        tol: float = 1e-10,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.symmetry = symmetry
        self.weights = weights
        self.t = t
        self.normalization = normalization
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.metric = metric
        self.metric_params = metric_params
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        checks.choice(self.symmetry, "symmetry", SYMMETRIES)
        k = self._check_n_components(objects.n)
        edges = graph.adjacency(self.symmetry)
        self.t_ = heat_width(self.t, edges)
        self.affinity_matrix_ = weighted(edges, self.weights, self.t_)
        self._embed(self.affinity_matrix_, k, rows_dtype=edges.dtype)

    def _embed(self, W: Any, k: int, rows_dtype: Any) -> None:
        """Bottom eigenvectors of the Laplacian of W under the chosen constraint."""
        checks.choice(self.normalization, "normalization", NORMALIZATIONS)
        self.degrees_ = positive_degrees(W, self.t_)
        L = laplacian(W.astype(np.float64))
        mass = None if self.normalization == "none" else self.degrees_
        found = bottom_eigenpairs(
            L,
            k,
            B=mass,
            null=np.ones(len(self.degrees_)),
            solver=self.eigen_solver,
            tol=self.tol,
            seed=self.random_state,
        )
        vectors = found.vectors
        if self.normalization == "symmetric":
            vectors = vectors * np.sqrt(self.degrees_)[:, None]
        self.eigenvalues_ = found.values
        self.embedding_ = vectors.astype(rows_dtype, copy=False)

    def _place(self, new: NewObjects) -> Array:
        nearest, distances = self._new_links(new)
        Y = self._extend(nearest, edge_weights(distances, self.weights, self.t_))
        return self._keep_known(Y, nearest, distances)

    def _extend(self, nearest: Array, w: Array) -> Array:
        """The eigenvector equation solved for new objects, given their weights."""
        known = self.embedding_[nearest]
        if self.normalization == "none":
            Y = extend_eigenvectors(w, known, self.eigenvalues_)
            return Y.astype(self.embedding_.dtype, copy=False)
        w = np.asarray(w, dtype=np.float64)
        degree = np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
        if self.normalization == "symmetric":
            w = w / np.sqrt(self.degrees_[nearest] * degree)
        else:
            w = w / degree
        mean = np.einsum("mk,mkd->md", w, known.astype(np.float64))
        Y = np.asarray(mean / np.maximum(1 - self.eigenvalues_, 1e-12))
        return Y.astype(self.embedding_.dtype, copy=False)
