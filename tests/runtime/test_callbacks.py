"""Phases that are not iterations are shown too, on request."""

import re

import numpy as np
import pytest

import lowdim
from lowdim.runtime.callbacks import phase, show_progress
from lowdim.runtime.context import override
from lowdim.runtime.scheduling import Count, part_counter, run, use_threads

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


def test_lines_on_request(capsys):
    fitted = lowdim.TSNE(perplexity=5, max_iter=620, verbose=2).fit(X)
    lines = [line for line in capsys.readouterr().out.splitlines() if "Iteration" in line]
    numbers = [int(line.split()[2].rstrip(":")) for line in lines]
    assert numbers == [*range(50, 601, 50), 620]
    assert float(lines[-1].split("error = ")[1]) == pytest.approx(fitted.kl_divergence_, abs=1e-4)


def test_the_command_shows_phases_of_methods_without_verbose(capsys):
    with show_progress("LocallyLinearEmbedding"):
        lowdim.LocallyLinearEmbedding(n_neighbors=8).fit(X)
    assert "LocallyLinearEmbedding: nearest neighbours" in capsys.readouterr().err
    with phase("anything"):
        part_counter(3)(3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "search",
    [
        {"method": "exact"},
        {"method": "exact", "metric": "cityblock"},
        {"method": "approximate"},
        {"method": "approximate", "metric": "cityblock"},
        {"method": "approximate", "metric": "seuclidean"},
    ],
)
def test_parts_of_a_search_for_neighbours_are_counted(capsys, search):
    rows = np.random.default_rng(0).normal(size=(4000, 30))
    rows[:, 3:] *= 0.01  # an index finds neighbours in few dimensions
    with show_progress("search"):
        graph = lowdim.neighbors(rows, 5, recall=0.5, **search)
    assert (graph.recall is None) == (search["method"] == "exact")
    finished, total = map(int, re.findall(r"(\d+)/(\d+)", capsys.readouterr().err)[-1])
    assert finished == total >= 2


def test_products_of_an_eigensolver_are_counted(capsys):
    with show_progress("PCA"):
        lowdim.KernelPCA(2, kernel="rbf").fit(np.random.default_rng(0).normal(size=(400, 3)))
    counts = re.findall(r"eigenvectors: (\d+) products", capsys.readouterr().err)
    assert int(counts[-1]) >= 8


def test_the_count_does_not_depend_on_threads_or_nesting():
    seen = []
    with override(count=Count(lambda finished, total: seen.append((finished, total)))):
        with use_threads(3):
            assert run(lambda i: 2 * i, range(5), counts=True) == [0, 2, 4, 6, 8]
            run(str, range(4))  # not counted
        part_counter(2)(2)
    assert seen[:1] == [(0, 5)]
    assert seen[1:6] == [(i, 5) for i in range(1, 6)]
    assert seen[6:] == [(5, 7), (7, 7)]


def test_geodesics_do_not_depend_on_the_blocks(monkeypatch):
    graph = lowdim.neighbors(X, 8).adjacency()
    whole = lowdim.geodesics(graph)
    monkeypatch.setattr("lowdim.backends.native.graphs.SOURCES", 7)
    np.testing.assert_array_equal(lowdim.geodesics(graph), whole)
