"""scikit-learn's functions for spectral methods, with its arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: str | None = None,
    random_state: Any = None,
    eigen_tol: float | str = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Array:
    """Eigenvectors of the Laplacian of a weighted graph, as `LaplacianEigenmaps` computes them.

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (n_samples, n_samples)
        Symmetric weights, none of them negative.
    n_components : int, default=8
        Number of eigenvectors.
    eigen_solver, random_state, eigen_tol
        As in `LaplacianEigenmaps`.
    norm_laplacian : bool, default=True
        Whether to use normalization="random-walk" rather than "none".
    drop_first : bool, default=True
        Whether to leave out the first eigenvector, which is constant.

    Returns
    -------
    array of shape (n_samples, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> chain = np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1)
    >>> lowdim.spectral_embedding(chain, n_components=2).shape
    (10, 2)
    """
    from lowdim.spectral.laplacian import trivial_vector
    from lowdim.spectral.laplacian_eigenmaps import LaplacianEigenmaps

    wanted = checks.integer(n_components, "n_components", 1)
    model = LaplacianEigenmaps(
        wanted if drop_first else max(wanted - 1, 1),
        affinity="precomputed",
        normalization="random-walk" if norm_laplacian else "none",
        eigen_solver=eigen_solver,
        eigen_tol=eigen_tol,
        random_state=random_state,
    ).fit(adjacency)
    if drop_first:
        return model.embedding_
    first = trivial_vector(model.degrees_, model.normalization).astype(model.embedding_.dtype)
    return np.column_stack([first, model.embedding_])[:, :wanted]


def locally_linear_embedding(
    X: Any, *, n_neighbors: int, n_components: int, **parameters: Any
) -> tuple[Array, float]:
    """Coordinates and reconstruction error of `LocallyLinearEmbedding`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    n_neighbors, n_components : int
    **parameters
        Further parameters of `LocallyLinearEmbedding`.

    Returns
    -------
    Y : array of shape (n_samples, n_components)
    squared_error : float

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(100, random_state=0)
    >>> Y, error = lowdim.locally_linear_embedding(X, n_neighbors=8, n_components=2)
    >>> Y.shape
    (100, 2)
    """
    from lowdim.spectral.locally_linear import LocallyLinearEmbedding

    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors, n_components=n_components, **parameters
    ).fit(X)
    return model.embedding_, model.reconstruction_error_
