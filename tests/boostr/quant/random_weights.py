"""Random weights of any type for the product tests: random blocks with sane scales, or random dense matrices."""

import numpy as np

from boostr.quant import QUANT_TYPES, QuantTensor, Weight
from numr import Tensor

# Byte offsets of the float16 factors in a block.
HALVES = {
    "Q4_0": (0,),
    "Q4_1": (0, 2),
    "Q5_0": (0,),
    "Q5_1": (0, 2),
    "Q8_0": (0,),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
    "IQ1_S": (0,),
    "IQ1_M": (),  # the top nibbles of its last four words
    "IQ2_XXS": (0,),
    "IQ2_XS": (0,),
    "IQ2_S": (0,),
    "IQ3_XXS": (0,),
    "IQ3_S": (0,),
    "IQ4_NL": (0,),
    "IQ4_XS": (0,),
    "TQ1_0": (52,),
    "TQ2_0": (64,),
    "MXFP4": (),  # a byte, the power of two
    "Q2_0": (0,),
}
WITHOUT_KERNELS = "Q2_0"
ROUNDED_TYPES = tuple(name for name in HALVES if name != WITHOUT_KERNELS)
KERNEL_TYPES = ("F32", "F16", "BF16", *ROUNDED_TYPES)
# Types whose scales can be zero, infinite or NaN.
FLOAT_SCALED_TYPES = tuple(name for name in ROUNDED_TYPES if name != "MXFP4")


def set_factor(name: str, blocks: np.ndarray, factors: np.ndarray | float, at: int | None = None) -> None:
    """Write the factor at byte `at` of blocks (..., block_bytes), or all of them."""
    halves = np.broadcast_to(np.asarray(factors, np.float16), blocks.shape[:-1]).copy()
    if name == "MXFP4":
        blocks[..., 0] = 128 + np.log2(np.abs(halves.astype(np.float32)) + 1e-6)
    elif name == "IQ1_M":
        for word in range(4):
            tops = (halves.view(np.uint16) >> 4 * word & 15).astype(np.uint8)
            blocks[..., 49 + 2 * word] = (blocks[..., 49 + 2 * word] & 15) | tops << 4
    else:
        for place in HALVES[name] if at is None else (at,):
            blocks[..., place : place + 2] = halves[..., None].view(np.uint8)


def random_weight(name: str, rows: int, columns: int, seed: int = 0) -> Weight:
    rng = np.random.default_rng(seed)
    kind = QUANT_TYPES[name]
    if kind.dtype is not None:
        return Tensor((rng.standard_normal((rows, columns)) * 0.02).astype(kind.dtype))
    raw = rng.integers(0, 256, (rows, columns // kind.block, kind.block_bytes), dtype=np.uint8)
    for at in HALVES[name] or (0,):
        set_factor(name, raw, rng.uniform(-1e-3, 1e-3, raw.shape[:2]), at)
    return QuantTensor(raw.reshape(rows, -1), kind, (rows, columns))


def as_floats(weight: Weight) -> np.ndarray:
    return weight.dequantize() if isinstance(weight, QuantTensor) else weight.array.astype(np.float32)


def activations(rows: int, columns: int, seed: int = 1) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32))


def relative_error(y: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(y - reference) / np.linalg.norm(reference))
