"""Passages that the docstrings of several methods share, and the decorator that inserts them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from string import Template
from typing import TypeVar

C = TypeVar("C", bound=type)


def fill(**passages: str) -> Callable[[C], C]:
    """Decorate a class so that `$name` in its docstring is replaced by a shared passage.

    Parameters
    ----------
    **passages : str
        The text that replaces each `$name`, which stands alone on a line of the docstring.

    Examples
    --------
    >>> @fill(metric="metric : str\\n    How distances are measured.")
    ... class Method:
    ...     '''Summary.
    ...
    ...     Parameters
    ...     ----------
    ...     $metric
    ...     '''
    >>> print(Method.__doc__)
    Summary.
    <BLANKLINE>
    Parameters
    ----------
    metric : str
        How distances are measured.
    """

    def filled(cls: C) -> C:
        if cls.__doc__ is not None:  # it is None under python -OO
            text = Template(inspect.cleandoc(cls.__doc__))
            cls.__doc__ = text.substitute({k: v.strip() for k, v in passages.items()})
        return cls

    return filled


_METRIC = """
metric : str or callable, default="euclidean"
    Dissimilarity between two objects: the name of a SciPy metric, "gower", "nan_euclidean",
    "haversine", "geodesic" (shortest paths in the graph of metric_params["n_neighbors"]
    neighbours), a fitted estimator such as `NeighborhoodComponentsAnalysis`, a function of two
    objects, or "precomputed" if X holds dissimilarities.
metric_params : dict, default=None
    Further arguments of the metric.
"""

CHECKPOINT = """
checkpoint : str or path-like, default=None
    File in which the state of the fit is kept. If the fit is killed, the same call goes on from
    there and ends with the same map as without the interruption; the file stays, so delete it when
    it is no longer needed. It is written every so often, in at most 2 % of the time, and goes with
    these data and parameters alone. A larger `max_iter` is accepted where the size of the steps
    does not depend on it.
warm_start : bool, default=False
    Whether a second `fit` to the same X, with the same parameters except a larger `max_iter` (in
    `UMAP` `n_epochs`), continues where the first one ended instead of starting over. With
    `checkpoint`, the file does this.
"""

_RUN = f"""
n_jobs : int, default=None
    Number of threads; None takes those of `lowdim.compute`, -1 takes all. The result does not
    depend on it.
callback : callable, default=None
    Function that is called with the state after every iteration; the fit stops when it returns
    True.
verbose : int, default=0
    Whether to show a progress bar.
{CHECKPOINT.strip()}
"""

_SNE_PARAMETERS = f"""
n_components : int, default=2
    Dimension of the embedding.
perplexity : float or sequence of float, default=30.0
    Effective number of neighbours of each object. The affinities of several perplexities are
    averaged, which preserves small and large neighbourhoods.
early_exaggeration : float, default=12.0
    Factor on the attraction in the first 250 iterations.
learning_rate : float or "auto", default="auto"
    Step size. "auto" is n / exaggeration / 4 in each of the two phases.
max_iter : int, default=1000
    Maximum number of iterations, including those with early exaggeration.
n_iter_without_progress : int, default=300
    Stop after this number of iterations without a smaller divergence, which is checked every 50
    iterations; -1 disables the check.
min_grad_norm : float, default=1e-7
    Stop when the norm of the gradient is below this value.
{_METRIC.strip()}
init : {{"pca", "spectral", "random"}} or array of shape (n_samples, n_components), default="pca"
    Initial coordinates. "pca" is classical scaling if X holds dissimilarities.
random_state : int, RandomState or None, default=None
    Seed of init="random" and of the approximate neighbour search.
method : {{"auto", "exact", "barnes_hut", "fft"}}, default="auto"
    How the repulsion is computed: "exact" over all pairs, also with the affinities of all pairs;
    "barnes_hut" with a tree, for up to three dimensions; "fft" on a grid, for one or two
    dimensions. "auto" takes all pairs for few points, then the tree, and the grid for many points.
angle : float, default=0.5
    Accuracy of method="barnes_hut": a cell of the tree acts as a single point if its size is less
    than this fraction of its distance.
exaggeration : float, default=1.0
    Factor on the attraction after the first 250 iterations; values above 1 contract clusters.
{_RUN.strip()}
"""

_SNE_ATTRIBUTES = """
embedding_ : array of shape (n_samples, n_components)
    Coordinates of the training objects.
kl_divergence_ : float
    Divergence at the end, without exaggeration.
affinities_ : sparse array of shape (n_samples, n_samples)
    The affinities P of the training objects.
learning_rate_ : float
    Step size during early exaggeration.
n_iter_ : int
    Number of iterations.
history_ : array of shape (n_checks, 2)
    Iteration and divergence, every 50 iterations.
n_features_in_ : int
    Number of features seen in `fit`.
