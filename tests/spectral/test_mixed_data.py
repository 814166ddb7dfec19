"""Factor analysis of mixed data and multiple correspondence analysis, against prince and theory."""

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim import FactorAnalysisOfMixedData, MultipleCorrespondenceAnalysis
from lowdim.estimator.fitted_state import check_fitted_state

# prince 0.23.0: FAMD(n_components=3, engine="scipy") and MCA(n_components=3, engine="scipy",
# correction=None), `eigenvalues_`, `row_coordinates(X)` and `column_contributions_`, of the tables
# below.
FAMD_EIGENVALUES = [3.2743598355, 1.0846308543, 0.4954693151]
FAMD_ROWS = [
    [-1.5428621992, 0.8433922607, 1.1559822803],
    [1.3230530718, -1.4912383895, 0.453842612],
    [-1.8552865426, -0.3771205598, -1.0009929005],
    [2.3794290282, 1.0936209749, -0.7792199582],
    [1.5925208129, -1.464442303, 0.3427539479],
    [-2.8087985501, -0.5657835492, -0.4980866883],
    [1.4852733412, 0.8937976987, -0.2808164628],
    [-0.5733289622, 1.0677738672, 0.6065371696],
]
FAMD_CONTRIBUTIONS = [0.273140, 0.273591, 0.126812 + 0.049554 + 0.008911, 2 * 0.133996]
MCA_EIGENVALUES = [0.6112610021, 0.4746784187, 0.191988248]
MCA_ROWS = [
    [0.7236877954, 0.4499726913, -0.308887611],
    [-1.2602830611, -0.2369026227, 0.0958175423],
    [0.4564745155, -1.1655247248, 0.0194757148],
    [0.0801207502, 0.9524546562, 0.1935943539],
    [-1.2602830611, -0.2369026227, 0.0958175423],
    [0.9589564803, -0.5219576796, 0.66304276],
    [0.0801207502, 0.9524546562, 0.1935943539],
    [0.2212058306, -0.1935943539, -0.9524546562],
]


@pytest.fixture
def people():
    return pd.DataFrame(
        {
            "height": [1.5, 1.7, 1.6, 1.9, 1.8, 1.4, 1.75, 1.65],
            "weight": [50.0, 72, 55, 90, 70, 48, 80, 62],
            "colour": list("rgbrgbrr"),
            "size": list("SLSLLSLS"),
        }
    )


@pytest.fixture
def answers(people):
    return people[["colour", "size"]].assign(shape=list("xyyxyxxy"))


def assert_same_up_to_sign(Y, expected, atol=1e-8):
    signs = np.sign((Y * np.asarray(expected)).sum(axis=0))
    np.testing.assert_allclose(Y * signs, expected, atol=atol)


def test_mixed_data_agree_with_prince(people):
    famd = FactorAnalysisOfMixedData(3).fit(people)
    np.testing.assert_allclose(famd.eigenvalues_, FAMD_EIGENVALUES, rtol=1e-8)
    np.testing.assert_allclose(famd.explained_variance_ratio_, famd.eigenvalues_ / 5)
    np.testing.assert_allclose(famd.column_contributions_[:, 0], FAMD_CONTRIBUTIONS, atol=2e-6)
    np.testing.assert_allclose(famd.column_contributions_.sum(axis=0), 1)
    assert_same_up_to_sign(famd.embedding_, FAMD_ROWS)


def test_categories_agree_with_prince(answers):
    mca = MultipleCorrespondenceAnalysis(3).fit(answers)
    np.testing.assert_allclose(mca.eigenvalues_, MCA_EIGENVALUES, rtol=1e-8)
    assert_same_up_to_sign(mca.embedding_, MCA_ROWS)


