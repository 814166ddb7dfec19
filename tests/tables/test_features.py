"""Text, counts and objects in columns as features; a model does the same to new data."""

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

import lowdim
from lowdim import tables
from lowdim.cli import main

random = np.random.RandomState(0)
TOPICS = {
    "sea": ["wave", "ship", "sail", "storm", "harbour", "tide", "fish", "coast"],
    "kitchen": ["bread", "salt", "oven", "butter", "pepper", "soup", "onion", "knife"],
}


def sentences(topic, n):
    return [" ".join(["the", *random.choice(TOPICS[topic], 6)]) for _ in range(n)]


TEXTS = [*sentences("sea", 40), *sentences("kitchen", 40)]


@pytest.fixture
def reviews(tmp_path):
    lines = ["number,stars,review", *(f"{i},{i % 5},{text}" for i, text in enumerate(TEXTS))]
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(lines))
    return path


def run(*words):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


# --- text -----------------------------------------------------------------------------------------


def test_vectors_of_texts_are_those_of_latent_semantic_analysis():
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5).fit_transform(TEXTS)
    svd = TruncatedSVD(5, algorithm="arpack", random_state=1)
    expected = normalize(svd.fit_transform(words))
    X = tables.text_vectors(TEXTS, 5)
    np.testing.assert_allclose(X @ X.T, expected @ expected.T, atol=1e-8)
    assert (X[:40] @ X[:40].T).mean() > 0.3 > abs(X[:40] @ X[40:].T).mean()


def test_a_column_of_text_as_features(reviews):
    table = tables.read(reviews, text="review", id="number")
    assert table.X.shape[1] == len(table.columns) > 2
    assert table.columns[0] == "review 0"
    assert table.labels["stars"].tolist() == [i % 5 for i in range(80)]
    assert table.labels["review"].tolist() == TEXTS
    assert table.ids[3] == "3"
    again = tables.read(reviews, recipe=tables.Recipe(**table.recipe.to_dict()))
    np.testing.assert_allclose(again.X, table.X, atol=1e-12)


