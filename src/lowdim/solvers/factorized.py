"""Local isometry for many points: a small programme in a basis, then the coordinates themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blas_on_one_thread, blocks, run
from lowdim.solvers.edge_lengths import Lengths, trace_bound
from lowdim.solvers.semidefinite import _symmetric

WORST = 0.2  # relative error of a length above which an unfinished answer is warned of


def factorized(
    lengths: Lengths,
    Q: Array,
    *,
    inequality: bool = False,
    give: float,
) -> Array:
    """The best K = Q L Q' in the span of a few orthonormal functions: the small L >= 0.

    Weinberger, Sha, Zhu and Saul (2006): a programme in r (r + 1) / 2 unknowns, here solved by
    Newton steps on its logarithmic barrier. Q is in the coordinates of `Lengths.incidence`.
    """
    P = np.asarray(lengths.incidence() @ Q)
    rates, turn = np.linalg.eigh(P.T @ P)  # smooth functions first: L is then near a diagonal one
    P = P @ turn
    weights = lengths.squares
    r = Q.shape[1]
    a, b = np.triu_indices(r)
    memory.claim(
        4 * 8 * len(a) ** 2,
        f"The semidefinite programme in {r} functions",
        "Set fewer of them: n_landmarks or n_functions.",
    )
    root = np.where(a == b, 1.0, np.sqrt(2.0))  # symmetric matrices by their upper triangles
    trace = (a == b).astype(np.float64)

    def errors(L: Array) -> Array:
        e = weights * (np.einsum("ma,ma->m", P @ L, P) - 1)
        return np.asarray(np.maximum(e, 0) if inequality else e)

    def value(L: Array, mu: float) -> float:
        try:
            lower = np.linalg.cholesky(L)
        except np.linalg.LinAlgError:
            return np.inf
        barrier = 2 * float(np.log(lower.diagonal()).sum())
        return float((errors(L) ** 2).sum()) / (2 * give) - float(np.trace(L)) - mu * barrier

    def curvature(active: Array) -> Array:
        """The Hessian of the squared errors' half sum."""

        def part(rows: slice) -> Array:
            p = P[rows][active[rows]]
            phi = p[:, a] * p[:, b] * (root * weights[rows][active[rows], None])
            return np.asarray(phi.T @ phi)

        total = np.zeros((len(a), len(a)))
        for own in run(part, blocks(len(P), 4096)):
            total += own
        return total

    def barrier_curvature(inverse: Array) -> Array:
        """The Hessian of -log det L."""
        H = inverse[np.ix_(a, a)] * inverse[np.ix_(b, b)]
        H += inverse[np.ix_(a, b)] * inverse[np.ix_(b, a)]
        return np.asarray(H * (root / 2) * root[:, None])

    L = np.diag(len(P) / r / np.maximum(rates, 1e-12 * rates[-1]))  # the mean length is right
    mu = float(np.trace(L))
    active = np.ones(len(P), dtype=bool)
    penalty: Array | None = None
    with blas_on_one_thread():
        while mu > 1e-9 * float(np.trace(L)):
            for _ in range(50):
                e = errors(L)
                if inequality and not np.array_equal(active, e > 0):
                    active, penalty = e > 0, None
                if penalty is None:
                    penalty = curvature(active)
                inverse = np.linalg.inv(L)
                slope = P.T @ (P * (e * weights / give)[:, None]) - mu * inverse
                g = slope[a, b] * root - trace
                H = penalty / give + mu * barrier_curvature(inverse)
                scale = 1 / np.sqrt(H.diagonal())
                H *= scale * scale[:, None]
                H[np.diag_indices(len(H))] += 1e-14
                step = -scale * np.linalg.solve(H, scale * g)
                drop = float(g @ step)
                D = np.zeros((r, r))
                D[a, b] = D[b, a] = step / root
                now, t = value(L, mu), 1.0
                while t > 1e-10 and value(L + t * D, mu) > now + 0.1 * t * drop:
                    t /= 2
                L = L + t * D
                if -drop <= max(1e-6 * mu, 1e-12 * abs(now)) or t <= 1e-10:  # or rounding
                    break
            mu *= 0.1
    return _symmetric(turn @ L @ turn.T)


