"""scikit-learn's own checks of an estimator, all of them, on every method; none may fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowdim.catalog import CATALOG


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([method.load()() for method in CATALOG if method.objects == "vectors"])
def test_scikit_learn_check(estimator, check):
    check(estimator)
