"""The backend of GPUs: PyTorch, with Triton kernels on CUDA devices.

It implements `lowdim.backends.native.Backend`, where the operations are documented: the functions
of the same names here have the device as their first argument. Arguments and results are NumPy
arrays, as in the native backend; a large array is copied to the device once per public call.
Operations that are missing here run on the CPU.
"""

import os

import torch

from lowdim.backends.torch.engine import backend_of as backend_of
from lowdim.backends.torch.engine import gpu as gpu
from lowdim.backends.torch.engine import problem_with as problem_with
from lowdim.backends.torch.preparation import prepare as prepare

if hasattr(os, "register_at_fork"):
    # A forked child would wait for the threads of its parent, which it does not have.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
