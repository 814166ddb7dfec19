"""Maximum variance unfolding of many points: a small programme in a basis, then low-rank descent.

See `semidefinite` for the programme.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import bsr_array, csr_array, eye_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import bottom_eigenpairs
from lowdim.numerics.eigensolvers import symmetric_lu
from lowdim.objects.objects import Objects
from lowdim.runtime import memory
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blas_on_one_thread, blocks, run
from lowdim.spectral.laplacian import laplacian, weight_matrix
from lowdim.spectral.maximum_variance.lengths import Lengths
from lowdim.spectral.maximum_variance.semidefinite import symmetric

EDGES_AT_ONCE = 4096  # in a block of the Hessian of the programme in few functions
BLOCKS_AT_ONCE = 16  # whose Hessians are in memory at the same time
FACTOR_FLOPS = 4e9  # of one coordinate, up to which a step is computed by a factorisation
BYTES_PER_ENTRY = 12  # of SuperLU's factors: a number and an index
SAMPLES = (500, 2000)  # objects of the samples by which memory is estimated
CG_STEPS, CG_TOLERANCE = 300, 1e-3  # of a step by conjugate gradients
WORST_ERROR = 0.2  # relative error of a length above which a fit that did not converge warns


def smooth_functions(lengths: Lengths, count: int, random_state: Any) -> Array:
    """The bottom eigenvectors of the graph Laplacian (Weinberger, Sha, Zhu and Saul 2006).

    They are orthonormal in the coordinates of `Lengths.incidence`, in which a function is
    multiplied by the root of the masses of the points.
    """
    eigenpairs = bottom_eigenpairs(
        laplacian(weight_matrix(lengths.adjacency(), "binary", 1.0)),
        min(count, lengths.n - 1),
        B=lengths.mass,
        null=np.ones(lengths.n),
        seed=random_state,
        announce=False,
    )
    return np.asarray(eigenpairs.vectors * np.sqrt(lengths.mass)[:, None])


def solve_in_span(
    lengths: Lengths, Q: Array, *, inequality: bool = False, compliance: float
) -> Array:
    """The r x r matrix L >= 0 of the best K = Q L Q' in the span of r orthonormal functions.

    A programme in r (r + 1) / 2 unknowns (Weinberger, Sha, Zhu and Saul 2006), solved by Newton
    steps on its logarithmic barrier. Q is in the coordinates of `Lengths.incidence`.
    """
    P = np.asarray(lengths.incidence() @ Q)
    rates, turn = np.linalg.eigh(P.T @ P)  # ordered by smoothness, L is nearly diagonal
    P = P @ turn
    weights = lengths.squares
    r = Q.shape[1]
    a, b = np.triu_indices(r)
    parts = blocks(len(P), EDGES_AT_ONCE)
    entries = (4 + min(BLOCKS_AT_ONCE, len(parts))) * len(a)
    entries += 3 * current().threads * min(EDGES_AT_ONCE, len(P))
    memory.claim(
        8 * len(a) * entries,
        f"The semidefinite programme in {r} functions",
        f"Set fewer of them: {argument('n_functions')}.",
    )
    root = np.where(a == b, 1.0, np.sqrt(2.0))  # symmetric matrices are stored as upper triangles
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
        return float((errors(L) ** 2).sum()) / (2 * compliance) - float(np.trace(L)) - mu * barrier

    def curvature(active: Array) -> Array:
        """The Hessian of half of the sum of squared errors."""

        def part(rows: slice) -> Array:
            p = P[rows][active[rows]]
            phi = p[:, a] * p[:, b] * (root * weights[rows][active[rows], None])
            return np.asarray(phi.T @ phi)

        total = np.zeros((len(a), len(a)))
        for first in range(0, len(parts), BLOCKS_AT_ONCE):
            for own in run(part, parts[first : first + BLOCKS_AT_ONCE]):
                total += own
        return total

    def barrier_curvature(inverse: Array) -> Array:
        """The Hessian of -log det L."""
        H = inverse[np.ix_(a, a)] * inverse[np.ix_(b, b)]
        H += inverse[np.ix_(a, b)] * inverse[np.ix_(b, a)]
        return np.asarray(H * (root / 2) * root[:, None])

    L = np.diag(len(P) / r / np.maximum(rates, 1e-12 * rates[-1]))  # with the right mean length
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
                slope = P.T @ (P * (e * weights / compliance)[:, None]) - mu * inverse
                g = slope[a, b] * root - trace
                H = penalty / compliance + mu * barrier_curvature(inverse)
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
                converged = -drop <= max(1e-6 * mu, 1e-12 * abs(now))
                if converged or t <= 1e-10:  # the latter by rounding
                    break
            mu *= 0.1
    return symmetric(turn @ L @ turn.T)


def factorizes(graph: Any) -> bool:
    """Whether steps of `low_rank` factorise a matrix with the pattern of a CSR graph.

    Graphs of data of many dimensions have large factors; steps are then computed iteratively.
    """
    limit = int(np.sqrt(FACTOR_FLOPS / graph.shape[0]))
    return backend().level_structure(graph, limit)[1] <= limit


def low_rank(
    lengths: Lengths,
    start: Array,
    monitor: Monitor,
    *,
    inequality: bool = False,
    compliance: float,
    first_compliance: float | None = None,
    tol: float = 1e-7,
    view: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """The programme over K = Y Y' with a few columns (Burer and Monteiro 2003).

    Levenberg-Marquardt steps on the coordinates Y, each with a positive definite approximation of
    the Hessian, which is factorised if that is cheap. With enough columns a local optimum is the
    optimum of the programme; with few columns its trace is slightly smaller. The constant e begins
    with `first_compliance` and is divided by ten until it reaches `compliance`; iterations with one
    value of it end when the objective decreases by less than `tol` times the bound of the trace.
    `view` is a function from Y to the coordinates that the callback gets.

    Returns
    -------
    Y, history : array of shape (n, p), and the objective, which is minimised, of each iteration
    """
    objective = _Coordinates(lengths, inequality)
    root = np.sqrt(lengths.mass)[:, None]
    u = root / np.linalg.norm(root)
    Y = start * root
    Y = Y - u @ (u.T @ Y)
    scale = lengths.trace_bound
    history: list[float] = []

    def descend(monitor: Monitor) -> None:
        nonlocal Y, history
        e = max(compliance, first_compliance or compliance)
        damping, ended = 1.0, False
        value = objective.value(Y, e)

        def state() -> dict[str, Any]:
            numbers = {"e": e, "damping": damping, "value": value, "ended": ended}
            return {"Y": Y, "history": np.array(history), **numbers}

        if (saved := monitor.load_state({"Y": Y})) is not None:
            Y, history, ended = saved["Y"], saved["history"].tolist(), saved["ended"]
            e, damping, value = saved["e"], saved["damping"], saved["value"]
        while len(history) < monitor.max_iter and not ended:
            gradient, factor = objective.model(Y, e, damping)
            while True:
                moved = Y - factor(gradient)
                moved -= u @ (u.T @ moved)  # stay centred
                after = objective.value(moved, e)
                if after <= value or damping > 1e12:
                    break
                damping *= 8
                factor = objective.model(Y, e, damping)[1]
            gain = value - after
            if after <= value:
                Y, value = moved, after
            damping = max(damping / 3, 1e-6)
            history.append(value)
            shown = view(Y / root) if view is not None else np.empty((0, 0))
            if monitor(len(history), value, shown):
                return
            if gain <= (tol if e <= compliance else 1e-4) * scale:
                ended = e <= compliance
                if not ended:
                    e = max(e / 10, compliance)
                    damping, value = 1.0, objective.value(Y, e)
            monitor.keep(state)
        if ended:
            return
        worst = float(np.abs(np.sqrt(1 + objective.errors(Y)[1]) - 1).max(initial=0.0))
        if worst > WORST_ERROR:
            checks.warn(
                f"{monitor.label} stopped after {argument('max_iter', monitor.max_iter)} "
                "iterations, before it converged: some distance to a neighbour is off by "
                f"{worst:.0%}. Raise {argument('max_iter')} or {argument('slack')}."
            )

    with blas_on_one_thread(), monitor:
        descend(monitor)
    return Y / root, np.array(history)


class _Coordinates:
    """The objective 1/(2 e) sum_k r_k^2 - trace(Y'Y), and its quadratic approximations.

    r_k are the relative errors of the squared lengths.
    """

    def __init__(self, lengths: Lengths, inequality: bool) -> None:
        self.B = lengths.incidence()
        self.C = self.B.T.tocsr()
        self.inequality = inequality
        self.heads, self.tails, self.n = lengths.heads, lengths.tails, lengths.n
        self.factorizes = factorizes(lengths.adjacency())

    def errors(self, Y: Array) -> tuple[Array, Array]:
        """The scaled edge vectors B Y, and the errors r_k."""
        P = backend().spmm(self.B, Y)
        e = np.einsum("mp,mp->m", P, P) - 1
        return P, np.maximum(e, 0) if self.inequality else e

    def value(self, Y: Array, e: float) -> float:
        """The objective."""
        error = self.errors(Y)[1]
        return float(error @ error) / (2 * e) - float((Y * Y).sum())

    def model(self, Y: Array, e: float, damping: float) -> tuple[Array, Callable[[Array], Array]]:
        """The gradient, and a function that solves with a positive definite model of the Hessian.

        Terms that may be negative definite are left out: those of the trace, and those of edges
        that are too short, across their direction. The function factorises the model, or iterates
        if its factors would be large.
        """
        P, error = self.errors(Y)
        gradient = 2 / e * backend().spmm(self.C, P * error[:, None]) - 2 * Y
        stretched = error > 0 if self.inequality else np.ones(len(error), dtype=bool)
        # Each edge adds (e_i - e_j) (e_i - e_j)' times this p x p block.
        edge_blocks = 2 * P[:, :, None] * P[:, None, :] * stretched[:, None, None]
        edge_blocks += np.maximum(error, 0)[:, None, None] * np.eye(Y.shape[1])
        edge_blocks *= 2 / e
        solver = self._factors if self.factorizes else self._iterations
        return gradient, solver(edge_blocks, damping)

    def _iterations(self, edge_blocks: Array, damping: float) -> Callable[[Array], Array]:
        """Conjugate gradients, preconditioned by the blocks on the diagonal, to a few digits."""
        m, p = edge_blocks.shape[:2]
        squares = self.B.data**2
        own = np.repeat(edge_blocks.reshape(m, p * p), 2, axis=0) * squares[:, None]
        ends = csr_array((np.ones(2 * m), self.B.indices, np.arange(2 * m + 1)), (2 * m, self.n))
        diagonal = backend().spmm(ends.T.tocsr(), own).reshape(self.n, p, p)
        inverse = np.linalg.inv(diagonal + damping * np.eye(p))

        def product(V: Array) -> Array:
            pulled = np.matmul(edge_blocks, backend().spmm(self.B, V)[:, :, None])[:, :, 0]
            return np.asarray(backend().spmm(self.C, pulled) + damping * V)

        def solve(g: Array) -> Array:
            x, residual = np.zeros_like(g), g.copy()
            target = CG_TOLERANCE * float(np.linalg.norm(g))
            z = np.matmul(inverse, residual[:, :, None])[:, :, 0]
            direction, before = z, float((residual * z).sum())
            for _ in range(CG_STEPS):
                image = product(direction)
                length = before / float((direction * image).sum())
                x += length * direction
                residual -= length * image
                if float(np.linalg.norm(residual)) <= target:
                    break
                z = np.matmul(inverse, residual[:, :, None])[:, :, 0]
                now = float((residual * z).sum())
                direction, before = z + now / before * direction, now
            return x

        return solve

    def _factors(self, edge_blocks: Array, damping: float) -> Callable[[Array], Array]:
        n, p = self.n, edge_blocks.shape[1]
        a, b = self.B.data[0::2, None, None], self.B.data[1::2, None, None]
        own = np.arange(n)
        rows = np.concatenate([self.heads, self.tails, self.heads, self.tails, own])
        columns = np.concatenate([self.heads, self.tails, self.tails, self.heads, own])
        cross = a * b * edge_blocks
        damped = np.broadcast_to(damping * np.eye(p), (n, p, p))
        data = np.concatenate([a * a * edge_blocks, b * b * edge_blocks, cross, cross, damped])
        order = np.argsort(rows, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        H = bsr_array((data[order], columns[order], indptr), shape=(n * p, n * p))
        full = csr_array(H).tocsc()
        full.sum_duplicates()
        lu = symmetric_lu(full)
        return lambda g: np.asarray(lu.solve(g.ravel()).reshape(n, p))


def claim_factors(objects: Objects, n_neighbors: Callable[[int], int], block: int) -> None:
    """Raise MemoryError if factors of the Hessian of many objects would take too much memory.

    How many entries the factors have depends on the dimension of the data: of order n log n in two
    dimensions, n^2 in many. They are counted for the neighbour graphs of two samples of the
    objects, and extrapolated by a power law. The Hessian has `block` rows for each object.
    """
    n, counts = objects.n, []
    for size in SAMPLES:
        some = objects.subset(np.linspace(0, n - 1, size).astype(np.int64))
        pattern = some.neighbor_graph(n_neighbors(size), method="exact").adjacency()
        pattern.data[:] = 1
        degrees = 1 + pattern.sum(axis=1).max()
        counts.append(symmetric_lu(degrees * eye_array(size) - pattern).nnz)
    power = np.log(counts[1] / counts[0]) / np.log(SAMPLES[1] / SAMPLES[0])
    entries = min(float(n) * n, counts[1] * (n / SAMPLES[1]) ** power)
    memory.claim(
        int(BYTES_PER_ENTRY * block**2 * entries),
        f"MaximumVarianceUnfolding of {n} objects",
        "Take a sample of the objects and place the others with transform, or set fewer "
        "neighbours.",
    )
