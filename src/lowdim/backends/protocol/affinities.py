"""Probabilities and memberships of neighbours, from their distances."""

from __future__ import annotations

from typing import Any, Protocol

from lowdim.checks import Array


class Affinities(Protocol):
    """Weights of the edges of a neighbour graph."""

    def perplexity_affinities(
        self, indptr: Array, distances: Array, perplexity: float, *, squared: bool = False
    ) -> tuple[Array, Array]:
        """p proportional to exp(-beta d^2), with sum 1 and entropy log(perplexity) in each row.

        Rows are those of a CSR matrix. `squared` says that the distances have been squared. Returns
        p and the beta of each row.
        """

    def joint_probabilities(self, P: Any) -> Any:
        """(P + P') / 2, divided by the sum of its entries, for a CSR matrix P."""

    def negative_entropy(self, p: Array) -> float:
        """The sum of p log p, in double precision and in a fixed order; 0 log 0 is 0."""

    def memberships(
        self, indptr: Array, distances: Array, target: float, connectivity: float
    ) -> tuple[Array, Array, Array]:
        """Fuzzy memberships exp(-max(d - rho, 0) / sigma) that sum to `target` in each row.

        Rows are those of a CSR matrix, ascending. rho is the distance to the
        `connectivity`-th nearest neighbour, interpolated for fractions. Returns the memberships,
        rho and sigma.
        """
