"""Is there structure in the data at all? Tests against independent, unimodal columns.

The null hypothesis is that the columns are independent and that each has one mode: then there are
no groups, curves or sheets for a map to show, whatever a method draws. Normal, uniform, skewed and
heavy-tailed noise all satisfy it.

Notes
-----
Five kinds of statistic look at different departures from the null hypothesis. Their p-values are
combined by Bonferroni's correction, and structure is reported at the level `LEVEL` = 1 %.

- *Groups in a column.* Hartigan's dip test of every column (see `lowdim.quality.dip`), corrected
  for the number of columns, and valid for all unimodal distributions. Values that were rounded are
  spread over the rounding unit first, unless the unit is more than half a standard deviation.
- *Groups along a principal component.* The dip test of the three leading components.
- *Dependent pairs of columns.* The chi-squared test of independence of the ranks of two columns on
  a grid of up to 8 by 8 cells of equal counts, corrected for the number of pairs. It sees any
  dependence of two columns: a circle or an X as well as a correlation.
- *A common direction.* The largest eigenvalue of the correlation matrix of the columns' normal
  scores, against its Tracy-Widom distribution (Johnstone 2001): weak correlations of many columns.
- *Near neighbours.* The distance of each object to its fifth nearest neighbour, in all columns and
  in the plane of the two leading principal components, against the same in `N_SHUFFLES` copies
  of the data with every column shuffled on its own: the mean logarithm, and the number of objects
  below some quantiles of the shuffled data, so that a small dense cluster shows as well.

Up to 5,000 objects are used (fewer where the columns are many); a larger data set is sampled.
`benchmarks/structure.py` measures error rates and power; the table is in the user guide.

References
----------
Hartigan and Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985.

Johnstone, "On the distribution of the largest eigenvalue in principal components analysis", Annals
of Statistics 29, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.metrics import Metric, euclidean
from lowdim.neighbor_graphs.exact import nearest
from lowdim.objects.objects import MeasuredObjects
from lowdim.quality.dip import dip, dip_p_value
from lowdim.quality.rows import Rows
from lowdim.runtime.scheduling import run

LEVEL = 0.01  # probability of reporting structure where there is none
N_SHUFFLES = 15
NEIGHBOR = 5  # the neighbour whose distance is compared
TAILS = (0.005, 0.02, 0.1)  # quantiles of the shuffled data's distances to that neighbour, and
MIN_TAIL = 4.0  # the one that so many objects are expected below
MIN_EXPECTED = 5.0  # objects in a cell of a grid
MIN_OBJECTS = 20
MAX_OBJECTS = 5000
MAX_PAIR_COLUMNS = 5e8  # pairs of objects x columns of one search: about 0.1 s
MAX_GRID_PRODUCTS = 4e9  # objects x squared number of cells of all columns: about 0.2 s
MAX_CELLS = 8  # in which a column is cut
N_COMPONENTS = 3  # principal components that are tested for groups
CLEARLY_NEARER = 0.9  # distances below this share are nearer for most objects, not just some
MAX_LISTED = 3  # columns or pairs named in a finding


@dataclass(frozen=True)
class StructureTest:
    """One test of the null hypothesis.

    Attributes
    ----------
    name : str
        What was tested: "column groups", "component groups", "dependent pairs", "common direction",
        "near neighbours" or "near neighbours in the plane".
    p_value : float
        Corrected for the number of columns, pairs or statistics within this test.
    effect : float
        Size of the departure: the largest dip as a share of its maximum 1/4, the largest Cramer's
        V of a pair, the leading eigenvalue as a multiple of its expectation, or the distance to
        near neighbours as a share of that in shuffled data.
    finding : str
        What was found, as a sentence; empty where the test found nothing.
    """

    name: str
    p_value: float
    effect: float
    finding: str


@dataclass(frozen=True)
class Structure:
    """How the data differ from independent, unimodal columns.

    Attributes
    ----------
    kind : {"none", "columns", "relations"}
        "relations" if objects lie in groups, curves or sheets that relate several columns;
        "columns" if single columns fall into groups but no relation between columns was found;
        "none" if no test rejected the null hypothesis.
    tests : tuple of StructureTest
        All tests.
    n_objects : int
        Number of objects that were used.
    """

    kind: str
    tests: tuple[StructureTest, ...]
    n_objects: int

    @property
    def findings(self) -> tuple[str, ...]:
        """What was found, the strongest evidence first."""
        positive = [test for test in self.tests if test.finding]
        return tuple(test.finding for test in sorted(positive, key=lambda test: test.p_value))

    def __str__(self) -> str:
        if self.kind == "none":
            least = min(test.p_value for test in self.tests) * len(self.tests)
            return f"no structure was found (corrected p-value {min(1.0, least):.2g})"
        return " ".join(self.findings)


def structure_of(data: Rows, random_state: object = None) -> Structure | None:
    """Test vectors for structure; None if they are not numbers in two columns and 20 rows."""
    objects = data.objects
    if not isinstance(objects, MeasuredObjects) or objects.metric_name == "gower":
        return None
    X = objects.rows
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2 or np.isnan(X).any():
        return None
    if X.shape[1] < 2 or X.shape[0] < MIN_OBJECTS:
        return None
    random = checks.fixed_random_state(random_state)
    generator = np.random.default_rng(random.randint(2**31 - 1))
    most = int(np.clip(np.sqrt(MAX_PAIR_COLUMNS / X.shape[1]), 500, MAX_OBJECTS))
    chosen = np.sort(generator.choice(len(X), min(len(X), most), replace=False))
    sample = np.ascontiguousarray(X[chosen], dtype=np.float64)
    scores = _components(sample)
    results = [
        _column_groups(sample, generator),
        _component_groups(scores),
        _dependent_pairs(sample, generator),
        _common_direction(sample, generator),
        *_near_neighbors(sample, scores, objects.metric, generator),
    ]
    rejected = {one.name for one in results if one.p_value <= LEVEL / len(results)}
    if "column groups" in rejected:  # they show along components too
        rejected.discard("component groups")
    tests = tuple(one if one.name in rejected else replace(one, finding="") for one in results)
    kind = "relations" if rejected - {"column groups"} else "columns" if rejected else "none"
    return Structure(kind, tests, len(sample))


def _dip_tests(X: Array) -> tuple[Array, float]:
    """The p-values of the columns, corrected for their number, and the size of the largest dip."""
    dips = np.array(run(dip, list(np.ascontiguousarray(X.T))))
    p = np.array([dip_p_value(value, len(X)) for value in dips]) * X.shape[1]
    return p, 4 * float(dips.max())


def _column_groups(X: Array, generator: np.random.Generator) -> StructureTest:
    p, effect = _dip_tests(_undo_rounding(X, generator))
    order = np.argsort(p, kind="stable")
    significant = order[p[order] <= LEVEL]
    noun, verb = ("Column", "falls") if len(significant) == 1 else ("Columns", "fall")
    finding = f"{noun} {_list_columns(significant)} {verb} into separate groups (dip test)."
    return StructureTest("column groups", min(1.0, float(p.min())), effect, finding)


def _component_groups(scores: Array) -> StructureTest:
    p, effect = _dip_tests(scores)
    first = int(p.argmin())
    finding = f"Along principal component {first + 1} the objects fall into groups (dip test)."
    return StructureTest("component groups", min(1.0, float(p[first])), effect, finding)


def _undo_rounding(X: Array, generator: np.random.Generator) -> Array:
    """Columns with rounded values spread over the rounding unit.

    The unit is the smallest difference of two values. A unit of more than half a standard deviation
    is no rounding: its values are groups (a column of zeros and ones, say).
    """
    gaps = np.diff(np.sort(X, axis=0), axis=0)
    unit = np.where(gaps > 0, gaps, np.inf).min(axis=0)
    unit = np.where(np.isfinite(unit) & (unit <= 0.5 * X.std(axis=0)), unit, 0.0)
    return np.asarray(X + generator.uniform(-0.5, 0.5, X.shape) * unit)


def _components(X: Array) -> Array:
    """Scores of the leading principal components, each scaled to unit variance."""
    from scipy.linalg import eigh

    centered = X - X.mean(axis=0)
    largest = float(np.abs(centered).max()) or 1.0
    centered = centered / largest
    tall = X.shape[0] >= X.shape[1]
    products = centered.T @ centered if tall else centered @ centered.T
    last = len(products) - 1
    wanted = (max(last + 1 - N_COMPONENTS, 0), last)
    leading = eigh(products, subset_by_index=wanted, overwrite_a=True, check_finite=False)[1]
    leading = leading[:, ::-1]
    scores = centered @ leading if tall else leading
    size = np.sqrt(np.square(scores).mean(axis=0))
    return np.asarray(scores / np.maximum(size, np.finfo(np.float64).tiny))


def _ranks(X: Array, generator: np.random.Generator) -> Array:
    """The rank of each value in its column, from 0, ties in an order of each column's own."""
    ranks = np.empty(X.shape, dtype=np.int64)
    order = np.lexsort((generator.random(X.shape), X), axis=0)
    np.put_along_axis(ranks, order, np.arange(len(X))[:, None], axis=0)
    return ranks


