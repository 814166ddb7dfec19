"""`suspects`: objects that are probably mislabelled, and outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.quality.labels import check_labels, class_codes
from lowdim.quality.rows import Rows, blocks_of, data_rows
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, short_repr

DEFAULT_NEIGHBORS = 10
MOST_LISTED = 20  # suspects that are printed
OUTLIER_DEVIATIONS = 5.0  # of the log outlier factor above its median
NORMAL_MAD = 1.4826  # standard deviations of a normal distribution per median absolute deviation


@dataclass(frozen=True, eq=False)
class Suspects:
    """Objects that are probably mislabelled or outliers, the most suspicious first.

    Attributes
    ----------
    objects : ndarray of shape (m,)
        Row numbers of the suspects.
    reasons : ndarray of shape (m,) of str
        "label" or "outlier".
    scores : ndarray of shape (m,)
        Suspicion between 0 and 1: for a label, the weight of neighbours with the suggested label
        as a share of that with either; for an outlier, 1 - 1 / outlier factor.
    labels, suggested : ndarray of shape (m,)
        The label of each suspect and the label that its neighbours suggest.
    n_same, n_suggested : ndarray of shape (m,)
        Number of the k nearest neighbours with the object's own and with the suggested label.
    label_scores, outlier_factors : ndarray of shape (n,)
        The score of the label, and the distance to the k-th neighbour as a multiple of the
        neighbours' median one, of every object.
    n_neighbors : int
        Number of neighbours k.
    """

    objects: Array
    reasons: Array
    scores: Array
    labels: Array
    suggested: Array
    n_same: Array
    n_suggested: Array
    label_scores: Array
    outlier_factors: Array
    n_neighbors: int

    def __len__(self) -> int:
        return len(self.objects)

    def why(self, at: int) -> str:
        """Say in a sentence why a suspect is one; `at` is its place in the list."""
        if self.reasons[at] == "outlier":
            return "It is far from its nearest neighbours, compared with the distances among them."
        label, suggested = self.labels[at], self.suggested[at]
        return (
            f"Of its {self.n_neighbors} nearest neighbours in the data, {self.n_suggested[at]} are "
            f"labelled {suggested} and {self.n_same[at]} {label}."
        )

    def __str__(self) -> str:
        if not len(self):
            return f"No suspects among {len(self.label_scores):,} objects."
        lines = [f"{len(self):,} suspects among {len(self.label_scores):,} objects", ""]
        lines.append("  object  score  reason   label -> suggested (neighbours with each)")
        for at in range(min(len(self), MOST_LISTED)):
            line = f"{self.objects[at]:8d}  {self.scores[at]:.3f}  {self.reasons[at]:<7}  "
            counts = f"({self.n_same[at]} and {self.n_suggested[at]} of {self.n_neighbors})"
            lines.append(line + f"{self.labels[at]} -> {self.suggested[at]} {counts}")
        if len(self) > MOST_LISTED:
            lines.append(f"and {len(self) - MOST_LISTED:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        facts = {"n_suspects": len(self), "n_objects": len(self.label_scores)}
        return short_repr(self, {**facts, "n_neighbors": self.n_neighbors})

    def _repr_html_(self) -> str:
        rows = [
            [
                str(self.objects[at]),
                f"{self.scores[at]:.2f}",
                str(self.labels[at]),
                str(self.suggested[at]) if self.reasons[at] == "label" else "",
                self.why(at),
            ]
            for at in range(min(len(self), MOST_LISTED))
        ]
        title = f"{len(self):,} suspects among {len(self.label_scores):,} objects"
        return html_table(title, ["object", "score", "label", "neighbours' label", "why"], rows)


@uses_threads
def suspects(
    X: Any,
    labels: Any,
    *,
    n_neighbors: int | None = None,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Suspects:
    """Find objects that are probably mislabelled, and outliers.

    Neighbours are those in the data, not on a map.

    Parameters
    ----------
    X : array-like
        The data as every estimator takes them, or all dissimilarities with
        `metric="precomputed"`.
    labels : array-like of shape (n,)
        The class of each object.
    n_neighbors : int, optional
        Number of neighbours; by default 10, or fewer for few objects.
    metric : str or callable, default="euclidean"
        How distances are measured.
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Suspects
        The suspects, ranked, with scores, neighbour counts and suggested labels.

    Notes
    -----
    Each of the k nearest neighbours votes for its label with a weight that falls with its distance,
    1 / (1 + (d / median d)²). The votes for a label are divided by those it could get at most: a
    class of m objects has at most m - 1 (or m) neighbours to vote for it, so members of small
    classes are not suspected for the size of their class. An object is suspected of a wrong label
    if another label gets more votes than its own; a class of a single object is never suspected.

    The outlier factor is the distance to the k-th neighbour over the median of the same of the
    neighbours, a simplified local outlier factor. An object is an outlier if the logarithm of its
    factor is more than five robust standard deviations above the median. The neighbours of an
    outlier are too far away to predict its label.

    The cost is that of all pairs of objects.

    References
    ----------
    Breunig, Kriegel, Ng and Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.

    Wilson, "Asymptotic properties of nearest neighbor rules using edited data", IEEE Transactions
    on Systems, Man and Cybernetics 2, 1972.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> y = np.repeat([0, 1], 30)
    >>> X = np.random.default_rng(0).normal(8 * y[:, None], size=(60, 2))
    >>> y[7] = 1
    >>> indices = quality.suspects(X, y)
    >>> indices.objects.tolist(), indices.suggested.tolist()
    ([7], [0])
    """
    data = data_rows(X, metric, metric_params)
    if data.n < 4:
        raise ValueError(f"X: n_samples = {data.n}, but suspects need at least 4 objects.")
    k = min(DEFAULT_NEIGHBORS, (data.n - 1) // 2) if n_neighbors is None else n_neighbors
    k = checks.integer(k, "n_neighbors", 1, data.n - 1, " (the number of other objects)")
    values = check_labels(labels, data.n)
    classes, codes = class_codes(values)
    ids, near = _neighbors(data, k)
    factors = _outlier_factors(ids, near)
    logs = np.log(factors)
    middle = float(np.median(logs))
    spread = NORMAL_MAD * float(np.median(np.abs(logs - middle)))
    outlier = (logs > middle + OUTLIER_DEVIATIONS * spread) & (factors > 1)
    scores, suggested = _label_scores(codes, ids, near, len(classes))
    total = np.where(outlier, 1 - 1 / factors, scores)
    indices = np.flatnonzero(outlier | (scores > 0.5))
    indices = indices[np.lexsort((indices, -total[indices]))]
    around = codes[ids[indices]]
    return Suspects(
        objects=indices,
        reasons=np.where(outlier[indices], "outlier", "label"),
        scores=total[indices],
        labels=classes[codes[indices]],
        suggested=classes[suggested[indices]],
        n_same=(around == codes[indices, None]).sum(axis=1),
        n_suggested=(around == suggested[indices, None]).sum(axis=1),
        label_scores=scores,
        outlier_factors=factors,
        n_neighbors=k,
    )


def _neighbors(data: Rows, k: int) -> tuple[Array, Array]:
    """Indices of and distances to the k nearest of all objects."""
    ids, near = [], []
    for rows in blocks_of(np.arange(data.n, dtype=np.int32), data.n):
        keys = data.keys(rows)
        keys[np.arange(len(rows)), rows] = np.inf
        nearest = backend().smallest(keys, k)
        ids.append(nearest[0])
        near.append(data.lengths(nearest[1]).astype(np.float64))
    return np.concatenate(ids), np.concatenate(near)


def _outlier_factors(ids: Array, near: Array) -> Array:
    """The distance to the k-th neighbour over the median of the neighbours' distances to theirs."""
    floor = float(np.finfo(np.float64).tiny)
    reach = near[:, -1]
    positive = reach[reach > 0]
    least = float(positive.min()) if len(positive) else 1.0  # duplicates have no scale of their own
    around = np.maximum(np.median(reach[ids], axis=1), least)
    return np.asarray(np.maximum(np.maximum(reach, least) / around, floor))


