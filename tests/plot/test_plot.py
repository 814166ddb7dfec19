import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import lowdim
from lowdim import plot
from lowdim.objects.neighbors import neighbors
from lowdim.plot.colors import COLORS, MAX_KINDS, OTHER, kinds_of

rng = np.random.default_rng(0)
Y2 = rng.normal(size=(60, 2))


def points(ax):
    """What is drawn, in the order of drawing."""
    return np.asarray(ax.collections[-1].get_offsets())


def legend_texts(owner):
    return [text.get_text() for text in owner.get_texts()]


def saved(figure, tmp_path):
    path = tmp_path / "picture.png"
    figure.savefig(path)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    return len(data)


def test_every_object_is_drawn_once_where_it_is():
    ax = plot.scatter(Y2)
    np.testing.assert_array_equal(np.sort(points(ax), axis=0), np.sort(Y2, axis=0))
    assert ax.get_aspect() == 1
    assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0
    assert ax.get_legend() is None


def test_dates_are_coloured_along_a_bar_of_dates(tmp_path):
    dates = np.datetime64("2024-01-01") + np.arange(60)
    figure = plot.scatter(Y2, {"day": dates}).figure
    saved(figure, tmp_path)
    bar = figure.axes[1]
    assert bar.get_ylabel() == "day"
    texts = [tick.get_text() for tick in bar.get_yticklabels()]
    assert 2 <= len(texts) <= 7
    assert all(text.startswith("2024-0") for text in texts)


def test_rows_with_nan_are_left_out_with_their_colour():
    Y = Y2.copy()
    Y[3, 0], Y[7, 1], Y[9, 1] = np.nan, np.inf, np.nan
    ax = plot.scatter(Y, np.arange(60.0))
    reference = plot.scatter(Y2, np.arange(60.0))
    assert len(points(ax)) == 57
    shade = {tuple(p): tuple(c) for p, c in zip(*drawn(reference), strict=True)}
    assert all(shade[tuple(p)] == tuple(c) for p, c in zip(*drawn(ax), strict=True))


def drawn(ax):
    return points(ax), ax.collections[-1].get_facecolors()


@pytest.mark.parametrize(
    ("color", "texts"),
    [
        (np.arange(60) % 3, ["0", "1", "2"]),
        (np.where(Y2[:, 0] > 0, "right", "left"), ["left", "right"]),
        (Y2[:, 0] > 0, ["False", "True"]),
        (np.array(["b", "a"] * 30, dtype=object), ["a", "b"]),
        (np.arange(60) % 12, [str(kind) for kind in range(12)]),
    ],
    ids=["integers", "strings", "booleans", "objects", "twelve"],
)
def test_kinds_get_a_legend_and_distinct_colours(color, texts):
    ax = plot.scatter(Y2, color)
    assert legend_texts(ax.get_legend()) == texts
    shades = {to_hex(handle.get_color()) for handle in ax.get_legend().legend_handles}
    assert len(shades) == len(texts)
    assert {to_hex(shade) for shade in drawn(ax)[1]} == shades


def test_missing_labels_are_one_grey_kind():
    color = np.array(["a", None, float("nan"), "", "b", "a"] * 10, dtype=object)
    ax = plot.scatter(Y2, color)
    assert legend_texts(ax.get_legend()) == ["(missing)", "a", "b"]
    greys = [to_hex(shade) for shade in drawn(ax)[1]].count(OTHER)
    assert greys == 30


def test_the_legend_names_the_colour_of_its_points():
    color = np.where(Y2[:, 0] > 0, "right", "left")
    ax = plot.scatter(Y2, color)
    legend = ax.get_legend()
    names = {
        to_hex(handle.get_color()): text
        for handle, text in zip(legend.legend_handles, legend_texts(legend), strict=True)
    }
    for (x, _), shade in zip(*drawn(ax), strict=True):
        assert names[to_hex(shade)] == ("right" if x > 0 else "left")


