"""`regions`: the regions of a map as a tree, with names from what is known of the objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.explore.density import DensityTree, Split, density_tree
from lowdim.explore.naming import Effect, NamedBy, feature_table
from lowdim.objects.objects import MeasuredObjects, objects_of
from lowdim.quality.dip import dip, dip_p_value
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, short_repr

DEFAULT_NEIGHBORS = 15
NOISE = 0.7  # deviation of the log density of chance modes, times the root of the neighbours
MIN_SIZE = 10
SUPPORT_LEVEL = 0.05  # of the dip test, on both halves of the objects
MAX_TESTED = 500  # objects of a leaf that are tested
MAX_TEST_COMPONENTS = 20
MOST_LISTED = 30


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
        By its labels, else by its words, else by its features.
    label : str or None
        The commonest label.
    label_share : float or None
        The share of the objects that have it.
    features : tuple of Effect
        The features that set it apart, the largest effect first.
    words : tuple of str
        The words that set it apart.
    supported : bool or None
        Whether the data have a gap between this region and the one beside it; False if none was
        found, so that the gap may be only on the map; None without data.
    p_value : float or None
        Of the test for that gap.
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
    p_value: float | None
    peak: int
    center: Array

    def __str__(self) -> str:
        doubt = "" if self.supported is not False else " (no gap found in the data)"
        return f"{self.name}: {self.size:,} objects{doubt}"


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
        below, found = [region], []
        while below:
            one = self.tree[below.pop()]
            below += one.children
            found += [] if one.children else [one.id]
        return found

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each region."""
        import pandas as pd

        rows = [
            {
                "region": one.id,
                "parent": one.parent,
                "level": one.level,
                "size": one.size,
                "name": one.name,
                "label": one.label,
                "label_share": one.label_share,
                "features": ", ".join(map(str, one.features)),
                "words": ", ".join(one.words),
                "supported": one.supported,
                "p_value": one.p_value,
                **{f"x{axis}": value for axis, value in enumerate(one.center.tolist())},
            }
            for one in self.tree
        ]
        frame = pd.DataFrame(rows).set_index("region")
        return frame.astype({"parent": "Int64", "supported": "boolean"})

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
        words = {True: "", False: "no gap found in the data", None: ""}
        rows = [
            [str(one.id), one.name, f"{one.size:,}", words[one.supported]]
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
    n_neighbors: int = DEFAULT_NEIGHBORS,
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
    n_neighbors : int, default=15
        Number of neighbours on the map by which density is estimated.
    min_size : int, optional
        Least number of objects of a region; by default 10, or 1/500 of the objects.
    random_state : int, RandomState instance or None, optional
        Seed of the samples of large regions that are tested.
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

    Whether the data support a gap is tested on the two leaves on both sides of it. Half of
    their objects give the direction in the data that separates them best (a linear
    discriminant), the other half is projected on it and tested for two modes by Hartigan's dip, and
    the other way round. A continuous sheet or cloud that the map has torn has one mode.

    The time is that of a neighbour search on the map, n log n, and of the tests.

    References
    ----------
    Chazal, Guibas, Oudot and Skraba, "Persistence-based clustering in Riemannian manifolds",
    Journal of the ACM 60, 2013.

    Grootendorst, "BERTopic: neural topic modeling with a class-based TF-IDF procedure", 2022.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> found = lowdim.regions(lowdim.PCA(2).fit(X), X, labels=y)
    >>> found.n_leaves
    4
    >>> found.at(4).regions[0].label_share
    1.0
    """
    Y, placed = map_coordinates(map)
    n, at = len(Y), np.flatnonzero(placed)
    if len(at) < 3:
        raise ValueError(f"map places {len(at)} objects; regions need at least 3.")
    count = len(at)
    k = min(checks.integer(n_neighbors, "n_neighbors", 2), count - 1)
    least = max(MIN_SIZE, count // 500) if min_size is None else min_size
    least = checks.integer(least, "min_size", 1)
    objects = objects_of(np.ascontiguousarray(Y[at]), "euclidean", None)
    assert isinstance(objects, MeasuredObjects)
    tree = density_tree(objects, k, NOISE * np.sqrt(2 * np.log(count) / k), least)
    features = None if X is None else feature_table(X, n, feature_names)
    named = NamedBy.read(n, labels, text, features).subset(at)
    vectors = None if features is None else features.values[at]
    tests = {
        region: None if vectors is None else _gap_p_value(vectors, tree, split, random_state)
        for region, split in tree.splits.items()
    }
    membership = np.full(n, -1)
    top, ordered = _order(tree)
    membership[at] = np.array(ordered)[tree.membership]
    return Regions(tuple(_regions(tree, top, ordered, Y[at], at, named, tests)), membership)


def map_coordinates(map: Any) -> tuple[Array, Array]:
    """The coordinates of a map or of a fitted estimator, and which objects have them."""
    Y = np.asarray(getattr(map, "embedding_", map))
    if Y.dtype.kind not in "fiu" or Y.ndim not in (1, 2):
        raise ValueError(
            "map must be coordinates of shape (n, p) or a fitted estimator with embedding_."
        )
    Y = (Y[:, None] if Y.ndim == 1 else Y).astype(np.float64, copy=False)
    if np.isinf(Y).any():
        raise ValueError("map has infinite coordinates.")
    return Y, ~np.isnan(Y).any(axis=1)


def _order(tree: DensityTree) -> tuple[list[int], list[int]]:
    """Regions in the order in which they appear, and the number of each region of the tree.

    The split with the most important one in its subtree comes first.
    """
    weight: dict[int, float] = {}
    for region, split in tree.splits.items():  # children come before their union
        inner = [weight[child] for child in split.children if child in weight]
        weight[region] = max([split.importance, *inner])
    root = max(tree.splits, default=0)
    order, opened = [root], [root] if tree.splits else []
    while opened:
        widest = max(opened, key=lambda one: (weight[one], one))
        opened.remove(widest)
        children = tree.splits[widest].children
        order += children
        opened += [child for child in children if child in tree.splits]
    numbers = [0] * len(order)
    for at, region in enumerate(order):
        numbers[region] = at
    return order, numbers


def _regions(
    tree: DensityTree,
    order: list[int],
    numbers: list[int],
    Y: Array,
    at: Array,
    named: NamedBy,
    tests: dict[int, float | None],
) -> list[Region]:
    """The regions by their numbers, with names."""
    n_leaves = len(tree.peaks)
    above = {child: region for region, split in tree.splits.items() for child in split.children}
    members: dict[int, Array] = {}
    sorted_objects = np.argsort(tree.membership, kind="stable")
    ends = np.cumsum(np.bincount(tree.membership, minlength=n_leaves))
    for leaf in range(n_leaves):
        members[leaf] = np.sort(sorted_objects[ends[leaf - 1] if leaf else 0 : ends[leaf]])
    for region, split in tree.splits.items():
        members[region] = np.concatenate([members[child] for child in split.children])
    made = []
    for number, region in enumerate(order):
        inside = members[region]
        parent = above.get(region)
        p_value = None if parent is None else tests[parent]
        children = tree.splits[region].children if region in tree.splits else ()
        peak = inside[int(np.argmax(tree.density[inside]))]
        made.append(
            Region(
                id=number,
                parent=None if parent is None else numbers[parent],
                children=tuple(numbers[child] for child in children),
                level=(number + 1) // 2 + 1,
                size=len(inside),
                **named.describe(inside, number),
                supported=None if p_value is None else bool(p_value < SUPPORT_LEVEL),
                p_value=p_value,
                peak=int(at[peak]),
                center=np.median(Y[inside], axis=0),
            )
        )
    return made


def _gap_p_value(X: Array, tree: DensityTree, split: Split, random_state: Any) -> float:
    """Test whether the data have a gap between the two leaves beside a saddle of the map."""
    random = checks.check_random_state(0 if random_state is None else random_state)
    parts = []
    for leaf in split.ends:
        objects = np.flatnonzero(tree.membership == leaf)
        most = min(len(objects), MAX_TESTED)
        parts.append(random.choice(objects, most, replace=False))
    rows = np.concatenate(parts)
    side = np.repeat([0, 1], [len(part) for part in parts])
    values = np.nan_to_num(X[rows] - np.nanmean(X[rows], axis=0))
    values = _leading_components(values)
    even = np.arange(len(rows)) % 2 == 0
    return max(_dip_p_value(values, side, even), _dip_p_value(values, side, ~even))


def _dip_p_value(values: Array, side: Array, learned: Array) -> float:
    """The dip test of some objects, along the direction that separates the others best."""
    first, second = (values[learned & (side == one)] for one in (0, 1))
    if min(len(first), len(second)) < 2:
        return 1.0
    within = first - first.mean(axis=0), second - second.mean(axis=0)
    scatter = sum(part.T @ part for part in within) / int(learned.sum())
    scatter = scatter + 0.1 * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    if not np.trace(scatter) > 0:
        return 1.0
    direction = np.linalg.solve(scatter, second.mean(axis=0) - first.mean(axis=0))
    along = values[~learned] @ direction
    return float(dip_p_value(dip(np.ascontiguousarray(along)), len(along)))


def _leading_components(values: Array) -> Array:
    """Scores of the leading principal components."""
    most = max(1, min(MAX_TEST_COMPONENTS, *values.shape, len(values) // 4))
    tall = values.shape[0] >= values.shape[1]
    products = values.T @ values if tall else values @ values.T
    size, vectors = np.linalg.eigh(products)
    vectors = vectors[:, -most:]
    scores = values @ vectors if tall else vectors * np.sqrt(np.maximum(size[-most:], 0.0))
    return np.asarray(scores)
