"""AnnData and lazy frames as input; stand-ins have the attributes that are used of them."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from scipy import sparse

import lowdim

X = np.random.default_rng(0).poisson(2.0, size=(40, 5)).astype(np.float32)
NAMES = [f"gene {i}" for i in range(5)]


class LazyFrame:
    """As Polars has it: nothing is known of its values before they are collected."""

    def __init__(self, frame):
        self.frame = frame

    def collect_schema(self):
        return dict(self.frame.dtypes)

    def collect(self):
        return self.frame


def anndata(matrix, names=NAMES):
    cells = pandas.Index([f"cell {i}" for i in range(matrix.shape[0])])
    return SimpleNamespace(X=matrix, obs_names=cells, var_names=pandas.Index(names))


MAKERS = {
    "lazy frame": lambda X, names=NAMES: LazyFrame(pandas.DataFrame(X, columns=names)),
    "anndata": anndata,
    "sparse anndata": lambda X, names=NAMES: anndata(sparse.csr_matrix(X), names),
    "anndata on disk": lambda X, names=NAMES: anndata(
        SimpleNamespace(shape=X.shape, to_memory=lambda: sparse.csr_matrix(X)), names
    ),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("model", [lowdim.PCA(n_components=2), lowdim.Isomap(n_neighbors=5)])
def test_fit_and_transform_with_names_of_features(kind, model):
    expected = model.fit(X)
    again = model.__class__(**model.get_params()).fit(MAKERS[kind](X))
    assert again.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(abs(again.embedding_), abs(expected.embedding_), atol=1e-3)
    np.testing.assert_allclose(
        again.transform(MAKERS[kind](X[:3])), again.embedding_[:3], atol=1e-3
    )
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(MAKERS[kind](X[:3], NAMES[::-1]))


@pytest.mark.parametrize("kind", MAKERS)
def test_neighbors_and_quality(kind):
    graph, expected = lowdim.neighbors(MAKERS[kind](X), 4), lowdim.neighbors(X, 4)
    np.testing.assert_allclose(graph.distances, expected.distances, atol=1e-5)
    table = MAKERS[kind](X)
    assert lowdim.quality.trustworthiness(table, X[:, :2]) == pytest.approx(
        lowdim.quality.trustworthiness(X, X[:, :2]), abs=1e-3
    )


@pytest.mark.parametrize("kind", MAKERS)
def test_regions_reasons_and_report(kind, tmp_path):
    table, Y = MAKERS[kind](X), lowdim.PCA(n_components=2).fit(X).embedding_
    assert lowdim.explain(Y, table).features == NAMES
    found = lowdim.regions(Y, table, min_size=3).tree[0].features
    assert {effect.feature for effect in found} <= set(NAMES)
    page = lowdim.report.write(tmp_path / "report.html", {"PCA": Y}, X=table)
    assert "gene 3" in page.read_text()
