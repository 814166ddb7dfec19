"""The forms of all methods fit the estimators that they are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lowdim.catalog import CATALOG, find
from lowdim.studio.errors import Refused
from lowdim.studio.forms import check_parameters, forms

FORMS = {form["name"]: form for form in forms()}


def test_every_method_of_objects_has_a_form_that_is_json() -> None:
    assert list(FORMS) == [row.name for row in CATALOG if row.objects != "subjects"]
    json.dumps(forms(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("NegativeSamplingTSNE", "Negative sampling t-SNE"),
        ("LargeVis", "LargeVis"),
        ("ParametricUMAP", "Parametric UMAP"),
        ("KernelPCA", "Kernel PCA"),
        ("MaximumVarianceUnfolding", "Maximum variance unfolding"),
    ],
)
def test_names_are_written_as_people_do(name: str, title: str) -> None:
    """They were "Negative samplingtsne", "Large vis" and "ParametricUMAP"."""
    assert FORMS[name]["title"] == title


@pytest.mark.parametrize("name", FORMS)
def test_a_form_describes_its_method(name: str) -> None:
    form = FORMS[name]
    row = find(name)
    assert row is not None
    known = row.load()().get_params()
    fields = {field["name"]: field for field in form["parameters"]}
    assert set(fields) <= set(known)
    assert {key for key, field in fields.items() if field["live"]} == set(row.live)
    assert form["live"] == ("callback" in known)
    assert form["summary"].endswith(".")
    for field in fields.values():
        assert field["help"], field["name"]
        assert field["kind"] in ("int", "float", "bool", "choice", "text")
        if field["kind"] in ("int", "float"):
            assert field["min"] < field["max"]
            assert not field["log"] or field["min"] > 0
            default = field["default"]
            if isinstance(default, int | float):
                assert field["min"] <= default <= field["max"]
            else:
                assert default in field["special"]
        if field["kind"] == "choice":
            assert field["default"] in field["choices"], field


@pytest.mark.parametrize("name", FORMS)
def test_the_defaults_of_a_form_make_an_estimator(name: str) -> None:
    given = {field["name"]: field["default"] for field in FORMS[name]["parameters"]}
    parameters = check_parameters(name, given)
    row = find(name)
    assert row is not None
    made = row.load()(**parameters).get_params()
    own = row.load()().get_params()
    differing = {key for key in own if made[key] != own[key]}
    assert differing <= {"n_components", "random_state"}
    assert made.get("n_components") == 2


def test_a_live_parameter_is_shown_at_first() -> None:
    fields = {field["name"]: field for field in FORMS["TSNE"]["parameters"]}
    assert fields["perplexity"] == {
        **fields["perplexity"], "kind": "float", "default": 30.0, "live": True, "advanced": False,
    }  # fmt: skip
    assert fields["learning_rate"]["special"] == ["auto"]
    assert fields["method"]["choices"] == ["auto", "exact", "barnes_hut", "fft"]
    assert "callback" not in fields


@pytest.mark.parametrize("given", [{"perplexity": []}, {"nothing": 1}, {"perplexity": {}}, 3])
def test_parameters_that_no_form_sends_are_refused(given: Any) -> None:
    if given == {"perplexity": []}:
        assert check_parameters("TSNE", given)["perplexity"] == ()  # the estimator refuses it
        return
    with pytest.raises(Refused):
        check_parameters("TSNE", given)
