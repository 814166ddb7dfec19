"""`--device`: where a command computes."""

import numpy as np
import pytest
from click.testing import CliRunner

from lowdim import tables
from lowdim.backends.torch import engine
from lowdim.cli import main
from lowdim.runtime.context import current


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.csv"
    np.savetxt(path, np.random.default_rng(0).normal(size=(40, 5)), delimiter=",")
    return path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_command_computes_on_the_device(file, tmp_path, monkeypatch):
    seen = []
    backend = engine.backend_of("torch:cpu")
    nearest = backend.nearest
    monkeypatch.setattr(backend, "nearest", lambda *args: seen.append(1) or nearest(*args))
    for name, device in (("a", "torch:cpu"), ("b", "cpu")):
        result = run(
            "embed", file, "-m", "isomap", "--no-header", "-o", tmp_path / f"{name}.csv",
            "--device", device,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
    assert seen == [1]
    assert current().device == "cpu"
    one, other = (np.asarray(tables.read(tmp_path / f"{name}.csv").X) for name in "ab")
    np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-6 * np.abs(one).max())


def test_a_device_that_cannot_be_used_is_an_error_of_usage(file):
    result = run("embed", file, "-m", "pca", "--device", "abacus")
    assert result.exit_code == 2
    assert "--device must be 'cpu', 'cuda'" in result.output
