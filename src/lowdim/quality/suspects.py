"""`suspects`: objects that are probably mislabelled, and outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.quality.labels import check_labels, class_codes, is_scale
from lowdim.quality.rows import choose_objects, data_rows
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_table, short_repr, text_table

DEFAULT_NEIGHBORS = 10
MAX_OBJECTS_SEARCHED = 100_000
SCALES = (0.5, 1.0, 2.0, 4.0)  # sizes of the neighbourhoods that vote, as multiples of k
VOTE_FLOOR = 0.02  # share of the votes that any label could get by chance
PROFILE_FLOOR = 0.001  # the same on average over a class
WEIGHT = 0.75  # of each of the two log likelihoods, as neighbours are not independent witnesses
SUSPICIOUS = 0.8  # the score from which a label is suspected
MOST_LISTED = 20  # suspects that are printed
MOST_REPORTED = 20_000  # objects among which a report seeks suspects
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
        Suspicion between 0 and 1: for a label, one minus its probability given the labels of the
        neighbours; for an outlier, 1 - 1 / outlier factor.
    labels, suggested : ndarray of shape (m,)
        The label of each suspect and the label that its neighbours suggest.
    n_same, n_suggested : ndarray of shape (m,)
        Number of the k nearest neighbours with the object's own and with the suggested label.
    label_scores, outlier_factors : ndarray of shape (n,)
        The score of the label, and the distance to the k-th neighbour as a multiple of the
        neighbours' median one, of every object; NaN for those that were not searched.
    n_neighbors : int
        Number of neighbours k.
    n_searched : int
        Number of objects that were searched; a sample if it is less than n.
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
    n_searched: int
    HEAD: ClassVar = ("object", "score", "label", "neighbours' label", "why")

    def __len__(self) -> int:
        return len(self.objects)

    def why(self, at: int) -> str:
        """Say in a sentence why a suspect is one; `at` is its place in the list."""
        if self.reasons[at] == "outlier":
            return "It is far from its nearest neighbours, compared with the distances among them."
        label, suggested = self.labels[at], self.suggested[at]
        same = self.n_same[at] or "none"
        return (
            f"{self.n_suggested[at]} of its {self.n_neighbors} nearest neighbours in the data have "
            f'the label "{suggested}", {same} "{label}".'
        )

    @property
    def summary(self) -> str:
        """How many suspects there are, and among how many objects they were sought."""
        n = len(self.label_scores)
        sample = f"{self.n_searched:,} of {n:,} objects, drawn at random"
        among = f"{n:,} objects" if self.n_searched == n else sample
        return f"{len(self) or 'No':{',' if len(self) else ''}} suspects among {among}"

    def __str__(self) -> str:
        if not len(self):
            return f"{self.summary}."
        rows = [["object", "score", "reason", "label -> suggested (neighbours with each)"]]
        for at in range(min(len(self), MOST_LISTED)):
            labels = f"{self.labels[at]} -> {self.suggested[at]}"
            counts = f"({self.n_same[at]} and {self.n_suggested[at]} of {self.n_neighbors})"
            score = f"{self.scores[at]:.3f}"
            rows.append([str(self.objects[at]), score, self.reasons[at], f"{labels} {counts}"])
        lines = [self.summary, "", *text_table(rows, 0)]
        if len(self) > MOST_LISTED:
            lines.append(f"and {len(self) - MOST_LISTED:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        facts = {"n_suspects": len(self), "n_objects": len(self.label_scores)}
        return short_repr(self, {**facts, "n_neighbors": self.n_neighbors})

    def rows(self, count: int = MOST_LISTED, ids: Sequence[Any] | None = None) -> list[list[str]]:
        """Return the first suspects as rows of a table, with the columns `HEAD`.

        Parameters
        ----------
        count : int, default=20
            Most rows.
        ids : sequence of n names, optional
            Names of all objects; by default their row numbers.
        """
        return [
            [
                str(self.objects[at] if ids is None else ids[self.objects[at]]),
                f"{self.scores[at]:.2f}",
                str(self.labels[at]),
                str(self.suggested[at]) if self.reasons[at] == "label" else "",
                self.why(at),
            ]
            for at in range(min(len(self), count))
        ]

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.HEAD, self.rows())


@uses_threads
def suspects(
    X: Any,
    labels: Any,
    *,
    n_neighbors: int | None = None,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_objects: int = MAX_OBJECTS_SEARCHED,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Suspects:
    """Find objects that are probably mislabelled, and outliers.

    Neighbours are those in the data, not on a map.

    Parameters
    ----------
    X, metric, metric_params, n_jobs
        As in `compare_ranks`.
    labels : array-like of shape (n,)
        The class of each object.
    n_neighbors : int, optional
        Number of neighbours; by default 10, or fewer for few objects.
    n_objects : int, default=100_000
        Of more objects, this many are drawn at random, and suspects are sought among them.
    random_state : int, RandomState instance or None, optional
        Seed of the sample.

    Returns
    -------
    Suspects
        The suspects, ranked, with scores, neighbour counts and suggested labels.

    Notes
    -----
    Neighbours vote for their label with a weight that falls with their distance d, 1 / (1 + (d /
    median d)²), in neighbourhoods of k / 2, k, 2 k and 4 k objects. The votes for a label are
    divided by those it could get at most, so members of small classes are not suspected for that.
    The logarithm of a label's probability is, up to a constant, a weighted sum of two terms: the
    logarithm of its votes, and the log likelihood of all votes among those that members of its
    class get: a shirt with neighbours among coats is less suspicious than a sandal with the same
    ones. A label of a probability below 0.2 is suspected, unless its class is a single object.

    The outlier factor is the distance to the k-th neighbour over the median of the same of the
    neighbours, a simplified local outlier factor. An object is an outlier if the logarithm of its
    factor is more than five robust standard deviations above the median. The neighbours of an
    outlier are too far away to predict its label.

    The neighbours are exact up to 10,000 objects and approximate for more (see
    `lowdim.neighbors`).

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
    n = data.n
    if n < 4:
        raise ValueError(f"X: n_samples = {n}, but suspects need at least 4 objects.")
    values = check_labels(labels, n)
    chosen = choose_objects(n, checks.integer(n_objects, "n_objects", 4), random_state)
    m = len(chosen)
    k = min(DEFAULT_NEIGHBORS, (m - 1) // 2) if n_neighbors is None else n_neighbors
    k = checks.integer(k, "n_neighbors", 1, m - 1, " (the number of other objects)")
    classes, codes = class_codes(values[chosen])
    objects = data.objects if m == n else data.objects.subset(chosen)
    graph = objects.neighbor_graph(min(int(k * max(SCALES)), m - 1), None, "auto")
    ids, near = graph.indices, graph.distances.astype(np.float64)
    factors = outlier_factors(ids[:, :k], near[:, :k])
    logs = np.log(factors)
    middle = float(np.median(logs))
    spread = NORMAL_MAD * float(np.median(np.abs(logs - middle)))
    outlier = (logs > middle + OUTLIER_DEVIATIONS * spread) & (factors > 1)
    scores, suggested = _label_scores(codes, ids, near, k, len(classes))
    total = np.where(outlier, 1 - 1 / factors, scores)
    at = np.flatnonzero(outlier | (scores > SUSPICIOUS))
    at = at[np.lexsort((at, factors[at], -total[at]))]  # of equal scores, dense places first
    around = codes[ids[at, :k]]
    every = np.full((2, n), np.nan)
    every[:, chosen] = scores, factors
    return Suspects(
        objects=chosen[at],
        reasons=np.where(outlier[at], "outlier", "label"),
        scores=total[at],
        labels=classes[codes[at]],
        suggested=classes[suggested[at]],
        n_same=(around == codes[at, None]).sum(axis=1),
        n_suggested=(around == suggested[at, None]).sum(axis=1),
        label_scores=every[0],
        outlier_factors=every[1],
        n_neighbors=k,
        n_searched=m,
    )


def find_suspects(X: Any, labels: Any, metric: Any = "euclidean") -> Suspects | None:
    """The suspects for a report: among a sample of many objects, None if labels are no classes."""
    values = None if labels is None else np.asarray(labels)
    if values is None or values.ndim != 1 or len(values) < 4:
        return None
    if is_scale(values) or not 1 < len(set(values.tolist())) <= len(values) // 2:
        return None
    return suspects(X, values, metric=metric, n_objects=MOST_REPORTED)


def outlier_factors(ids: Array, near: Array) -> Array:
    """The distance to the k-th neighbour over the median of the neighbours' distances to theirs."""
    floor = float(np.finfo(np.float64).tiny)
    reach = near[:, -1]
    positive = reach[reach > 0]
    least = float(positive.min()) if len(positive) else 1.0  # duplicates have no scale of their own
    around = np.maximum(np.median(reach[ids], axis=1), least)
    return np.asarray(np.maximum(np.maximum(reach, least) / around, floor))


def _label_scores(
    codes: Array, ids: Array, near: Array, k: int, n_classes: int
) -> tuple[Array, Array]:
    """The suspicion of every label and the most probable other label.

    The log likelihoods are shifted so that those of labels without votes are 0, and kept sparse:
    only labels of neighbours, and labels that are seen together with these, have others.
    """
    from scipy.sparse import csr_array

    votes = _votes(codes, ids, near, k, n_classes)
    sizes = np.bincount(codes, minlength=n_classes)
    members = csr_array((1 / sizes[codes], (codes, np.arange(len(codes)))))
    profiles = members @ votes  # of each class, the mean votes that its members get
    profiles.data = np.log1p(profiles.data / PROFILE_FLOOR)
    likelihoods = WEIGHT * (votes @ profiles.T)
    votes.data = WEIGHT * np.log1p(votes.data / VOTE_FLOOR)
    logits = csr_array(likelihoods + votes)
    rows = np.repeat(np.arange(len(codes)), np.diff(logits.indptr))
    peak = logits.max(axis=1).toarray().ravel()
    weights = csr_array((np.exp(logits.data - peak[rows]), logits.indices, logits.indptr))
    rest = n_classes - np.diff(logits.indptr)  # labels with a likelihood of 0
    total = weights.sum(axis=1) + rest * np.exp(-peak)
    is_own = weights.indices == codes[rows]
    own = np.bincount(rows[is_own], weights.data[is_own], len(codes))
    scores = 1 - np.maximum(own, np.exp(-peak)) / total
    scores[sizes[codes] == 1] = 0.0
    weights.data[is_own] = 0.0
    return scores, np.ravel(weights.argmax(axis=1))


def _votes(codes: Array, ids: Array, near: Array, k: int, n_classes: int) -> Any:
    """The votes of neighbours for each label, a sparse matrix (n, n_classes) with rows of sum 1."""
    from scipy.sparse import csr_array

    n, most = ids.shape
    sizes = np.bincount(codes, minlength=n_classes)
    middle = np.median(near[:, :k], axis=1, keepdims=True)
    weights = 1 / (1 + (near / np.where(middle > 0, middle, 1.0)) ** 2)
    total = np.cumsum(weights, axis=1)  # the votes that a class with so many members could get
    rows = np.arange(n)[:, None]
    theirs = codes[ids]
    others = sizes[theirs] - (theirs == codes[:, None])
    votes: Any = csr_array((n, n_classes))
    for size in {min(max(round(scale * k), 1), most) for scale in SCALES}:
        share = weights[:, :size] / total[rows, np.minimum(others[:, :size], size) - 1]
        votes = votes + csr_array(
            (share.ravel(), (np.repeat(np.arange(n), size), theirs[:, :size].ravel())),
            shape=(n, n_classes),
        )
    rows_of_votes = np.repeat(np.arange(n), np.diff(votes.indptr))
    votes.data /= votes.sum(axis=1)[rows_of_votes]
    return votes
