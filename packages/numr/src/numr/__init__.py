"""numr: one tensor namespace over CPU and CUDA."""
from numr.tensor import Tensor as Tensor
