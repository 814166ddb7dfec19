"""The widget of notebooks: what it sends to the page, its selection, and live fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lowdim

pytest.importorskip("anywidget")

X, y = lowdim.data.clusters(60, random_state=0)


def coordinates(one: dict[str, Any]) -> Any:
    return np.frombuffer(one["points"], "<f4").reshape(-1, one["dim"])


def test_maps_of_estimators_and_arrays_are_sent_by_name() -> None:
    pca = lowdim.PCA(2).fit(X)
    view = lowdim.widget({"linear": pca, "by hand": X[:, :3]})
    assert [one["name"] for one in view._maps] == ["linear", "by hand"]
    np.testing.assert_array_equal(coordinates(view._maps[0]), pca.embedding_.astype(np.float32))
    assert view._maps[1]["dim"] == 3
    names = [one["name"] for one in lowdim.widget([pca, pca, X[:, :2]])._maps]
    assert names == ["PCA", "PCA 2", "map"]
    assert coordinates(lowdim.widget(X[:, :1])._maps[0]).shape == (60, 2)
    assert lowdim.widget(X)._maps[0]["dim"] == 2


def test_labels_are_categories_or_values() -> None:
    labels = {"class": y, "name": y.astype(str), "scale": X[:, 0]}
    classes, names, scale = lowdim.widget(X, labels)._colors
    assert classes["kinds"] == names["kinds"] == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(np.frombuffer(classes["codes"], "<u2"), y)
    np.testing.assert_allclose(np.frombuffer(scale["values"], "<f4"), X[:, 0], rtol=1e-6)


def test_the_selection_is_checked_and_sorted() -> None:
    view = lowdim.widget(X, y)
    view.selection = [5, 2, 5]
    assert view.selection == [2, 5]
    import traitlets

    with pytest.raises(traitlets.TraitError, match="below 60"):
        view.selection = [60]
    with pytest.raises(traitlets.TraitError):
        view.selection = [-1]


def test_a_fit_is_shown_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowdim.notebook.FRAMES_PER_SECOND", 1e9)
    monkeypatch.setattr("lowdim.notebook.LEAST_SHARE", 0)
    view = lowdim.widget(labels=y)
    seen = []
    view.send = lambda message, buffers: seen.append((message, buffers[0]))
    Y = lowdim.TSNE(perplexity=10, max_iter=300, callback=view).fit_transform(X)
    assert len(view._maps) == 1
    assert len({points for _, points in seen}) > 2
    last = seen[-1][0]
    assert (last["type"], last["map"], last["dim"], last["iteration"]) == ("frame", 0, 2, 300)
    assert 0 < last["loss"] < 10
    np.testing.assert_allclose(coordinates(view._maps[0]), Y, rtol=1e-6)  # the last one is shown


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="same objects"):
        lowdim.widget([X, X[:5]])
    with pytest.raises(ValueError, match="labels"):
        lowdim.widget(X, y[:5])
    with pytest.raises(ValueError, match="ids"):
        lowdim.widget(X, ids=["a"])
    with pytest.raises(ValueError, match="not fitted"):
        lowdim.widget(lowdim.PCA())


def test_the_selection_is_a_table_of_coordinates_and_labels():
    Y = np.arange(12, dtype=np.float32).reshape(6, 2)
    labels = {"kind": np.array(["a", "b", "a", "b", "a", "b"]), "size": np.linspace(0, 0.5, 6)}
    view = lowdim.widget({"PCA": Y, "first": Y[:, :1]}, labels, ids=list("uvwxyz"))
    view.selection = [4, 1]
    frame = view.to_frame()
    assert list(frame.columns) == [
        "PCA 0",
        "PCA 1",
        "first 0",
        "first 1",
        "kind",
        "size",
        "selected",
    ]
    assert list(frame.index) == list("uvwxyz")
    np.testing.assert_array_equal(frame[["PCA 0", "PCA 1"]], Y)
    assert list(frame["kind"]) == list("ababab")
    np.testing.assert_allclose(frame["size"], labels["size"], rtol=1e-6)
    some = view.to_frame(selected=True)
    assert list(some.index) == ["v", "y"]


def test_filters_and_regions_are_told_to_python() -> None:
    X, y = lowdim.data.clusters(200, random_state=0)
    view = lowdim.widget(lowdim.TSNE(random_state=0).fit(X), {"class": y}, X=X)
    view.filters = {"class": ["0", "2"], "column 1": [-1.0, 20.0]}
    column = X[:, 1].astype(np.float32)
    expected = np.isin(y, [0, 2]) & (column >= -1) & (column <= 20)
    np.testing.assert_array_equal(view.passing, expected)
    assert list(view.to_frame(filtered=True).index) == np.flatnonzero(expected).tolist()
    found = view.regions()["TSNE"]
    assert {one.label for one in found.leaves} == {"0", "1", "2", "3"}
    assert [len(one) for one in view._regions] == [len(found.tree)]
    import traitlets

    for wrong in ({"unknown": [0, 1]}, {"column 1": [2, 1]}, {"column 1": [1]}):
        with pytest.raises(traitlets.TraitError, match="filters"):
            view.filters = wrong
    with pytest.raises(ValueError, match="200 objects"):
        lowdim.widget(lowdim.PCA(2).fit(X), X=X[:20])


def test_the_reliability_of_places_is_told_to_python_and_to_the_page() -> None:
    X, y = lowdim.data.clusters(200, random_state=0)
    Y = lowdim.PCA(2).fit_transform(X)
    Y[3] = Y[y != y[3]][0]
    later = Y.copy()
    later[5] = np.nan  # not in the second slice
    view = lowdim.widget({"first": Y, "second": later}, X=X)
    view._on_message(None, "reliability", None)
    found = view.reliability()
    np.testing.assert_allclose(
        found["first"], lowdim.quality.reliability(Y.astype("<f4"), X).score, atol=1e-6
    )
    assert np.argmin(found["first"]) == np.nanargmin(found["second"]) == 3
    assert np.isnan(found["second"][5])
    sent = [np.frombuffer(one, "<f4") for one in view._doubts]
    np.testing.assert_allclose(sent, [1 - one for one in found.values()], atol=1e-6)
    with pytest.raises(ValueError, match="X=X"):
        lowdim.widget(Y).reliability()
