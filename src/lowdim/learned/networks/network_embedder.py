"""What the methods that train a network share: parameters, weights and their storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array, check_random_state
from lowdim.distances.metrics import euclidean
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers, named_arrays, number
from lowdim.learned.docs import NETWORK_PASSAGES
from lowdim.learned.networks.device import use_torch
from lowdim.messages import argument
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects

if TYPE_CHECKING:
    from lowdim.learned.networks.layers import Architecture
    from lowdim.learned.networks.training import Settings
    from lowdim.learned.networks.weights import Rows

LARGEST_DECAY = 100.0  # of weights; beyond it a step of training overshoots zero
SCHEDULES = ("plateau", "cosine", "constant")


class NetworkEmbedder(Embedder):
    """Base class of methods whose map is a network of PyTorch.

    A method implements `_build(n_features)`, the untrained network, which has the parts `encoder`
    and `decoder` and a function `encode`, and `_fit`. Weights are stored as arrays in `network_`.
    """

    _attributes: ClassVar = {
        "mean_": Numbers("d"),
        "scale_": number(positive=True),
        "network_": named_arrays,
    }
    _needed: ClassVar[tuple[str, ...]] = ("network_", "mean_", "scale_")

    _passages: ClassVar[dict[str, str]] = NETWORK_PASSAGES
    _units: ClassVar[dict[str, float]] = {"embedding_": 0, "mean_": 1, "scale_": 1}

    network_: dict[str, Array]
    mean_: Array
    scale_: float
    history_: Array
    _cached_network: Any

    def _fit_objects(self, objects: Objects, **arguments: Any) -> None:
        with use_torch():
            super()._fit_objects(objects, **arguments)

    def _build(self, n_features: int) -> Any:
        """The network with its first weights."""
        raise NotImplementedError

    def _settings(self, max_iter: int, automatic_rate: float | None = None) -> Settings:
        """The parameters of the training, checked, for so many epochs at most.

        `automatic_rate` is what "auto" means as learning rate, where a method has that choice.
        """
        from lowdim.learned.networks.training import Settings

        checks.choice(self.schedule, "schedule", SCHEDULES)
        rate = self.learning_rate
        if isinstance(rate, str) and automatic_rate is not None:
            if rate != "auto":
                raise ValueError(
                    f"{argument('learning_rate')} must be 'auto' or positive, got {rate!r}."
                )
            rate = automatic_rate
        return Settings(
            max_iter=max_iter,
            batch_size=checks.integer(self.batch_size, "batch_size", 1),
            learning_rate=checks.real(rate, "learning_rate", 0, open_low=True),
            schedule=self.schedule,
            patience=checks.integer(getattr(self, "patience", max_iter), "patience", 1),
            weight_decay=checks.real(self.weight_decay, "weight_decay", 0, LARGEST_DECAY),
            seed=self._seed(),
        )

    def _seed(self) -> int:
        seed = 0 if self.random_state is None else self.random_state
        return int(check_random_state(seed).randint(2**31 - 1))

    def _architecture(
        self, n_features: int, layers: tuple[int, ...], channels: tuple[int, ...]
    ) -> Architecture:
        """The shape of the network, from parameters that are checked.

        layers="auto" means `layers` for vectors and `channels` for images.
        """
        from lowdim.learned.networks.layers import ACTIVATIONS, Architecture, check_sizes

        image = None
        if self.image_shape is not None:
            image = checks.image_shape(self.image_shape, n_features)
        checks.choice(self.activation, "activation", tuple(ACTIVATIONS))
        if isinstance(self.layers, str) and self.layers == "auto":
            there = layers if image is None else channels
        else:
            there = check_sizes(self.layers, "layers")
        sizes = self.decoder_layers
        back = there[::-1] if sizes is None else check_sizes(sizes, "decoder_layers")
        return Architecture(n_features, int(self.n_components), there, back, self.activation, image)

    def _new_network(self, rows: Any, seed: int) -> Any:
        """The untrained network for such rows; its weights depend on the seed alone."""
        from lowdim.learned.networks.weights import on_device, seed_weights

        with seed_weights(seed):
            return on_device(self._build(rows.shape[1]), checks.float_dtype(rows.dtype))

    def _keep(self, network: Any, rows: Rows, history: Array) -> None:
        """Set what `transform` needs, and `embedding_`."""
        from lowdim.learned.networks.weights import arrays_of

        self.network_, self._cached_network = arrays_of(network), network
        self.mean_, self.scale_ = rows.mean, rows.scale
        self.history_, self.n_iter_ = history, len(history)
        self.embedding_ = self._encode(rows)

    def _encode(self, rows: Rows) -> Array:
        with use_torch():
            from lowdim.learned.networks.weights import apply

            return apply(self._network().encode, rows)

    def _network(self) -> Any:
        """The trained network on the current device; built again after loading or unpickling."""
        from lowdim.learned.networks.weights import load_arrays, on_device

        if not hasattr(self, "_cached_network"):
            network = self._new_network(self.mean_[None], 0)
            load_arrays(network, self.network_)
            self._cached_network = network.eval()
        return on_device(self._cached_network, self.mean_.dtype)

    def _transform(self, new: NewObjects) -> Array:
        rows = new.vectors()
        with use_torch():
            from lowdim.learned.networks.weights import Rows

            embedding = self._encode(Rows(rows, self.mean_, self.scale_))
        return embedding.astype(checks.float_dtype(rows.dtype), copy=False)

    def _decode(self, Y: Array) -> Array:
        """Vectors of coordinates, by the decoder."""
        wanted = Y.astype(self.mean_.dtype, copy=False)
        with use_torch():
            from lowdim.learned.networks.weights import Rows, apply

            rows = Rows(wanted, np.zeros(Y.shape[1], wanted.dtype), 1.0)
            outputs = apply(self._network().decoder, rows)
        return np.asarray(outputs * outputs.dtype.type(self.scale_) + self.mean_, Y.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _vectors(self, objects: Objects) -> Any:
        return objects.vectors(type(self).__name__)

    def _objects(self, X: Any) -> Objects:
        if not _small_integers(X):
            return super()._objects(X)
        self._check_features(X, "euclidean", fitting=True)
        return MeasuredObjects(X, euclidean())

    def _new_objects(self, X: Any) -> NewObjects:
        if not _small_integers(X):
            return super()._new_objects(X)
        self._check_features(X, "euclidean", fitting=False)
        return MeasuredNewObjects(X, MeasuredObjects(X, euclidean()))


def _small_integers(X: Any) -> bool:
    """Whether X is a table of pixels or the like, of which mini-batches alone become floats.

    A fourth of the memory of float32 is enough for bytes, and none for a memory map.
    """
    return (
        type(X) in (np.ndarray, np.memmap)
        and X.ndim == 2
        and X.size > 0
        and X.dtype.kind in "iu"
        and X.dtype.itemsize <= 2
    )
