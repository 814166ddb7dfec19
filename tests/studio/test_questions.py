"""Data sets, questions about maps, and what can be taken away."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits

import lowdim
from lowdim.cli import main
from lowdim.studio.toys import TOYS
from studio.client import Client, Server, until

DIGITS = load_digits()
Digits = tuple[Client, Any, Any]


@pytest.fixture(scope="module")
def digits(studio: Server) -> tuple[Client, Any, Any]:
    """A client, a data set and a map of it."""
    client = studio.client()
    data = client.toy("digits", n=250)
    return client, data, client.fit(data, "TSNE", parameters={"max_iter": 300, "perplexity": 12})


CSV = "name,height,weight,colour\n" + "".join(
    f"p{i},{i * 37 % 101},{'' if i == 3 else i * i % 53},{['red', 'blue', 'green'][i % 3]}\n"
    for i in range(40)
)


@pytest.fixture
def people(client: Client) -> Any:
    return client.ask("PUT", "/api/uploads/people.csv", 201, content=CSV.encode())


# --- data --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOYS)
def test_the_code_of_a_toy_makes_the_same_set(name: str, tmp_path: Path) -> None:
    toy = TOYS[name]
    values = {"n": 120} if any(slider.name == "n" for slider in toy.sliders) else {}
    toy.write(values, tmp_path / "toy.npz")
    found: dict[str, Any] = {}
    exec("import lowdim\n" + toy.code(values), found)
    table = lowdim.tables.read(tmp_path / "toy.npz")
    np.testing.assert_array_equal(np.asarray(table.X), found["X"])


def test_toys_are_listed_with_sliders_that_they_take(client: Client) -> None:
    for toy in client.ask("GET", "/api/toys"):
        for slider in toy["sliders"]:
            assert slider["min"] <= slider["default"] <= slider["max"]
    for values in ({"n": 3}, {"n": "x"}, {"n": True}, {"noise": 99}):
        asked = {"toy": "swiss_roll", "values": values}
        assert client.ask("POST", "/api/datasets", 400, json=asked)["error"]
    client.ask("POST", "/api/datasets", 404, json={"toy": "none"})


def test_columns_are_described(people: Any) -> None:
    columns = {one["name"]: one for one in people["columns"]}
    assert (people["n"], people["d"], people["label"], people["ids"]) == (40, 2, "colour", "name")
    assert columns["name"]["role"] == columns["name"]["kind"] == "id"
    assert columns["colour"]["top"] == [["red", 14], ["blue", 13], ["green", 13]]
    assert columns["weight"]["missing"] == 1
    assert sum(columns["height"]["histogram"]) == 40
    assert any("mean" in note for note in people["notes"])


def test_values_and_records_are_those_of_the_file(client: Client, people: Any) -> None:
    path = f"/api/datasets/{people['id']}"
    heights = client.array(f"{path}/values/height")
    np.testing.assert_array_equal(heights, [i * 37 % 101 for i in range(40)])
    colours = client.ask("GET", f"{path}/values/colour")
    assert colours["categories"][colours["codes"][1]] == "blue"
    record = client.ask("GET", f"{path}/records/3")
    assert record["id"] == "p3"
    assert dict(record["values"])["weight"] is None
    assert record["label"] == "red"
    assert record["image"] is None
    client.ask("GET", f"{path}/values/nothing", 404)
    client.ask("GET", f"{path}/records/40", 404)


def test_roles_are_changed(client: Client, people: Any) -> None:
    path = f"/api/datasets/{people['id']}"
    one = client.fit(people, "PCA")
    roles = {"height": "label", "colour": "feature"}
    changed = client.ask("PATCH", path, json={"roles": roles, "standardize": True})
    columns = {one["name"]: one["role"] for one in changed["columns"]}
    assert columns == {"name": "id", "height": "label", "weight": "feature", "colour": "feature"}
    assert changed["d"] == 4  # weight, and a column for each colour
    assert changed["standardize"]
    assert client.coordinates(one).shape == (40, 2)  # of the data as they were
    client.ask("GET", f"/api/maps/{one['id']}/quality")
    client.ask(
        "PATCH",
        path,
        400,
        json={"roles": {"height": "ignore", "weight": "ignore", "colour": "ignore"}},
    )
    assert client.ask("GET", "/api/state")["datasets"]  # the refused change is none


def test_files_of_the_root_are_listed_and_opened(client: Client) -> None:
    folder = client.server.root / "listed"
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(CSV)
    (folder / "notes.md").write_text("no data")
    listed = client.ask("GET", "/api/files?path=listed")
    assert listed == {
        "path": "listed",
        "entries": [{"name": "people.csv", "folder": False, "size": len(CSV)}],
    }
    opened = client.ask("POST", "/api/datasets", 201, json={"path": "listed/people.csv"})
    assert opened["name"] == "people.csv"
    client.ask("DELETE", f"/api/datasets/{opened['id']}")
    assert (folder / "people.csv").exists()


def test_images_are_recognised_and_served(client: Client) -> None:
    file = io.BytesIO()
    np.save(file, DIGITS.data[:20])
    data = client.ask("PUT", "/api/uploads/images.npy", 201, content=file.getvalue())
    assert data["images"]["shape"] == [8, 8]
    response = client.http.get(f"/api/datasets/{data['id']}/images/7")
    assert response.headers["content-type"] == "image/png"
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(response.content)))
    np.testing.assert_allclose(pixels, DIGITS.images[7] * 255 / 16, atol=0.51)


# --- questions ---------------------------------------------------------------------------


def test_the_quality_is_that_of_the_library(digits: tuple[Client, Any, Any]) -> None:
    client, _, one = digits
    found = client.ask("GET", f"/api/maps/{one['id']}/quality")
    own = lowdim.quality.assess(
        DIGITS.data[:250], client.coordinates(one).astype(float), method="TSNE",
        labels=DIGITS.target[:250].astype(str), random_state=0,
    )  # fmt: skip
    assert found["trustworthiness"] == pytest.approx(float(own.trustworthiness), abs=1e-12)
    assert found["verdict"] == own.verdict
    assert found["warnings"] == list(own.warnings)
    assert all(k1 < k2 for (k1, _), (k2, _) in zip(found["r_nx"], found["r_nx"][1:], strict=False))
    assert len(found["shepard"][0]) == 2


def test_errors_of_points_are_those_of_the_library(digits: tuple[Client, Any, Any]) -> None:
    client, _, one = digits
    own = lowdim.quality.point_errors(DIGITS.data[:250], client.coordinates(one).astype(float), 15)
    for kind in ("torn", "false"):
        found = client.array(f"/api/maps/{one['id']}/errors?kind={kind}")
        np.testing.assert_allclose(found, getattr(own, kind), atol=1e-6)
    doubt = client.array(f"/api/maps/{one['id']}/errors?kind=doubt")
    trust = lowdim.quality.reliability(client.coordinates(one), DIGITS.data[:250])
    np.testing.assert_allclose(doubt, 1 - trust.score, atol=1e-6)
    client.ask("GET", f"/api/maps/{one['id']}/errors?kind=other", 400)


def test_features_that_a_map_follows_are_those_of_the_library(digits: Digits) -> None:
    client, _, one = digits
    found = client.ask("GET", f"/api/maps/{one['id']}/reasons")
    own = lowdim.explain(client.coordinates(one), DIGITS.data[:250])
    order = np.argsort(-own.r2, kind="stable")
    assert [row["name"] for row in found[:5]] == [f"x{i}" for i in order[:5]]
    np.testing.assert_allclose([row["r2"] for row in found], own.r2[order][: len(found)])
    np.testing.assert_allclose(found[0]["slope"], own.directions[order[0]])


def test_regions_of_points_are_a_column(digits: Digits) -> None:
    client, _, one = digits
    found = client.ask("GET", f"/api/maps/{one['id']}/regions?points=1")
    codes = np.array(found["codes"])
    assert codes.shape == (250,)
    assert set(codes) <= {-1, *range(len(found["categories"]))}
    named = {str(DIGITS.target[i]) for i in range(250)}
    assert all(name[0] in named for name in found["categories"])  # by their commonest label


def test_held_objects_stay_and_the_code_holds_them_too(digits: Digits) -> None:
    client, data, one = digits
    pins = {"3": [40.0, -10.0], "17": [-35.0, 25.0]}
    parameters = {"max_iter": 250, "early_exaggeration": 1}
    settled = client.fit(data, "TSNE", pins=pins, parameters=parameters, **{"from": one["id"]})
    assert (settled["status"], settled["pins"]) == ("done", 2)
    Y = client.coordinates(settled)
    np.testing.assert_array_equal(Y[[3, 17]], list(pins.values()))
    others = np.delete(np.arange(250), [3, 17])
    start = client.coordinates(one)
    assert np.corrcoef(Y[others].T, start[others].T)[[0, 1], [2, 3]].min() > 0.9
    code: dict[str, Any] = {}
    exec(client.http.get(f"/api/maps/{settled['id']}/export/python").text, code)
    np.testing.assert_allclose(code["Y"], Y, atol=1e-4)


@pytest.mark.parametrize(
    ("method", "pins", "said"),
    [
        ("PCA", {"0": [0, 0]}, "PCA cannot hold objects"),
        ("TSNE", {"0": [0, 0, 0]}, "2 numbers"),
        ("TSNE", {"0": ["a", 0]}, "2 numbers"),
        ("TSNE", {"250": [0, 0]}, "a row that the map does not show"),
        ("TSNE", {"x": [0, 0]}, "row numbers and places"),
        ("TSNE", [[0, 0]], "row numbers and places"),
    ],
)
def test_wrong_places_are_refused(digits: Digits, method: str, pins: Any, said: str) -> None:
    client, data, _ = digits
    asked = {"dataset": data["id"], "method": method, "pins": pins}
    assert said in client.ask("POST", "/api/maps", 400, json=asked)["error"]


def test_neighbours_are_those_of_the_data(digits: tuple[Client, Any, Any]) -> None:
    client, _, one = digits
    found = client.ask("GET", f"/api/maps/{one['id']}/neighbors/9?k=6")
    graph = lowdim.neighbors(DIGITS.data[:250], 6)
    assert found["neighbors"] == graph.indices[9].tolist()
    np.testing.assert_allclose(found["distances"], graph.distances[9])
    client.ask("GET", f"/api/maps/{one['id']}/neighbors/250", 404)


def test_an_object_is_contrasted_with_its_neighbours(digits: Digits) -> None:
    client, _, one = digits
    found = client.ask("GET", f"/api/maps/{one['id']}/neighbors/7?k=10&contrast=1")
    X = DIGITS.data[:250]
    gaps = X[7] - X[found["neighbors"]].mean(axis=0)
    effects = gaps / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    assert abs(found["contrast"][0]["effect"]) == pytest.approx(np.abs(effects).max())


def test_a_selection_is_described_by_its_columns(digits: tuple[Client, Any, Any]) -> None:
    client, _, one = digits
    zeros = np.flatnonzero(DIGITS.target[:250] == 0)
    path = f"/api/maps/{one['id']}/selection"
    found = client.ask("POST", path, json={"points": zeros.tolist()})
    assert found["n"] == len(zeros)
    assert found["categories"][0] == {
        "name": "digit",
        "value": "0",
        "effect": pytest.approx(np.pi),
        "inside": 1.0,
        "outside": 0.0,
    }
    best = found["columns"][0]
    X = DIGITS.data[:250]
    inside, rest = X[zeros], np.delete(X, zeros, axis=0)
    place = int(best["name"][1:])
    assert best["inside"] == pytest.approx(inside[:, place].mean())
    assert best["outside"] == pytest.approx(rest[:, place].mean())
    effects = [abs(column["effect"]) for column in found["columns"]]
    assert effects == sorted(effects, reverse=True)
    for points in (["x"], [250], [-1], 3, None):
        client.ask("POST", path, 400, json={"points": points})


def test_suspects_are_objects_among_others(client: Client) -> None:
    X, y = lowdim.data.clusters(80, random_state=0)
    y[5] = 3
    rows = "".join(f"{','.join(f'{v:.4f}' for v in x)},c{k}\n" for x, k in zip(X, y, strict=True))
    head = ",".join([*(f"f{i}" for i in range(10)), "kind"]) + "\n"
    data = client.ask("PUT", "/api/uploads/kinds.csv", 201, content=(head + rows).encode())
    found = client.ask("GET", f"/api/datasets/{data['id']}/suspects?limit=5")
    first = found["objects"][0]
    assert (first["row"], first["label"], first["neighbours_label"]) == (5, "c3", "c0")
    assert "c0" in first["why"]
    assert found["sample"] is None


def test_outliers_and_columns_of_data_without_labels(client: Client) -> None:
    X = np.random.default_rng(0).normal(size=(80, 4))
    X[:40] += 9
    X[:, 3] *= 1000
    X[7, 3] = 3e4
    rows = "".join(f"{','.join(f'{v:.4f}' for v in x)}\n" for x in X)
    data = client.ask("PUT", "/api/uploads/bare.csv", 201, content=("a,b,c,wide\n" + rows).encode())
    found = client.ask("GET", f"/api/datasets/{data['id']}/suspects?limit=5")
    first = found["objects"][0]
    assert (first["row"], first["kind"], first["label"]) == (7, "outlier", None)
    assert first["neighbours_label"] is None
    one = client.fit(data, "PCA")
    near = client.ask("GET", f"/api/maps/{one['id']}/neighbors/7?k=5")
    distances = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)
    expected = distances[7, 5] / np.median(distances[near["neighbors"], 5])
    assert near["apart"] == pytest.approx(expected, rel=1e-3)
    assert near["apart"] > 1.5
    verdict = client.ask("GET", f"/api/maps/{one['id']}/quality")["verdict"]
    assert "wide varies" in verdict


def test_coordinates_are_decoded(digits: tuple[Client, Any, Any]) -> None:
    client, _, one = digits
    places = client.coordinates(one)[[4, 9]].astype(float).tolist()
    path = f"/api/maps/{one['id']}/decode"
    for row, found in zip([4, 9], client.ask("POST", path, json={"places": places}), strict=True):
        values = np.array([value for _, value in found["values"]])
        np.testing.assert_allclose(values, DIGITS.data[row], atol=1)
        assert found["image"].startswith("data:image/png;base64,")
    wrong = ([[1.0]], [["a", "b"]], None, [], [[1.0, 2.0, 3.0]], [[0.0, 0.0]] * 33)
    for one_wrong in wrong:
        client.ask("POST", path, 400, json={"places": one_wrong})


def test_runs_with_other_seeds_show_what_is_stable(client: Client) -> None:
    one = client.fit(client.toy("clusters", n=60), "MDS")
    path = f"/api/maps/{one['id']}"
    assert client.http.get(f"{path}/errors?kind=spread").status_code in (200, 202)
    until(lambda: client.http.get(f"{path}/stability").status_code != 202, "the runs have ended")
    found = client.ask("GET", f"{path}/stability")
    assert 0 < found["score"] <= 1
    assert len(found["spread"]) == 60
    assert client.array(f"{path}/errors?kind=spread").shape == (60,)
    assert client.array(f"{path}/stability/0").shape == (120,)
    client.ask("GET", f"{path}/stability/99", 404)


def test_distances_have_maps_and_questions_too(client: Client) -> None:
    data = client.toy("cities")
    assert (data["metric"], data["d"], data["ids"]) == ("precomputed", None, "id")
    one = client.fit(data, "MDS")
    assert one["status"] == "done"
    client.ask("GET", f"/api/maps/{one['id']}/quality")
    D, names = lowdim.data.cities()
    nearest = client.ask("GET", f"/api/maps/{one['id']}/neighbors/0?k=1")["neighbors"]
    assert nearest == [int(np.argsort(D[0])[1])]
    assert client.ask("GET", f"/api/datasets/{data['id']}/records/0")["id"] == names[0]
    failed = client.fit(data, "PCA")
    assert "takes vectors" in failed["error"]


# --- results -----------------------------------------------------------------------------


def test_tables_hold_ids_labels_and_coordinates(client: Client, people: Any) -> None:
    one = client.fit(people, "PCA")
    path = f"/api/maps/{one['id']}/export"
    response = client.http.get(f"{path}/csv")
    assert "attachment" in response.headers["content-disposition"]
    lines = response.text.splitlines()
    assert lines[0].split(",") == ["id", "colour", "pca0", "pca1"]
    assert lines[4].split(",")[:2] == ["p3", "red"]
    some = client.http.post(f"{path}/selection", json={"points": [3, 5], "format": "csv"})
    assert some.text.splitlines() == [lines[0], lines[4], lines[6]]
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(client.http.get(f"{path}/parquet").content))
    np.testing.assert_array_equal(table["pca0"], client.coordinates(one)[:, 0])
    client.ask("GET", f"{path}/nothing", 404)
    assert not list((client.server.root / ".lowdim-studio" / "exports").iterdir())


def test_annotations_are_kept_and_taken_away(client: Client, people: Any) -> None:
    path = f"/api/datasets/{people['id']}"
    client.ask("PATCH", f"{path}/annotations", json={"rows": [2, 5, 7], "text": " odd one "})
    client.ask("PATCH", f"{path}/annotations", json={"rows": [7], "text": ""})
    changed = client.ask("PATCH", path, json={"standardize": True})
    assert changed["annotations"] == {"2": "odd one", "5": "odd one"}
    one = client.fit(changed, "PCA")
    table = client.http.get(f"/api/maps/{one['id']}/export/csv").text.splitlines()
    at = table[0].split(",").index("annotation")
    assert [i for i, line in enumerate(table[1:]) if line.split(",")[at] == "odd one"] == [2, 5]
    for wrong in ({"rows": [40], "text": "a"}, {"rows": [0], "text": 3}, {"text": "a"}):
        client.ask("PATCH", f"{path}/annotations", 400, json=wrong)


def test_the_model_places_new_rows(client: Client, people: Any, tmp_path: Path) -> None:
    data = client.ask("PATCH", f"/api/datasets/{people['id']}", json={"standardize": True})
    one = client.fit(data, "PCA")
    (tmp_path / "model.lowdim").write_bytes(
        client.http.get(f"/api/maps/{one['id']}/export/model").content
    )
    (tmp_path / "people.csv").write_text(CSV)
    command = ["transform", str(tmp_path / "model.lowdim"), str(tmp_path / "people.csv"), "--json"]
    answer = CliRunner().invoke(main, [*command, "-o", str(tmp_path / "out.npy")])
    assert answer.exit_code == 0, answer.output
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), client.coordinates(one), atol=1e-5)


def test_the_report_is_one_file(digits: tuple[Client, Any, Any]) -> None:
    client, data, one = digits
    other = client.fit(data, "PCA")
    response = client.http.get(f"/api/maps/{one['id']}/export/report?maps={other['id']}")
    assert response.status_code == 200, response.text
    assert response.text.startswith("<!DOCTYPE html>")
    assert response.text.count("<figure") >= 2
    part = client.fit(data, "PCA", rows=list(range(50)))
    path = f"/api/maps/{one['id']}/export/report?maps={part['id']}"
    assert "same objects" in client.ask("GET", path, 409)["error"]


def test_the_python_code_computes_the_map_again(client: Client, people: Any) -> None:
    changes = {"roles": {"weight": "ignore"}, "standardize": True}
    data = client.ask("PATCH", f"/api/datasets/{people['id']}", json=changes)
    rows = list(range(5, 35))
    one = client.fit(data, "Isomap", rows=rows, parameters={"n_neighbors": 6})
    code = client.http.get(f"/api/maps/{one['id']}/export/python").text
    found: dict[str, Any] = {}
    exec(code, found)
    np.testing.assert_allclose(found["Y"], client.coordinates(one), atol=1e-6)


def test_the_command_computes_the_map_again(client: Client, people: Any, tmp_path: Path) -> None:
    data = client.ask("PATCH", f"/api/datasets/{people['id']}", json={"standardize": True})
    parameters = {"method": "exact", "max_iter": 260, "perplexity": 5, "learning_rate": "auto"}
    one = client.fit(data, "TSNE", parameters=parameters)
    command = client.http.get(f"/api/maps/{one['id']}/export/command").text
    words = [*shlex.split(command)[1:], "-o", str(tmp_path / "map.npy")]
    answer = CliRunner().invoke(main, words)
    assert answer.exit_code == 0, answer.output
    np.testing.assert_allclose(np.load(tmp_path / "map.npy"), client.coordinates(one), rtol=1e-5)


def test_questions_before_the_end_of_a_fit_are_refused(digits: tuple[Client, Any, Any]) -> None:
    client, data, _ = digits
    one = client.fit(data, "TSNE", wait=False, pace=50, parameters={"max_iter": 5000})
    for path in ("quality", "errors?kind=torn", "export/csv", "export/model"):
        assert client.ask("GET", f"/api/maps/{one['id']}/{path}", 409)["error"]
    client.ask("GET", f"/api/maps/{one['id']}/neighbors/3")  # asks the data
    client.ask("DELETE", f"/api/maps/{one['id']}")
    client.ask("GET", f"/api/maps/{one['id']}", 404)


def test_the_layout_of_the_page_is_kept(client: Client) -> None:
    layout = {"shown": ["a"], "theme": "dark"}
    client.ask("PUT", "/api/layout", json=layout)
    assert client.ask("GET", "/api/state")["layout"] == layout
    kept = json.loads((client.server.root / ".lowdim-studio" / "session.json").read_text())
    assert kept["layout"] == layout


# --- text, counts, comparison ---------------------------------------------------------------

WORDS = {"knee": ("knee", "running", "swollen"), "eye": ("eye", "glasses", "blurred")}


def write_visits() -> str:
    """Visits with a note on a knee or an eye, and a number that tells nothing."""
    random = np.random.default_rng(0)
    lines = ["visit,note,number"]
    for i in range(120):
        words = [*random.choice(WORDS[["knee", "eye"][i % 2]], 3), f"patient{i}", "came"]
        lines.append(f"v{i},{' '.join(random.permutation(words))},{random.normal():.3f}")
    return "\n".join(lines) + "\n"


def test_a_text_becomes_features_and_its_words_name_regions(client: Client) -> None:
    data = client.ask("PUT", "/api/uploads/visits.csv", 201, content=write_visits().encode())
    path = f"/api/datasets/{data['id']}"
    assert data["d"] == 1
    data = client.ask("PATCH", path, json={"roles": {"note": "text"}})
    roles = {one["name"]: one["role"] for one in data["columns"]}
    assert roles == {"note": "text", "number": "label", "visit": "id"}
    one = client.fit(data, "TSNE", parameters={"perplexity": 10})
    assert one["made_of"].endswith("of note")
    found = client.ask("GET", f"/api/maps/{one['id']}/regions")
    first = {region["text"].partition(",")[0].removesuffix(" ?") for region in found[1:]}
    assert first <= {*WORDS["knee"], *WORDS["eye"]}
    assert first & {*WORDS["knee"]}
    assert first & {*WORDS["eye"]}
    assert "text='note'" in client.http.get(f"/api/maps/{one['id']}/export/python").text
    assert "--text note" in client.http.get(f"/api/maps/{one['id']}/export/command").text
    data = client.ask("PATCH", path, json={"roles": {"note": "label"}})
    assert data["d"] == 1  # the number is a feature again


def test_counts_are_offered_and_tables_transposed(client: Client) -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(random.gamma(0.3, 2, size=(60, 30)))
    lines = [",".join(f"g{i}" for i in range(30)), *(",".join(map(str, row)) for row in counts)]
    data = client.ask("PUT", "/api/uploads/genes.csv", 201, content="\n".join(lines).encode())
    path = f"/api/datasets/{data['id']}"
    assert data["counts"] is False
    assert any('"Normalise counts"' in hint for hint in data["hints"])
    data = client.ask("PATCH", path, json={"counts": True})
    assert data["counts"] is True
    one = client.fit(data, "PCA")
    assert one["made_of"] == "30 features normalised as counts"
    expected = lowdim.tables.normalize_counts(counts.astype(float))
    Y = lowdim.PCA(2).fit_transform(expected)
    np.testing.assert_allclose(client.coordinates(one), Y, atol=1e-3 * np.abs(Y).max())
    assert "counts=True" in client.http.get(f"/api/maps/{one['id']}/export/python").text
    data = client.ask("PATCH", path, json={"transpose": True})
    assert (data["n"], data["d"]) == (30, 60)
    assert (data["transpose"], data["counts"]) == (True, False)


def test_two_maps_are_compared_by_the_neighbours_that_objects_keep(digits: Digits) -> None:
    client, data, first = digits
    second = client.fit(data, "PCA")
    Y, Z = client.coordinates(first), client.coordinates(second)
    expected = lowdim.compare_maps(Y, Z)
    found = client.ask("GET", f"/api/maps/{first['id']}/changes?other={second['id']}")
    assert found["kept"] == pytest.approx(expected.score)
    assert sum(one["size"] for one in found["regions"]) == 250
    kept = [one["kept"] for one in found["regions"]]
    assert kept == sorted(kept)
    path = f"/api/maps/{first['id']}/errors?kind=changed&other="
    np.testing.assert_allclose(client.array(path + second["id"]), 1 - expected.kept, atol=1e-6)

    rows = list(range(50, 120))
    part = client.fit(data, "PCA", rows=rows)
    every = np.full((250, 2), np.nan)
    every[rows] = client.coordinates(part)
    expected = lowdim.compare_maps(Y, every)
    values = client.array(path + part["id"])
    assert np.isfinite(values).nonzero()[0].tolist() == rows
    np.testing.assert_allclose(values[rows], 1 - expected.kept, atol=1e-6)
    back = client.array(f"/api/maps/{part['id']}/errors?kind=changed&other={first['id']}")
    np.testing.assert_allclose(back, lowdim.compare_maps(every, Y).kept * -1 + 1, atol=1e-6)
    other = client.fit(client.toy("clusters", n=60), "PCA")
    client.ask("GET", f"/api/maps/{first['id']}/changes?other={other['id']}", 409)


def test_a_figure_shows_regions_and_trust_as_the_page_does(digits: Digits) -> None:
    client, _, one = digits
    path = f"/api/maps/{one['id']}/export/figure.svg?legend=map"
    plain = client.http.get(f"{path}&color=column:digit").text
    names = [region["text"].removesuffix(" ?") for region in regions_of(client, one)]
    assert not any(f">{name}</text>" in plain for name in names)
    shown = client.http.get(f"{path}&color=column:digit&show=regions&show=trust").text
    assert sum(f">{name}</text>" in shown for name in names) >= 2
    colors = [set(re.findall(r"fill: (#\w+)", text)) for text in (plain, shown)]
    assert len(colors[1]) > 2 * len(colors[0])  # doubtful points have paler ones
    by_region = client.http.get(f"{path}&color=regions&legend=beside").text
    assert "regions</text>" in by_region
    found = client.ask("GET", f"/api/maps/{one['id']}/reasons?points=1")
    counts = np.bincount(found["codes"])
    assert len(counts) == len(found["categories"]) <= 9
    assert counts.sum() == 250
    assert found["categories"][-1] == "others"
    by_change = client.http.get(f"{path}&color=changing&legend=beside").text
    assert all(f">{name}" in by_change for name in found["categories"])


def regions_of(client: Client, one: Any) -> Any:
    return client.ask("GET", f"/api/maps/{one['id']}/regions")[1:]


def test_a_column_without_values_is_left_out_and_the_page_says_so(client: Client) -> None:
    """It said so only in the collapsed list of columns."""
    lines = ["a,empty,b", *(f"{i % 7},,{i % 5}" for i in range(20))]
    data = client.ask("PUT", "/api/uploads/gaps.csv", 201, content="\n".join(lines).encode())
    assert data["d"] == 2
    assert "left out, because no row has a value: 'empty'" in data["hints"]
