"""What activations are rounded to where they meet a weight: a property of (weight type, asked precision) alone.

Data with its measurement, as crossover.py. Never a function of the number of rows: an answer must not depend on its
company.
"""

from typing import Literal, NamedTuple

from boostr.quant.types import QuantType

__all__ = ["PRECISIONS", "Activations", "Precision", "Rounding", "rounding_of"]

Activations = Literal["int8", "int16", "float32"]

# "fast": each type's own of int8 and int16; "precise" and "float32": none. The others say which, for all types.
Precision = Literal["fast", "precise", "int8", "int16", "float32"]
PRECISIONS: tuple[Precision, ...] = ("fast", "precise", "int8", "int16", "float32")


class Rounding(NamedTuple):
    """Integers of `bits` (8 or 16) with one scale per `block` elements; block 0: float32 as they are."""

    block: int
    bits: int


_FLOAT32 = Rounding(0, 0)

# Bits of "fast". A type that is not listed multiplies float32 activations in every mode.
_BITS = {
    "Q4_0": 8,
    "Q4_1": 8,
    "Q5_0": 8,
    "Q5_1": 8,
    "Q8_0": 8,
    "Q2_K": 8,
    "Q3_K": 8,
    "Q4_K": 8,
    "Q5_K": 8,
    "Q6_K": 8,
    "IQ1_S": 8,
    "IQ1_M": 8,
    "IQ2_XXS": 8,
    "IQ2_XS": 8,
    "IQ2_S": 8,
    "IQ3_XXS": 8,
    "IQ3_S": 8,
    "IQ4_NL": 8,
    "IQ4_XS": 8,
    "TQ1_0": 8,
    "TQ2_0": 8,
    "MXFP4": 8,
}


def rounding_of(qtype: QuantType, precision: Precision) -> Rounding:
    """How products with weights of `qtype` round their activations. The block is the weights' own."""
    if qtype.name not in _BITS or precision in ("precise", "float32"):
        return _FLOAT32
    bits = {"int8": 8, "int16": 16}.get(precision, _BITS[qtype.name])
    return Rounding(qtype.block, bits)