@pytest.mark.parametrize("color", [np.arange(60), np.linspace(0, 1, 60), np.arange(60) % 2 / 2])
def test_other_values_are_coloured_along_viridis_without_a_legend(color):
    ax = plot.scatter(np.column_stack([color, np.arange(60)]), color)
    assert ax.get_legend() is None
    where, shades = drawn(ax)
    shades = shades[np.argsort(where[:, 0], kind="stable")]
    assert to_hex(shades[0]) == "#440154"
    assert to_hex(shades[-1]) == "#fde725"
    brightness = shades[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert np.all(np.diff(brightness) > -1e-9)


def test_unknown_values_are_grey():
    color = np.arange(60.0)
    color[5] = np.nan
    where, shades = drawn(plot.scatter(Y2, color))
    row = np.flatnonzero((where == Y2[5]).all(axis=1))
    assert to_hex(shades[row[0]]) == "#cccccc"


def test_constant_values_and_no_points_can_be_drawn(tmp_path):
    assert saved(plot.scatter(Y2, np.ones(60)).figure, tmp_path) > 1000
    assert saved(plot.scatter(np.full((4, 2), np.nan)).figure, tmp_path) > 1000


def test_one_colour_for_all():
    shades = drawn(plot.scatter(Y2, color="#D55E00"))[1]
    assert {to_hex(shade) for shade in shades} == {"#d55e00"}


def luminance(shade):
    """Relative luminance of WCAG 2."""
    parts = np.array(to_rgb(shade))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    bright, dim = sorted([luminance(one), luminance(other)], reverse=True)
    return (bright + 0.05) / (dim + 0.05)


# How colours look without one kind of cones (Machado et al. 2009), on linear RGB.
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
PROTANOPIA = np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]])


def cielab(shades, vision):
    """CIELAB coordinates under D65, as seen with some vision."""
    rgb = np.array([to_rgb(shade) for shade in shades])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ vision.T, 0, 1)
    xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    x, y, z = np.cbrt((linear @ np.transpose(xyz)) / np.sum(xyz, axis=1)).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def least_gap(shades, vision):
    places = cielab(shades, vision)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    return (gaps + 999 * np.eye(len(shades))).min()


@pytest.mark.parametrize("paper", ["#ffffff", "#1b1e22"])
def test_colours_of_kinds_stand_out_from_light_and_from_dark_paper(paper):
    style = files("lowdim").joinpath("web", "report.css").read_text()
    assert f"--panel: {paper.replace('ffffff', 'fff')};" in style
    assert min(contrast(shade, paper) for shade in [*COLORS, OTHER]) >= 3


def test_colours_of_kinds_differ_also_for_colour_blind_readers():
    assert len(set(COLORS)) == MAX_KINDS == 30
    rgb = np.array([to_rgb(shade) for shade in COLORS])
    gaps = np.linalg.norm(rgb[:, None] - rgb[None], axis=2) + 9 * np.eye(30)
    assert gaps.min() > 0.1
    assert least_gap(COLORS[:10], np.eye(3)) > 20  # a just noticeable difference is 2.3
    for vision in (DEUTERANOPIA, PROTANOPIA):
        assert least_gap(COLORS[:10], vision) > 9


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.linspace(-1, 1, 60), None),
        (np.geomspace(1, 1e6, 60), "logarithmic scale"),
        (np.r_[np.zeros(40), np.geomspace(1, 1e6, 20)], "scale of ranks"),
        (-np.geomspace(1, 1e6, 60), "scale of ranks"),
    ],
)
def test_skewed_values_use_all_colours_and_the_bar_says_how(values, said):
    ax = plot.scatter(Y2, {"amount": values})
    assert ax.figure.axes[1].get_ylabel() == ("amount" if said is None else f"amount, {said}")
    colors = {to_hex(shade) for shade in drawn(ax)[1]}
    assert len(colors) >= 20
    assert {"#440154", "#fde725"} <= colors


def test_kinds_are_in_natural_order_and_keep_thirty_colours():
    names = [f"topic {i}" for i in range(30)]
    kinds = kinds_of(np.array(names[::-1]))
    assert list(kinds.names) == names
    assert sorted(kinds.places.tolist()) == list(range(30))
    ax = plot.scatter(np.tile(Y2, (2, 1))[:90], np.array(names * 3))
    assert legend_texts(ax.get_legend()) == names
    assert len({to_hex(handle.get_color()) for handle in ax.get_legend().legend_handles}) == 30


