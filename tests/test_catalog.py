"""The traits of the catalog are true of the estimators."""

import inspect

import numpy as np
import pytest

import lowdim
from lowdim.catalog import CATALOG, find
from lowdim.estimator import docstrings
from lowdim.objects.objects import objects_of


def parameters(method):
    return inspect.signature(method.load().__init__).parameters


@pytest.mark.parametrize("method", CATALOG, ids=lambda method: method.name)
def test_traits_name_what_the_estimator_has(method):
    if method.reduced_by:
        assert method.reduced_by in parameters(method)
    assert method.samples is ("sampled" in str(docstrings.parameters(method.load()).get("method")))
    assert method.euclidean_twin in ("", *(other.name for other in CATALOG if other is not method))


@pytest.mark.parametrize("method", CATALOG, ids=lambda method: method.name)
def test_no_landmarks_are_forgotten(method):
    reducing = {"n_landmarks", "n_prototypes"} & set(parameters(method))
    assert reducing == ({method.reduced_by} if method.reduced_by else set())


def test_the_cheaper_algorithm_is_chosen_above_its_constant():
    from lowdim.stress.mds import mds

    rows = np.zeros((mds.LARGE + 1, 1))
    assert lowdim.MDS()._uses_sample(objects_of(rows))
    assert not lowdim.MDS()._uses_sample(objects_of(rows[1:]))
    assert not lowdim.PCA()._uses_sample(objects_of(rows))


def test_twins_give_the_same_map_of_euclidean_vectors():
    X = np.random.RandomState(0).standard_normal((60, 5))
    with_twin = [method for method in CATALOG if method.euclidean_twin]
    assert with_twin
    for method in with_twin:
        twin = find(method.euclidean_twin)
        Y = method.load()(n_components=2).fit_transform(X)
        other = twin.load()(n_components=2).fit_transform(X)
        np.testing.assert_allclose(np.abs(Y), np.abs(other), atol=1e-6)


def test_suggested_methods_are_of_different_families():
    assert {method.family for method in CATALOG if method.suggested} >= {
        "spectral",
        "neighbor embedding",
    }


def test_dir_shows_public_names_only():
    names = dir(lowdim)
    assert {"PCA", "NeighborsTransformer", "smacof", "quality", "__version__"} <= set(names)
    assert not {"import_module", "annotations", "logging", "Any", "_methods"} & set(names)
    assert all(hasattr(lowdim, name) for name in names)
