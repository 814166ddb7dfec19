"""Phases that are not iterations are shown too, on request."""

import numpy as np

import lowdim
from lowdim.callbacks import phase, reporting

X = np.random.default_rng(0).normal(size=(60, 3))


def test_phases_are_shown_on_request_only(capsys):
    lowdim.Isomap(n_neighbors=8).fit(X)
    assert capsys.readouterr() == ("", "")
    lowdim.Isomap(n_neighbors=8, verbose=1).fit(X)
    shown = capsys.readouterr()
    assert shown.out == ""
    for name in ("nearest neighbours", "eigenvectors"):
        assert f"Isomap: {name}" in shown.err
    assert "Isomap: geodesics: 100%" in shown.err
    assert "60/60" in shown.err


def test_the_command_shows_phases_of_methods_without_verbose(capsys):
    with reporting("LocallyLinearEmbedding"):
        lowdim.LocallyLinearEmbedding(n_neighbors=8).fit(X)
    assert "LocallyLinearEmbedding: nearest neighbours" in capsys.readouterr().err
    with phase("anything", 3) as done:
        done(3)
    assert capsys.readouterr().err == ""


def test_geodesics_do_not_depend_on_the_blocks(monkeypatch):
    graph = lowdim.neighbors(X, 8).adjacency()
    whole = lowdim.geodesics(graph)
    monkeypatch.setattr("lowdim.backends.native.graphs.SOURCES", 7)
    np.testing.assert_array_equal(lowdim.geodesics(graph), whole)
