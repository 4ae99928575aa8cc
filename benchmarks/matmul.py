"""Speed of quantized products: GB/s of weights and GFLOP/s per type and number of activation rows.

    python benchmarks/matmul.py [--types Q4_1,Q8_0] [--shape 8192x2048] [--rows 1,8] [--precision precise] [--paths]
    python benchmarks/matmul.py --activations int8,int16

--paths measures the few-row kernels and the tiles with BLAS beside each other, --activations the ways to round
activations, in turn: the numbers from which boostr/quant/crossover.py and activations.py are filled. Weights are read
from memory, not from the cache. The best of several runs is printed: on a shared machine the median says more about the
neighbours. The thread count is numr's (NUMR_NUM_THREADS), the CPU level NUMR_CPU_LEVEL's.
"""

import argparse
import functools
import time
from collections.abc import Callable, Sequence

import numpy as np

import numr.native
from boostr.quant import PRECISIONS, QUANT_TYPES, Product, QuantTensor, Weight
from numr import Tensor

# Byte offsets of the float16 factors of a block; a type whose factors lie elsewhere is measured on any bits, which take
# the same time.
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
}
TYPES = ("F32", "F16", "BF16", *HALVES)
FROM_MEMORY = 96e6  # bytes of weights that take turns


def random_weight(name: str, rows: int, columns: int) -> Weight:
    """A weight of random blocks with small float16 factors, or a random dense matrix."""
    rng = np.random.default_rng(0)
    kind = QUANT_TYPES[name]
    if kind.dtype is not None:
        return Tensor((rng.standard_normal((rows, columns)) * 0.02).astype(kind.dtype))
    row_bytes = kind.row_bytes(columns)
    raw = rng.integers(0, 256, (rows, row_bytes // kind.block_bytes, kind.block_bytes), dtype=np.uint8)
    for at in HALVES.get(name, ()):
        raw[:, :, at : at + 2] = np.array([0.001], np.float16).view(np.uint8)
    return QuantTensor(raw.reshape(rows, row_bytes), kind, (rows, columns))


def best_seconds(calls: Sequence[Sequence[Callable[[], object]]], repeats: int) -> list[float]:
    """The shortest time of each kind of call, the kinds taking turns; calls of a kind differ in their weights."""
    best = [float("inf")] * len(calls)
    for repeat in range(repeats + 1):
        for at, kind in enumerate(calls):
            call = kind[repeat % len(kind)]
            start = time.perf_counter()
            call()
            best[at] = min(best[at], time.perf_counter() - start)
    return best


def kinds_of(options: argparse.Namespace) -> list[tuple[str, str, int | None]]:
    """What is compared: (label, precision, limit of the few-row kernels)."""
    if options.activations:
        return [(word, word, None) for word in options.activations.split(",")]
    if options.paths:
        return [("kernels", options.precision, 1 << 30), ("tiles", options.precision, 0)]
    return [("", options.precision, None)]


def measure(name: str, shape: tuple[int, int], rows: int, kinds: list[tuple[str, str, int | None]]) -> str:
    """One line: microseconds, GB/s and GFLOP/s of each kind of product."""
    weight = random_weight(name, *shape)
    size = weight.nbytes if isinstance(weight, QuantTensor) else weight.array.nbytes
    weights = [weight] + [copy_of(weight) for _ in range(int(FROM_MEMORY / size))]
    x = Tensor(np.random.default_rng(1).standard_normal((rows, shape[1])).astype(np.float32))
    calls = [
        [functools.partial(Product([each], precision, few=few), x) for each in weights]  # type: ignore[arg-type]
        for _, precision, few in kinds
    ]
    seconds = best_seconds(calls, 200 if rows < 16 else 8)
    flops = 2 * rows * shape[0] * shape[1]
    parts = [
        f"{label:8s}{s * 1e6:10.1f} us {size / s / 1e9:7.2f} GB/s {flops / s / 1e9:8.1f} GFLOP/s"
        for (label, _, _), s in zip(kinds, seconds, strict=True)
    ]
    return f"{name:7s} {shape[0]}x{shape[1]} M={rows:<5d}" + " | ".join(parts)


def copy_of(weight: Weight) -> Weight:
    """The same numbers in other memory."""
    if isinstance(weight, QuantTensor):
        return QuantTensor(weight.blocks.copy(), weight.qtype, weight.shape)
    return Tensor(weight.array.copy())


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure quantized products.")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--shape", default="8192x2048", help="ROWSxCOLUMNS of the weight")
    parser.add_argument("--rows", default="1,4,8,32", help="numbers of activation rows")
    parser.add_argument("--precision", default="fast", choices=PRECISIONS)
    parser.add_argument("--activations", help="precisions to compare, such as int8,int16")
    parser.add_argument("--paths", action="store_true", help="both paths, for the crossover table")
    chosen = parser.parse_args()
    out, columns = (int(part) for part in chosen.shape.split("x"))
    print(f"level {numr.native.level()}, {numr.native.get_num_threads()} threads")
    for name in chosen.types.split(","):
        if columns % QUANT_TYPES[name].block:
            print(f"{name:5s} has no rows of {columns} columns")
            continue
        for rows in map(int, chosen.rows.split(",")):
            print(measure(name, (out, columns), rows, kinds_of(chosen)), flush=True)


if __name__ == "__main__":
    main()
