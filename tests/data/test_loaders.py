"""Real data sets from a folder."""

import numpy as np
import pytest

from lowdim import data


def test_real_sets_come_from_a_folder(tmp_path, monkeypatch):
    X, y = np.zeros((4, 6), dtype=np.uint8), np.array([0, 1, 0, 1])
    np.savez(tmp_path / "fashion-mnist.npz", X=X, y=y)
    np.savez(tmp_path / "coil20.npz", X=X, y=y)
    poses = {"pose_left_right": y / 2, "pose_up_down": y / 3, "lighting": y / 4}
    np.savez(tmp_path / "faces698.npz", X=X, **poses)
    assert data.fashion_mnist(3, folder=tmp_path)[0].shape == (3, 6)
    monkeypatch.setenv("LOWDIM_DATA", str(tmp_path))
    np.testing.assert_array_equal(data.coil20()[1], y)
    np.testing.assert_array_equal(data.faces()[1], np.column_stack(list(poses.values())))
    monkeypatch.setenv("LOWDIM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="folder="):
        data.coil20()
    monkeypatch.delenv("LOWDIM_DATA")
    with pytest.raises(FileNotFoundError, match="LOWDIM_DATA"):
        data.faces()


def test_a_file_without_the_arrays_is_an_error_that_names_them(tmp_path):
    np.savez(tmp_path / "coil20.npz", X=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"coil20.npz has no array 'y'; it holds \['X'\]"):
        data.coil20(folder=tmp_path)
