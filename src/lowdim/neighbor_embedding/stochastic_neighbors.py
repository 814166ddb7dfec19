"""What SNE, symmetric SNE, t-SNE and weighted t-SNE share: start, descent and transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array, check_random_state
from lowdim.estimator import NeighborEmbedder
from lowdim.estimator.updating import Growth
from lowdim.messages import argument
from lowdim.neighbor_embedding.affinities import conditional_to_new
from lowdim.neighbor_embedding.affinity_placement import place_by_affinity
from lowdim.neighbor_embedding.anchors import Anchors, hold
from lowdim.neighbor_embedding.descent import RENUMBER_FROM, Descent, Phase, descend, learning_rate
from lowdim.neighbor_embedding.repulsion import choose_repulsion
from lowdim.neighbor_embedding.starts import layout_start
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.numerics.procrustes import registered
from lowdim.objects.growth import novelty
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, Change, CheckpointFile

METHODS = ("auto", "exact", "barnes_hut", "fft")
PRECISE_UP_TO = 1000  # points up to which the descent has the precision of the data
NEVER = 10**9  # iterations
MAX_EXAGGERATION = 1e6  # beyond it the map is a point
EARLY = 250  # iterations with early exaggeration
EARLY_MOMENTUM, MOMENTUM = 0.5, 0.8  # of van der Maaten and Hinton (2008)
UNFOLDED = 100  # iterations after which neighbours lie near each other for the first time
UPDATE_ITERATIONS = 50  # of `update`: old objects are near their places, new ones next to theirs
UPDATE_HOLD = 0.1  # share of its displacement by which an old object returns in an iteration


class StochasticNeighborEmbedder(NeighborEmbedder):
    """An embedder that matches the probabilities of being neighbours in the data and the embedding.

    A method computes affinities from a neighbour graph in `_affinities` and builds its objective
    from them in `_objective`. A method with further parameters has its own `__init__`.
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
        random_state: Any = None,
        method: str = "auto",
        angle: float = 0.5,
        exaggeration: float = 1.0,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
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
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.exaggeration = exaggeration
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    _joint = False  # whether new objects are placed by joint probabilities
    _new_perplexity: float | None = None  # of new objects; None: that of the fit

    @property
    def _similarity(self) -> Similarity:
        """The kernel of the embedding."""
        return Similarity("gaussian")

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None, **arguments: Any) -> None:
        self._check_parameters(objects.n)
        found = self._neighbor_graph(objects, graph)
        if objects.in_memory:
            self._fitted_neighbors = found
        widest = found if graph is None else graph

        def affinities() -> Any:
            enough = (widest.n_neighbors or 0) >= self._n_wanted(objects.n)
            return self._affinities(self._neighbor_graph(objects, widest if enough else None))

        self._fit_affinities(objects, self._affinities(found), found, affinities, **arguments)

    def _affinities(self, graph: NeighborGraph) -> Any:
        """The probabilities of being neighbours in the data, as a sparse matrix."""
        raise NotImplementedError

    def _objective(self, P: Any) -> ForceField:
        """The divergence from affinities to those on the map."""
        raise NotImplementedError

    def _fit_affinities(
        self, objects: Objects, P: Any, links: Any, affinities: Callable[[], Any] | None
    ) -> None:
        """Set `embedding_` from affinities.

        Parameters
        ----------
        objects : Objects
        P : sparse matrix
            The affinities.
        links : NeighborGraph or sparse matrix
            The graph of init="spectral".
        affinities : callable or None
            Computes the affinities for a changed perplexity; None if they do not depend on it.
        """
        self._descend(self._objective(P), self._start(objects, links), affinities)

    def _check_parameters(self, n: int) -> None:
        self._perplexities(n)
        self._check_n_components(n)
        checks.choice(self.method, "method", METHODS)
        checks.real(self.angle, "angle", 0, 1)
        checks.real(self.early_exaggeration, "early_exaggeration", 1, MAX_EXAGGERATION)
        checks.real(self.exaggeration, "exaggeration", 0, MAX_EXAGGERATION, open_low=True)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.integer(self.n_iter_without_progress, "n_iter_without_progress", -1)
        checks.real(self.min_grad_norm, "min_grad_norm", 0)

    def _n_wanted(self, n: int) -> int:
        if self.method == "exact":
            return n - 1
        return min(n - 1, int(3 * max(self._perplexities(n))))

    def _n_least(self, n: int) -> int:
        return min(n - 1, int(np.ceil(max(self._perplexities(n)))))  # the effective number of them

    def _perplexities(self, n: int) -> list[float]:
        """The perplexities as a list, checked against the number of objects."""
        given = self.perplexity
        if isinstance(given, str | bytes) or not np.all(np.isreal(np.asarray(given))):
            raise TypeError(
                f"{argument('perplexity')} must be a number or a list of numbers, got {given!r}."
            )
        values = [
            checks.real(value, "perplexity", 1e-12)
            for value in (given if np.ndim(given) else [given])
        ]
        if not values:
            raise ValueError(
                f"{argument('perplexity')} must "
                "be a number or a list of numbers, got an empty list."
            )
        if max(values) >= n:
            raise ValueError(
                f"perplexity ({max(values):g}) must be less than n_samples ({n}): it is a number "
                "of neighbours."
            )
        return values

    def _divergence(self, kind: Callable[..., ForceField], P: Any, **arguments: Any) -> ForceField:
        """The objective `kind(P, kernel, repulsion, ...)` of the affinities P."""
        self.affinities_ = P
        dim, kernel = int(self.n_components), self._similarity
        repulsion = choose_repulsion(self.method, kernel, P.shape[0], dim, float(self.angle))
        return kind(P.astype(self._working_dtype, copy=False), kernel, repulsion, **arguments)

    @property
    def _working_dtype(self) -> np.dtype[Any]:
        """The precision of the descent: that of the data for few points, float32 for many."""
        P = self.affinities_
        precise = self.method == "exact" or P.shape[0] <= PRECISE_UP_TO
        return np.dtype(P.dtype if precise else np.float32)

    def _start(self, objects: Objects, graph: Any) -> Array:
        random = check_random_state(self.random_state)
        start = layout_start(self.init, int(self.n_components), objects, graph, random)
        return np.array(start, dtype=self._working_dtype, order="C")

    def _descend(
        self, divergence: ForceField, start: Array, affinities: Callable[[], Any] | None
    ) -> None:
        """Minimise the divergence to `embedding_`, first with exaggerated attraction."""
        n = len(start)
        phases, descent = self._phases(n), self._descent(divergence, start)

        def retune(changed: dict[str, Any]) -> None:
            self._check_parameters(n)
            settings = self._phases(n)
            if "perplexity" in changed:
                if affinities is None:
                    raise ValueError(f"{argument('perplexity')}: the affinities were given to fit.")
                descent.exchange(self._objective(affinities()))
            for phase, new in zip(phases, settings, strict=True):
                phase.rate, phase.exaggeration = new.rate, new.exaggeration
            self.learning_rate_ = phases[0].rate

        self.learning_rate_ = phases[0].rate
        self._follow(descent, phases, retune)

    def _phases(self, n: int) -> list[Phase]:
        """The settings of the descent: early exaggeration, also after the unfolding, then not."""
        early = min(EARLY, self.max_iter)
        rate = learning_rate(self.learning_rate, n, self.early_exaggeration)
        late = learning_rate(self.learning_rate, n, max(self.exaggeration, 1.0))
        first = min(UNFOLDED, early)
        return [
            Phase(first, rate, EARLY_MOMENTUM, self.early_exaggeration),
            Phase(early - first, rate, EARLY_MOMENTUM, self.early_exaggeration),
            Phase(self.max_iter - early, late, MOMENTUM, self.exaggeration),
        ]

    def _descent(
        self, divergence: ForceField, start: Array, anchors: Anchors | None = None
    ) -> Descent:
        patience = NEVER if self.n_iter_without_progress < 0 else self.n_iter_without_progress
        return Descent(divergence, start, self.min_grad_norm, patience, anchors)

    def _follow(self, descent: Descent, phases: list[Phase], retune: Change | None = None) -> None:
        """Run phases of a descent and set `embedding_` and what describes it."""
        monitor = self._monitor(sum(phase.iterations for phase in phases), retune)
        descend(descent, phases, monitor, fallback=descent.Y.copy())
        descent.objective.exaggeration = 1.0
        self.kl_divergence_ = float(descent.objective(descent.Y)[0])
        self.n_iter_ = descent.iteration
        self.history_ = np.array(descent.history).reshape(-1, 2)
        self.embedding_ = descent.embedding.astype(self.affinities_.dtype, copy=False)

    def _go_on(self, descent: Descent, phase: Phase) -> None:
        """Run a phase of a descent that begins at the map; iterations and history go on."""
        before, history = self.n_iter_, self.history_
        if len(descent.Y) > RENUMBER_FROM and descent.Y.shape[1] <= 3:
            descent.renumber()
        self._follow(descent, [phase])
        self.n_iter_ += before
        self.history_ = np.vstack([history, np.add(self.history_, [before, 0])])

    def _update(self, new: NewObjects) -> Growth:
        objects, self._fitted_neighbors = self._join(new)
        old, placed = self.embedding_, self._transform(new)
        self._check_parameters(objects.n)
        divergence = self._objective(self._affinities(self._fitted_neighbors))
        anchors = hold(old, placed, UPDATE_HOLD, self._working_dtype)
        rate = learning_rate(self.learning_rate, objects.n, max(self.exaggeration, 1.0))
        descent = self._descent(divergence, anchors.places.copy(), anchors)
        iterations = min(UPDATE_ITERATIONS, self.max_iter)
        self._go_on(descent, Phase(iterations, rate, MOMENTUM, self.exaggeration))
        self.embedding_ = registered(old, self.embedding_)
        return Growth(novelty(self._fitted_neighbors, len(old)), refined=True)

    def _transform(self, new: NewObjects) -> Array:
        n = len(self.embedding_)
        wanted = self._perplexities(n)
        if self._new_perplexity is not None:
            wanted = [min(self._new_perplexity, *wanted)]
        nearest, distances = new.nearest(min(n, max(1, int(3 * max(wanted)))), self._search)
        p = conditional_to_new(distances, wanted).astype(self.embedding_.dtype)
        Y = place_by_affinity(p, nearest, self.embedding_, self._similarity, joint=self._joint)
        return self._keep_known(Y, nearest, distances)
