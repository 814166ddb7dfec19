"""Parametric UMAP (Sainburg, McInnes and Gentner 2021)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.learned.networks.network_embedder import NetworkEmbedder
from lowdim.learned.parametric import parametric
from lowdim.neighbor_embedding.starts import umap_start
from lowdim.neighbor_embedding.tsne import joint_affinities
from lowdim.neighbor_embedding.umap.fuzzy_graph import fuzzy_graph, with_data
from lowdim.neighbor_embedding.umap.layout import Layout, fit_curve, lay_out
from lowdim.neighbor_embedding.umap.parameters import (
    EPOCHS,
    EPOCHS_IF_LARGE,
    LARGE,
    LARGEST,
    neighborhood_size,
)
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Monitor


@declare_parameters
class ParametricUMAP(parametric.Parameters, NetworkEmbedder):
    """Parametric UMAP: a network whose outputs have the fuzzy graph of the data.

    k-NN -> fuzzy graph -> network -> gradient descent on the cross-entropy, in samples of edges

    Requires PyTorch: ``pip install 'lowdim[torch]'``.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=15
        Number of nearest neighbours of each object, including itself.
    min_dist : float, default=0.1
        Distance on the map below which neighbours are not drawn nearer.
    spread : float, default=1.0
        Scale of the map.
    repulsion_strength : float, default=1.0
        Weight of the repulsion.
    negative_sample_rate : float, default=5
        Number of other pairs that count for each pair of neighbours.
    $layers
    $training

    Attributes
    ----------
    $weights
    $losses

    See Also
    --------
    UMAP : the same graph, with a place for each object instead of a network.
    ParametricTSNE : the same network with t-SNE's objective.

    Notes
    -----
    The fuzzy graph is that of `UMAP`. Edges are drawn in proportion to their memberships.
    Instead of a few random objects for each edge [1]_, all pairs of a batch repel each other, with
    the same total weight.

    $places

    An epoch takes time n w for n objects and w weights, after the search of neighbours. On 5,000
    images of Fashion-MNIST a fit takes two minutes of CPU time, and the 10 nearest neighbours on
    the map classify 75.1 % of 10,000 other images correctly; on the map of `UMAP` 74.8 %. After
    60,000 images (15 minutes) both have 78 %.

    $transform

    References
    ----------
    .. [1] T. Sainburg, L. McInnes, T. Gentner, "Parametric UMAP embeddings for representation and
       semisupervised learning", Neural Computation 33, 2021.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:300]
    >>> umap = lowdim.ParametricUMAP(layers=(64, 32), max_iter=10).fit(X[:200])
    >>> umap.transform(X[200:]).shape
    (100, 2)
    """

    traits = Traits(
        keeps="neighbours; clusters apart, by a map that takes new data at once",
        when="as UMAP, where much new data must be placed quickly on the same map",
        cost="n w per epoch for w weights, neighbours aside",
        extends="the network; a decoder if asked for, else the general decoder",
        paper="Sainburg, McInnes and Gentner 2021",
        power=0.6,
        local_only=True,
    )

    fit = parametric.fit_to_pairs

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int = 15
    min_dist: float = 0.1
    spread: float = 1.0
    repulsion_strength: float = 1.0
    negative_sample_rate: float = 5

    def _memory(self, fit: Problem) -> float:
        return 65 * fit.arcs

    def _fit(
        self, objects: Objects, graph: NeighborGraph | None = None, affinities: Any = None
    ) -> None:
        from lowdim.learned.parametric.pairs import fuzzy_cross_entropy

        repulsion = checks.real(self.repulsion_strength, "repulsion_strength", 0, LARGEST)
        rate = checks.real(self.negative_sample_rate, "negative_sample_rate", 0, LARGEST)
        curve = fit_curve(self.spread, self.min_dist)
        network, rows, settings = parametric.prepare(self, objects)
        if affinities is None:
            k = neighborhood_size(self.n_neighbors, objects.n)
            weights = fuzzy_graph(parametric.euclidean_graph(rows.rows, graph, k - 1), k).matrix
        else:
            weights = joint_affinities(affinities, objects)

        def free_map() -> Array:
            seed = settings.seed
            random = np.random.RandomState(seed)
            fuzzy = with_data(weights, weights.data / weights.data.max())
            start = umap_start("spectral", int(self.n_components), fuzzy, curve, random)
            n_epochs = EPOCHS if objects.n <= LARGE else EPOCHS_IF_LARGE
            layout = Layout(
                fuzzy,
                start.astype(fuzzy.dtype),
                curve=curve,
                n_epochs=n_epochs,
                repulsion=repulsion,
                negative_sample_rate=rate,
                seed=seed,
            )
            return lay_out(layout, Monitor(n_epochs, "UMAP", verbose=self.verbose))[0]

        loss = fuzzy_cross_entropy(*curve, repulsion * rate)
        parametric.train_on_pairs(self, network, rows, settings, weights, loss, free_map)