def _dependent_pairs(X: Array, generator: np.random.Generator) -> StructureTest:
    """The chi-squared test of independence of all pairs of columns."""
    from scipy.special import chdtrc

    n, d = X.shape
    cells = int(np.clip(np.sqrt(n / MIN_EXPECTED), 2, MAX_CELLS))
    cells = int(np.clip(np.sqrt(MAX_GRID_PRODUCTS / n) / d, 2, cells))
    columns = np.arange(d)
    most = int(np.sqrt(MAX_GRID_PRODUCTS / n) / cells)
    if d > most:
        columns = np.sort(generator.choice(d, most, replace=False))
        d = most
    cut = _ranks(X[:, columns], generator) * cells // n
    member = (cut[:, :, None] == np.arange(cells)).astype(np.float32).reshape(n, d * cells)
    sizes = member.sum(axis=0)
    expected = np.outer(sizes, sizes) / n
    counts = member.T @ member
    parts = ((counts - expected) ** 2 / expected).reshape(d, cells, d, cells)
    chi2 = np.triu(parts.sum(axis=(1, 3)), 1)
    n_pairs = d * (d - 1) // 2
    above = chi2[np.triu_indices(d, 1)].astype(np.float64)
    tails = chdtrc(float((cells - 1) ** 2), above) * n_pairs
    cramer = float(np.sqrt(float(chi2.max()) / (n * (cells - 1))))
    finding = "The two columns depend on each other (chi-squared test)."
    if n_pairs > 1:
        i, j = columns[list(np.unravel_index(int(chi2.argmax()), chi2.shape))]
        finding = (
            f"{int(np.sum(tails <= LEVEL)):,} of {n_pairs:,} pairs of columns depend on each "
            f"other, most of all columns {i} and {j} (chi-squared test)."
        )
    return StructureTest("dependent pairs", min(1.0, float(tails.min())), cramer, finding)


