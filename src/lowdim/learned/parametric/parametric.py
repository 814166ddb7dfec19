"""What parametric t-SNE and parametric UMAP share: a network, pairs of neighbours, new data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.metrics import euclidean
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Sizes, any_number, named_arrays, size_of
from lowdim.estimator.neighbors import check_user_graph
from lowdim.learned.docs import PARAMETRIC_PASSAGES
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.context import current, override

if TYPE_CHECKING:
    from lowdim.learned.networks.training import Settings
    from lowdim.learned.networks.weights import Rows
    from lowdim.learned.parametric.pairs import PairLoss, Samples

E = TypeVar("E", bound=Embedder)
LAYERS = (256, 256, 256)  # by default, also for few features: maps of neighbours have many folds
IMAGE_LAYERS = (32, 64)  # channels of convolutions
PAIRS_PER_OBJECT = 2  # in an epoch
IMITATION_STEPS, IMITATION_EPOCHS = 1000, 80  # at least so many of both
IMITATION_RATE = 2e-3  # learning rate
LARGEST_NOISE = 1000.0  # relative to neighbours; the loss stays finite in float32


def _network_with_places(name: str, value: Any, sizes: Sizes) -> None:
    named_arrays(name, value, sizes)
    sizes["places"] = (*np.shape(value.get("encoder.places", ())), 0)[0]


@dataclass(eq=False, repr=False, kw_only=True)
class Parameters:
    """The parameters of both methods, and their network."""

    _passages = PARAMETRIC_PASSAGES
    _attributes: ClassVar = {
        "network_": _network_with_places,
        "n_places_": size_of("places"),
        "loss_": any_number,
    }
    _needed: ClassVar[tuple[str, ...]] = ("n_places_",)

    activation: str = "relu"
    network: Any = None
    decoder: bool = False
    init: str = "map"
    noise: float = 0.5
    max_iter: int | None = None
    batch_size: int = 512
    learning_rate: float | str = "auto"
    schedule: str = "cosine"

    def _build(self: Any, n_features: int) -> Any:
        """The untrained network: the user's, or one that chooses between places, or a plain one."""
        from lowdim.learned.networks.regression import MapNetwork
        from lowdim.learned.parametric.places import PlaceMixture, copy_network

        shape = self._architecture(n_features, LAYERS, IMAGE_LAYERS)
        checks.choice(self.decoder, "decoder", (False, True))
        places = self.n_places_
        if self.network is not None:  # the encoder first: its weights do not depend on the decoder
            encoder = copy_network(self.network)
        elif places:
            encoder = PlaceMixture(shape.encoder(places), places, shape.n_outputs)
        else:
            encoder = shape.encoder()
        return MapNetwork(encoder, shape.decoder() if self.decoder else None)

    def _inverse(self: Any, Y: Array) -> Any:
        return self._decode(Y) if self.decoder else Embedder._inverse(self, Y)


# How long, and with which first learning rate, the objective is trained on by default: pairs,
# fewest and most epochs, rate. After the imitation of a map by a choice of places the objective
# is near its optimum, and larger steps would undo a part of what was learned.
BUDGET = 4_000_000, 30, 200, 1e-3
BUDGET_WITH_PLACES = 1_000_000, 10, 60, 1e-4


def fit_to_pairs(
    self: E, X: Any, y: Any = None, *, graph: NeighborGraph | None = None, affinities: Any = None
) -> E:
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
    return self._check_and_fit(X, graph=graph, affinities=affinities)


