"""What is drawn over a map: outlines of groups and objects, names of regions, arrows."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot.canvas import INK, TEXT
from lowdim.plot.colors import COLORS, MISSING_KIND
from lowdim.plot.names import BACKING, move_free
from lowdim.plot.paint import paint
from lowdim.plot.variables import VectorFit, vectors

_LINE = 22  # letters in a line of a name
_DRIFT = 0.2  # of the half width of the map that the longest drift vector takes


def groups(
    Y: Any, labels: Any, ax: Any, *, kind: str = "ellipse", level: float = 0.95, of: str = "points"
) -> None:
    """Outline groups of objects on a map, in the colours of `scatter`.

    Parameters
    ----------
    Y : array of shape (n, 2)
        Coordinates. Rows with NaN are left out.
    labels : array of shape (n,)
        The group of each object, as in `scatter`; objects without a label are in none.
    ax : matplotlib axes
        The axes of the map.
    kind : {"ellipse", "hull"}, default="ellipse"
        An ellipse of a normal distribution, or the convex hull.
    level : float, default=0.95
        Share of the distribution that an ellipse holds.
    of : {"points", "mean"}, default="points"
        Whether an ellipse holds points of the group, or is a confidence region of its mean.

    Raises
    ------
    ValueError
        If the labels are values on a scale rather than groups.

    Notes
    -----
    An ellipse needs three objects that are not on a line, a hull too; smaller groups are left out.
    The ellipse of the points is that of a normal distribution with the group's mean and covariance;
    the one of the mean uses Hotelling's T2 distribution.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(100, random_state=0)
    >>> Y = lowdim.PCA(n_components=2).fit_transform(X)
    >>> labels = ["inside" if angle < 9 else "outside" for angle in t]
    >>> ax = lowdim.plot.scatter(Y, labels)
    >>> lowdim.plot.groups(Y, labels, ax, kind="hull")
    """
    checks.choice(kind, "kind", ("ellipse", "hull"))
    checks.choice(of, "of", ("points", "mean"))
    _check_level(level)
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ValueError(f"Y must have two columns, got shape {Y.shape}.")
    painted = paint(len(Y), labels)
    if painted.codes is None or painted.shades is None:
        raise ValueError("labels: groups need classes, not values on a scale.")
    for code, name in enumerate(painted.kinds):
        members = Y[(painted.codes == code) & np.isfinite(Y).all(axis=1)]
        if name == MISSING_KIND or np.linalg.matrix_rank(members - members.mean(axis=0)) < 2:
            continue
        corners = hull(members) if kind == "hull" else ellipse(members, level, of)
        _outline(corners, painted.shades[code], ax)
    ax.autoscale_view()


def _outline(corners: Array, shade: Any, ax: Any) -> None:
    from matplotlib.patches import Polygon

    style: dict[str, Any] = {"edgecolor": shade, "facecolor": (*shade[:3], 0.08)}
    ax.add_patch(Polygon(corners, closed=True, linewidth=1.0, zorder=0.8, **style))


def ellipses(bootstrap: Any, ax: Any, *, labels: Any = None, level: float = 0.95) -> None:
    """Draw a confidence region of the place of each object on a map.

    Parameters
    ----------
    bootstrap : Bootstrap
        What `lowdim.quality.bootstrap` returned.
    ax : matplotlib axes
        The axes of the map `bootstrap.base`.
    labels : array of shape (n,), default=None
        The group of each object, for the colours of `scatter`.
    level : float, default=0.95
        Confidence of the regions.

    Notes
    -----
    A region is the ellipse of a normal distribution with the covariance of the bootstrap maps
    around the place of the object. Objects whose ellipses overlap may be in the same place; each
    region holds for one object, not for all at once.

    Examples
    --------
    >>> import lowdim
    >>> X = lowdim.data.colors()[0]
    >>> result = lowdim.quality.bootstrap(lowdim.MDS(), X, n_samples=20, random_state=0)
    >>> ax = lowdim.plot.scatter(result.base)
    >>> lowdim.plot.ellipses(result, ax)
    >>> len(ax.patches)
    14
    """
    _check_level(level)
    maps, base = bootstrap.replications, bootstrap.base
    if base.shape[1] != 2 or ax.name == "3d":
        raise ValueError("ellipses can be drawn on a map of two dimensions only.")
    shades = paint(len(base), labels, INK if labels is None else None).colors
    for place, cloud, shade in zip(base, maps.transpose(1, 0, 2), shades, strict=True):
        apart = cloud - cloud.mean(axis=0)
        if np.linalg.matrix_rank(apart) == 2:
            _outline(ellipse(place + apart, level), shade, ax)
    ax.autoscale_view()


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}.")


def drift_vectors(
    Y: Any, D: Any, ax: Any, *, color: Any = None, scale: float | None = None
) -> Array:
    """Draw on the map of asymmetric dissimilarities where each object is drawn to.

    Parameters
    ----------
    Y : array of shape (n, p)
        A map of the symmetric part, (D + D.T) / 2.
    D : array of shape (n, n)
        Dissimilarities from the object of the row to that of the column; NaN if unknown.
    ax : matplotlib axes
        The axes of the map, if it has two dimensions; None to draw nothing.
    color : colour, default=None
        Of the arrows.
    scale : float, default=None
        Length of the arrows, times the vectors. By default the longest arrow takes a tenth of the
        width of the map.

    Returns
    -------
    array of shape (n, p)
        The vector of each object i: the mean over the others j of (D[j, i] - D[i, j]) / 2 times
        the unit vector from i to j. It points to objects to which i is nearer than they are to i.

    References
    ----------
    Borg and Groenen, "Modern Multidimensional Scaling", 2nd edition, 2005, section 23.5.

    Examples
    --------
    Everything is nearer to the first object than it is to the others.

    >>> import numpy as np
    >>> import lowdim
    >>> D = np.array([[0, 5, 5], [3, 0, 4], [3, 4, 0.0]])
    >>> Y = lowdim.MDS(metric="precomputed").fit_transform((D + D.T) / 2)
    >>> drift = lowdim.plot.drift_vectors(Y, D, lowdim.plot.scatter(Y))
    >>> bool((drift[1:] * (Y[0] - Y[1:])).sum(axis=1).min() > 0)
    True
    """
    Y, D = (np.asarray(one, dtype=np.float64) for one in (Y, D))
    if Y.ndim != 2 or D.shape != (len(Y), len(Y)):
        raise ValueError(
            f"D must hold the dissimilarities of the {len(Y)} objects of the map to each other, "
            f"got shape {D.shape}."
        )
    gaps = Y[None] - Y[:, None]
    far = np.sqrt(np.square(gaps).sum(axis=2, keepdims=True))
    units = np.divide(gaps, far, out=np.zeros_like(gaps), where=far > 0)
    skew = (D.T - D) / 2
    known = np.isfinite(skew) & ~np.eye(len(Y), dtype=bool)
    sums = (np.where(known, skew, 0)[:, :, None] * units).sum(axis=1)
    drift = np.asarray(sums / np.maximum(known.sum(axis=1), 1)[:, None])
    if ax is None:
        return drift
    if Y.shape[1] != 2 or ax.name == "3d":
        raise ValueError("drift vectors can be drawn on a map of two dimensions only.")
    if scale is None:
        half = max(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())) / 2
        longest = np.linalg.norm(drift, axis=1).max(initial=0.0)
        scale = _DRIFT * half / longest if longest > 0 else 1.0
    style = {"arrowstyle": "->", "color": COLORS[1] if color is None else color}
    for place, arrow in zip(Y, scale * drift, strict=True):
        ax.annotate("", place + arrow, place, arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    return drift


def hull(points: Array) -> Array:
    """The corners of the convex hull, in order."""
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def ellipse(points: Array, level: float, of: str = "points") -> Array:
    """Points on the ellipse that holds a share of a normal distribution, or of its mean."""
    from scipy.stats import chi2, f

    n = len(points)
    covariance = np.cov(points.T)
    if of == "mean":  # Hotelling: n (mean - mu)' S^-1 (mean - mu) ~ 2 (n - 1) / (n - 2) F(2, n - 2)
        radius = 2 * (n - 1) / (n * (n - 2)) * f.ppf(level, 2, n - 2)
    else:
        radius = chi2.ppf(level, 2)
    turns = np.linspace(0, 2 * np.pi, 100)
    circle = np.column_stack([np.cos(turns), np.sin(turns)])
    root = np.linalg.cholesky(covariance * radius)
    return np.asarray(points.mean(axis=0) + circle @ root.T)


def region_names(regions: Any, ax: Any, *, k: int | None = None) -> None:
    """Write the names of regions on a map, the most important first.

    A name is written at the centre of its region, or a little above or below it. It is left out if
    it would overlap a name that is written already.

    Parameters
    ----------
    regions : Regions
        What `lowdim.regions` returned for the map.
    ax : matplotlib axes
        The axes of the map, at its final size.
    k : int, optional
        Number of regions; by default all leaves.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> Y = lowdim.PCA(2).fit_transform(X)
    >>> ax = lowdim.plot.scatter(Y, y, legend="none")
    >>> lowdim.plot.region_names(lowdim.regions(Y, labels=y), ax, k=2)
    >>> len(ax.texts)
    2
    """
    level = regions.at(regions.n_leaves if k is None else k)
    if len(regions.tree[0].center) != 2 or ax.name == "3d":
        raise ValueError("regions: names can be written on a map of two dimensions only.")
    ax.figure.draw_without_rendering()  # the layout determines the size of the axes
    taken: list[Any] = []
    for region in sorted(level.regions, key=lambda one: (one.level, -one.size)):
        text = ax.annotate(
            fill(region.name, _LINE, break_long_words=False),
            region.center,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=TEXT,
            color=INK,
            bbox=BACKING,
        )
        text.set_in_layout(False)
        if not move_free(ax, text, taken, 1):
            text.remove()


def feature_arrows(explanation: Any, ax: Any, *, count: int = 5, color: Any = None) -> None:
    """Draw the features that a map follows most as arrows, in the directions in which they grow.

    Parameters
    ----------
    explanation : Explanation
        What `lowdim.explain` returned for the map.
    ax : matplotlib axes
        The axes of the map.
    count : int, default=5
        Number of features, those of the largest `r2` that is positive.
    color : colour, optional
        Of the arrows.

    Notes
    -----
    Directions are those of the slopes over the whole map, and lengths the square roots of
    `linear_r2`: a feature that the map follows along a curve, or differently in different places,
    has a short arrow.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> model = lowdim.PCA(2).fit(X)
    >>> ax = lowdim.plot.scatter(model.embedding_, y)
    >>> lowdim.plot.feature_arrows(lowdim.explain(model, X), ax, count=2)
    >>> len([text for text in ax.texts if text.get_text()])
    2
    """
    order = np.argsort(-explanation.r2, kind="stable")[: checks.integer(count, "count", 1)]
    chosen = order[explanation.r2[order] > 0]
    slopes = explanation.directions[chosen]
    lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
    fit = VectorFit(
        tuple(explanation.features[i] for i in chosen),
        np.divide(slopes, lengths, out=np.zeros_like(slopes), where=lengths > 0),
        explanation.linear_r2[chosen].clip(0),
        np.zeros(len(chosen)),
        np.array([np.mean(ax.get_xlim()), np.mean(ax.get_ylim())]),  # also after the layout
        0,
    )
    vectors(fit, ax, color=INK if color is None else color)