def _common_direction(X: Array, generator: np.random.Generator) -> StructureTest:
    """The largest eigenvalue of the columns' normal scores, by its Tracy-Widom distribution."""
    from scipy.linalg import eigvalsh
    from scipy.special import ndtri

    n, d = X.shape
    scores = ndtri((_ranks(X, generator) + 0.5) / n)
    scores /= np.sqrt(np.square(scores).mean(axis=0))  # the mean is 0 by symmetry
    small = scores.T @ scores if n >= d else scores @ scores.T
    last = len(small) - 1
    largest = float(eigvalsh(small, subset_by_index=(last, last), check_finite=False)[0])
    root_n, root_d = np.sqrt(n - 1.0), np.sqrt(d)
    center = (root_n + root_d) ** 2
    scale = (root_n + root_d) * (1 / root_n + 1 / root_d) ** (1 / 3)
    s = (largest - center) / scale
    p = 1.0
    if s > 1:  # the leading term of the upper tail; below it lies more than 5 %
        p = float(np.exp(-2 / 3 * s**1.5) / (4 * np.sqrt(np.pi) * s**0.75))
    effect = float(largest / center)

    finding = (
        "Many columns share a common direction: the leading eigenvalue of their rank "
        f"correlations is {effect:.2f} times that of independent columns."
    )
    return StructureTest("common direction", p, effect, finding)


