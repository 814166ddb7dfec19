"""Variables on a map: fitted vectors with a permutation test, and calibrated biplot axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot.canvas import INK, TEXT
from lowdim.plot.colors import COLORS
from lowdim.plot.names import BACKING, move_free
from lowdim.summaries import html_table, short_repr, text_table

_SHARE = 0.9  # of the half width of the map that the longest arrow takes


@dataclass(frozen=True, eq=False, repr=False)
class VectorFit:
    """Variables fitted to a map as vectors, made by `fit_vectors`.

    Attributes
    ----------
    names : tuple of str
        The variables.
    directions : array of shape (n_variables, p)
        Unit vectors in which the variables grow fastest.
    r2 : array of shape (n_variables,)
        Share of each variable's variance that the map explains linearly.
    p_values : array of shape (n_variables,)
        Share of permutations of the variable that reach its r2, the variable itself included.
    center : array of shape (p,)
        The mean of the map, where the vectors begin.
    n_permutations : int
        Number of permutations.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> Y = np.random.default_rng(0).normal(size=(50, 2))
    >>> lowdim.plot.fit_vectors(Y, {"north": Y[:, 1]}, n_permutations=99)
    VectorFit(variables=1, n_permutations=99)
    """

    names: tuple[str, ...]
    directions: Array
    r2: Array
    p_values: Array
    center: Array
    n_permutations: int

    def __repr__(self) -> str:
        facts = {"variables": len(self.names), "n_permutations": self.n_permutations}
        return short_repr(self, facts)

    def _table(self) -> list[list[str]]:
        """The head of a table of the variables, and its rows."""
        axes = [f"y{i}" for i in range(self.directions.shape[1])]
        numbers = np.column_stack([self.directions, self.r2, self.p_values])
        rows = [
            [name, *(f"{number:.3f}" for number in row)]
            for name, row in zip(self.names, numbers.tolist(), strict=True)
        ]
        return [["", *axes, "r2", "p"], *rows]

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        return html_table("Fitted vectors", head, rows)

    def __str__(self) -> str:
        return "\n".join(text_table(self._table()))


def fit_vectors(
    Y: Any, variables: Any, *, n_permutations: int = 999, random_state: Any = None
) -> VectorFit:
    """Fit variables to a map as vectors and test each by permutation.

    Parameters
    ----------
    Y : array of shape (n, p)
        Coordinates. Rows with NaN are left out.
    variables : mapping of str to array of shape (n,), DataFrame, or array of shape (n, n_variables)
        What is known of the objects, as numbers.
    n_permutations : int, default=999
        Number of permutations of each variable.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    VectorFit
        Directions, shares of variance and p-values.

    Notes
    -----
    Each variable is regressed on the coordinates. The direction is that of the coefficients, and r2
    the coefficient of determination, as in `envfit` of the R package vegan. The map must preserve
    distances for a straight arrow to mean much: on maps that keep neighbours only, look at the
    variable as a colour instead.

    References
    ----------
    Oksanen et al., "vegan: Community Ecology Package", function envfit.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> Y = np.random.default_rng(0).normal(size=(50, 2))
    >>> fit = lowdim.plot.fit_vectors(Y, {"north-east": Y[:, 0] + Y[:, 1]}, random_state=0)
    >>> print(fit)
                   y0     y1     r2      p
    north-east  0.707  0.707  1.000  0.001
    """
    from lowdim.checks import check_random_state

    Y, values = _regress(Y, variables)
    checks.integer(n_permutations, "n_permutations", 0)
    Z = np.array(list(values.values()), dtype=np.float64).T
    known = np.isfinite(Y).all(axis=1) & np.isfinite(Z).all(axis=1)
    Y, Z = Y[known], Z[known]
    center = Y.mean(axis=0)
    slopes, r2 = _regression(Y, Z)
    random = check_random_state(random_state)
    reached = np.ones(Z.shape[1])
    for _ in range(n_permutations):
        reached += _regression(Y, Z[random.permutation(len(Z))])[1] >= r2 - 1e-12
    lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
    directions = np.divide(slopes, lengths, out=np.zeros_like(slopes), where=lengths > 0)
    p_values = reached / (n_permutations + 1)
    return VectorFit(tuple(values), directions, r2, p_values, center, n_permutations)


def vectors(
    fit: VectorFit, ax: Any, *, p_max: float = 1.0, color: Any = None, scale: float | None = None
) -> None:
    """Draw fitted vectors as arrows on a map; their lengths are the square roots of r2.

    Parameters
    ----------
    fit : VectorFit
        What `fit_vectors` returned for the map.
    ax : matplotlib axes
        The axes of the map.
    p_max : float, default=1.0
        Variables with larger p-values are left out.
    color : colour, default=None
        Of the arrows.
    scale : float, default=None
        Length of an arrow with r2 = 1; by default such that the longest fits on the map.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> Y = np.random.default_rng(0).normal(size=(50, 2))
    >>> ax = lowdim.plot.scatter(Y)
    >>> fit = lowdim.plot.fit_vectors(Y, {"east": Y[:, 0]}, random_state=0)
    >>> lowdim.plot.vectors(fit, ax, p_max=0.05)
    """
    if fit.directions.shape[1] != 2:
        raise ValueError("vectors can be drawn on a map of two dimensions only.")
    ax.figure.draw_without_rendering()  # the layout determines the limits
    chosen = np.flatnonzero(fit.p_values <= p_max)
    arrows = fit.directions[chosen] * np.sqrt(fit.r2[chosen])[:, None]
    if scale is None:
        half = min(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())) / 2
        longest = np.linalg.norm(arrows, axis=1).max(initial=0.0)
        scale = _SHARE * half / longest if longest > 0 else 1.0
    color = COLORS[1] if color is None else color
    taken: list[Any] = []
    for name, arrow in zip(np.array(fit.names)[chosen], scale * arrows, strict=True):
        ax.annotate(
            "",
            fit.center + arrow,
            fit.center,
            arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.2},
        )
        move_free(ax, _write(ax, fit.center + 1.05 * arrow, name, arrow, color), taken, 5)


def biplot_axes(Y: Any, variables: Any, ax: Any, *, color: Any = None) -> None:
    """Draw an axis with a scale for each variable, on which its values can be read.

    The value of an object is predicted by projecting its point onto the axis.

    Parameters
    ----------
    Y : array of shape (n, 2)
        Coordinates of a map that preserves distances, such as PCA's.
    variables : mapping of str to array of shape (n,), DataFrame, or array of shape (n, n_variables)
        The variables.
    ax : matplotlib axes
        The axes of the map.
    color : colour, default=None
        Of the axes.

    Notes
    -----
    A value v is marked where the regression of the variable on the coordinates predicts it:
    at mean(Y) + (v - mean) b / (b' b), with b the coefficients.

    References
    ----------
    Gower and Hand, "Biplots", 1996, chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Y = lowdim.PCA(n_components=2).fit_transform(X)
    >>> ax = lowdim.plot.scatter(Y)
    >>> lowdim.plot.biplot_axes(Y, {"a": X[:, 0], "b": X[:, 1]}, ax)
    """
    from matplotlib.ticker import MaxNLocator

    Y, values = _regress(Y, variables)
    if Y.shape[1] != 2:
        raise ValueError(f"Y must have two columns for a biplot, got {Y.shape[1]}.")
    color = "0.45" if color is None else color
    for name, column in values.items():
        known = np.isfinite(Y).all(axis=1) & np.isfinite(column)
        slopes, _ = _regression(Y[known], column[known, None])
        b, center, mean = slopes[0], Y[known].mean(axis=0), column[known].mean()
        if not b @ b > 0:
            continue
        step = b / (b @ b)  # on the map, for one unit of the variable
        low, high = _visible(ax, center, step)
        low, high = max(column[known].min(), mean + low), min(column[known].max(), mean + high)
        ticks = MaxNLocator(5).tick_values(low, high)
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) < 2:
            continue
        spots = center + np.outer(ticks - mean, step)
        style: dict[str, Any] = {"color": color, "zorder": 0.5, "scalex": False, "scaley": False}
        ax.plot(*spots[[0, -1]].T, linewidth=0.8, **style)
        ax.plot(*spots.T, linestyle="", marker=".", markersize=3, **style)
        for spot, tick in zip(spots, ticks, strict=True):
            ax.annotate(
                f"{tick:g}",
                spot,
                xytext=(2, 2),
                textcoords="offset points",
                fontsize=TEXT - 2,
                color=color,
            )
        _write(ax, spots[-1], name, b, INK)


def _visible(ax: Any, center: Array, step: Array) -> tuple[float, float]:
    """The multiples of a step from the centre between which a line is inside the axes."""
    box = np.array([ax.get_xlim(), ax.get_ylim()])
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort((box - center[:, None]) / step[:, None], axis=1)
    return float(np.nanmax(ends[:, 0])), float(np.nanmin(ends[:, 1]))


def _write(ax: Any, spot: Array, name: str, towards: Array, color: Any) -> Any:
    return ax.annotate(
        name,
        spot,
        xytext=(4 * np.sign(towards[0]), 4 * np.sign(towards[1])),
        textcoords="offset points",
        ha="left" if towards[0] >= 0 else "right",
        va="bottom" if towards[1] >= 0 else "top",
        fontsize=TEXT,
        color=color,
        bbox=BACKING,
    )


def _regression(Y: Array, Z: Array) -> tuple[Array, Array]:
    """Slopes (variables, p) of the regressions of the columns of Z on Y, and their r2."""
    centered, deviations = Y - Y.mean(axis=0), Z - Z.mean(axis=0)
    slopes = np.linalg.lstsq(centered, deviations, rcond=None)[0]
    total = (deviations**2).sum(axis=0)
    explained = ((centered @ slopes) ** 2).sum(axis=0)
    return slopes.T, np.divide(explained, total, out=np.zeros_like(total), where=total > 0)


def _regress(Y: Any, variables: Any) -> tuple[Array, dict[str, Array]]:
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2:
        raise ValueError(f"Y must have rows and columns, got shape {Y.shape}.")
    if hasattr(variables, "columns"):
        variables = {str(name): variables[name] for name in variables.columns}
    elif not isinstance(variables, Mapping):
        table = checks.as_columns(variables, np.float64)
        variables = {f"x{i}": column for i, column in enumerate(table.T)}
    values: dict[str, Array] = {}
    for name, column in variables.items():
        values[str(name)] = np.asarray(column, dtype=np.float64)
        if values[str(name)].shape != (len(Y),):
            raise ValueError(
                f"variables: {name!r} has shape {np.shape(column)}, but there are {len(Y)} objects."
            )
    return Y, values
