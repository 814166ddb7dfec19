"""Passages of docstrings that methods of this family share; see `lowdim.estimator.docstrings`."""

from __future__ import annotations

LEARNED_METRIC_PASSAGES = {
    "principal": """
n_components : int, default=None
    Dimension of the map: the leading principal components after the map. None is the number of
    features.
""",
    "attributes": """
components_ : array of shape (n_components, n_features)
    The linear map.
metric_ : array of shape (n_features, n_features)
    The matrix of its Mahalanobis distance, ``components_.T @ components_``.
embedding_ : array of shape (n_samples, n_components)
    Coordinates of the objects, ``X @ components_.T``.
classes_ : array of shape (n_classes,)
    The labels.
mean_ : array of shape (n_features,)
    Mean of X.
$n_iter
""",
    "transform": """
``transform(X_train)`` equals `embedding_`. `inverse_transform` returns, of all vectors with the
given coordinates, the one nearest to the mean of the data.

A fitted estimator can be the `metric` of another one, and of `lowdim.neighbors`.
""",
}
"""Of the methods that learn a Mahalanobis distance from labels."""

NETWORK_PASSAGES = {
    "images": """
decoder_layers : sequence of int, default=None
    The same of the decoder, from the coordinates to the data; None is `layers` in reverse.
image_shape : tuple of int, default=None
    Height and width, or height, width and channels, of images that are rows of X: the network
    is then convolutional.
""",
    "weights": """
$embedding
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
    **NETWORK_PASSAGES,
    "layers": """
layers : sequence of int or "auto", default="auto"
    Sizes of the hidden layers, from the data to the coordinates; with `image_shape`, numbers of
    channels of convolutions. "auto" is (256, 256, 256), and (32, 64) for images.
$images
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
init : {"map", "random"}, default="map"
    "map" first trains the network to imitate the map of the same weights in which each object has a
    place of its own (that of `TSNE` or `UMAP`), and then trains it on the objective; "random"
    leaves out the first part.
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
random_state : int, RandomState or None, default=None
    Seed of weights and pairs; None stands for 0.
$run
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
    "transform": """
``transform(X_train)`` equals `embedding_`. Without `decoder`, `inverse_transform` interpolates
between the training vectors.
""",
}
"""Of those whose network gives the coordinates of a neighbour embedding."""
