"""Kernels of kernel PCA that the neighbour graph of the training objects defines.

Isomap, locally linear embedding and Laplacian eigenmaps are kernel PCA with such kernels (Ham, Lee,
Mika and Schoelkopf 2004). Outside of the training objects their kernels are not functions of two
objects, but their eigenfunctions extend to new objects (Bengio et al. 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import GraphEmbedder
from lowdim.estimator.barycentric import barycentric_map
from lowdim.estimator.fitted_state import Numbers, Rule, number, table
from lowdim.neighbor_graphs.geodesic_placement import place_by_geodesics
from lowdim.neighbor_graphs.geodesics import shortest_path_lengths
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigensolvers import Eigenpairs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral.gram import squared_means
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
    weighted,
)
from lowdim.spectral.nystroem import extend_eigenvectors
from lowdim.spectral.projection import gower_projection
from lowdim.spectral.reconstruction import gram_blocks, standard_matrix


class GraphKernel(GraphEmbedder):
    """A kernel matrix from a neighbour graph; the base of those below.

    It has the graph, the policy for several components and the search for new objects' neighbours
    from `GraphEmbedder`, and ends where kernel PCA begins. `_fit_graph` sets `matrix_`, and in
    `state_` what `place` needs beside the graph.
    """

    matrix_: Array
    state_: dict[str, Any]
    state_rule: Rule
    n_jobs = None
    eigen_solver = "dense"  # for eigen_solver="auto": close eigenvalues converge slowly

    def __init__(
        self,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        disconnected: str = "join",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.disconnected = checks.choice(disconnected, "disconnected", ("join", "raise"))

    def place(self, new: NewObjects, found: Eigenpairs) -> Array:
        """Coordinates of new objects, given the eigenpairs of the centred kernel matrix."""
        raise NotImplementedError


class IsomapKernel(GraphKernel):
    """-1/2 J D^2 J of geodesic distances D; a new object has geodesics through its neighbours."""

    state_rule = staticmethod(table({"geodesics": Numbers("n n", least=0)}))

    _default_neighbors = 5
    eigen_solver = "auto"

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        D = shortest_path_lengths(graph.adjacency())
        self.matrix_, self.state_ = isomap_kernel(D), {"geodesics": D}

    def place(self, new: NewObjects, found: Eigenpairs) -> Array:
        D = self.state_["geodesics"]
        means = squared_means(D).astype(D.dtype)
        out = np.empty((new.n, len(found.values)), dtype=D.dtype)

        def project(new_rows: Array) -> Array:
            return gower_projection(new_rows**2, means, found.values, found.vectors)

        return place_by_geodesics(*self._new_neighbors(new), D, project, out)


class LocallyLinearKernel(GraphKernel):
    """lambda_max I - M of the reconstruction weights.

    A new object has the feature vector sum_j w_j phi(x_j), with w the weights that reconstruct it
    from its neighbours: the formula of Bengio et al. in the limit of a large multiple of I.
    """

    state_rule = staticmethod(table({"vectors": Numbers("n d", sparse=None)}))

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        reg: float = 1e-3,
        disconnected: str = "join",
    ) -> None:
        super().__init__(n_neighbors=n_neighbors, disconnected=disconnected)
        self.reg = checks.real(reg, "reg", 0)

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        neighbors = graph.neighbor_lists()
        grams = gram_blocks(objects, neighbors, "kernel='lle'")
        self.matrix_ = lle_kernel(standard_matrix(grams, neighbors, self.reg))
        self.state_ = {"vectors": objects.vectors("kernel='lle'")}

    def place(self, new: NewObjects, found: Eigenpairs) -> Array:
        known = self.state_["vectors"]
        Y = found.vectors * np.sqrt(found.values)
        k = self.graph_.indices.shape[1]
        return barycentric_map(known, Y, new.vectors(), k, reg=self.reg)


class LaplacianKernel(GraphKernel):
    """A function of the Laplacian L = D - W of weights on the edges of the graph.

    The equation L v = lambda v, written for a new object with weights w to its neighbours, gives
    its coordinates: (sum_j w_j - lambda) v = sum_j w_j v_j.
    """

    state_rule = staticmethod(table({"laplacian": Numbers("n n", sparse=True), "t": number(0)}))

    def __init__(
        self,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        symmetry: str = "union",
        weights: str = "heat",
        t: float | None = None,
        disconnected: str = "join",
    ) -> None:
        super().__init__(n_neighbors=n_neighbors, radius=radius, disconnected=disconnected)
        self.symmetry, self.weights, self.t = symmetry, weights, t

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        edges = graph.adjacency(self.symmetry)
        t = heat_width(self.t, edges)
        W = weighted(edges, self.weights, t).astype(np.float64)
        positive_degrees(W, t)
        L = laplacian(W)
        self.matrix_, self.state_ = self._kernel_of(L), {"laplacian": L, "t": t}

    def _kernel_of(self, L: Any) -> Array:
        return commute_time_kernel(L)

    def place(self, new: NewObjects, found: Eigenpairs) -> Array:
        L, V = self.state_["laplacian"], found.vectors.astype(np.float64)
        eigenvalues = np.einsum("nk,nk->k", V, L @ V)
        self.embedding_ = V * np.sqrt(found.values.astype(np.float64))
        nearest, distances = self._new_links(new)
        w = edge_weights(distances, self.weights, self.state_["t"])
        Y = extend_eigenvectors(w, self.embedding_[nearest], eigenvalues)
        return self._keep_known(Y, nearest, distances)


class DiffusionKernel(LaplacianKernel):
    """exp(-time L)."""

    def __init__(
        self,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        symmetry: str = "union",
        weights: str = "heat",
        t: float | None = None,
        time: float = 1.0,
        disconnected: str = "join",
    ) -> None:
        super().__init__(
            n_neighbors=n_neighbors,
            radius=radius,
            symmetry=symmetry,
            weights=weights,
            t=t,
            disconnected=disconnected,
        )
        self.time = checks.real(time, "time", 0, open_low=True)

    def _kernel_of(self, L: Any) -> Array:
        return diffusion_kernel(L, self.time)


GRAPH_KERNELS: dict[str, type[GraphKernel]] = {
    "isomap": IsomapKernel,
    "lle": LocallyLinearKernel,
    "diffusion": DiffusionKernel,
    "commute_time": LaplacianKernel,
}


def graph_kernel(name: str, params: dict[str, Any] | None) -> GraphKernel:
    """The kernel of a name, with checked parameters."""
    kind = GRAPH_KERNELS[name]
    known = kind._get_param_names()
    for given in params or {}:
        if given not in known:
            raise ValueError(
                f"kernel_params: kernel={name!r} has no parameter {given!r}; it has "
                f"{', '.join(known)}."
            )
    return kind(**(params or {}))
