"""The loss of an autoencoder."""

import numpy as np
import torch

from lowdim.learned.networks.autoencoding import LARGEST_LOG, Reconstruction
from lowdim.learned.networks.weights import Rows


class Stub(torch.nn.Module):
    """An encoder of one mean and one log variance that does not look at its input."""

    n_components = 1

    def __init__(self, log_variance):
        super().__init__()
        self.log_variance = log_variance

    def encoder(self, x):
        return torch.tensor([[0.0, self.log_variance]]).expand(len(x), 2)

    def decoder(self, z):
        return 0 * z


def test_variances_are_bounded_in_the_validation_as_in_the_training():
    rows = Rows(np.ones((6, 1), dtype=np.float32), np.zeros(1, dtype=np.float32), 1.0)
    problem = Reconstruction(rows, np.arange(3), np.arange(3, 6), 0, variational=1.0)
    bounded = problem.validation(Stub(LARGEST_LOG))
    assert np.isfinite(bounded)
    assert problem.validation(Stub(200.0)) == bounded