def test_texts_without_known_words_are_zero(reviews, tmp_path):
    recipe = tables.read(reviews, text="review").recipe
    (tmp_path / "new.csv").write_text("n,review\n1,salt and soup\n2,quantum\n3,NA\n4,wave\n")
    X = tables.read(tmp_path / "new.csv", recipe=recipe).X
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), [1, 0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("header", [True, False])
def test_a_text_on_each_line(header, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("\n".join(["review"] * header + TEXTS))
    table = tables.read(path, text="review" if header else "x0", header=header)
    np.testing.assert_allclose(table.X, tables.text_vectors(TEXTS), atol=1e-9)
    again = tables.read(path, recipe=table.recipe, header=header)
    np.testing.assert_allclose(again.X, table.X, atol=1e-9)
    path.write_text("\n".join(f"{text}, indeed, {text}" for text in TEXTS))
    assert tables.read(path, text="x0", header=False, delimiter="\t").n_rows == len(TEXTS)


def test_what_is_no_text_is_named(reviews, tmp_path):
    with pytest.raises(tables.DataError, match=r"text: column 'stars' .* is not text"):
        tables.read(reviews, text="stars")
    with pytest.raises(tables.DataError, match="Did you mean 'review'"):
        tables.read(reviews, text="reviews")
    (tmp_path / "t.csv").write_text("a,k\n1,.\n2,:\n3,;\n")
    with pytest.raises(tables.DataError, match="hold no words"):
        tables.read(tmp_path / "t.csv", text="k")
    (tmp_path / "t.csv").write_text(
        "day,k,word\n2024-02-01,one more,a\n2024-02-02,two,b\n2024-02-03,one,a\n"
    )
    with pytest.raises(tables.DataError, match="or by its words with text='k'"):
        tables.read(tmp_path / "t.csv", categorical="label")


def test_a_model_of_text_places_new_texts(reviews, tmp_path):
    model = tmp_path / "m.lowdim"
    run(
        "embed",
        reviews,
        "-m",
        "pca",
        "--text",
        "review",
        "--model",
        model,
        "-o",
        tmp_path / "y.csv",
    )
    run("transform", model, reviews, "-o", tmp_path / "again.csv")
    table = tables.read(reviews, text="review")
    Y = lowdim.load(model).transform(table.X)
    again = tables.read(tmp_path / "again.csv", features=["pca*"]).X
    np.testing.assert_allclose(again, Y, atol=1e-9)


# --- counts ---------------------------------------------------------------------------------------


COUNTS = random.poisson(random.gamma(0.5, 1.0, size=(30, 12)) * random.uniform(0.5, 3, (30, 1)))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_counts_are_shares_of_the_total_on_a_logarithmic_scale(kind):
    total = np.median(COUNTS.sum(axis=1))
    expected = np.log1p(COUNTS / COUNTS.sum(axis=1, keepdims=True) * total)
    X = tables.normalize_counts(kind(COUNTS.astype(np.float32)))
    assert X.dtype == np.float32
    assert sparse.issparse(X) == (kind is sparse.csr_array)
    dense = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_allclose(dense, expected, rtol=1e-5)
    empty = tables.normalize_counts(kind(np.array([[0, 0], [1.0, 1]])))
    assert (empty.toarray() if sparse.issparse(empty) else empty)[0].tolist() == [0, 0]


def test_counts_of_a_file_and_of_new_objects(tmp_path):
    names = [f"gene{i}" for i in range(12)]
    path = tables.write(tmp_path / "t.csv", COUNTS, names=names)
    assert any("look like counts: counts=True" in note for note in tables.read(path).notes)
    table = tables.read(path, counts=True)
    np.testing.assert_allclose(table.X, tables.normalize_counts(COUNTS))
    assert any("counts: every row" in note for note in table.notes)
    new = tables.write(tmp_path / "n.csv", 10 * COUNTS[:4], names=names)
    again = tables.read(new, recipe=tables.Recipe(**table.recipe.to_dict()))
    np.testing.assert_allclose(again.X, table.X[:4])
    shares = COUNTS[:4] / COUNTS[:4].sum(axis=1, keepdims=True) * table.recipe.counts
    np.testing.assert_allclose(table.recipe.undo(table.X[:4]), shares)
    scaled = tables.read(path, counts=True, standardize=True)
    np.testing.assert_allclose(scaled.X.std(axis=0), 1)
    np.testing.assert_allclose(scaled.recipe.undo(scaled.X[:4]), shares)


def test_pixels_and_categories_do_not_look_like_counts(tmp_path):
    for X in (load_digits().data, random.randint(0, 2, (50, 12)), random.randn(50, 12)):
        np.save(tmp_path / "t.npy", X)
        assert not any("counts" in note for note in tables.read(tmp_path / "t.npy").notes)


def test_negative_counts_are_refused(tmp_path):
    np.save(tmp_path / "t.npy", COUNTS - 1.0)
    with pytest.raises(tables.DataError, match=r"counts=True needs .* the least value is -1"):
        tables.read(tmp_path / "t.npy", counts=True)
    with pytest.raises(ValueError, match="at least 0, but the least is -1"):
        tables.normalize_counts(COUNTS - 1.0)


# --- objects in columns ---------------------------------------------------------------------------


def test_objects_in_columns(tmp_path):
    path = tmp_path / "t.csv"
    lines = ["gene,cell a,cell b,cell c", "actin,1,2,3", "tubulin,4,5,6"]
    path.write_text("\n".join(lines))
    table = tables.read(path, transpose=True)
    np.testing.assert_array_equal(table.X, [[1, 4], [2, 5], [3, 6]])
    assert table.ids.tolist() == ["cell a", "cell b", "cell c"]
    assert table.columns == ["actin", "tubulin"]
    (tmp_path / "new.csv").write_text("gene,cell d,cell e\ntubulin,8,9\nactin,7,6\n")
    again = tables.read(tmp_path / "new.csv", recipe=tables.Recipe(**table.recipe.to_dict()))
    np.testing.assert_array_equal(again.X, [[7, 8], [6, 9]])


@pytest.mark.parametrize("save", [np.save, sparse.save_npz])
def test_arrays_with_objects_in_columns(save, tmp_path):
    path = tmp_path / ("t.npy" if save is np.save else "t.npz")
    save(path, COUNTS if save is np.save else sparse.csr_array(COUNTS))
    X = tables.read(path, transpose=True).X
    np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, COUNTS.T)


def test_genes_in_rows_as_counts_on_the_command_line(tmp_path):
    lines = ["gene," + ",".join(f"c{i}" for i in range(30))]
    lines += [f"g{j}," + ",".join(map(str, column)) for j, column in enumerate(COUNTS.T)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    run(
        "embed",
        tmp_path / "t.csv",
        "--transpose",
        "--counts",
        "-m",
        "pca",
        "-o",
        tmp_path / "y.csv",
    )
    found = tables.read(tmp_path / "y.csv")
    assert found.ids.tolist() == [f"c{i}" for i in range(30)]
    expected = lowdim.PCA(n_components=2).fit_transform(tables.normalize_counts(COUNTS))
    np.testing.assert_allclose(found.X, expected, atol=1e-9)


def test_a_column_of_sentences_is_offered_until_it_is_used(tmp_path):
    rows = [f"{i},the red fox {i} runs home,fox" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["x,story,animal", *rows]) + "\n")
    offer = "column 'story' holds sentences (to make a map of their words: text='story')"
    assert offer in tables.read(tmp_path / "t.csv").notes
    assert offer not in tables.read(tmp_path / "t.csv", text="story").notes
