"""The backend of the CPU: the compiled extension, and BLAS on tiles over several threads.

It implements `lowdim.backends.protocol.Backend`, where the operations are documented. Only it and
`lowdim.runtime.scheduling`, for the threads, import the extension.
"""

from typing import Any

from lowdim import _native
from lowdim.backends.native.affinities import joint_probabilities as joint_probabilities
from lowdim.backends.native.affinities import memberships as memberships
from lowdim.backends.native.affinities import negative_entropy as negative_entropy
from lowdim.backends.native.affinities import perplexity_affinities as perplexity_affinities
from lowdim.backends.native.algebra import inverse as inverse
from lowdim.backends.native.algebra import matmul as matmul
from lowdim.backends.native.algebra import on_device as on_device
from lowdim.backends.native.algebra import project as project
from lowdim.backends.native.algebra import scatter as scatter
from lowdim.backends.native.algebra import smooth_modes as smooth_modes
from lowdim.backends.native.algebra import spmm as spmm
from lowdim.backends.native.descent import descend as descend
from lowdim.backends.native.descent import quasi_newton_direction as quasi_newton_direction
from lowdim.backends.native.divergence import divergence_gradient as divergence_gradient
from lowdim.backends.native.divergence import (
    listed_divergence_gradient as listed_divergence_gradient,
)
from lowdim.backends.native.divergence import listed_precisions as listed_precisions
from lowdim.backends.native.divergence import mixture_costs as mixture_costs
from lowdim.backends.native.divergence import place_by_divergence as place_by_divergence
from lowdim.backends.native.forces import Attraction
from lowdim.backends.native.forces import curve_order as curve_order
from lowdim.backends.native.forces import momentum_step as momentum_step
from lowdim.backends.native.graphs import components as components
from lowdim.backends.native.graphs import floyd_warshall as floyd_warshall
from lowdim.backends.native.graphs import fuzzy_union as fuzzy_union
from lowdim.backends.native.graphs import level_structure as level_structure
from lowdim.backends.native.graphs import shortest_paths as shortest_paths
from lowdim.backends.native.graphs import split as split
from lowdim.backends.native.graphs import symmetrize as symmetrize
from lowdim.backends.native.heaps import Heaps
from lowdim.backends.native.heaps import rank_candidates as rank_candidates
from lowdim.backends.native.heaps import smallest as smallest
from lowdim.backends.native.index import build_index as build_index
from lowdim.backends.native.index import exact_search_seconds as exact_search_seconds
from lowdim.backends.native.layout import draw_others as draw_others
from lowdim.backends.native.layout import layout_arcs as layout_arcs
from lowdim.backends.native.layout import layout_epochs as layout_epochs
from lowdim.backends.native.layout import layout_radii as layout_radii
from lowdim.backends.native.layout import pair_epochs as pair_epochs
from lowdim.backends.native.layout import triplet_epochs as triplet_epochs
from lowdim.backends.native.local import barycentric_weights as barycentric_weights
from lowdim.backends.native.local import bregman_projections as bregman_projections
from lowdim.backends.native.products import distance_matrix as distance_matrix
from lowdim.backends.native.products import nearest as nearest
from lowdim.backends.native.products import nearest_to as nearest_to
from lowdim.backends.native.products import pairs_within as pairs_within
from lowdim.backends.native.ranks import compare_orders as compare_orders
from lowdim.backends.native.ranks import squared_distances as squared_distances
from lowdim.backends.native.repulsion import frozen_field as frozen_field
from lowdim.backends.native.repulsion import repulsion as repulsion
from lowdim.backends.native.samples import drop_listed as drop_listed
from lowdim.backends.native.samples import join_samples as join_samples
from lowdim.backends.native.samples import nearest_in_groups as nearest_in_groups
from lowdim.backends.native.scans import asymmetry as asymmetry
from lowdim.backends.native.scans import digest as digest
from lowdim.backends.native.scans import extremes as extremes
from lowdim.backends.native.scans import group_sums as group_sums
from lowdim.backends.native.scans import stable_order as stable_order
from lowdim.backends.native.sparse import sum_shared as sum_shared
from lowdim.backends.native.stochastic import (
    stochastic_neighbor_errors as stochastic_neighbor_errors,
)
from lowdim.backends.native.stress import curvilinear_sweep as curvilinear_sweep
from lowdim.backends.native.stress import isotonic as isotonic
from lowdim.backends.native.stress import pair_distances as pair_distances
from lowdim.backends.native.stress import pair_gradient as pair_gradient
from lowdim.backends.native.stress import pair_stress as pair_stress
from lowdim.backends.native.stress import sammon_gradient as sammon_gradient
from lowdim.backends.native.stress import stress_gradient as stress_gradient
from lowdim.backends.native.stress import stress_sgd_round as stress_sgd_round
from lowdim.backends.similarity import Similarity


def description() -> str:
    """The instruction set in use: "portable", "avx2" or "avx512"."""
    return str(_native.isa())


def attraction(P: Any, similarity: Similarity) -> Attraction:
    """The attraction along the edges of a CSR matrix."""
    return Attraction(P, similarity)


def heaps(n: int, k: int, dtype: Any) -> Heaps:
    """Empty heaps for the k smallest scores of n rows."""
    return Heaps(n, k, dtype)
