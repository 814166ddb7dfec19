"""Curvilinear component analysis (Demartines and Herault 1997)."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array, check_random_state, fixed_seed
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.numerics.svd import principal_scores
from lowdim.objects.new_objects import NewObjects, as_new
from lowdim.objects.objects import LARGEST_KEPT_MATRIX, Objects
from lowdim.spectral.starts import classical_start, landmark_start
from lowdim.stress.curvilinear.placement import place_among
from lowdim.stress.curvilinear.rule import CurvilinearAnalysis, Distances, choose_prototypes


@declare_parameters
class CurvilinearComponentAnalysis(CurvilinearAnalysis):
    """Curvilinear component analysis: a map that keeps short distances and may unfold or tear.

    D -> stress weighted by the distances on the map -> one object pins, others move

    The error of a pair counts by a decreasing function F of its distance on the map, with a width
    lambda that shrinks during the fit. In each epoch every object is pinned once, and all others
    move along the line to it, towards the distance that they should have.

    Parameters
    ----------
    $n_components
    $rule
    init : str or array of shape (n_samples, n_components), default="auto"
        Start: "auto", principal components of Euclidean vectors and otherwise classical scaling;
        "random"; or given coordinates.
    $named_metric
    $settings

    Attributes
    ----------
    $embedding
    $results

    See Also
    --------
    CurvilinearDistanceAnalysis : the same for distances along the data's manifold.
    Sammon : weights by the distances in the data instead.

    Notes
    -----
    An epoch takes time n^2. From vectors no n x n matrix of more than 1 GB is kept: the distances
    to the pins are then measured again in every epoch, except by a callable metric.

    `transform` moves a new object by the same rule among its nearest neighbours, with the map
    fixed. ``transform(X_train)`` equals `embedding_`.

    The error is that of equation 1 in [1]_.

    References
    ----------
    .. [1] P. Demartines, J. Herault, "Curvilinear component analysis: a self-organizing neural
       network for nonlinear mapping of data sets", IEEE Transactions on Neural Networks 8, 1997.

    Examples
    --------
    Points of a plane in three dimensions keep their distances.

    >>> import numpy as np
    >>> import lowdim
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) @ np.array([[1, 0, 1], [0, 1, 0]])
    >>> analysis = lowdim.CurvilinearComponentAnalysis(random_state=0).fit(X)
    >>> bool(analysis.stress_ < 1e-6)
    True
    """

    traits = Traits(
        keeps="short distances; unfolds or tears what cannot lie flat",
        when="the data must be torn to lie flat: spheres, boxes, knots",
        cost="n^2 per epoch; memory n beyond 1 GB of distances; m^2 per epoch with m prototypes",
        extends="the same rule against the fixed map; barycentric inverse",
        paper="Demartines and Herault 1997",
        power=2.5,
        reduced_by="n_prototypes",
    )

    def _memory(self, fit: Problem) -> float:
        if m := fit.object_count("n_prototypes"):
            return 8.0 * m * m + fit.n * 8.0
        return fit.distances if fit.n * fit.n * 8 <= LARGEST_KEPT_MATRIX else 0.0

    def _fit(self, objects: Objects) -> None:
        k, mapped = self._check_n_components(objects.n), objects
        if self.n_prototypes is not None:
            self.prototypes_ = choose_prototypes(
                objects, self.n_prototypes, k + 1, self.random_state
            )
            mapped = objects.subset(self.prototypes_)
        distances = mapped.distances_from()

        def auto() -> Array:
            return self._start(mapped, distances).astype(objects.dtype, copy=False)

        self.embedding_ = self._map(distances, mapped.n, objects.dtype, auto)
        if self.n_prototypes is not None:
            known = as_new(objects).among(self.prototypes_)
            self.embedding_ = place_among(self.embedding_, known.nearest)

    def _start(self, objects: Objects, distances: Distances) -> Array:
        if objects.euclidean:
            rows = objects.vectors("init='auto'")
            return principal_scores(rows, self.n_components)
        if isinstance(distances, np.ndarray):
            return classical_start(distances, self.n_components)
        random = check_random_state(fixed_seed(self.random_state))
        return landmark_start(distances, objects.n, self.n_components, random)

    def _transform(self, new: NewObjects) -> Array:
        if not hasattr(self, "prototypes_"):
            return place_among(self.embedding_, new.nearest)
        known = new.among(self.prototypes_)
        return place_among(self.embedding_[self.prototypes_], known.nearest)