def test_of_many_kinds_the_largest_have_colours_and_the_legend_says_so():
    sizes = np.where(np.arange(40) % 4 == 3, 1, 3)  # ten small kinds
    values = np.repeat([f"k{i}" for i in range(40)], sizes)
    Y = np.random.default_rng(0).normal(size=(len(values), 2))
    ax = plot.scatter(Y, values)
    texts = legend_texts(ax.get_legend())
    assert texts[:4] == ["k0", "k1", "k2", "k4"]
    assert texts[-1] == "10 smaller kinds"
    assert len(texts) == 31
    grey = [to_hex(shade) for shade in drawn(ax)[1]].count(OTHER)
    assert grey == 10


@pytest.mark.parametrize("Y", [Y2[:, 0], Y2[:, :1]])
def test_one_dimension_becomes_a_strip(Y):
    ax = plot.scatter(Y)
    np.testing.assert_array_equal(np.sort(points(ax)[:, 0]), np.sort(Y2[:, 0]))
    assert len(np.unique(points(ax)[:, 1])) == 60
    assert ax.get_aspect() == "auto"


def test_three_dimensions_keep_their_proportions(tmp_path):
    Y = rng.uniform(size=(200, 3)) * [1, 2, 4]
    ax = plot.scatter(Y, Y[:, 0])
    assert ax.name == "3d"
    x, y, z = ax.get_box_aspect()
    assert y / x == pytest.approx(2, rel=0.05)
    assert z / x == pytest.approx(4, rel=0.05)
    assert saved(ax.figure, tmp_path) > 5000


def test_axes_of_the_wrong_kind_are_refused():
    ax = Figure().add_subplot()
    with pytest.raises(ValueError, match='projection="3d"'):
        plot.scatter(np.zeros((3, 3)), ax=ax)
    with pytest.raises(ValueError, match="flat axes"):
        plot.scatter(Y2, ax=Figure().add_subplot(projection="3d"))


def test_given_axes_are_drawn_on():
    figure = Figure()
    ax = figure.add_subplot()
    assert plot.scatter(Y2, ax=ax, title="a map") is ax
    assert ax.get_title() == "a map"


@pytest.mark.parametrize("shape", [(5, 4), (5, 0), (2, 2, 2), ()])
def test_shapes_that_cannot_be_drawn(shape):
    with pytest.raises(ValueError, match="one, two or three columns"):
        plot.scatter(np.zeros(shape))


def test_wrong_lengths_are_named():
    with pytest.raises(ValueError, match=r"labels has shape \(3,\), but there are 60"):
        plot.scatter(Y2, [1, 2, 3])
    with pytest.raises(ValueError, match="names has 2 entries for 60"):
        plot.scatter(Y2, names=["a", "b"])
    with pytest.raises(ValueError, match=r"images must have shape \(60, height, width"):
        plot.scatter(Y2, images=np.zeros((3, 8, 8)))
    with pytest.raises(ValueError, match="two dimensions only"):
        plot.scatter(Y2[:, 0], images=np.zeros((60, 8, 8)))


def test_markers_shrink_with_the_number_of_objects_unless_given():
    few, many = plot.scatter(Y2), plot.scatter(rng.normal(size=(5000, 2)))
    assert few.collections[0].get_sizes()[0] > 4 * many.collections[0].get_sizes()[0]
    assert plot.scatter(Y2, size=7).collections[0].get_sizes()[0] == 7


def test_large_maps_are_rasterized_in_vector_files():
    assert plot.scatter(rng.normal(size=(5000, 2))).collections[0].get_rasterized()
    assert not plot.scatter(Y2).collections[0].get_rasterized()


