"""The layout of a fuzzy graph: coordinates of least cross-entropy (McInnes, Healy, Melville 2018).

In the embedding, two points at distance d have the membership 1 / (1 + a d^2b). Edges attract their
ends in proportion to their membership in the graph. Random points repel a vertex in proportion to
the sum of its memberships. These are the expected forces of the paper's algorithm 5, which samples
edges and updates points one after the other. Here, every vertex is moved independently, from the
coordinates before the epoch, by the forces of all its edges at once, with momentum and with a step
size that is limited by the curvature of these forces. Random numbers are keyed by (seed, epoch,
vertex), so that the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.neighbor_embedding.anchors import Spring
from lowdim.neighbor_graphs.graph import row_of_entries
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import Resumable
from lowdim.runtime.elementary import exp, log, power

ALL_PAIRS_UP_TO = 512  # points up to which all points repel each other, without sampling
NEGATIVES_PER_RATE = 3.2  # random points per vertex and epoch, for negative_sample_rate=1
# Momentum of the first epoch, from which it decreases linearly to 0. A constant force moves a point
# by n_epochs / (1 - momentum) steps. The momentum is such that this is TRAVEL for any number of
# epochs: more of it disturbs the large picture, less leaves neighbours apart.
TRAVEL = 4000
MOMENTUM = (0.5, 0.95)  # its least and largest value
MOMENTUM_ALL_PAIRS = 0.8  # without sampling, where more would make the layout oscillate
FIT_ROUNDS = 200  # of `fit_curve` at most
AT_ONCE = 0.2  # seconds of epochs that are run in one call of the backend, before Ctrl-C is noticed


@dataclass(frozen=True)
class Density:
    """densMAP's additional objective: the correlation of log radii in data and embedding.

    It is used in the last `share` of the epochs. `shift` is added to the variance of the log radii
    in the embedding (Narayan, Berger and Cho 2021).
    """

    radii: Array
    weight: float
    share: float
    shift: float


class EpochLayout(Resumable):
    """The state of a layout, which can be resumed: `run(n)` and `run(m)` equal `run(n + m)`.

    Vertices are stored in an order in which random numbers do not depend on that of the rows. The
    springs act after each epoch.
    """

    scheduled = False  # whether the epochs depend on `n_epochs`
    changing: ClassVar[tuple[str, ...]] = ("Y", "velocity", "epoch")

    def __init__(
        self, start: Array, order: Array, n_epochs: int, springs: Sequence[Spring] = ()
    ) -> None:
        self.order, self.rank = order, np.empty(len(order), dtype=np.int32)
        self.rank[order] = np.arange(len(order), dtype=np.int32)
        self.Y = start.take(order, axis=0)
        self.velocity = np.zeros_like(self.Y)
        self.epoch, self.n_epochs = 0, n_epochs
        self.springs = [spring.renumber(order) for spring in springs]

    @property
    def embedding(self) -> Array:
        """The coordinates, in the original order of the objects."""
        return self.Y.take(self.rank, axis=0)

    def run(self, epochs: int, *, loss: bool = False) -> float:
        """Run some epochs; returns the loss before the last one, which may be 0 unless `loss`."""
        value, end = 0.0, min(self.epoch + epochs, self.n_epochs)
        while self.epoch < end:
            last = self.epoch + 1 if self.springs else self._at_once(end)
            value = self._advance(last, loss)
            self.epoch = last
            for spring in self.springs:
                spring.pull(self.Y)
        return value

    def _at_once(self, end: int) -> int:
        """The epoch up to which, at most `end`, `_advance` can go in one call."""
        return end

    def _advance(self, last: int, loss: bool) -> float:
        """Run the epochs before `last`; returns the loss before the last one of them."""
        raise NotImplementedError


class Layout(EpochLayout):
    """The layout of a fuzzy graph.

    `curve` are a and b of the module, `negative_sample_rate` is the number of random points per
    edge. A vertex of mass m attracts and repels others as m equal vertices do.
    """

    scheduled = True

    def __init__(
        self,
        graph: Any,
        start: Array,
        *,
        curve: tuple[float, ...],
        n_epochs: int,
        learning_rate: float = 1.0,
        repulsion: float = 1.0,
        negative_sample_rate: float = 5,
        density: Density | None = None,
        masses: Array | None = None,
        seed: int = 0,
        springs: Sequence[Spring] = (),
    ) -> None:
        # Vertices are sorted along the first axis, so that neighbours are near in memory.
        super().__init__(start, backend().stable_order(start[:, 0]), n_epochs, springs)
        weights = graph.astype(start.dtype, copy=False)
        self.masses = None
        if masses is not None:
            self.masses = (masses / masses.mean())[self.order].astype(start.dtype)
            weights = weigh_targets(weights, masses)
        self.arcs = backend().layout_arcs(weights, self.rank)
        self.seed = seed
        self.set_forces(curve, learning_rate, repulsion, negative_sample_rate)
        self.density = density
        if density is not None:
            self.total = float(weights.data.sum(dtype=np.float64))
            radii = density.radii[self.order].astype(np.float64)
            spread = float(radii.std())
            self.wanted = (radii - radii.mean()) / (spread if spread > 0 else 1.0)

    def set_forces(
        self,
        curve: tuple[float, ...],
        learning_rate: float,
        repulsion: float,
        negative_sample_rate: float,
    ) -> None:
        """Set what the forces of the next epochs depend on; see the class."""
        self.curve, self.learning_rate = curve, learning_rate
        self.repulsion = repulsion * negative_sample_rate
        self.n_negatives = negatives_per_epoch(len(self.Y), negative_sample_rate)

    def _at_once(self, end: int) -> int:
        if self._uses_density(self.epoch):
            return self.epoch + 1
        while end - 1 > self.epoch and self._uses_density(end - 1):
            end -= 1
        return end

    def _advance(self, last: int, loss: bool) -> float:
        return backend().layout_epochs(
            self.arcs,
            self.Y,
            self.velocity,
            curve=self.curve,
            rate=self.learning_rate,
            momentum=self._momentum(),
            repulsion=self.repulsion,
            n_negatives=self.n_negatives,
            epochs=(self.epoch, last, self.n_epochs),
            seed=self.seed,
            density=self._density_forces() if self._uses_density(self.epoch) else None,
            masses=self.masses,
            loss=loss,
        )

    def _momentum(self) -> float:
        if not self.n_negatives:
            return MOMENTUM_ALL_PAIRS
        return float(np.clip(1 - self.n_epochs / TRAVEL, *MOMENTUM))

    def _uses_density(self, epoch: int) -> bool:
        aim = self.density
        return aim is not None and aim.weight > 0 and epoch + 1 > (1 - aim.share) * self.n_epochs

    def _density_forces(self) -> tuple[Array, Array]:
        """The derivative of densMAP's objective by each vertex's log radius.

        It is scaled by the total membership over the number of vertices, so that it has the size of
        the cross-entropy, and is returned divided by (mass * squared radius) and by mass, the mass
        being the sum of the vertex's memberships in the embedding.
        """
        assert self.density is not None
        mass, spread = backend().layout_radii(self.arcs, self.Y, (self.curve[0], self.curve[1]))
        mass = np.maximum(mass.astype(np.float64), 1e-12)
        radii = log(1e-8 + spread / mass)
        n = len(radii)
        variance = float(radii.var()) + self.density.shift
        covariance = dot(radii, self.wanted) / max(n - 1, 1)
        gain = self.wanted - covariance * (radii - radii.mean()) / variance
        gain *= 4 * self.density.weight * self.total / (np.sqrt(variance) * n)
        kind = self.Y.dtype
        return (gain / (mass * exp(radii))).astype(kind), (gain / mass).astype(kind)


def lay_out(
    layout: EpochLayout, monitor: Monitor, maps: dict[int, Array] | None = None
) -> tuple[Array, int]:
    """Run a layout to its end, or until the monitor stops it; the map, and the epochs done.

    The maps after the epochs that are keys of `maps` become its values.
    """
    at_once, maps = 1, {} if maps is None else maps
    with monitor:
        arrays = {k: v for k, v in layout.state().items() if isinstance(v, np.ndarray)}
        saved = monitor.load_state(arrays, scheduled=layout.scheduled)
        if saved is not None:
            layout.restore(saved)
        while layout.epoch < layout.n_epochs:
            began = perf_counter()
            until_kept = min((e - layout.epoch for e in maps if e > layout.epoch), default=at_once)
            loss = layout.run(min(at_once, until_kept), loss=monitor.wants_loss)
            if layout.epoch in maps:
                maps[layout.epoch] = layout.embedding.copy()
            if not monitor.watches and perf_counter() - began < AT_ONCE / 2:
                at_once *= 2
            seen = layout.embedding if monitor.wants_embedding else layout.Y
            if monitor(layout.epoch, loss, seen):
                break
            monitor.keep(layout.state)
    return layout.embedding, layout.epoch


def place_by_membership(
    nearest: Array,
    weights: Array,
    embedding: Array,
    *,
    curve: tuple[float, float],
    n_epochs: int,
    learning_rate: float = 1.0,
    repulsion: float = 1.0,
    negative_sample_rate: float = 5,
    seed: int = 0,
) -> Array:
    """Coordinates of new objects of least cross-entropy, from their edges to training objects.

    The start is the mean of the neighbours' coordinates, weighted by membership. In each epoch all
    new objects are repelled by the same random training objects, drawn by (seed, epoch), so that
    the rows do not depend on each other. The options are those of `Layout`.
    """
    m, k = nearest.shape
    share = weights.astype(np.float64)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    Y = (share[:, :, None] * embedding[nearest].astype(np.float64)).sum(axis=1)
    Y = np.ascontiguousarray(Y, dtype=embedding.dtype)
    indptr = np.arange(m + 1) * k
    links = csr_array(
        (weights.ravel().astype(embedding.dtype, copy=False), nearest.ravel(), indptr),
        shape=(m, len(embedding)),
    )
    backend().layout_epochs(
        backend().layout_arcs(links),
        Y,
        np.zeros_like(Y),
        curve=curve,
        rate=learning_rate,
        momentum=0.0,
        repulsion=repulsion * negative_sample_rate,
        n_negatives=negatives_per_epoch(len(embedding), negative_sample_rate),
        epochs=(0, n_epochs, max(n_epochs, 1)),
        seed=seed,
        fixed=np.ascontiguousarray(embedding),
    )
    return Y


def negatives_per_epoch(n: int, negative_sample_rate: float) -> int:
    """The number of random points that repel a vertex in an epoch; 0: all points do."""
    return 0 if n <= ALL_PAIRS_UP_TO else max(1, round(NEGATIVES_PER_RATE * negative_sample_rate))


def weigh_targets(graph: Any, masses: Array) -> Any:
    """The arcs of a graph with weights in proportion to the masses of their targets.

    The total weight of a vertex, which decides how fast it moves, stays as it is.
    """
    rows, n = row_of_entries(graph.indptr), graph.shape[0]
    data = graph.data * masses[graph.indices]
    before = np.bincount(rows, graph.data, minlength=n)
    after = np.bincount(rows, data, minlength=n)
    data *= (before / np.where(after > 0, after, 1))[rows]
    return csr_array((data.astype(graph.dtype), graph.indices, graph.indptr), shape=graph.shape)


def fit_curve(spread: float, min_dist: float) -> tuple[float, float]:
    """a and b such that 1 / (1 + a d^2b) fits 1 up to min_dist and exp(-(d - min_dist) / spread)
    beyond.

    Least squares over 300 distances up to 3 * spread, by the method of Levenberg (1944).
    """
    spread = checks.real(spread, "spread", 1e-50, 1e50)
    if not 0 <= checks.real(min_dist, "min_dist") <= spread:
        raise ValueError(
            f"{argument('min_dist')} must lie between 0 and {argument('spread', spread)}, got "
            f"{min_dist!r}."
        )
    d, least = np.linspace(0, 3, 300)[1:], min_dist / spread  # in units of spread
    wanted, logs = np.where(d < least, 1.0, exp(least - d)), log(d)

    def residuals(a: float, b: float) -> tuple[Array, Array]:
        """Those at a and b, and their derivatives by a and by b."""
        powers = exp(2 * b * logs)
        similar = 1 / (1 + a * powers)
        slope = -similar * similar * powers
        return similar - wanted, np.array([slope, 2 * a * logs * slope])

    a, b, damping = 1.0, 1.0, 1e-3
    gaps, slopes = residuals(a, b)
    error = float((gaps * gaps).sum())
    for _ in range(FIT_ROUNDS):
        (aa, ab), (_, bb) = (slopes[:, None] * slopes[None, :]).sum(axis=2)
        ga, gb = (slopes * gaps).sum(axis=1)
        aa, bb = aa * (1 + damping), bb * (1 + damping)
        size = aa * bb - ab * ab
        tried = a - (bb * ga - ab * gb) / size, b - (aa * gb - ab * ga) / size
        trial = residuals(*tried)
        lower = float((trial[0] * trial[0]).sum())
        if tried[0] > 0 and tried[1] > 0 and lower <= error:
            change = abs(tried[0] - a) + abs(tried[1] - b)
            (a, b), (gaps, slopes), error, damping = tried, trial, lower, damping / 10
            if change < 1e-12:
                break
        else:
            damping *= 10
    return float(a * power(spread, -2 * b)), float(b)