def test_categories_are_correspondence_analysis_of_the_indicators(answers):
    P = pd.get_dummies(answers).to_numpy(float)
    P /= P.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    U, s, _ = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), full_matrices=False)
    mca = MultipleCorrespondenceAnalysis(2).fit(answers)
    np.testing.assert_allclose(mca.eigenvalues_, s[:2] ** 2)
    np.testing.assert_allclose(mca.explained_variance_ratio_, s[:2] ** 2 / (s**2).sum())
    assert_same_up_to_sign(mca.embedding_, (U * s / np.sqrt(r)[:, None])[:, :2], 1e-12)
    famd = FactorAnalysisOfMixedData(2).fit(answers)
    np.testing.assert_allclose(famd.embedding_ / np.sqrt(3), mca.embedding_, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_alone_are_principal_components_of_standardised_data(dtype):
    X = np.random.RandomState(0).normal(size=(60, 5)) * [1, 10, 0.1, 5, 1] + [0, 3, 1, 100, -1]
    X = X.astype(dtype)
    famd = FactorAnalysisOfMixedData(3).fit(X)
    pca = lowdim.PCA(3).fit((X - X.mean(axis=0)) / X.std(axis=0))
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert_same_up_to_sign(famd.embedding_, pca.embedding_, tolerance)
    np.testing.assert_allclose(
        famd.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=tolerance
    )
    assert famd.embedding_.dtype == famd.transform(X).dtype == dtype


def test_every_kind_of_table_gives_the_same_map(people):
    Y = FactorAnalysisOfMixedData().fit_transform(people)
    typed = people.astype({"colour": "category", "size": "string"})
    for table in (people.to_numpy(), people.to_numpy().tolist(), typed):
        np.testing.assert_array_equal(FactorAnalysisOfMixedData().fit_transform(table), Y)
    coded = people.assign(colour=people["colour"].map({"r": 3, "g": 1, "b": 2}))
    for column in ("colour", 2):
        named = FactorAnalysisOfMixedData(categorical_features=[column, "size"]).fit(coded)
        np.testing.assert_allclose(named.embedding_, Y, atol=1e-12)
    assert named.categories_[2] == [3, 1, 2]
    assert not np.allclose(abs(FactorAnalysisOfMixedData().fit_transform(coded)), abs(Y))


def test_an_unknown_column_is_named(people):
    with pytest.raises(ValueError, match=r"categorical_features.*'age'.*height"):
        FactorAnalysisOfMixedData(categorical_features="age").fit(people)
    with pytest.raises(ValueError, match=r"categorical_features.*4.*4 columns"):
        FactorAnalysisOfMixedData(categorical_features=[4]).fit(people.to_numpy())


def test_all_axes_give_the_table_back(people, answers):
    famd = FactorAnalysisOfMixedData(5).fit(people)
    back = famd.inverse_transform(famd.embedding_)
    np.testing.assert_allclose(back[:, :2].astype(float), people[["height", "weight"]])
    assert back[:, 2:].tolist() == people[["colour", "size"]].to_numpy().tolist()
    mca = MultipleCorrespondenceAnalysis(4).fit(answers)
    assert mca.inverse_transform(mca.embedding_).tolist() == answers.to_numpy().tolist()


def test_a_new_category_has_no_indicator(people):
    famd = FactorAnalysisOfMixedData().fit(people)
    new = people[:2].assign(colour=["violet", "g"])
    with pytest.warns(UserWarning, match="column 2: 1 row.* category that was not in the training"):
        Y = famd.transform(new)
    np.testing.assert_allclose(Y[1], famd.embedding_[1], atol=1e-12)
    red = famd.components_[:, 2] / famd.scale_[2]
    np.testing.assert_allclose(Y[0], famd.embedding_[0] - red, atol=1e-12)


@pytest.mark.parametrize("column", ["weight", "colour"])
def test_a_missing_value_is_an_error_that_says_where(people, column):
    gap = people.astype({column: object})
    gap.loc[3, column] = None
    place = rf"missing value .* at \[3, {list(people).index(column)}\]"
    with pytest.raises(ValueError, match=place):
        FactorAnalysisOfMixedData().fit(gap)
    with pytest.raises(ValueError, match=place):
        FactorAnalysisOfMixedData().fit(people).transform(gap)


def test_one_number_is_one_categorical_column(people):
    first = people[people.columns[:1]].astype("category").assign(**people.iloc[:, 1:])
    Y = FactorAnalysisOfMixedData(categorical_features=0).fit_transform(people)
    np.testing.assert_array_equal(Y, FactorAnalysisOfMixedData().fit_transform(first))
    for wrong in (0.5, 3j, np.array(9), [np.zeros(3)]):
        with pytest.raises(ValueError, match="categorical_features"):
            FactorAnalysisOfMixedData(categorical_features=wrong).fit(people)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_numbers_give_the_same_map(people, scale):
    Y = FactorAnalysisOfMixedData().fit_transform(people)
    extreme = people.assign(weight=people["weight"] * scale)
    np.testing.assert_allclose(FactorAnalysisOfMixedData().fit_transform(extreme), Y, rtol=1e-9)


def test_a_constant_column_adds_nothing(people):
    famd = FactorAnalysisOfMixedData().fit(people.assign(one=0.1, same="a"))
    assert_same_up_to_sign(famd.embedding_, np.asarray(FAMD_ROWS)[:, :2])
    np.testing.assert_allclose(famd.column_contributions_[4:], 0, atol=1e-15)


@pytest.mark.parametrize("method", [FactorAnalysisOfMixedData, MultipleCorrespondenceAnalysis])
def test_a_saved_model_is_the_same(answers, people, method, tmp_path):
    table = people if method is FactorAnalysisOfMixedData else answers.assign(number=[1, 2] * 4)
    model = method().fit(table)
    model.save(tmp_path / "model.lowdim")
    again = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(again.transform(table), model.embedding_)
    back = again.inverse_transform(model.embedding_)
    assert back.tolist() == model.inverse_transform(model.embedding_).tolist()


def test_a_plan_of_a_table_with_a_rare_category():
    """The probes of a plan are fits to some of the objects, which may lack a category."""
    random = np.random.RandomState(0)
    table = pd.DataFrame({"x": random.normal(size=800), "c": random.choice(list("abc"), 800)})
    table.loc[799, "c"] = "rare"
    assert lowdim.plan(FactorAnalysisOfMixedData(), table).seconds is not None


def test_a_damaged_model_is_refused(people):
    model = FactorAnalysisOfMixedData().fit(people)
    state = {**vars(model), "categories_": [None, None, ["r"], ["S", "L"]]}
    fitted = {name: value for name, value in state.items() if name.endswith("_")}
    with pytest.raises(ValueError, match="indicators"):
        check_fitted_state(FactorAnalysisOfMixedData(), fitted)
