"""Stress by majorization: SMACOF (de Leeuw 1977; de Leeuw and Heiser 1980), accelerated.

Majorization moves X to its Guttman transform V+ B(X) X = X - V+ g, where g = V X - B(X) X is half
the gradient of the stress, and never raises the stress. The same g is used for limited-memory
quasi-Newton steps with V+ as the initial approximation of the inverse Hessian. A quasi-Newton step
is taken if it lowers the stress, else the Guttman step. So the stress never increases, and
convergence is several times faster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array
from lowdim.numerics.objective import Objective
from lowdim.objects.pairs import Pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.stress.disparities import Fit

MEMORY = 6  # past steps that a quasi-Newton direction uses
MAX_STEP = 5.0  # of a quasi-Newton step, in units of the Guttman step
# The first steps are Guttman steps, because from a bad start long steps lead to worse minima: at
# most PLAIN_STEPS, until one lowers the stress by less than SETTLED times the sum of squares.
PLAIN_STEPS, SETTLED = 40, 1e-4
CG_STEPS, CG_TOLERANCE = 200, 1e-6  # the residual decreases by a factor of 1000
FACTORED_FROM = 0.1  # share of known pairs from which V is factored instead of solved iteratively

Solve = Callable[[Array], Array]
"""From g to V+ g."""


class Majorized(NamedTuple):
    """A configuration, its raw stress, and the stress of the start and after each iteration."""

    embedding: Array
    stress: float
    history: Array


def smacof_matrix(D: Array, start: Array, monitor: Monitor, *, eps: float = 1e-6) -> Majorized:
    """Minimise the stress sum_{i<j} (d_ij - |x_i - x_j|)^2 of a full matrix, for which V+ = 1/n."""
    X = np.ascontiguousarray(start, dtype=D.dtype)
    return descend(
        lambda X: backend().stress_gradient(D, X),
        lambda g: g / g.dtype.type(len(g)),
        X,
        total=sum_of_squares(D),
        eps=eps,
        monitor=monitor,
    )


def sum_of_squares(D: Array) -> float:
    """The sum of the squares of the dissimilarities of all pairs."""
    rows = backend().matmul(D, np.ones((len(D), 1), D.dtype), squared=True)
    return float(rows.sum(dtype=np.float64)) / 2


class Restriction(Protocol):
    """An admissible set of maps, to which majorization is restricted."""

    scales: bool  # whether the set holds all multiples of a map

    def begin(self, X: Array) -> Array:
        """The start moved into the set."""

    def objective(self, stress: Objective, pairs: Pairs) -> Objective:
        """The stress and half of its gradient, with the springs that draw the map to the set."""

    def solve(self, pairs: Pairs) -> Solve:
        """The function from half of the gradient to the Guttman step within the set."""


class PairSolver(Protocol):
    """Minimises the stress of pairs from a start; see `smacof_pairs`."""

    def __call__(
        self, pairs: Pairs, fit: Fit | None, start: Array, monitor: Monitor, /, *, eps: float
    ) -> Majorized: ...


def smacof_pairs(
    pairs: Pairs,
    fit: Fit | None,
    start: Array,
    monitor: Monitor,
    *,
    eps: float = 1e-6,
    restriction: Restriction | None = None,
) -> Majorized:
    """As `smacof_matrix` for weighted pairs, whose disparities are fitted again in every iteration.

    Without `fit` the disparities are the dissimilarities.
    """
    X = np.ascontiguousarray(start, dtype=pairs.values.dtype)
    if restriction is not None:
        X = restriction.begin(X)
    first, second, weights = pairs.first, pairs.second, pairs.weights

    def disparity_stress(X: Array) -> tuple[float, Array]:
        d = backend().pair_distances(first, second, X)
        assert fit is not None
        return backend().pair_gradient(first, second, d, fit(d), weights, X)

    objective: Objective = disparity_stress
    if fit is None:
        objective = backend().pair_stress(pairs.n, first, second, pairs.values, weights)
    d = backend().pair_distances(first, second, X)
    targets = pairs.values if fit is None else fit(d)
    total, squares = pairs.sum_of_squares(targets), pairs.sum_of_squares(d)
    if squares > 0 and (restriction is None or restriction.scales):  # the start to the disparities
        fits = (total + squares - pairs.sum_of_squares(targets - d)) / 2
        X = X * X.dtype.type(fits / squares)
    del d, targets  # as large as all pairs together
    solve = inverse_of_v(pairs) if restriction is None else restriction.solve(pairs)
    if restriction is not None:
        objective = restriction.objective(objective, pairs)
    return descend(objective, solve, X, total=total, eps=eps, monitor=monitor)


def descend(
    objective: Objective, solve: Solve, start: Array, *, total: float, eps: float, monitor: Monitor
) -> Majorized:
    """Minimise a stress by quasi-Newton steps, or Guttman steps where these do not lower it.

    The objective returns the stress and half of its gradient; `solve` is the function from g to
    V+ g. Iterations end when the stress decreases by less than eps times `total`, the weighted sum
    of squared disparities. Each evaluates the objective once; a rejected step counts as one.
    """
    X = start
    stress, g = objective(X)
    history = [stress]
    with monitor:
        step = solve(g)
        past: deque[tuple[Array, Array, Array]] = deque(maxlen=MEMORY)
        failed = settled = ended = False
        fell = np.inf

        def state() -> dict[str, Any]:
            flags = {"failed": failed, "settled": settled, "fell": fell, "ended": ended}
            here = {"X": X, "g": g, "step": step, "stress": stress}
            return {**here, "history": np.array(history), "past": list(past), **flags}

        if (saved := monitor.load_state({"X": X, "g": g, "step": step})) is not None:
            X, g, step, stress = (saved[name] for name in ("X", "g", "step", "stress"))
            failed, settled, fell = (saved[name] for name in ("failed", "settled", "fell"))
            history, ended = saved["history"].tolist(), saved["ended"]
            past.extend(saved["past"])
        while len(history) <= monitor.max_iter and not ended:
            iteration = len(history)
            settled = settled or iteration > PLAIN_STEPS or (bool(past) and fell <= SETTLED * total)
            quasi = settled and bool(past) and not failed
            trial = X - (_direction(g, step, past) if quasi else step)
            stress_new, g_new = objective(trial)
            failed = not stress_new <= stress
            if failed and not quasi:  # a Guttman step fails only by rounding, at the minimum
                ended = True
                break
            if not failed:  # else the next iteration takes the Guttman step
                step_new = solve(g_new)
                moved, bent = trial - X, g_new - g
                if dot(moved, bent) > 1e-10 * dot(moved, moved):
                    past.append((moved, bent, step_new - step))
                fell = stress - stress_new
                X, g, step, stress = trial, g_new, step_new, stress_new
                ended = fell <= eps * total
            history.append(stress)
            if monitor(iteration, stress, X):
                break
            monitor.keep(state)
    return Majorized(X, stress, np.array(history))


def _direction(g: Array, step: Array, past: Any) -> Array:
    """The two-loop recursion (Nocedal 1980), applied to g and, in parallel, to step = V+ g."""
    q, r, factors = g.copy(), step.copy(), []
    for moved, bent, solved in reversed(past):
        factor = dot(moved, q) / dot(moved, bent)
        q -= factor * bent
        r -= factor * solved
        factors.append(factor)
    moved, bent, solved = past[-1]
    r *= max(1.0, dot(moved, bent) / dot(bent, solved))  # V majorizes the Hessian: at least V+
    for (moved, bent, _), factor in zip(past, reversed(factors), strict=True):
        r += (factor - dot(bent, r) / dot(moved, bent)) * moved
    longest = MAX_STEP * np.sqrt(dot(step, step))
    length = np.sqrt(dot(r, r))
    return np.asarray(r * g.dtype.type(min(1.0, longest / length)) if length > 0 else step)


def inverse_of_v(pairs: Pairs) -> Solve:
    """The function from g to V+ g, with V = diag(W 1) - W the Laplacian of the weights.

    V+ is 1/n without weights. If many pairs are known it is computed from a Cholesky factor of V
    plus a constant, else by conjugate gradients, which lower the majorizing function even if they
    end early.
    """
    n = pairs.n
    if pairs.complete and pairs.weights is None:
        return lambda g: np.asarray(g / g.dtype.type(n))
    if pairs.weights is None:
        own = np.ones(len(pairs.first))
    else:
        own = pairs.weights.astype(np.float64, copy=False)
    scale = own.mean()
    if len(own) >= FACTORED_FROM * n * (n - 1) / 2:
        return _cholesky_solver(pairs, own, scale)
    W = pairs.graph(own)
    degrees = np.asarray(W.sum(axis=1)).ravel()[:, None]

    def solve(g: Array) -> Array:
        def product(p: Array) -> Array:
            return np.asarray(degrees * p - backend().spmm(W, p))

        s = conjugate_gradients(product, degrees, g, steps=CG_STEPS, tolerance=CG_TOLERANCE)
        return np.asarray(s - s.mean(axis=0), dtype=g.dtype)

    return solve


def _cholesky_solver(pairs: Pairs, weights: Array, scale: float) -> Solve:
    """V+ from a Cholesky factor of V + scale 11'."""
    V = pairs.matrix(weights, fill=0.0)
    np.negative(V, out=V)
    V.flat[:: len(V) + 1] = -V.sum(axis=1)
    V += scale
    inverse = backend().inverse(V)

    def solve(g: Array) -> Array:
        x = inverse(g)
        return np.asarray(x - x.mean(axis=0), dtype=g.dtype)

    return solve


def conjugate_gradients(
    product: Solve, diagonal: Array, g: Array, *, steps: int, tolerance: float
) -> Array:
    """Solve A s = g for all columns at once, preconditioned by the diagonal of A.

    `product` is the function from s to A s, and `tolerance` that of squared norms.
    """
    s, left = np.zeros(g.shape), g.astype(np.float64)
    p = ready = left / diagonal
    gain = (left * ready).sum(axis=0)
    goal = tolerance * gain
    for _ in range(steps):
        if (gain <= goal).all():
            break
        image = product(p)
        curved = (p * image).sum(axis=0)
        alpha = np.divide(gain, curved, out=np.zeros_like(gain), where=curved > 0)
        s, left = s + alpha * p, left - alpha * image
        ready, before = left / diagonal, gain
        gain = (left * ready).sum(axis=0)
        p = ready + np.divide(gain, before, out=np.zeros_like(gain), where=before > 0) * p
    return s
