"""Answers about maps against known truth: `python -m benchmarks.questions [--seeds N]`.

Suspects: 79 wrong labels in 3,000 images of Fashion-MNIST, found among the first 60 (needs
LOWDIM_DATA). Reasons: three of 50 columns drive each of five regions; recall at 3. Trust: the area
under the curve for objects that t-SNE puts into a wrong group, beside local trustworthiness. Names:
the share of digits whose region is named by their label.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import roc_auc_score

import lowdim
from lowdim import quality


def suspects(seed: int) -> dict[str, float]:
    """Planted wrong labels among the first 60 suspects."""
    with np.load(Path(os.environ["LOWDIM_DATA"]) / "fashion-mnist.npz") as file:
        images, kinds = file["X"], file["y"]
    random = np.random.default_rng(seed)
    chosen = random.choice(len(kinds), 3000, replace=False)
    labels = kinds[chosen].astype(int)
    wrong = random.choice(3000, 79, replace=False)
    labels[wrong] = (labels[wrong] + random.integers(1, 10, size=79)) % 10
    found = quality.suspects(images[chosen].astype(np.float32), labels)
    return {"wrong labels in the first 60": float(np.isin(found.objects[:60], wrong).sum())}


def reasons(seed: int) -> dict[str, float]:
    """Recall of the three columns that drive each region."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(1000, 50))
    Y, groups = make_blobs(1000, centers=8 * random.normal(size=(5, 2)), random_state=seed)
    drivers = random.permutation(50)[:15].reshape(5, 3)
    for group, columns in enumerate(drivers):
        X[np.ix_(groups == group, columns)] += random.choice([-1, 1], size=3)
    explanation = lowdim.explain(Y, X)
    hits = 0
    for group, columns in enumerate(drivers):
        effects = explanation.region(np.flatnonzero(groups == group))[:3]
        hits += len({one.feature for one in effects} & {f"column {c}" for c in columns})
    return {"recall at 3": hits / 15}


def trust(seed: int) -> dict[str, float]:
    """Areas under the curve for objects among neighbours of another group."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(6), 100)
    X = (3.2 * np.eye(6, 12))[groups] + random.normal(size=(600, 12))
    maps = [lowdim.TSNE(random_state=s, init="random").fit_transform(X) for s in range(3)]
    ids = lowdim.neighbors(maps[0], k=15).indices
    wrong = (groups[ids] != groups[:, None]).mean(axis=1) > 0.5
    found = quality.reliability(maps[0], X, other_maps=maps[1:])
    local = quality.point_errors(X, maps[0]).false
    return {
        "AUC of reliability": float(roc_auc_score(wrong, -found.score)),
        "AUC of local trustworthiness": float(roc_auc_score(wrong, local)),
    }


def names(seed: int) -> dict[str, float]:
    """Share of the digits in regions that are named by their label, and the number of regions."""
    X, y = load_digits(return_X_y=True)
    model = lowdim.TSNE(random_state=seed).fit(X)
    found = lowdim.regions(model, X, labels=y)
    named = np.array([one.label for one in found.tree])[found.membership]
    return {
        "digits in a region of their name": float((named == y.astype(str)).mean()),
        "regions of digits": float(found.n_leaves),
    }


def main() -> None:
    """Print the mean and the worst of each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    questions: list[Callable[[int], dict[str, float]]] = [reasons, trust, names]
    if "LOWDIM_DATA" in os.environ:
        questions.insert(0, suspects)
    for question in questions:
        rows = [question(seed) for seed in seeds]
        for name in rows[0]:
            values = [row[name] for row in rows]
            print(f"{name:<36} mean {np.mean(values):.3f}  least {min(values):.3f}")


if __name__ == "__main__":
    main()
