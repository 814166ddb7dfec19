"""Results in consoles and notebooks: one short line, or a table."""

import os
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import lowdim
from lowdim import quality, tables
from lowdim.catalog import CATALOG


def results(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    D, _ = lowdim.data.cities()
    mds = lowdim.MDS(metric="precomputed", random_state=0, max_iter=5)
    path = folder / "t<b>.csv"
    path.write_text("id,a,b,k\n1,2,3,u\n2,3,4,v\n3,5,5,u\n")
    return {
        "Suggestion": quality.suggest(X, ["PCA", "Isomap"], n_neighbors=[5], random_state=0),
        "Table": tables.read(path),
        "Permutations": quality.permutation_test(mds, D, n_permutations=3, random_state=0),
        "Jackknife": quality.jackknife(mds, D),
        "Procrustes": lowdim.procrustes(X, X[:, ::-1]),
        "EuclideanTest": lowdim.is_euclidean(D),
        "Suspects": quality.suspects(X + 9 * (np.arange(40) > 19)[:, None], np.arange(40) > 22),
        "Comparison": quality.compare(X, {"a": X[:, :2], "<b>": X[:, 1:]}),
        "Assessment": quality.assess(X, X[:, :2]),
        "IntrinsicDimension": quality.intrinsic_dimension(X, isomap=False),
    }


class Markup(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words += data


@pytest.mark.filterwarnings("ignore")
def test_results_are_one_line_and_a_table(tmp_path):
    for name, result in results(tmp_path).items():
        text = repr(result)
        assert text.startswith(f"{name}("), text
        assert len(text) < 160
        assert "\n" not in text
        assert "array(" not in text
        page = Markup(result._repr_html_())
        assert set(page.tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}, name
        assert page.tags.count("tr") >= 3


def test_dir_shows_public_names_only():
    public = {row.name for row in CATALOG}
    public |= {"NeighborGraph", "compute", "geodesics", "is_euclidean", "load", "neighbors"}
    public |= {"is_positive_semidefinite", "procrustes", "show_versions", "__version__"}
    public |= {"data", "plot", "quality", "report", "tables"}
    assert public <= set(dir(lowdim))
    assert not [name for name in dir(lowdim) if name.startswith("_") and name != "__version__"]
    assert "annotations" not in dir(lowdim)
    assert "logging" not in dir(lowdim)


def test_pictures_appear_in_a_session_of_pyplot():
    program = """
import numpy as np
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
import lowdim
X = np.random.default_rng(0).normal(size=(30, 3))
model = lowdim.PCA(n_components=2).fit(X)
ax = model.plot()
assert plt.gcf() is ax.figure and len(plt.get_fignums()) == 1
figure = lowdim.plot.compare({"a": model.embedding_, "b": X[:, :2]})
assert plt.gcf() is figure and len(plt.get_fignums()) == 2
own = plt.figure().add_subplot()
assert model.plot(ax=own) is own and len(plt.get_fignums()) == 3
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_text_column_of_a_frame_is_named():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [1.0, 2, 3, 4], "kind": ["x", "y", "x", "z"]})
    for method in (lowdim.PCA, lowdim.Isomap, lowdim.TSNE):
        with pytest.raises(ValueError, match=r"X: column 'kind' holds 'x', which is not a number"):
            method().fit(X)
