"""The backend of the CPU: the compiled extension, and NumPy on tiles over several threads.

`Backend` lists the operations on which every method is built; the functions document them. Arrays
are NumPy arrays (float32 or float64, C-contiguous), sparse matrices are SciPy CSR. Results must not
depend on the number of threads. Only this package and `lowdim.runtime` import the extension.
"""

from lowdim import _native
from lowdim.backends.native import (
    affinities,
    algebra,
    distances,
    forces,
    graphs,
    heaps,
    index,
    layout,
    products,
    repulsion,
    scans,
    stress,
)


def description() -> str:
    """The instruction set in use: "portable", "avx2" or "avx512"."""
    return str(_native.isa())


class Backend:
    """The operations of a backend: those of the CPU, in place of which a device has its own."""

    description = staticmethod(description)

    asymmetry = staticmethod(scans.asymmetry)
    digest = staticmethod(scans.digest)
    extremes = staticmethod(scans.extremes)
    group_sums = staticmethod(scans.group_sums)
    stable_order = staticmethod(scans.stable_order)

    barycentric_weights = staticmethod(algebra.barycentric_weights)
    bregman_projections = staticmethod(algebra.bregman_projections)
    inverse = staticmethod(algebra.inverse)
    matmul = staticmethod(algebra.matmul)
    on_device = staticmethod(algebra.on_device)
    project = staticmethod(algebra.project)
    scatter = staticmethod(algebra.scatter)
    smooth_modes = staticmethod(algebra.smooth_modes)
    spmm = staticmethod(algebra.spmm)

    compare_orders = staticmethod(distances.compare_orders)
    distance_matrix = staticmethod(distances.distance_matrix)
    squared_distances = staticmethod(distances.squared_distances)
    sum_shared = staticmethod(distances.sum_shared)

    nearest = staticmethod(products.nearest)
    nearest_to = staticmethod(products.nearest_to)
    pairs_within = staticmethod(products.pairs_within)

    build_index = staticmethod(index.build_index)
    exact_search_seconds = staticmethod(index.exact_search_seconds)

    rank_candidates = staticmethod(heaps.rank_candidates)
    smallest = staticmethod(heaps.smallest)
    build_heaps = heaps.Heaps

    components = staticmethod(graphs.components)
    floyd_warshall = staticmethod(graphs.floyd_warshall)
    fuzzy_union = staticmethod(graphs.fuzzy_union)
    level_structure = staticmethod(graphs.level_structure)
    shortest_paths = staticmethod(graphs.shortest_paths)
    split = staticmethod(graphs.split)
    symmetrize = staticmethod(graphs.symmetrize)

    joint_probabilities = staticmethod(affinities.joint_probabilities)
    memberships = staticmethod(affinities.memberships)
    negative_entropy = staticmethod(affinities.negative_entropy)
    perplexity_affinities = staticmethod(affinities.perplexity_affinities)

    divergence_gradient = staticmethod(affinities.divergence_gradient)
    drop_listed = staticmethod(affinities.drop_listed)
    join_samples = staticmethod(affinities.join_samples)
    listed_divergence_gradient = staticmethod(affinities.listed_divergence_gradient)
    listed_precisions = staticmethod(affinities.listed_precisions)
    mixture_costs = staticmethod(affinities.mixture_costs)
    nearest_in_groups = staticmethod(affinities.nearest_in_groups)
    place_by_divergence = staticmethod(affinities.place_by_divergence)
    stochastic_neighbor_errors = staticmethod(affinities.stochastic_neighbor_errors)
    vector_sample = staticmethod(affinities.vector_sample)

    attraction = forces.Attraction
    curve_order = staticmethod(forces.curve_order)
    descend = staticmethod(forces.descend)
    momentum_step = staticmethod(forces.momentum_step)
    quasi_newton_direction = staticmethod(forces.quasi_newton_direction)

    frozen_field = staticmethod(repulsion.frozen_field)
    build_repulsion = staticmethod(repulsion.build_repulsion)

    draw_others = staticmethod(layout.draw_others)
    layout_arcs = staticmethod(layout.layout_arcs)
    layout_epochs = staticmethod(layout.layout_epochs)
    layout_radii = staticmethod(layout.layout_radii)
    nearest_scaled = staticmethod(layout.nearest_scaled)
    pair_arcs = staticmethod(layout.pair_arcs)
    pair_epochs = staticmethod(layout.pair_epochs)
    triplet_epochs = staticmethod(layout.triplet_epochs)

    curvilinear_sweep = staticmethod(stress.curvilinear_sweep)
    isotonic = staticmethod(stress.isotonic)
    pair_distances = staticmethod(stress.pair_distances)
    pair_gradient = staticmethod(stress.pair_gradient)
    pair_stress = staticmethod(stress.pair_stress)
    sammon_gradient = staticmethod(stress.sammon_gradient)
    stress_gradient = staticmethod(stress.stress_gradient)
    stress_sgd_round = staticmethod(stress.stress_sgd_round)


BACKEND = Backend()
