"""scikit-learn's own checks of an estimator, all of them, on every method; none may fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowdim.catalog import CATALOG

# Parameters without which a method asks for more objects than the checks give it.
DESCENTS = ("LargeVis", "SNE", "SymmetricSNE", "TSNE", "WeightedTSNE", "NeRV")
SMALL = {"layers": (8,), "max_iter": 3}  # a network that is trained quickly
FEW = {
    **{name: {"perplexity": 2} for name in DESCENTS},
    "Autoencoder": SMALL,
    "ParametricTSNE": {**SMALL, "perplexity": 2, "init": "random"},
    "ParametricUMAP": {**SMALL, "init": "random"},
}

# Where a method means something else on purpose.
EXPECTED = {
    "WeightedTSNE": {
        f"check_sample_weight_equivalence_on_{kind}_data": (
            "a weight is the importance of one point of the map, not a number of copies of it"
        )
        for kind in ("dense", "sparse")
    }
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [m.load()(**FEW.get(m.name, {})) for m in CATALOG if m.objects != "subjects"],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
