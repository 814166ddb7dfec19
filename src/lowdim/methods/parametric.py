"""What parametric t-SNE and parametric UMAP share: a network, pairs of neighbours, new data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowdim import checks
from lowdim.base.neighbor_embedder import check_given_graph
from lowdim.callbacks import Monitor, phase
from lowdim.checks import Array
from lowdim.methods.network_embedder import NetworkEmbedder
from lowdim.methods.tsne import joint_affinities
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.metrics import euclidean
from lowdim.relations.objects import MeasuredObjects, Objects

if TYPE_CHECKING:
    from lowdim.networks.pairs import PairLoss
    from lowdim.networks.samples import Samples
    from lowdim.networks.training import Settings

LAYERS = (256, 256, 256)  # by default, also for few features: maps of neighbours have many folds
IMAGE_LAYERS = (32, 64)  # channels of convolutions
PAIRS_PER_OBJECT = 2  # in an epoch
# Pairs of a training by default: minutes on two cores for 784 features. Three times as many raised
# the accuracy of held-out images of Fashion-MNIST by one point.
WANTED_PAIRS = 4_000_000
FEWEST_EPOCHS, MOST_EPOCHS = 30, 200  # by default
FIRST_STEPS = 1000  # of the regression on the map of the objects, at least
FIRST_EPOCHS = 80  # of it, at least
FIRST_RATE = 2e-3  # its learning rate
RATE = 1e-3  # learning rate of the training on the objective
# Beyond so many objects it falls as 1 / n if the network imitates a map before: maps of more
# objects have finer parts, which larger steps blur. On 60,000 images of Fashion-MNIST, 0.001 undid
# a part of what the regression had reached.
MANY = 10_000
LARGEST_NOISE = 1000.0  # relative to neighbours; the loss stays finite in float32


class ParametricEmbedder(NetworkEmbedder):
    """Base class of embeddings of neighbours whose map is a network.

    A method implements `_n_neighbors(n)`, `_weights(graph)`, the matrix of the weights of pairs,
    `_pair_loss()`, and `_free_map(vectors, weights, seed)`, the map of the same weights in which
    each object has a place of its own.
    """

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
        from lowdim.networks.pairs import Pairs
        from lowdim.networks.samples import Samples
        from lowdim.networks.training import train
        from lowdim.networks.weights import Rows, apply

        self._check_n_components(objects.n)
        checks.choice(self.init, "init", ("map", "random"))
        settings = self._settings(self._epochs(objects.n), self._rate(objects.n))
        loss = self._pair_loss()
        vectors = self._vectors(objects)
        network = self._new_network(vectors, settings.seed)
        weights = self._pair_weights(objects, graph, affinities)
        rows = Rows.of(vectors)
        self._check_outputs(network, rows)
        noise = checks.real(self.noise, "noise", 0, LARGEST_NOISE)
        samples = Samples(rows, weights, noise, settings.seed)
        monitor = self._monitor(settings.max_iter)
        if self.init == "map" and not monitor.begun:
            free = self._free_map(vectors, weights, settings.seed)
            self._imitate(network, samples, free, settings)
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

    def _rate(self, n: int) -> float:
        """The learning rate by default."""
        return RATE * min(1.0, MANY / n) if self.init == "map" else RATE

    def _epochs(self, n: int) -> int:
        if self.max_iter is not None:
            return checks.integer(self.max_iter, "max_iter", 1)
        wanted = WANTED_PAIRS // (PAIRS_PER_OBJECT * n)
        return min(max(wanted, FEWEST_EPOCHS), MOST_EPOCHS)

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

    def _imitate(self, network: Any, samples: Samples, Y: Array, settings: Settings) -> None:
        """Train the network to give the coordinates Y.

        Each object is attracted by its place as by a neighbour. Unlike squared distances, that
        does not put an object which may belong to one of two groups between them.
        """
        from lowdim.networks.regression import Regression
        from lowdim.networks.training import train

        Y = (Y - Y.mean(axis=0)).astype(samples.rows.mean.dtype)
        unit, attraction = float(Y.std()) or 1.0, self._pair_loss().attraction
        network.unit.fill_(unit)
        size = int(np.clip(len(Y) // 20, 64, 256))
        epochs = max(FIRST_EPOCHS, math.ceil(FIRST_STEPS * size / len(Y)))
        first = replace(
            settings,
            max_iter=epochs,
            batch_size=size,
            learning_rate=FIRST_RATE,
            schedule="cosine",
            patience=epochs,
        )
        problem = Regression(
            samples.rows,
            Y,
            samples.displaced,
            # by the outputs of the encoder, whose unit is that of the map, the slope is about 1
            penalty=lambda gaps: attraction(gaps.square().sum(dim=1)) / unit,
        )
        with phase("regression on the map"):
            train(network, problem, first, Monitor(epochs, type(self).__name__), lambda: Y)

    def _graph(self, objects: Objects, given: NeighborGraph | None) -> NeighborGraph:
        wanted = self._n_neighbors(objects.n)
        if given is None:
            return objects.neighbor_graph(wanted, method="auto")
        if isinstance(given, NeighborGraph):  # the network does not depend on its metric
            given = replace(given, metric="precomputed")
        graph = check_given_graph(objects, given)
        return graph if graph.n_neighbors is None else graph.take(wanted)

    def _build(self, n_features: int) -> Any:
        from lowdim.networks.layers import Architecture, checked_image_shape
        from lowdim.networks.regression import MapNetwork, copied

        image = checked_image_shape(self.image_shape, n_features)
        layers, back = self._layers(LAYERS if image is None else IMAGE_LAYERS)
        shape = Architecture(
            n_features, int(self.n_components), layers, back, self.activation, image
        )
        checks.choice(self.decoder, "decoder", (False, True))
        encoder = shape.encoder() if self.network is None else copied(self.network)
        return MapNetwork(encoder, shape.decoder() if self.decoder else None)

    def _check_outputs(self, network: Any, rows: Any) -> None:
        """Raise ValueError if the network has another number of outputs than coordinates."""
        from lowdim.networks.weights import apply

        first = type(rows)(rows.rows[:1], rows.mean, rows.scale)
        found = apply(network.eval().encode, first)
        if found.shape != (1, self.n_components):
            raise ValueError(
                f"network returns an array of shape {found.shape} for one row, but "
                f"n_components={self.n_components}: (1, {self.n_components}) is expected."
            )

    def _inverse(self, Y: Array) -> Any:
        return self._decoded(Y) if self.decoder else super()._inverse(Y)


def _floats(rows: Any) -> Any:
    """Rows that may be small integers, as floats."""
    return rows.astype(checks.float_dtype(rows.dtype), copy=False)
