"""scikit-learn's own checks of an estimator, all of them, on every method; none may fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowdim.catalog import CATALOG

# Parameters without which a method asks for more objects than the checks give it.
FEW = {"TSNE": {"perplexity": 2}, "NeRV": {"perplexity": 2}}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [m.load()(**FEW.get(m.name, {})) for m in CATALOG if m.objects == "vectors"]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
