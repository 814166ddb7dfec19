"""Kernels of kernel PCA that the neighbour graph of the training objects defines.

Isomap, locally linear embedding and Laplacian eigenmaps are kernel PCA with such kernels (Ham, Lee,
Mika and Schoelkopf 2004). Outside of the training objects their kernels are not functions of two
objects, but their eigenfunctions extend to new objects (Bengio et al. 2004).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import links, neighbors
from lowdim.estimator.barycentric import barycentric_map
from lowdim.estimator.fitted_state import Numbers, Rule, number, table
from lowdim.messages import argument
from lowdim.neighbor_graphs.geodesics import place_by_geodesics, shortest_path_lengths
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigensolvers import Eigenpairs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral.kernel_pca.graph_kernel_matrices import (
    commute_time_kernel,
    diffusion_kernel,
    isomap_kernel,
    lle_kernel,
)
from lowdim.spectral.laplacian import (
    edge_weights,
    heat_width,
    laplacian,
    positive_degrees,
    weight_matrix,
)
from lowdim.spectral.nystroem import extend_eigenvectors
from lowdim.spectral.projection import gower_projection
from lowdim.spectral.reconstruction import gram_blocks, standard_matrix
from lowdim.spectral.scaling import squared_means


@dataclass(kw_only=True)
class GraphKernel:
    """A kernel matrix from a neighbour graph; the base of those below.

    `matrix` sets `state_`, what `place` needs beside the graph.
    """

    n_neighbors: int | None = None
    disconnected: str = "join"
    graph_: NeighborGraph = field(init=False)
    state_: dict[str, Any] = field(init=False)
    _default_neighbors = 10
    _n_wanted = neighbors.n_neighbors_or_default
    eigen_solver = "dense"  # for eigen_solver="auto": close eigenvalues converge slowly

    def connected_graph(self, objects: Objects) -> NeighborGraph:
        """The neighbour graph, whose components are joined."""
        checks.choice(self.disconnected, "disconnected", ("join", "raise"))
        self.graph_, _ = neighbors.connected_graph(self, objects, None, 2)
        return self.graph_

    def matrix(self, objects: Objects) -> Array:
        """The kernel matrix."""
        raise NotImplementedError

    def place(self, new: NewObjects, eigenpairs: Eigenpairs) -> Array:
        """Coordinates of new objects, given the eigenpairs of the centred kernel matrix."""
        raise NotImplementedError


@dataclass(kw_only=True)
class IsomapKernel(GraphKernel):
    """-1/2 J D^2 J of geodesic distances D; a new object has geodesics through its neighbours."""

    radius: float | None = None
    _default_neighbors = 5
    eigen_solver = "auto"

    def matrix(self, objects: Objects) -> Array:
        D = shortest_path_lengths(self.connected_graph(objects).adjacency())
        self.state_ = {"geodesics": D}
        return isomap_kernel(D)

    def place(self, new: NewObjects, eigenpairs: Eigenpairs) -> Array:
        D = self.state_["geodesics"]
        means = squared_means(D).astype(D.dtype)
        out = np.empty((new.n, len(eigenpairs.values)), dtype=D.dtype)

        def project(new_rows: Array) -> Array:
            return gower_projection(new_rows**2, means, eigenpairs.values, eigenpairs.vectors)

        return place_by_geodesics(*links.new_neighbors(self, new), D, project, out)


@dataclass(kw_only=True)
class LocallyLinearKernel(GraphKernel):
    """lambda_max I - M of the reconstruction weights.

    A new object has the feature vector sum_j w_j phi(x_j), with w the weights that reconstruct it
    from its neighbours: the formula of Bengio et al. in the limit of a large multiple of I.
    """

    n_neighbors: int | None = 5
    reg: float = 1e-3
    radius = None

    def matrix(self, objects: Objects) -> Array:
        reg = checks.real(self.reg, "reg", 0)
        lists = self.connected_graph(objects).neighbor_lists()
        grams = gram_blocks(objects, lists, "kernel='lle'")
        self.state_ = {"vectors": objects.vectors("kernel='lle'")}
        return lle_kernel(standard_matrix(grams, lists, reg))

    def place(self, new: NewObjects, eigenpairs: Eigenpairs) -> Array:
        known = self.state_["vectors"]
        Y = eigenpairs.vectors * np.sqrt(eigenpairs.values)
        k = self.graph_.indices.shape[1]
        return barycentric_map(known, Y, new.vectors(), k, reg=self.reg)


@dataclass(kw_only=True)
class LaplacianKernel(GraphKernel):
    """A function of the Laplacian L = D - W of weights on the edges of the graph.

    The equation L v = lambda v, written for a new object with weights w to its neighbours, gives
    its coordinates: (sum_j w_j - lambda) v = sum_j w_j v_j.
    """

    radius: float | None = None
    symmetry: str = "union"
    weights: str = "heat"
    t: float | None = None

    def matrix(self, objects: Objects) -> Array:
        return commute_time_kernel(self.laplacian(objects))

    def laplacian(self, objects: Objects) -> Any:
        """The Laplacian, which is kept for `place`."""
        edges = self.connected_graph(objects).adjacency(self.symmetry)
        t = heat_width(self.t, edges)
        W = weight_matrix(edges, self.weights, t).astype(np.float64)
        positive_degrees(W, t)
        self.state_ = {"laplacian": laplacian(W), "t": t}
        return self.state_["laplacian"]

    def place(self, new: NewObjects, eigenpairs: Eigenpairs) -> Array:
        L, V = self.state_["laplacian"], eigenpairs.vectors.astype(np.float64)
        eigenvalues = np.einsum("nk,nk->k", V, L @ V)
        known = V * np.sqrt(eigenpairs.values.astype(np.float64))
        nearest, distances = links.new_links(self, new)
        w = edge_weights(distances, self.weights, self.state_["t"])
        Y = extend_eigenvectors(w, known[nearest], eigenvalues)
        return links.keep_known(Y, known, nearest, distances)


@dataclass(kw_only=True)
class DiffusionKernel(LaplacianKernel):
    """exp(-time L)."""

    time: float = 1.0

    def matrix(self, objects: Objects) -> Array:
        time = checks.real(self.time, "time", 0, open_low=True)
        return diffusion_kernel(self.laplacian(objects), time)


GRAPH_KERNELS: dict[str, type[GraphKernel]] = {
    "isomap": IsomapKernel,
    "lle": LocallyLinearKernel,
    "diffusion": DiffusionKernel,
    "commute_time": LaplacianKernel,
}
_LAPLACIAN = table({"laplacian": Numbers("n n", sparse=True), "t": number(0)})
STATE_RULES: dict[str, Rule] = {
    "isomap": table({"geodesics": Numbers("n n", least=0)}),
    "lle": table({"vectors": Numbers("n d", sparse=None)}),
    "diffusion": _LAPLACIAN,
    "commute_time": _LAPLACIAN,
}
"""Rules for `state_` in a model file."""


def graph_kernel(name: str, params: dict[str, Any] | None) -> GraphKernel:
    """The kernel of a name, with checked parameters."""
    kind = GRAPH_KERNELS[name]
    known = sorted(signature(kind).parameters)
    for key in params or {}:
        if key not in known:
            raise ValueError(
                f"{argument('kernel_params')}: {argument('kernel', name)} has no parameter "
                f"{key!r}; it has {', '.join(known)}."
            )
    return kind(**(params or {}))
