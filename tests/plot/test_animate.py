"""Films of iterative fits."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

import lowdim
from lowdim import plot
from lowdim.runtime.callbacks import State

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
y = np.arange(30) % 3


def state(iteration, value=0.0):
    return State(iteration, 1000, value, np.full((5, 2), float(iteration)))


def frames_of(path):
    with Image.open(path) as film:
        return film.n_frames


def test_a_recorder_sees_every_iteration_and_the_film_has_a_frame_for_each(tmp_path):
    recorder = plot.Recorder()
    model = lowdim.MDS(callback=recorder, n_init=1, max_iter=12, init="random", random_state=0)
    model.fit(X)
    assert [frame.caption.split()[1] for frame in recorder.frames] == [
        str(i + 1) for i in range(len(recorder.frames))
    ]
    path = plot.animate(recorder, tmp_path / "fit.gif", y, title="MDS")
    assert path == tmp_path / "fit.gif"
    assert frames_of(path) == len(recorder.frames) >= 5
    assert [file.name for file in tmp_path.iterdir()] == ["fit.gif"]


def test_an_estimator_is_fitted_and_recorded_in_one_call(tmp_path):
    seen = []
    model = lowdim.MDS(callback=seen.append, n_init=1, max_iter=8, init="random", random_state=0)
    own = model.callback
    plot.animate(model, tmp_path / "fit.gif", X=X)
    assert model.embedding_.shape == (30, 2)
    assert model.callback is own
    assert frames_of(tmp_path / "fit.gif") == len(seen)


def test_a_long_fit_is_thinned_evenly_and_keeps_its_end():
    recorder = plot.Recorder(most=10)
    for i in range(1, 1001):
        recorder(state(i))
    iterations = np.array([frame.embedding[0, 0] for frame in recorder.frames])
    assert len(iterations) <= 11
    assert iterations[0] == 1
    assert iterations[-1] == 1000
    assert len(np.unique(np.diff(iterations)[:-1])) == 1


def test_a_new_start_is_recorded_anew():
    recorder = plot.Recorder()
    for i in (1, 2, 3, 1, 2):
        recorder(state(i))
    assert len(recorder.frames) == 2


def test_a_recorder_passes_the_answer_of_its_callback_on():
    assert plot.Recorder(callback=lambda state: state.iteration == 2)(state(2)) is True


def test_recorded_maps_are_copies():
    recorder, Y = plot.Recorder(), np.zeros((3, 2))
    recorder(State(1, 10, 0.0, Y))
    Y[:] = 1
    assert np.all(recorder.frames[0].embedding == 0)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_maps_of_every_dimension(columns, tmp_path):
    maps = [rng.normal(size=(20, columns)) for _ in range(4)]
    maps[0][3] = np.nan
    plot.animate(maps, tmp_path / "maps.gif", np.arange(20.0))
    assert frames_of(tmp_path / "maps.gif") == 4


def test_turned_maps_do_not_move_unless_told(tmp_path):
    Y = rng.normal(size=(20, 2))
    turned = [Y @ [[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in (0, 1, 2)]
    plot.animate(turned, tmp_path / "still.gif")
    plot.animate(turned, tmp_path / "moving.gif", align=False)
    assert frames_of(tmp_path / "still.gif") == 1  # Pillow merges equal pictures
    assert frames_of(tmp_path / "moving.gif") == 3


def test_bad_input_is_named_and_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.gif or \.mp4"):
        plot.animate([X[:, :2]], tmp_path / "fit.avi")
    with pytest.raises(ValueError, match="source holds no frames"):
        plot.animate(plot.Recorder(), tmp_path / "fit.gif")
    with pytest.raises(ValueError, match="source holds no frames"):
        plot.animate(lowdim.MDS(), tmp_path / "fit.gif")
    with pytest.raises(ValueError, match="source: the maps differ in shape"):
        plot.animate([X[:, :2], X[1:, :2]], tmp_path / "fit.gif")
    with pytest.raises(ValueError, match="source: PCA does not iterate and has no callback"):
        plot.animate(lowdim.PCA(), tmp_path / "fit.gif", X=X)
    with pytest.raises(ValueError, match="labels has shape"):
        plot.animate([X[:, :2]], tmp_path / "fit.gif", [1, 2])
    with pytest.raises(FileNotFoundError, match=r"The folder .* does not exist"):
        plot.animate([X[:, :2]], tmp_path / "none" / "fit.gif")
    assert list(tmp_path.iterdir()) == []


def test_mp4_where_ffmpeg_is_at_hand(tmp_path):
    path = tmp_path / "fit.mp4"
    maps = [rng.normal(size=(20, 2)) for _ in range(3)]
    if shutil.which("ffmpeg") is None:
        with pytest.raises(RuntimeError, match=r"needs ffmpeg.*\.gif"):
            plot.animate(maps, path)
    else:
        plot.animate(maps, path)
        assert path.read_bytes()[4:8] == b"ftyp"


def test_objects_that_are_on_some_maps_only_are_drawn_there(tmp_path):
    slices = np.full((2, 4, 2), np.nan)
    slices[0, :3] = [[0, 0], [1, 0], [0, 1]]
    slices[1, 1:] = [[1, 0], [0, 1], [1, 1]]
    maps = {"before": slices[0], "after": slices[1]}
    path = plot.animate(maps, tmp_path / "slices.gif", ["a", "b", "c", "d"], align=False, fps=1)
    with Image.open(path) as film:
        assert film.n_frames == 2
        first = np.asarray(film.convert("RGB"))
        film.seek(1)
        second = np.asarray(film.convert("RGB"))
    coloured = [np.ptp(one.astype(int), axis=2) > 60 for one in (first, second)]
    height, width = coloured[0].shape
    low_left = slice(height // 2, None), slice(0, width // 3)
    assert coloured[0][low_left].sum() > 20 > coloured[1][low_left].sum()
