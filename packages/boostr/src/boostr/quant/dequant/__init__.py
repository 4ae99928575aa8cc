"""NumPy dequantization of every ggml type, bit-exact against ggml. One small class per type; no files, no products."""

from boostr.quant.dequant import legacy as legacy
from boostr.quant.dequant.base import dequantize_rows

__all__ = ["dequantize_rows"]