def _label_scores(codes: Array, ids: Array, near: Array, n_classes: int) -> tuple[Array, Array]:
    """The suspicion of every label and the label that neighbours suggest."""
    n, k = ids.shape
    sizes = np.bincount(codes, minlength=n_classes)
    middle = np.median(near, axis=1, keepdims=True)
    weights = 1 / (1 + (near / np.where(middle > 0, middle, 1.0)) ** 2)
    most = np.cumsum(weights, axis=1)  # the votes that a class with so many members could get
    own = _share(weights, codes[ids] == codes[:, None], most, sizes[codes] - 1)
    best, suggested = np.zeros(n), codes.copy()
    for at in range(k):
        other = codes[ids[:, at]]
        share = _share(weights, codes[ids] == other[:, None], most, sizes[other])
        better = (other != codes) & (share > best)
        best, suggested = np.where(better, share, best), np.where(better, other, suggested)
    total = own + best
    scores = np.where(total > 0, best / np.where(total > 0, total, 1.0), 0.0)
    scores[sizes[codes] == 1] = 0.0
    return scores, suggested


def _share(weights: Array, voting: Array, most: Array, members: Array) -> Array:
    """The votes of some neighbours as a share of those that so many members could give."""
    count = np.clip(members, 1, weights.shape[1]) - 1
    return np.asarray((weights * voting).sum(axis=1) / most[np.arange(len(most)), count])
