"""The protocol of a backend: the coarse operations on which every method is built.

Each file has the operations of one topic. Arrays are NumPy arrays (float32 or float64,
C-contiguous), sparse matrices are SciPy CSR. Results must not depend on the number of threads.
Backends are tested against `tests/backends/reference.py`, an implementation in plain NumPy.
"""

from __future__ import annotations

from typing import Protocol

from lowdim.backends.protocol.affinities import Affinities
from lowdim.backends.protocol.algebra import Algebra
from lowdim.backends.protocol.descents import Attraction as Attraction
from lowdim.backends.protocol.descents import Descents
from lowdim.backends.protocol.descents import FrozenField as FrozenField
from lowdim.backends.protocol.descents import Repulsion as Repulsion
from lowdim.backends.protocol.distances import Distances
from lowdim.backends.protocol.divergences import Divergences
from lowdim.backends.protocol.graphs import Graphs
from lowdim.backends.protocol.layouts import Layouts
from lowdim.backends.protocol.neighbors import GrowingIndex as GrowingIndex
from lowdim.backends.protocol.neighbors import Heaps as Heaps
from lowdim.backends.protocol.neighbors import Index as Index
from lowdim.backends.protocol.neighbors import Neighbors as Neighbors
from lowdim.backends.protocol.neighbors import NeighborSearch
from lowdim.backends.protocol.neighbors import Ranking as Ranking
from lowdim.backends.protocol.samples import Samples
from lowdim.backends.protocol.scans import Scans
from lowdim.backends.protocol.stress import PairStress as PairStress
from lowdim.backends.protocol.stress import Stress


class Backend(
    Algebra,
    Distances,
    Scans,
    NeighborSearch,
    Graphs,
    Affinities,
    Descents,
    Layouts,
    Stress,
    Divergences,
    Samples,
    Protocol,
):
    """A module that defines all of these functions is a backend."""

    def description(self) -> str:
        """The hardware features in use, for `lowdim.show_versions`."""
