"""Names for sets of objects: by labels, words and features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowdim.checks import Array, as_frame, dense
from lowdim.quality.labels import check_labels, class_codes
from lowdim.runtime.interrupts import watch_interrupts
from lowdim.runtime.scheduling import blocks

MOST_LABELS = 3  # in a name
NAMED_SHARE = 0.7  # of the objects, that the labels in a name have
LEAST_SHARE = 0.01  # of a label that is counted in a name
MOST_WORDS = 3
MOST_FEATURES = 5
NAMING_FEATURES = 2
LEAST_EFFECT = 0.5  # standard deviations, from which on a feature names a region


@dataclass(frozen=True)
class Effect:
    """How a feature of some objects differs from that of others.

    Attributes
    ----------
    feature : str
        Its name.
    size : float
        Difference of the means in pooled standard deviations (Cohen's d).
    inside, outside : float
        The means.
    """

    feature: str
    size: float
    inside: float
    outside: float

    def __str__(self) -> str:
        return f"{self.feature} {'high' if self.size > 0 else 'low'}"


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features of all objects as numbers, with their names."""

    values: Array
    names: list[str]

    def effects(self, inside: Array, outside: Array | None = None) -> list[Effect]:
        """How some objects differ from others, by default from all other ones; largest first."""
        own = self._moments(inside)
        rest = self._total - own if outside is None else self._moments(outside)
        if not own[0].any() or not rest[0].any():
            return []
        with np.errstate(invalid="ignore", divide="ignore"):
            means = own[1] / own[0], rest[1] / rest[0]
            scatter = own[2] - own[0] * means[0] ** 2 + rest[2] - rest[0] * means[1] ** 2
            spread = np.sqrt(np.maximum(scatter, 0.0) / (own[0] + rest[0]))
            sizes = (means[0] - means[1]) / np.maximum(spread, 0.01)  # of columns with spread 1
        center, scale = self._units
        return self.largest_first(sizes, *(center + scale * mean for mean in means))

    def largest_first(self, sizes: Array, inside: Array, outside: Array) -> list[Effect]:
        """Effects of all features, the largest first."""
        sizes = np.nan_to_num(sizes)
        return [
            Effect(self.names[i], float(sizes[i]), float(inside[i]), float(outside[i]))
            for i in np.argsort(-np.abs(sizes), kind="stable")
        ]

    @cached_property
    def _units(self) -> tuple[Array, Array]:
        """Mean and standard deviation of each column."""
        spread = np.nanstd(self.values, axis=0)
        return np.nanmean(self.values, axis=0), np.where(spread > 0, spread, 1.0)

    @cached_property
    def _total(self) -> Array:
        return self._moments(np.arange(len(self.values)))

    def _moments(self, rows: Array) -> Array:
        """Counts, sums and sums of squares of standardized columns over some objects, in blocks."""
        center, scale = self._units
        total = np.zeros((3, self.values.shape[1]))
        for part in blocks(len(rows), 8192):
            values = (self.values[rows[part]] - center) / scale
            known = ~np.isnan(values)
            values = np.where(known, values, 0.0)
            total += np.stack([known.sum(axis=0), values.sum(axis=0), (values**2).sum(axis=0)])
        return total


def feature_table(X: Any, n: int, names: Any = None) -> FeatureTable:
    """The columns of an array, a DataFrame or an AnnData that are numbers."""
    X = as_frame(X)
    if names is None and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        kinds = [np.asarray(X[name]).dtype.kind for name in X.columns]
        kept = [at for at, kind in enumerate(kinds) if kind in "fiub"]
        columns = list(X.columns)
        values = np.column_stack([np.asarray(X[columns[at]], dtype=np.float64) for at in kept])
        names = [names[at] for at in kept]
    else:
        values = np.asarray(dense(X), dtype=np.float64)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(f"X has shape {values.shape}, but the map has {n} objects.")
    if names is None:
        names = [f"column {at}" for at in range(values.shape[1])]
    if len(names) != values.shape[1]:
        raise ValueError(
            f"feature_names has {len(names)} entries for {values.shape[1]} columns of X."
        )
    return FeatureTable(values, [str(name) for name in names])


class Naming:
    """What is known of some objects, the rows `at` of n, to name sets of them."""

    def __init__(
        self, n: int, at: Array, labels: Any, text: Any, features: FeatureTable | None
    ) -> None:
        self.classes, self.codes, self.counts, self.words = None, None, None, None
        if labels is not None:
            self.classes, codes = class_codes(check_labels(labels, n))
            self.codes = codes[at]
        if text is not None:
            counts, self.words = _count_words(text, n)
            self.counts = counts[at]
        self.features = features and FeatureTable(features.values[at], features.names)

    def describe(self, inside: Array, number: int) -> dict[str, Any]:
        """The name of some objects and what it is made of."""
        shares = self._label_shares(inside)
        words = self._distinct_words(inside)
        effects = [] if self.features is None else self.features.effects(inside)
        clear = [str(one) for one in effects[:NAMING_FEATURES] if abs(one.size) >= LEAST_EFFECT]
        if shares:
            name = _label_name(shares)
        else:
            name = ", ".join(words[:MOST_WORDS]) or ", ".join(clear) or f"region {number}"
        return {
            "name": name,
            "label": shares[0][0] if shares else None,
            "label_share": shares[0][1] if shares else None,
            "features": tuple(effects[:MOST_FEATURES]),
            "words": tuple(words),
        }

    def _label_shares(self, inside: Array) -> list[tuple[str, float]]:
        """Labels and their shares, the commonest first."""
        if self.codes is None or self.classes is None:
            return []
        counts = np.bincount(self.codes[inside], minlength=len(self.classes))
        order = np.argsort(-counts, kind="stable")
        return [(str(self.classes[i]), float(counts[i] / len(inside))) for i in order if counts[i]]

    def _distinct_words(self, inside: Array) -> list[str]:
        """The words with the largest class-based tf-idf."""
        if self.counts is None or self.words is None:
            return []
        own, every = (
            np.asarray(one.sum(axis=0)).ravel() for one in (self.counts[inside], self.counts)
        )
        size = len(inside) / self.counts.shape[0]
        share = own / max(own.sum(), 1.0)
        weight = share * np.log1p(every.sum() * size / np.maximum(every, 1.0))
        telling = (own > every * size) & (own > 1)  # not commoner elsewhere, not of one text
        weight = np.where(telling, weight, 0.0)
        order = np.argsort(-weight, kind="stable")[:10]
        return [str(self.words[i]) for i in order if weight[i] > 0]


def _label_name(shares: list[tuple[str, float]]) -> str:
    """The commonest labels with their shares, or two of many and how many more there are."""
    total, parts = 0.0, []
    for label, share in shares[:MOST_LABELS]:
        parts.append(f"{label} {share:.0%}")
        total += share
        if total >= NAMED_SHARE:
            return ", ".join(parts)
    rest = sum(share >= LEAST_SHARE for _, share in shares[2:])
    return f"{shares[0][0]}, {shares[1][0]} and {rest} more"


def _count_words(text: Any, n: int) -> tuple[Any, Array]:
    """How often each word is in each text."""
    with watch_interrupts():
        from sklearn.feature_extraction.text import CountVectorizer

    texts = ["" if one is None else str(one) for one in text]
    if len(texts) != n:
        raise ValueError(f"text has {len(texts)} entries for {n} objects: give one for each.")
    counter = CountVectorizer(stop_words="english", max_features=20_000)
    try:
        counts = counter.fit_transform(texts)
    except ValueError as error:
        raise ValueError("text has no words other than stop words.") from error
    return counts.tocsr(), counter.get_feature_names_out()
