"""INDSCAL: individual differences scaling (Carroll and Chang 1970)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.base import Embedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.matrices.subjects import Subjects, subjects_of
from lowdim.solvers.candecomp import (
    SharedSpace,
    diagonal_weights,
    full_weights,
    principal_space,
    simultaneous_axes,
)
from lowdim.solvers.quasi_newton import Minimum, lbfgs
from lowdim.solvers.spectral import fix_signs
from lowdim.solvers.starts import given_start

INITS = ("simultaneous", "random")
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

    def _fit(self, objects: Subjects) -> None:  # type: ignore[override]  # see _objects
        B = objects.products
        checks.choice(self.constraint, "constraint", CONSTRAINTS)
        checks.integer(self.n_init, "n_init", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.tol, "tol", 0)
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
        self.scales_ = objects.scales

    def _starts(self, B: Array) -> list[Array]:
        n, p = B.shape[1], self.n_components
        if not isinstance(self.init, str):
            given = given_start(self.init, (n, p), INITS).astype(np.float64)
            return [given - given.mean(axis=0)]
        checks.choice(self.init, "init", INITS)
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
            monitor = self._monitor(self.max_iter)
            monitor.label += f", start {number + 1} of {len(starts)}"
            found = lbfgs(shared, _unit(start), monitor, tol=self.tol, show=_unit)
            if best is None or found.value < best.value * (1 - 1e-9):
                best = found
            if monitor.stopped:
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

    def _transform(self, new: Any) -> Array:
        """Weights of new subjects."""
        B = new.products
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

    def _objects(self, X: Any) -> Subjects:
        subjects = subjects_of(X)
        if len(subjects.products) < 2 and self.constraint != "identity":
            raise ValueError(
                "X holds 1 subject, but individual differences need at least 2. For one "
                "matrix use ClassicalMDS or MDS with metric='precomputed'."
            )
        self.n_features_in_ = subjects.n
        return subjects

    def _new_objects(self, X: Any) -> Any:
        return subjects_of(X, len(self.embedding_))

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


def _unit(X: Array) -> Array:
    """Columns of length one."""
    length = np.sqrt((X**2).sum(axis=0))
    return np.asarray(X / np.where(length > 0, length, 1.0))


def _distances(Y: Array) -> Array:
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(Y)))
