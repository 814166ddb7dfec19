"""Metric learning on random splits of labelled data: our classes and their peers."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.quality import Data, Quality

FEWEST_SPLITS = 5
HELD_OUT = 2_500  # objects in the test parts of all splits, at least: one of them counts 0.0004
TEST_SHARE = 0.3
NEIGHBORS = 3
COMPONENTS = 50


def fashion(n: int, where: Any) -> Data:
    """Images of Fashion-MNIST in their first principal components, scaled alike, and splits.

    In all 784 pixels the peers take hours.
    """
    from sklearn.decomposition import PCA

    stored = np.load(where.fashion)
    X, y = stored["X"][:n].astype(np.float64), stored["y"][:n].astype(np.int64)
    scores = PCA(COMPONENTS, random_state=0).fit_transform(X)
    return _with_splits(scores / scores.std(), y)


def _with_splits(X: Any, y: Any) -> Data:
    from sklearn.model_selection import StratifiedShuffleSplit

    splitter = StratifiedShuffleSplit(n_splits(len(X)), test_size=TEST_SHARE, random_state=0)
    return {"X": X, "y": y, "splits": list(splitter.split(X, y))}


def n_splits(n: int) -> int:
    """The number of splits of n objects."""
    return max(FEWEST_SPLITS, math.ceil(HELD_OUT / (TEST_SHARE * n)))


def labelled(name: str) -> Callable[[int, Any], Data]:
    """A data set of scikit-learn: columns of variance 1 (digits: between 0 and 1), and splits."""

    def load(n: int, where: Any) -> Data:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = X / 16 if name == "digits" else X / X.std(axis=0)
        order = np.random.default_rng(0).permutation(len(X))[:n]
        return _with_splits(X[order], y[order])

    return load


def learn(path: str, **parameters: Any) -> Callable[[Data], list[Any]]:
    """A job that fits the named class to the training part of each split."""
    module, name = path.rsplit(".", 1)

    def job(data: Data) -> list[Any]:
        X, y = data["X"], data["y"]
        make = getattr(import_module(module), name)
        if module == "metric_learn":
            _mend_metric_learn()
        return [make(**parameters).fit(X[train], y[train]) for train, _ in data["splits"]]

    return job


def _mend_metric_learn() -> None:
    """Its version 0.7 passes an argument that scikit-learn has renamed since."""
    from metric_learn import _util

    def renamed(check: Any) -> Any:
        def call(*args: Any, force_all_finite: Any = True, **kwargs: Any) -> Any:
            return check(*args, ensure_all_finite=force_all_finite, **kwargs)

        return call

    for name in ("check_array", "check_X_y"):
        check = getattr(_util, name)
        if check.__module__.startswith("sklearn"):
            setattr(_util, name, renamed(check))


def accuracy(models: list[Any], data: Data) -> Quality:
    """Of k nearest neighbours after the map on the test parts; mean and standard deviation."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y = data["X"], data["y"]
    found = []
    for model, (train, test) in zip(models, data["splits"], strict=True):
        classifier = KNeighborsClassifier(NEIGHBORS).fit(model.transform(X[train]), y[train])
        found.append(classifier.score(model.transform(X[test]), y[test]))
    return {"accuracy": float(np.mean(found)), "sd": float(np.std(found))}
