"""scikit-learn's function for MDS, with its arguments and results."""

from __future__ import annotations

from typing import Any

from lowdim.checks import Array


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
