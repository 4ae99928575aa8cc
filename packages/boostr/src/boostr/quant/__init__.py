"""Quantized weights: the table of ggml types, their exact dequantization, and products with float32 activations."""

from boostr.quant.activations import PRECISIONS, Activations, Precision
from boostr.quant.matmul import Product, Weight, take_rows
from boostr.quant.tensor import QuantTensor
from boostr.quant.types import QUANT_TYPES, QuantType, by_id

__all__ = [
    "PRECISIONS",
    "QUANT_TYPES",
    "Activations",
    "Precision",
    "Product",
    "QuantTensor",
    "QuantType",
    "Weight",
    "by_id",
    "take_rows",
]
