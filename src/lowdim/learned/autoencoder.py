"""The autoencoder (Hinton and Salakhutdinov 2006) and its variants."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, any_number
from lowdim.learned.networks.network_embedder import NetworkEmbedder
from lowdim.messages import argument
from lowdim.objects.objects import Objects

CHANNELS = (32, 64)  # of the convolutions, if there is an image shape
DIVERGED = 10.0  # error of reconstruction, in units of that of the mean, of a diverged training
COPIES, BATCHES = 9, 10  # copies of weights and of the rows of a batch at the peak of training
LARGEST_WEIGHT = 1e6  # of a penalty, relative to the error: the loss stays finite in float32
WEIGHTS = {  # of the variants, with their largest values
    **dict.fromkeys(("noise", "sparsity", "contraction", "variational"), LARGEST_WEIGHT),
    "masking": 1.0,
}


@declare_parameters
class Autoencoder(NetworkEmbedder):
    """Autoencoder: a network that reconstructs its input through a few coordinates.

    encoder + decoder -> gradient descent on the error of reconstruction, in mini-batches

    Requires PyTorch: ``pip install 'lowdim[torch]'``.

    Parameters
    ----------
    $n_components
    layers : sequence of int or "auto", default="auto"
        Sizes of the hidden layers of the encoder, from the data to the coordinates; with
        `image_shape`, numbers of channels of its convolutions, each of which halves the sides of
        the image. "auto" is (512, 256, 128), less for fewer than 64 features, and (32, 64) for
        images.
    $images
    activation : {"elu", "relu", "silu", "tanh", "gelu"}, default="elu"
        Function between the layers.
    noise : float, default=0.0
        Standard deviation of noise that is added to the input, but not to what is to be
        reconstructed, in units of the standard deviation of X (denoising autoencoder [2]_).
    masking : float, default=0.0
        Share of the entries of the input that are replaced by their mean (denoising too).
    sparsity : float, default=0.0
        Weight of the sum of the absolute coordinates (sparse autoencoder).
    contraction : float, default=0.0
        Weight of the squared derivative of the coordinates by the input (contractive
        autoencoder [3]_).
    variational : float, default=0.0
        Weight of the divergence of the coordinates from a normal distribution (variational
        autoencoder [4]_): 1 is the evidence lower bound, whose decoder has a variance that is
        estimated along with it. 0 is no variational autoencoder.
    max_iter : int, default=100
        Maximum number of epochs.
    batch_size : int, default=256
        Number of objects of a step.
    learning_rate : float, default=0.001
        First step size (of Adam).
    schedule : {"plateau", "cosine", "constant"}, default="plateau"
        "plateau" halves the learning rate after patience / 2 epochs without progress; "cosine"
        lowers it over `max_iter` epochs.
    validation_fraction : float, default=0.1
        Share of the objects that are held out to decide when to stop; with 0 the error of training
        decides.
    patience : int, default=10
        Number of epochs without progress after which to stop. The weights of the best epoch are
        kept.
    weight_decay : float, default=0.0
        Weight of the squared weights.
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and noise; None stands for 0.
    $run

    Attributes
    ----------
    $weights
    reconstruction_error_ : float
        Mean squared error of an entry of X, of the objects held out if there are any.
    history_ : array of shape (n_iter, 2)
        Mean squared error of each epoch on the objects trained on and on those held out, in units
        of the variance of X; NaN if none are held out. The second is the negative bound on the log
        likelihood, per feature, if `variational` is not 0.
    n_iter_ : int
        Number of epochs.

    See Also
    --------
    PCA : the best linear autoencoder.
    ParametricUMAP : a network that keeps neighbours.

    Notes
    -----
    An epoch takes time n w for n objects and w weights. X may be a memory map: only mini-batches
    of it are copied into memory, and integers of up to 16 bits are converted to floats there. The
    device is that of `lowdim.compute`.

    ``transform(X_train)`` equals `embedding_`; `transform` and `inverse_transform` are the two
    halves of the network.

    References
    ----------
    .. [1] G. Hinton, R. Salakhutdinov, "Reducing the dimensionality of data with neural networks",
       Science 313, 2006.
    .. [2] P. Vincent, H. Larochelle, Y. Bengio, P.-A. Manzagol, "Extracting and composing robust
       features with denoising autoencoders", ICML 2008.
    .. [3] S. Rifai, P. Vincent, X. Muller, X. Glorot, Y. Bengio, "Contractive auto-encoders:
       explicit invariance during feature extraction", ICML 2011.
    .. [4] D. Kingma, M. Welling, "Auto-encoding variational Bayes", ICLR 2014; variance of the
       decoder: O. Rybkin, K. Daniilidis, S. Levine, "Simple and effective VAE training with
       calibrated decoders", ICML 2021.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(300, random_state=0)
    >>> encoder = lowdim.Autoencoder(2, layers=(32, 32), max_iter=20).fit(X)
    >>> encoder.inverse_transform(encoder.transform(X[:5])).shape
    (5, 3)
    """

    traits = Traits(
        keeps="what is needed to reconstruct the data, by a nonlinear map",
        when="the map must also decode: images or signals are to be made from coordinates",
        cost="n w per epoch for w weights",
        extends="the two halves of the network",
        paper="Hinton and Salakhutdinov 2006; denoising: Vincent et al. 2008; contractive: Rifai "
        "et al. 2011; variational: Kingma and Welling 2014",
        power=0.7,
        scales_axes=True,
    )

    _attributes: ClassVar = {
        "history_": Numbers("* *", finite=False),
        "reconstruction_error_": any_number,
    }
    _units: ClassVar = {**NetworkEmbedder._units, "reconstruction_error_": 2}

    n_components: int = 2
    _: KW_ONLY
    activation: str = "elu"
    noise: float = 0.0
    masking: float = 0.0
    sparsity: float = 0.0
    contraction: float = 0.0
    variational: float = 0.0
    max_iter: int = 100
    batch_size: int = 256
    learning_rate: float = 1e-3
    schedule: str = "plateau"
    validation_fraction: float = 0.1
    patience: int = 10

    def _memory(self, fit: Problem) -> float:
        """Copies of the weights (slopes, moments, the best ones) and of a batch of rows."""
        import torch

        from lowdim.learned.networks.weights import seed_weights

        self._check_n_components(fit.n)
        rows = fit.objects.vectors("Autoencoder")
        d, size = int(rows.shape[1]), checks.float_dtype(rows.dtype).itemsize
        batch = min(self.batch_size, fit.n) if isinstance(self.batch_size, int) else fit.n
        with seed_weights(0), torch.device("meta"):  # nothing is allocated or drawn
            n_weights = sum(weights.numel() for weights in self._build(d).parameters())
        return size * (COPIES * float(n_weights) + BATCHES * float(batch) * d)

    def _fit(self, objects: Objects) -> None:
        from lowdim.learned.networks.autoencoding import Reconstruction, mean_squared_error, split
        from lowdim.learned.networks.training import train
        from lowdim.learned.networks.weights import Rows, apply

        self._check_n_components(objects.n)
        settings = self._settings(checks.integer(self.max_iter, "max_iter", 1))
        weights = {
            name: checks.real(getattr(self, name), name, 0, most) for name, most in WEIGHTS.items()
        }
        share = checks.real(self.validation_fraction, "validation_fraction", 0, 0.9)
        vectors = objects.vectors("Autoencoder")
        network = self._new_network(vectors, settings.seed)
        rows = Rows.of(vectors)
        trained, held_out = split(len(rows), share, settings.seed)
        problem = Reconstruction(rows, trained, held_out, settings.seed, **weights)
        history = train(
            network,
            problem,
            settings,
            self._monitor(settings.max_iter),
            lambda: apply(network.encode, rows),
        )
        self._keep(network, rows, history)
        judged = held_out if len(held_out) else trained
        error = mean_squared_error(network, rows, judged)  # in units of the variance
        if error > DIVERGED:
            checks.warn(
                f"The network reconstructs X {error:.2g} times worse than its mean does. Lower "
                f"{argument('learning_rate', self.learning_rate)}."
            )
        self.reconstruction_error_ = error * rows.scale**2

    def _build(self, n_features: int) -> Any:
        from lowdim.learned.networks.autoencoding import AutoencoderNetwork
        from lowdim.learned.networks.layers import default_sizes

        shape = self._architecture(n_features, default_sizes(n_features), CHANNELS)
        return AutoencoderNetwork(shape, variational=bool(self.variational))

    def _inverse(self, Y: Array) -> Array:
        return self._decode(Y)
