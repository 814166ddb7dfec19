"""Scalar products of the dissimilarities of several subjects, for INDSCAL (Carroll, Chang 1970)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.distances.fingerprint import fingerprint
from lowdim.distances.matrices import check_dissimilarities
from lowdim.objects.objects import Objects
from lowdim.runtime import memory
from lowdim.spectral.scaling import double_center


class Subjects(Objects):
    """The dissimilarities of the same n objects according to several subjects.

    Attributes
    ----------
    products : array (n_subjects, n, n)
        Double-centred squared dissimilarities B_k, each scaled to sum of squares 1.
    scales : array (n_subjects,)
        Factor by which each subject's dissimilarities were divided.
    """

    metric_name = "precomputed"
    _description = "dissimilarities of several subjects"

    def __init__(self, products: Array, scales: Array) -> None:
        self.products, self.scales = products, scales
        self.n, self.dtype = products.shape[1], products.dtype

    def fingerprint(self) -> str:
        return fingerprint(self.products) + fingerprint(self.scales)


def subjects_of(X: Any, n: int | None = None) -> Subjects:
    """Check the dissimilarity matrices of several subjects, of n objects each if n is given."""
    shape = getattr(X, "shape", None)
    if not (isinstance(X, list | tuple) or (shape is not None and len(shape) == 3)):
        actual = f"an array of shape {shape}" if shape is not None else f"a {type(X).__name__}"
        raise ValueError(
            "X must be a list of matrices of dissimilarities, one per subject, or an array "
            f"(n_subjects, n_objects, n_objects); got {actual}. Wrap a single matrix in a list."
        )
    if len(X) == 0:
        raise ValueError("X holds no subjects: give one matrix of dissimilarities for each.")
    matrices = [check_dissimilarities(D, f"X[{k}]") for k, D in enumerate(X)]
    n = len(matrices[0]) if n is None else n
    for k, D in enumerate(matrices):
        if len(D) != n:
            raise ValueError(
                f"X[{k}] is about {len(D)} objects, but there are {n}: all subjects must judge the "
                "same objects, in the same order."
            )
    if n < 2:
        raise ValueError(f"X: n_objects = {n}, but a map needs at least 2 objects.")
    dtype = np.result_type(*matrices)
    memory.claim(
        len(matrices) * n * n * dtype.itemsize,
        f"The scalar products of {len(matrices)} subjects and {n} objects",
        "Fit to some of the subjects and use transform for the others.",
    )
    B, scales = np.empty((len(matrices), n, n), dtype), np.empty(len(matrices))
    for k, D in enumerate(matrices):
        largest = float(D.max())
        if largest == 0:
            raise ValueError(
                f"X[{k}]: all dissimilarities are zero, so the subject does not distinguish "
                "the objects. Leave it out."
            )
        inner = double_center((D / D.dtype.type(largest)) ** 2)
        size = float(np.sqrt(np.square(inner, dtype=np.float64).sum()))
        B[k], scales[k] = inner / D.dtype.type(size), largest * np.sqrt(size)
    return Subjects(B, scales)
