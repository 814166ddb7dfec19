"""Weighted samples of the other objects of each object."""

from __future__ import annotations

from typing import Protocol

from lowdim.checks import Array


class Samples(Protocol):
    """Searches in groups on a map, and lists of candidates that become weighted lists."""

    def nearest_in_groups(self, Y: Array, groups: Array, k: int) -> tuple[Array, Array, Array]:
        """Each point's k nearest other points in its group, ordered by (distance, index).

        Parameters
        ----------
        Y : float64 array of shape (n, dim)
        groups : int32 array of shape (n,)
            The number of the group of each point, from 0.
        k : int

        Returns
        -------
        indices : int32 array of shape (n, k)
            -1 if the group has fewer points.
        distances : float64 array of shape (n, k)
            Infinite if the group has fewer points.
        order : int32 array of shape (n,)
            The points group by group, near ones near each other.
        """

    def drop_listed(self, listed: Array, ids: Array) -> None:
        """Set entries of rows of `ids` to -1 that the same rows of `listed` have.

        Both are int32 arrays with n rows of numbers less than n; -1 is none.
        """

    def join_samples(
        self,
        near: tuple[Array, Array],
        more: tuple[Array, Array],
        radii: Array,
        map_radii: Array,
        Y: Array,
        labels: Array,
        ratio: int,
        largest: float,
        weights: Array,
    ) -> tuple[Array, Array, Array, Array]:
        """Join two lists of candidates of each object to one, with weights.

        The level of a distance is the number of radii of the object that are less. That of a
        candidate is the smaller one of its levels in the data and on the map. It stays if its label
        is that of the object modulo ratio^level.

        Parameters
        ----------
        near, more : (indices, distances)
            int32, -1 is none, and the distances in the data, each with n rows; no candidate is in
            both.
        radii : array of shape (n, n_levels - 1)
            In the data, ascending.
        map_radii : float64 array of shape (n, n_map_levels - 1)
            On the map, ascending.
        Y : float64 array of shape (n, dim)
            The map.
        labels : int32 array of shape (n,)
        ratio : int
        largest : float
            The unit of distances.
        weights : float32 array of shape (n_levels,)
            By the level of a candidate.

        Returns
        -------
        indptr, indices, squared, weights : array
            Where lists begin, candidates, their squared distances and weights (float32). The
            candidates of a list are ordered by their level on the map.
        """
