"""Groups of objects on a map: ellipses and hulls."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot.colors import MISSING_KIND
from lowdim.plot.paint import paint


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
    from matplotlib.patches import Polygon

    checks.choice(kind, "kind", ("ellipse", "hull"))
    checks.choice(of, "of", ("points", "mean"))
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}.")
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ValueError(f"Y must have two columns, got shape {Y.shape}.")
    painted = paint(len(Y), labels)
    if painted.codes is None or painted.shades is None:
        raise ValueError("labels: groups need kinds, not values on a scale.")
    for code, name in enumerate(painted.kinds):
        members = Y[(painted.codes == code) & np.isfinite(Y).all(axis=1)]
        if name == MISSING_KIND or np.linalg.matrix_rank(members - members.mean(axis=0)) < 2:
            continue
        corners = hull(members) if kind == "hull" else ellipse(members, level, of)
        shade = painted.shades[code]
        ax.add_patch(
            Polygon(
                corners,
                closed=True,
                edgecolor=shade,
                facecolor=(*shade[:3], 0.08),
                linewidth=1.0,
                zorder=0.8,
            )
        )
    ax.autoscale_view()


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