@pytest.mark.parametrize("shape", [(8, 8), (6, 12), (8, 8, 3)])
def test_images_sit_on_their_points_and_do_not_overlap(shape, tmp_path):
    Y = rng.normal(size=(400, 2))
    images = rng.uniform(size=(400, *shape))
    ax = plot.scatter(Y, images=images)
    boxes = np.array([image.get_extent() for image in ax.images])  # left, right, bottom, top
    assert 20 < len(boxes) < 400
    centers = np.column_stack([boxes[:, :2].mean(axis=1), boxes[:, 2:].mean(axis=1)])
    for picture, center in zip(ax.images, centers, strict=True):
        row = np.argmin(np.linalg.norm(Y - center, axis=1))
        np.testing.assert_allclose(Y[row], center)
        np.testing.assert_array_equal(picture.get_array(), images[row])
    width, height = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    np.testing.assert_allclose(width / height, shape[1] / shape[0])
    gap_x = abs(centers[:, None, 0] - centers[:, 0]) - width[0]
    gap_y = abs(centers[:, None, 1] - centers[:, 1]) - height[0]
    apart = (gap_x > 0) | (gap_y > 0)
    assert apart[~np.eye(len(boxes), dtype=bool)].all()
    assert saved(ax.figure, tmp_path) > 5000


def test_names_are_written_apart():
    grid = np.array([(x, y) for x in range(4) for y in range(4)], dtype=float)
    names = [f"place {i}" for i in range(16)]
    ax = plot.scatter(grid, names=names)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == names
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    frame = ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


def test_names_in_three_dimensions_skip_nan():
    Y = np.array([[0, 0, 0], [1, 1, 1], [np.nan, 0, 0]])
    ax = plot.scatter(Y, names=["a", "b", "c"])
    assert [text.get_text().strip() for text in ax.texts] == ["a", "b"]


def test_compare_draws_a_panel_each_and_one_legend(tmp_path):
    Y3 = rng.normal(size=(60, 3))
    figure = plot.compare(
        {"flat": Y2, "deep": Y3, "line": Y2[:, 0], "again": Y2}, np.arange(60) % 3, title="all"
    )
    assert [ax.get_title() for ax in figure.axes] == ["flat", "deep", "line", "again"]
    assert [ax.name for ax in figure.axes] == ["rectilinear", "3d", "rectilinear", "rectilinear"]
    assert all(ax.get_legend() is None for ax in figure.axes)
    (legend,) = figure.legends
    assert legend_texts(legend) == ["0", "1", "2"]
    assert figure.get_suptitle() == "all"
    assert saved(figure, tmp_path) > 20000


def test_compare_columns():
    figure = plot.compare({str(i): Y2 for i in range(5)}, columns=5)
    assert figure.axes[0].get_gridspec().ncols == 5
    assert figure.legends == []
    with pytest.raises(ValueError, match="embeddings is empty"):
        plot.compare({})


