"""`compare_maps`: which neighbours objects gain and lose from one map to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.explore.regions import Regions, map_coordinates
from lowdim.objects.objects import objects_of
from lowdim.quality.rows import in_same_row
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_facts, short_repr

DEFAULT_NEIGHBORS = 15
LEAST_OBJECTS = 3


@dataclass(frozen=True, eq=False)
class MapComparison:
    """How the neighbourhoods of two maps of the same objects differ.

    Attributes
    ----------
    objects : ndarray of shape (m,)
        Row numbers of the objects that both maps place.
    kept : ndarray of shape (m,)
        Share of each object's k nearest on the first map that are among those on the second.
    lost, gained : ndarray of shape (m, k)
        Row numbers of the neighbours on the first map only and on the second map only; -1 for the
        others.
    expected : float
        The share that two unrelated maps would keep.
    n_neighbors : int
        Number of neighbours k.
    """

    objects: Array
    kept: Array
    lost: Array
    gained: Array
    expected: float
    n_neighbors: int

    @property
    def score(self) -> float:
        """The mean share of kept neighbours: 1 for the same neighbourhoods everywhere."""
        return float(self.kept.mean())

    def most_changed(self, count: int = 10) -> Array:
        """Return the row numbers of the objects that keep the fewest neighbours."""
        order = np.lexsort((self.objects, self.kept))
        return np.asarray(self.objects[order[: checks.integer(count, "count", 1)]])

    def by_region(self, regions: Regions, k: int | None = None) -> list[dict[str, Any]]:
        """Summarise by region.

        Parameters
        ----------
        regions : Regions
            The regions of one of the maps.
        k : int, optional
            Number of regions; by default all leaves.

        Returns
        -------
        list of dict
            For each region its `region`, `name` and `size`, the mean share of `kept` neighbours,
            and `mixed_with`: the region that most new neighbours of its objects come from, with
            `mixed_share`, their share of all new neighbours.
        """
        level = regions.at(regions.n_leaves if k is None else k)
        if len(level.membership) <= self.objects.max():
            raise ValueError(f"regions has {len(level.membership)} objects, fewer than the maps.")
        own = level.membership[self.objects]
        rows = []
        for at, region in enumerate(level.regions):
            inside = own == at
            new = self.gained[inside]
            sources = level.membership[new[new >= 0]]
            counts = np.bincount(sources[sources >= 0], minlength=len(level.regions))
            others = np.where(np.arange(len(counts)) == at, 0, counts)
            most, mixed = int(others.argmax()), bool(others.any())
            rows.append(
                {
                    "region": region.id,
                    "name": region.name,
                    "size": int(inside.sum()),
                    "kept": float(self.kept[inside].mean()) if inside.any() else None,
                    "mixed_with": level.regions[most].id if mixed else None,
                    "mixed_share": float(others[most] / counts.sum()) if mixed else 0.0,
                }
            )
        return rows

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each object."""
        import pandas as pd

        changed = (self.lost >= 0).sum(axis=1)
        return pd.DataFrame({"kept": self.kept, "n_changed": changed}, index=self.objects)

    def __repr__(self) -> str:
        return short_repr(self, {"score": self.score, "n_objects": len(self.objects)})

    def __str__(self) -> str:
        few = int((self.kept <= self.expected).sum())
        return (
            f"{self.score:.0%} of an object's {self.n_neighbors} nearest on the first map are "
            f"among its {self.n_neighbors} nearest on the second ({self.expected:.1%} by chance). "
            f"{few:,} of {len(self.objects):,} objects keep no more than by chance."
        )

    def _repr_html_(self) -> str:
        facts = {"kept": self.score, "by chance": self.expected, "objects": len(self.objects)}
        return html_facts("Two maps of the same objects", facts)


@uses_threads
def compare_maps(
    a: Any, b: Any, *, n_neighbors: int = DEFAULT_NEIGHBORS, n_jobs: int | None = None
) -> MapComparison:
    """Compare two maps of the same objects by their neighbours, not by positions.

    The maps can be of two methods, two seeds, or two versions of the data; rotation, scale and the
    number of dimensions do not matter.

    Parameters
    ----------
    a, b : array-like of shape (n, p) or fitted estimator
        The maps; row i of both is the same object. Objects that one of them does not place (NaN)
        are left out.
    n_neighbors : int, default=15
        Size of the neighbourhoods.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    MapComparison
        Neighbours kept, lost and gained by each object; `by_region` summarises them.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(150, random_state=0)
    >>> pca = lowdim.PCA(2).fit(X)
    >>> lowdim.compare_maps(pca, -3 * pca.embedding_).score
    1.0
    """
    (first, in_first), (second, in_second) = map_coordinates(a), map_coordinates(b)
    if len(first) != len(second):
        raise ValueError(
            f"a has {len(first)} objects and b has {len(second)}: row i of both must be the same "
            "object."
        )
    at = np.flatnonzero(in_first & in_second)
    if len(at) < LEAST_OBJECTS:
        raise ValueError(
            f"Both maps place {len(at)} objects; a comparison needs at least {LEAST_OBJECTS}."
        )
    k = min(checks.integer(n_neighbors, "n_neighbors", 1), len(at) - 1)
    ids = [
        objects_of(np.ascontiguousarray(Y[at]), "euclidean", None).neighbor_graph(k, None, "auto")
        for Y in (first, second)
    ]
    lost, gained = (
        np.where(~in_same_row(one.indices, other.indices), at[one.indices], -1)
        for one, other in (ids, ids[::-1])
    )
    kept = (lost < 0).mean(axis=1)
    return MapComparison(at, kept, lost, gained, k / (len(at) - 1), k)


def compare_pairs(maps: Mapping[str, Any]) -> dict[tuple[str, str], MapComparison]:
    """The comparisons of all pairs of maps that place enough objects in common."""
    placed = {name: map_coordinates(Y)[1] for name, Y in maps.items()}
    return {
        (a, b): compare_maps(maps[a], maps[b])
        for a, b in combinations(maps, 2)
        if (placed[a] & placed[b]).sum() >= LEAST_OBJECTS
    }
