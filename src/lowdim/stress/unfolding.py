"""Multidimensional unfolding: judges and objects in one map (Coombs 1964; Busing et al. 2005)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.algebra import gram
from lowdim.backends.native.dense import product, symmetric_eigen
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Embedder, Problem, Traits
from lowdim.estimator.fitted_state import Numbers, any_number
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import fix_signs, start_eigenpairs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.elementary import power
from lowdim.stress.placement import place_by_stress

DISPARITIES = ("ordinal", "ratio")
CONDITIONS = ("row", "matrix")
SHORTEST = 2.0**-20  # share of the step of the disparities at which it is given up
ALTERNATIONS = 20  # of the disparities and the place of a new judge


class Solution(NamedTuple):
    """Places of judges and objects, disparities, and the penalised stress of each iteration."""

    judges: Array
    objects: Array
    fitted: Array
    history: Array


@dataclass(eq=False, repr=False)
class Unfolding(Embedder):
    """Multidimensional unfolding: a map of judges and objects, each judge near what he prefers.

    table of preferences -> disparities (monotone in each row) -> majorize under a penalty

    Row i of X says how little judge i likes each object: ranks, from 1 for the best, or
    dissimilarities. The distances from the judge to the objects fit them, or their order.

    Parameters
    ----------
    $n_components
    disparities : {"ordinal", "ratio"}, default="ordinal"
        Whether only the order of the numbers is fitted, or the numbers themselves.
    conditional : {"row", "matrix"}, default="row"
        Whether numbers can be compared within a row only, as ranks by several judges, or in all of
        X; for disparities="ordinal".
    penalty : float, default=0.5
        Omega: how strongly disparities that hardly vary are penalised. Without it, with 0, ordinal
        maps degenerate: all objects come to lie at about the same distance from each judge.
    fit_power : float, default=0.5
        Lambda, in (0, 1]: the power of the stress in the penalised stress. Smaller numbers give the
        penalty more weight.
    n_init : int, default=1
        Number of starts, the first one by singular vectors and the others random. Random ones can
        end at a lower penalised stress with a worse agreement of the orders.
    max_iter : int, default=2000
        Largest number of iterations from a start.
    eps : float, default=1e-7
        Iterations end when the penalised stress decreases by less than this share of it.
    random_state : int, RandomState or None, default=None
        Seed of the random starts; None stands for 0.
    $n_jobs

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the judges: their ideal objects.
    objects_ : array of shape (n_features, n_components)
        Coordinates of the objects, whose centre is 0.
    disparities_ : array of shape (n_samples, n_features)
        What the distances are fitted to.
    stress_ : float
        Stress-1: sqrt(1 - (sum disparity d)^2 / (sum disparity^2 sum d^2)), with
        conditional="row" the root of the mean of its square over the rows.
    penalized_stress_ : float
        stress_^(2 lambda) (1 + omega / v^2), with v^2 the squared coefficient of variation of the
        disparities, of which with conditional="row" the harmonic mean over the rows is taken.
    history_ : array of shape (n_iter + 1,)
        The penalised stress of the start and after each iteration; it never increases.
    $n_iter

    See Also
    --------
    MDS : dissimilarities between objects of one kind.
    INDSCAL : several judges who compare all pairs of objects.

    Notes
    -----
    Time is n m per iteration for n judges and m objects. The penalised stress is that of [1]_, with
    the stress normalised, in each row if only the numbers of a row can be compared; with
    disparities="ratio" it is the stress alone. Ordinal disparities have mean square 1.

    `transform` places a new judge by his preferences, with the objects fixed.
    ``transform(X_train)`` equals `embedding_` where no two rows are the same. `inverse_transform`
    returns the distances from given places to the objects, whose order is that of the preferences
    there.

    References
    ----------
    .. [1] F. M. T. A. Busing, P. J. F. Groenen, W. J. Heiser, "Avoiding degeneracy in
       multidimensional unfolding by penalizing on the coefficient of variation", Psychometrika 70,
       2005.
    .. [2] I. Borg, P. J. F. Groenen, "Modern Multidimensional Scaling", 2nd edition, 2005, chapters
       14 and 15.

    Examples
    --------
    Judges on a line rank five objects on it by their distance.

    >>> import numpy as np
    >>> import lowdim
    >>> judges, objects = np.linspace(0, 4, 30), np.arange(5.0)
    >>> X = abs(judges[:, None] - objects)
    >>> model = lowdim.Unfolding(1, disparities="ratio").fit(X)
    >>> gaps = abs(np.diff(model.objects_[:, 0]))
    >>> bool(np.allclose(gaps, 1, atol=1e-3))
    True
    """

    traits = Traits(
        keeps="which objects each judge prefers, as distances from the judge",
        when="rows are judges who rank or rate the columns, and you want both in one map",
        cost="n m per iteration for n judges and m objects",
        extends="the same loss against the fixed objects; distances to the objects",
        paper="Coombs 1964; Busing, Groenen and Heiser 2005",
        power=1.0,
        objects="preferences",
    )

    _attributes: ClassVar = {
        "objects_": Numbers("d c"),
        "disparities_": Numbers("n d", least=0),
        "stress_": any_number,
        "penalized_stress_": any_number,
        "_fitted_rows": Numbers("n d"),
    }
    _needed = ("objects_", "disparities_", "_fitted_rows")

    n_components: int = 2
    _: KW_ONLY
    disparities: str = "ordinal"
    conditional: str = "row"
    penalty: float = 0.5
    fit_power: float = 0.5
    n_init: int = 1
    max_iter: int = 2000
    eps: float = 1e-7
    random_state: Any = None
    n_jobs: int | None = None

    def _unit_of(self, name: str) -> float:
        own = name in ("embedding_", "objects_", "disparities_") and self.disparities == "ratio"
        return 1 if own or name == "_fitted_rows" else 0

    def _memory(self, fit: Problem) -> float:
        return 12 * fit.vectors

    def _fit(self, objects: Objects) -> None:
        checks.choice(self.disparities, "disparities", DISPARITIES)
        checks.choice(self.conditional, "conditional", CONDITIONS)
        checks.real(self.penalty, "penalty", 0)
        checks.real(self.fit_power, "fit_power", 0, 1, open_low=True)
        checks.real(self.eps, "eps", 0)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.integer(self.n_init, "n_init", 1)
        k = self._check_n_components(objects.n)
        rows = checks.dense(objects.vectors("unfolding"))
        D = rows.astype(np.float64)
        if D.shape[1] < 2:
            raise ValueError("X: n_features = 1, but preferences are about at least 2 objects.")
        if self.disparities == "ratio" and not (D.min() >= 0 and D.max() > 0):
            raise ValueError(
                f"X: {argument('disparities', 'ratio')} fits distances, which are not negative and "
                f"not all 0, but X holds {D.min():g} to {D.max():g}. Use 'ordinal'."
            )
        random = fixed_random_state(self.random_state)
        best = min(
            (self._unfold(D, *start) for start in _starts(self._scores(D), k, self.n_init, random)),
            key=lambda one: one.history[-1],
        )
        X, Y = _along_principal_axes(best.judges, best.objects)
        self.embedding_, self.objects_ = X.astype(objects.dtype), Y.astype(objects.dtype)
        self.disparities_, self._fitted_rows = best.fitted.astype(objects.dtype), rows
        self.history_, self.n_iter_ = best.history, len(best.history) - 1
        self.penalized_stress_ = float(best.history[-1])
        d = _distances(best.judges, best.objects)
        self.stress_ = float(np.sqrt(self._misfit(best.fitted, d)))

    def _scores(self, D: Array) -> Array:
        """The numbers, or ranks as far as they can be compared, that starts are made of."""
        if self.disparities == "ratio":
            return D
        return np.asarray(rankdata(D, axis=1 if self.conditional == "row" else None)).reshape(
            D.shape
        )

    def _unfold(self, D: Array, X: Array, Y: Array) -> Solution:
        """A local minimum: disparities and places in turn."""
        ratio, orders = self.disparities == "ratio", _orders(D, self.conditional)
        fitted = D if ratio else self._scores(D)
        value = self._loss(fitted, _distances(X, Y))
        history = [value]
        while len(history) <= self.max_iter:
            d = _distances(X, Y)
            if not ratio:
                fitted = self._improve(fitted, d, orders)
            X, Y = self._guttman(fitted, d, X, Y)
            before, value = value, self._loss(fitted, _distances(X, Y))
            history.append(min(value, before))  # equal but for rounding
            if before - value <= self.eps * before:
                break
        d = _distances(X, Y)
        if ratio:
            scale = float((fitted * d).sum() / max((d**2).sum(), 1e-300))
        else:
            fitted = fitted * self._slopes(fitted, d)
            scale = 1 / max(float(np.sqrt(np.mean(fitted**2))), 1e-300)
            fitted = fitted * scale
        return Solution(X * scale, Y * scale, fitted, np.array(history))

    def _groups(self, numbers: Array) -> Array:
        """A table with one row for all numbers that can be compared."""
        alone = self.conditional == "row" and self.disparities != "ratio"
        return numbers if alone else numbers.reshape(1, -1)

    def _slopes(self, fitted: Array, d: Array) -> Array:
        """The factors of disparities that make them fit the distances best, for each row of X."""
        fit, far = self._groups(fitted), self._groups(d)
        inner = (fit * far).sum(axis=1) / np.maximum(np.square(fit).sum(axis=1), 1e-300)
        return np.broadcast_to(inner[:, None], (len(fitted), 1))

    def _misfit(self, fitted: Array, d: Array) -> float:
        """The squared Stress-1, for the best scale in each group; their mean."""
        fit, far = self._groups(fitted), self._groups(d)
        size = np.square(fit).sum(axis=1) * np.square(far).sum(axis=1)
        inner = (fit * far).sum(axis=1)
        misfits = 1 - np.divide(inner**2, size, out=np.zeros_like(size), where=size > 0)
        return max(float(misfits.mean()), 1e-15)

    def _loss(self, fitted: Array, d: Array) -> float:
        misfit = self._misfit(fitted, d)
        if self.disparities == "ratio":
            return misfit
        return float(power(misfit, self.fit_power) * (1 + self.penalty * self._evenness(fitted)[0]))

    def _evenness(self, fitted: Array) -> tuple[float, Array]:
        """1 / v^2 with v the coefficient of variation, the mean over the rows, and its gradient."""
        groups = self._groups(fitted)
        m = groups.mean(axis=1, keepdims=True)
        q = np.square(groups).mean(axis=1, keepdims=True)
        variance = np.maximum(q - m**2, 1e-12 * np.maximum(q, 1e-300))
        slope = 2 * m * (q - m * groups) / variance**2 / groups.size
        return float((m**2 / variance).mean()), slope.reshape(fitted.shape)

    def _improve(self, fitted: Array, d: Array, orders: Orders) -> Array:
        """Disparities of lower penalised stress for given distances, by a projected step."""
        now, fitted = self._loss(fitted, d), fitted * self._slopes(fitted, d)
        even, slope = self._evenness(fitted)
        far = self._groups(d)
        sizes = np.square(far).sum(axis=1)[:, None] * len(far)
        pull = self._misfit(fitted, d) * self.penalty / (1 + self.penalty * even)
        step = (
            d - np.broadcast_to(sizes, (len(d), 1)) * pull / (2 * self.fit_power) * slope - fitted
        )
        share = 1.0
        while share > SHORTEST:
            moved = _monotone(fitted + share * step, orders)
            if self._loss(moved, d) <= now:
                return moved
            share /= 2
        return fitted

    def _guttman(self, fitted: Array, d: Array, X: Array, Y: Array) -> tuple[Array, Array]:
        """The step of majorization of both sets of points, with the objects centred.

        With disparities whose regression on the distances has slope 1 in each group, the stress
        with the weights 1 / sum disparity^2 is above the normalised stress and touches it.
        """
        fit, far = self._groups(fitted), self._groups(d)
        inner = np.maximum((fit * far).sum(axis=1), 1e-300)
        slopes = np.square(far).sum(axis=1) / inner
        weights = 1 / np.maximum(slopes**2 * np.square(fit).sum(axis=1), 1e-300)
        slopes, weights = (np.broadcast_to(one[:, None], (len(d), 1)) for one in (slopes, weights))
        B = np.divide(fitted * slopes, d, out=np.zeros_like(d), where=d > 0)
        left = B.sum(axis=1)[:, None] * X - backend().matmul(B, Y)
        B = B * weights
        right = B.sum(axis=0)[:, None] * Y - product(B.T, X.T)
        X = left / d.shape[1]
        return X, (right + (weights * X).sum(axis=0)) / weights.sum()

    def _transform(self, new: NewObjects) -> Array:
        D = checks.dense(new.vectors())
        Y = self.objects_.astype(np.float64)
        rows = np.ascontiguousarray(self._fitted_rows, dtype=D.dtype)
        known = {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}
        out = np.empty((len(D), Y.shape[1]), dtype=self.embedding_.dtype)
        for i, row in enumerate(np.ascontiguousarray(D)):
            same = known.get(row.tobytes())
            out[i] = self._place(row, Y) if same is None else self.embedding_[same]
        return out

    def _place(self, row: Array, Y: Array) -> Array:
        D = row[None].astype(np.float64)
        ones = np.ones_like(D)
        if self.disparities == "ratio":
            return np.asarray(place_by_stress(D, ones, Y)[0])
        usual = np.sort(self.disparities_.astype(np.float64), axis=1).mean(axis=0)
        fitted = np.interp(rankdata(D[0]), np.arange(1, D.shape[1] + 1), usual)[None]
        size, orders = np.square(fitted).sum(), _orders(D, "row")
        for _ in range(ALTERNATIONS):
            x = place_by_stress(fitted, ones, Y)
            free = _monotone(_distances(x, Y), orders)
            fitted = (fitted + free * np.sqrt(size / max(np.square(free).sum(), 1e-300))) / 2
        return np.asarray(x[0])

    def _inverse(self, Y: Array) -> Any:
        return _distances(Y.astype(np.float64), self.objects_).astype(Y.dtype)


Orders = list[tuple[Array, Array]]  # positions by ascending number, and the starts of runs of ties


def _orders(D: Array, conditional: str) -> Orders:
    """The order of the numbers in each row, or in the whole table."""
    groups = np.arange(D.size).reshape(D.shape if conditional == "row" else (1, -1))
    orders = []
    for own in groups:
        values = D.ravel()[own]
        order = np.argsort(values, kind="stable")
        new = np.flatnonzero(np.diff(values[order])) + 1
        orders.append((own[order], np.concatenate([[0], new, [len(own)]]).astype(np.int64)))
    return orders


def _monotone(values: Array, orders: Orders) -> Array:
    """The nearest numbers that are not negative and ascend in each of the orders."""
    flat = values.ravel()
    out = np.empty_like(flat)
    for order, ties in orders:
        out[order] = backend().isotonic(flat[order], None, ties, True)
    return np.maximum(out, 0).reshape(values.shape)


def _starts(
    scores: Array, k: int, count: int, random: np.random.RandomState
) -> list[tuple[Array, Array]]:
    """Places by the singular vectors of the centred squares (Schoenemann 1970), and random ones."""
    n, m = scores.shape
    squares = -0.5 * (scores / scores.max()) ** 2
    squares = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    X, Y = 1e-3 * random.uniform(-1, 1, (n, k)), 1e-3 * random.uniform(-1, 1, (m, k))
    used = min(k, n, m)
    first, second = (X, Y) if n >= m else (Y, X)
    columns = squares.T if n >= m else squares  # of the matrix with more rows than columns
    lengths, axes = start_eigenpairs(product(columns, columns), used)
    roots = np.sqrt(np.sqrt(np.maximum(lengths, 1e-300)))  # of singular values
    first[:, :used] += product(columns.T, axes.T) / roots
    second[:, :used] += axes * roots
    drawn = [
        (random.uniform(-1, 1, (n, k)), random.uniform(-1, 1, (m, k))) for _ in range(1, count)
    ]
    return [(X, Y - Y.mean(axis=0)), *((A, B - B.mean(axis=0)) for A, B in drawn)]


def _distances(X: Array, Y: Array) -> Array:
    """The Euclidean distances from each row of X to each row of Y."""
    squares = np.zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        squares += np.square(x[:, None] - y)
    return np.asarray(np.sqrt(squares))


def _along_principal_axes(X: Array, Y: Array) -> tuple[Array, Array]:
    """Both sets of points turned so that the axes of all points together are principal."""
    both = np.concatenate([X, Y])
    centered = both - both.mean(axis=0)
    axes = symmetric_eigen(gram(centered, centered))[1][:, ::-1]
    turned = fix_signs(product(both, axes.T))
    return turned[: len(X)], turned[len(X) :]
