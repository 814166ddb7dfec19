"""Eigenpairs of a centred kernel matrix, which must not have negative eigenvalues."""

from __future__ import annotations

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.numerics.eigensolvers import Eigenpairs

NEGATIVE = {np.float32: 1e-5, np.float64: 1e-10}  # share of the largest that is no rounding error
ZERO = {np.float32: 2e-7, np.float64: 1e-12}  # share of the largest up to which a value counts as 0


def positive_part(
    eigenpairs: Eigenpairs, n_components: int | None, *, drop_zeros: bool
) -> tuple[Array, Array]:
    """Eigenpairs without negative values; values that are rounding errors are set to zero.

    Parameters
    ----------
    eigenpairs : Eigenpairs
        Those of the largest values, descending.
    n_components : int or None
        The number that the user asked for; None: as many as are positive.
    drop_zeros : bool
        Whether to leave out eigenvalues that are zero, rather than to keep them with a warning.

    Returns
    -------
    values, vectors : arrays of shape (k,) and (n, k)
    """
    values, vectors = eigenpairs
    precision = np.float32 if values.dtype == np.float32 else np.float64
    size = max(float(values.max(initial=0.0)), 0.0)
    worst = float(values.min(initial=0.0))
    if -worst > max(NEGATIVE[precision] * size, 1e-10) and n_components is not None:
        raise ValueError(
            "There are significant negative eigenvalues among the "
            f"{argument('n_components', n_components)} largest ({worst:g} against {size:g}): the "
            "kernel is not positive semidefinite. Ask for fewer components."
        )
    values = np.where(values > ZERO[precision] * size, values, 0).astype(vectors.dtype)
    positive = int((values > 0).sum())
    if n_components is None or drop_zeros:
        return values[:positive], vectors[:, :positive]
    if len(values) > positive:
        checks.warn(
            f"{argument('n_components', n_components)} exceeds the number of non-zero eigenvalues "
            f"of the centred kernel matrix, {positive}: the other components are 0. Ask for fewer "
            f"components, or set {argument('remove_zero_eig', True)}."
        )
    return values, vectors
