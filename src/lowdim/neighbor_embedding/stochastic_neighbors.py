"""What SNE, symmetric SNE, t-SNE and weighted t-SNE share: start, descent and transform.

`estimator` is one of them in each function, of which the functions read the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.protocol import Repulsion
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array, check_random_state
from lowdim.estimator.fitted_state import Numbers, Rule, any_number, graph_rule
from lowdim.estimator.footprint import Problem
from lowdim.estimator.links import keep_known
from lowdim.estimator.neighbors import fitted_neighbors, join, neighbor_graph
from lowdim.estimator.updating import Growth
from lowdim.messages import argument
from lowdim.neighbor_embedding.affinities import conditional_matrix, conditional_to_new, joint
from lowdim.neighbor_embedding.affinity_placement import place_by_affinity
from lowdim.neighbor_embedding.anchors import Spring, hold, pins, start_at_pins, towards
from lowdim.neighbor_embedding.descent import RENUMBER_FROM, Descent, Phase, descend, learning_rate
from lowdim.neighbor_embedding.starts import layout_start
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.numerics.procrustes import align_to_old
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Change

GAUSSIAN = Similarity("gaussian")
METHODS = ("auto", "exact", "barnes_hut", "fft")
PRECISE_UP_TO = 1000  # points up to which the descent has the precision of the data
NEVER = 10**9  # iterations
MAX_EXAGGERATION = 1e6  # beyond it the map is a point
EARLY = 250  # iterations with early exaggeration
EARLY_MOMENTUM, MOMENTUM = 0.5, 0.8  # of van der Maaten and Hinton (2008)
UNFOLDING_ITERATIONS = 100  # after which neighbours lie near each other for the first time
UPDATE_ITERATIONS = 50  # of `update`: old objects are near their places, new ones next to theirs
BALANCE = 0.1  # share of the pull towards a global map with global_weight=0.5
UPDATE_HOLD = 0.1  # share of its displacement by which an old object returns in an iteration

STATE: dict[str, Rule] = {
    "_fitted_neighbors": graph_rule,
    "affinities_": Numbers("n n", least=0, sparse=True),
    "kl_divergence_": any_number,
    "learning_rate_": any_number,
    "history_": Numbers("* *", finite=False),
}
"""Rules for the fitted attributes."""


def memory(estimator: Any, fit: Problem) -> float:
    """Bytes at the peak of a fit."""
    return (52 + 2 * fit.size) * fit.arcs


def check_parameters(estimator: Any, n: int) -> None:
    """Check the parameters for n objects."""
    perplexities(estimator, n)
    estimator._check_n_components(n)
    checks.choice(estimator.method, "method", METHODS)
    checks.real(estimator.angle, "angle", 0, 1)
    checks.real(estimator.early_exaggeration, "early_exaggeration", 1, MAX_EXAGGERATION)
    checks.real(estimator.exaggeration, "exaggeration", 0, MAX_EXAGGERATION, open_low=True)
    checks.integer(estimator.max_iter, "max_iter", 1)
    checks.integer(estimator.n_iter_without_progress, "n_iter_without_progress", -1)
    checks.real(estimator.min_grad_norm, "min_grad_norm", 0)


def perplexities(estimator: Any, n: int) -> list[float]:
    """The perplexities as a list, checked against the number of objects."""
    given = estimator.perplexity
    if isinstance(given, str | bytes) or not np.all(np.isreal(np.asarray(given))):
        raise TypeError(
            f"{argument('perplexity')} must be a number or a list of numbers, got {given!r}."
        )
    values = [
        checks.real(value, "perplexity", 1e-12) for value in (given if np.ndim(given) else [given])
    ]
    if not values:
        raise ValueError(
            f"{argument('perplexity')} must be a number or a list of numbers, got an empty list."
        )
    if max(values) >= n:
        raise checks.too_many_neighbors("perplexity", max(values), n)
    return values


def n_for_perplexity(estimator: Any, n: int) -> int:
    """The number of neighbours of an object that have an affinity."""
    if estimator.method == "exact":
        return n - 1
    return min(n - 1, int(3 * max(perplexities(estimator, n))))


def perplexity_graph(
    estimator: Any, objects: Objects, graph: NeighborGraph | None
) -> NeighborGraph:
    """The neighbour graph of the affinities: given, if it has enough neighbours, or computed."""
    n = objects.n
    least = min(n - 1, int(np.ceil(max(perplexities(estimator, n)))))  # the effective number
    return neighbor_graph(estimator, objects, graph, estimator._n_wanted(n), least)


def wider_graph(
    estimator: Any, objects: Objects, neighbors: NeighborGraph | None, graph: NeighborGraph | None
) -> NeighborGraph:
    """The neighbour graph after a change of perplexity; computed if there are too few neighbours.

    `neighbors` is the graph of the fit, None if it has none, and `graph` the one given to `fit`.
    """
    if neighbors is None:
        raise ValueError(f"{argument('perplexity')}: the affinities were given to fit.")
    known = neighbors if graph is None else graph
    enough = (known.n_neighbors or 0) >= estimator._n_wanted(objects.n)
    return perplexity_graph(estimator, objects, known if enough else None)


def row_affinities(estimator: Any, graph: NeighborGraph) -> Any:
    """The probabilities p_{j|i} of each object's neighbours, as a sparse matrix."""
    return conditional_matrix(graph, perplexities(estimator, graph.n_objects))


