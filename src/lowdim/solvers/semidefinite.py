"""Semidefinite programmes of local isometry: the largest Gram matrix that keeps some lengths.

Over centred K >= 0, for edges k = (i, j) of squared length d_k^2 and with the relative error
r_k = (K_ii - 2 K_ij + K_jj) / d_k^2 - 1:

    maximise trace(K) - 1/(2 e) sum_k r_k^2              (equality), or
    maximise trace(K) - 1/(2 e) sum_k max(r_k, 0)^2      (inequality).

At the solution r_k = e y_k, where y_k >= 0 is the share of the trace that the tension of edge k
carries: in all sum_k y_k = trace(K) up to e. So with e = slack * m / trace the squared lengths
are off by `slack` on average, and e = 0 keeps them to the letter. The dual asks for tensions whose
weighted graph Laplacian has no eigenvalue below one but the constant's,

    minimise sum_k y_k + e/2 sum_k y_k^2   subject to   sum_k y_k / d_k^2 a_k a_k' >= J,

with a_k = e_i - e_j, the fastest mixing of Sun, Boyd, Xiao and Diaconis (2006).

Every constraint has rank one, so the Schur complement of an interior-point method is the product,
entry by entry, of two m x m matrices of differences. That is what makes `interior_point` fast
where a solver for general cones is not. `factorized` and `low_rank` handle many points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import memory, native
from lowdim.callbacks import Watch
from lowdim.checks import Array
from lowdim.relations.geodesics import geodesics
from lowdim.relations.graph import components
from lowdim.solvers.linear import cholesky_in_place

SOURCES = 2000  # up to this many points all geodesics are used to bound the trace
RESIDUAL = 1e-6  # to which lengths are met
WORST = 0.2  # relative error of a length above which an unfinished answer is warned of
COINCIDENT = 1e-7  # a length below this share of the root mean square one is zero


@dataclass(frozen=True)
class Lengths:
    """Squared lengths of the edges (heads[k], tails[k]) between n points with masses.

    The squares are in units of `unit`^2, where their mean is one.
    """

    n: int
    heads: Array
    tails: Array
    squares: Array
    mass: Array
    unit: float = 1.0

    def incidence(self) -> Any:
        """The sparse m x n matrix of rows (e_i / sqrt(mass_i) - e_j / sqrt(mass_j)) / d_k.

        Its product with sqrt(mass) is zero.
        """
        from scipy.sparse import csr_array

        m = len(self.squares)
        scale = 1 / np.sqrt(self.squares)
        root = 1 / np.sqrt(self.mass)
        data = np.stack([scale * root[self.heads], -scale * root[self.tails]], axis=1)
        ends = np.stack([self.heads, self.tails], axis=1)
        indptr = np.arange(m + 1, dtype=np.int32) * 2
        return csr_array((data.ravel(), ends.ravel(), indptr), shape=(m, self.n))

    def adjacency(self) -> Any:
        """The undirected graph of lengths."""
        from scipy.sparse import coo_array

        d = np.sqrt(self.squares)
        ends = (np.concatenate([self.heads, self.tails]), np.concatenate([self.tails, self.heads]))
        return coo_array((np.concatenate([d, d]), ends), shape=(self.n, self.n)).tocsr()


class Unfolded(NamedTuple):
    """A solution of the programme.

    gram: K of the points, in units of `Lengths.unit`^2; tensions: the dual y, whose sum is the
    trace; gap: the relative duality gap; error: how far the conditions on the lengths are from
    being met, relative to a squared length; history: the relative gap of each iteration.
    """

    gram: Array
    tensions: Array
    gap: float
    error: float
    history: Array


def lengths_of(graph: Any) -> tuple[Lengths, Array]:
    """The edges of an undirected CSR graph of distances, and the point that stands for each node.

    Nodes joined by edges of length zero are one point, whose mass is their number.
    """
    from scipy.sparse import csr_array

    edges = graph.tocoo()
    upper = edges.row < edges.col
    heads, tails = edges.row[upper].astype(np.int64), edges.col[upper].astype(np.int64)
    d = edges.data[upper].astype(np.float64)
    size = float(d.max(initial=0.0)) or 1.0
    d = d / size
    same = d <= COINCIDENT * np.sqrt(np.mean(d**2)) if len(d) else np.zeros(0, dtype=bool)
    links = csr_array((np.ones(same.sum()), (heads[same], tails[same])), shape=graph.shape)
    n, labels = components(links)
    heads, tails, d = labels[heads[~same]], labels[tails[~same]], d[~same]
    heads, tails = np.minimum(heads, tails), np.maximum(heads, tails)
    first = np.unique(heads.astype(np.int64) * n + tails, return_index=True)[1]
    kept = first[heads[first] != tails[first]]
    mass = np.bincount(labels, minlength=n).astype(np.float64)
    mean = float(np.mean(d[kept] ** 2)) if len(kept) else 1.0
    unit = size * float(np.sqrt(mean))
    return Lengths(n, heads[kept], tails[kept], d[kept] ** 2 / mean, mass, unit), labels


def trace_bound(lengths: Lengths, n_jobs: int | None = None) -> float:
    """An upper bound of the trace, from geodesics: no unfolding takes two points farther apart.

    Of more than `SOURCES` points only some are asked, spread evenly.
    """
    step = -(-lengths.n // SOURCES)
    asked = np.arange(0, lengths.n, step)
    D = geodesics(lengths.adjacency(), asked if step > 1 else None, n_jobs=n_jobs)
    mass = lengths.mass
    means = (D**2) @ mass / mass.sum()
    return float(np.average(means, weights=mass[asked]) * mass.sum() / 2)


def compliance(lengths: Lengths, slack: float, n_jobs: int | None = None) -> float:
    """The e of the programme for a mean relative error `slack` of the squared lengths."""
    if slack == 0:
        return 0.0
    return slack * len(lengths.squares) / trace_bound(lengths, n_jobs)


# --- all of K -------------------------------------------------------------------------------


def interior_point(
    lengths: Lengths,
    *,
    inequality: bool = False,
    give: float = 0.0,
    tol: float = 1e-7,
    max_iter: int = 100,
    watch: Watch | None = None,
    view: Callable[[Array], Array] | None = None,
    n_jobs: int | None = None,
) -> Unfolded:
    """All of K by a primal-dual interior-point method.

    Helmberg, Rendl, Vanderbei and Wolkowicz's (1996) direction with Mehrotra's predictor and
    corrector, from a start on the central path: uniform tensions are feasible for the dual.
    The Schur complement is (B X B') * (B Z^-1 B') entry by entry. Time per iteration m^3 / 3 for m
    edges, memory three m x m matrices.

    Parameters
    ----------
    give : the e of the programme, see `compliance`.
    tol : relative duality gap at which to stop.
    watch : told each iteration's gap, and the coordinates `view(K)`.
    """
    m = len(lengths.squares)
    memory.claim(
        3 * 8 * m * m,
        f"The semidefinite programme of {m} edges",
        "Set solver='factorized', or fewer neighbours.",
    )
    state = _Path(lengths, inequality, give, n_jobs)
    history: list[float] = []
    best, merit = state.snapshot(), np.inf

    def iterate(watch: Watch) -> None:
        nonlocal best, merit
        stuck = 0
        for iteration in range(1, max_iter + 1):
            gap, error = state.gap(), state.error()
            now = max(gap / tol, error / RESIDUAL)
            history.append(gap)
            if now < merit:
                stuck = stuck if now > 0.9 * merit else 0
                best, merit = state.snapshot(), now
            else:
                stuck += 1
            shown = view(state.gram()) if view is not None else np.empty((0, 0))
            patience = (
                3 if give and merit < 1000 else 15
            )  # near the end rounding alone stops progress
            if watch(iteration, gap, shown) or merit <= 1 or stuck > patience or not state.step():
                return

    with native.blas_on_one_thread(), watch or Watch("Interior point", max_iter) as watching:
        iterate(watching)
    return Unfolded(*best, np.array(history))


class _Path:
    """The iterates: X = K + mu u u' > 0, the slacks s, the tensions y and Z(y) > 0.

    u is the unit vector along sqrt(mass), where K vanishes; the component there only keeps the
    matrices invertible and is seen by no constraint.
    """

    def __init__(self, lengths: Lengths, inequality: bool, give: float, n_jobs: int | None) -> None:
        self.B, self.give, self.inequality, self.n_jobs = (
            lengths.incidence(),
            give,
            inequality,
            n_jobs,
        )
        n, m = lengths.n, len(lengths.squares)
        self.heads, self.tails = lengths.heads, lengths.tails
        self.left, self.right = self.B.data[0::2], self.B.data[1::2]
        self.root = 1 / np.sqrt(lengths.mass)
        u = np.sqrt(lengths.mass)
        u /= np.linalg.norm(u)
        self.outer = np.outer(u, u)
        self.u = u
        uniform = self._laplacian(np.ones(m))
        from scipy.linalg import eigvalsh

        slowest = float(eigvalsh(uniform + m * self.outer, subset_by_index=(0, 0))[0])
        self.y = np.full(m, 2 / slowest)
        self.Z = self._dual_matrix(self.y)
        inverse = np.linalg.inv(self.Z)
        mu = (m + give * self.y.sum()) / max(float(self._squares(inverse).sum()), 1e-300)
        self.X = mu * (inverse + inverse.T) / 2
        self.s = mu / self.y if inequality else np.zeros(m)
        self.count = n - 1 + (m if inequality else 0)

    def snapshot(self) -> tuple[Array, Array, float, float]:
        return self.gram(), self.y.copy(), self.gap(), self.error()

    def gram(self) -> Array:
        """K of the points themselves, without their masses."""
        return np.asarray(self._inside(self.X) * self.root[:, None] * self.root)

    def complementarity(self) -> float:
        inside = float(
            (self.X * self.Z).sum() - self.u @ self.X @ self.u * (self.u @ self.Z @ self.u)
        )
        return inside + float(self.s @ self.y)

    def gap(self) -> float:
        return self.complementarity() / float(self.y.sum() + self.give / 2 * self.y @ self.y)

    def error(self) -> float:
        return float(np.abs(self._squares(self.X) + self.s - self.give * self.y - 1).max())

    def step(self) -> bool:
        """One predictor and corrector; false where rounding leaves nothing to gain."""
        m, mu = len(self.y), self.complementarity() / self.count
        try:
            lower_x, lower_z = np.linalg.cholesky(self.X), np.linalg.cholesky(self.Z)
            inverse = np.linalg.inv(self.Z)
            inverse = (inverse + inverse.T) / 2
            solve = self._schur(inverse)
        except np.linalg.LinAlgError:
            return False
        weight = self._squares(inverse)

        def direction(mu: float, second: tuple[Array, ...] | None = None) -> tuple[Array, ...]:
            rhs = mu * weight - 1 - self.give * self.y
            curved, bent = np.zeros(()), np.zeros(m)
            if second is not None:
                dX, dZ, ds, dy = second
                curved = _symmetric(dX @ dZ @ inverse)
                rhs = rhs - self._squares(curved)
                bent = ds * dy / self.y
            if self.inequality:
                rhs = rhs + mu / self.y - bent
            dy = solve(rhs)
            dZ = self._laplacian(dy)
            dX = mu * inverse - self.X - _symmetric(self.X @ dZ @ inverse) - curved
            ds = (mu - self.s * dy) / self.y - self.s - bent if self.inequality else np.zeros(m)
            return dX, dZ, ds, dy

        def reach(move: tuple[Array, ...], share: float) -> tuple[float, float]:
            dX, dZ, ds, dy = move
            primal, dual = _farthest(lower_x, dX), _farthest(lower_z, dZ)
            if self.inequality:
                primal, dual = min(primal, _ratio(self.s, ds)), min(dual, _ratio(self.y, dy))
            return min(1.0, share * primal), min(1.0, share * dual)

        guess = direction(0.0)
        primal, dual = reach(guess, 1.0)
        X, Z = self._inside(self.X + primal * guess[0]), self.Z + dual * guess[1]
        ahead = float((X * Z).sum() + (self.s + primal * guess[2]) @ (self.y + dual * guess[3]))
        centering = float(np.clip(ahead / self.count / mu, 1e-2, 1)) ** 3
        if min(primal, dual) < 0.1:
            centering = max(centering, 0.3)
        move = direction(max(centering, 1e-4) * mu, guess)
        primal, dual = reach(move, 0.95)
        if not np.isfinite(primal + dual) or max(primal, dual) < 1e-8:
            return False
        self.X = self._inside(_symmetric(self.X + primal * move[0])) + mu * self.outer
        self.s = self.s + primal * move[2]
        self.y = self.y + dual * move[3]
        self.Z = self._dual_matrix(self.y)
        return True

    def _schur(self, inverse: Array) -> Callable[[Array], Array]:
        """The factored Schur complement as a solver."""
        from scipy.linalg import solve_triangular

        m = len(self.y)
        left, right = self._differences(self.X), self._differences(inverse)
        M = np.empty((m, m))
        diagonal = np.full(m, self.give)
        if self.inequality:
            diagonal += self.s / self.y
        diagonal += self._squares(self.X) * self._squares(inverse)
        if not diagonal.min() > 0:
            raise np.linalg.LinAlgError
        scale = 1 / np.sqrt(diagonal)

        def fill(rows: slice) -> None:
            M[rows] = self._columns(left[rows])
            M[rows] *= self._columns(right[rows])
            M[rows] *= scale[rows, None]
            M[rows] *= scale

        native.run(fill, native.blocks(m), self.n_jobs)
        M.flat[:: m + 1] = 1 + 1e-14
        cholesky_in_place(M, self.n_jobs)

        def solve(b: Array) -> Array:
            half = solve_triangular(M, scale * b, lower=True, check_finite=False)
            full = solve_triangular(M, half, lower=True, trans="T", check_finite=False)
            return np.asarray(scale * full)

        return solve

    def _differences(self, X: Array) -> Array:
        """B X for a dense X."""
        return np.asarray(self.left[:, None] * X[self.heads] + self.right[:, None] * X[self.tails])

    def _columns(self, rows: Array) -> Array:
        """rows B' for some rows."""
        return np.asarray(rows[:, self.heads] * self.left + rows[:, self.tails] * self.right)

    def _squares(self, X: Array) -> Array:
        """The squared lengths b_k' X b_k."""
        i, j, a, b = self.heads, self.tails, self.left, self.right
        return np.asarray(a * a * X[i, i] + 2 * a * b * X[i, j] + b * b * X[j, j])

    def _laplacian(self, y: Array) -> Array:
        """sum_k y_k b_k b_k'."""
        weighted = self.B.copy()
        weighted.data = self.B.data * np.repeat(y, 2)
        return np.asarray((self.B.T @ weighted).toarray())

    def _dual_matrix(self, y: Array) -> Array:
        """Z, one along u."""
        Z = self._laplacian(y) + 2 * self.outer
        Z.flat[:: len(Z) + 1] -= 1
        return np.asarray(Z)

    def _inside(self, X: Array) -> Array:
        """X without its component along u."""
        X = X - np.outer(X @ self.u, self.u)
        return np.asarray(X - np.outer(self.u, self.u @ X))


