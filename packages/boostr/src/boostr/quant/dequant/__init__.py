"""NumPy dequantization of every ggml type, bit-exact against ggml. One small class per type; no files, no products."""

from boostr.quant.dequant import fp4, iq, k, legacy, tq
from boostr.quant.dequant.base import dequantize_rows

# Importing a module registers its types.
_FAMILIES = (legacy, k, iq, tq, fp4)

__all__ = ["dequantize_rows"]