def pair_affinities(estimator: Any, graph: NeighborGraph) -> Any:
    """The probabilities p_ij of pairs to be neighbours, as a sparse matrix."""
    return joint(row_affinities(estimator, graph))


def divergence(
    estimator: Any, kind: Callable[..., ForceField], P: Any, similarity: Similarity, **options: Any
) -> ForceField:
    """The objective `kind(P, similarity, repulsion, ...)` of affinities P."""
    n, dim, angle = P.shape[0], int(estimator.n_components), float(estimator.angle)
    repulsion = choose_repulsion(estimator.method, similarity, n, dim, angle)
    P = P.astype(working_dtype(estimator, P), copy=False)
    return kind(P, similarity, repulsion, **options)


def choose_repulsion(
    method: str, similarity: Similarity, n: int, dim: int, angle: float
) -> Repulsion:
    """Check `method` and return the repulsion among n points of dimension `dim`.

    "exact" sums over all pairs, "barnes_hut" uses a tree, "fft" a grid. "auto" chooses the fastest.
    """
    if method == "fft" and dim > 2:
        raise ValueError(
            f"{argument('method', 'fft')} needs one or two dimensions, got "
            f"{argument('n_components', dim)}. Use {argument('method', 'barnes_hut')} (up to "
            "three) or 'exact'."
        )
    if method == "barnes_hut" and dim > 3:
        raise ValueError(
            f"{argument('method', 'barnes_hut')} needs at most three dimensions, got "
            f"{argument('n_components', dim)}. 'n_components' should be inferior to 4 for it; use "
            f"{argument('method', 'exact')}."
        )
    return backend().repulsion(method, similarity, n, dim, angle)


def working_dtype(estimator: Any, P: Any) -> np.dtype[Any]:
    """The precision of the descent: that of the affinities for few points, float32 for many."""
    precise = estimator.method == "exact" or P.shape[0] <= PRECISE_UP_TO
    return np.dtype(P.dtype if precise else np.float32)


def start_of(estimator: Any, objects: Objects, graph: Any, dtype: np.dtype[Any]) -> Array:
    """The start; `graph` is a NeighborGraph or a symmetric CSR matrix, for init="spectral"."""
    random = check_random_state(estimator.random_state)
    start = layout_start(estimator.init, int(estimator.n_components), objects, graph, random)
    return np.array(start, dtype=dtype, order="C")


def start_with_springs(
    estimator: Any, objects: Objects, graph: Any, P: Any, pinned: Any, pin_strength: Any
) -> tuple[Array, list[Spring]]:
    """The start of t-SNE, and the springs of `global_weight` and of pinned objects."""
    weight = checks.real(estimator.global_weight, "global_weight", 0, 1)
    n, dim, dtype = objects.n, int(estimator.n_components), working_dtype(estimator, P)
    anchors = pins(pinned, pin_strength, n, dim, dtype)
    start = start_of(estimator, objects, graph, dtype)
    springs: list[Spring] = [] if weight == 0 else [towards(start, weight, BALANCE)]
    return start_at_pins(start, anchors), springs if anchors is None else [*springs, anchors]


