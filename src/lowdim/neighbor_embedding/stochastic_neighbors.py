"""What SNE, symmetric SNE, t-SNE and weighted t-SNE share: start, descent and transform.

`estimator` is one of them in each function, which reads its parameters and sets its results. What
depends on the method, its objective, is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.forces import StepSettings
from lowdim.backends.native.repulsion import Repulsion
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array, check_random_state
from lowdim.estimator import Iterative, Problem
from lowdim.estimator.fitted_state import Numbers, Rule, any_number, graph_rule
from lowdim.estimator.links import keep_known
from lowdim.estimator.neighbors import fitted_neighbors, graph_of_fit, join
from lowdim.estimator.updating import Growth
from lowdim.messages import argument
from lowdim.neighbor_embedding.affinities import (
    conditional_matrix,
    conditional_to_new,
    joint,
    joint_of_repeated,
)
from lowdim.neighbor_embedding.anchors import Spring, hold
from lowdim.neighbor_embedding.descent import RENUMBER_FROM, Descent, Phase, run_phases, step_size
from lowdim.neighbor_embedding.docs import SNE_PASSAGES
from lowdim.neighbor_embedding.starts import sne_start
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.numerics.procrustes import align_to_old
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Change
from lowdim.runtime.scheduling import blocks, run

GAUSSIAN = Similarity("gaussian")
METHODS = ("auto", "exact", "barnes_hut", "fft")
PRECISE_UP_TO = 1000  # points up to which the descent has the precision of the data
NEVER = 10**9  # iterations
MAX_EXAGGERATION = 1e6  # beyond it the map is a point
EARLY = 250  # iterations with early exaggeration
EARLY_MOMENTUM, MOMENTUM = 0.5, 0.8  # of van der Maaten and Hinton (2008)
UNFOLDING_ITERATIONS = 100  # after which neighbours lie near each other for the first time
UPDATE_ITERATIONS = 50  # of `update`: old objects are near their places, new ones next to theirs
UPDATE_HOLD = 0.1  # share of its displacement by which an old object returns in an iteration
NEW_ITERATIONS = 250
NEW_ROWS = 1024  # new objects that a thread places at once
# Of new objects; the longest step is in units of the width of the similarity.
NEW_STEPS = StepSettings(rate=0.5, momentum=MOMENTUM, min_gain=0.01, max_step=0.25)
MARGIN = 5.0  # distance from the embedding up to which the repulsive field is computed


@dataclass(eq=False, repr=False, kw_only=True)
class Parameters(Iterative):
    """The parameters of SNE, symmetric SNE, t-SNE and weighted t-SNE."""

    _passages = SNE_PASSAGES
    _units: ClassVar[dict[str, float]] = {"embedding_": 0}
    _attributes: ClassVar[dict[str, Rule]] = {
        "_fitted_neighbors": graph_rule,
        "affinities_": Numbers("n n", least=0, sparse=True),
        "kl_divergence_": any_number,
        "learning_rate_": any_number,
        "history_": Numbers("* *", finite=False),
    }

    perplexity: Any = 30.0
    early_exaggeration: float = 12.0
    learning_rate: Any = "auto"
    max_iter: int = 1000
    n_iter_without_progress: int = 300
    min_grad_norm: float = 1e-7
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    init: Any = "pca"
    method: str = "auto"
    angle: float = 0.5
    exaggeration: float = 1.0

    def _memory(self, fit: Problem) -> float:
        return (52 + 2 * fit.size) * fit.arcs

    def _n_wanted(self, n: int) -> int:
        """The number of neighbours of an object that have an affinity."""
        return n - 1 if self.method == "exact" else min(n - 1, int(3 * max(perplexities(self, n))))


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


def perplexity_graph(
    estimator: Any, objects: Objects, graph: NeighborGraph | None
) -> NeighborGraph:
    """The neighbour graph of the affinities: given, if it has enough neighbours, or computed."""
    n = objects.n
    least = min(n - 1, int(np.ceil(max(perplexities(estimator, n)))))  # the effective number
    return graph_of_fit(estimator, objects, graph, estimator._n_wanted(n), least)


def graph_after_change(
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
    if not hasattr(estimator, "sample_weight_"):
        return joint(row_affinities(estimator, graph))
    wanted, counts = perplexities(estimator, graph.n_objects), estimator.sample_weight_
    most = float(counts.sum()) - 1
    if estimator.method != "exact":
        most = min(most, int(3 * max(wanted)))
    return joint_of_repeated(graph, counts, wanted, most)


def n_repeated(estimator: Any, n: int) -> float:
    """The number of objects, each counted as often as `sample_weight` of TSNE says."""
    return float(estimator.sample_weight_.sum()) if hasattr(estimator, "sample_weight_") else n


def build_divergence(
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
    return backend().build_repulsion(method, similarity, n, dim, angle)


def working_dtype(estimator: Any, P: Any) -> np.dtype[Any]:
    """The precision of the descent: that of the affinities for few points, float32 for many."""
    precise = estimator.method == "exact" or P.shape[0] <= PRECISE_UP_TO
    return np.dtype(P.dtype if precise else np.float32)


def start_of(estimator: Any, objects: Objects, graph: Any, dtype: np.dtype[Any]) -> Array:
    """The start; `graph` is a NeighborGraph or a symmetric CSR matrix, for init="spectral"."""
    random = check_random_state(estimator.random_state)
    start = sne_start(estimator.init, int(estimator.n_components), objects, graph, random)
    return np.array(start, dtype=dtype, order="C")


def minimize(
    estimator: Any,
    objective: ForceField,
    start: Array,
    changed_objective: Callable[[], ForceField],
    springs: Sequence[Spring] = (),
) -> None:
    """Minimise the objective to `embedding_`, first with exaggerated attraction.

    `changed_objective` returns the objective after a change of perplexity.
    """
    n = len(start)
    phases, descent = _phases(estimator, n), descent_from(estimator, objective, start, springs)
    estimator.learning_rate_ = phases[0].rate

    def retune(changed: dict[str, Any]) -> None:
        check_parameters(estimator, n)
        settings = _phases(estimator, n)
        if "perplexity" in changed:
            descent.exchange(changed_objective())
        for phase, new in zip(phases, settings, strict=True):
            phase.rate, phase.exaggeration = new.rate, new.exaggeration
        estimator.learning_rate_ = phases[0].rate

    _follow(estimator, descent, phases, retune)


def _phases(estimator: Any, n: int) -> list[Phase]:
    """The settings of the descent: early exaggeration, also after the unfolding, then not."""
    early, early_factor = min(EARLY, estimator.max_iter), estimator.early_exaggeration
    total = n_repeated(estimator, n)
    rate = step_size(estimator.learning_rate, total, early_factor)
    late = step_size(estimator.learning_rate, total, max(estimator.exaggeration, 1.0))
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
    run_phases(descent, phases, monitor, fallback=descent.Y.copy())
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


def grow(
    estimator: Any, new: NewObjects, objective_of: Callable[[NeighborGraph], ForceField]
) -> Growth:
    """Refine the map of the graph that new objects have joined; see `update`."""
    old = estimator.embedding_
    objects, graph = join(estimator, new, fitted_neighbors(estimator))
    placed, estimator._fitted_neighbors = estimator._transform(new), graph
    check_parameters(estimator, objects.n)
    objective = objective_of(graph)
    anchors = hold(old, placed, UPDATE_HOLD, working_dtype(estimator, estimator.affinities_))
    rate = step_size(estimator.learning_rate, objects.n, max(estimator.exaggeration, 1.0))
    descent = descent_from(estimator, objective, anchors.places.copy(), [anchors])
    iterations = min(UPDATE_ITERATIONS, estimator.max_iter)
    go_on(estimator, descent, Phase(iterations, rate, MOMENTUM, estimator.exaggeration))
    estimator.embedding_ = align_to_old(old, estimator.embedding_)
    return Growth(graph, refined=True)


def place_new(
    new: NewObjects,
    Y: Array,
    wanted: list[float],
    similarity: Similarity,
    *,
    joint_sum: bool = False,
) -> Array:
    """Coordinates of new objects on the map Y, by the perplexities `wanted`."""
    nearest, distances = new.nearest(min(len(Y), max(1, int(3 * max(wanted)))), "auto")
    p = conditional_to_new(distances, wanted).astype(Y.dtype)
    placed = place_by_affinity(p, nearest, Y, similarity, joint_sum=joint_sum)
    return keep_known(placed, Y, nearest, distances)


def place_by_affinity(
    p: Array,
    nearest: Array,
    embedding: Array,
    similarity: Similarity,
    *,
    joint_sum: bool = False,
    iterations: int = NEW_ITERATIONS,
) -> Array:
    """Coordinates y of new objects that minimise KL(p || q), q_j = w(y, y_j) / z.

    `p` and `nearest`, of shape (m, k), are the probabilities and the indices of the nearest
    training objects, whose coordinates `embedding` stay fixed. z is the new object's own sum of
    w(y, y_k), or with `joint_sum` that of joint probabilities, the mean over the training objects i
    of sum_k w(y_i, y_k). Gradient descent from the mean of the neighbours' coordinates, weighted by
    p. The rows do not depend on each other.
    """
    fixed = np.ascontiguousarray(embedding)
    field = backend().frozen_field(fixed, similarity, MARGIN)
    one = fixed.dtype.type(1)  # the similarity of an object to itself
    mean_z = (field(fixed)[1] - one).mean(dtype=np.float64) if joint_sum else None

    def place(part: slice) -> Array:
        return _descend_new(p[part], fixed[nearest[part]], field, similarity, mean_z, iterations)

    return np.concatenate(run(place, blocks(len(p), NEW_ROWS)))


def _descend_new(
    p: Array, neighbors: Array, field: Any, similarity: Similarity, mean_z: Any, iterations: int
) -> Array:
    """The descent of some new objects, from the coordinates of their neighbours."""
    Y: Array = (p[:, :, None] * neighbors).sum(axis=1)
    velocity, gains = np.zeros_like(Y), np.ones_like(Y)
    for _ in range(iterations):
        push, own_z = field(Y)
        z = own_z if mean_z is None else np.full_like(own_z, mean_z)
        gaps = Y[:, None, :] - neighbors
        s = (gaps * gaps).sum(axis=2)
        u = p if similarity.name == "gaussian" else p / (1 + s / similarity.dof)
        pull = (u[:, :, None] * gaps).sum(axis=1)
        gradient = pull - push / np.maximum(z, np.finfo(z.dtype).tiny)[:, None]
        gradient *= Y.dtype.type(2 / similarity.width)
        backend().momentum_step(
            np.ascontiguousarray(gradient, Y.dtype), Y, velocity, gains, NEW_STEPS
        )
    return Y
