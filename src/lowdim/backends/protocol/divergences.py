"""Divergences between the probabilities of neighbours."""

from __future__ import annotations

from typing import Protocol

from lowdim.checks import Array


class Divergences(Protocol):
    """Divergences of neighbour probabilities, and errors of stochastic neighbours."""

    def divergence_gradient(
        self, costs: Array, precisions: Array, trade_off: float, Y: Array
    ) -> tuple[float, float, Array]:
        """Divergences between neighbour probabilities of all pairs, and their gradient.

        Parameters
        ----------
        costs : array of shape (n, n - 1)
            -log p of all other objects, in ascending order of their index.
        precisions : array of shape (n, n_scales)
            Ascending; q_i is the mean over the scales of softmax(-precision |y_i - y_j|^2).
        trade_off : float
            Weight t of the first divergence.
        Y : float64 array of shape (n, dim)

        Returns
        -------
        forward, backward : float
            sum_i KL(p_i || q_i) and sum_i KL(q_i || p_i).
        gradient : array of shape (n, dim)
            Of t * forward + (1 - t) * backward.
        """

    def listed_precisions(
        self, indptr: Array, squared: Array, weights: Array, perplexities: Array
    ) -> Array:
        """Precisions of Gaussian probabilities of a given perplexity, for weighted lists.

        Entry k of a list, at the squared distance squared[k], stands for weights[k] objects. The
        lists begin at `indptr`.

        Returns
        -------
        array of shape (n, n_perplexities)
        """

    def mixture_costs(
        self, indptr: Array, squared: Array, weights: Array, precisions: Array
    ) -> Array:
        """-log p of an object of each entry of weighted lists.

        p is the mean over the scales of exp(-precision squared), normalized to a weighted sum of 1
        over the list; precisions, of shape (n, n_scales), ascend.
        """

    def listed_divergence_gradient(
        self,
        indptr: Array,
        indices: Array,
        costs: Array,
        weights: Array,
        precisions: Array,
        trade_off: float,
        Y: Array,
    ) -> tuple[float, float, Array]:
        """`divergence_gradient` for lists of some of the other objects.

        Entry k of a list stands for weights[k] objects at the place of the object indices[k], both
        in the sums of the divergences and in the normalization of q. Computed in the precision of
        `costs`, `weights` and `precisions`.
        """

    def place_by_divergence(
        self,
        costs: Array,
        precisions: Array,
        trade_off: float,
        embedding: Array,
        starts: Array,
        max_iter: int,
        tol: float,
        lists: tuple[Array, Array] | None = None,
    ) -> Array:
        """New points that minimise the same divergences against a fixed embedding.

        `costs` has one row per new point and one column per fixed point. `starts`, of shape
        (n_new, n_starts, dim), are tried and the best one is followed for at most `max_iter` steps,
        until a step is shorter than `tol` in units of the narrowest Gaussian. Each point is
        computed independently.

        With `lists`, the indices and weights of some fixed points for each new point, `costs` has
        one column for each entry of these lists.
        """

    def stochastic_neighbor_errors(
        self, Z: Array, classes: Array, accuracy: float
    ) -> tuple[float, Array]:
        """Expected errors of classification by a stochastic neighbour, and their gradient.

        Point i takes the class of another point j with probability p_ij, the softmax of
        ``-|z_i - z_j|^2`` over all j other than i.

        Parameters
        ----------
        Z : float64 array of shape (n, dim)
        classes : int32 array of shape (n,)
            In ascending order.
        accuracy : float
            Squared distances may have errors of about this size; 0 for double precision. Of a row,
            probabilities that add up to less than a tenth of it may be left out if none is above
            1e-9 of the largest one, and those below 1e-13 of that in any case.

        Returns
        -------
        value : float
            The sum of ``1 - sum_j p_ij`` over all i, with the j of the class of i.
        gradient : array of shape (n, dim)
        """