def test_compare_turns_the_maps_onto_the_first():
    turn = np.array([[0.0, 1.0], [1.0, 0.0]]) @ [[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]
    other = 3 * Y2 @ turn + 5
    first, second, again = plot.compare({"a": Y2, "b": other, "c": Y2}).axes
    shrunk = points(second) - points(second).mean(axis=0)
    np.testing.assert_allclose(shrunk / 3, points(first) - points(first).mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(points(again), points(first))
    _, straight = plot.compare({"a": Y2, "b": other}, align=False).axes
    np.testing.assert_array_equal(np.sort(points(straight), axis=0), np.sort(other, axis=0))


def test_compare_aligns_by_the_objects_that_both_maps_place():
    other = -Y2
    other[3] = np.nan
    _, second = plot.compare({"a": Y2, "b": other}).axes
    np.testing.assert_allclose(
        np.sort(points(second), axis=0), np.sort(np.delete(Y2, 3, axis=0), axis=0), atol=1e-9
    )


def test_compare_writes_the_quality_under_the_titles():
    quality = {"a": {"AUC": 0.51234, "trust": 0.9}, "b": 0.25, "c": "not assessed"}
    figure = plot.compare({"a": Y2, "b": Y2, "c": Y2, "d": Y2}, quality=quality)
    texts = [[text.get_text() for text in ax.texts] for ax in figure.axes]
    assert texts == [["AUC 0.512  trust 0.9"], ["0.25"], ["not assessed"], []]
    with pytest.raises(ValueError, match="quality names 'z'"):
        plot.compare({"a": Y2}, quality={"z": 1.0})
    with pytest.raises(ValueError, match="same objects, got 60 in 'a', 59 in 'b'"):
        plot.compare({"a": Y2, "b": Y2[1:]})


def test_values_have_a_colour_bar():
    (_, bar) = plot.scatter(Y2, np.linspace(2, 7, 60)).figure.axes
    assert bar.get_ylim() == (2, 7)
    assert len(plot.scatter(Y2, np.linspace(2, 7, 60), legend="none").figure.axes) == 1
    assert len(plot.compare({"a": Y2, "b": Y2}, np.arange(60.0)).axes) == 3


def test_many_kinds_are_named_on_the_map():
    kinds = np.array([f"kind {i:02}" for i in np.arange(60) % 15])
    ax = plot.scatter(Y2, kinds, legend="map")
    assert ax.get_legend() is None
    assert sorted(text.get_text() for text in ax.texts) == sorted(set(kinds))
    for text in ax.texts:
        members = Y2[kinds == text.get_text()]
        assert (members == text.xy).all(axis=1).any()
    assert len(plot.scatter(Y2, np.arange(60) % 3, legend="map").texts) == 3
    assert len(plot.scatter(Y2, np.arange(60).astype(str), legend="none").texts) == 0


def test_some_points_can_be_named():
    ax = plot.scatter(Y2, names={3: "three", 50: "fifty"})
    assert {text.get_text(): tuple(text.xy) for text in ax.texts} == {
        "three": tuple(Y2[3]),
        "fifty": tuple(Y2[50]),
    }
    with pytest.raises(ValueError, match="names has an entry for row 60"):
        plot.scatter(Y2, names={60: "none"})


def test_colours_and_labels_are_not_confused():
    with pytest.raises(ValueError, match="give labels"):
        plot.scatter(Y2, color=np.arange(60))
    with pytest.raises(ValueError, match="color has 2 entries"):
        plot.scatter(Y2, color=["red", "blue"])
    with pytest.raises(ValueError, match="labels and color"):
        plot.scatter(Y2, np.arange(60), color="red")


def test_rnx_curves_are_what_they_are_given(tmp_path):
    K = np.arange(1, 50)
    ax = plot.rnx({"a": (K, 1 / K), "b": (K[:9], np.zeros(9))}, title="curves")
    _, a, b = ax.lines
    np.testing.assert_array_equal(a.get_xdata(), K)
    np.testing.assert_allclose(a.get_ydata(), 1 / K)
    assert len(b.get_xdata()) == 9
    assert ax.get_xscale() == "log"
    assert legend_texts(ax.get_legend()) == ["a", "b"]
    assert plot.rnx({"a": (K, 1 / K)}, ax) is ax
    assert saved(ax.figure, tmp_path) > 5000


def test_rnx_names_what_is_wrong():
    with pytest.raises(ValueError, match="curves is empty"):
        plot.rnx({})
    for bad in [([1, 2], [0.1]), ([0, 1], [0.1, 0.2]), ([], [])]:
        with pytest.raises(ValueError, match=r"curves\['b'\] must be two vectors"):
            plot.rnx({"a": ([1], [0.5]), "b": bad})


def test_errors_colour_two_ways(tmp_path):
    torn, false = np.zeros(60), np.zeros(60)
    torn[:20], false[10:30] = 1, 1
    ax = plot.errors(Y2, torn, false, title="errors")
    shade = {tuple(p): to_hex(c) for p, c in zip(*drawn(ax), strict=True)}
    expected = {5: "#0072b2", 15: "#1a1a1a", 25: "#e69f00", 45: "#d9d9d9"}
    assert {row: shade[tuple(Y2[row])] for row in expected} == expected
    np.testing.assert_array_equal(points(ax)[-10:], Y2[10:20])  # the worst on top
    (key,) = ax.child_axes
    assert "torn" in key.get_xlabel()
    assert "false" in key.get_ylabel()
    assert saved(ax.figure, tmp_path) > 5000
    for Y in (Y2[:, 0], rng.normal(size=(60, 3))):
        assert len(plot.errors(Y, torn, false).child_axes) == 1


def test_errors_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"torn has shape \(3,\), but there are 60"):
        plot.errors(Y2, np.zeros(3), np.zeros(60))
    with pytest.raises(ValueError, match=r"false must hold numbers in \[0, 1\], found 5 at \[7\]"):
        plot.errors(Y2, np.zeros(60), 5.0 * (np.arange(60) == 7))


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_every_estimator_plots_itself(columns):
    X = rng.normal(size=(60, 8))
    model = lowdim.PCA(n_components=columns)
    with pytest.raises(NotFittedError):
        model.plot()
    ax = model.fit(X).plot(np.arange(60) % 2)
    assert ax.get_title() == "PCA"
    assert ax.name == ("3d" if columns == 3 else "rectilinear")
    assert legend_texts(ax.get_legend()) == ["0", "1"]
    if columns != 3:
        expected = np.sort(model.embedding_[:, 0])
        np.testing.assert_allclose(np.sort(points(ax)[:, 0]), expected)
    assert model.plot(title="a map", ax=ax) is ax


def test_scree_marks_negative_values():
    ax = plot.scree([5.0, 2.0, 1.0, -0.5], label="value", title="spectrum")
    np.testing.assert_array_equal(points(ax), [(1, 5), (2, 2), (3, 1), (4, -0.5)])
    colors = [to_hex(shade) for shade in ax.collections[-1].get_facecolors()]
    assert colors[0] == colors[2] != colors[3]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("dimension", "value", "spectrum")
    assert plot.scree([3.0, 2.0]).get_ylim()[0] == 0


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]]])
def test_scree_needs_a_vector(values):
    with pytest.raises(ValueError, match="vector"):
        plot.scree(values)