"""

_SNE_NOTES = """
The time of an iteration is proportional to n; method="exact" takes n^2 time and memory. More than
1,000 points are moved in float32, unless method="exact". Sizes of clusters and distances between
them have little meaning in such an embedding. Several perplexities follow [Kobak2019]_, the
automatic learning rate [Belkina2019]_.

`transform` keeps the training objects fixed and places a new object so that the affinities of its
nearest training objects are preserved best. Their perplexity is 5 (or less if `perplexity` is
smaller) with the Student kernel, and that of the fit with a Gaussian one.
`transform(X_train)` returns exactly `embedding_`: an object at distance zero from a training
object gets the coordinates of that object. `inverse_transform` interpolates between training
vectors (barycentric weights).
"""

_SNE_REFERENCES = """
.. [Kobak2019] D. Kobak and P. Berens, "The art of using t-SNE for single-cell transcriptomics",
   *Nature Communications* 10 (2019) 5416.
.. [Belkina2019] A. C. Belkina et al., "Automated optimized parameters for t-distributed stochastic
   neighbor embedding improve visualization and analysis of large datasets", *Nature
   Communications* 10 (2019) 5415.
"""

_DOF = """
dof : float, default=None
    Degrees of freedom of the Student kernel; None is max(n_components - 1, 1). Values below 1 show
    finer clusters.
"""

SNE_PASSAGES = {
    "parameters": _SNE_PARAMETERS,
    "dof": _DOF,
    "attributes": _SNE_ATTRIBUTES,
    "notes": _SNE_NOTES,
    "references": _SNE_REFERENCES,
}
"""Of SNE, symmetric SNE, t-SNE and weighted t-SNE."""

_ALL_PAIRS_PARAMETERS = f"""
{_METRIC.strip()}
init : {{"pca", "random"}} or array of shape (n_samples, n_components), default="pca"
    Initial coordinates. "pca" is classical scaling if X holds dissimilarities.
method : {{"auto", "exact", "sampled"}}, default="auto"
    "exact" compares each object with all others, "sampled" with a sample of them. "auto" is
    "exact" up to 4,000 objects, or if the metric has no fast distances of single pairs.
max_iter : int, default=500
    Maximum number of iterations of all stages together; every stage but the last takes at most 30.
"""

_ALL_PAIRS_RUN = f"""
random_state : int, RandomState or None, default=None
    Seed of init="random".
{_RUN.strip()}
"""

_ALL_PAIRS_ATTRIBUTES = """
n_iter_ : int
    Number of iterations.
history_ : array of shape (n_iter,)
    The objective after each iteration, of the stage that was running.
n_features_in_ : int
    Number of features seen in `fit`.
"""

_ALL_PAIRS_TRANSFORM = """
`transform` keeps the training objects fixed and minimises the same objective over the coordinates
of each new object. `transform(X_train)` returns exactly `embedding_`: an object at distance zero
from a training object gets the coordinates of that object. `inverse_transform` interpolates between
training vectors (barycentric weights).
"""

_ALL_PAIRS_SAMPLE = """
The sample of an object has its nearest objects in the data and those on the map, and fewer of the
farther ones: the nearest ones in random groups of 1/8, 1/64, ... of all objects, each of which
stands for 8, 64, ... objects. It is drawn anew for each stage. As in [deBodt2020]_, larger scales
need only subsets of the objects; here p and q are both normalized over the same weighted sample, so
that a good fit has little noise.
"""

_ALL_PAIRS_REFERENCES = """
.. [deBodt2020] C. de Bodt, D. Mulders, M. Verleysen and J. A. Lee, "Fast multiscale neighbor
   embedding", *IEEE Transactions on Neural Networks and Learning Systems* 33 (2022) 1546-1560.
"""

ALL_PAIRS_PASSAGES = {
    "sample": _ALL_PAIRS_SAMPLE,
    "references": _ALL_PAIRS_REFERENCES,
    "parameters": _ALL_PAIRS_PARAMETERS,
    "run": _ALL_PAIRS_RUN,
    "attributes": _ALL_PAIRS_ATTRIBUTES,
    "transform": _ALL_PAIRS_TRANSFORM,
}
"""Of NeRV and multi-scale SNE."""

_GRAPH_METRIC = """
metric : str or callable, default="euclidean"
    Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
    "precomputed": X is a matrix of dissimilarities, a sparse graph of them, or a
    `NeighborGraph`.
"""

GRAPH_PASSAGES = {
    "metric": _GRAPH_METRIC
    + """metric_params : dict, default=None
    Further arguments of the metric.
""",
    "minkowski": _GRAPH_METRIC.replace("euclidean", "minkowski", 1),
    "disconnected": """
disconnected : {"join", "largest", "separate", "raise"}, default="join"
    What to do with a graph of several components: "join" them by their shortest bridges with a
    warning, embed only the "largest", embed them "separate" and side by side, or "raise" an
    error.
