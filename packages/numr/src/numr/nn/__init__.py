"""Fused numerical primitives that several architectures share. They know arrays and cache memory, no models.

Activations are float32, row-contiguous and packed (T rows). On the CPU each primitive is one call into the native
library, or its NumPy reference where there is none.
"""

from numr.nn.attend import attention, kv_append
from numr.nn.elementwise import add_, gelu, gelu_mul, rope_, silu, silu_mul
from numr.nn.kv import SEGMENT, SPAN, KVLayer, KVTable
from numr.nn.norms import add_rms_norm, layer_norm, rms_norm, softmax

__all__ = [
    "SEGMENT",
    "SPAN",
    "KVLayer",
    "KVTable",
    "add_",
    "add_rms_norm",
    "attention",
    "gelu",
    "gelu_mul",
    "kv_append",
    "layer_norm",
    "rms_norm",
    "rope_",
    "silu",
    "silu_mul",
    "softmax",
]
