"""The backend of GPUs: PyTorch, with Triton kernels on CUDA devices.

It implements `lowdim.backends.protocol.Backend`, where the operations are documented. Arguments and
results are NumPy arrays, as in the native backend; a large array is copied to the device once per
public call. Operations that are missing here run on the CPU.
"""

from lowdim.backends.torch.engine import backend_of as backend_of
from lowdim.backends.torch.engine import gpu as gpu
from lowdim.backends.torch.engine import problem_with as problem_with
from lowdim.backends.torch.preparation import prepare as prepare