""",
    "checkpoint": CHECKPOINT,
    "eigensolver": """
random_state : int, RandomState or None, default=None
    Start of the iterative eigensolver.
n_jobs : int, default=None
    Number of threads; the result does not depend on it.
""",
}
"""Of the methods that embed a neighbour graph."""

LEARNED_METRIC_PASSAGES = {
    "checkpoint": CHECKPOINT,
    "run": f"""
n_jobs : int, default=None
    Number of threads; the result does not depend on it.
callback : callable, default=None
    Called after every iteration with the loss and the map; a true return value stops.
verbose : int, default=0
    Whether to show a progress bar.
{CHECKPOINT.strip()}
""",
    "attributes": """
metric_ : array of shape (n_features, n_features)
    The matrix of its Mahalanobis distance, ``components_.T @ components_``.
embedding_ : array of shape (n_samples, n_components)
    Coordinates of the objects, ``X @ components_.T``.
""",
    "transform": """
``transform(X_train)`` equals `embedding_`. `inverse_transform` returns, of all vectors with the
given coordinates, the one nearest to the mean of the data.

A fitted estimator can be the `metric` of another one, and of `lowdim.neighbors`.
""",
}
"""Of the methods that learn a Mahalanobis distance from labels."""

NETWORK_PASSAGES = {
    "checkpoint": CHECKPOINT,
    "run": """
n_jobs : int, default=None
    Number of threads; the result does not depend on it.
callback : callable, default=None
    Called after every epoch with the loss and the coordinates; a true return value stops.
verbose : int, default=0
    Whether to show a progress bar.
""",
    "weights": """
embedding_ : array of shape (n_samples, n_components)
    Coordinates of the objects.
network_ : dict of str to array
    Weights of the network.
mean_ : array of shape (n_features,)
    Mean of X, which is subtracted.
scale_ : float
    Root mean square deviation of all entries of X from the mean, by which they are divided.
""",
}
"""Of the methods that train a network."""

PARAMETRIC_PASSAGES = {
    "layers": """
layers : sequence of int or "auto", default="auto"
    Sizes of the hidden layers, from the data to the coordinates; with `image_shape`, numbers of
    channels of convolutions. "auto" is (256, 256, 256), and (32, 64) for images.
decoder_layers : sequence of int, default=None
    The same of the decoder, from the coordinates to the data; None is `layers` in reverse.
image_shape : tuple of int, default=None
    Height and width, or height, width and channels, of images that are rows of X: the network
    is then convolutional.
activation : {"relu", "silu", "elu", "tanh", "gelu"}, default="relu"
    Function between the layers.
network : torch.nn.Module, default=None
    A network from rows (n, n_features), centred and divided by `scale_`, to coordinates
    (n, n_components), in place of the layers above. A copy of it is trained; its outputs are the
    coordinates themselves, see Notes. A model with a network of one's own can be pickled but not
    saved by `save`, which keeps no code.
decoder : bool, default=False
    Whether to train a decoder along with the map, which it does not change, for
    `inverse_transform`.
""",
    "training": """
noise : float, default=0.5
    In training each row is displaced by this times the difference of two of its neighbours. It
    makes the map of new data better.
max_iter : int, default=None
    Number of epochs of the training on the objective. In each, two pairs per object are drawn. None
    draws about a million pairs in 10 to 60 epochs after the imitation of a map; four million in 30
    to 200 epochs with ``init="random"`` or a given `network`.
batch_size : int, default=512
    Number of pairs of a step.
learning_rate : float or "auto", default="auto"
    First step size (of Adam) of the training on the objective; "auto" is 0.0001 after the imitation
    of a map, and 0.001 with ``init="random"`` or a given `network`.
schedule : {"cosine", "plateau", "constant"}, default="cosine"
    "cosine" lowers the learning rate over `max_iter` epochs; "plateau" halves it when the loss
    does not fall.
weight_decay : float, default=0.0
    Weight of the squared weights.
""",
    "losses": """
n_places_ : int
    Number of places on the map between which the network chooses; 0 if its outputs are the
    coordinates.
history_ : array of shape (n_iter,)
    Loss of each epoch, on the pairs drawn.
loss_ : float
    That of the last epoch.
n_iter_ : int
    Number of epochs.
""",
    "places": """
With ``init="map"`` the network chooses between places on the map: its outputs are scores of
`n_places_` places, the centres of groups of objects on the map that it imitates, and coordinates
are the mean of the places weighted by the softmax of the scores. Maps of neighbours have islands
with gaps between them, which such a network learns better than one with coordinates as outputs
(``init="random"``, or a `network` of one's own). New objects lie in the convex hull of the places.
""",
}
"""Of those whose network gives the coordinates of a neighbour embedding."""