def _symmetric(A: Array) -> Array:
    return np.asarray((A + A.T) / 2)


def _farthest(lower: Array, D: Array) -> float:
    """The largest t for which L L' + t D is positive semidefinite."""
    from scipy.linalg import eigvalsh, solve_triangular

    half = solve_triangular(lower, D, lower=True, check_finite=False)
    both = solve_triangular(lower, half.T, lower=True, check_finite=False)
    if not np.isfinite(both).all():
        return 0.0
    least = float(eigvalsh(_symmetric(both), subset_by_index=(0, 0), check_finite=False)[0])
    return np.inf if least >= 0 else -1 / least


def _ratio(x: Array, dx: Array) -> float:
    """The largest t for which x + t dx is not negative."""
    falling = dx < 0
    return float((-x[falling] / dx[falling]).min(initial=np.inf))


# --- K of low rank ----------------------------------------------------------------------------


def factorized(
    lengths: Lengths,
    Q: Array,
    *,
    inequality: bool = False,
    give: float,
    n_jobs: int | None = None,
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
        for own in native.run(part, native.blocks(len(P), 4096), n_jobs):
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
    with native.blas_on_one_thread():
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
    watch: Watch,
    *,
    inequality: bool = False,
    give: float,
    loose: float | None = None,
    tol: float = 1e-7,
    view: Callable[[Array], Array] | None = None,
    n_jobs: int | None = None,
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
    chain = _Coordinates(lengths, inequality, n_jobs)
    root = np.sqrt(lengths.mass)[:, None]
    u = root / np.linalg.norm(root)
    Y = start * root
    Y = Y - u @ (u.T @ Y)
    scale = trace_bound(lengths, n_jobs)
    history: list[float] = []

    def descend(watch: Watch) -> None:
        nonlocal Y
        e = max(give, loose or give)
        damping = 1.0
        value = chain.value(Y, e)
        while len(history) < watch.max_iter:
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
            if watch(len(history), value, shown):
                return
            if gain <= (tol if e <= give else 1e-4) * scale:
                if e <= give:
                    return
                e = max(e / 10, give)
                damping, value = 1.0, chain.value(Y, e)
        worst = float(np.abs(np.sqrt(1 + chain.errors(Y)[1]) - 1).max(initial=0.0))
        if worst > WORST:
            checks.warn(
                f"{watch.label} stopped after max_iter={watch.max_iter} iterations, before it "
                f"converged: some distance to a neighbour is off by {worst:.0%}. Raise max_iter "
                "or slack."
            )

    with native.blas_on_one_thread(), watch:
        descend(watch)
    return Y / root, np.array(history)


class _Coordinates:
    """The objective -trace(Y'Y) + 1/(2 e) sum_k e_k^2 of coordinates and its convex model."""

    def __init__(self, lengths: Lengths, inequality: bool, n_jobs: int | None) -> None:
        self.B = lengths.incidence()
        self.C = self.B.T.tocsr()
        self.inequality, self.n_jobs = inequality, n_jobs
        self.heads, self.tails, self.n = lengths.heads, lengths.tails, lengths.n

    def errors(self, Y: Array) -> tuple[Array, Array]:
        P = native.spmm(self.B, Y, self.n_jobs)
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
        gradient = 2 / e * native.spmm(self.C, P * error[:, None], self.n_jobs) - 2 * Y
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
