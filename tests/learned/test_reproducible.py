"""Steps of a training that are the same in every run."""

import os
import subprocess
import sys

import pytest
import torch

from lowdim.learned.networks.training import Reproducible, deterministic_convolutions
from lowdim.learned.networks.weights import process_generators
from lowdim.runtime.context import current, override


def flags():
    return torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark


def test_convolutions_are_deterministic_until_the_last_of_several_trainings_ends():
    before = flags()
    with deterministic_convolutions:
        deterministic_convolutions.__enter__()  # another thread begins
        assert flags() == (True, False)
    assert flags() == (True, False)  # the first one has ended
    deterministic_convolutions.__exit__()
    assert flags() == before


@pytest.mark.parametrize(
    ("layer", "in_order"),
    [(torch.nn.ReLU(), False), (torch.nn.Dropout(), True), (torch.nn.BatchNorm1d(3), True)],
)
def test_parts_are_in_order_if_the_first_step_draws_or_keeps_sums(layer, in_order):
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), layer)
    reproducible = Reproducible(network, 0)
    with override(threads=2):
        for step, threads in enumerate([1, 1 if in_order else 2]):
            with reproducible.step((0, step)):
                assert current().threads == threads
                network(torch.randn(8, 3, generator=torch.Generator().manual_seed(step)))


def test_numbers_of_a_step_depend_on_its_key_alone():
    def drawn(*key):
        with process_generators(torch.device("cpu"), *key):
            return torch.rand(3)

    assert torch.equal(drawn(0, 1, 2), drawn(0, 1, 2))
    assert not torch.equal(drawn(0, 1, 2), drawn(0, 1, 3))


FORKED = """
import os, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, torch
import lowdim
torch.set_num_threads(2)
torch.ones(10**6).exp().sum()  # starts a thread, which a child does not have
X = np.random.RandomState(0).standard_normal((2000, 60)).astype(np.float32)
small = {"layers": (8,), "max_iter": 1, "n_jobs": 2}
lowdim.ParametricUMAP(**small).fit(X[:100])  # on threads of the parent
child = os.fork()
if child == 0:
    lowdim.ParametricUMAP(**small).fit(X[:100])
    lowdim.ParametricTSNE(**small, perplexity=5).fit(X[:100])
    model = lowdim.Autoencoder(max_iter=1).fit(X)
    os._exit(0 if np.isfinite(model.transform(X)).all() else 3)
for _ in range(6000):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.01)
os.kill(child, 9)
sys.exit("the child hangs")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_trains_after_its_parent_used_threads():
    result = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
