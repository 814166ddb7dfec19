"""The objectives of stochastic neighbour embedding: Kullback-Leibler divergences.

They compare the probabilities of neighbours in the data (P) and in the embedding (Q). Gradients are
an attraction minus a repulsion; w, u and the width are those of `Similarity`. `PairDivergence`
and `RowDivergence` compute with NumPy arrays or with tensors, as `Backend.descend` asks for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.backends.generic import convert_like, subtract_scaled, to_numpy, total
from lowdim.backends.native.repulsion import Repulsion
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array
from lowdim.neighbor_embedding.samples import Lists
from lowdim.runtime.elementary import log

MIN_Z = 1e-3  # lower bound of Z_i, which vanishes far from all points; bounds the repulsion there


class PairDivergence:
    """KL(P || Q) of joint probabilities, q_ij = m_i m_j w_ij / Z (van der Maaten and Hinton 2008).

    The gradient is 4 / width * (sum_j p_ij u_ij (y_i - y_j) - sum_j q_ij u_ij (y_i - y_j)). P is
    symmetric with sum 1. The masses m are 1 unless given (Yang, Peltonen and Kaski 2014).

    With `repeated` the mass of a point is a number of equal objects at its place, p_ii the
    probability of pairs of them, and the gradient that of each of them.
    """

    def __init__(
        self,
        P: Any,
        similarity: Similarity,
        repulsion: Repulsion,
        mass: Array | None = None,
        repeated: bool = False,
    ) -> None:
        self.attraction = backend().attraction(P, similarity)
        self.similarity, self.repulsion, self.exaggeration = similarity, repulsion, 1.0
        self.mass = None if mass is None else mass.astype(P.dtype)
        self._mass: dict[type, Any] = {}  # by the kind of array
        self.constant = backend().negative_entropy(P.data)
        if mass is not None:
            rows = np.asarray(P.sum(axis=1), dtype=np.float64).ravel()
            self.constant -= 2 * float((rows * log(mass)).sum())
        self.repeated, self.own_pairs = repeated, 0.0
        if mass is not None and repeated:
            others = np.maximum(mass - 1, 0)
            self.own_pairs = float((mass * others).sum())
            own = np.where(others > 0, log(mass / np.where(others > 0, others, 1)), 0)
            self.constant += float((P.diagonal() * own).sum())

    def __call__(self, Y: Array, /, *, value: bool = True) -> tuple[float, Array]:
        logs, gradient = self.attraction(Y, loss=value)
        if self.mass is not None and type(Y) not in self._mass:
            self._mass[type(Y)] = convert_like(self.mass, Y)
        mass = self._mass.get(type(Y))
        push, z = self.repulsion(Y, mass)
        if mass is not None:
            push *= mass[:, None]
            z = z * mass
        normalizer = total(z) + self.own_pairs
        scale = 4 / self.similarity.width
        subtract_scaled(gradient, scale * self.exaggeration, push, scale / normalizer)
        if mass is not None and self.repeated:
            gradient /= mass[:, None]
        return self.constant - logs + float(log(float(normalizer))) if value else np.nan, gradient

    def renumber(self, order: Array) -> None:
        """Call point order[i] by the number i."""
        self.attraction.renumber(order)
        self.mass = None if self.mass is None else self.mass[order]
        self._mass = {}


class RowDivergence:
    """The mean over i of KL(P_i || Q_i), q_{j|i} = w_ij / Z_i (Hinton and Roweis 2002).

    The gradient is 2 / (n width) * sum_j (p_{j|i} + p_{i|j} - q_{j|i} - q_{i|j}) u_ij (y_i - y_j):
    the part with q_{i|j} is the repulsion of masses 1 / Z_j.
    """

    def __init__(self, P: Any, similarity: Similarity, repulsion: Repulsion) -> None:
        self.attraction = backend().attraction(backend().symmetrize(P, "half-sum"), similarity)
        self.similarity, self.repulsion, self.exaggeration = similarity, repulsion, 1.0
        self.n = P.shape[0]
        self.constant = backend().negative_entropy(P.data)

    def __call__(self, Y: Array, /, *, value: bool = True) -> tuple[float, Array]:
        logs, gradient = self.attraction(Y, loss=value)
        push, z = self.repulsion(Y)
        z = z.clip(MIN_Z)
        inverse = 1 / z
        push *= inverse[:, None]
        push += self.repulsion(Y, inverse)[0]
        scale = 2 / (self.similarity.width * self.n)
        subtract_scaled(gradient, 2 * scale * self.exaggeration, push, scale)
        if not value:
            return np.nan, gradient
        return (self.constant - logs + total(log(to_numpy(z)))) / self.n, gradient

    def renumber(self, order: Array) -> None:
        """Call point order[i] by the number i."""
        self.attraction.renumber(order)


class AllPairsDivergence:
    """The mean over i of trade_off KL(P_i || Q_i) + (1 - trade_off) KL(Q_i || P_i), q_{j|i} the
    mean over scales of Gaussians exp(-b_hi |y_i - y_j|^2) / Z_hi, over all pairs.

    Missed neighbours increase the first divergence, false neighbours the second (Venna et al.
    2010). `costs`, of shape (n, n - 1), are -log p_{j|i} of all j != i, which do not underflow;
    `precisions`, of shape (n, n_scales), are b, ascending. With g_ij the derivative of the
    divergence of row i with respect to |y_i - y_j|^2, the gradient is 2 sum_j (g_ij + g_ji) (y_i -
    y_j).
    """

    def __init__(self, costs: Array, precisions: Array, trade_off: float = 1.0) -> None:
        self.costs, self.precisions = costs, np.ascontiguousarray(precisions, dtype=np.float64)
        self.trade_off = trade_off

    def __call__(self, Y: Array) -> tuple[float, Array]:
        missed, false, gradient = self._evaluate(Y)
        gradient /= len(Y)
        return (self.trade_off * missed + (1 - self.trade_off) * false) / len(Y), gradient

    def divergences(self, Y: Array) -> tuple[float, float]:
        """The means of KL(P_i || Q_i) and of KL(Q_i || P_i)."""
        missed, false, _ = self._evaluate(Y)
        return missed / len(Y), false / len(Y)

    def _evaluate(self, Y: Array) -> tuple[float, float, Array]:
        return backend().divergence_gradient(self.costs, self.precisions, self.trade_off, Y)


class ListedDivergence(AllPairsDivergence):
    """`AllPairsDivergence` over lists of some of the other objects of each object.

    An entry of a list stands for as many objects as its weight says, in p and in q. The normalizers
    of both are sums over the same list, so that no noise of the sample remains where p and q agree.
    `widths` are the precisions of the Gaussians in the data, `precisions` those in the embedding.
    """

    def __init__(
        self, lists: Lists, widths: Array, precisions: Array, trade_off: float = 1.0
    ) -> None:
        self.trade_off = trade_off
        self._of_lists = lists.divergence(widths, precisions, trade_off)

    def _evaluate(self, Y: Array) -> tuple[float, float, Array]:
        return self._of_lists(Y)
