"""`lowdim decode`: coordinates in, objects out, in the units of the data."""

import json

import numpy as np
from click.testing import CliRunner
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

import lowdim
from lowdim import tables
from lowdim.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def flowers(tmp_path):
    X = load_iris().data * [1, 10, 100, 1000]
    path = tmp_path / "flowers.csv"
    tables.write(path, X, names=["a", "b", "c", "d"])
    return path, X


def test_standardised_columns_come_back_in_their_units(tmp_path):
    path, X = flowers(tmp_path)
    model, placed, back = (tmp_path / name for name in ("m.lowdim", "map.csv", "back.csv"))
    options = ["--n-components", "4", "--standardize", "--model", model, "-o", placed]
    embed = run("embed", path, "-m", "pca", *options)
    assert embed.exit_code == 0, embed.output
    tables.write(placed, lowdim.load(model).embedding_[:7], force=True)
    result = run("decode", model, placed, "-o", back)
    assert result.exit_code == 0, result.output
    found = tables.read(back)
    assert found.columns == ["a", "b", "c", "d"]
    np.testing.assert_allclose(found.X, X[:7], rtol=1e-6)


def test_a_decoder_can_be_chosen(tmp_path):
    _, X = flowers(tmp_path)
    model, placed, back = (tmp_path / name for name in ("m.lowdim", "map.csv", "back.csv"))
    isomap = lowdim.Isomap(n_neighbors=60).fit(X)
    isomap.save(model)
    tables.write(placed, isomap.embedding_[:5])
    result = run("decode", model, placed, "-o", back, "--decoder", "kernel")
    assert result.exit_code == 0, result.output
    expected = isomap.fit_decoder("kernel").inverse_transform(isomap.embedding_[:5])
    np.testing.assert_allclose(tables.read(back).X, expected, rtol=1e-6)


def test_the_decoder_of_a_model_is_chosen_with_the_map(tmp_path):
    path, _ = flowers(tmp_path)
    model = tmp_path / "m.lowdim"
    options = ["-m", "isomap", "--n-neighbors", "60", "--decoder", "auto"]
    result = run("embed", path, *options, "--model", model)
    assert result.exit_code == 0, result.output
    decoder = lowdim.load(model).decoder_
    assert decoder["kind"] == min(decoder["errors"], key=decoder["errors"].get)
    assert f"decoder  {decoder['kind']}" in result.output
    refused = run("embed", path, *options)
    assert refused.exit_code == 2
    assert "add --model" in refused.output


def test_a_method_with_an_inverse_of_its_own_keeps_it(tmp_path):
    path, _ = flowers(tmp_path)
    model = tmp_path / "m.lowdim"
    result = run("embed", path, "-m", "pca", "--decoder", "kernel", "--model", model, "--json")
    assert result.exit_code == 0, result.output
    assert "inverse of its own" in json.loads(result.output)["warnings"][0]
    assert not hasattr(lowdim.load(model), "decoder_")


def test_maps_of_distances_give_objects_and_weights(tmp_path):
    _, X = flowers(tmp_path)
    model, placed, back = (tmp_path / name for name in ("m.lowdim", "map.csv", "back.csv"))
    mds = lowdim.ClassicalMDS(metric="precomputed").fit(cdist(X, X))
    mds.save(model)
    tables.write(placed, mds.embedding_[:3])
    assert run("decode", model, placed, "-o", back).exit_code == 0
    found = tables.read(back)
    assert found.columns[:1] == ["object0"]
    assert found.X[:, 0].tolist() == [0, 1, 2]


def test_wrong_coordinates_are_refused_in_one_line(tmp_path):
    path, X = flowers(tmp_path)
    model = tmp_path / "m.lowdim"
    lowdim.PCA(2).fit(X).save(model)
    result = run("decode", model, path, "-o", tmp_path / "back.csv")
    assert result.exit_code == 3
    assert "Y has 4 columns" in result.stderr
    assert len(result.stderr.splitlines()) == 1