def prepare(estimator: Any, objects: Objects) -> tuple[Any, Rows, Settings]:
    """Check the parameters: the untrained network, the rows to train it on, and the settings.

    Sets `n_places_`.
    """
    from lowdim.learned.networks.weights import Rows
    from lowdim.learned.parametric.places import check_network, number_of_places

    n = objects.n
    estimator._check_n_components(n)
    checks.choice(estimator.init, "init", ("map", "random"))
    checks.real(estimator.noise, "noise", 0, LARGEST_NOISE)
    own = estimator.init == "random" or estimator.network is not None
    estimator.n_places_ = 0 if own else number_of_places(n)
    pairs, fewest, most, rate = BUDGET_WITH_PLACES if estimator.n_places_ else BUDGET
    if estimator.max_iter is None:
        epochs = min(max(pairs // (PAIRS_PER_OBJECT * n), fewest), most)
    else:
        epochs = checks.integer(estimator.max_iter, "max_iter", 1)
    settings = estimator._settings(epochs, rate)
    vectors = objects.vectors(type(estimator).__name__)
    network, rows = estimator._new_network(vectors, settings.seed), Rows.of(vectors)
    if estimator.network is not None:
        check_network(network.encoder, rows, estimator.n_components)
    return network, rows, settings


def euclidean_graph(vectors: Any, user_graph: NeighborGraph | None, k: int) -> NeighborGraph:
    """The graph of the k nearest neighbours: that of the argument `graph`, or computed."""
    objects = MeasuredObjects(_floats(vectors), euclidean())
    if user_graph is None:
        return objects.neighbor_graph(k, method="auto")
    if isinstance(user_graph, NeighborGraph):  # the network does not depend on its metric
        user_graph = replace(user_graph, metric="precomputed")
    graph = check_user_graph(objects, user_graph)
    return graph if graph.n_neighbors is None else graph.take(k)


def train_on_pairs(
    estimator: Any,
    network: Any,
    rows: Rows,
    settings: Settings,
    weights: Any,
    loss: PairLoss,
    free_map: Callable[[], Array],
) -> None:
    """Train the network on pairs of neighbours with symmetric weights, and set `embedding_`.

    It first imitates `free_map()`, the map of the same weights in which each object has a place of
    its own.
    """
    from lowdim.learned.networks.training import train
    from lowdim.learned.networks.weights import apply
    from lowdim.learned.parametric.pairs import Pairs, Samples

    samples = Samples(rows, weights, float(estimator.noise), settings.seed)
    monitor = estimator._monitor(settings.max_iter)
    if estimator.init == "map" and not monitor.begun:
        with override(interrupts_raise=True):
            free = free_map()
        if not imitate(estimator, network, samples, free, loss, settings):
            settings = replace(settings, max_iter=0)
    history = train(
        network,
        Pairs(samples, loss, PAIRS_PER_OBJECT * len(rows)),
        settings,
        monitor,
        lambda: apply(network.encode, rows),
    )
    estimator._keep(network, rows, history[:, 0])
    estimator.loss_ = float(history[-1, 0]) if len(history) else math.nan  # interrupted early
    if not estimator.decoder:
        estimator.X_fit_ = _floats(rows.rows)  # for the general decoder


def imitate(
    estimator: Any, network: Any, samples: Samples, Y: Array, loss: PairLoss, settings: Settings
) -> bool:
    """Train the network to give the coordinates Y; returns whether that was not interrupted.

    Each object is attracted by its place as by a neighbour. Unlike squared distances, that
    does not put an object which may belong to one of two groups between them.
    """
    from lowdim.learned.networks.regression import Regression, attraction_loss
    from lowdim.learned.networks.training import train

    Y = (Y - Y.mean(axis=0)).astype(samples.rows.mean.dtype)
    if estimator.n_places_:
        network.encoder.place_on(Y, settings.seed)
        terms = network.encoder.imitation(loss.attraction)
    else:
        network.unit.fill_(float(Y.std()) or 1.0)
        terms = attraction_loss(loss.attraction)
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
    problem = Regression(samples.rows, Y, samples.displace, terms=terms)
    label = f"{type(estimator).__name__}, imitation of the map"
    monitor = Monitor(epochs, label, verbose=estimator.verbose, states=current().states)
    train(network, problem, first, monitor, lambda: Y)
    if estimator.n_places_:
        network.encoder.sharpen()
    return not monitor.stopped


def _floats(rows: Any) -> Any:
    return rows.astype(checks.float_dtype(rows.dtype), copy=False)