def minimize(
    estimator: Any,
    objective: ForceField,
    start: Array,
    changed_graph: Callable[[], NeighborGraph] | None = None,
    springs: Sequence[Spring] = (),
) -> None:
    """Minimise the objective to `embedding_`, first with exaggerated attraction.

    `changed_graph` returns the neighbour graph after a change of perplexity, if that is `live`.
    """
    n = len(start)
    phases, descent = _phases(estimator, n), descent_from(estimator, objective, start, springs)

    def retune(changed: dict[str, Any]) -> None:
        check_parameters(estimator, n)
        settings = _phases(estimator, n)
        if "perplexity" in changed and changed_graph is not None:
            estimator.affinities_ = estimator._affinities(changed_graph())
            descent.exchange(estimator._objective(estimator.affinities_))
        for phase, new in zip(phases, settings, strict=True):
            phase.rate, phase.exaggeration = new.rate, new.exaggeration
        estimator.learning_rate_ = phases[0].rate

    estimator.learning_rate_ = phases[0].rate
    _follow(estimator, descent, phases, retune)


def _phases(estimator: Any, n: int) -> list[Phase]:
    """The settings of the descent: early exaggeration, also after the unfolding, then not."""
    early, early_factor = min(EARLY, estimator.max_iter), estimator.early_exaggeration
    rate = learning_rate(estimator.learning_rate, n, early_factor)
    late = learning_rate(estimator.learning_rate, n, max(estimator.exaggeration, 1.0))
    first = min(UNFOLDING_ITERATIONS, early)
    return [
        Phase(first, rate, EARLY_MOMENTUM, early_factor),
        Phase(early - first, rate, EARLY_MOMENTUM, early_factor),
        Phase(estimator.max_iter - early, late, MOMENTUM, estimator.exaggeration),
    ]


def descent_from(
    estimator: Any, objective: ForceField, start: Array, springs: Sequence[Spring] = ()
) -> Descent:
    """A descent with the stopping rule of an estimator."""
    patience = estimator.n_iter_without_progress
    patience = NEVER if patience < 0 else patience
    return Descent(objective, start, estimator.min_grad_norm, patience, springs)


def _follow(
    estimator: Any, descent: Descent, phases: list[Phase], retune: Change | None = None
) -> None:
    """Run phases of a descent and set `embedding_` and what describes it."""
    monitor = estimator._monitor(sum(phase.iterations for phase in phases), retune)
    descend(descent, phases, monitor, fallback=descent.Y.copy())
    descent.objective.exaggeration = 1.0
    estimator.kl_divergence_ = float(descent.objective(descent.Y)[0])
    estimator.n_iter_ = descent.iteration
    estimator.history_ = np.array(descent.history).reshape(-1, 2)
    estimator.embedding_ = descent.embedding.astype(estimator.affinities_.dtype, copy=False)


def go_on(estimator: Any, descent: Descent, phase: Phase) -> None:
    """Run a phase of a descent that begins at the map; iterations and history go on."""
    before, history = estimator.n_iter_, estimator.history_
    if len(descent.Y) > RENUMBER_FROM and descent.Y.shape[1] <= 3:
        descent.renumber()
    _follow(estimator, descent, [phase])
    estimator.n_iter_ += before
    estimator.history_ = np.vstack([history, np.add(estimator.history_, [before, 0])])


def grow(estimator: Any, new: NewObjects) -> Growth:
    """Refine the map of the graph that new objects have joined; see `update`."""
    old = estimator.embedding_
    objects, graph = join(estimator, new, fitted_neighbors(estimator))
    placed, estimator._fitted_neighbors = estimator._transform(new), graph
    check_parameters(estimator, objects.n)
    P = estimator.affinities_ = estimator._affinities(graph)
    objective = estimator._objective(P)
    anchors = hold(old, placed, UPDATE_HOLD, working_dtype(estimator, P))
    rate = learning_rate(estimator.learning_rate, objects.n, max(estimator.exaggeration, 1.0))
    descent = descent_from(estimator, objective, anchors.places.copy(), [anchors])
    iterations = min(UPDATE_ITERATIONS, estimator.max_iter)
    go_on(estimator, descent, Phase(iterations, rate, MOMENTUM, estimator.exaggeration))
    estimator.embedding_ = align_to_old(old, estimator.embedding_)
    return Growth(graph, refined=True)


def place_new(
    new: NewObjects, Y: Array, wanted: list[float], similarity: Similarity, *, joint: bool = False
) -> Array:
    """Coordinates of new objects on the map Y, by the perplexities `wanted`."""
    nearest, distances = new.nearest(min(len(Y), max(1, int(3 * max(wanted)))), "auto")
    p = conditional_to_new(distances, wanted).astype(Y.dtype)
    placed = place_by_affinity(p, nearest, Y, similarity, joint=joint)
    return keep_known(placed, Y, nearest, distances)
