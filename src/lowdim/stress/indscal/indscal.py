"""INDSCAL: individual differences scaling (Carroll and Chang 1970)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends.native.dense import product
from lowdim.checks import Array, check_random_state
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers, Rule, any_number
from lowdim.estimator.traits import Traits
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.starts import check_start
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.stress.indscal.candecomp import principal_space
from lowdim.stress.indscal.individual_differences import (
    SubjectWeights,
    best_minimum,
    random_spaces,
    square_root,
)
from lowdim.stress.indscal.subjects import Subjects, subjects_of

INITS = ("simultaneous", "random")
CONSTRAINTS = ("indscal", "identity", "idioscal")


class INDSCAL(Embedder):
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
        sentence="several D: double-centre(D_k^2) -> shared space + a diagonal weight per subject",
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
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
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
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _variants(self, state: dict[str, Any]) -> dict[str, Rule]:
        return {"weights_": Numbers("subjects c c")} if self.constraint == "idioscal" else {}

    def _fit(self, objects: Subjects) -> None:  # type: ignore[override]  # see _objects
        B = objects.products
        self._check_parameters(objects.n)
        starts = self._starts(B)
        if self.constraint == "identity":
            self._fit_identity(B)
        else:
            self._fit_weights(B, starts)
        self.vaf_ = self._model.explained_shares(B, self.embedding_, self.weights_)
        self.scales_ = objects.scales

    def _fit_identity(self, B: Array) -> None:
        vectors, values = principal_space(B, self.n_components)
        self.embedding_ = fix_signs(vectors).astype(B.dtype)
        self.weights_ = np.tile(values, (len(B), 1)).astype(B.dtype)
        vaf = self._model.explained_shares(B, self.embedding_, self.weights_)
        self.loss_, self.n_iter_ = 1 - float(vaf.mean()), 1
        self.history_ = np.array([self.loss_])

    def _fit_weights(self, B: Array, starts: list[Array]) -> None:
        shared = self._model.shared_space(B)
        best = best_minimum(shared, starts, lambda: self._monitor(self.max_iter), self.tol)
        X, weights = self._model.normal_form(B, best.x)
        self.embedding_, self.weights_ = X.astype(B.dtype), weights.astype(B.dtype)
        self.history_, self.loss_ = best.history, float(best.value)
        self.n_iter_ = max(1, len(best.history) - 1)

    def _starts(self, B: Array) -> list[Array]:
        n, p = B.shape[1], self.n_components
        if not isinstance(self.init, str):
            start = check_start(self.init, (n, p), INITS).astype(np.float64)
            return [start - start.mean(axis=0)]
        random = check_random_state(0 if self.random_state is None else self.random_state)
        if checks.choice(self.init, "init", INITS) == "random":
            return random_spaces(n, p, self.n_init, random)
        return self._model.starts(B, p, self.n_init, random)

    def _transform(self, new: Any) -> Array:
        """Weights of new subjects."""
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
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
