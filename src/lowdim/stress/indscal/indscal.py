"""INDSCAL: individual differences scaling (Carroll and Chang 1970)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends.native.dense import product
from lowdim.checks import Array, fixed_random_state
from lowdim.distances.matrices import check_dissimilarities
from lowdim.distances.row_blocks import fingerprint
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, Rule, any_number
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.starts import check_start
from lowdim.objects.objects import Objects
from lowdim.runtime import memory
from lowdim.spectral.scaling import double_center
from lowdim.stress.indscal.group_space import (
    SubjectWeights,
    best_minimum,
    principal_space,
    random_spaces,
    square_root,
)

INITS = ("simultaneous", "random")
CENTRING = 3  # matrices of a subject that are held while its dissimilarities are centred
CONSTRAINTS = ("indscal", "identity", "idioscal")


@declare_parameters
class INDSCAL(Iterative, Embedder):
    """Individual differences scaling: one group space, and each subject's weights of its axes.

    several D: double-centre(D_k^2) -> shared space + a diagonal weight per subject

    Subject k sees the squared distances sum_r w_kr (x_ir - x_jr)^2 between the points of a group
    space X. Each matrix of dissimilarities becomes scalar products B_k = -1/2 J D_k^2 J, scaled to
    sum of squares one so that all subjects count alike, and `sum_k |B_k - X W_k X'|^2` is
    minimised. If the subjects differ, this determines the axes: the map must not be rotated, and
    its axes often have a meaning.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the group space.
    constraint : {"indscal", "identity", "idioscal"}, default="indscal"
        "indscal" gives each subject a non-negative weight per dimension; "identity" the same space
        to all, the classical scaling of the mean scalar products; "idioscal" a positive
        semidefinite matrix per subject, for which the axes are not determined [2]_.
    init : str or array of shape (n_objects, n_components), default="simultaneous"
        Start: "simultaneous", axes that diagonalise random mixtures of the subjects' matrices
        [3]_; "random"; or given coordinates.
    n_init : int, default=4
        Number of starts, of which the best result is kept; one if init is an array.
    max_iter : int, default=500
        Largest number of iterations from a start.
    tol : float, default=1e-9
        Iterations end when five of them together decrease the loss by less than this share of it.
    n_jobs : int, default=None
        Accepted for the common signature; the matrix products are too small for threads.
    random_state : int, RandomState or None, default=None
        Seed of the starts; None stands for 0.
    $callback
    $verbose
    $checkpoint

    Attributes
    ----------
    embedding_ : array of shape (n_objects, n_components)
        The group space. Columns have sum of squares one and descending sums of squared weights.
    weights_ : array of shape (n_subjects, n_components)
        Weights of the subjects; of shape (n_subjects, n_components, n_components) with "idioscal".
        A squared weight is about the share of the subject's variance that the dimension accounts
        for, and exactly that if the dimensions are uncorrelated.
    vaf_ : array of shape (n_subjects,)
        Variance accounted for, per subject.
    loss_ : float
        One minus the mean of `vaf_`.
    history_ : array of shape (n_iter + 1,)
        The loss at the start and after each iteration.
    scales_ : array of shape (n_subjects,)
        Unit of each subject's dissimilarities: `scales_[k]` times row k of
        ``inverse_transform(weights_)`` is what the model predicts for subject k.
    n_iter_ : int
        Number of iterations from the best start.

    See Also
    --------
    ClassicalMDS : one matrix of dissimilarities.

    Notes
    -----
    `fit` takes a list of n_subjects matrices (n_objects, n_objects), or an array of shape
    (n_subjects, n_objects, n_objects). `fit_transform` returns the group space, but `transform`
    takes matrices of new subjects over the same objects and returns their weights: for the
    subjects of the fit ``transform(X_train)`` equals `weights_` to rounding.

    Time is n_subjects n^2 n_components per iteration and memory 2 n_subjects n^2.

    References
    ----------
    .. [1] J. D. Carroll, J.-J. Chang, "Analysis of individual differences in multidimensional
       scaling via an N-way generalization of Eckart-Young decomposition", Psychometrika 35, 1970.
    .. [2] J. D. Carroll, J.-J. Chang, "IDIOSCAL: a generalization of INDSCAL allowing
       idiosyncratic reference systems", Psychometric Society meeting, 1972.
    .. [3] P. H. Schoenemann, "An algebraic solution for a class of subjective metrics models",
       Psychometrika 37, 1972.

    Examples
    --------
    Two subjects weigh the two sides of a rectangle differently.

    >>> import numpy as np
    >>> import lowdim
    >>> from scipy.spatial.distance import pdist, squareform
    >>> corners = np.array([[0.0, 0], [0, 1], [2, 0], [2, 1]])
    >>> X = [squareform(pdist(corners * scale)) for scale in ([1, 3], [2, 1])]
    >>> model = lowdim.INDSCAL(random_state=0).fit(X)
    >>> model.vaf_.round(6)
    array([1., 1.])
    """

    traits = Traits(
        keeps="what several judges agree on, with axes that cannot be turned",
        when="several people or occasions judged the same objects",
        cost="m n^2 per iteration and m n^2 memory for m subjects",
        extends="weights of new subjects; weights back to dissimilarities",
        paper="Carroll and Chang 1970",
        power=2.0,
        objects="subjects",
    )

    _attributes: ClassVar = {
        "scales_": Numbers("subjects"),
        "weights_": Numbers("subjects c"),
        "vaf_": Numbers("subjects", finite=False),
        "loss_": any_number,
    }
    _needed = ("weights_", "scales_")
    _units: ClassVar = {"embedding_": 0}

    n_components: int = 2
    _: KW_ONLY
    constraint: str = "indscal"
    init: Any = "simultaneous"
    n_init: int = 4
    max_iter: int = 500
    tol: float = 1e-9

    def _memory(self, fit: Problem) -> float:
        return (len(fit.objects.products) + CENTRING) * fit.square  # type: ignore[attr-defined]

    def _variants(self, state: dict[str, Any]) -> dict[str, Rule]:
        return {"weights_": Numbers("subjects c c")} if self.constraint == "idioscal" else {}

    def _fit(self, objects: Subjects) -> None:  # type: ignore[override]  # see _objects
        B = objects.products
        self._check_parameters(objects.n)
        starts, model = self._starts(B), self._model
        if self.constraint == "identity":
            X, values = principal_space(B, self.n_components)
            X, weights, history = fix_signs(X), np.tile(values, (len(B), 1)), None
        else:
            new_monitor = partial(self._monitor, self.max_iter)
            best = best_minimum(model.shared_space(B), starts, new_monitor, self.tol)
            X, weights = model.normal_form(B, best.x)
            history = best.history
        self.embedding_, self.weights_ = X.astype(B.dtype), weights.astype(B.dtype)
        self.vaf_ = model.explained_shares(B, self.embedding_, self.weights_)
        self.history_ = np.array([1 - self.vaf_.mean()]) if history is None else history
        self.loss_, self.n_iter_ = float(self.history_[-1]), max(1, len(self.history_) - 1)
        self.scales_ = objects.scales

    def _starts(self, B: Array) -> list[Array]:
        n, p = B.shape[1], self.n_components
        if not isinstance(self.init, str):
            start = check_start(self.init, (n, p), INITS).astype(np.float64)
            return [start - start.mean(axis=0)]
        random = fixed_random_state(self.random_state)
        if checks.choice(self.init, "init", INITS) == "random":
            return random_spaces(n, p, self.n_init, random)
        return self._model.starts(B, p, self.n_init, random)

    def _transform(self, new: Any) -> Array:
        if self.constraint == "identity":
            return np.repeat(self.weights_[:1], len(new.products), axis=0)
        return self._model.best_weights(new.products, self.embedding_).astype(self.embedding_.dtype)

    def inverse_transform(self, Y: Any) -> Array:
        """Dissimilarities that weights imply.

        Parameters
        ----------
        Y : array of shape (n_subjects, n_components)
            Weights, of the shape of the rows of `weights_`.

        Returns
        -------
        array of shape (n_subjects, n_objects, n_objects)
            In the unit in which a subject's scalar products have sum of squares one: multiply
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
        matrices = self._model.matrices(flat.reshape(Y.shape))
        roots = [square_root(C, f"Y[{k}]") for k, C in enumerate(matrices)]
        spaces = [product(self.embedding_, root) for root in roots]
        return np.stack([squareform(pdist(X)).astype(self.embedding_.dtype) for X in spaces])

    def subject_space(self, k: int) -> Array:
        """The objects as a subject sees them: the group space with its axes stretched.

        Parameters
        ----------
        k : int
            Number of the subject, from 0.

        Returns
        -------
        array of shape (n_objects, n_components)
        """
        check_is_fitted(self)
        k = checks.integer(k, "k", 0, len(self.weights_) - 1, " (one less than n_subjects)")
        root = square_root(self._model.matrices(self.weights_)[k], f"weights_[{k}]")
        return np.asarray(product(self.embedding_, root).astype(self.embedding_.dtype))

    def _objects(self, X: Any) -> Subjects:
        subjects = subjects_of(X)
        if len(subjects.products) < 2 and self.constraint != "identity":
            raise ValueError(
                "X holds 1 subject, but individual differences need at least 2. For one matrix "
                f"use ClassicalMDS or MDS with {argument('metric', 'precomputed')}."
            )
        self.n_features_in_ = subjects.n
        return subjects

    def _new_objects(self, X: Any) -> Any:
        return subjects_of(X, len(self.embedding_))

    @property
    def _model(self) -> SubjectWeights:
        return SubjectWeights(full=self.constraint == "idioscal")

    def _check_parameters(self, n: int) -> None:
        checks.choice(self.constraint, "constraint", CONSTRAINTS)
        checks.integer(self.n_init, "n_init", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.tol, "tol", 0)
        checks.integer(self.n_components, "n_components", 1, n - 1, " (one less than n_objects)")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = False
        tags.input_tags.three_d_array = True
        return tags


class Subjects(Objects):
    """The dissimilarities of the same n objects according to several subjects.

    `products` are the double-centred squared dissimilarities B_k, each scaled to sum of squares 1,
    of shape (n_subjects, n, n); `scales` what each subject's dissimilarities were divided by.
    """

    metric_name = "precomputed"
    _description = "dissimilarities of several subjects"

    def __init__(self, products: Array, scales: Array) -> None:
        self.products, self.scales = products, scales
        self.n, self.dtype = products.shape[1], products.dtype

    def subset(self, rows: Array) -> Subjects:
        """Some of the objects; their products are not centred again."""
        return Subjects(self.products[:, rows[:, None], rows], self.scales)

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
        (len(matrices) + CENTRING) * n * n * dtype.itemsize,
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
