"""INDSCAL: individual differences scaling (Carroll and Chang 1970)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends import memory, native
from lowdim.base import Embedder
from lowdim.callbacks import Callback, Watch
from lowdim.checks import Array
from lowdim.matrices.gram import double_center
from lowdim.relations.distances import check_dissimilarities
from lowdim.solvers.candecomp import (
    SharedSpace,
    diagonal_weights,
    full_weights,
    principal_space,
    simultaneous_axes,
)
from lowdim.solvers.quasi_newton import Minimum, lbfgs
from lowdim.solvers.spectral import fix_signs

CONSTRAINTS = ("indscal", "identity", "idioscal")
MIXTURES = 50


class INDSCAL(Embedder):
    """One space for several judges of the same objects, and how each of them stretches its axes.

    double-centre each D_k^2 -> shared space + a diagonal weight per subject

    Subject k sees the distances sum_r w_kr (x_ir - x_jr)^2, squared, between the points of a group
    space X: each subject weighs the same dimensions in its own way. Every matrix of dissimilarities
    is turned into scalar products B_k = -1/2 J D_k^2 J, scaled to sum of squares one so that all
    subjects count alike, and sum_k |B_k - X W_k X'|^2 is minimised. Unlike other maps this one
    cannot be turned: where the subjects differ, the axes themselves are found, and they often have
    a meaning.

    Parameters
    ----------
    n_components : dimension of the group space.
    constraint : "indscal", a weight a subject and dimension, not negative; "identity", the same
        space for all, the classical scaling of the mean scalar products; or "idioscal", a positive
        semidefinite matrix a subject (Carroll and Chang 1972), whose axes are free.
    init : "simultaneous" (axes that diagonalise random mixtures of the subjects' matrices, after
        Schoenemann 1972), "random", or an array (n_objects, n_components).
    n_init : starts of which the best result is kept; one where init is an array.
    max_iter : most iterations from a start.
    tol : iterations end when five of them together lower the loss by less than this share of it.
    n_jobs : kept for the common signature; the work is in BLAS calls too small for threads.
    random_state : seed of the starts; None is a fixed one.
    callback : called after every iteration; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_ : the group space (n_objects, n_components). Columns have sum of squares one and are
        ordered by the variance they account for, the sum of squared weights; their signs are fixed,
        and they are not to be rotated.
    weights_ : (n_subjects, n_components). As in the paper, a squared weight is about the share of
        the subject's variance that the dimension accounts for, exactly so where dimensions are
        uncorrelated. With "idioscal" (n_subjects, n_components, n_components).
    vaf_ : variance accounted for, per subject.
    loss_ : one minus the mean of vaf_. history_ : the loss at the start and after each iteration.
    scales_ : the unit of each subject's dissimilarities; `scales_[k]` times row k of
        `inverse_transform(weights_)` is what the model predicts for subject k.
    n_iter_

    `fit` takes a list of m matrices (n, n), or an array (m, n, n); row k of everything about
    subjects is theirs, and a map is of the n objects: `fit_transform` returns `embedding_`.
    `transform` takes matrices of new subjects over the same objects and returns their weights,
    which for the subjects of the fit are `weights_`. `inverse_transform` goes from weights to the
    dissimilarities they imply. Time m n^2 n_components per iteration, memory 2 m n^2.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        constraint: str = "indscal",
        init: Any = "simultaneous",
        n_init: int = 4,
        max_iter: int = 500,
        tol: float = 1e-9,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.constraint = constraint
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _fit(self, rows: Any) -> None:
        B, scales = rows
        checks.choice(self.constraint, "constraint", CONSTRAINTS)
        checks.integer(self.n_init, "n_init", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.tol, "tol", 0)
        native.n_threads(self.n_jobs)
        checks.integer(
            self.n_components, "n_components", 1, B.shape[1] - 1, " (one less than n_objects)"
        )
        starts = self._starts(B)
        shared = SharedSpace(B, full_weights if self._full else diagonal_weights)
        if self.constraint == "identity":
            self._fit_identity(B)
        else:
            self._fit_weights(shared, starts)
        self.vaf_ = self._vaf(shared)
        self.scales_ = scales

    def _starts(self, B: Array) -> list[Array]:
        n, p = B.shape[1], self.n_components
        if not isinstance(self.init, str):
            found = np.shape(self.init) if hasattr(self.init, "__len__") else self.init
            if found != (n, p):
                raise ValueError(
                    f"init must be 'simultaneous', 'random' or an array of shape {(n, p)} "
                    f"(n_objects, n_components); got {found}."
                )
            given = np.array(checks.vectors(self.init, name="init"), dtype=np.float64)
            return [given - given.mean(axis=0)]
        checks.choice(self.init, "init", ("simultaneous", "random"))
        random = check_random_state(0 if self.random_state is None else self.random_state)
        drawn = [random.standard_normal((n, p)) for _ in range(self.n_init)]
        drawn = [start - start.mean(axis=0) for start in drawn]
        if self.init == "random":
            return drawn
        if self._full:
            return [principal_space(B, p)[0], *drawn[1:]]
        likely = simultaneous_axes(B, p, random, MIXTURES)
        return [*likely[: (self.n_init + 1) // 2], *drawn][: self.n_init]

    def _fit_identity(self, B: Array) -> None:
        vectors, values = principal_space(B, self.n_components)
        self.embedding_ = fix_signs(vectors).astype(B.dtype)
        self.weights_ = np.tile(values, (len(B), 1)).astype(B.dtype)
        self.history_ = np.array([1 - float(self._vaf(SharedSpace(B, diagonal_weights)).mean())])
        self.loss_, self.n_iter_ = float(self.history_[-1]), 1

    def _fit_weights(self, shared: SharedSpace, starts: list[Array]) -> None:
        best: Minimum | None = None
        for number, start in enumerate(starts):
            label = f"INDSCAL, start {number + 1} of {len(starts)}"
            watch = Watch(label, self.max_iter, self.callback, self.verbose)
            found = lbfgs(shared, _unit(start), watch, tol=self.tol, show=_unit)
            if best is None or found.value < best.value * (1 - 1e-9):
                best = found
            if watch.stopped:
                break
        assert best is not None
        X, C = self._canonical(shared, best.x)
        self.embedding_ = X.astype(shared.B.dtype)
        self.weights_ = self._as_weights(C).astype(shared.B.dtype)
        self.history_, self.loss_ = best.history, float(best.value)
        self.n_iter_ = max(1, len(best.history) - 1)

    def _canonical(self, shared: SharedSpace, X: Array) -> tuple[Array, Array]:
        """The same solution normalised: unit columns, the weightiest first; signs fixed."""
        if not self._full:
            X = _unit(X)
            C = shared.weights(X)[0]
            order = np.argsort(-(np.diagonal(C, axis1=1, axis2=2) ** 2).sum(axis=0), kind="stable")
            return fix_signs(X[:, order]), C[:, order][:, :, order]
        X = np.linalg.svd(X, full_matrices=False)[0]
        turn = np.linalg.eigh(shared.weights(X)[0].mean(axis=0))[1][:, ::-1]
        X = fix_signs(X @ turn)
        return X, shared.weights(X)[0]

    def _vaf(self, shared: SharedSpace) -> Array:
        """1 - |B_k - X C_k X'|^2 / |B_k|^2 at the solution."""
        X, C = self.embedding_.astype(np.float64), self._matrices(self.weights_)
        XBX, gram = X.T @ shared.products(X), X.T @ X
        return np.asarray(1 - shared.losses(XBX, gram, C) / shared.squares)

    # --- subjects in and out ----------------------------------------------------------------

    def _transform(self, rows: Any) -> Array:
        """Weights of new subjects."""
        B, _ = rows
        if self.constraint == "identity":
            return np.repeat(self.weights_[:1], len(B), axis=0)
        shared = SharedSpace(B, full_weights if self._full else diagonal_weights)
        C = shared.weights(self.embedding_.astype(np.float64))[0]
        return self._as_weights(C).astype(self.embedding_.dtype)

    def inverse_transform(self, Y: Any) -> Array:
        """Dissimilarities (n_subjects, n_objects, n_objects) that given weights imply.

        They are in the unit in which a subject's scalar products have sum of squares one: multiply
        those of subject k by `scales_[k]`.
        """
        check_is_fitted(self)
        Y = np.asarray(Y)
        shape = self.weights_.shape[1:]
        if Y.shape[1:] != shape:
            raise ValueError(
                f"Y has shape {Y.shape}, but weights of subjects have shape (n_subjects, "
                f"{', '.join(map(str, shape))})."
            )
        flat = checks.vectors(Y.reshape(len(Y), -1), name="Y").astype(np.float64)
        return np.stack(
            [
                _distances(self.embedding_ @ self._root(C, f"Y[{k}]")).astype(self.embedding_.dtype)
                for k, C in enumerate(self._matrices(flat.reshape(Y.shape)))
            ]
        )

    def subject_space(self, k: int) -> Array:
        """The objects as subject k sees them: the group space with its axes stretched."""
        check_is_fitted(self)
        k = checks.integer(k, "k", 0, len(self.weights_) - 1, " (one less than n_subjects)")
        root = self._root(self._matrices(self.weights_)[k], f"weights_[{k}]")
        return np.asarray((self.embedding_ @ root).astype(self.embedding_.dtype))

    def _objects(self, X: Any, *, fitting: bool) -> Any:
        B, scales = _scalar_products(X, None if fitting else len(self.embedding_))
        if fitting:
            if len(B) < 2 and self.constraint != "identity":
                raise ValueError(
                    "X holds 1 subject, but individual differences need at least 2. For one "
                    "matrix use ClassicalMDS or MDS with metric='precomputed'."
                )
            self.n_features_in_ = B.shape[1]
        return B, scales

    @property
    def _full(self) -> bool:
        return isinstance(self.constraint, str) and self.constraint == "idioscal"

    def _as_weights(self, C: Array) -> Array:
        return C if self._full else np.diagonal(C, axis1=1, axis2=2).copy()

    def _matrices(self, weights: Array) -> Array:
        exact = weights.astype(np.float64)
        return exact if self._full else exact[:, :, None] * np.eye(exact.shape[1])

    def _root(self, C: Array, name: str) -> Array:
        values, vectors = np.linalg.eigh(C)
        if values[0] < -1e-5 * max(float(np.abs(values).max()), 1e-300):
            raise ValueError(
                f"{name} has the negative weight {values[0]:g}: no distances belong to it."
            )
        root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
        return np.asarray(root)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _scalar_products(X: Any, n: int | None) -> tuple[Array, Array]:
    """B_k with sum of squares one for each subject, and the unit of its dissimilarities."""
    shape = getattr(X, "shape", None)
    if not (isinstance(X, list | tuple) or (shape is not None and len(shape) == 3)):
        found = f"an array of shape {shape}" if shape is not None else f"a {type(X).__name__}"
        raise ValueError(
            "X must be a list of matrices of dissimilarities, one a subject, or an array "
            f"(n_subjects, n_objects, n_objects); got {found}. Wrap a single matrix in a list."
        )
    if len(X) == 0:
        raise ValueError("X holds no subjects: give one matrix of dissimilarities for each.")
    given = [check_dissimilarities(D, f"X[{k}]") for k, D in enumerate(X)]
    n = len(given[0]) if n is None else n
    for k, D in enumerate(given):
        if len(D) != n:
            raise ValueError(
                f"X[{k}] is about {len(D)} objects, but there are {n}: all subjects must judge the "
                "same objects, in the same order."
            )
    if n < 2:
        raise ValueError(f"X: n_objects = {n}, but a map needs at least 2 objects.")
    dtype = np.result_type(*given)
    memory.claim(
        len(given) * n * n * dtype.itemsize,
        f"The scalar products of {len(given)} subjects and {n} objects",
        "Fit to some of the subjects and use transform for the others.",
    )
    B, scales = np.empty((len(given), n, n), dtype), np.empty(len(given))
    for k, D in enumerate(given):
        largest = float(D.max())
        if largest == 0:
            raise ValueError(
                f"X[{k}]: all dissimilarities are zero, so the subject tells nothing about the "
                "objects. Leave it out."
            )
        inner = double_center((D / D.dtype.type(largest)) ** 2)
        size = float(np.linalg.norm(inner.astype(np.float64)))
        B[k], scales[k] = inner / D.dtype.type(size), largest * np.sqrt(size)
    return B, scales


def _unit(X: Array) -> Array:
    """Columns of length one."""
    length = np.sqrt((X**2).sum(axis=0))
    return np.asarray(X / np.where(length > 0, length, 1.0))


def _distances(Y: Array) -> Array:
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(Y)))
