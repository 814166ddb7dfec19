"""What the methods that train a network share: parameters, weights and their storage."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.metrics import euclidean
from lowdim.estimator import Embedder, Iterative, declare_parameters
from lowdim.estimator.fitted_state import Numbers, named_arrays, number
from lowdim.learned.docs import NETWORK_PASSAGES
from lowdim.learned.networks.device import require_torch, use_torch
from lowdim.messages import argument
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects

if TYPE_CHECKING:
    from lowdim.learned.networks.layers import Architecture
    from lowdim.learned.networks.training import Settings
    from lowdim.learned.networks.weights import Rows

LARGEST_DECAY = 100.0  # of weights; beyond it a step of training overshoots zero
SCHEDULES = ("plateau", "cosine", "constant")


@declare_parameters
class NetworkEmbedder(Iterative, Embedder):
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

    _: KW_ONLY
    layers: Any = "auto"
    decoder_layers: Any = None
    image_shape: Any = None
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        require_torch(f"lowdim.{type(self).__name__}")

    def _claim_and_fit(self, objects: Objects, **arguments: Any) -> None:
        with use_torch():
            super()._claim_and_fit(objects, **arguments)

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
            seed=checks.fixed_seed(self.random_state),
        )

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
        from lowdim.learned.networks.weights import apply, arrays_of

        self.network_, self._cached_network = arrays_of(network.state_dict()), network
        self.mean_, self.scale_ = rows.mean, rows.scale
        self.history_, self.n_iter_ = history, len(history)
        self.embedding_ = apply(self._network().encode, rows)

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
            from lowdim.learned.networks.weights import Rows, apply

            Y = apply(self._network().encode, Rows(rows, self.mean_, self.scale_))
        return Y.astype(checks.float_dtype(rows.dtype), copy=False)

    def _decode(self, Y: Array) -> Array:
        wanted = Y.astype(self.mean_.dtype, copy=False)
        with use_torch():
            from lowdim.learned.networks.weights import Rows, apply

            rows = Rows(wanted, np.zeros(Y.shape[1], wanted.dtype), 1.0)
            outputs = apply(self._network().decoder, rows)
        return np.asarray(outputs * outputs.dtype.type(self.scale_) + self.mean_, Y.dtype)

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