def test_graph_draws_each_edge_once():
    graph = neighbors(Y2, 4)
    ax = plot.graph(Y2, graph, title="graph")
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    segments = np.array(lines.get_segments())
    adjacency = graph.adjacency()
    assert len(segments) == adjacency.nnz // 2
    lengths = np.linalg.norm(segments[:, 0] - segments[:, 1], axis=1)
    assert lengths.sum() == pytest.approx(adjacency.sum() / 2)
    assert len(points(ax)) == 60


def test_graph_marks_bridges_and_leaves_out_what_has_no_place(tmp_path):
    Y = np.concatenate([Y2, Y2 + 50])
    graph = neighbors(Y, 4)
    joined = graph.join(lambda rows, labels: (rows[:1], np.array([0]), np.array([1.0])))
    ax = plot.graph(Y, joined)
    _, bridges = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert len(bridges.get_segments()) == 1
    Y[0] = np.nan
    (edges,) = [c for c in plot.graph(Y, joined).collections if isinstance(c, LineCollection)]
    assert np.isfinite(np.array(edges.get_segments())).all()
    assert saved(plot.graph(np.column_stack([Y, Y[:, 0]]), joined).figure, tmp_path) > 5000


def test_graph_of_other_objects_is_refused():
    with pytest.raises(ValueError, match="joins 60 objects, but Y places 59"):
        plot.graph(Y2[:-1], neighbors(Y2, 4))


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_the_package_leaves_matplotlib_and_scikit_learn_alone():
    code = (
        "import sys, lowdim.plot, lowdim.data\n"
        "assert not {'matplotlib', 'sklearn', 'scipy'} & set(sys.modules)"
    )
    result = run_python(code)
    assert result.returncode == 0, result.stderr


def test_pictures_never_touch_pyplot():
    code = (
        "import sys, numpy as np, lowdim.plot as p\n"
        "p.scatter(np.eye(3)); p.compare({'a': np.eye(2)}); p.scree([2, 1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    result = run_python(code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("call", ["scatter([[0, 1]])", "compare({'a': [[0, 1]]})", "scree([1])"])
def test_without_matplotlib_the_error_says_what_to_install(call):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'matplotlib' else find(name, *a)\n"
        f"import lowdim.plot; lowdim.plot.{call}"
    )
    result = run_python(code)
    last = result.stderr.strip().splitlines()[-1]
    assert last == 'ImportError: Pictures need matplotlib: pip install "lowdim[plot]"'


NOTEBOOK = """
import matplotlib
matplotlib.use("module://matplotlib_inline.backend_inline")
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.run_cell("import lowdim, matplotlib.pyplot as plt; Y = [[0, 0], [1, 2], [2, 1]]")
shell.run_cell("value = lambda picture: get_ipython().display_formatter.format(picture)[0]")
for cell in (
    "data = value(lowdim.plot.scatter(Y))",
    "figure = lowdim.plot.compare({'a': Y}); data = value(figure)",
    "data = value(figure)",
    "ax = lowdim.plot.scatter(Y); data = {}; plt.show()",
):
    with capture_output() as shown:
        shell.run_cell(cell)
    by_pyplot = sum("image/png" in one.data for one in shown.outputs)
    print(by_pyplot, int("image/png" in shell.user_ns["data"]))
"""


