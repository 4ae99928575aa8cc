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

# Bits of "fast": 16 where decode stays within a tenth of the speed of 8. A type that is not listed multiplies float32
# activations in every mode. Time of int16 products over that of int8 ones, one row, weights 2048x2048 read from memory,
# AVX-512 VNNI on two cores that other work kept busy: at the median and at the fifth percentile of 1000 calls taking
# turns on two threads / by the clock of one thread alone:
#   Q4_0 1.13 1.33 / 1.07   Q4_1 1.13 1.29 / 1.02   Q5_0 1.06 1.09 / 1.05   Q5_1 1.03 1.04 / 1.02
#   Q8_0 1.03 1.05 / 1.03   Q2_K 1.25 1.37 / 1.27   Q3_K 1.02 1.02 / 1.07   Q4_K 1.12 1.14 / 1.08
#   Q5_K 1.10 1.06 / 1.08   Q6_K 1.03 1.06 / 1.04
# A token of a whole model: SmolLM2 in Q4_1 1.04, a 1B Llama in Q4_K_M 1.08, in Q8_0 1.02. So Q4_1 and Q4_K pass there,
# Q4_0 and Q2_K nowhere. Eight rows cost more, for there the arithmetic shows: 1.2 to 1.4 for blocks of 32, 0.95 (Q4_K)
# to 1.25 for K types. Without VNNI, weights in the cache: Q4_1 1.18, Q8_0 1.00, Q4_K 1.33, Q6_K 1.41 (AVX-512); Q4_1
# 1.00, Q8_0 1.15, Q4_K 1.56, Q6_K 1.60 (AVX2).
# One row, one thread by its own clock, weights in the last cache, median and fifth percentile of 288 turns: IQ1_S 1.20
# 1.20, IQ1_M 1.17 1.17, IQ2_XXS 1.13 1.18, IQ2_XS 1.12 1.14, IQ2_S 1.09 1.10, IQ3_XXS 1.13 1.12, IQ3_S 1.18 1.21,
# IQ4_NL 1.00 1.01, IQ4_XS 1.02 1.07, TQ1_0 1.18 1.18, TQ2_0 1.22 1.30, MXFP4 1.00 1.00.
# What it buys, mean divergence of SmolLM2 from float32: 0.0025 nats with int8, under 0.000001 with int16.
_BITS = {
    "Q4_0": 8,
    "Q4_1": 16,
    "Q5_0": 16,
    "Q5_1": 16,
    "Q8_0": 16,
    "Q2_K": 8,
    "Q3_K": 16,
    "Q4_K": 16,
    "Q5_K": 16,
    "Q6_K": 16,
    "IQ1_S": 8,
    "IQ1_M": 8,
    "IQ2_XXS": 8,
    "IQ2_XS": 8,
    "IQ2_S": 16,
    "IQ3_XXS": 8,
    "IQ3_S": 8,
    "IQ4_NL": 16,
    "IQ4_XS": 16,
    "TQ1_0": 8,
    "TQ2_0": 8,
    "MXFP4": 16,
}


def rounding_of(qtype: QuantType, precision: Precision) -> Rounding:
    """How products with weights of `qtype` round their activations. The block is the weights' own."""
    if qtype.name not in _BITS or precision in ("precise", "float32"):
        return _FLOAT32
    bits = {"int8": 8, "int16": 16}.get(precision, _BITS[qtype.name])
    return Rounding(qtype.block, bits)
