"""A new method is one class, and one line of the catalog; everything else is made from them."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

import lowdim
from lowdim import catalog, checks
from lowdim.checks import Array
from lowdim.cli import main
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.studio.forms import check_parameters, forms

DOCS = Path(__file__).parents[1] / "docs"


@declare_parameters
class RandomProjection(Embedder):
    """Random projection.

    random matrix -> product

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    kind : {"normal", "sign"}, default="normal"
        Entries of the matrix.
    random_state : int, RandomState or None, default=None
        Seed of the matrix.
    $n_jobs
    """

    traits = Traits(
        keeps="distances, on the average",
        when="there are very many features",
        cost="n d k",
        extends="the same matrix",
        paper="Johnson and Lindenstrauss 1984",
        power=1.0,
        live=("kind",),
    )

    _attributes: ClassVar = {"components_": Numbers("c d")}
    _needed = ("components_",)
    _units: ClassVar = {"embedding_": 1}

    n_components: int = 2
    _: KW_ONLY
    kind: str = "normal"
    random_state: Any = None
    n_jobs: int | None = None

    def _memory(self, fit: Problem) -> float:
        return 10.0**6 * fit.n

    def _fit(self, objects: Objects) -> None:
        checks.choice(self.kind, "kind", ("normal", "sign"))
        X = objects.vectors("random projection")
        shape = (self._check_n_components(objects.n), X.shape[1])
        matrix = checks.check_random_state(self.random_state).standard_normal(shape)
        matrix = np.sign(matrix) if self.kind == "sign" else matrix
        self.components_ = matrix.astype(X.dtype)
        self.embedding_ = X @ self.components_.T

    def _transform(self, new: NewObjects) -> Array:
        return np.asarray(new.vectors() @ self.components_.T)

    def _inverse(self, Y: Array) -> Array:
        return np.asarray(Y @ np.linalg.pinv(self.components_).T)


@pytest.fixture(autouse=True)
def in_catalog(monkeypatch):
    name = "lowdim.spectral.random_projection"
    monkeypatch.setitem(sys.modules, name, sys.modules[__name__])
    row = catalog.Method("RandomProjection", name.removeprefix("lowdim."))
    catalog.CATALOG.append(row)
    yield
    catalog.CATALOG.remove(row)


@pytest.fixture
def rows():
    return np.random.RandomState(1).standard_normal((40, 5))


def test_it_is_public():
    assert lowdim.RandomProjection is RandomProjection
    assert "RandomProjection" in dir(lowdim)
    assert catalog.find("RandomProjection").family == "spectral"
    assert catalog.find("RandomProjection").live == ("kind",)


def test_command_line(rows, tmp_path):
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",")
    listed = CliRunner().invoke(main, ["methods"]).output
    assert "RandomProjection (spectral; -m rp)" in listed
    shown = CliRunner().invoke(main, ["methods", "rp", "--json"]).output
    assert json.loads(shown)["methods"][0]["keeps"] == RandomProjection.traits.keeps
    command = ["embed", str(tmp_path / "rows.csv"), "-m", "rp", "-o", str(tmp_path / "map.csv")]
    assert "[normal|sign]" in CliRunner().invoke(main, [*command, "--help"]).output
    done = CliRunner().invoke(main, [*command, "--kind", "sign"])
    assert done.exit_code == 0, done.output
    assert "RandomProjection" in done.output


def test_form():
    form = next(one for one in forms() if one["name"] == "RandomProjection")
    assert form["keeps"] == RandomProjection.traits.keeps
    fields = {field["name"]: field for field in form["parameters"]}
    assert fields["kind"]["choices"] == ["normal", "sign"]
    assert fields["kind"]["live"]
    assert check_parameters("RandomProjection", {"kind": "sign"})["kind"] == "sign"


def test_data_of_extreme_magnitude(rows):
    ordinary = RandomProjection(random_state=0).fit_transform(rows)
    extreme = RandomProjection(random_state=0).fit_transform(rows * 2.0**600)
    np.testing.assert_allclose(extreme / 2.0**600, ordinary, rtol=1e-12)


def test_precision_and_kind_of_the_rows(rows):
    model = RandomProjection(random_state=0).fit(rows)
    single = RandomProjection(random_state=0).fit(csr_array(rows.astype(np.float32)))
    assert single.embedding_.dtype == single.transform(rows.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.embedding_, model.embedding_, atol=1e-5)
    back = model.transform(model.inverse_transform(model.embedding_))
    np.testing.assert_allclose(back, model.embedding_)


def test_the_unit_of_the_map_must_be_known():
    with pytest.raises(TypeError, match=r"Forgetful\._units must have .* embedding_"):
        type("Forgetful", (RandomProjection,), {"_units": {}})


def test_saving_and_loading(rows, tmp_path):
    model = RandomProjection().fit(rows)
    model.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(rows), model.embedding_)
    del model.components_
    with pytest.raises(ValueError, match="lacks components_ of a fitted RandomProjection"):
        model.save(tmp_path / "model")
    model.components_ = np.zeros((2, 6))
    with pytest.raises(ValueError, match=r"components_ has shape \(2, 6\)"):
        model.save(tmp_path / "model")


def test_plan(rows):
    plan = lowdim.plan(RandomProjection(), rows)
    assert plan.n_bytes > 40e6
    assert str(plan).startswith("RandomProjection of 40 objects")
    with lowdim.compute(memory="30MB"), pytest.raises(MemoryError, match="RandomProjection of 40"):
        RandomProjection().fit(rows)


def test_documentation():
    pages = runpy.run_path(str(DOCS / "_ext" / "method_pages.py"))
    texts = pages["written"](DOCS)
    assert ":doc:`RandomProjection <random_projection>`" in pages["index"](texts)
    page = pages["page"](catalog.find("RandomProjection"), texts["RandomProjection"])
    assert "``random matrix -> product``" in page
    assert ".. autoclass:: lowdim.RandomProjection" in page
