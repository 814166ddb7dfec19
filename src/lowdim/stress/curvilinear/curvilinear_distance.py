"""Curvilinear distance analysis (Lee, Lendasse and Verleysen 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits, declare_parameters, links, neighbors
from lowdim.estimator.fitted_state import Numbers, graph_rule
from lowdim.neighbor_graphs.geodesics import place_by_geodesics, shortest_path_lengths
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral.starts import classical_start
from lowdim.stress.curvilinear.placement import place_among
from lowdim.stress.curvilinear.rule import CurvilinearAnalysis, choose_prototypes


@declare_parameters
class CurvilinearDistanceAnalysis(CurvilinearAnalysis):
    """Curvilinear distance analysis: curvilinear component analysis of geodesic distances.

    k-NN -> geodesics -> curvilinear component analysis

    Isomap fits all geodesics alike, also those around a hole. This map keeps the short ones and
    gives way in the long ones.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=None
        Number of neighbours of an object. If neither this nor radius is given, 10, or all others if
        there are fewer.
    $radius
    $rule
    init : str or array of shape (n_samples, n_components), default="auto"
        Start: "auto", classical scaling of the geodesics as in Isomap; "random"; or given
        coordinates.
    $path_method
    $minkowski
    $disconnected
    $settings

    Attributes
    ----------
    $embedding
    $graph
    dist_matrix_ : array of shape (n_samples, n_samples) or (n_prototypes, n_samples)
        Geodesics between all objects, or from the prototypes to all objects.
    $results

    See Also
    --------
    CurvilinearComponentAnalysis : the same for distances through the input space.
    Isomap : classical scaling of the geodesics.

    Notes
    -----
    Time is n^2 log n, and n^2 per epoch, and memory n^2. With m prototypes time is n m log n, and
    m^2 per epoch, and memory n m.

    `transform` measures geodesics through the neighbours of a new object and moves it by the same
    rule, with the map fixed. ``transform(X_train)`` equals `embedding_`.

    References
    ----------
    .. [1] J. A. Lee, A. Lendasse, M. Verleysen, "Nonlinear projection with curvilinear distances:
       Isomap versus curvilinear distance analysis", Neurocomputing 57, 2004.

    Examples
    --------
    The arc of a circle becomes a straight line.

    >>> import numpy as np
    >>> import lowdim
    >>> angles = np.linspace(0, np.pi, 40)
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> analysis = lowdim.CurvilinearDistanceAnalysis(1, n_neighbors=2, random_state=0).fit(X)
    >>> bool(analysis.stress_ < 1e-3)
    True
    """

    traits = Traits(
        keeps="short distances along the data's manifold",
        when="as curvilinear component analysis, on data that is strongly folded",
        cost="n^2 log n and n^2 per epoch, n^2 memory; n m log n and n m with m prototypes",
        extends="geodesics through a new point's neighbours, then the same rule; barycentric "
        "inverse",
        paper="Lee, Lendasse and Verleysen 2004",
        power=2.0,
        reduced_by="n_prototypes",
    )

    _attributes: ClassVar = {"graph_": graph_rule, "dist_matrix_": Numbers("m|n n", least=0)}
    _needed = ("graph_", "dist_matrix_")

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 10

    _: KW_ONLY
    n_neighbors: int | None = None
    radius: float | None = None
    path_method: str = "auto"
    metric: Any = "minkowski"
    p: float = 2
    disconnected: str = "join"

    def _memory(self, fit: Problem) -> float:
        m = fit.object_count("n_prototypes")
        return (fit.geodesics(0.75 * m, 50e6) if m else fit.square) + 60 * fit.arcs

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        k, chosen = self._check_n_components(objects.n), None
        if not neighbors.connect(self, objects, graph, k + 2):
            return
        if self.n_prototypes is not None:
            chosen = choose_prototypes(objects, self.n_prototypes, k + 1, self.random_state)
            self.prototypes_ = chosen
        D = shortest_path_lengths(self.graph_.adjacency(), chosen, self.path_method)
        self.dist_matrix_ = D
        if chosen is not None:
            D = D[:, chosen]
            D = np.minimum(D, D.T, order="C")  # lengths of a path, summed from its two ends
        self.embedding_ = self._map(D, len(D), D.dtype, lambda: classical_start(D, k))
        if chosen is not None:
            self.embedding_ = _place(self.embedding_, self.dist_matrix_.T)

    def _transform(self, new: NewObjects) -> Array:
        images, lengths = self.embedding_, self.dist_matrix_
        if hasattr(self, "prototypes_"):
            images, lengths = images[self.prototypes_], lengths.T
        out = np.empty((new.n, images.shape[1]), dtype=images.dtype)
        place = partial(_place, images)
        return place_by_geodesics(*links.new_neighbors(self, new), lengths, place, out)


def _place(images: Array, D: Array) -> Array:
    """Objects placed by the rule from their geodesics to the mapped ones."""
    return place_among(images, lambda k: backend().smallest(D, k))
