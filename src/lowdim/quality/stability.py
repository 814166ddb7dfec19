"""Stability of a method's maps over seeds or bootstrap samples.

The maps are aligned by Procrustes analysis; what still differs is not determined by the data. Data
with shuffled columns, which have no relations between columns, serve as the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.numerics.procrustes import procrustes
from lowdim.quality.resampling import clone_unfitted

ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Stability:
    """Agreement of several maps of the same data.

    Attributes
    ----------
    score : float
        1 - squared distances of the maps from their mean, as a share of their sum of squares: 1 if
        all maps are the same, near 0 if they have nothing in common.
    spread : ndarray of shape (n,)
        Root mean square distance of each object from its mean place, as a share of the root mean
        square of the map; NaN for an object in fewer than two maps.
    mean : ndarray of shape (n, p)
        The mean map.
    maps : ndarray of shape (n_runs, n, p)
        The aligned maps, NaN for objects that a map does not place.
    null_score : float or None
        The score on data with shuffled columns; None if that was not computed.
    how : {"seeds", "bootstrap"}
        What differs between the maps.
    """

    score: float
    spread: Array
    mean: Array
    maps: Array
    null_score: float | None
    how: str

    def __str__(self) -> str:
        what = "seeds" if self.how == "seeds" else "bootstrap samples"
        text = f"Stability over {len(self.maps)} {what}: {self.score:.3f} (1 is the same map)."
        if self.how == "seeds" and self.score > 1 - 1e-9:
            return text + (
                " The seed changes nothing here: use how='bootstrap' to vary the objects."
            )
        if self.null_score is not None:
            text += f" On data with shuffled columns: {self.null_score:.3f}."
            text += (
                " The map is more stable than that: what it shows is in the data."
                if 1 - self.score < 0.5 * (1 - self.null_score)
                else " Data without structure give maps that are as stable, so stability is no "
                "evidence of structure."
            )
        if self.score < 0.5:
            text += " The maps differ more than they agree: do not interpret a single one."
        moving = int(np.sum(self.spread > 0.5))
        if moving:
            text += f" {moving:,} objects have no stable place (spread above half the map's size)."
        return text


def stability(
    estimator: Any,
    X: Any,
    *,
    n_runs: int = 5,
    how: str = "seeds",
    null: bool = True,
    random_state: Any = None,
) -> Stability:
    """Fit an estimator several times and compare the maps.

    Parameters
    ----------
    estimator : estimator
        Any estimator with `fit` and `embedding_`; it is cloned.
    X : array-like
        Vectors, or all dissimilarities for an estimator with `metric="precomputed"`.
    n_runs : int, default=5
        Number of maps.
    how : {"seeds", "bootstrap"}, default="seeds"
        "seeds": all objects, with different `random_state`; "bootstrap": the objects of a bootstrap
        sample (about 63 % of them, each once), with one seed.
    null : bool, default=True
        Whether to compare with data in which every column is shuffled on its own; not available
        for dissimilarities.
    random_state : int, RandomState instance or None, optional
        Seed of the seeds, samples and shuffles.

    Returns
    -------
    Stability
        The score, the spread of each object and the aligned maps.

    Raises
    ------
    ValueError
        If `how="seeds"` and the estimator has no `random_state`.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(200, random_state=0)
    >>> result = lowdim.quality.stability(lowdim.PCA(2), X, how="bootstrap", random_state=0)
    >>> result.score > 0.9
    True
    """
    checks.choice(how, "how", ("seeds", "bootstrap"))
    count = checks.integer(n_runs, "n_runs", 2)
    if how == "seeds" and "random_state" not in estimator.get_params():
        raise ValueError(
            f"{type(estimator).__name__} has no {argument('random_state')}: every run gives the "
            "same map. Use how='bootstrap'."
        )
    random = checks.fixed_random_state(random_state)
    metric = getattr(estimator, "metric", None)
    square = isinstance(metric, str) and metric == "precomputed"
    data = X if is_sparse(X) else checks.vectors(X)
    n = data.shape[0]
    all_objects = np.arange(n)
    seeds = random.randint(2**31 - 1, size=count)
    if how == "seeds":
        groups = [all_objects] * count
    else:
        groups = [np.unique(random.choice(n, n)) for _ in range(count)]
        seeds[:] = seeds[0]
    maps = _fit_maps(estimator, data, groups, seeds, square)
    score, mean, aligned = _align_maps(maps)
    null_score = None
    if null and not square and isinstance(data, np.ndarray) and data.shape[1] > 1:
        shuffled = np.random.default_rng(random.randint(2**31 - 1)).permuted(data, axis=0)
        null_score = _align_maps(_fit_maps(estimator, shuffled, groups, seeds, square))[0]
    return Stability(score, _movement(mean, aligned), mean, aligned, null_score, how)


def _fit_maps(estimator: Any, X: Any, groups: Sequence[Array], seeds: Array, square: bool) -> Array:
    """The maps, (runs, n, p), NaN for objects that are not in a group."""
    fitted = []
    for group, seed in zip(groups, seeds, strict=True):
        model = clone_unfitted(estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=int(seed))
        part = X[np.ix_(group, group)] if square else X[group]
        fitted.append(np.asarray(model.fit(part).embedding_, dtype=np.float64))
    maps = np.full((len(groups), X.shape[0], fitted[0].shape[1]), np.nan)
    for place, group, Y in zip(maps, groups, fitted, strict=True):
        place[group] = Y
    return maps


def _align_maps(maps: Array) -> tuple[float, Array, Array]:
    """Rotate and scale all maps to their mean: the score, the mean and the maps."""
    maps = maps.copy()
    placed = np.asarray(np.isfinite(maps).all(axis=2))
    target = int(placed.sum(axis=1).argmax())
    mean = maps[target] - np.nanmean(maps[target], axis=0)
    counts = placed.sum(axis=0)[:, None]
    for _ in range(ROUNDS):
        known = np.isfinite(mean).all(axis=1)
        for run in range(len(maps)):
            both = known & placed[run]
            move = procrustes(mean[both], maps[run, both])
            maps[run, placed[run]] = move.apply(maps[run, placed[run]])
        mean = np.where(counts > 0, np.nansum(maps, axis=0) / np.maximum(counts, 1), np.nan)
        mean -= np.nanmean(mean, axis=0)
        size = float(np.nansum(mean**2))
        if size == 0:
            break
        scale = np.sqrt(placed.any(axis=0).sum() / size)  # alignment shrinks, so hold the size
        mean, maps = mean * scale, maps * scale
    total = float(np.nansum(maps**2))
    apart = float(np.nansum((maps - mean) ** 2))
    return (1 - apart / total if total else 1.0), mean, maps


def _movement(mean: Array, maps: Array) -> Array:
    """How far each object moves about its average place."""
    counts = np.isfinite(maps).all(axis=2).sum(axis=0)
    squares = np.nansum((maps - mean) ** 2, axis=(0, 2)) / np.maximum(counts, 1)
    size = np.sqrt(np.nanmean(np.nansum(mean**2, axis=1)))
    movement = np.sqrt(squares) / (size or 1.0)
    return np.where(counts >= 2, movement, np.nan)
