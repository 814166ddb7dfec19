"""Few functions on a neighbour graph, in whose span maximum variance unfolding looks for K.

Both kinds of basis are orthonormal in the coordinates of `Lengths.incidence`, in which a function
is multiplied by the root of the masses of the points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.estimator.barycentric import local_grams
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigenpairs import bottom_eigenpairs
from lowdim.objects.objects import Objects
from lowdim.spectral.laplacian import laplacian, weight_matrix
from lowdim.spectral.maximum_variance.edge_lengths import Lengths
from lowdim.spectral.reconstruction import local_grams_from_distances, ragged_matrix, rebuilt_from

REG = 1e-3  # ridge of the locally linear weights, as a share of the local trace
RIDGE = 1e-9  # share of the Laplacian in the reconstruction matrix
DEPENDENT = 1e-5  # relative singular value up to which a function depends on the others


def smooth_functions(lengths: Lengths, count: int, random_state: Any) -> Array:
    """The bottom eigenvectors of the graph Laplacian (Weinberger, Sha, Zhu and Saul 2006).

    Parameters
    ----------
    lengths : Lengths
    count : int
        Number of functions; at most one less than there are points.
    random_state : int, RandomState or None
        Start of the iterative eigensolver.

    Returns
    -------
    array of shape (lengths.n, count)
    """
    eigenpairs = bottom_eigenpairs(
        laplacian(weight_matrix(lengths.adjacency(), "binary", 1.0)),
        min(count, lengths.n - 1),
        B=lengths.mass,
        null=np.ones(lengths.n),
        seed=random_state,
    )
    return np.asarray(eigenpairs.vectors * np.sqrt(lengths.mass)[:, None])


def landmark_functions(
    objects: Objects,
    graph: NeighborGraph,
    edges: Any,
    lengths: Lengths,
    points: Array,
    landmarks: Array,
) -> Array:
    """The functions that are linear in their values at landmarks (Weinberger, Packer, Saul 2005).

    Parameters
    ----------
    objects : Objects
        Measures the local geometry.
    graph, edges : NeighborGraph, CSR matrix of shape (n, n)
        The neighbours of each object, and the undirected graph of distances.
    lengths, points : Lengths, array of shape (n,)
        The points of the programme, and which of them stands for each object.
    landmarks : array of int
        Row numbers of the landmarks.

    Returns
    -------
    array of shape (lengths.n, m)
        m is less than the number of landmarks: constant functions are left out, as are those
        that depend on others.
    """
    vectors = None
    if objects.euclidean:
        vectors = objects.vectors("n_landmarks").astype(np.float64) / lengths.unit

    def grams(members: Array, neighbors: Array) -> Array:
        if vectors is not None:
            return local_grams(vectors, neighbors, vectors, members)
        own = np.arange(1, neighbors.shape[1] + 1)[None, :]
        parts = []
        for together in np.column_stack([members, neighbors]):
            D = objects.between(together, "n_landmarks") / lengths.unit
            parts.append(local_grams_from_distances(D, own, np.zeros(1, dtype=np.intp)))
        return np.concatenate(parts)

    lists = graph.csr() if graph.bridges is None else edges
    M = ragged_matrix(grams, lists, REG)
    # Where no landmark determines a function through M, the smoothest one is taken.
    ridge = RIDGE * float(M.diagonal().mean())
    M = M + ridge * laplacian(weight_matrix(edges, "binary", 1.0))
    root = np.sqrt(lengths.mass)[:, None]
    Q = rebuilt_from(M, landmarks)[np.unique(points, return_index=True)[1]] * root
    u = root / np.linalg.norm(root)
    U, sizes, _ = np.linalg.svd(Q - u @ (u.T @ Q), full_matrices=False)
    # Q 1 = 1, so at least one function is left out.
    return np.asarray(U[:, sizes > DEPENDENT * np.linalg.norm(Q, 2)])
