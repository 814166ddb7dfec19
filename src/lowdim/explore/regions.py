"""`regions`: the regions of a map as a tree, with names from what is known of the objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, as_frame
from lowdim.explore.density import DensityTree, density_tree
from lowdim.explore.gaps import GAP, border_links
from lowdim.explore.naming import Effect, Naming, feature_table
from lowdim.objects.objects import MeasuredObjects, objects_of
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, short_repr

DEFAULT_NEIGHBORS = 15
NEIGHBORS_OF_FEW = 10  # of fewer than FEW_OBJECTS, whose groups 15 neighbours reach across
FEW_OBJECTS = 250
NOISE = 0.7  # deviation of the log density of chance modes, times the root of the neighbours
MIN_SIZE = 10
MOST_LISTED = 30
TELLING_EFFECT = 1.0  # standard deviations, by which a feature tells regions of one label apart


@dataclass(frozen=True, eq=False)
class Region:
    """One region of a map.

    Attributes
    ----------
    id : int
        Its number; 0 is the whole map.
    parent : int or None
        The region that it is a part of.
    children : tuple of int
        The two regions that it falls into; empty for a leaf.
    level : int
        The smallest k for which `Regions.at(k)` has it: important regions have a small level.
    size : int
        Number of objects.
    name : str
        By its labels, else by its words, else by its features. Leaves with the same label have the
        named feature too that tells them apart.
    label : str or None
        The commonest label.
    label_share : float or None
        The share of the objects that have it.
    features : tuple of Effect
        The features that set it apart, the largest effect first.
    words : tuple of str
        The words that set it apart.
    supported : bool or None
        Whether the data have a gap between this region and all others; False if none was found
        somewhere, so that the gap may be only on the map; None without data.
    border : float or None
        Links between neighbours in the data across the border with another region, as a share of
        those across the middle of the smaller of the two; the largest of all other regions.
    continues_in : int or None
        The region beyond that border, if there is no gap.
    peak : int
        The object where the map is densest.
    center : ndarray of shape (p,)
        The median position of the objects.
    """

    id: int
    parent: int | None
    children: tuple[int, ...]
    level: int
    size: int
    name: str
    label: str | None
    label_share: float | None
    features: tuple[Effect, ...]
    words: tuple[str, ...]
    supported: bool | None
    border: float | None
    continues_in: int | None
    peak: int
    center: Array

    def __str__(self) -> str:
        return f"{self.name}: {self.size:,} objects" + (f" ({self.doubt})" if self.doubt else "")

    @property
    def doubt(self) -> str:
        """What speaks against the region; empty if the data have a gap around it."""
        beside = self.continues_in
        return "" if beside is None else f"no gap found in the data to region {beside}"


@dataclass(frozen=True, eq=False)
class RegionLevel:
    """The map as k regions.

    Attributes
    ----------
    regions : tuple of Region
        The regions, the largest first.
    membership : ndarray of shape (n,)
        The place of each object's region in `regions`; -1 for objects without coordinates.
    """

    regions: tuple[Region, ...]
    membership: Array

    @property
    def names(self) -> list[str]:
        """The names of the regions."""
        return [region.name for region in self.regions]


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of a map, as a binary tree.

    Attributes
    ----------
    tree : tuple of Region
        All regions by their number; the first one is the whole map.
    membership : ndarray of shape (n,)
        The smallest region (a leaf) of each object; -1 for objects without coordinates.
    """

    tree: tuple[Region, ...]
    membership: Array

    @property
    def n_leaves(self) -> int:
        """The number of regions that fall into no others."""
        return (len(self.tree) + 1) // 2

    @property
    def leaves(self) -> tuple[Region, ...]:
        """The regions that fall into no others."""
        return tuple(region for region in self.tree if not region.children)

    def at(self, k: int) -> RegionLevel:
        """Return the map as k regions, or as all leaves if there are fewer.

        Regions of a larger k are parts of those of a smaller one.

        Parameters
        ----------
        k : int
            Number of regions.

        Returns
        -------
        RegionLevel
        """
        k = min(checks.integer(k, "k", 1), self.n_leaves)
        shown = [
            region
            for region in self.tree
            if region.level <= k
            and (not region.children or self.tree[region.children[0]].level > k)
        ]
        shown.sort(key=lambda region: (-region.size, region.id))
        place = np.full(len(self.tree) + 1, -1)
        for at, region in enumerate(shown):
            place[self._leaves_of(region.id)] = at
        return RegionLevel(tuple(shown), place[self.membership])

    def members(self, region: int) -> Array:
        """Return the row numbers of the objects of a region."""
        checks.integer(region, "region", 0, len(self.tree) - 1)
        return np.flatnonzero(np.isin(self.membership, self._leaves_of(region)))

    def _leaves_of(self, region: int) -> list[int]:
        below, leaves = [region], []
        while below:
            one = self.tree[below.pop()]
            below += one.children
            leaves += [] if one.children else [one.id]
        return leaves

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each region."""
        import pandas as pd

        frame = pd.DataFrame([vars(one) for one in self.tree]).set_index("id").rename_axis("region")
        for name in ("features", "words"):
            frame[name] = [", ".join(map(str, entries)) for entries in frame[name]]
        for axis, values in enumerate(np.array([one.center for one in self.tree]).T):
            frame[f"x{axis}"] = values
        frame = frame.drop(columns=["children", "peak", "center"])
        return frame.astype({"parent": "Int64", "supported": "boolean", "continues_in": "Int64"})

    def __len__(self) -> int:
        return len(self.tree)

    def __repr__(self) -> str:
        facts = {"n_leaves": self.n_leaves, "n_objects": int((self.membership >= 0).sum())}
        return short_repr(self, facts)

    def __str__(self) -> str:
        leaves = sorted(self.leaves, key=lambda one: (one.level, -one.size))
        noun = "region" if len(leaves) == 1 else "regions"
        lines = [f"{len(leaves):,} {noun} of {self.tree[0].size:,} objects", ""]
        lines += [f"  {region}" for region in leaves[:MOST_LISTED]]
        more = len(leaves) - MOST_LISTED
        return "\n".join([*lines, *([f"  and {more:,} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        rows = [
            [str(one.id), one.name, f"{one.size:,}", one.doubt]
            for one in sorted(self.leaves, key=lambda one: (one.level, -one.size))[:MOST_LISTED]
        ]
        return html_table(repr(self), ["region", "name", "objects", ""], rows)


@uses_threads
def regions(
    map: Any,
    X: Any = None,
    labels: Any = None,
    text: Any = None,
    *,
    feature_names: Any = None,
    n_neighbors: int | None = None,
    min_size: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Regions:
    """Find the regions of a map at every scale, and name them.

    A region is a dense part of the map, around a mode of the density, or a union of such parts that
    are separated from the others by a deeper gap.

    Parameters
    ----------
    map : array-like of shape (n, p) or fitted estimator
        The map. Objects with NaN coordinates are in no region.
    X : array-like or DataFrame of shape (n, d), optional
        The data, whose columns name the regions, and by which each gap of the map is tested.
    labels : array-like of shape (n,), optional
        Classes of the objects.
    text : sequence of n str, optional
        A text on each object.
    feature_names : sequence of str, optional
        Names of the columns of X; by default those of a DataFrame, else "column 0" and so on.
    n_neighbors : int, optional
        Number of neighbours on the map by which density is estimated; by default 15, or 10 of fewer
        than 250 objects.
    min_size : int, optional
        Least number of objects of a region; by default 10, or 1/500 of the objects.
    random_state : int, RandomState instance or None, optional
        Seed of the sample of many objects in which gaps are sought.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Regions
        The tree; `at(k)` cuts it into k regions, `to_frame()` is a table.

    Notes
    -----
    The density at an object is estimated from the distance to its k-th neighbour on the map,
    smoothed over its neighbours. A mode is kept if it stands above the saddle to a higher one by
    more than chance explains in n objects, 0.7 sqrt(2 ln(n) / k) in the logarithm, and has
    `min_size` objects; all others belong to the mode across their saddle. The splits of the tree
    are ordered by their height above the saddle times the size of the smaller part.

    The borders of a region with others decide whether the data support it. Each object has links
    to its 30 nearest in the data (of 20,000 objects at most), and is counted where most of these
    are, since a map puts some objects into a wrong region. There is a gap if fewer links cross
    the border of two regions than half of those that cross a line through the middle of the smaller
    one. A continuous cloud, sheet or curve that the map has torn has no gaps.

    The time is that of a neighbour search on the map, n log n, and of one in the data.

    References
    ----------
    Chazal, Guibas, Oudot and Skraba, "Persistence-based clustering in Riemannian manifolds",
    Journal of the ACM 60, 2013.

    Grootendorst, "BERTopic: neural topic modeling with a class-based TF-IDF procedure", 2022.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> result = lowdim.regions(lowdim.PCA(2).fit(X), X, labels=y)
    >>> result.n_leaves
    4
    >>> result.at(4).regions[0].label_share
    1.0
    """
    Y, placed = map_coordinates(map)
    n, at = len(Y), np.flatnonzero(placed)
    if len(at) < 3:
        raise ValueError(f"map places {len(at)} objects; regions need at least 3.")
    if n_neighbors is None:
        n_neighbors = NEIGHBORS_OF_FEW if len(at) < FEW_OBJECTS else DEFAULT_NEIGHBORS
    k = min(checks.integer(n_neighbors, "n_neighbors", 2), len(at) - 1)
    least = max(MIN_SIZE, len(at) // 500) if min_size is None else min_size
    least = checks.integer(least, "min_size", 1)
    objects = objects_of(np.ascontiguousarray(Y[at]), "euclidean", None)
    assert isinstance(objects, MeasuredObjects)
    tree = density_tree(objects, k, NOISE * np.sqrt(2 * np.log(len(at)) / k), least)
    features = None if X is None else feature_table(X, n, feature_names)
    named = Naming(n, at, labels, text, features)
    count = 2 * len(tree.splits) + 1
    borders = None
    if features is not None and tree.splits:
        borders = border_links(features.values[at], tree.membership, count, random_state)
    membership = np.full(n, -1)
    membership[at] = tree.membership
    hierarchy = list(_regions(tree, Y[at], at, named, borders))
    if feature_names is not None or hasattr(as_frame(X), "columns"):
        _tell_namesakes_apart(hierarchy, tree.membership, named)
    return Regions(tuple(hierarchy), membership)


def map_coordinates(map: Any) -> tuple[Array, Array]:
    """The coordinates of a map or of a fitted estimator, and which objects have them."""
    Y = np.asarray(getattr(map, "embedding_", map))
    if Y.dtype.kind not in "fiu" or Y.ndim not in (1, 2):
        raise ValueError(
            "map must be coordinates of shape (n, p) or a fitted estimator with embedding_."
        )
    Y = checks.as_columns(Y, np.float64)
    if np.isinf(Y).any():
        raise ValueError("map has infinite coordinates.")
    return Y, ~np.isnan(Y).any(axis=1)


def _regions(
    tree: DensityTree, Y: Array, at: Array, named: Naming, borders: Array | None
) -> Iterator[Region]:
    """The regions by their numbers, with names."""
    count = 2 * len(tree.splits) + 1
    order = np.argsort(tree.membership, kind="stable")
    ends = np.searchsorted(tree.membership[order], np.arange(count + 1))
    members = [order[ends[region] : ends[region + 1]] for region in range(count)]
    leaves = [np.array([region]) for region in range(count)]
    above: dict[int, int] = {}
    for region in sorted(tree.splits, reverse=True):  # children come after their union
        children = tree.splits[region]
        members[region] = np.concatenate([members[child] for child in children])
        leaves[region] = np.concatenate([leaves[child] for child in children])
        above |= dict.fromkeys(children, region)
    for region, inside in enumerate(members):
        border, beside = None, None
        if borders is not None and region:
            others = np.setdiff1d(leaves[0], leaves[region])
            across = borders[np.ix_(leaves[region], others)].max(axis=0)
            border, beside = float(across.max()), int(others[across.argmax()])
        yield Region(
            id=region,
            parent=above.get(region),
            children=tree.splits.get(region, ()),
            level=(region + 1) // 2 + 1,
            size=len(inside),
            **named.describe(inside, region),
            supported=None if border is None else border < GAP,
            border=border,
            continues_in=None if border is None or border < GAP else beside,
            peak=int(at[inside[int(np.argmax(tree.density[inside]))]]),
            center=np.median(Y[inside], axis=0),
        )


def _tell_namesakes_apart(tree: list[Region], leaf: Array, named: Naming) -> None:
    """Add to the names of leaves with the same label the feature in which they differ most."""
    leaves = [one for one in tree if not one.children and one.label is not None]
    for one in leaves:
        namesakes = [other.id for other in leaves if other.label == one.label and other is not one]
        if not namesakes or named.features is None:
            continue
        theirs = np.flatnonzero(np.isin(leaf, namesakes))
        effects = named.features.effects(np.flatnonzero(leaf == one.id), theirs)
        if effects and abs(effects[0].size) >= TELLING_EFFECT:
            tree[one.id] = replace(one, name=f"{one.name}, {effects[0]}")
