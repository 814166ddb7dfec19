"""What SNE, symmetric SNE, t-SNE and weighted t-SNE share: affinities in, a descent on forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.base import NeighborEmbedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.affinity import place_by_affinity
from lowdim.matrices.affinities import conditional_to_new
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.solvers.descend import Descent, Phase, descend, learning_rate
from lowdim.solvers.objective import ForceField
from lowdim.solvers.repulsion import choose_repulsion
from lowdim.solvers.starts import layout_start

METHODS = ("auto", "exact", "barnes_hut", "fft")
PRECISE_UP_TO = 1000  # points up to which the descent is as precise as the data
EARLY, EARLY_MOMENTUM, MOMENTUM = 250, 0.5, 0.8
UNFOLDED = 100  # iterations after which neighbours have found each other for the first time
NEW_PERPLEXITY = 5.0  # of new objects, whose place a few near neighbours tell best


class StochasticNeighborEmbedder(NeighborEmbedder):
    """An embedder that finds a map on which the neighbours' probabilities are those of the data.

    The parameters here mean the same in every such method; a method with more of them has an
    `__init__` of its own.
    """

    affinities_: Any
    kl_divergence_: float
    n_iter_: int
    learning_rate_: float
    history_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: Any = "auto",
        max_iter: int = 1000,
        n_iter_without_progress: int = 300,
        min_grad_norm: float = 1e-7,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        verbose: int = 0,
        random_state: Any = None,
        method: str = "auto",
        angle: float = 0.5,
        exaggeration: float = 1.0,
        n_jobs: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.exaggeration = exaggeration
        self.n_jobs = n_jobs
        self.callback = callback

    @property
    def _similarity(self) -> Similarity:
        """How similar two points of the map are."""
        raise NotImplementedError

    def _n_wanted(self, n: int) -> int:
        most = max(self._perplexities(n))
        if self.method == "exact":
            return n - 1
        return min(n - 1, int(3 * most))

    def _perplexities(self, n: int) -> list[float]:
        """The perplexities asked for, checked against the number of objects."""
        given = self.perplexity
        if isinstance(given, str | bytes) or not np.all(np.isreal(np.asarray(given))):
            raise TypeError(f"perplexity must be a number or a list of numbers, got {given!r}.")
        values = [
            checks.real(value, "perplexity", 1e-12)
            for value in (given if np.ndim(given) else [given])
        ]
        if not values:
            raise ValueError("perplexity must be a number or a list of numbers, got an empty list.")
        if max(values) >= n:
            raise ValueError(
                f"perplexity ({max(values):g}) must be less than n_samples ({n}): it is a number "
                "of neighbours."
            )
        return values

    def _descend(
        self,
        objects: Objects,
        graph: NeighborGraph,
        P: Any,
        divergence: Callable[..., ForceField],
    ) -> None:
        """Minimise `divergence(P, similarity, repulsion)` to `embedding_`.

        Few points move in the data's precision, many in float32.
        """
        checks.choice(self.method, "method", METHODS)
        angle = checks.real(self.angle, "angle", 0, 1)
        self._check_descent()
        n, k = objects.n, self._check_n_components(objects.n)
        repulsion = choose_repulsion(self.method, self._similarity, n, k, angle)
        precise = self.method == "exact" or n <= PRECISE_UP_TO
        dtype = P.dtype if precise else np.dtype(np.float32)
        objective = divergence(P.astype(dtype, copy=False), self._similarity, repulsion)
        random = check_random_state(self.random_state)
        start = layout_start(self.init, k, objects, graph, random)
        self.affinities_ = P
        self._follow(objective, np.array(start, dtype=dtype, order="C"))
        self.embedding_ = self.embedding_.astype(P.dtype, copy=False)

    def _check_descent(self) -> None:
        checks.real(self.early_exaggeration, "early_exaggeration", 1)
        checks.real(self.exaggeration, "exaggeration", 0, open_low=True)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.integer(self.n_iter_without_progress, "n_iter_without_progress", -1)
        checks.real(self.min_grad_norm, "min_grad_norm", 0)

    def _follow(self, objective: ForceField, start: Array) -> None:
        """Follow the gradient from the start to `embedding_`, first with attraction exaggerated."""
        n = len(start)
        early = min(EARLY, self.max_iter)
        self.learning_rate_ = learning_rate(self.learning_rate, n, self.early_exaggeration)
        late = learning_rate(self.learning_rate, n, max(self.exaggeration, 1.0))
        first = min(UNFOLDED, early)
        phases = [
            Phase(first, self.learning_rate_, EARLY_MOMENTUM, self.early_exaggeration),
            Phase(early - first, self.learning_rate_, EARLY_MOMENTUM, self.early_exaggeration),
            Phase(self.max_iter - early, late, MOMENTUM, self.exaggeration),
        ]
        patience = self.n_iter_without_progress
        descent = Descent(
            objective,
            start,
            self.min_grad_norm,
            10**9 if patience < 0 else patience,
        )
        descend(descent, phases, self._monitor(self.max_iter), fallback=start.copy())
        objective.exaggeration = 1.0
        self.kl_divergence_ = float(objective(descent.Y)[0])
        self.n_iter_ = descent.iteration
        self.history_ = np.array(descent.history).reshape(-1, 2)
        self.embedding_ = descent.embedding

    def _transform(self, new: NewObjects) -> Array:
        n = len(self.embedding_)
        wanted = min(NEW_PERPLEXITY, *self._perplexities(n))
        nearest, distances = new.nearest(min(n, max(1, int(3 * wanted))), self._search)
        p = conditional_to_new(distances, wanted).astype(self.embedding_.dtype)
        Y = place_by_affinity(p, nearest, self.embedding_, self._similarity)
        return self._keep_known(Y, nearest, distances)
