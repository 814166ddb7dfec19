"""scikit-learn's own checks of an estimator, all of them, on every method; none may fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowdim.catalog import CATALOG

# Parameters without which a method asks for more objects than the checks give it, and few
# iterations: no check looks at how good a map is.
PAIRS = ("LargeVis", "NegativeSamplingTSNE", "SNE", "SymmetricSNE", "TSNE", "WeightedTSNE", "NeRV")
SMALL = {"layers": (8,), "max_iter": 3}  # a network that is trained quickly
FEW = {
    **{name: {"perplexity": 2, "max_iter": 30} for name in PAIRS},
    "MultiscaleSNE": {"max_iter": 10},
    "PaCMAP": {"max_iter": 60},
    "TriMap": {"max_iter": 60},
    "Unfolding": {"max_iter": 60},
    "UMAP": {"n_epochs": 30},
    "Autoencoder": SMALL,
    "ParametricTSNE": {**SMALL, "perplexity": 2, "init": "random"},
    "ParametricUMAP": {**SMALL, "init": "random"},
}

# Where a method means something else on purpose by weights of 0 and of several copies.
COPIES = {
    "WeightedTSNE": "a weight is the importance of one point of the map, not a number of copies",
    "PCA": "the default number of components is the smaller of n_samples and n_features",
    "TSNE": "an object without weight has no place; copies have places of their own",
    "UMAP": "an object without weight has no place; copies are neighbours of each other",
    "PaCMAP": "an object without weight has no place; copies are neighbours of each other",
    "SelfOrganizingMap": "the size of the grid and the start are those of the rows",
    "MDS": "an object without weight has no place; copies are iterated in another order",
}
EXPECTED = {
    name: {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}
    for name, why in COPIES.items()
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [m.load()(**FEW.get(m.name, {})) for m in CATALOG if m.objects != "subjects"],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
