"""What parametric t-SNE and parametric UMAP share: a network, pairs of neighbours, new data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.metrics import euclidean
from lowdim.estimator.fitted_state import Sizes, any_number, named_arrays, size_of
from lowdim.estimator.neighbor_embedder import check_given_graph
from lowdim.learned.docs import PARAMETRIC_PASSAGES
from lowdim.learned.networks.network_embedder import NetworkEmbedder
from lowdim.neighbor_embedding.tsne import joint_affinities
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime.callbacks import Monitor, interrupts_raise
from lowdim.runtime.checkpoint import new_slot

if TYPE_CHECKING:
    from lowdim.learned.networks.layers import Architecture
    from lowdim.learned.networks.training import Settings
    from lowdim.learned.parametric.pairs import PairLoss
    from lowdim.learned.parametric.samples import Samples

LAYERS = (256, 256, 256)  # by default, also for few features: maps of neighbours have many folds
IMAGE_LAYERS = (32, 64)  # channels of convolutions
PAIRS_PER_OBJECT = 2  # in an epoch
IMITATION_STEPS, IMITATION_EPOCHS = 1000, 80  # at least so many of both
IMITATION_RATE = 2e-3  # learning rate
LARGEST_NOISE = 1000.0  # relative to neighbours; the loss stays finite in float32


class Budget(NamedTuple):
    """How long, and with which first learning rate, the objective is trained on by default."""

    pairs: int
    fewest_epochs: int
    most_epochs: int
    learning_rate: float


BUDGET = Budget(4_000_000, 30, 200, 1e-3)
# After the imitation of a map by choosing between places the objective is near its optimum, and
# larger steps would undo a part of what was learned.
BUDGET_WITH_PLACES = Budget(1_000_000, 10, 60, 1e-4)


def _network_with_places(name: str, value: Any, sizes: Sizes) -> None:
    named_arrays(name, value, sizes)
    sizes["places"] = (*np.shape(value.get("encoder.places", ())), 0)[0]


class ParametricEmbedder(NetworkEmbedder):
    """Base class of embeddings of neighbours whose map is a network.

    A method implements `_n_neighbors(n)`, `_weights(graph)`, the matrix of the weights of pairs,
    `_pair_loss()`, and `_free_map(vectors, weights, seed)`, the map of the same weights in which
    each object has a place of its own.
    """

    _attributes: ClassVar = {
        "network_": _network_with_places,
        "n_places_": size_of("places"),
        "loss_": any_number,
    }
    _needed = ("n_places_",)
    _passages = PARAMETRIC_PASSAGES

    def fit(
        self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None, affinities: Any = None
    ) -> Self:
        """Train the network on the vectors X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row.
        y : None
            Ignored.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, under any metric. Computed with
            Euclidean distances if not given.
        affinities : sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric weights of pairs of neighbours, such as `affinities_` of a fitted
            `lowdim.TSNE` or `graph_` of a fitted `lowdim.UMAP`, in place of those of the graph.

        Returns
        -------
        self
        """
        return self._fit_to(X, graph=graph, affinities=affinities)

    def fit_transform(
        self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None, affinities: Any = None
    ) -> Array:
        """Fit to X and return `embedding_`; the parameters are those of `fit`."""
        return self.fit(X, y, graph=graph, affinities=affinities).embedding_

    def _fit(
        self, objects: Objects, graph: NeighborGraph | None = None, affinities: Any = None
    ) -> None:
        from lowdim.learned.networks.training import train
        from lowdim.learned.networks.weights import Rows, apply
        from lowdim.learned.parametric.pairs import Pairs
        from lowdim.learned.parametric.samples import Samples
        from lowdim.learned.parametric.user_networks import check_given

        self._check_n_components(objects.n)
        checks.choice(self.init, "init", ("map", "random"))
        self.n_places_ = self._n_places(objects.n)
        budget = BUDGET_WITH_PLACES if self.n_places_ else BUDGET
        settings = self._settings(self._epochs(objects.n, budget), budget.learning_rate)
        loss = self._pair_loss()
        noise = checks.real(self.noise, "noise", 0, LARGEST_NOISE)
        vectors = self._vectors(objects)
        network = self._new_network(vectors, settings.seed)
        rows = Rows.of(vectors)
        if self.network is not None:
            check_given(network.encoder, rows, self.n_components)
        weights = self._pair_weights(objects, graph, affinities)
        samples = Samples(rows, weights, noise, settings.seed)
        monitor = self._monitor(settings.max_iter)
        if self.init == "map" and not monitor.begun:
            with interrupts_raise():
                free = self._free_map(vectors, weights, settings.seed)
            if not self._imitate(network, samples, free, settings):
                settings = replace(settings, max_iter=0)
        history = train(
            network,
            Pairs(samples, loss, PAIRS_PER_OBJECT * objects.n),
            settings,
            monitor,
            lambda: apply(network.encode, rows),
        )
        self._keep(network, rows, history[:, 0])
        self.loss_ = float(history[-1, 0]) if len(history) else math.nan  # interrupted early
        if not self.decoder:
            self.X_fit_ = _floats(vectors)  # for the general decoder

    def _n_places(self, n: int) -> int:
        """The number of places between which the network chooses; 0: its outputs are the map."""
        from lowdim.learned.parametric.places import number_of_places

        return 0 if self.init == "random" or self.network is not None else number_of_places(n)

    def _epochs(self, n: int, budget: Budget) -> int:
        if self.max_iter is not None:
            return checks.integer(self.max_iter, "max_iter", 1)
        wanted = budget.pairs // (PAIRS_PER_OBJECT * n)
        return min(max(wanted, budget.fewest_epochs), budget.most_epochs)

    def _pair_weights(self, objects: Objects, graph: NeighborGraph | None, affinities: Any) -> Any:
        if affinities is not None:
            return joint_affinities(affinities, objects)
        floats = MeasuredObjects(_floats(self._vectors(objects)), euclidean())
        return self._weights(self._graph(floats, graph))

    def _n_neighbors(self, n: int) -> int:
        """The number of neighbours of each object, not counting itself."""
        raise NotImplementedError

    def _weights(self, graph: NeighborGraph) -> Any:
        """Symmetric weights of pairs of neighbours, as a CSR matrix."""
        raise NotImplementedError

    def _pair_loss(self) -> PairLoss:
        raise NotImplementedError

    def _free_map(self, vectors: Any, weights: Any, seed: int) -> Array:
        raise NotImplementedError

    def _imitate(self, network: Any, samples: Samples, Y: Array, settings: Settings) -> bool:
        """Train the network to give the coordinates Y; returns whether that was not interrupted.

        Each object is attracted by its place as by a neighbour. Unlike squared distances, that
        does not put an object which may belong to one of two groups between them.
        """
        from lowdim.learned.networks.regression import Regression, attracted
        from lowdim.learned.networks.training import train

        Y = (Y - Y.mean(axis=0)).astype(samples.rows.mean.dtype)
        attraction = self._pair_loss().attraction
        if self.n_places_:
            network.encoder.place_on(Y, settings.seed)
            terms = network.encoder.imitation(attraction)
        else:
            network.unit.fill_(float(Y.std()) or 1.0)
            terms = attracted(attraction)
        size = min(int(np.clip(len(Y) // 20, 64, 256)), len(Y))
        epochs = max(IMITATION_EPOCHS, math.ceil(IMITATION_STEPS * size / len(Y)))
        first = replace(
            settings,
            max_iter=epochs,
            batch_size=size,
            learning_rate=IMITATION_RATE,
            schedule="cosine",
            patience=epochs,
        )
        problem = Regression(samples.rows, Y, samples.displaced, terms=terms)
        label = f"{type(self).__name__}, imitation of the map"
        monitor = Monitor(epochs, label, verbose=self.verbose, slot=new_slot())
        train(network, problem, first, monitor, lambda: Y)
        if self.n_places_:
            network.encoder.sharpen()
        return not monitor.stopped

    def _graph(self, objects: Objects, given: NeighborGraph | None) -> NeighborGraph:
        wanted = self._n_neighbors(objects.n)
        if given is None:
            return objects.neighbor_graph(wanted, method="auto")
        if isinstance(given, NeighborGraph):  # the network does not depend on its metric
            given = replace(given, metric="precomputed")
        graph = check_given_graph(objects, given)
        return graph if graph.n_neighbors is None else graph.take(wanted)

    def _build(self, n_features: int) -> Any:
        from lowdim.learned.networks.regression import MapNetwork

        shape = self._architecture(n_features, LAYERS, IMAGE_LAYERS)
        checks.choice(self.decoder, "decoder", (False, True))
        encoder = self._encoder(shape)  # first: its weights do not depend on the decoder
        return MapNetwork(encoder, shape.decoder() if self.decoder else None)

    def _encoder(self, shape: Architecture) -> Any:
        from lowdim.learned.parametric.places import PlaceMixture
        from lowdim.learned.parametric.user_networks import copied

        if self.network is not None:
            return copied(self.network)
        if not self.n_places_:
            return shape.encoder()
        return PlaceMixture(shape.encoder(self.n_places_), self.n_places_, shape.n_outputs)

    def _inverse(self, Y: Array) -> Any:
        return self._decoded(Y) if self.decoder else super()._inverse(Y)


def _floats(rows: Any) -> Any:
    """Rows that may be small integers, as floats."""
    return rows.astype(checks.float_dtype(rows.dtype), copy=False)
