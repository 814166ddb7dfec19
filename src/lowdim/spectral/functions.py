"""scikit-learn's functions for the methods of this package, with its arguments and results."""

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


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int | str = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: Any = "auto",
) -> tuple[Array, float] | tuple[Array, float, int]:
    """Multidimensional scaling of a matrix of dissimilarities by majorization, as `MDS` does it.

    Parameters
    ----------
    dissimilarities : array of shape (n_samples, n_samples)
        Symmetric dissimilarities.
    metric : bool, default=True
        Whether to fit the dissimilarities rather than only their order.
    init : array of shape (n_samples, n_components), default=None
        The start; None is a random one.
    n_components, n_init, n_jobs, max_iter, verbose, eps, random_state, normalized_stress
        As in `MDS`.
    return_n_iter : bool, default=False
        Whether to return the number of iterations too.

    Returns
    -------
    X : array of shape (n_samples, n_components)
        Coordinates.
    stress : float
    n_iter : int
        Only if `return_n_iter`.

    Examples
    --------
    >>> import lowdim
    >>> D = [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
    >>> X, stress = lowdim.smacof(D, eps=1e-12, random_state=0)
    >>> bool(stress < 1e-6)
    True
    """
    from lowdim.stress.mds.mds import MDS

    model = MDS(
        n_components,
        metric_mds=metric,
        n_init=n_init,
        init="random" if init is None else init,
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        n_jobs=n_jobs,
        random_state=random_state,
        metric="precomputed",
        normalized_stress=normalized_stress,
    ).fit(dissimilarities)
    if return_n_iter:
        return model.embedding_, model.stress_, model.n_iter_
    return model.embedding_, model.stress_


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