def _near_neighbors(
    X: Array, scores: Array, metric: Metric, generator: np.random.Generator
) -> list[StructureTest]:
    """Distances to near neighbours, in all columns and in the leading plane, against shuffles."""

    def reaches(values: Array, plane: Array) -> tuple[Array, Array]:
        return _reach(values, metric), _reach(np.ascontiguousarray(plane[:, :2]), euclidean())

    def shuffle(random: np.random.Generator) -> tuple[Array, Array]:
        values = random.permuted(X, axis=0)
        return reaches(values, _components(values))

    own = reaches(X, scores)
    null = run(shuffle, generator.spawn(N_SHUFFLES))
    results = [_compare("near neighbours", own[0], [r[0] for r in null], "")]
    if X.shape[1] > 2:  # else the plane holds all
        where = "in the plane of the two leading principal components, "
        plane = [r[1] for r in null]
        results.append(_compare("near neighbours in the plane", own[1], plane, where))
    return results


def _reach(values: Array, metric: Metric) -> Array:
    """The logarithm of each object's distance to a near neighbour."""
    k = min(NEIGHBOR, len(values) - 1)
    reach = nearest(values, k, metric)[1][:, -1].astype(np.float64)
    return np.asarray(np.log(np.maximum(reach, np.finfo(np.float64).tiny)))


def _compare(name: str, own: Array, null: list[Array], where: str) -> StructureTest:
    """Compare the objects' reaches with those in shuffled data.

    Each statistic is taken to be normal over the shuffles, so that the difference of the data's
    from the mean, over the deviation, has a t distribution. Counts are made so by a square root,
    and their deviation is at least that of a Poisson count.
    """
    from scipy.special import stdtr

    n, pool = len(own), np.concatenate(null)
    least = MIN_TAIL / n
    limits = np.quantile(pool, [least, *(q for q in TAILS if q > 2 * least)])

    def statistics(reach: Array) -> Array:
        dense = np.sqrt((reach[:, None] < limits).sum(axis=0))
        return np.append(dense, -reach.mean())

    among = np.array([statistics(reach) for reach in null])
    spread = among.std(axis=0, ddof=1)
    spread[:-1] = np.maximum(spread[:-1], 0.5)  # of the root of a Poisson count
    gap = statistics(own) - among.mean(axis=0)
    floor = np.finfo(np.float64).eps * np.abs(own).max(initial=1.0)
    t = gap / np.maximum(spread * np.sqrt(1 + 1 / len(null)), floor)
    p = stdtr(float(len(null) - 1), -t) * len(t)
    ratio = float(np.exp(own.mean() - pool.mean()))

    which = int(p[:-1].argmin())
    count, expected = int((own < limits[which]).sum()), float((pool < limits[which]).mean() * n)
    finding = (
        f"There are dense spots: {where}{count:,} objects have neighbours as near as "
        f"{expected:,.0f} do in data with shuffled columns."
    )
    if ratio < CLEARLY_NEARER or p[which] > LEVEL:
        finding = (
            f"Objects lie nearer to their neighbours: {where}the distance is {ratio:.2f} times "
            "that in data with shuffled columns."
        )
    return StructureTest(name, min(1.0, float(p.min())), ratio, finding)


def _list_columns(items: Array) -> str:
    """The first of many column numbers."""
    shown = [str(item) for item in items[:MAX_LISTED]]
    if len(items) > MAX_LISTED:
        shown.append(f"{len(items) - MAX_LISTED:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