def low_rank(
    lengths: Lengths,
    start: Array,
    monitor: Monitor,
    *,
    inequality: bool = False,
    give: float,
    loose: float | None = None,
    tol: float = 1e-7,
    view: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """The programme over K = Y Y' with few columns, from a start (Burer and Monteiro 2003).

    Gauss and Newton's steps on the coordinates, damped by Levenberg's and Marquardt's rule, with
    the sparse Hessian of stretching and tension factored each time. With enough columns the local
    optimum is the optimum of the programme; with few its trace is a little less.

    Parameters
    ----------
    loose : the e to begin with, lowered to `give` by tenths.
    tol : an e is done with when an iteration gains less than tol times the bound of the trace.

    Returns
    -------
    Y, centred, and the objective (to be minimised) after each iteration.
    """
    chain = _Coordinates(lengths, inequality)
    root = np.sqrt(lengths.mass)[:, None]
    u = root / np.linalg.norm(root)
    Y = start * root
    Y = Y - u @ (u.T @ Y)
    scale = trace_bound(lengths)
    history: list[float] = []

    def descend(monitor: Monitor) -> None:
        nonlocal Y
        e = max(give, loose or give)
        damping = 1.0
        value = chain.value(Y, e)
        while len(history) < monitor.max_iter:
            gradient, factor = chain.model(Y, e, damping)
            while True:
                moved = Y - factor(gradient)
                moved -= u @ (u.T @ moved)  # the trace is about the centre
                after = chain.value(moved, e)
                if after <= value or damping > 1e12:
                    break
                damping *= 8
                factor = chain.model(Y, e, damping)[1]
            gain = value - after
            if after <= value:
                Y, value = moved, after
            damping = max(damping / 3, 1e-6)
            history.append(value)
            shown = view(Y / root) if view is not None else np.empty((0, 0))
            if monitor(len(history), value, shown):
                return
            if gain <= (tol if e <= give else 1e-4) * scale:
                if e <= give:
                    return
                e = max(e / 10, give)
                damping, value = 1.0, chain.value(Y, e)
        worst = float(np.abs(np.sqrt(1 + chain.errors(Y)[1]) - 1).max(initial=0.0))
        if worst > WORST:
            checks.warn(
                f"{monitor.label} stopped after max_iter={monitor.max_iter} iterations, before it "
                f"converged: some distance to a neighbour is off by {worst:.0%}. Raise max_iter "
                "or slack."
            )

    with blas_on_one_thread(), monitor:
        descend(monitor)
    return Y / root, np.array(history)


class _Coordinates:
    """The objective -trace(Y'Y) + 1/(2 e) sum_k e_k^2 of coordinates and its convex model."""

    def __init__(self, lengths: Lengths, inequality: bool) -> None:
        self.B = lengths.incidence()
        self.C = self.B.T.tocsr()
        self.inequality = inequality
        self.heads, self.tails, self.n = lengths.heads, lengths.tails, lengths.n

    def errors(self, Y: Array) -> tuple[Array, Array]:
        P = backend().spmm(self.B, Y)
        e = np.einsum("mp,mp->m", P, P) - 1
        return P, np.maximum(e, 0) if self.inequality else e

    def value(self, Y: Array, e: float) -> float:
        error = self.errors(Y)[1]
        return float(error @ error) / (2 * e) - float((Y * Y).sum())

    def model(self, Y: Array, e: float, damping: float) -> tuple[Array, Callable[[Array], Array]]:
        """The gradient, and the inverse of a positive definite model of the Hessian.

        The trace, which is concave in the coordinates, counts by its slope; edges under pressure
        stiffen along themselves alone.
        """
        from scipy.sparse import bsr_array, csr_array
        from scipy.sparse.linalg import splu

        n, p = Y.shape
        P, error = self.errors(Y)
        gradient = 2 / e * backend().spmm(self.C, P * error[:, None]) - 2 * Y
        stretched = error > 0 if self.inequality else np.ones(len(error), dtype=bool)
        blocks = 2 * P[:, :, None] * P[:, None, :] * stretched[:, None, None]
        blocks += np.maximum(error, 0)[:, None, None] * np.eye(p)
        blocks *= 2 / e
        a, b = self.B.data[0::2, None, None], self.B.data[1::2, None, None]
        own = np.arange(n)
        rows = np.concatenate([self.heads, self.tails, self.heads, self.tails, own])
        columns = np.concatenate([self.heads, self.tails, self.tails, self.heads, own])
        cross = a * b * blocks
        damped = np.broadcast_to(damping * np.eye(p), (n, p, p))
        data = np.concatenate([a * a * blocks, b * b * blocks, cross, cross, damped])
        order = np.argsort(rows, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        H = bsr_array((data[order], columns[order], indptr), shape=(n * p, n * p))
        full = csr_array(H).tocsc()
        full.sum_duplicates()
        lu = splu(
            full, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        return gradient, lambda g: np.asarray(lu.solve(g.ravel()).reshape(n, p))
