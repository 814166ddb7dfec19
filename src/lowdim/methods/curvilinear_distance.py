"""Curvilinear distance analysis (Lee, Lendasse and Verleysen 2004)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.base import GraphEmbedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.curvilinear import NEIGHBORS, place_by_curvilinear_rule
from lowdim.extend.geodesics import place_by_geodesics
from lowdim.relations.geodesics import shortest_path_lengths, symmetrize_in_place
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.relations.prototypes import choose_prototypes
from lowdim.runtime import memory
from lowdim.solvers.curvilinear import curvilinear, initial
from lowdim.solvers.starts import classical_start


class CurvilinearDistanceAnalysis(GraphEmbedder):
    """Curvilinear component analysis of the distances along the data's manifold.

    k-NN -> geodesics -> stress weighted by the distances on the map, one object pins

    Where Isomap must keep all geodesics at once, also those that go round a hole or bend over an
    edge, this map keeps the short ones and gives way in the long ones.

    Parameters
    ----------
    n_neighbors, radius : neighbours of a point: a number of them, or all within a distance. The
        10 nearest where neither is given, or all others where there are fewer.
    n_components : dimension of the map.
    n_prototypes : vector quantisation first: map this many objects (those nearest to the centres
        of k-means for Euclidean vectors, otherwise objects far from each other) and place the
        others by interpolation. Memory n_samples * n_prototypes instead of n_samples^2.
    max_iter : epochs, in each of which every object pins once.
    alpha : (first, last) step size of the rule.
    lambda_range : (first, last) width of the neighbourhood F on the map, in units of the
        distances; "auto" goes from 3 to 0.1 standard deviations of the start's widest axis.
    neighborhood : F, "exponential" exp(-Y / lambda) or "step", 1 up to lambda and 0 beyond. A
        step tears more readily.
    init : "auto" (classical scaling of the geodesics, as in Isomap), "random", or an array of
        coordinates.
    path_method : "D" (searches from every object), "FW" (Floyd and Warshall) or "auto".
    metric, p, metric_params : how neighbours are measured; "precomputed" for dissimilarities, a
        sparse graph of distances, or a `NeighborGraph`.
    disconnected : a graph in several pieces: "join" them by their shortest bridges with a
        warning, embed only the "largest", embed them "separate" and side by side, or "raise".
    random_state : seed of the order of the pins, the prototypes, and init="random"; None is 0.
    n_jobs : threads; the result does not depend on it.
    callback : called after every epoch with its error and map; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_, graph_, n_iter_
    dist_matrix_ : geodesics between all objects, or from the prototypes to all objects.
    error_ : sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2 at the last lambda, X_ij the geodesics.
    history_ : the error that each epoch met, at its own lambda.
    stress_ : (sum (X - Y)^2 / sum X^2)^(1/2) over all pairs.
    prototypes_ : row numbers of the prototypes, with n_prototypes.

    `transform` measures geodesics through a new object's neighbours and moves it by the same
    rule against the map, which stands still; a training object gets its own coordinates. Time
    n^2 log n and n^2 an epoch, memory n^2, or n m log n, m^2 and n m with m prototypes.
    """

    prototypes_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        n_prototypes: int | None = None,
        max_iter: int = 50,
        alpha: tuple[float, float] = (0.5, 0.01),
        lambda_range: Any = "auto",
        neighborhood: str = "exponential",
        init: Any = "auto",
        path_method: str = "auto",
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_prototypes = n_prototypes
        self.max_iter = max_iter
        self.alpha = alpha
        self.lambda_range = lambda_range
        self.neighborhood = neighborhood
        self.init = init
        self.path_method = path_method
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        self._check_n_components(objects.n)
        chosen = None
        if self.n_prototypes is not None:
            least = self.n_components + 1
            chosen = choose_prototypes(objects, self.n_prototypes, least, self.random_state)
            self.prototypes_ = chosen
        self.dist_matrix_ = self._geodesics(graph, chosen)
        D = self.dist_matrix_
        if chosen is not None:
            D = np.ascontiguousarray(D[:, chosen])
            symmetrize_in_place(D)
        start = initial(
            self.init,
            D,
            (len(D), self.n_components),
            D.dtype,
            self.random_state,
            lambda: classical_start(D, self.n_components),
        )
        found = curvilinear(
            D,
            start,
            self._monitor(checks.integer(self.max_iter, "max_iter", 1)),
            alpha=self.alpha,
            lambda_range=self.lambda_range,
            neighborhood=self.neighborhood,
            random_state=self.random_state,
        )
        self.embedding_, self.error_, self.stress_, self.history_ = found
        self.n_iter_ = len(found.history)
        if chosen is not None:
            self.embedding_ = self._place_among(found.embedding, self.dist_matrix_.T)

    def _geodesics(self, graph: NeighborGraph, sources: Array | None) -> Array:
        n, rows = graph.n_objects, graph.n_objects if sources is None else len(sources)
        memory.claim(
            n * rows * graph.distances.itemsize,
            f"The matrix of geodesic distances from {rows} to {n} objects",
            "Set n_prototypes, for instance to 1000.",
        )
        return shortest_path_lengths(graph.adjacency(), sources, self.path_method)

    def _place(self, new: NewObjects) -> Array:
        images, lengths = self.embedding_, self.dist_matrix_
        if hasattr(self, "prototypes_"):
            images, lengths = images[self.prototypes_], lengths.T
        out = np.empty((new.n, images.shape[1]), dtype=images.dtype)
        place = partial(self._place_among, images)
        return place_by_geodesics(*self._new_neighbors(new), lengths, place, out)

    def _place_among(self, images: Array, D: Array) -> Array:
        """Objects placed by the rule from their geodesics to the mapped ones."""
        nearest, distances = backend().smallest(D, min(NEIGHBORS, len(images)))
        return place_by_curvilinear_rule(images, nearest, distances)
