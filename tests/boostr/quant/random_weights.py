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
    "Q2_0": (0,),
}
WITHOUT_KERNELS = "Q2_0"
ROUNDED_TYPES = tuple(name for name in HALVES if name != WITHOUT_KERNELS)
KERNEL_TYPES = ("F32", "F16", "BF16", *ROUNDED_TYPES)


def random_weight(name: str, rows: int, columns: int, seed: int = 0) -> Weight:
    rng = np.random.default_rng(seed)
    kind = QUANT_TYPES[name]
    if kind.dtype is not None:
        return Tensor((rng.standard_normal((rows, columns)) * 0.02).astype(kind.dtype))
    raw = rng.integers(0, 256, (rows, columns // kind.block, kind.block_bytes), dtype=np.uint8)
    for at in HALVES[name]:
        factors = rng.uniform(-1e-3, 1e-3, raw.shape[:2]).astype(np.float16)
        raw[:, :, at : at + 2] = factors.view(np.uint8).reshape(*raw.shape[:2], 2)
    return QuantTensor(raw.reshape(rows, -1), kind, (rows, columns))


def as_floats(weight: Weight) -> np.ndarray:
    return weight.dequantize() if isinstance(weight, QuantTensor) else weight.array.astype(np.float32)


def activations(rows: int, columns: int, seed: int = 1) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32))


def relative_error(y: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(y - reference) / np.linalg.norm(reference))
