"""Passages of docstrings that methods of this family share; see `lowdim.estimator.docstrings`."""

from __future__ import annotations

PASSAGES = {
    "start": """
init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
    Initial coordinates. "pca" is classical scaling if X holds dissimilarities.
""",
    "affinities": """
affinities_ : sparse array of shape (n_samples, n_samples)
    The affinities P of the training objects.
""",
    "counts": """
$n_iter
n_features_in_ : int
    Number of features seen in `fit`.
""",
    "known": """
`transform(X_train)` returns exactly `embedding_`: an object at distance zero from a training object
gets the coordinates of that object. `inverse_transform` interpolates between training vectors
(barycentric weights).
""",
}
"""Of all methods of the family."""

SNE_PASSAGES = PASSAGES | {
    "parameters": """
$n_components
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
$metric
$start
random_state : int, RandomState or None, default=None
    Seed of init="random" and of the approximate neighbour search.
method : {"auto", "exact", "barnes_hut", "fft"}, default="auto"
    How the repulsion is computed: "exact" over all pairs, also with the affinities of all pairs;
    "barnes_hut" with a tree, for up to three dimensions; "fft" on a grid, for one or two
    dimensions. "auto" takes all pairs for few points, then the tree, and the grid for many points.
angle : float, default=0.5
    Accuracy of method="barnes_hut": a cell of the tree acts as a single point if its size is less
    than this fraction of its distance.
exaggeration : float, default=1.0
    Factor on the attraction after the first 250 iterations; values above 1 contract clusters.
$run
""",
    "dof": """
dof : float, default=None
    Degrees of freedom of the Student kernel; None is max(n_components - 1, 1). Values below 1 show
    finer clusters.
global_weight : float, default=0.0
    From 0 to 1: how strongly the map is pulled towards the shape of its start, which is that of the
    principal components with init="pca". 0 is the method as published, 1 the start.
""",
    "attributes": """
$embedding
kl_divergence_ : float
    Divergence at the end, without exaggeration.
$affinities
learning_rate_ : float
    Step size during early exaggeration.
history_ : array of shape (n_checks, 2)
    Iteration and divergence, every 50 iterations.
$counts
""",
    "notes": """
The time of an iteration is proportional to n; method="exact" takes n^2 time and memory. More than
1,000 points are moved in float32, unless method="exact". Sizes of clusters and distances between
them have little meaning in such an embedding. Several perplexities follow [Kobak2019]_, the
automatic learning rate [Belkina2019]_.

`transform` keeps the training objects fixed and places a new object so that the affinities of its
nearest training objects are preserved best. Their perplexity is 5 (or less if `perplexity` is
smaller) with the Student kernel, and that of the fit with a Gaussian one.
$known
""",
    "references": """
.. [Kobak2019] D. Kobak and P. Berens, "The art of using t-SNE for single-cell transcriptomics",
   *Nature Communications* 10 (2019) 5416.
.. [Belkina2019] A. C. Belkina et al., "Automated optimized parameters for t-distributed stochastic
   neighbor embedding improve visualization and analysis of large datasets", *Nature
   Communications* 10 (2019) 5415.
""",
}
"""Of SNE, symmetric SNE, t-SNE and weighted t-SNE."""

SAMPLING_PASSAGES = PASSAGES | {
    "settings": """
learning_rate : float, default=1.0
    Initial step size.
max_iter : int, default=300
    Number of iterations.
$metric
$start
random_state : int, RandomState or None, default=None
    Seed of the random objects and of the start; None is a fixed seed.
$run
"""
}
"""Of LargeVis and negative-sampling t-SNE."""

ALL_PAIRS_PASSAGES = PASSAGES | {
    "parameters": """
$metric
init : {"pca", "random"} or array of shape (n_samples, n_components), default="pca"
    Initial coordinates. "pca" is classical scaling if X holds dissimilarities.
method : {"auto", "exact", "sampled"}, default="auto"
    "exact" compares each object with all others, "sampled" with a sample of them. "auto" is
    "exact" up to 1,000 objects, or if the metric has no fast distances of single pairs.
max_iter : int, default=500
    Maximum number of iterations of all stages together; every stage but the last takes at most 30.
""",
    "settings": """
random_state : int, RandomState or None, default=None
    Seed of init="random".
$run
""",
    "attributes": """
history_ : array of shape (n_iter,)
    The objective after each iteration, of the stage that was running.
$counts
""",
    "transform": """
`transform` keeps the training objects fixed and minimises the same objective over the coordinates
of each new object.
$known
""",
    "sample": """
The sample of an object has its nearest objects in the data and those on the map, and fewer of the
farther ones: the nearest ones in random groups of 1/8, 1/64, ... of all objects, each of which
stands for 8, 64, ... objects. `MultiscaleSNE` draws other groups for each stage up to 5,000
objects, because the groups of a single draw show on the map. As in [deBodt2020]_, larger scales
need only subsets of the objects; here p and q are both normalized over the same weighted sample, so
that a good fit has little noise.
""",
    "references": """
.. [deBodt2020] C. de Bodt, D. Mulders, M. Verleysen and J. A. Lee, "Fast multiscale neighbor
   embedding", *IEEE Transactions on Neural Networks and Learning Systems* 33 (2022) 1546-1560.
""",
}
"""Of NeRV and multi-scale SNE."""