def test_a_notebook_shows_each_figure_once():
    """pyplot shows its open figures at the end of a cell; IPython shows the value of the cell."""
    pytest.importorskip("IPython")
    result = run_python(NOTEBOOK)
    assert result.stdout.splitlines() == ["1 0", "1 0", "0 1", "1 0"], result.stderr


def test_the_numbers_of_many_clusters_are_kinds():
    clusters = np.concatenate([np.full(50, -1), np.repeat(np.arange(40), np.arange(5, 45))])
    kinds = kinds_of(clusters)
    assert len(kinds.names) == 41
    assert kinds.n_grey == 11
    assert kinds_of(np.arange(18, 90).repeat(3)) is None  # such as years of age


@pytest.mark.parametrize("labels", [list("abc") * 10, np.linspace(0, 1, 30)])
def test_the_legend_names_the_column(labels):
    Y = np.random.default_rng(0).normal(size=(30, 2))
    pandas = pytest.importorskip("pandas")
    for named in ({"height": labels}, pandas.Series(labels, name="height")):
        ax = lowdim.plot.scatter(Y, named)
        legend = ax.get_legend()
        bars = [one.get_ylabel() for one in ax.figure.axes[1:]]
        assert ([legend.get_title().get_text()] if legend else bars) == ["height"]
        figure = lowdim.plot.compare({"a": Y, "b": Y[::-1]}, named)
        titles = [one.get_title().get_text() for one in figure.legends]
        assert "height" in [*titles, *(one.get_xlabel() for one in figure.axes)]
    with pytest.raises(ValueError, match="one column"):
        lowdim.plot.scatter(Y, {"a": labels, "b": labels})


def test_objects_that_share_their_places_are_drawn_around_them():
    units = np.array([[0.0, 0], [1, 0], [0.5, 0.87], [9, 9]])
    Y = np.repeat(units, [1, 3, 40, 0], axis=0)
    drawn = np.asarray(plot.scatter(Y).collections[0].get_offsets())
    assert len(np.unique(drawn, axis=0)) == len(Y)
    gaps = np.linalg.norm(drawn[:, None] - units, axis=2)
    nearest = gaps.argmin(axis=1)
    np.testing.assert_array_equal(np.bincount(nearest), [1, 3, 40])  # no disc reaches another
    assert gaps.min(axis=1).max() < 0.5
    sizes = [gaps[nearest == unit, unit].max() for unit in range(3)]
    assert sizes[0] == 0
    np.testing.assert_allclose(sizes[1] / sizes[2], np.sqrt(2 / 39))  # area by number


def test_maps_with_a_few_objects_at_one_place_are_drawn_as_they_are():
    Y = np.random.default_rng(0).normal(size=(40, 2))
    Y[:9] = Y[0]
    drawn = np.asarray(plot.scatter(Y).collections[0].get_offsets())
    np.testing.assert_array_equal(np.unique(drawn, axis=0), np.unique(Y, axis=0))


@pytest.mark.parametrize("legend", ["inside", "map", "beside"])
def test_text_in_vector_files_is_text(tmp_path, legend):
    ax = plot.scatter(Y2, np.array(["oak", "elm"] * 30), legend=legend, title="Trees")
    plot.save(ax, tmp_path / "trees.svg")
    svg = (tmp_path / "trees.svg").read_text()
    for word in ("oak", "elm", "Trees"):
        assert f">{word}</text>" in svg
    plot.save(ax, tmp_path / "trees.pdf")
    assert b"/FontFile2" in (tmp_path / "trees.pdf").read_bytes()  # TrueType, not outlines


def test_a_legend_inside_is_within_the_axes():
    ax = plot.scatter(Y2, np.array(["oak", "elm"] * 30), legend="inside")
    ax.figure.canvas.draw()
    box, frame = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    assert frame.y0 <= box.y0 < box.y1 <= frame.y1
