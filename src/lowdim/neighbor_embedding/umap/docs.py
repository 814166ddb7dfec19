"""The passage on the parameters in the docstring of UMAP."""

from __future__ import annotations

PARAMETERS = """
n_neighbors : int, default=15
    Size of a neighbourhood, including the object itself: small for detail, large for the
    overall structure.
n_components : int, default=2
    Dimension of the embedding.
metric : str or callable, default="euclidean"
    Dissimilarity between two objects: the name of a SciPy metric, "gower", "nan_euclidean",
    "haversine", a function of two objects, or "precomputed" if X holds dissimilarities, a
    sparse graph of them, or a `NeighborGraph`. If the function returns a tuple, as metrics with
    a gradient do in umap-learn, its first element is the distance.
metric_kwds : dict, default=None
    Further arguments of the metric.
output_metric : {"euclidean", "haversine", "hyperboloid", "gaussian_energy"}, default="euclidean"
    Distance in the embedding: of the plane or space, of the sphere (`embedding_` holds
    colatitude and longitude in radians, n_components must be 2), of the hyperbolic space
    (coordinates x of the points (x, sqrt(1 + x^2)) of a hyperboloid), or of normal
    distributions in the plane (mean, variances along the axes of the ellipse and angle of the
    first axis, n_components must be 5).
output_metric_kwds : dict, default=None
    No effect; accepted for compatibility with umap-learn.
n_epochs : int, default=None
    Number of epochs of the layout. None is 500, or 200 for more than 10,000 objects, and 200
    more with `densmap`.
learning_rate : float, default=1.0
    Step size of the first epoch, relative to the largest step at which the attraction is
    stable.
init : {"spectral", "pca", "random", "tswspectral"} or array, default="spectral"
    Initial coordinates, of shape (n_samples, n_components) if given as an array. They are
    scaled to the same extent in each case. "tswspectral" is another name of "spectral": the
    solver is chosen automatically.
min_dist : float, default=0.1
    Minimum distance between points in the embedding: small values allow dense clusters.
spread : float, default=1.0
    Scale of the embedding.
n_jobs : int, default=-1
    Number of threads; -1 takes all. The result does not depend on it.
set_op_mix_ratio : float, default=1.0
    How the two weights of an edge are combined, from 1 (fuzzy union) to 0 (intersection).
local_connectivity : float, default=1.0
    Number of nearest neighbours with membership 1.
repulsion_strength : float, default=1.0
    Weight of the repulsion.
negative_sample_rate : float, default=5
    Further factor of the repulsion, and of the number of points sampled for it: 16 for each
    point and epoch at the default 5.
a : float, default=None
    Parameter of the kernel 1 / (1 + a d^(2b)); None fits it to `min_dist` and `spread`.
b : float, default=None
    The other parameter of the kernel; None fits it too.
random_state : int, RandomState or None, default=None
    Seed; None is 0. The same seed gives the same result for any number of threads.
target_n_neighbors : int, default=-1
    Size of a neighbourhood of numeric targets; -1 is `n_neighbors`.
target_metric : str or callable, default="categorical"
    "categorical" if the targets are labels (-1, None or NaN for unknown ones); "ordinal",
    "count" or "string" for ranks, numbers of events or texts, compared by differences, by
    differences of square roots and by edit distances relative to the largest one; else a
    metric of the targets.
target_metric_kwds : dict, default=None
    Further arguments of the metric of the targets.
target_weight : float, default=0.5
    From 0 (only the data count) to 1 (only the targets count).
transform_seed : int, default=42
    Seed of the points sampled by `transform`.
transform_mode : {"embedding", "graph"}, default="embedding"
    "graph" computes `graph_` only, without an embedding; `transform` then returns the
    memberships of the edges between new and training objects, as a sparse matrix.
densmap : bool, default=False
    Whether to preserve local densities too (densMAP): the radii of neighbourhoods in the
    embedding are made to correlate with those in the data.
dens_lambda : float, default=2.0
    Weight of the density term.
dens_frac : float, default=0.3
    Fraction of the epochs, the last ones, in which the density term is used.
dens_var_shift : float, default=0.1
    Constant added to the variance of the radii in the embedding.
output_dens : bool, default=False
    Whether to compute `rad_orig_` and `rad_emb_`, which `fit_transform` then returns too.
disconnection_distance : float, default=None
    Neighbours at this distance or farther are ignored. Objects without neighbours get the
    coordinates NaN. None is the largest value of a bounded metric, at which objects have
    nothing in common: 1 of "jaccard", "bit_jaccard", "dice" and "hellinger", 2 of "cosine" and
    "correlation", infinity of others.
precomputed_knn : tuple of (indices, distances), default=(None, None, None)
    Neighbours of each object, including the object itself, in the format of umap-learn. See
    also the argument `graph` of `fit`.
verbose : bool, default=False
    Whether to show a progress bar.
callback : callable, default=None
    Function that is called with the state after every epoch; the fit stops when it returns
    True.
low_memory : bool, default=True
    No effect; accepted for compatibility with umap-learn.
transform_queue_size : float, default=4.0
    No effect; accepted for compatibility with umap-learn.
angular_rp_forest : bool, default=False
    No effect; accepted for compatibility with umap-learn.
force_approximation_algorithm : bool, default=False
    No effect; accepted for compatibility with umap-learn.
tqdm_kwds : dict, default=None
    No effect; accepted for compatibility with umap-learn.
unique : bool, default=False
    Whether to embed identical rows once. `graph_` is then the graph of the distinct rows.
"""
